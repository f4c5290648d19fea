package daemon

import (
	"context"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// Plan is a configuration: what is to run, and when.
type Plan struct {
	Streams []Stream // in the order of the configuration
	// Jitter is the longest delay of a run after its time.
	Jitter time.Duration
	// Grace is how long runs under way may continue after the daemon was asked to stop.
	Grace time.Duration
	// MaxRuns is the most runs at once, the others wait; 0: no limit.
	MaxRuns int
	// Retry says when a stream whose run failed is tried again.
	Retry Retry
	// After is called when a run of the plan has ended, before its stream may run again, from several goroutines at
	// once; may be nil. Its work is part of the run: its context ends with the run's.
	After func(ctx context.Context, results []syncer.Result)
	// Adopted is called by the loop when the plan has been put in force. It must not take long. May be nil.
	Adopted func()
	// Beside is called after Adopted, in a goroutine of its own; may be nil. Its context ends with that of the runs.
	Beside func(ctx context.Context)
	// Close frees what the jobs use; may be nil. It is called once, when the plan was replaced and its last run has
	// ended, or at the end.
	Close func()
}

// Stream is one configured stream of one account.
type Stream struct {
	Job      syncer.Job // a run by schedule
	Enabled  bool
	Schedule Schedule // of runs
	Resync   Schedule // of runs that read everything, not only what has changed
}

func (s *Stream) id() warehouse.StreamID {
	return warehouse.StreamID{Account: s.Job.Account, Stream: s.Job.Stream.Name}
}

// entry is a stream in the timetable. It belongs to the goroutine of the loop.
type entry struct {
	Stream
	runs, resyncs slot
	settings      *settings         // of the next run
	looked        time.Time         // when the last run that succeeded started
	running       *attempt          // nil when idle
	exported      bool              // it has series in the metrics
	lastError     string            // of the last run of this process; empty if it succeeded
	failedAt      time.Time         // when that run ended
	refused       usedKey           // the key that the service refused in that run
	failures      failures          // in a row, until now
	paused        *warehouse.Action // by an operator; nil if it is not paused
	consent       uuid.UUID         // the last consent of an operator that a run was started for
	owed          owed              // what operators, and after a pause the schedule, have requested
}

// attempt is a run under way.
type attempt struct {
	since    time.Time
	full     bool
	settings *settings
	key      usedKey

	cancel    context.CancelCauseFunc
	cancelled bool // by an operator
}

// settings is a plan in use.
type settings struct {
	*Plan
	users   int  // runs under way that started with it
	retired bool // no longer in force
	warned  remarks
}

// leave notes that a run which started with the settings has ended.
func (s *settings) leave() {
	s.users--
	s.freeUnused()
}

// retire notes that no more runs start with the settings. s is nil before the first plan.
func (s *settings) retire() {
	if s != nil {
		s.retired = true
		s.freeUnused()
	}
}

func (s *settings) freeUnused() {
	if s.retired && s.users == 0 {
		s.free()
	}
}

// free closes what the jobs use.
func (p *Plan) free() {
	if p.Close != nil {
		p.Close()
		p.Close = nil
	}
}

// newEntry plans a stream; old is its entry in the plan before, if any.
func newEntry(s Stream, set *settings, old *entry, standing warehouse.StreamStatus, now time.Time) *entry {
	e := &entry{Stream: s, settings: set}
	if standing.LookedAt != nil {
		e.looked = *standing.LookedAt
	}
	if old != nil {
		e.running, e.exported = old.running, old.exported
		e.lastError, e.failedAt, e.failures.count = old.lastError, old.failedAt, old.failures.count
		e.consent, e.owed = old.consent, old.owed
	}
	if !s.Enabled {
		return e
	}
	delay := spread(s.Job.Account, s.Job.Stream.Name, set.Jitter)
	e.runs, e.resyncs = slot{Schedule: s.Schedule, delay: delay}, slot{Schedule: s.Resync, delay: delay}
	e.runs.planFirst(e.looked, now)
	if standing.LastFull != nil {
		e.resyncs.planFirst(*standing.LastFull, now)
	} else {
		e.resyncs.at = s.Resync.Next(now) // the first run reads everything anyway
	}
	if old != nil && old.Enabled {
		// A time that is planned already stays, whatever else has changed.
		if old.runs.sameAs(s.Schedule) {
			e.runs.at = old.runs.at
		}
		if old.resyncs.sameAs(s.Resync) {
			e.resyncs.at = old.resyncs.at
		}
	}
	e.tryNow(now)
	return e
}

// next returns when the stream runs next; zero: never by itself.
func (e *entry) next() (next time.Time) {
	if e.paused != nil {
		return next
	}
	for _, at := range []time.Time{e.runs.planned(), e.resyncs.planned(), e.failures.again} {
		if next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next
}

// due reports whether the stream would run now if there is room for it.
func (e *entry) due(now time.Time) bool {
	next := e.next()
	return e.running == nil && e.paused == nil && (e.owed != owed{} || !next.IsZero() && !now.Before(next))
}

// staleAfter returns the age of the last success from which on the stream is late: one scheduled run was left out, or
// failed. It is at least the time from the last run to the second one after it, because in the middle of a pause, such
// as the night of "*/5 8-18 * * *", the next times do not show the pause.
func (e *entry) staleAfter(now time.Time) time.Duration {
	limit := e.runs.LateAfter(now, e.runs.delay)
	if limit == 0 || e.looked.IsZero() {
		return limit
	}
	if second := e.runs.Next(e.runs.Next(e.looked)); !second.IsZero() {
		limit = max(limit, second.Sub(e.looked)+e.runs.delay)
	}
	return limit
}

// turn decides what the stream does now, and how many of its scheduled times were missed.
func (e *entry) turn(now time.Time) (start, full bool, missed int) {
	if e.paused != nil { // daemon-10
		e.owed.run = e.runs.pass(now) > 0 || e.owed.run
		e.owed.full = e.resyncs.pass(now) > 0 || e.owed.full
		return false, false, 0
	}
	if e.running != nil {
		return false, false, e.runs.pass(now) // daemon-1
	}
	runs, resyncs := e.runs.pass(now), e.resyncs.pass(now)
	again := !e.failures.again.IsZero() && !now.Before(e.failures.again)
	// A full read also does the work of the normal run.
	missed = max(runs-1, 0) + max(resyncs-1, 0) // daemon-2
	start = runs+resyncs > 0 || again || e.owed.run || e.owed.full
	full = resyncs > 0 || e.failures.full || e.owed.full
	if start {
		e.failures.again, e.owed = time.Time{}, owed{} // daemon-9
	}
	return start, start && full, missed
}
