package warehouse

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// largeJoin is the number of rows from which both sides of a join are better read in the order of their key than kept
// in a hash table: memory stays bounded (field facts: full_sorting_merge).
const largeJoin = 500_000

func joinSettings(rows uint64) clickhouse.Settings {
	if rows < largeJoin {
		return clickhouse.Settings{"join_algorithm": "hash"}
	}
	return clickhouse.Settings{"join_algorithm": "full_sorting_merge"}
}

// Plan compares what the run has staged with what readers see, and counts. Nothing that readers see changes. staged is
// the number of rows that the run has sent: where the warehouse has another, the run must not go on, since a row that
// is missing from a snapshot would be deleted.
func (w *Warehouse) Plan(ctx context.Context, r Run, scope Scope, staged uint64) (Changes, error) {
	c := Changes{Staged: staged, Unlisted: scope == Unlisted}
	err := w.checkStaged(ctx, r, staged)
	if err == nil {
		err = w.plan(ctx, r, scope, &c)
	}
	if err != nil {
		return Changes{}, fmt.Errorf("comparing run %s of %s with the warehouse: %w", r.ID, r.Stream.Name, err)
	}
	return c, nil
}

// checkStaged counts what is staged. Staging tables neither merge nor collapse, so the count is exact.
func (w *Warehouse) checkStaged(ctx context.Context, r Run, want uint64) error {
	have, err := w.CountStaged(ctx, r)
	if err == nil && have != want {
		err = &StagedError{Want: want, Have: have}
	}
	return err
}

func (w *Warehouse) plan(ctx context.Context, r Run, scope Scope, c *Changes) error {
	s := r.Stream.Name
	now, err := w.Now(ctx)
	if err != nil {
		return err
	}
	args := []any{
		named("account", r.Account), named("run", r.ID.String()), named("started", fmt.Sprint(r.StartedAt.UnixMicro())),
		named("latest", fmt.Sprint(now.Add(clockTolerance).UnixMicro())), r.cap(now),
	}
	counts := "SELECT (SELECT count() FROM " + s + "_staging FINAL WHERE run_id = {run:UUID})," +
		" (SELECT count() FROM " + s + "_staging WHERE run_id = {run:UUID} AND " + stagedAhead + ")," +
		" (SELECT count() FROM " + s + "_latest FINAL WHERE account = {account:String} AND _deleted = 0)," +
		" (SELECT count() = 0 FROM (SELECT 1 FROM " + s + "_latest WHERE account = {account:String} LIMIT 1))"
	if err := w.conn.QueryRow(ctx, counts, args...).Scan(&c.Distinct, &c.Ahead, &c.Live, &c.First); err != nil {
		return err
	}
	if err := w.execAll(ctx, []step{
		{"DROP TABLE IF EXISTS " + r.changes(), nil}, {createChanges(r), nil}, {insertChanges(r, scope, c.Ahead > 0), joinSettings(c.Distinct + c.Live)},
	}, args...); err != nil {
		return err
	}
	rows, err := w.conn.Query(ctx, "SELECT change, count() FROM "+r.changes()+" GROUP BY change")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var change uint8
		var n uint64
		if err := rows.Scan(&change, &n); err != nil {
			return err
		}
		switch change {
		case changeInsert:
			c.Inserted = n
		case changeUpdate:
			c.Updated = n
		case changeDelete:
			c.Deleted = n
		case changeOlder:
			c.Older = n
		}
	}
	c.Unchanged = c.Distinct - c.Inserted - c.Updated - c.Older
	return rows.Err()
}

// deltaSettings keep the blocks that are sorted and written small enough for the processor's caches: half the time of
// the default of a million rows.
var deltaSettings = clickhouse.Settings{"min_insert_block_size_rows": 250_000}

