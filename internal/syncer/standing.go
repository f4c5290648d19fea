package syncer

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dealhouse/internal/catalog"
	"dealhouse/internal/warehouse"
)

// standing collects the state of the streams. Its times come from runs of this process and from the warehouse, in any
// order, so they only ever move forward. Ages are computed when they are requested, so they also grow while a worker
// hangs.
type standing struct {
	clock func() time.Time

	mu      sync.Mutex
	streams map[warehouse.StreamID]*position
	offsets map[string]time.Duration // of an account: how far the API's clock is ahead of ours
	ahead   time.Duration            // how far the warehouse's clock is

	lastSuccess, lastAttempt, lastFailure, watermark, lag, lookAge, live, waiting, scope *prometheus.Desc
	lastRun, lastRead, lastRejected                                                      *prometheus.Desc
}

// position is the state of one stream.
type position struct {
	success, attempt, failure, watermark time.Time
	looked                               time.Time // when the last run that loaded all began
	rows                                 uint64
	waiting                              uint64
	scope                                string // of the last complete list (catalog.Scope.Encode)
	last                                 warehouse.EndedRun
}

func newStanding(clock func() time.Time) *standing {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{"account", "stream"}, nil)
	}
	scope := prometheus.NewDesc("dealhouse_scope_info",
		"1 for a stream of which only a part is loaded; the label scope says which.", []string{"account", "stream", "scope"},
		nil)
	return &standing{
		scope: scope,
		lastRun: prometheus.NewDesc("dealhouse_last_run_info",
			"Always 1; the labels say how the last run ended, unless a signal stopped it, and which guard stopped it. Absent before the first.",
			[]string{"account", "stream", "outcome", "guard"}, nil),
		lastRead: desc("dealhouse_last_run_records_read", "Records that this run read."),
		lastRejected: desc("dealhouse_last_run_records_rejected",
			"Values and records of this run that could not be loaded as they were sent."),
		clock: clock, streams: map[warehouse.StreamID]*position{}, offsets: map[string]time.Duration{},
		lastSuccess: desc("dealhouse_last_success_timestamp_seconds",
			"When the last successful run ended; 0 before the first."),
		lastAttempt: desc("dealhouse_last_attempt_timestamp_seconds", "When the last run began; 0 before the first."),
		lastFailure: desc("dealhouse_last_failure_timestamp_seconds",
			"When a run last failed, was incomplete or was stopped by a guard; 0 before the first."),
		watermark: desc("dealhouse_watermark_timestamp_seconds",
			"The updatedAt up to which every change of transactions is loaded; 0 before the first run."),
		lag: desc("dealhouse_watermark_lag_seconds",
			"The API's clock minus the watermark. It also grows while nothing changes at the API: see look_age_seconds."),
		lookAge: desc("dealhouse_look_age_seconds",
			"Time since the last successful run began: all changes before that moment are loaded. Absent before the first."),
		live: desc("dealhouse_live_rows", "Rows that readers see."),
		waiting: desc("dealhouse_waiting_deletes",
			"Rows that the last complete list no longer had, and that are deleted only once that is confirmed or agreed to."),
	}
}

// Describe implements prometheus.Collector.
func (s *standing) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.lastSuccess, s.lastAttempt, s.lastFailure, s.watermark, s.lag, s.lookAge,
		s.live, s.waiting, s.scope, s.lastRun, s.lastRead, s.lastRejected} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (s *standing) Collect(out chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	for id, p := range s.streams {
		send := func(d *prometheus.Desc, value float64) {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, id.Account, id.Stream)
		}
		send(s.lastSuccess, unix(p.success))
		send(s.lastAttempt, unix(p.attempt))
		send(s.lastFailure, unix(p.failure))
		send(s.live, float64(p.rows))
		send(s.waiting, float64(p.waiting))
		if p.last.StartedAt != nil {
			out <- prometheus.MustNewConstMetric(s.lastRun, prometheus.GaugeValue, 1, id.Account, id.Stream, p.last.Outcome,
				guardOf(p.last))
			send(s.lastRead, float64(p.last.Read))
			send(s.lastRejected, float64(p.last.Rejected))
		}
		if scope, err := catalog.ParseScope(p.scope); err == nil && len(scope) > 0 {
			out <- prometheus.MustNewConstMetric(s.scope, prometheus.GaugeValue, 1, id.Account, id.Stream, scope.Brief())
		}
		if !p.looked.IsZero() {
			send(s.lookAge, max(0, now.Add(s.ahead).Sub(p.looked).Seconds()))
		}
		if incremental(id.Stream) {
			send(s.watermark, unix(p.watermark))
		}
		lag := now.Add(s.offsets[id.Account]).Sub(p.watermark)
		if !p.watermark.IsZero() && lag > -clockStep { // else the watermark was never true, and the lag is not known
			send(s.lag, max(0, lag.Seconds()))
		}
	}
}

