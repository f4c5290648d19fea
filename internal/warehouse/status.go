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
	Faults    Faults     `json:"faults"`
	Watermark *time.Time `json:"watermark"`
	Scope     string     `json:"scope,omitempty"` // of the last complete list (catalog.Scope.Encode); "": all
	Now       time.Time  `json:"now"`             // by the clock of the warehouse
}

// Lag is how old the visible data is at a time of the warehouse's clock: by the watermark if there is one, else by the
// last success, which loaded the whole list. It is nil when that is not known.
func (s StreamStatus) Lag(now time.Time) *time.Duration {
	since := s.LastSuccess
	if s.Watermark != nil {
		since = s.Watermark
	}
	if since == nil || since.IsZero() {
		return nil
	}
	lag := max(0, now.Sub(*since))
	return &lag
}

// Faults are the runs since the last success that failed, that a guard stopped, whose process died, or that may have
// missed rows of a list that moved. A run that a signal stopped does not count, and a run under way does not count yet.
type Faults struct {
	Count   uint64     `json:"count"`
	Since   *time.Time `json:"since"`   // when the first of them began
	Outcome string     `json:"outcome"` // of the last of them
	Error   string     `json:"error"`   // of the last of them
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
	}
	found, err := scanned(rows, err, func(s *row) []any {
		return []any{&s.Account, &s.Stream, &s.LastSuccess, &s.LookedAt, &s.LastFull, &s.LastFailure, &s.LastRun,
			&s.lastRun, &s.LastOutcome, &s.LastError, &s.Waiting,
			&s.Faults.Count, &s.Faults.Since, &s.Faults.Outcome, &s.Faults.Error, &s.Watermark, &s.Scope, &s.Now}
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
