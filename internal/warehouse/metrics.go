package warehouse

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the metrics that a warehouse has in a Prometheus registry. nil Metrics count nothing.
type Metrics struct {
	batches *prometheus.CounterVec
	staging *prometheus.HistogramVec
	held    *prometheus.GaugeVec
	retries prometheus.Counter
	died    prometheus.Counter
	months  prometheus.Gauge
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	labels := []string{"account", "stream"}
	m := &Metrics{
		batches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dealhouse_staged_batches_total",
			Help: "Batches of rows that were staged, also by runs that failed later.",
		}, labels),
		staging: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "dealhouse_stage_duration_seconds",
			Help:    "Time that the warehouse took to accept one staged batch.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, labels),
		held: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "dealhouse_lease_held",
			Help: "1 while this process has the right to run the stream, else 0.",
		}, labels),
		retries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dealhouse_warehouse_retries_total",
			Help: "Statements that were sent to the warehouse again after a failure.",
		}),
	}
	m.died = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "dealhouse_engine_restarts_total",
		Help: "Times that the process of the embedded engine ended by itself and was started anew.",
	})
	m.months = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "dealhouse_unfolded_months",
		Help: "Months of sales that queries read more slowly until they are folded, after the last run of this process.",
	})
	reg.MustRegister(m.months, m.batches, m.staging, m.held, m.retries, m.died)
	return m
}

// Expect exports a stream's series before anything has happened.
func (m *Metrics) Expect(account, stream string) {
	if m == nil {
		return
	}
	m.batches.WithLabelValues(account, stream)
	m.staging.WithLabelValues(account, stream)
	m.held.WithLabelValues(account, stream)
}

// EngineDied counts an end of the embedded engine that nobody asked for.
func (m *Metrics) EngineDied() {
	if m != nil {
		m.died.Inc()
	}
}

// Forget drops the series of a stream that is no longer loaded.
func (m *Metrics) Forget(account, stream string) {
	if m == nil {
		return
	}
	m.batches.DeleteLabelValues(account, stream)
	m.staging.DeleteLabelValues(account, stream)
	m.held.DeleteLabelValues(account, stream)
}

func (m *Metrics) unfoldedMonths(n int) {
	if m != nil {
		m.months.Set(float64(n))
	}
}

func (m *Metrics) retried() {
	if m != nil {
		m.retries.Inc()
	}
}

func (m *Metrics) staged(r Run, took time.Duration) {
	if m == nil {
		return
	}
	m.batches.WithLabelValues(r.Account, r.Stream.Name).Inc()
	m.staging.WithLabelValues(r.Account, r.Stream.Name).Observe(took.Seconds())
}

func (m *Metrics) lease(l *Lease, held float64) {
	if m != nil {
		m.held.WithLabelValues(l.account, l.stream).Set(held)
	}
}
