package lock

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// gather reads all series that are not zero: counters, and how often a histogram
// observed something.
func gather(t testing.TB, r prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			if labels := m.GetLabel(); len(labels) == 1 {
				name += " " + labels[0].GetName() + "=" + labels[0].GetValue()
			}
			if v := m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount()); v != 0 {
				values[name] = v
			}
		}
	}
	return values
}

// count reads one counter.
func count(t testing.TB, c prometheus.Counter) (v float64) {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(c)
	for _, v = range gather(t, r) {
	}
	return v
}

// Each thing that happens to a lock is counted once, under the field's names.
func TestMetricsMissAnOutcome(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := dial(t, s.Addr())
	registry := prometheus.NewRegistry()
	opt := slow(c)
	opt.Metrics = NewMetrics(registry)
	r := NewRedis(opt)
	add := map[string]float64{}
	want := func(what string, series ...string) {
		t.Helper()
		for _, name := range series {
			add[name]++
		}
		if d := cmp.Diff(add, gather(t, registry)); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	const lost = "yours"

	want("nothing")
	_, _, unlock := mustLock(t, r, "1001")
	want("had", "lock_acquire_total result=acquired", "lock_wait_seconds")
	mustUnlock(t, unlock)
	want("given back", "lock_release_total result=released", "lock_hold_seconds")
	_ = unlock()
	want("given back twice")

	h, _, unlock := mustLock(t, r, "1001")
	h.renew()
	want("renewed", "lock_acquire_total result=acquired", "lock_wait_seconds", "lock_watchdog_renew_total result=renewed")
	c.Del(t.Context(), key1001)
	h.renew()
	want("gone", "lock_watchdog_renew_total result=expired", "lock_lost_total cause=expired", "lock_hold_seconds")
	_ = unlock()
	want("given back late", "lock_release_total result=expired")

	h, _, unlock = mustLock(t, r, "1001")
	c.Set(t.Context(), key1001, lost, 0)
	h.renew()
	_ = unlock()
	want("another's", "lock_acquire_total result=acquired", "lock_wait_seconds", "lock_hold_seconds",
		"lock_watchdog_renew_total result=not_owner", "lock_lost_total cause=not_owner", "lock_release_total result=not_owner")

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, _, err := r.Lock(ctx, "1001"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the lock of another: %v", err)
	}
	want("not had in time", "lock_acquire_total result=timeout", "lock_wait_seconds")

	c.Del(t.Context(), key1001)
	_, held, unlock := mustLock(t, r, "1001")
	holdOf(held).lose(ErrMaxHold)
	s.Kill()
	_ = unlock()
	want("kept too long, and Redis gone", "lock_acquire_total result=acquired", "lock_wait_seconds", "lock_hold_seconds",
		"lock_lost_total cause=max_hold", "lock_release_total result=unknown")
	_, _, err := r.Lock(t.Context(), "1001")
	wantErrors(t, err, ErrUnavailable)
	want("Redis gone", "lock_acquire_total result=unavailable", "lock_wait_seconds")
}