// Prepare builds the delta of the run: complete rows, in a table that nobody reads.
func (w *Warehouse) Prepare(ctx context.Context, r Run, c Changes, mergedAt time.Time) error {
	args := []any{named("account", r.Account), named("run", r.ID.String()), named("merged_at", fmt.Sprint(mergedAt.UnixMilli())), r.cap(mergedAt)}
	settings := joinSettings(c.Distinct + c.Live)
	args = append(args, named("latest", fmt.Sprint(mergedAt.Add(clockTolerance).UnixMicro())))
	byKey := joinSettings(largeJoin) // the entries of a child, of all days, are many more than its rows
	maps.Copy(settings, deltaSettings)
	maps.Copy(byKey, deltaSettings)
	var rows, children []step
	if c.Any() {
		rows = append(rows, step{"DROP TABLE IF EXISTS " + r.delta(), nil}, step{createDelta(r.delta(), r.Stream.Name+"_latest"), nil})
	}
	if c.Inserted+c.Updated > 0 {
		rows = append(rows, step{insertDelta(r, c), settings})
	}
	if c.Deleted > 0 {
		rows = append(rows, step{insertTombstones(r), settings})
	}
	if r.Stream.Child != nil {
		children = []step{{"DROP TABLE IF EXISTS " + r.childDelta(), nil}, {createDelta(r.childDelta(), r.Stream.Child.Table+"_latest"), nil}, {insertChildDelta(r.Stream, r), byKey}}
	}
	for _, steps := range [][]step{rows, children} {
		if err := w.execAll(ctx, steps, args...); err != nil {
			return fmt.Errorf("preparing the merge of run %s of %s: %w", r.ID, r.Stream.Name, err)
		}
	}
	if !c.Any() {
		return nil
	}
	if err := w.singlePart(ctx, r.delta()); err != nil {
		return fmt.Errorf("preparing the merge of run %s of %s: %w", r.ID, r.Stream.Name, err)
	}
	return nil
}

// Publish makes the prepared delta visible and moves the state on, in steps of which each can be repeated: the intent
// is durable first, so that whoever comes after a crash finishes the work (warehouse-2). After an error the run must
// not be discarded: Recover carries the intent out.
//
// The lease is checked once more when the intent is durable: a worker that lost it in between withdraws, and returns
// ErrLeaseLost.
func (w *Warehouse) Publish(ctx context.Context, l *Lease, r Run, in Intent) error {
	if err := w.saveJSON(ctx, r, intentName(r.ID), in); err != nil {
		return err
	}
	if err := l.Check(ctx); err != nil {
		if errors.Is(err, ErrLeaseLost) {
			return errors.Join(err, w.withdraw(ctx, r, in, err))
		}
		return err
	}
	err := w.finish(ctx, l, r, in, false)
	if errors.Is(err, errDeltaGone) {
		return errors.Join(ErrLeaseLost, err, w.withdraw(ctx, r, in, err))
	}
	return err
}

// errDeltaGone says that what was to be attached is not there, or not any more in the structure of the table. The intent
// is withdrawn before a delta is dropped, so another worker took the run for dead before its intent was durable, or has
// migrated since.
var errDeltaGone = errors.New("what the run had prepared has been dropped, or is older than a migration")

const codeIncompatibleColumns = 122 // of a table and a delta that was made before a column was added

// withdraw forgets an intent that will not be carried out. The watermark has not moved, so whatever the run has read
// is read again.
func (w *Warehouse) withdraw(ctx context.Context, r Run, in Intent, cause error) error {
	in.Record.Outcome, in.Record.Error, in.Record.Changes = OutcomeFailed, cause.Error(), Changes{}
	if err := w.SaveRun(ctx, in.Record); err != nil {
		return err
	}
	return w.saveStates(ctx, r.Account, r.Stream.Name, stateRow{intentName(r.ID), "", 0})
}