// guardOf returns the guard that stopped a run; "": none did.
func guardOf(r warehouse.EndedRun) string {
	switch {
	case r.Outcome != warehouse.OutcomeGuarded:
		return ""
	case r.WouldDelete > 0:
		return GuardDeletes
	case r.Rejected == 0:
		return GuardService
	}
	return GuardRejects
}

func incremental(stream string) bool {
	s, err := catalog.Find(stream)
	return err == nil && s.Kind == catalog.Incremental
}

// filtering reports whether a part of the stream can be requested by a filter.
func filtering(stream string) bool {
	s, err := catalog.Find(stream)
	return err == nil && (s.Kind == catalog.Incremental || len(s.Filters) > 0)
}

// unix returns a time as Prometheus expects it, in seconds since 1970; 0 for the zero time.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

func (s *standing) expect(account, stream string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(account, stream)
}

func (s *standing) forget(account, stream string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, warehouse.StreamID{Account: account, Stream: stream})
}

// of finds or makes the position of a stream; s.mu must be held.
func (s *standing) of(account, stream string) *position {
	id := warehouse.StreamID{Account: account, Stream: stream}
	if s.streams[id] == nil {
		s.streams[id] = &position{}
	}
	return s.streams[id]
}

// observe takes over what the warehouse has about a stream that is expected.
func (s *standing) observe(w warehouse.StreamStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.streams[warehouse.StreamID{Account: w.Account, Stream: w.Stream}]
	if p == nil {
		return // it is no longer configured
	}
	for to, t := range map[*time.Time]*time.Time{
		&p.success: w.LastSuccess, &p.looked: w.LookedAt, &p.failure: w.LastFailure, &p.attempt: w.LastRun,
		&p.watermark: w.Watermark,
	} {
		if t != nil {
			forward(to, *t)
		}
	}
	p.rows, p.waiting, p.scope = w.Rows, w.Waiting, w.Scope
	p.end(w.Ended)
	s.ahead = w.Now.Sub(s.clock())
}

func (s *standing) attempted(account, stream string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	forward(&s.of(account, stream).attempt, at)
}

// ended takes over how a run of this process ended.
func (s *standing) ended(r warehouse.RunRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Outcome != warehouse.OutcomeStopped && !r.StartedAt.IsZero() {
		s.of(r.Account, r.Stream).end(warehouse.EndedRun{StartedAt: &r.StartedAt, Outcome: r.Outcome, Read: r.Totals.Read,
			Rejected: r.Totals.Rejected, WouldDelete: r.WouldDelete})
	}
}

// end takes over how a run ended, unless a later one is known.
func (p *position) end(r warehouse.EndedRun) {
	if r.StartedAt != nil && (p.last.StartedAt == nil || !r.StartedAt.Before(*p.last.StartedAt)) {
		p.last = r
	}
}

func (s *standing) failed(account, stream string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	forward(&s.of(account, stream).failure, at)
}

func (s *standing) succeeded(r warehouse.RunRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	forward(&s.of(r.Account, r.Stream).success, r.FinishedAt)
}

// looked takes over when a run began that has loaded all that there was.
func (s *standing) looked(r warehouse.RunRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	forward(&s.of(r.Account, r.Stream).looked, r.StartedAt)
}

// published takes over what a run has changed.
func (s *standing) published(r warehouse.RunRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.of(r.Account, r.Stream)
	p.rows = r.Changes.Live + r.Changes.Inserted - r.Changes.Deleted
	if warehouse.ReadsWhole(r.Mode) {
		p.waiting = r.Changes.Kept
		if r.Outcome == warehouse.OutcomeSuccess {
			p.scope = r.Scope
		}
	}
	if !r.Watermark.IsZero() { // it may have been brought back
		p.watermark = r.Watermark
	}
}

func (s *standing) offset(account string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offsets[account] = d
}

func forward(to *time.Time, t time.Time) {
	if t.After(*to) {
		*to = t
	}
}
