package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
)

// Totals are what a run has read.
type Totals struct {
	Pages      uint64 `json:"pages"`
	Read       uint64 `json:"rows_read"`
	Staged     uint64 `json:"staged"`
	Rejected   uint64 `json:"rejected"`   // entries of rejected_records
	Unloadable uint64 `json:"unloadable"` // records that were rejected whole
	Noise      uint64 `json:"noise"`      // decimals whose binary noise was rounded away
	Bytes      uint64 `json:"bytes"`
	Retries    uint64 `json:"retries"`
}

// RunRecord is one row of sync_runs.
//
// A run that publishes is finished when all that it changes is attached. If a run died while it published, and another
// one has finished its work, FinishedAt is when it began to publish: nobody knows when it died, and what it read is no
// fresher because it was found later.
type RunRecord struct {
	Account        string    `json:"account"`
	Stream         string    `json:"stream"`
	RunID          uuid.UUID `json:"run_id"`
	Mode           string    `json:"mode"`
	StartedAt      time.Time `json:"started_at"`
	FinishedAt     time.Time `json:"finished_at"` // zero: under way, or killed and not stored as such yet
	Outcome        string    `json:"outcome"`
	RequestedAfter time.Time `json:"requested_after"` // zero: everything was asked for
	Watermark      time.Time `json:"watermark"`       // zero: the stream has none
	ServerTime     time.Time `json:"server_time"`     // of the API when the run began; zero: not known
	Totals         Totals    `json:"totals"`
	Changes        Changes   `json:"changes"`
	Duplicates     uint64    `json:"duplicates"`
	WouldDelete    uint64    `json:"would_delete"`    // rows that it would have deleted if a guard had not stopped it
	Scope          string    `json:"scope,omitempty"` // what was read of the list (catalog.Scope.Encode); "": all of it
	Warnings       []string  `json:"warnings"`
	Error          string    `json:"error"`
	Cause          string    `json:"cause,omitempty"` // equal ones are one fault, if they are of one account, or of a service
	// Unknown are the fields that dealhouse does not know, of a run of this process; unknown_fields has them.
	Unknown []string `json:"-"`
	Written Written  `json:"-"` // of a run of this process, for CheckQuality; sync_runs does not have it
	Clashes Clashes  `json:"-"` // likewise
	Carried *Carried `json:"-"` // likewise, of a run that read all of the stream; nil: it did not
}

var runColumns = columns("account String, stream String, run_id UUID, mode String, started_at DateTime64(3), finished_at Nullable(DateTime64(3)), " +
	"outcome String, requested_after Nullable(DateTime64(3)), watermark Nullable(DateTime64(3)), server_time Nullable(DateTime64(3)), pages UInt64, rows_read UInt64, inserted UInt64, " +
	"updated UInt64, deleted UInt64, would_delete UInt64, out_of_scope UInt64, scope String, unchanged UInt64, older UInt64, waiting UInt64, rejected UInt64, duplicates UInt64, bytes UInt64, retries UInt64, warnings Array(String), " +
	"error String, cause String, version UInt64")

// LoadedAll reports whether the run missed nothing and all that it read is loaded. Deletions may wait for consent.
func (r RunRecord) LoadedAll() bool {
	return r.Outcome == OutcomeSuccess || r.Outcome == OutcomeGuarded && r.Changes.Kept > 0
}

// saveRun writes the run's row; a later write replaces an earlier one.
func (p *pool) saveRun(ctx context.Context, r RunRecord) error {
	_, next, err := p.timeAfter(ctx, newestVersion,
		"sync_runs_log WHERE account = {account:String} AND stream = {stream:String} AND run_id = {run:UUID}",
		named("account", r.Account), named("stream", r.Stream), named("run", r.RunID.String()))
	if err != nil {
		return err
	}
	return p.insertRun(ctx, r, next)
}

// beginRun writes the first row of a run.
func (p *pool) beginRun(ctx context.Context, r RunRecord) error {
	return p.insertRun(ctx, r, r.StartedAt)
}

// insertRun writes the run's row with a version that is later than that of the row that it replaces.
func (p *pool) insertRun(ctx context.Context, r RunRecord, next time.Time) error {
	warnings := r.Warnings
	if warnings == nil {
		warnings = []string{}
	}
	err := p.insert(ctx, "sync_runs_log", runColumns, func(b driver.Batch) error {
		return b.Append(r.Account, r.Stream, r.RunID, r.Mode, r.StartedAt, optional(r.FinishedAt), r.Outcome,
			optional(r.RequestedAfter),
			optional(r.Watermark), optional(r.ServerTime), r.Totals.Pages, r.Totals.Read,
			r.Changes.Inserted, r.Changes.Updated,
			r.Changes.Deleted, r.WouldDelete, r.Changes.Outside, r.Scope, r.Changes.Unchanged,
			r.Changes.Older, r.Changes.Kept,
			r.Totals.Rejected, r.Duplicates, r.Totals.Bytes, r.Totals.Retries, warnings, r.Error, r.Cause,
			uint64(next.UnixMicro()))
	})
	if err != nil {
		return fmt.Errorf("writing the row of run %s to sync_runs: %w", r.RunID, err)
	}
	return nil
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// markDeadRuns marks runs of the stream that never ended as killed. The caller holds the lease, so none of them is
// alive, except for alive, the run that continues.
func (p *pool) markDeadRuns(ctx context.Context, account, stream string, alive uuid.UUID) error {
	now, err := p.Now(ctx)
	if err != nil {
		return err
	}
	err = p.exec(ctx, insertKilled, named("account", account), named("stream", stream),
		named("alive", alive.String()), named("now", fmt.Sprint(now.UnixMicro())))
	if err != nil {
		return fmt.Errorf("marking the dead runs of %s of account %s: %w", stream, account, err)
	}
	return nil
}