// finish carries out an intent, which an earlier attempt may have begun.
func (w *Warehouse) finish(ctx context.Context, l *Lease, r Run, in Intent, begun bool) error {
	type target struct{ table, delta string }
	var targets []target
	if in.Record.Changes.Any() {
		if r.Stream.History {
			targets = append(targets, target{r.Stream.Name + "_versions", r.delta()})
		}
		targets = append(targets, target{r.Stream.Name + "_latest", r.delta()})
	}
	if r.Stream.Child != nil {
		targets = append(targets, target{r.Stream.Child.Table + "_latest", r.childDelta()})
	}
	for _, t := range targets {
		if err := w.attachOnce(ctx, r, t.table, t.delta, begun); err != nil {
			return fmt.Errorf("publishing run %s to %s: %w", r.ID, t.table, err)
		}
	}
	states := []stateRow{{intentName(r.ID), "", 0}}
	if !in.Beside {
		states = append(states, stateRow{stateCheckpoint, "", 0})
	}
	if !in.Watermark.IsZero() {
		states = append(states, watermarkRow(in.Watermark))
	}
	for name, value := range in.State {
		states = append(states, stateRow{name, value, 0})
	}
	if err := w.SaveRun(ctx, in.Record); err != nil {
		return err
	}
	if err := w.saveStates(ctx, r.Account, r.Stream.Name, states...); err != nil {
		return err
	}
	if err := w.Discard(ctx, r); err != nil {
		// The run is done. What it leaves behind is for the next holder of the lease.
		w.log.Warn("could not clear up after a run", "run_id", r.ID, "stream", r.Stream.Name, "error", err)
		l.untidy = true
	}
	return nil
}

// attachOnce attaches the delta, unless an earlier attempt has attached all of it: only then is it worth a look at the
// whole table. Readers see the parts of one statement at once, but a process that is killed may leave some of them:
// then all are attached again, which changes nothing for the rows that are there, since equal versions are one. The
// delta outlives the intent, so one that is missing is errDeltaGone and never taken for an empty one.
func (w *Warehouse) attachOnce(ctx context.Context, r Run, table, delta string, begun bool) error {
	attach := func() error {
		if begun {
			var want, have uint64
			err := w.conn.QueryRow(ctx, "SELECT (SELECT count() FROM "+delta+"), (SELECT count() FROM "+table+" WHERE account = {account:String} AND _run_id = {run:UUID})",
				named("account", r.Account), named("run", r.ID.String())).Scan(&want, &have)
			if err != nil || have >= want {
				return err
			}
		}
		begun = true
		return w.conn.Exec(write(ctx), attachDelta(table, delta))
	}
	return w.retry(ctx, attachDelta(table, delta), func() error {
		err := attach()
		if e, ok := errors.AsType[*clickhouse.Exception](err); IsMissing(err) || ok && e.Code == codeIncompatibleColumns {
			return fmt.Errorf("%w: %w", errDeltaGone, err)
		}
		return err
	})
}

// singlePart merges the delta into one part, so that a process which is killed while it attaches leaves all of it or
// nothing (warehouse-1).
func (w *Warehouse) singlePart(ctx context.Context, delta string) error {
	// A merge that is under way already, that of an attempt whose connection was lost, makes OPTIMIZE do nothing at all.
	return w.retry(ctx, "OPTIMIZE TABLE "+delta+" FINAL", func() error {
		var parts uint64
		err := w.conn.QueryRow(ctx, "SELECT count() FROM system.parts WHERE active AND database = currentDatabase() AND table = {delta:String}", named("delta", delta)).Scan(&parts)
		if err != nil || parts < 2 {
			return err
		}
		return w.conn.Exec(write(ctx, clickhouse.Settings{"optimize_throw_if_noop": 1}), "OPTIMIZE TABLE "+delta+" FINAL")
	})
}

// Discard drops what a run has staged and prepared.
func (w *Warehouse) Discard(ctx context.Context, r Run) error {
	tables := []string{r.changes(), r.delta()}
	if r.Stream.Child != nil {
		tables = append(tables, r.childDelta())
	}
	for _, table := range tables {
		if err := w.exec(ctx, "DROP TABLE IF EXISTS "+table+" SYNC"); err != nil {
			return fmt.Errorf("dropping %s: %w", table, err)
		}
	}
	return w.DropStaging(ctx, r.Stream, r.ID)
}

// collect reads a result of one column.
func collect[T any](rows driver.Rows, take func(T)) error {
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return err
		}
		take(v)
	}
	return rows.Err()
}
