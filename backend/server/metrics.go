package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"rushgate/backend/api"
	"rushgate/backend/reseed"
)

// metrics implements order.Meter. Label values come from closed sets, and item
// ids are none of them: sales come and go, series would stay.
type metrics struct {
	orders   *prometheus.CounterVec
	groups   prometheus.Histogram
	unlocked prometheus.Counter
	reseeds  *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		orders: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rushgate_orders_total",
			Help: "Purchases by ticket path and outcome; again says that the outcome was there before.",
		}, []string{"path", "outcome", "again"}),
		groups: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "rushgate_order_group_size", Help: "Purchases that shared one transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 8),
		}),
		unlocked: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "rushgate_orders_unlocked_total", Help: "Groups placed without the lock, which could not be had in time.",
		}),
		reseeds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rushgate_reseeds_total", Help: "Epochs opened and seeded from SQL, by cause.",
		}, []string{"cause"}),
	}
	r.MustRegister(m.orders, m.groups, m.unlocked, m.reseeds)
	return m
}

var yesNo = map[bool]string{true: "true", false: "false"}

func (m *metrics) Placed(path api.Path, result string, again bool) {
	m.orders.WithLabelValues(string(path), result, yesNo[again]).Inc()
}

func (m *metrics) Group(size int) { m.groups.Observe(float64(size)) }

func (m *metrics) Unlocked() { m.unlocked.Inc() }

func (m *metrics) reseeded(_ string, cause reseed.Cause) {
	m.reseeds.WithLabelValues(string(cause)).Inc()
}
