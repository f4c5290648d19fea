package syncer

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/warehouse"
)

// Metrics counts what the runs of a process do, for a Prometheus registry. A nil *Metrics counts nothing.
//
// Records are counted when readers see them and the state has moved, so that what the counters say is in the warehouse.
type Metrics struct {
	standing *standing // the state of the streams: gauges that outlive the process

	runs       *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	inProgress *prometheus.GaugeVec
	merging    *prometheus.HistogramVec
	pages      *prometheus.CounterVec
	trips      *prometheus.CounterVec
	unknown    *prometheus.CounterVec
	ignored    *prometheus.CounterVec
	panics     *prometheus.CounterVec
	reread     *prometheus.CounterVec
	backfill   *prometheus.GaugeVec

	read, inserted, updated, deleted, outside, unchanged, rejected *prometheus.CounterVec
}

// NewMetrics registers the metrics. clock is the process's; nil means time.Now.
func NewMetrics(reg prometheus.Registerer, clock func() time.Time) *Metrics {
	if clock == nil {
		clock = time.Now
	}
	counter := func(name, help string, more ...string) *prometheus.CounterVec {
		vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help},
			append([]string{"account", "stream"}, more...))
		reg.MustRegister(vec)
		return vec
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"account", "stream"})
		reg.MustRegister(vec)
		return vec
	}
	histogram := func(name, help string, buckets ...float64) *prometheus.HistogramVec {
		vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets},
			[]string{"account", "stream"})
		reg.MustRegister(vec)
		return vec
	}
	m := &Metrics{
		standing: newStanding(clock),
		runs: counter("dealhouse_runs_total",
			"Finished runs, by outcome: success, incomplete (rows of a list that moved may be missing), failed, guarded (a person must look) or stopped (by a signal or an operator).", "outcome"),
		duration: histogram("dealhouse_run_duration_seconds",
			"Time from the start of a run to its end, whatever the outcome, including the wait for another run of the stream.",
			.1, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 4*3600),
		inProgress: gauge("dealhouse_runs_in_progress", "Runs under way."),
		merging: histogram("dealhouse_merge_duration_seconds",
			"Time from the last staged row until readers see the run: comparing and publishing.",
			.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300),
		pages: counter("dealhouse_pages_total", "Pages read, also by runs that failed later."),
		trips: counter("dealhouse_guard_trips_total",
			"Runs in which a guard stopped too many deletes, or that it stopped whole because of too many rejects or because another service answered.", "guard"),
		unknown: counter("dealhouse_unknown_fields_total",
			"Values of fields that dealhouse does not know; they are kept in _extra."),
		ignored: counter("dealhouse_filter_ignored_total",
			"Runs in which the API sent rows outside the requested time range or scope."),
		panics: counter("dealhouse_run_panics_total",
			"Runs that ended in a panic, which is a bug in this program; the log has the stack."),
		reread: counter("dealhouse_pages_reread_total",
			"Pages that were read again, or thrown away, because the list moved while it was read."),
		backfill: gauge("dealhouse_backfill_completed_ratio",
			"Share of the windows of a running or interrupted backfill that need not be read again, 0 to 1; 1 without a backfill."),
		read:     counter("dealhouse_records_read_total", "Records read by runs whose result readers can see."),
		inserted: counter("dealhouse_records_inserted_total", "Rows that were not there before."),
		updated:  counter("dealhouse_records_updated_total", "Rows whose content changed."),
		deleted:  counter("dealhouse_records_deleted_total", "Rows that a complete list no longer had."),
		outside: counter("dealhouse_records_out_of_scope_total",
			"Deleted rows that had left the scope of their stream."),
		unchanged: counter("dealhouse_records_unchanged_total", "Rows that were read and were already loaded with the same content."),
		rejected: counter("dealhouse_records_rejected_total",
			"Values and records that could not be loaded as they were sent; they are in rejected_records."),
	}
	reg.MustRegister(m.standing)
	return m
}

// The values of the labels outcome and guard.
var (
	countedOutcomes = []string{warehouse.OutcomeSuccess, warehouse.OutcomeIncomplete, warehouse.OutcomeFailed,
		warehouse.OutcomeGuarded, warehouse.OutcomeStopped}
	guards = []string{GuardDeletes, GuardRejects, GuardService}
)

// counters returns the counters that are labelled with account and stream alone, and that every stream has.
func (m *Metrics) counters() []*prometheus.CounterVec {
	return []*prometheus.CounterVec{m.pages, m.reread, m.unknown, m.panics, m.read, m.inserted, m.updated, m.deleted,
		m.outside, m.unchanged, m.rejected}
}

// Expect exports a stream's series before anything has happened.
func (m *Metrics) Expect(account, stream string) {
	if m == nil {
		return
	}
	for _, vec := range m.counters() {
		vec.WithLabelValues(account, stream)
	}
	for _, outcome := range countedOutcomes {
		m.runs.WithLabelValues(account, stream, outcome)
	}
	for _, guard := range guards {
		m.trips.WithLabelValues(account, stream, guard)
	}
	m.duration.WithLabelValues(account, stream)
	m.merging.WithLabelValues(account, stream)
	m.inProgress.WithLabelValues(account, stream)
	m.standing.expect(account, stream)
	if filtering(stream) {
		m.ignored.WithLabelValues(account, stream)
	}
	if incremental(stream) {
		m.backfill.WithLabelValues(account, stream).Set(1)
	}
}

