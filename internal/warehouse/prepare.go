package warehouse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// Plan compares what the run has staged with what readers see, and counts the differences. Nothing that readers see
// changes. staged are the rows that the run has sent. If the warehouse has other ones, it returns a
// *StagedError and the run must not continue: a row that is missing from a snapshot would be deleted.
func (w *Writer) Plan(ctx context.Context, scope Scope, staged Set) (Changes, error) {
	c := Changes{Staged: staged.Rows, Unlisted: scope == Unlisted}
	err := w.pool.catchUp(ctx, published(w.Stream)...)
	if err == nil {
		err = w.plan(ctx, scope, staged, &c)
	}
	if err != nil {
		return Changes{}, fmt.Errorf("comparing run %s of %s with the warehouse: %w", w.ID, w.Stream.Name, err)
	}
	return c, nil
}

func (w *Writer) plan(ctx context.Context, scope Scope, staged Set, c *Changes) error {
	args, other, err := w.countBefore(ctx, scope, staged, c)
	if err != nil {
		return err
	}
	if scope == Whole {
		if c.Live, err = w.verifyLive(ctx, c.Live); err != nil {
			return err
		}
	}
	// Every staged row is equal to a live one. A list that has as many keys as there are live rows has all of them.
	if c.Same = other == 0 && w.Stream.Child == nil && (scope != Whole || c.Distinct == c.Live); c.Same {
		c.Unchanged = c.Distinct
		return nil
	}
	compared := 2 * c.Distinct
	if scope == Whole {
		compared = c.Distinct + c.Live
	}
	steps := []step{{statement: w.script.dropOldChanges()}, {statement: w.script.createChanges()}}
	if !c.allNew() {
		steps = append(steps, step{statement: w.script.insertChanges(scope, c.Ahead > 0),
			settings: joinSettings(compared)})
	}
	if err := w.pool.execAll(ctx, steps, args...); err != nil {
		return err
	}
	if c.allNew() {
		c.Inserted = c.Distinct
		return nil
	}
	return w.count(ctx, c)
}

// countBefore counts what is staged and what readers see, and compares what is staged with what the
// run has sent (warehouse-4). It returns the parameters of the comparison, and how many staged rows differ from
// the live ones.
func (w *Writer) countBefore(ctx context.Context, scope Scope, staged Set, c *Changes) (args []any, other uint64, err error) {
	var now time.Time
	if w.ServerTime.IsZero() { // the parameters then need the warehouse's clock
		if now, err = w.pool.Now(ctx); err != nil {
			return nil, 0, err
		}
	}
	var us int64
	var have, sum, content uint64
	if err := w.pool.conn.QueryRow(ctx, w.script.countBefore(scope, c.Staged), named("account", w.Account),
		named("run", w.ID.String()), w.cap(now)).
		Scan(&us, &have, &c.Distinct, &c.Ahead, &other, &sum, &content, &c.Live, &c.First); err != nil {
		return nil, 0, err
	}
	if there := (Set{have, Sum(sum)}); there != staged {
		return nil, 0, &StagedError{Want: staged, Have: there}
	}
	c.Sum = Sum(content)
	if now.IsZero() {
		now = time.UnixMicro(us).UTC()
	}
	return append(w.args(now), named("started", fmt.Sprint(w.StartedAt.UnixMicro()))), other, nil
}

// verifyLive compares the number of live rows that is kept from run to run with the exact one. If they differ, the
// derived tables of the stream may be wrong as well, the keys that were counted among them. They are computed again,
// and the rows are counted once more. It returns the exact number.
func (w *Writer) verifyLive(ctx context.Context, exact uint64) (uint64, error) {
	if w.Stream.OrderedBy == "" {
		return exact, nil
	}
	kept, err := w.live(ctx, false)
	if err != nil || kept == exact {
		return exact, err
	}
	w.pool.log.Warn("the stored number of rows was wrong: counting again", "account", w.Account,
		"stream", w.Stream.Name,
		"kept", kept, "rows", exact)
	if err := w.rebuildDerived(ctx); err != nil {
		return exact, err
	}
	if err := w.recountLive(ctx); err != nil {
		return exact, err
	}
	return w.live(ctx, false)
}

// live returns the number of rows that readers see: the one that is kept, or the exact one.
func (w *Writer) live(ctx context.Context, exact bool) (n uint64, err error) {
	err = w.pool.conn.QueryRow(ctx, w.script.countLive(exact), named("account", w.Account)).Scan(&n)
	return n, err
}

// recountLive counts the rows that readers see, and keeps the number.
func (w *Writer) recountLive(ctx context.Context) error {
	if w.Stream.OrderedBy == "" {
		return nil
	}
	n, err := w.live(ctx, true)
	if err != nil {
		return fmt.Errorf("counting the rows of %s of account %s: %w", w.Stream.Name, w.Account, err)
	}
	return w.save(ctx, stateRow{stateLive, fmt.Sprint(n), 0})
}

