package admin

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func ask(t *testing.T, o Options, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	w := httptest.NewRecorder()
	New(o).Handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody))
	return w
}

func TestPaths(t *testing.T) {
	r := prometheus.NewRegistry()
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "rushgate_test_total", Help: "Counts."})
	r.MustRegister(c)
	c.Inc()
	for line, want := range map[string]struct {
		status int
		word   string
	}{
		"GET /livez":                    {200, "ok"},
		"HEAD /livez":                   {200, ""},
		"GET /readyz":                   {200, "ready"},
		"GET /healthz":                  {200, "ready"},
		"GET /metrics":                  {200, "rushgate_test_total 1"},
		"GET /debug/pprof/":             {200, "goroutine"},
		"GET /debug/pprof/heap?debug=1": {200, "heap profile"},
		"GET /debug/pprof/cmdline":      {200, ""},
		"GET /":                         {404, ""},
		"GET /nope":                     {404, ""},
		"POST /livez":                   {405, ""},
		"POST /metrics":                 {405, ""},
	} {
		method, path, _ := strings.Cut(line, " ")
		w := ask(t, Options{Registry: r}, method, path)
		if w.Code != want.status || !strings.Contains(w.Body.String(), want.word) {
			t.Errorf("%s: %d %.200s, want %d and %q", line, w.Code, w.Body, want.status, want.word)
		}
	}
}

// Ready is what every check says; which one does not hold is told to whoever asks
// for it.
func TestOneFailedCheckIsReady(t *testing.T) {
	holds := Check{"catalogue", func(context.Context) error { return nil }}
	fails := Check{"database", func(context.Context) error { return errors.New("it is on fire") }}
	for name, tt := range map[string]struct {
		checks  []Check
		status  int
		plain   string
		verbose string
	}{
		"none":  {nil, 200, "ready\n", "ready\n"},
		"holds": {[]Check{holds}, 200, "ready\n", "[+] catalogue: ok\nready\n"},
		"fails": {[]Check{fails}, 503, "not ready\n", "[-] database: it is on fire\nnot ready\n"},
		"one":   {[]Check{fails, holds}, 503, "not ready\n", "[-] database: it is on fire\n[+] catalogue: ok\nnot ready\n"},
	} {
		t.Run(name, func(t *testing.T) {
			for path, want := range map[string]string{
				"/readyz": tt.plain, "/healthz": tt.plain, "/readyz?verbose": tt.verbose, "/healthz?verbose=1": tt.verbose,
			} {
				w := ask(t, Options{Checks: tt.checks}, "GET", path)
				if w.Code != tt.status || w.Body.String() != want {
					t.Errorf("%s: %d %q, want %d %q", path, w.Code, w.Body, tt.status, want)
				}
				if w := ask(t, Options{}, "GET", "/livez"); w.Code != 200 {
					t.Errorf("not alive: %d", w.Code)
				}
			}
		})
	}
}

// A check may wait no longer than the request, and all of them no longer than
// checkTime.
func TestCheckHangs(t *testing.T) {
	bounded := Check{"database", func(ctx context.Context) error {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("a check may take for ever")
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	New(Options{Registry: prometheus.NewRegistry(), Checks: []Check{bounded, bounded}}).Handler.ServeHTTP(w, httptest.NewRequestWithContext(gone, "GET", "/readyz", http.NoBody))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Every wait of the listener has a bound.
func TestListenerWaitsForEver(t *testing.T) {
	s := New(Options{Registry: prometheus.NewRegistry()})
	if s.ReadHeaderTimeout <= 0 || s.ReadTimeout <= 0 || s.WriteTimeout <= 0 || s.IdleTimeout <= 0 || s.MaxHeaderBytes <= 0 {
		t.Errorf("%+v", s)
	}
}
