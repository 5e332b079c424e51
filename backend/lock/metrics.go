package lock

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Results, as labels tell them: closed sets, and never a key, since keys come and go
// and series stay.
const (
	resultAcquired    = "acquired"
	resultTimeout     = "timeout"     // the caller's time was over first
	resultUnavailable = "unavailable" // Redis could not be asked
	resultReleased    = "released"
	resultRenewed     = "renewed"
	resultExpired     = "expired"
	resultNotOwner    = "not_owner"
	resultMaxHold     = "max_hold"
	resultUnknown     = "unknown" // Redis may have done it or not
)

// Metrics counts what locks do. The names are those that the field uses.
type Metrics struct {
	acquires results
	releases results
	renewals results
	losses   results
	wait     prometheus.Histogram
	hold     prometheus.Histogram
}

// NewMetrics makes the metrics and registers them with r, unless r is nil. It panics
// if they are registered there already.
func NewMetrics(r prometheus.Registerer) *Metrics {
	acquires := counter("lock_acquire_total", "Wishes for a lock, by how they ended.", "result")
	releases := counter("lock_release_total", "Locks given back, by what Redis said.", "result")
	renewals := counter("lock_watchdog_renew_total", "Renewals of locks that are held, by what Redis said.", "result")
	losses := counter("lock_lost_total", "Locks that ended before they were given back, by cause.", "cause")
	m := &Metrics{
		acquires: children(acquires, resultAcquired, resultTimeout, resultUnavailable),
		releases: children(releases, resultReleased, resultExpired, resultNotOwner, resultUnknown),
		renewals: children(renewals, resultRenewed, resultExpired, resultNotOwner, resultUnknown),
		losses:   children(losses, resultExpired, resultNotOwner, resultMaxHold),
		wait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "lock_wait_seconds", Help: "Time from the wish for a lock to its end, had or not.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 15), // to 8 s
		}),
		hold: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "lock_hold_seconds", Help: "Time from having a lock to giving it back or losing it.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 10), // to 262 s
		}),
	}
	if r != nil {
		r.MustRegister(acquires, releases, renewals, losses, m.wait, m.hold)
	}
	return m
}

func counter(name, help, label string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
}

// results are the series of one counter, looked up once.
type results map[string]prometheus.Counter

func children(v *prometheus.CounterVec, names ...string) results {
	r := make(results, len(names))
	for _, name := range names {
		r[name] = v.WithLabelValues(name)
	}
	return r
}

func (m *Metrics) acquire(err error, waited time.Duration) {
	m.wait.Observe(waited.Seconds())
	result := nameOf(err, resultAcquired, resultTimeout)
	if errors.Is(err, ErrUnavailable) {
		result = resultUnavailable
	}
	m.acquires[result].Inc()
}

func (m *Metrics) release(err error) { m.releases[nameOf(err, resultReleased, resultUnknown)].Inc() }

func (m *Metrics) renew(err error) { m.renewals[nameOf(err, resultRenewed, resultUnknown)].Inc() }

func (m *Metrics) lost(cause error) { m.losses[nameOf(cause, "", "")].Inc() }

func (m *Metrics) held(d time.Duration) { m.hold.Observe(d.Seconds()) }

// nameOf is the label of an error: good for none, and otherwise for one that has no
// name of its own.
func nameOf(err error, good, otherwise string) string {
	switch {
	case err == nil:
		return good
	case errors.Is(err, ErrExpired):
		return resultExpired
	case errors.Is(err, ErrNotOwner):
		return resultNotOwner
	case errors.Is(err, ErrMaxHold):
		return resultMaxHold
	}
	return otherwise
}