// count reads how many rows the plan changes in which way.
func (w *Writer) count(ctx context.Context, c *Changes) error {
	type total struct {
		change      uint8
		rows, moved uint64
	}
	rows, err := w.pool.conn.Query(ctx, w.script.countChanges())
	totals, err := scanned(rows, err, func(t *total) []any { return []any{&t.change, &t.rows, &t.moved} })
	if err != nil {
		return err
	}
	for _, t := range totals {
		c.Moved += t.moved
		switch t.change {
		case changeInsert:
			c.Inserted = t.rows
		case changeUpdate:
			c.Updated = t.rows
		case changeDelete:
			c.Deleted = t.rows
		case changeOlder:
			c.Older = t.rows
		}
	}
	c.Unchanged = c.Distinct - c.Inserted - c.Updated - c.Older
	if c.Deleted == 0 || len(w.Within) == 0 {
		return nil
	}
	return w.pool.conn.QueryRow(ctx, w.script.countOutside()).Scan(&c.Outside)
}

// args returns the parameters that the statements of a comparison and of a delta share.
func (w *Writer) args(now time.Time) []any {
	return []any{
		named("account", w.Account), named("run", w.ID.String()),
		named("latest", fmt.Sprint(now.Add(clockTolerance).UnixMicro())), w.cap(now),
	}
}

// PlannedKeys returns the keys of the rows that the run's plan inserts or updates.
func (w *Writer) PlannedKeys(ctx context.Context, c Changes) (map[string]bool, error) {
	switch {
	case c.allNew():
		return w.StagedKeys(ctx)
	case c.Same:
		return map[string]bool{}, nil
	}
	return w.keys(ctx, w.script.selectPlannedKeys())
}

// StagedKeys returns the keys of the rows that the run has staged.
func (w *Writer) StagedKeys(ctx context.Context) (map[string]bool, error) {
	return w.keys(ctx, w.script.selectStagedKeys())
}

func (w *Writer) keys(ctx context.Context, query string) (map[string]bool, error) {
	rows, err := w.pool.conn.Query(ctx, query, named("run", w.ID.String()))
	list, err := scanned(rows, err, only[string])
	if err != nil {
		return nil, fmt.Errorf("reading which rows of %s will change: %w", w.Stream.Name, err)
	}
	keys := make(map[string]bool, len(list))
	for _, key := range list {
		keys[key] = true
	}
	return keys, nil
}

// largeFirst is the number of rows from which on the first load of an account is done in a different way (allNew).
const largeFirst = 100_000

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
	return w.few(c) && c.Moved == 0 && (c.Deleted == 0 || c.Inserted+c.Updated == 0)
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

// deltas returns the deltas that the run has prepared.
func (w *Writer) deltas(c Changes) (all []delta) {
	x, d := w.script, w.pool.dialect
	if c.Any() {
		key := sortedBy(createLatest(x.dialect, x.Stream))
		all = append(all, delta{x.names["latest"], x.names["delta"], key})
		if c.Moved > 0 {
			all = append(all, delta{movesOf(x.Stream), x.names["moves"], key})
		}
	}
	for _, t := range w.filled {
		all = append(all, delta{t.table, d.ofRun(x.derivedDelta(t.table)), sortedBy(t.create)})
	}
	if x.Stream.Child != nil {
		all = append(all, delta{x.names["child_latest"], x.names["child_delta"], sortedBy(createChildLatest(x.Stream))},
			delta{x.names["child_hashes"], x.names["child_hashes_delta"], sortedBy(createChildHashes(x.Stream))})
	}
	return all
}

// few reports whether a run writes so few rows that the keys of its deltas are counted in sets.
func (w *Writer) few(c Changes) bool { return w.Stream.Child == nil && c.written() <= fewKeys }

// countedDelta is what was counted in a delta.
type countedDelta struct {
	table             string
	rows, keys, parts uint64
}

// countPrepared counts the rows of the deltas, and returns an error unless each has its keys once: a server takes for
// granted that a merged part has no duplicates (warehouse-1).
func (w *Writer) countPrepared(ctx context.Context, c Changes) (Prepared, error) {
	deltas := w.deltas(c)
	if len(deltas) == 0 {
		return nil, nil
	}
	count := countKeys
	if w.few(c) {
		count = countFewKeys
	}
	counts, err := w.countDeltas(ctx, count(deltas))
	if err != nil {
		return nil, fmt.Errorf("counting what is prepared: %w", err)
	}
	prepared := Prepared{}
	for _, d := range deltas {
		n := countedDelta{table: d.table}
		if i := slices.IndexFunc(counts, func(n countedDelta) bool { return n.table == d.table }); i >= 0 {
			n = counts[i]
		}
		want, known := w.script.rowsOf(n.table, c)
		if !known {
			want = n.rows
		}
		if n.rows != want || n.keys != n.rows {
			return nil, &DeltaError{Table: n.table, Want: want, Rows: n.rows, Keys: n.keys}
		}
		if n.parts > 1 { // each key is in only one of them, so merging them loses nothing
			if err := w.singlePart(ctx, w.pool.dialect.bare(d.name)); err != nil {
				return nil, err
			}
		}
		prepared[n.table] = n.rows
	}
	return prepared, nil
}

func (w *Writer) countDeltas(ctx context.Context, query string) ([]countedDelta, error) {
	rows, err := w.pool.conn.Query(ctx, query)
	return scanned(rows, err, func(n *countedDelta) []any { return []any{&n.table, &n.rows, &n.keys, &n.parts} })
}
