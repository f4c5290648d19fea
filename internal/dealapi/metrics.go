package dealapi

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts what the clients of a process do, for a Prometheus registry. Make one and pass it to every Client. A
// nil *Metrics counts nothing.
type Metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	retries  *prometheus.CounterVec
	waits    *prometheus.CounterVec
	rate     *prometheus.GaugeVec
	bytes    *prometheus.CounterVec
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	account := []string{"account"}
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dealhouse_http_requests_total",
			Help: "Requests sent to the API, by result; every attempt counts.",
		}, []string{"account", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "dealhouse_http_request_duration_seconds",
			Help:    "Time from sending a request to the API to the last byte of its answer.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, account),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dealhouse_http_retries_total",
			Help: "Requests to the API that were repeated after a failure.",
		}, account),
		waits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dealhouse_rate_limit_wait_seconds_total",
			Help: "Time that requests waited for the account's rate limit, added up over all requests.",
		}, account),
		rate: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "dealhouse_rate_limit_requests_per_second",
			Help: "The current rate limit of the account: requests_per_second, or less after the API has refused requests.",
		}, account),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dealhouse_received_bytes_total",
			Help: "Bytes received from the API, after decompression.",
		}, account),
	}
	reg.MustRegister(m.requests, m.duration, m.retries, m.waits, m.rate, m.bytes)
	return m
}

// statuses are the values of the label status.
var statuses = []string{"2xx", "3xx", "4xx", "429", "5xx", "malformed", "network", "timeout", "canceled"}

// Expect exports an account's series before anything has happened.
func (m *Metrics) Expect(account string) {
	if m == nil {
		return
	}
	for _, status := range statuses {
		m.requests.WithLabelValues(account, status)
	}
	m.duration.WithLabelValues(account)
	for _, vec := range []*prometheus.CounterVec{m.retries, m.waits, m.bytes} {
		vec.WithLabelValues(account)
	}
	m.rate.WithLabelValues(account)
}

// Forget drops the series of an account that is no longer read.
func (m *Metrics) Forget(account string) {
	if m == nil {
		return
	}
	of := prometheus.Labels{"account": account}
	m.requests.DeletePartialMatch(of)
	m.duration.DeletePartialMatch(of)
	for _, vec := range []*prometheus.CounterVec{m.retries, m.waits, m.bytes} {
		vec.DeletePartialMatch(of)
	}
	m.rate.DeletePartialMatch(of)
}

func (m *Metrics) attempt(info RequestInfo) {
	if m == nil {
		return
	}
	m.requests.WithLabelValues(info.Account, info.class()).Inc()
	m.duration.WithLabelValues(info.Account).Observe(info.Duration.Seconds())
	if info.Attempt > 1 {
		m.retries.WithLabelValues(info.Account).Inc()
	}
	m.bytes.WithLabelValues(info.Account).Add(float64(info.Bytes))
}

func (m *Metrics) waited(account string, d time.Duration) {
	if m != nil {
		m.waits.WithLabelValues(account).Add(d.Seconds())
	}
}

// pace notes the present rate. An unlimited rate is left out, because no chart can show it.
func (m *Metrics) pace(account string, rate float64) {
	if m != nil && !math.IsInf(rate, 1) {
		m.rate.WithLabelValues(account).Set(rate)
	}
}

// class returns the label status of an attempt. A fault of the connection or of the answer's body takes
// precedence over the HTTP status.
func (i RequestInfo) class() string {
	switch i.Kind {
	case KindMalformed, KindTooLarge:
		return "malformed"
	case KindNetwork:
		return "network"
	case KindTimeout:
		return "timeout"
	case KindCanceled:
		return "canceled"
	case KindRateLimited:
		return "429"
	}
	switch {
	case i.Status >= 500:
		return "5xx"
	case i.Status >= 400:
		return "4xx"
	case i.Status >= 300:
		return "3xx"
	}
	return "2xx"
}
