package warehouse

import (
	"context"
	"fmt"
	"time"

	"dealhouse/internal/catalog"
)

// StreamStatus is where one stream of one account stands.
type StreamStatus struct {
	Account     string     `json:"account"`
	Stream      string     `json:"stream"`
	Rows        uint64     `json:"rows"`
	LastSuccess *time.Time `json:"last_success"`
	LookedAt    *time.Time `json:"looked_at"`    // when the last run that succeeded began: changes until then are loaded
	LastFull    *time.Time `json:"last_full"`    // when the last run that succeeded and read everything began; the first one counts as such
	LastFailure *time.Time `json:"last_failure"` // when a run last ended otherwise, but for one that a signal stopped
	LastRun     *time.Time `json:"last_run"`
	LastOutcome string     `json:"last_outcome"`
	LastError   string     `json:"last_error"` // of the last run, when it failed
	Waiting     uint64     `json:"waiting"`    // rows that the last list no longer had, and that wait for a confirmation before they are deleted
	Faults      Faults     `json:"faults"`
	Watermark   *time.Time `json:"watermark"`
	Now         time.Time  `json:"now"` // by the clock of the warehouse
}

// Faults are the runs since the last success that failed, that a guard stopped, whose process died, or that may have
// missed rows of a list that moved. A run that a signal stopped is none, and one under way is none yet.
type Faults struct {
	Count   uint64     `json:"count"`
	Since   *time.Time `json:"since"`   // when the first of them began
	Outcome string     `json:"outcome"` // of the last of them
	Error   string     `json:"error"`   // of the last of them
}

// Status is where every stream stands that was ever run.
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

// wholeLooks are the runs that bring a stream in step with the API. The others load single records of it, and say nothing
// of the rest. A run that began after now was timed by a clock that was wrong, and would be the last one until then.
var wholeLooks = inStepModes + " AND started_at <= now64(3, 'UTC') + toIntervalMinute(1)"

// freshLooks are the runs that say how fresh a stream is. A backfill of a range that was asked for does not, however it
// ends: it is about the past, and a person is there to see.
var freshLooks = wholeLooks + " AND " + freshModes

// succeeded is a run that brought the stream in step with the API. Of the loads of a first sync only the last one has a
// watermark, and with it all is loaded.
const succeeded = "(outcome = '" + OutcomeSuccess + "' AND (mode != '" + ModeInitial + "' OR isNotNull(watermark)))"

// lookedFrom is when such a run began to look: a first sync with the first of its loads.
const lookedFrom = "if(mode = '" + ModeInitial + "', first_load, started_at)"

// Standings is Status without Rows. It reads the bookkeeping only, so it costs little however many rows are loaded.
func (w *Warehouse) Standings(ctx context.Context) ([]StreamStatus, error) {
	rows, err := w.readOnly.Query(ctx, `WITH looks AS
(
    SELECT account, stream, started_at, finished_at, outcome, mode, error, waiting, `+succeeded+` AS good,
        minIf(started_at, mode = '`+ModeInitial+`') OVER (PARTITION BY account, stream) AS first_load, `+lookedFrom+` AS looked_from
    FROM sync_runs WHERE `+freshLooks+`
)
SELECT r.account, r.stream, r.last_success, r.looked_at, r.last_full, r.last_failure, r.last_run, r.last_outcome, r.last_error, r.last_waiting,
    ifNull(f.faults, 0), if(ifNull(f.faults, 0) = 0, NULL, f.since), ifNull(f.fault, ''), ifNull(f.fault_error, ''),
    parseDateTime64BestEffortOrNull(nullIf(w.value, ''), 3, 'UTC'), now64(3, 'UTC')
FROM
(
    SELECT account, stream, maxIf(finished_at, good) AS last_success, maxIf(toNullable(looked_from), good) AS looked_at,
        ifNull(maxIf(toNullable(started_at), good AND `+wholeModes+`), minIf(toNullable(looked_from), good)) AS last_full,
        maxIf(finished_at, `+faulty+`) AS last_failure, toNullable(max(started_at)) AS last_run,
        argMax(outcome, started_at) AS last_outcome, argMax(error, started_at) AS last_error,
        argMaxIf(waiting, started_at, `+publishedSomething+` AND `+wholeModes+`) AS last_waiting
    FROM looks GROUP BY account, stream
) AS r
LEFT JOIN
(
    SELECT b.account AS account, b.stream AS stream, count() AS faults, min(b.started_at) AS since,
        argMax(b.outcome, b.started_at) AS fault, argMax(b.error, b.started_at) AS fault_error
    FROM (SELECT account, stream, started_at, outcome, error FROM looks WHERE `+faulty+`) AS b
    LEFT JOIN (SELECT account, stream, max(started_at) AS began FROM looks WHERE good GROUP BY account, stream) AS good
        ON b.account = good.account AND b.stream = good.stream
    WHERE b.started_at > ifNull(good.began, toDateTime64(0, 3, 'UTC'))
    GROUP BY b.account, b.stream
) AS f ON r.account = f.account AND r.stream = f.stream
LEFT JOIN (SELECT account, stream, value FROM sync_state WHERE name = 'watermark') AS w ON r.account = w.account AND r.stream = w.stream
ORDER BY r.account, indexOf(`+stringArray(catalog.Names())+`, r.stream)`)
	all, err := scanned(rows, err, func(s *StreamStatus) []any {
		return []any{&s.Account, &s.Stream, &s.LastSuccess, &s.LookedAt, &s.LastFull, &s.LastFailure, &s.LastRun, &s.LastOutcome, &s.LastError, &s.Waiting,
			&s.Faults.Count, &s.Faults.Since, &s.Faults.Outcome, &s.Faults.Error, &s.Watermark, &s.Now}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the status of the streams: %w", err)
	}
	return all, nil
}

// StreamID names one stream of one account.
type StreamID struct{ Account, Stream string }

// LiveRows counts the rows that people see now, of each stream of each account that has any.
func (w *Warehouse) LiveRows(ctx context.Context) (map[StreamID]uint64, error) {
	query := ""
	for i, s := range catalog.All() {
		if i > 0 {
			query += " UNION ALL "
		}
		query += "SELECT account, " + quote(s.Name) + " AS stream, count() AS live FROM " + s.Name + " GROUP BY account"
	}
	rows, err := w.readOnly.Query(ctx, query)
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
