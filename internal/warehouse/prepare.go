package warehouse

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// deltaSettings write up to a million rows of a delta as one block, in no more than 512 MiB of memory. One block is one
// part, which need not be merged (singlePart): that would cost as much again as writing the delta.
var deltaSettings = clickhouse.Settings{"min_insert_block_size_rows": 1 << 20, "min_insert_block_size_bytes": 512 << 20}

// childDeltaSettings keep the blocks of a delta that may have several parts small enough for the processor's caches.
var childDeltaSettings = clickhouse.Settings{"min_insert_block_size_rows": 250_000}

// Prepare builds the delta of the run: complete rows, in a table that nobody reads.
func (w *Writer) Prepare(ctx context.Context, c Changes, mergedAt time.Time) error {
	args := append(w.args(mergedAt), named("merged_at", fmt.Sprint(mergedAt.UnixMilli())))
	for _, steps := range [][]step{w.rowSteps(c), w.childSteps(c)} {
		if err := w.execAll(ctx, steps, args...); err != nil {
			return fmt.Errorf("preparing the merge of run %s of %s: %w", w.ID, w.Stream.Name, err)
		}
	}
	if !c.Any() {
		return nil
	}
	err := w.singlePart(ctx, w.delta())
	if err == nil {
		err = w.execAll(ctx, w.derivedSteps(), args...)
	}
	for _, t := range derivedTables(w.Stream) {
		if err == nil {
			err = w.singlePart(ctx, w.derivedDelta(t.table))
		}
	}
	if err != nil {
		return fmt.Errorf("preparing the merge of run %s of %s: %w", w.ID, w.Stream.Name, err)
	}
	return nil
}

// rowSteps make the delta of the stream and fill it with what changes.
func (w *Writer) rowSteps(c Changes) []step {
	if !c.Any() {
		return nil
	}
	settings := joinSettings(c.Distinct + c.Live)
	maps.Copy(settings, deltaSettings)
	steps := []step{{w.script.dropOldDelta(), nil}, {w.script.createDelta(), nil}}
	if c.Inserted+c.Updated > 0 {
		steps = append(steps, step{w.script.insertDelta(c), settings})
	}
	if c.Deleted > 0 {
		steps = append(steps, step{w.script.insertTombstones(), settings})
	}
	return steps
}

// childSteps make the deltas of the child and of its hashes, if there is one. Its entries, of all days, are many more than
// the stream's rows.
func (w *Writer) childSteps(c Changes) []step {
	if w.Stream.Child == nil {
		return nil
	}
	settings := joinSettings(largeJoin)
	maps.Copy(settings, childDeltaSettings)
	x := w.script
	return []step{
		{x.dropOldChildHashesDelta(), nil}, {x.createChildHashesDelta(), nil}, {x.insertChildHashes(c), joinSettings(c.Distinct + c.Live)},
		{x.dropOldChildDelta(), nil}, {x.createChildDelta(), nil}, {x.insertChildDelta(c), settings},
	}
}

// singlePart merges a delta into one part, so that a process which is killed while it attaches leaves all of it or
// nothing (warehouse-1).
func (w *Writer) singlePart(ctx context.Context, delta string) error {
	merge := mergeParts(w.dialect.ofRun(delta))
	// A merge that is under way already, that of an attempt whose connection was lost, makes OPTIMIZE do nothing at
	// all.
	return w.retry(ctx, merge, func() error {
		var parts uint64
		err := w.conn.QueryRow(ctx, countParts, named("delta", delta)).Scan(&parts)
		if err != nil || parts < 2 {
			return err
		}
		return w.conn.Exec(w.write(ctx, clickhouse.Settings{"optimize_throw_if_noop": 1}), merge)
	})
}
