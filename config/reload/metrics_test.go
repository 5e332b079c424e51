package reload

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// values of the metrics of reloads, as name{label}.
func values(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var name strings.Builder
			name.WriteString(strings.TrimPrefix(f.GetName(), "rushgate_config_"))
			for _, l := range m.GetLabel() {
				fmt.Fprintf(&name, "{%s}", l.GetValue())
			}
			got[name.String()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return got
}

func TestMetrics(t *testing.T) {
	r := prometheus.NewRegistry()
	m := NewMetrics(r)
	at := time.Unix(1_700_000_000, 500e6)
	m.Started("0123456789abcdef", at)
	want := map[string]float64{
		"last_reload_successful": 1, "last_reload_success_timestamp_seconds": 1_700_000_000.5, "hash{0123456789ab}": 1,
		"reloads_total{changed}": 0, "reloads_total{unchanged}": 0, "reloads_total{failed}": 0,
	}
	check := func(what string) {
		t.Helper()
		if diff := cmp.Diff(want, values(t, r)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", what, diff)
		}
	}
	check("start")

	m.Observe(errors.New("a bad file"), false, "", at.Add(time.Second))
	want["last_reload_successful"], want["reloads_total{failed}"] = 0, 1
	check("failed: the old configuration stays")

	m.Observe(nil, false, "0123456789abcdef", at.Add(2*time.Second))
	want["last_reload_successful"], want["reloads_total{unchanged}"] = 1, 1
	want["last_reload_success_timestamp_seconds"]++
	want["last_reload_success_timestamp_seconds"]++
	check("unchanged")

	m.Observe(nil, true, "new", at.Add(3*time.Second))
	delete(want, "hash{0123456789ab}")
	want["hash{new}"], want["reloads_total{changed}"] = 1, 1
	want["last_reload_success_timestamp_seconds"]++
	check("changed")
}

// Whoever looks while configurations come and go sees one hash.
func TestHashesPileUp(t *testing.T) {
	r := prometheus.NewRegistry()
	m := NewMetrics(r)
	m.Started("first", time.Unix(0, 0))
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 1000 {
			m.Observe(nil, true, strconv.Itoa(i), time.Unix(int64(i), 0))
		}
	})
	for range 200 {
		n := 0
		for name := range values(t, r) {
			if strings.HasPrefix(name, "hash{") {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("%d hashes at a time", n)
		}
	}
	wg.Wait()
}
