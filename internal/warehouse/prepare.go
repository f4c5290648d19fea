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
var deltaSettings = clickhouse.Settings{"min_insert_block_size_rows": blockRows,
	"min_insert_block_size_bytes": 512 << 20}

// blockRows is the largest number of rows of a delta that are written as one part.
const blockRows = 1 << 20

// largeFirst is the number of rows from which on the first load of an account is done in a different way (allNew).
const largeFirst = 100_000

// uniqueKeySettings returns the settings for a delta that gets each key only once, and about as many rows as the run
// writes. That each key is there once is counted (countPrepared).
//
// By default, a table that replaces rows merges each block that is written to it, row by row. That is half of the cost
// of writing it. It is left out if
//
//   - the delta has several blocks: its parts are merged into one afterwards;
//   - it is a large first load: the delta of 1 million transactions takes 1.7 CPU seconds instead of 5.3. The price: a
//     query of all rows takes 62 ms of CPU instead of 24, since it merges a part that was never merged, until the
//     engine has merged it with others.
func uniqueKeySettings(c Changes) clickhouse.Settings {
	settings := maps.Clone(deltaSettings)
	if c.allNew() || c.written() > blockRows {
		settings["optimize_on_insert"] = 0
	}
	return settings
}

// childDeltaSettings are for a delta that may have several parts. They keep its blocks small enough for the
// processor's caches.
var childDeltaSettings = clickhouse.Settings{"min_insert_block_size_rows": 250_000}

// Prepare builds the deltas of the run: complete rows, in tables that nobody reads. It returns how many rows each has,
// for the intent. If these are not as many as the plan says, it returns a *DeltaError.
func (w *Writer) Prepare(ctx context.Context, c Changes, mergedAt time.Time) (Prepared, error) {
	err := w.prepare(ctx, c, mergedAt)
	var prepared Prepared
	if err == nil {
		prepared, err = w.countPrepared(ctx, c)
	}
	if err != nil {
		return nil, fmt.Errorf("preparing the merge of run %s of %s: %w", w.ID, w.Stream.Name, err)
	}
	return prepared, nil
}

func (w *Writer) prepare(ctx context.Context, c Changes, mergedAt time.Time) error {
	if !c.Any() && w.Stream.Child == nil {
		return nil
	}
	args := append(w.args(mergedAt), named("merged_at", fmt.Sprint(mergedAt.UnixMilli())))
	names := w.script.names
	err := w.pool.exec(ctx, dropDelta(w.prepared()...)) // left by an attempt of another process
	if err == nil {
		err = w.pool.fillNew(ctx, []string{names["delta"]}, w.rowSteps(c), args...)
	}
	if err == nil && w.Stream.Child != nil {
		err = w.pool.fillNew(ctx, []string{names["child_hashes_delta"], names["child_delta"]}, w.childSteps(c), args...)
	}
	if err != nil {
		return err
	}
	var deltas []string
	if c.Any() {
		deltas = append(deltas, w.delta())
	}
	if c.Moved > 0 {
		if err := w.pool.fillNew(ctx, []string{names["moves"]}, w.moveSteps(), args...); err != nil {
			return err
		}
		deltas = append(deltas, w.moves())
	}
	if err := w.prepareDerived(ctx, c, args); err != nil {
		return err
	}
	for _, t := range w.filled {
		deltas = append(deltas, w.derivedDelta(t.table))
	}
	if w.inOnePart(c) {
		return nil
	}
	return w.singleParts(ctx, deltas)
}

// inOnePart reports whether each delta is filled by one insert of a few rows, and so has one part. If one has more,
// countPrepared finds it while it counts.
func (w *Writer) inOnePart(c Changes) bool {
	return w.few(c) && c.Moved == 0 && (c.Deleted == 0 || c.Inserted+c.Updated == 0) && !w.lacked
}

// prepared returns the names of the tables that Prepare may make.
func (w *Writer) prepared() []string {
	names := w.script.names
	tables := []string{names["delta"]}
	if w.Stream.OrderedBy != "" {
		tables = append(tables, names["moves"])
	}
	if w.Stream.NamesPayouts() {
		tables = append(tables, names["changed"])
	}
	for _, t := range derivedTables(w.Stream) {
		tables = append(tables, w.pool.dialect.ofRun(w.derivedDelta(t.table)))
	}
	if w.Stream.Child != nil {
		tables = append(tables, names["child_delta"], names["child_hashes_delta"])
	}
	return tables
}

// rowSteps returns the steps that make the delta of the stream and fill it with what changes.
func (w *Writer) rowSteps(c Changes) []step {
	if !c.Any() {
		return nil
	}
	settings := joinSettings(c.Distinct + c.Deleted)
	maps.Copy(settings, uniqueKeySettings(c))
	steps := []step{{statement: w.script.createDelta()}}
	if c.Inserted+c.Updated > 0 {
		steps = append(steps, step{statement: w.script.insertDelta(c), settings: settings})
	}
	if c.Deleted > 0 {
		steps = append(steps, step{statement: w.script.insertTombstones(), settings: settings})
	}
	return steps
}

// moveSteps returns the steps that make what is attached to _latest if rows have moved: the delta, and a mark at each
// position that a row has left.
func (w *Writer) moveSteps() []step {
	return []step{
		{statement: w.script.createMoves()}, {statement: w.script.copyDelta(), settings: deltaSettings},
		{statement: w.script.insertMarks(), settings: deltaSettings},
	}
}

// childSteps returns the steps that make the deltas of the child and of its hashes. The child has far more entries,
// those of all days, than the stream has rows.
func (w *Writer) childSteps(c Changes) []step {
	settings := joinSettings(largeJoin)
	maps.Copy(settings, childDeltaSettings)
	x := w.script
	return []step{
		{statement: x.createChildHashesDelta()},
		{statement: x.insertChildHashes(c), settings: joinSettings(c.Distinct + c.Live)},
		{statement: x.createChildDelta()}, {statement: x.insertChildDelta(c), settings: settings},
	}
}

// singleParts merges each delta into one part, so that a process which is killed while it attaches leaves all of it or
// nothing (warehouse-1). In a small run each delta has one part already.
func (w *Writer) singleParts(ctx context.Context, deltas []string) error {
	several, err := w.inParts(ctx, deltas)
	for _, delta := range several {
		if err == nil {
			err = w.singlePart(ctx, delta)
		}
	}
	return err
}

// inParts returns those of the given deltas that have several parts.
func (w *Writer) inParts(ctx context.Context, deltas []string) ([]string, error) {
	rows, err := w.pool.conn.Query(ctx, selectInParts(w.pool.dialect), named("deltas", "["+words(deltas)+"]"))
	several, err := scanned(rows, err, only[string])
	if err != nil {
		return nil, fmt.Errorf("counting the parts of what was prepared: %w", err)
	}
	return several, nil
}

// singlePart merges a delta that has several parts.
func (w *Writer) singlePart(ctx context.Context, delta string) error {
	merge := mergeParts(w.pool.dialect.ofRun(delta))
	// If a merge is already under way, from an attempt whose connection was lost, OPTIMIZE does nothing at all.
	return w.pool.retry(ctx, merge, func() error {
		if several, err := w.inParts(ctx, []string{delta}); err != nil || len(several) == 0 {
			return err
		}
		return w.pool.conn.Exec(w.pool.write(ctx, clickhouse.Settings{"optimize_throw_if_noop": 1}), merge)
	})
}
