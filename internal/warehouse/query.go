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
	Watermark   *time.Time `json:"watermark"`
	Now         time.Time  `json:"now"` // by the clock of the warehouse
}

// Status is where every stream stands that was ever run.
func (w *Warehouse) Status(ctx context.Context) ([]StreamStatus, error) {
	live := ""
	for i, s := range catalog.All() {
		if i > 0 {
			live += " UNION ALL "
		}
		live += "SELECT account, " + quote(s.Name) + " AS stream, count() AS live FROM " + s.Name + " GROUP BY account"
	}
	rows, err := w.conn.Query(ctx, `SELECT r.account, r.stream, ifNull(l.live, 0), r.last_success, r.looked_at, r.last_full, r.last_failure, r.last_run, r.last_outcome, r.last_error,
    parseDateTime64BestEffortOrNull(nullIf(w.value, ''), 3, 'UTC'), now64(3, 'UTC')
FROM
(
    SELECT account, stream, maxIf(finished_at, outcome = 'success') AS last_success,
        maxIf(toNullable(started_at), outcome = 'success') AS looked_at,
        ifNull(maxIf(toNullable(started_at), outcome = 'success' AND mode != 'incremental' AND mode != 'backfill'), minIf(toNullable(started_at), outcome = 'success')) AS last_full,
        maxIf(finished_at, outcome IN ('failed', 'guarded', 'killed')) AS last_failure,
        toNullable(max(started_at)) AS last_run,
        argMax(outcome, started_at) AS last_outcome, argMax(error, started_at) AS last_error
    FROM sync_runs GROUP BY account, stream
) AS r
LEFT JOIN (`+live+`) AS l ON r.account = l.account AND r.stream = l.stream
LEFT JOIN (SELECT account, stream, value FROM sync_state WHERE name = 'watermark') AS w ON r.account = w.account AND r.stream = w.stream
ORDER BY r.account, indexOf(`+stringArray(catalog.Names())+`, r.stream)`)
	if err != nil {
		return nil, fmt.Errorf("reading the status of the streams: %w", err)
	}
	defer rows.Close()
	var all []StreamStatus
	for rows.Next() {
		var s StreamStatus
		if err := rows.Scan(&s.Account, &s.Stream, &s.Rows, &s.LastSuccess, &s.LookedAt, &s.LastFull, &s.LastFailure, &s.LastRun, &s.LastOutcome, &s.LastError, &s.Watermark, &s.Now); err != nil {
			return nil, fmt.Errorf("reading the status of the streams: %w", err)
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

func stringArray(values []string) string {
	text := "["
	for i, v := range values {
		if i > 0 {
			text += ", "
		}
		text += quote(v)
	}
	return text + "]"
}

// RunFilter narrows the list of runs; zero values do not.
type RunFilter struct {
	Account, Stream string
	Limit           int // default 20
}

// Runs lists the last runs, newest first.
func (w *Warehouse) Runs(ctx context.Context, f RunFilter) ([]RunRecord, error) {
	if f.Limit <= 0 {
		f.Limit = 20
	}
	rows, err := w.conn.Query(ctx, `SELECT account, stream, run_id, mode, started_at, finished_at, outcome, requested_after, watermark, pages, rows_read,
    inserted, updated, deleted, unchanged, rejected, duplicates, bytes, retries, warnings, error
FROM sync_runs
WHERE ({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String})
ORDER BY started_at DESC, account, stream LIMIT `+fmt.Sprint(f.Limit), named("account", f.Account), named("stream", f.Stream))
	if err != nil {
		return nil, fmt.Errorf("reading the last runs: %w", err)
	}
	defer rows.Close()
	var all []RunRecord
	for rows.Next() {
		var r RunRecord
		var finished, after, watermark *time.Time
		if err := rows.Scan(&r.Account, &r.Stream, &r.RunID, &r.Mode, &r.StartedAt, &finished, &r.Outcome, &after, &watermark, &r.Totals.Pages, &r.Totals.Read,
			&r.Changes.Inserted, &r.Changes.Updated, &r.Changes.Deleted, &r.Changes.Unchanged, &r.Totals.Rejected, &r.Duplicates, &r.Totals.Bytes,
			&r.Totals.Retries, &r.Warnings, &r.Error); err != nil {
			return nil, fmt.Errorf("reading the last runs: %w", err)
		}
		for from, to := range map[*time.Time]*time.Time{finished: &r.FinishedAt, after: &r.RequestedAfter, watermark: &r.Watermark} {
			if from != nil {
				*to = *from
			}
		}
		all = append(all, r)
	}
	return all, rows.Err()
}
