package notify

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// How an attempt to tell a receiver can end, as the label outcome has it.
const (
	outcomeSent    = "sent"
	outcomeFailed  = "failed"  // it is tried again
	outcomeDropped = "dropped" // it became too old, or too many waited
)

// Metrics are the metrics of notifications. nil counts nothing.
type Metrics struct {
	attempts *prometheus.CounterVec
	waiting  *prometheus.GaugeVec
	expected []string // receivers that have series
}

// NewMetrics registers them.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dealhouse_notifications_total",
			Help: "Attempts to send a message to a receiver, and messages dropped because they could not be delivered.",
		}, []string{"receiver", "outcome"}),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "dealhouse_notifications_waiting", Help: "Messages that a receiver has not accepted yet.",
		}, []string{"receiver"}),
	}
	reg.MustRegister(m.attempts, m.waiting)
	return m
}

// Expect makes the series of receivers before anything has happened, and drops those of receivers that are gone.
func (m *Metrics) Expect(names []string) {
	if m == nil {
		return
	}
	for _, gone := range m.expected {
		if !slices.Contains(names, gone) {
			m.attempts.DeletePartialMatch(prometheus.Labels{"receiver": gone})
			m.waiting.DeleteLabelValues(gone)
		}
	}
	m.expected = names
	for _, name := range names {
		for _, outcome := range []string{outcomeSent, outcomeFailed, outcomeDropped} {
			m.attempts.WithLabelValues(name, outcome)
		}
		m.waiting.WithLabelValues(name)
	}
}

func (m *Metrics) count(receiver, outcome string, n int) {
	if m != nil {
		m.attempts.WithLabelValues(receiver, outcome).Add(float64(n))
	}
}

func (m *Metrics) wait(receiver string, n uint64) {
	if m != nil {
		m.waiting.WithLabelValues(receiver).Set(float64(n))
	}
}
