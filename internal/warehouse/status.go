package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// StreamStatus is the state of one stream of one account.
type StreamStatus struct {
	Account     string     `json:"account"`
	Stream      string     `json:"stream"`
	Rows        uint64     `json:"rows"`
	LastSuccess *time.Time `json:"last_success"`
	// LookedAt is when the last run that succeeded began: changes until then are loaded.
	LookedAt *time.Time `json:"looked_at"`
	// LastFull is when the last run that succeeded and read everything began. The first run counts as one.
	LastFull    *time.Time `json:"last_full"`
	LastFailure *time.Time `json:"last_failure"` // when a run last ended without success; not one that a signal stopped
	LastRun     *time.Time `json:"last_run"`
	LastOutcome string     `json:"last_outcome"`
	LastError   string     `json:"last_error"` // of the last run, when it failed
	// Waiting is how many rows the last list no longer had. They wait for a confirmation before they are deleted.
	Waiting   uint64     `json:"waiting"`
	Ended     EndedRun   `json:"-"`
	Faults    Faults     `json:"faults"`
	Watermark *time.Time `json:"watermark"`
	Scope     string     `json:"scope,omitempty"` // of the last complete list (catalog.Scope.Encode); "": all
	Now       time.Time  `json:"now"`             // by the clock of the warehouse
	// Ahead is how far the clock of the service was ahead of the warehouse's when the stream was last read.
	Ahead time.Duration `json:"-"`
}

// Lag is how old the visible data is at a time of the warehouse's clock: by the watermark and the service's clock if
// there is a watermark, else by the last success, which loaded the whole list. It is nil when that is not known, as if
// the watermark lies ahead of the service's clock.
func (s StreamStatus) Lag(now time.Time) *time.Duration {
	since := s.LastSuccess
	if s.Watermark != nil {
		since, now = s.Watermark, now.Add(s.Ahead)
	}
	if since == nil || since.IsZero() || s.Watermark != nil && since.After(now.Add(clockTolerance)) {
		return nil
	}
	lag := max(0, now.Sub(*since))
	return &lag
}

// EndedRun is how the last run ended that was not stopped by a signal.
type EndedRun struct {
	StartedAt                   *time.Time // nil: there was none
	Outcome                     string
	Read, Rejected, WouldDelete uint64
}

// Faults are the runs since the last success that failed, that a guard stopped, whose process died, or that may have
// missed rows of a list that moved. A run that a signal stopped does not count, and a run under way does not count yet.
type Faults struct {
	Count   uint64     `json:"count"`
	Since   *time.Time `json:"since"`   // when the first of them began
	Outcome string     `json:"outcome"` // of the last of them
	Error   string     `json:"error"`   // of the last of them
	Cause   string     `json:"cause"`   // of the last of them, as RunRecord has it
}

// Status returns the state of every stream that was ever run.
func (w *Warehouse) Status(ctx context.Context) ([]StreamStatus, error) {
	all, err := w.Standings(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := w.LiveRows(ctx)
	if err != nil {
		return nil, err
	}
	for i, s := range all {
		all[i].Rows = rows[StreamID{s.Account, s.Stream}]
	}
	return all, nil
}

// Standings returns the same as Status, but without Rows. It reads the bookkeeping only, so it costs little however
// many rows are loaded. If the process of the last run is certainly gone, the run is killed, though sync_runs may still
// have it as running. It counts among the Faults once that is stored.
func (w *Warehouse) Standings(ctx context.Context) ([]StreamStatus, error) {
	rows, err := w.once.Query(ctx, selectStandings())
	type row struct {
		StreamStatus
		lastRun uuid.UUID
		clock   string
	}
	found, err := scanned(rows, err, func(s *row) []any {
		return []any{&s.Account, &s.Stream, &s.LastSuccess, &s.LookedAt, &s.LastFull, &s.LastFailure, &s.LastRun,
			&s.lastRun, &s.LastOutcome, &s.LastError, &s.Waiting,
			&s.Ended.StartedAt, &s.Ended.Outcome, &s.Ended.Read, &s.Ended.Rejected, &s.Ended.WouldDelete,
			&s.Faults.Count, &s.Faults.Since, &s.Faults.Outcome, &s.Faults.Error, &s.Faults.Cause, &s.Watermark, &s.Scope, &s.clock, &s.Now}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the status of the streams: %w", err)
	}
	dead, err := w.deadRuns(ctx, runningOf(found, func(s *row) (uuid.UUID, string) { return s.lastRun, s.LastOutcome }))
	if err != nil {
		return nil, err
	}
	var all []StreamStatus
	for _, s := range found {
		if dead[s.lastRun] {
			s.LastOutcome, s.LastError = OutcomeKilled, diedEarly
		}
		clock, err := parseState[ServiceClock](s.Account, s.Stream, StateClock, s.clock)
		if err != nil {
			return nil, err
		}
		if clock != nil {
			s.Ahead = clock.Date.Sub(clock.At)
		}
		all = append(all, s.StreamStatus)
	}
	return all, nil
}

// StreamID names one stream of one account.
type StreamID struct{ Account, Stream string }

// HasAccount reports whether the warehouse has anything of an account: a run, or a settlement. An account that has rows
// has runs, too: those that say how its streams stand are kept for good.
func (r Reader) HasAccount(ctx context.Context, account string) (bool, error) {
	var n uint64
	if err := r.retrying.QueryRow(ctx, selectAnyOfAccount, named("account", account)).Scan(&n); err != nil {
		return false, fmt.Errorf("reading whether there is anything of account %s: %w", account, err)
	}
	return n > 0, nil
}

// LiveRows counts the rows that people see now, of each stream of each account that has any.
func (r Reader) LiveRows(ctx context.Context) (map[StreamID]uint64, error) {
	rows, err := r.once.Query(ctx, selectLiveRows())
	type count struct {
		StreamID
		live uint64
	}
	counts, err := scanned(rows, err, func(c *count) []any { return []any{&c.Account, &c.Stream, &c.live} })
	if err != nil {
		return nil, fmt.Errorf("counting the rows of the streams: %w", err)
	}
	all := map[StreamID]uint64{}
	for _, c := range counts {
		all[c.StreamID] = c.live
	}
	return all, nil
}
