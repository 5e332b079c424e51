package server

import (
	"log/slog"
	"maps"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"rushgate/backend/api"
)

// meter counts what the gateway does. Labels come from closed sets: routes,
// stages, codes; never a user, an address or an item.
type meter struct {
	requests *children[prometheus.Counter]
	refusals *children[prometheus.Counter]
	verdicts *children[prometheus.Counter]
	paths    *children[prometheus.Counter]
	seconds  *children[prometheus.Observer]
	batches  prometheus.Histogram
	breaker  *prometheus.GaugeVec
	panics   prometheus.Counter

	now   func() time.Time
	log   *slog.Logger
	often *rate.Limiter // errors logged: a failing backend must not fill the disk
}

func newMeter(r prometheus.Registerer, log *slog.Logger, now func() time.Time) *meter {
	counter := func(name, help string, labels ...string) *children[prometheus.Counter] {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		r.MustRegister(v)
		return newChildren(len(labels), v.WithLabelValues)
	}
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "rushgate_request_seconds", Help: "Time from the request's head to its answer, by route.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9),
	}, []string{"route"})
	m := &meter{
		requests: counter("rushgate_requests_total", "Requests by route and outcome: a refusal's code, or the status.", "route", "outcome"),
		refusals: counter("rushgate_refusals_total", "Refusals by the stage that decided and its reason.", "stage", "reason"),
		verdicts: counter("rushgate_admissions_total", "Verdicts of the filter; error where it gave none.", "verdict"),
		paths:    counter("rushgate_tickets_total", "Tickets written for the backend, by path.", "path"),
		seconds:  newChildren(1, seconds.WithLabelValues),
		batches: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "rushgate_admission_batch_size", Help: "Requests in one call of the filter.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 9),
		}),
		breaker: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "rushgate_breaker_state", Help: "1 for the state that the breaker round the filter is in.",
		}, []string{"state"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "rushgate_panics_total", Help: "Requests whose stage panicked: a fault of the gateway. The log has the stack.",
		}),
		now: now, log: log, often: rate.NewLimiter(1, 5),
	}
	r.MustRegister(seconds, m.batches, m.breaker, m.panics)
	return m
}

// children remembers the children of a vector by their one or two labels, so
// that a request finds its own without allocating. Bounded by the closed sets
// that labels come from.
type children[M any] struct {
	labels int
	child  func(...string) M

	mu    sync.Mutex // one addition at a time
	known atomic.Pointer[map[[2]string]M]
}

func newChildren[M any](labels int, child func(...string) M) *children[M] {
	c := &children[M]{labels: labels, child: child}
	c.known.Store(&map[[2]string]M{})
	return c
}

// of returns the child with these labels; the second is "" where there is one.
func (c *children[M]) of(first, second string) M {
	k := [2]string{first, second}
	if v, ok := (*c.known.Load())[k]; ok {
		return v
	}
	return c.add(k)
}

func (c *children[M]) add(k [2]string) M {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.child(append([]string(nil), k[:c.labels]...)...)
	next := maps.Clone(*c.known.Load())
	next[k] = v
	c.known.Store(&next)
	return v
}

// limitedBy are the reasons of refusals by a limit, by its scope.
var limitedBy = map[string]string{"ip": "limited_ip", "user": "limited_user", "item": "limited_item", "global": "limited_global"}

// refused counts a refusal at the stage that is running.
func (m *meter) refused(stage string, r *refusal) {
	reason := r.code
	if r.scope != "" {
		reason = limitedBy[r.scope]
	}
	m.refusals.of(stage, reason).Inc()
}

// answered counts the request when its answer is ready.
func (m *meter) answered(x *exchange) {
	status := x.ctx.Response.StatusCode()
	if x.outcome == "" {
		x.outcome = strconv.Itoa(status)
	}
	m.requests.of(x.route.name, x.outcome).Inc()
	m.seconds.of(x.route.name, "").Observe(m.now().Sub(x.at).Seconds())
	if x.err != nil && status >= 500 && m.often.Allow() {
		m.log.Warn("request failed", "route", x.route.name, "status", status, "trace_id", string(x.traceID()), "error", x.err)
	}
}

// panicked counts and logs a fault of the gateway.
func (m *meter) panicked(x *exchange, p any) {
	m.panics.Inc()
	if m.often.Allow() {
		m.log.Error("a stage panicked", "route", x.route.name, "stage", x.stage, "trace_id", string(x.traceID()), "panic", p, "stack", string(debug.Stack()))
	}
}

// What follows is the admit.Meter.

func (m *meter) Verdict(v string) { m.verdicts.of(v, "").Inc() }
func (m *meter) Batch(size int)   { m.batches.Observe(float64(size)) }
func (m *meter) Path(p api.Path)  { m.paths.of(string(p), "").Inc() }
func (m *meter) Breaker(to string) {
	for _, state := range []string{"closed", "half-open", "open"} {
		value := 0.0
		if state == to {
			value = 1
		}
		m.breaker.WithLabelValues(state).Set(value)
	}
}
