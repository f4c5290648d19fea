package daemon

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/notify"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// Build holds the labels of build_info.
type Build struct{ Version, Revision, GoVersion, Engine string }

// Metrics has all metrics of the program: those of the packages, and the daemon's own, which include the results of
// what follows a run. The zero value counts none of the daemon's own.
type Metrics struct {
	API       *dealapi.Metrics
	Warehouse *warehouse.Metrics
	Syncer    *syncer.Metrics
	Notify    *notify.Metrics

	next       *prometheus.GaugeVec
	missed     *prometheus.CounterVec
	failures   *prometheus.GaugeVec
	paused     *prometheus.GaugeVec
	reloaded   prometheus.Gauge
	lastReload prometheus.Gauge
	payouts    *payoutMetrics
	quality    *prometheus.GaugeVec
	lateness   *prometheus.GaugeVec
	references *prometheus.CounterVec
	lost       *prometheus.CounterVec
	job        *prometheus.GaugeVec
}

// How a request for a reference can end: values of the label outcome.
const (
	referenceStored   = "stored"
	referenceNotFound = warehouse.MissNotFound
)

// NewMetrics registers all metrics. clock is the process's; nil means time.Now.
func NewMetrics(reg prometheus.Registerer, build Build, clock func() time.Time) *Metrics {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
		reg.MustRegister(vec)
		return vec
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		reg.MustRegister(vec)
		return vec
	}
	single := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
		reg.MustRegister(g)
		return g
	}
	m := &Metrics{
		API: dealapi.NewMetrics(reg), Warehouse: warehouse.NewMetrics(reg), Syncer: syncer.NewMetrics(reg, clock),
		Notify: notify.NewMetrics(reg),
		next: gauge("dealhouse_next_run_timestamp_seconds", "When the stream runs next; 0 if it does not run by itself.", "account",
			"stream"),
		missed: counter("dealhouse_missed_runs_total",
			"Scheduled times without a run of their own, because the previous run was not over or the machine slept.", "account", "stream"),
		failures: gauge("dealhouse_failed_runs_in_a_row",
			"Failed runs in a row, counted by this process; 0 when the last run succeeded.", "account",
			"stream"),
		paused: gauge("dealhouse_paused", "1 while an operator has paused the stream or its account, so that no run of it starts.",
			"account", "stream"),
		reloaded: single("dealhouse_config_reload_success",
			"1 if the configuration was accepted when it was last read, 0 if it was refused and the previous one is in force."),
		lastReload: single("dealhouse_config_last_reload_timestamp_seconds", "When the configuration in force was read."),
		payouts:    newPayoutMetrics(gauge),
		quality: gauge("dealhouse_quality_check_ok", "1 when what is loaded passed the check, 0 when it did not.",
			"account", "stream", "check"),
		lateness: gauge("dealhouse_late_changes_seconds",
			"How late the service showed half (0.5), 99 of 100 (0.99) and all (1) of the changes of the last 30 days that it showed later than it dated them; after a full run.",
			"account", "stream", "share"),
		lost: counter("dealhouse_telemetry_lost_total",
			"Lost OpenLineage events, and lost exports of traces and metrics over OTLP.",
			"signal"),
		job: gauge("dealhouse_job_finished_timestamp_seconds",
			"When a job left its metrics: its counters are those of one run. The daemon has none."),
		references: counter("dealhouse_references_total",
			"Deals that transactions refer to and no list contains, requested by their own address.", "account", "stream",
			"outcome"),
	}
	for _, signal := range []string{SignalLineage, SignalTraces, SignalMetrics} {
		m.lost.WithLabelValues(signal)
	}
	gauge("dealhouse_build_info", "Always 1; the labels say which build this is.", "version", "revision", "goversion",
		"engine").
		WithLabelValues(build.Version, build.Revision, build.GoVersion, build.Engine).Set(1)
	return m
}

