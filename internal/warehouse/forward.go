package warehouse

import (
	"context"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/decode"
)

// The methods of a Writer, for callers that name the run with each call.

// Stage is Writer.Stage.
func (w *Warehouse) Stage(ctx context.Context, r Run, number int, batches ...*decode.Batch) ([]decode.Reject, error) {
	return w.Writer(r).Stage(ctx, number, batches...)
}

// CountStaged is Writer.CountStaged.
func (w *Warehouse) CountStaged(ctx context.Context, r Run) (uint64, error) {
	return w.Writer(r).CountStaged(ctx)
}

// StagedKeys is Writer.StagedKeys.
func (w *Warehouse) StagedKeys(ctx context.Context, r Run) (map[string]bool, error) {
	return w.Writer(r).StagedKeys(ctx)
}

// Plan is Writer.Plan.
func (w *Warehouse) Plan(ctx context.Context, r Run, scope Scope, staged uint64) (Changes, error) {
	return w.Writer(r).Plan(ctx, scope, staged)
}

// PlannedKeys is Writer.PlannedKeys.
func (w *Warehouse) PlannedKeys(ctx context.Context, r Run) (map[string]bool, error) {
	return w.Writer(r).PlannedKeys(ctx)
}

// PlannedDeletes is Writer.PlannedDeletes.
func (w *Warehouse) PlannedDeletes(ctx context.Context, r Run, limit int) ([]PlannedDelete, error) {
	return w.Writer(r).PlannedDeletes(ctx, limit)
}

// KeepUnconfirmed is Writer.KeepUnconfirmed.
func (w *Warehouse) KeepUnconfirmed(ctx context.Context, r Run, confirmed []string) error {
	return w.Writer(r).KeepUnconfirmed(ctx, confirmed)
}

// KeepUntilAbsent is Writer.KeepUntilAbsent.
func (w *Warehouse) KeepUntilAbsent(ctx context.Context, r Run, lists int, count bool) (uint64, error) {
	return w.Writer(r).KeepUntilAbsent(ctx, lists, count)
}

// Prepare is Writer.Prepare.
func (w *Warehouse) Prepare(ctx context.Context, r Run, c Changes, mergedAt time.Time) error {
	return w.Writer(r).Prepare(ctx, c, mergedAt)
}

// Publish is Writer.Publish.
func (w *Warehouse) Publish(ctx context.Context, l *Lease, r Run, in Intent) error {
	return w.Writer(r).Publish(ctx, l, in)
}

// Discard is Writer.Discard.
func (w *Warehouse) Discard(ctx context.Context, r Run) error { return w.Writer(r).Discard(ctx) }

// DropStaging is Writer.DropStaging.
func (w *Warehouse) DropStaging(ctx context.Context, s *catalog.Stream, run uuid.UUID) error {
	return w.Writer(Run{ID: run, Stream: s}).DropStaging(ctx)
}

// Recover is Writer.Recover.
func (w *Warehouse) Recover(ctx context.Context, l *Lease, r Run, keep uuid.UUID) ([]Intent, error) {
	return w.Writer(r).Recover(ctx, l, keep)
}

// SaveCheckpoint is Writer.SaveCheckpoint.
func (w *Warehouse) SaveCheckpoint(ctx context.Context, r Run, c Checkpoint) error {
	return w.Writer(r).SaveCheckpoint(ctx, c)
}

// ClearCheckpoint is Writer.ClearCheckpoint.
func (w *Warehouse) ClearCheckpoint(ctx context.Context, r Run) error {
	return w.Writer(r).ClearCheckpoint(ctx)
}

// SaveBackfill is Writer.SaveBackfill.
func (w *Warehouse) SaveBackfill(ctx context.Context, r Run, name, value string) error {
	return w.Writer(r).SaveBackfill(ctx, name, value)
}

// Reject is Writer.Reject.
func (w *Warehouse) Reject(ctx context.Context, r Run, rejects []decode.Reject) error {
	return w.Writer(r).Reject(ctx, rejects)
}

// Candidates is Writer.Candidates.
func (w *Warehouse) Candidates(ctx context.Context, r Run, filter RejectFilter, f func(Candidate) error) error {
	return w.Writer(r).Candidates(ctx, filter, f)
}

// Settle is Writer.Settle.
func (w *Warehouse) Settle(ctx context.Context, r Run, settled []Settled) error {
	return w.Writer(r).Settle(ctx, settled)
}

// SaveMisses is Writer.SaveMisses.
func (w *Warehouse) SaveMisses(ctx context.Context, r Run, misses []Miss) error {
	return w.Writer(r).SaveMisses(ctx, misses)
}