// Forget drops the series of a stream that is no longer loaded.
func (m *Metrics) Forget(account, stream string) {
	if m == nil {
		return
	}
	of := prometheus.Labels{"account": account, "stream": stream}
	for _, vec := range append(m.counters(), m.runs, m.trips, m.ignored) {
		vec.DeletePartialMatch(of)
	}
	for _, vec := range []*prometheus.HistogramVec{m.duration, m.merging} {
		vec.DeletePartialMatch(of)
	}
	for _, vec := range []*prometheus.GaugeVec{m.inProgress, m.backfill} {
		vec.DeletePartialMatch(of)
	}
	m.standing.forget(account, stream)
}

// Observe takes over the state of the streams from the warehouse: what others loaded, or what was loaded before this
// process started, counts too.
func (m *Metrics) Observe(all []warehouse.StreamStatus) {
	if m == nil {
		return
	}
	for _, s := range all {
		m.standing.observe(s)
	}
}

func (m *Metrics) started(job Job, at time.Time) {
	if m == nil {
		return
	}
	m.inProgress.WithLabelValues(job.Account, job.Stream.Name).Inc()
	m.standing.attempted(job.Account, job.Stream.Name, at)
}

// ended counts a run that has ended.
func (m *Metrics) ended(job Job, record warehouse.RunRecord, err error, started, at time.Time) {
	if m == nil {
		return
	}
	account, stream := job.Account, job.Stream.Name
	m.inProgress.WithLabelValues(account, stream).Dec()
	if record.Outcome == warehouse.OutcomeDryRun {
		return
	}
	m.runs.WithLabelValues(account, stream, record.Outcome).Inc()
	m.duration.WithLabelValues(account, stream).Observe(at.Sub(started).Seconds())
	if guard, tripped := errors.AsType[*GuardError](err); tripped {
		m.trips.WithLabelValues(account, stream, guard.Guard).Inc()
	}
	if isPanic(err) {
		m.panics.WithLabelValues(account, stream).Inc()
	}
	if record.Mode == warehouse.ModeBackfill {
		return // somebody asked for it, and it says nothing about the freshness of the stream
	}
	m.standing.ended(record)
	if record.LoadedAll() {
		m.standing.looked(record)
	}
	switch record.Outcome {
	case warehouse.OutcomeSuccess:
		m.standing.succeeded(record)
	case warehouse.OutcomeFailed, warehouse.OutcomeGuarded, warehouse.OutcomeIncomplete:
		m.standing.failed(account, stream, at)
	}
}

// published counts what has become visible, after the state has moved.
func (m *Metrics) published(r warehouse.RunRecord) {
	if m == nil || r.Mode == warehouse.ModeReferences { // readers of a stream do not see what no list has
		return
	}
	for vec, n := range map[*prometheus.CounterVec]uint64{
		m.read: r.Totals.Read, m.rejected: r.Totals.Rejected, m.inserted: r.Changes.Inserted, m.updated: r.Changes.Updated,
		m.deleted: r.Changes.Deleted, m.outside: r.Changes.Outside, m.unchanged: r.Changes.Unchanged,
	} {
		vec.WithLabelValues(r.Account, r.Stream).Add(float64(n))
	}
	m.standing.published(r)
}

// Recovered counts what was published when dead runs were finished.
func (m *Metrics) Recovered(finished []warehouse.Intent) {
	for _, in := range finished {
		m.published(in.Record)
	}
}

func (m *Metrics) merged(r *run, took time.Duration) {
	if m != nil {
		m.merging.WithLabelValues(r.Account, r.Stream.Name).Observe(took.Seconds())
	}
}

func (m *Metrics) page(r *run) {
	if m != nil {
		m.pages.WithLabelValues(r.Account, r.Stream.Name).Inc()
	}
}

// saw counts the observations that a run made while reading.
func (m *Metrics) saw(r *run, s *seen) {
	if m == nil {
		return
	}
	for _, n := range s.unknown {
		m.unknown.WithLabelValues(r.Account, r.Stream.Name).Add(float64(n))
	}
	m.reread.WithLabelValues(r.Account, r.Stream.Name).Add(float64(s.reread))
	if s.outside > 0 || s.leftOut > 0 {
		m.ignored.WithLabelValues(r.Account, r.Stream.Name).Inc()
	}
}

// compareClocks learns how far the API's clock is ahead of ours.
func (m *Metrics) compareClocks(r *run, first *dealapi.Page) {
	if m != nil && !first.ServerTime.IsZero() {
		m.standing.offset(r.Account, first.ServerTime.Sub(first.SentAt))
	}
}

func (m *Metrics) windows(r *run, w Windows) {
	if m != nil && w.Total > 0 {
		m.backfill.WithLabelValues(r.Account, r.Stream.Name).Set(float64(w.Done) / float64(w.Total))
	}
}
