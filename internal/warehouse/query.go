package warehouse

import (
	"context"
	"fmt"
	"time"
)

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
	Limit           int  // default 20
	PerStream       int  // of each stream of each account so many at most; zero: as many as there are
	WholeLooks      bool // without the runs that load single records: retries, and deals by their own addresses
}

// Runs lists the last runs, newest first.
func (w *Warehouse) Runs(ctx context.Context, f RunFilter) ([]RunRecord, error) {
	if f.Limit <= 0 {
		f.Limit = 20
	}
	each, modes := "", ""
	if f.PerStream > 0 {
		each = fmt.Sprintf("LIMIT %d BY account, stream ", f.PerStream)
	}
	if f.WholeLooks {
		modes = " AND " + wholeLooks
	}
	rows, err := w.readOnly.Query(ctx, `SELECT account, stream, run_id, mode, started_at, finished_at, outcome, requested_after, watermark, server_time, pages, rows_read,
    inserted, updated, deleted, unchanged, older, waiting, rejected, duplicates, bytes, retries, warnings, error
FROM sync_runs
WHERE ({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String})`+modes+`
ORDER BY started_at DESC, account, stream `+each+`LIMIT `+fmt.Sprint(f.Limit), named("account", f.Account), named("stream", f.Stream))
	if err != nil {
		return nil, fmt.Errorf("reading the last runs: %w", err)
	}
	defer rows.Close()
	var all []RunRecord
	for rows.Next() {
		var r RunRecord
		var finished, after, watermark, server *time.Time
		if err := rows.Scan(&r.Account, &r.Stream, &r.RunID, &r.Mode, &r.StartedAt, &finished, &r.Outcome, &after, &watermark, &server, &r.Totals.Pages, &r.Totals.Read,
			&r.Changes.Inserted, &r.Changes.Updated, &r.Changes.Deleted, &r.Changes.Unchanged, &r.Changes.Older, &r.Changes.Kept, &r.Totals.Rejected, &r.Duplicates, &r.Totals.Bytes,
			&r.Totals.Retries, &r.Warnings, &r.Error); err != nil {
			return nil, fmt.Errorf("reading the last runs: %w", err)
		}
		for from, to := range map[*time.Time]*time.Time{finished: &r.FinishedAt, after: &r.RequestedAfter, watermark: &r.Watermark, server: &r.ServerTime} {
			if from != nil {
				*to = *from
			}
		}
		all = append(all, r)
	}
	return all, rows.Err()
}
