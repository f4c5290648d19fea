package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// largeJoin is the number of rows from which on both sides of a join are read in the order of their key and not kept in
// a hash table, so that memory stays bounded.
const largeJoin = 500_000

func joinSettings(rows uint64) clickhouse.Settings {
	if rows < largeJoin {
		return clickhouse.Settings{"join_algorithm": "hash"}
	}
	return clickhouse.Settings{"join_algorithm": "full_sorting_merge"}
}

// Plan compares what the run has staged with what readers see, and counts the differences. Nothing that readers see
// changes. staged is the number of rows that the run has sent. If the warehouse has another number, it returns a
// *StagedError and the run must not continue: a row that is missing from a snapshot would be deleted.
func (w *Writer) Plan(ctx context.Context, scope Scope, staged uint64) (Changes, error) {
	c := Changes{Staged: staged, Unlisted: scope == Unlisted}
	err := w.pool.catchUp(ctx, published(w.Stream)...)
	if err == nil {
		err = w.plan(ctx, scope, &c)
	}
	if err != nil {
		return Changes{}, fmt.Errorf("comparing run %s of %s with the warehouse: %w", w.ID, w.Stream.Name, err)
	}
	return c, nil
}

func (w *Writer) plan(ctx context.Context, scope Scope, c *Changes) error {
	args, other, err := w.countBefore(ctx, scope, c)
	if err != nil {
		return err
	}
	if scope == Whole {
		if err := w.verifyLive(ctx, c.Live); err != nil {
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

// countBefore counts what is staged and what readers see, and compares the count of what is staged with what the
// run has sent (warehouse-4). It returns the parameters of the comparison, and how many staged rows differ from
// the live ones.
func (w *Writer) countBefore(ctx context.Context, scope Scope, c *Changes) (args []any, other uint64, err error) {
	var now time.Time
	if w.ServerTime.IsZero() { // the parameters then need the warehouse's clock
		if now, err = w.pool.Now(ctx); err != nil {
			return nil, 0, err
		}
	}
	var us int64
	var have uint64
	if err := w.pool.conn.QueryRow(ctx, w.script.countBefore(scope, c.Staged), named("account", w.Account),
		named("run", w.ID.String()), w.cap(now)).
		Scan(&us, &have, &c.Distinct, &c.Ahead, &other, &c.Live, &c.First); err != nil {
		return nil, 0, err
	}
	if have != c.Staged {
		return nil, 0, &StagedError{Want: c.Staged, Have: have}
	}
	if now.IsZero() {
		now = time.UnixMicro(us).UTC()
	}
	return append(w.args(now), named("started", fmt.Sprint(w.StartedAt.UnixMicro()))), other, nil
}

// allNew says that the staged rows are not compared: there is nothing to compare them with, and every one of them is
// inserted with its own version. The table of changes is then empty. This is done only for many rows; for few it is
// not worth it.
func (c Changes) allNew() bool { return c.First && c.Distinct >= largeFirst }

// verifyLive compares the number of live rows that is kept from run to run with the exact one. If they differ, the
// derived tables of the stream are wrong, and are computed again.
func (w *Writer) verifyLive(ctx context.Context, exact uint64) error {
	if w.Stream.OrderedBy == "" {
		return nil
	}
	var kept uint64
	if err := w.pool.conn.QueryRow(ctx, w.script.countLive(false), named("account", w.Account)).Scan(&kept); err != nil ||
		kept == exact {
		return err
	}
	w.pool.log.Warn("the stored number of rows was wrong: counting again", "account", w.Account,
		"stream", w.Stream.Name,
		"kept", kept, "rows", exact)
	return w.rebuildDerived(ctx)
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
