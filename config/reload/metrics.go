package reload

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// shownHash is how much of a configuration's hash the metric shows: enough to
// tell a fleet's configurations apart.
const shownHash = 12

// Metrics tell how the last reload ended and which configuration is in
// force:
//
//   - rushgate_config_last_reload_successful: 1, or 0 after one that failed;
//   - rushgate_config_last_reload_success_timestamp_seconds;
//   - rushgate_config_reloads_total{result}: changed, unchanged or failed;
//   - rushgate_config_hash{hash}: 1, and one series at any time.
//
// Make one for each registry, and keep it: a reload registers nothing. Methods are
// safe for concurrent use.
type Metrics struct {
	successful prometheus.Gauge
	last       prometheus.Gauge
	reloads    *prometheus.CounterVec
	hash       *hashMetric
}

// The results of a reload.
const (
	reloadChanged   = "changed"
	reloadUnchanged = "unchanged"
	reloadFailed    = "failed"
)

// NewMetrics registers the metrics. Call Started when the configuration of
// the start is in force.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		successful: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "rushgate_config_last_reload_successful", Help: "Whether the last reload of the configuration succeeded; after a failed one the old configuration stays.",
		}),
		last: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "rushgate_config_last_reload_success_timestamp_seconds", Help: "When the configuration was last read with success, Unix time.",
		}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rushgate_config_reloads_total", Help: "Reloads by result: changed, unchanged or failed.",
		}, []string{"result"}),
		hash: &hashMetric{desc: prometheus.NewDesc("rushgate_config_hash", "1 for the hash of the configuration in force.", []string{"hash"}, nil)},
	}
	for _, result := range []string{reloadChanged, reloadUnchanged, reloadFailed} {
		m.reloads.WithLabelValues(result) // 0 from the start, so that a rate sees the first
	}
	r.MustRegister(m.successful, m.last, m.reloads, m.hash)
	return m
}

// Started notes the configuration that the process started with.
func (m *Metrics) Started(hash string, at time.Time) { m.succeeded(hash, at) }

// Observe notes one reload. hash is that of the configuration in force, and not
// looked at where err is not nil.
func (m *Metrics) Observe(err error, changed bool, hash string, at time.Time) {
	switch {
	case err != nil:
		m.reloads.WithLabelValues(reloadFailed).Inc()
		m.successful.Set(0)
		return
	case changed:
		m.reloads.WithLabelValues(reloadChanged).Inc()
	default:
		m.reloads.WithLabelValues(reloadUnchanged).Inc()
	}
	m.succeeded(hash, at)
}

func (m *Metrics) succeeded(hash string, at time.Time) {
	m.successful.Set(1)
	m.last.Set(float64(at.UnixMilli()) / 1000)
	hash = hash[:min(len(hash), shownHash)]
	m.hash.now.Store(&hash)
}

// hashMetric is one series whose label changes. A vector that is reset and set
// would for a moment have none.
type hashMetric struct {
	desc *prometheus.Desc
	now  atomic.Pointer[string]
}

func (h *hashMetric) Describe(to chan<- *prometheus.Desc) { to <- h.desc }

func (h *hashMetric) Collect(to chan<- prometheus.Metric) {
	if hash := h.now.Load(); hash != nil {
		to <- prometheus.MustNewConstMetric(h.desc, prometheus.GaugeValue, 1, *hash)
	}
}
