package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// RunFilter narrows the list of runs. Zero values do not narrow it.
type RunFilter struct {
	Account, Stream string
	Limit           int  // default 20
	PerStream       int  // the most runs of each stream of each account; zero: no limit
	WholeLooks      bool // without the runs that load single records: retries, and deals by their own addresses
	Brief           bool // only what was asked for and read, when, and how it ended: a chart of many runs needs no more
}

// Runs lists the last runs, newest first. A run whose process is certainly gone is killed, though sync_runs may still
// have it as running.
func (w *Warehouse) Runs(ctx context.Context, f RunFilter) ([]RunRecord, error) {
	if f.Limit <= 0 {
		f.Limit = 20
	}
	rows, err := w.once.Query(ctx, selectRuns(f), named("account", f.Account), named("stream", f.Stream))
	fields := (*runRow).fields
	if f.Brief {
		fields = (*runRow).brief
	}
	all, err := scanned(rows, err, fields)
	if err != nil {
		return nil, fmt.Errorf("reading the last runs: %w", err)
	}
	records := make([]RunRecord, len(all))
	for i, row := range all {
		records[i] = row.record()
	}
	dead, err := w.deadRuns(ctx, runningOf(records, func(r *RunRecord) (uuid.UUID, string) { return r.RunID, r.Outcome }))
	if err != nil {
		return nil, err
	}
	for i := range records {
		if r := &records[i]; dead[r.RunID] {
			r.Outcome, r.Error = OutcomeKilled, diedEarly
		}
	}
	return records, nil
}

// runRow is a row of sync_runs as it is read: times that are missing are NULL.
type runRow struct {
	RunRecord
	finished, after, watermark, server *time.Time
}

// fields returns what the columns of selectRuns are read into.
func (r *runRow) fields() []any {
	return []any{
		&r.Account, &r.Stream, &r.RunID, &r.Mode, &r.StartedAt, &r.finished, &r.Outcome, &r.after,
		&r.watermark, &r.server, &r.Totals.Pages, &r.Totals.Read,
		&r.Changes.Inserted, &r.Changes.Updated, &r.Changes.Deleted, &r.WouldDelete, &r.Changes.Outside, &r.Scope,
		&r.Changes.Unchanged, &r.Changes.Older, &r.Changes.Kept, &r.Totals.Rejected, &r.Duplicates,
		&r.Totals.Bytes, &r.Totals.Retries, &r.Warnings, &r.Error, &r.Cause,
	}
}

// brief returns the same for a selectRuns that is brief.
func (r *runRow) brief() []any {
	return []any{&r.Account, &r.Stream, &r.RunID, &r.Mode, &r.StartedAt, &r.finished, &r.Outcome, &r.after,
		&r.Totals.Read}
}

func (r *runRow) record() RunRecord {
	r.FinishedAt, r.RequestedAfter, r.Watermark, r.ServerTime = orZero(r.finished), orZero(r.after),
		orZero(r.watermark), orZero(r.server)
	return r.RunRecord
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