// Expect exports a stream's series before anything has happened. Series of its checks and of the account's payouts are
// left out, because a zero there would be a claim about the data.
func (m *Metrics) Expect(account, stream string) {
	m.API.Expect(account)
	m.Warehouse.Expect(account, stream)
	m.Syncer.Expect(account, stream)
	m.next.WithLabelValues(account, stream)
	m.missed.WithLabelValues(account, stream)
	m.failures.WithLabelValues(account, stream)
	m.paused.WithLabelValues(account, stream)
	m.payouts.expect(account)
	if s, err := catalog.Find(stream); err == nil && s.ByID {
		for _, outcome := range []string{referenceStored, referenceNotFound} {
			m.references.WithLabelValues(account, stream, outcome)
		}
	}
}

// Forget drops the series of a stream that is no longer loaded.
func (m *Metrics) Forget(account, stream string) {
	m.Warehouse.Forget(account, stream)
	m.Syncer.Forget(account, stream)
	of := prometheus.Labels{"account": account, "stream": stream}
	m.next.DeletePartialMatch(of)
	m.missed.DeletePartialMatch(of)
	m.failures.DeletePartialMatch(of)
	m.paused.DeletePartialMatch(of)
	m.quality.DeletePartialMatch(of)
	m.lateness.DeletePartialMatch(of)
	m.references.DeletePartialMatch(of)
}

// ForgetAccount drops the series of an account of which no stream is loaded.
func (m *Metrics) ForgetAccount(account string) {
	m.API.Forget(account)
	m.payouts.forget(account)
}

// SetChecks sets the outcome of the newest checks. Their names are a small fixed set.
func (m *Metrics) SetChecks(checks []warehouse.Check) {
	if m.quality == nil {
		return
	}
	for _, c := range checks {
		value := 0.0
		if c.OK {
			value = 1
		}
		m.quality.WithLabelValues(c.Account, c.Stream, c.Name).Set(value)
	}
}

// SetLateness sets how late changes of a stream came.
func (m *Metrics) SetLateness(l warehouse.Lateness) {
	if m.lateness == nil {
		return
	}
	for share, by := range map[string]time.Duration{"0.5": l.Half, "0.99": l.Most, "1": l.Latest} {
		m.lateness.WithLabelValues(l.Account, l.Stream, share).Set(by.Seconds())
	}
}

// SetPaused says whether an operator has paused a stream.
func (m *Metrics) SetPaused(id warehouse.StreamID, paused bool) {
	if m.paused == nil {
		return
	}
	value := 0.0
	if paused {
		value = 1
	}
	m.paused.WithLabelValues(id.Account, id.Stream).Set(value)
}

// EndJob notes that the metrics are left by a job that ends now.
func (m *Metrics) EndJob(at time.Time) { m.job.WithLabelValues().Set(float64(at.UnixMilli()) / 1000) }

// AddReferences counts deals that were requested by their own address.
func (m *Metrics) AddReferences(account, stream string, stored, notFound uint64) {
	if m.references == nil {
		return
	}
	m.references.WithLabelValues(account, stream, referenceStored).Add(float64(stored))
	m.references.WithLabelValues(account, stream, referenceNotFound).Add(float64(notFound))
}

// What is sent to other systems: values of the label signal.
const (
	SignalLineage = "lineage"
	SignalTraces  = "traces"
	SignalMetrics = "metrics"
)

// Lost counts messages of a signal that did not arrive.
func (m *Metrics) Lost(signal string, n int) {
	if m.lost != nil {
		m.lost.WithLabelValues(signal).Add(float64(n))
	}
}

// read notes that the configuration was read at a time or, if err is not nil, refused.
func (m *Metrics) read(at time.Time, err error) {
	if err != nil {
		m.reloaded.Set(0)
		return
	}
	m.reloaded.Set(1)
	m.lastReload.Set(float64(at.UnixMilli()) / 1000)
}

// tried notes how often a stream has failed in a row, and when it runs next.
func (m *Metrics) tried(id warehouse.StreamID, failures int, next time.Time) {
	m.failures.WithLabelValues(id.Account, id.Stream).Set(float64(failures))
	m.planned(id, next)
}

// planned notes when a stream runs next.
func (m *Metrics) planned(id warehouse.StreamID, next time.Time) {
	value := 0.0
	if !next.IsZero() {
		value = float64(next.UnixMilli()) / 1000
	}
	m.next.WithLabelValues(id.Account, id.Stream).Set(value)
}
