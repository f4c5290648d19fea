package warehouse

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// PlannedDelete is a row that the run's plan deletes.
type PlannedDelete struct {
	Key     string
	Updated int64 // its updatedAt in milliseconds since 1970; 0 when it has none
	// Filtered has the row's values in the columns that the scope of the run selects by, each followed by a zero byte.
	// It is empty without a scope.
	Filtered string
}

// PlannedDeletes returns at most limit rows that the run's plan deletes and that are in its scope. The choice differs
// from run to run, so that rows which are never confirmed do not keep others from being asked for.
func (w *Writer) PlannedDeletes(ctx context.Context, limit int) ([]PlannedDelete, error) {
	rows, err := w.pool.conn.Query(ctx, w.script.selectPlannedDeletes(limit), named("account", w.Account))
	all, err := scanned(rows, err, func(d *PlannedDelete) []any { return []any{&d.Key, &d.Updated, &d.Filtered} })
	if err != nil {
		return nil, fmt.Errorf("reading which rows of %s are gone: %w", w.Stream.Name, err)
	}
	return all, nil
}

// Known is a row that readers see.
type Known struct {
	Key     string
	Updated int64 // its updatedAt in milliseconds since 1970; 0 when it has none
	Staged  bool  // the run has read it
}

// Newest returns at most limit rows that readers see, those with the highest updatedAt first.
func (w *Writer) Newest(ctx context.Context, limit int) ([]Known, error) {
	rows, err := w.pool.conn.Query(ctx, w.script.selectNewest(limit), named("account", w.Account),
		named("run", w.ID.String()))
	all, err := scanned(rows, err, func(k *Known) []any { return []any{&k.Key, &k.Updated, &k.Staged} })
	if err != nil {
		return nil, fmt.Errorf("reading the newest rows of %s: %w", w.Stream.Name, err)
	}
	return all, nil
}

// CountAlike counts the rows that readers see of which the run has read a row with the same key and two thirds of their
// values.
func (w *Writer) CountAlike(ctx context.Context) (rows uint64, err error) {
	err = w.pool.conn.QueryRow(ctx, w.script.countAlike(), named("account", w.Account), named("run", w.ID.String())).Scan(&rows)
	if err != nil {
		return 0, fmt.Errorf("comparing what was read of %s with what is loaded: %w", w.Stream.Name, err)
	}
	return rows, nil
}

// KeepUnconfirmed cancels all planned deletes except those of the confirmed keys and those out of scope.
func (w *Writer) KeepUnconfirmed(ctx context.Context, confirmed []string) error {
	return w.keepBut(ctx, literals(confirmed))
}

// KeepAll cancels all planned deletes, those of rows out of scope too.
func (w *Writer) KeepAll(ctx context.Context) error {
	return w.cancel(ctx, w.script.deleteAllPlanned())
}

// keepBut cancels the planned deletes whose key, as text, is not in the list or query.
func (w *Writer) keepBut(ctx context.Context, confirmed string) error {
	return w.cancel(ctx, w.script.deletePlanned(confirmed))
}

func (w *Writer) cancel(ctx context.Context, planned string) error {
	err := w.pool.execAll(ctx, []step{{statement: planned, settings: clickhouse.Settings{"mutations_sync": 2}}})
	if err != nil {
		return fmt.Errorf("keeping rows of %s that are not listed: %w", w.Stream.Name, err)
	}
	return nil
}

// KeepUntilAbsent cancels the planned delete of each row that too few complete lists have lacked: fewer than lists of
// them in a row, this one included. It returns how many it cancelled. The run must have read the whole list. The call
// can be repeated: a run counts once. If count is false, the run is not counted and leaves no trace.
func (w *Writer) KeepUntilAbsent(ctx context.Context, lists int, count bool) (kept uint64, err error) {
	if lists <= 1 && !count {
		return 0, nil
	}
	if !count {
		lists-- // this one
	} else if err := w.countAbsence(ctx); err != nil {
		return 0, fmt.Errorf("counting how often rows of %s were not listed: %w", w.Stream.Name, err)
	}
	enough := w.script.selectAbsent(lists)
	err = w.pool.conn.QueryRow(ctx, w.script.countUnconfirmed(enough)).Scan(&kept)
	if err != nil || kept == 0 {
		return 0, err
	}
	return kept, w.keepBut(ctx, enough)
}

// countAbsence adds 1 to the count of each row that the run's plan deletes, and sets the counts of all other
// rows back to 0.
func (w *Writer) countAbsence(ctx context.Context) error {
	return w.pool.exec(ctx, w.script.countAbsence(), named("account", w.Account), named("stream", w.Stream.Name),
		named("run", w.ID.String()))
}
