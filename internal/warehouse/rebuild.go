package warehouse

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// A run that publishes says which derived tables have its rows, in the same block that ends its intent. A run of an
// older binary does not name tables that were added later. So a table that is not named is out of date, and the next
// holder of the lease makes the account's rows of all derived tables again, before it compares anything (warehouse-15).

// derivedState returns the state of the derived tables after a publication. A table is up to date if it was so before,
// and the run changed it or did not concern it.
func (p publication) derivedState() []stateRow {
	if len(derivedTables(p.Stream)) == 0 || !p.intent.Record.Changes.Any() && p.Stream.Child == nil {
		return nil
	}
	right := slices.Concat(p.intent.Derived, p.intent.Untouched)
	kept := slices.DeleteFunc(p.lease.derived(), func(table string) bool { return !slices.Contains(right, table) })
	p.lease.setState(stateDerived, strings.Join(kept, " "))
	return []stateRow{{stateDerived, strings.Join(kept, " "), 0}}
}

// derived returns the derived tables that are up to date.
func (l *Lease) derived() []string { return strings.Fields(l.state(stateDerived)) }

// lacksAny reports whether one of the names is not in the list.
func lacksAny(list, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(list, name) })
}

// refreshDerived makes the derived tables of the account again if one of them is out of date.
func (w *Writer) refreshDerived(ctx context.Context, l *Lease) error {
	names := derivedNames(w.Stream)
	if !lacksAny(l.derived(), names) {
		return nil
	}
	var empty bool
	if err := w.pool.conn.QueryRow(ctx, w.script.hasNone(), named("account", w.Account)).Scan(&empty); err != nil {
		return fmt.Errorf("looking whether account %s has rows of %s: %w", w.Account, w.Stream.Name, err)
	}
	value := strings.Join(names, " ")
	if empty { // nothing is out of date; the first run that publishes says so
		l.setState(stateDerived, value)
		return nil
	}
	w.pool.log.Info("rebuilding the derived tables of a stream", "account", w.Account, "stream", w.Stream.Name,
		"tables", names)
	if err := w.rebuildDerived(ctx); err != nil {
		return err
	}
	if err := w.recountLive(ctx); err != nil { // who left the tables out left the number out as well
		return err
	}
	if err := w.save(ctx, stateRow{stateDerived, value, 0}); err != nil {
		return err
	}
	l.setState(stateDerived, value)
	return nil
}

// rebuildDerived makes the account's rows of all derived tables of the stream again. Readers of a table see its old
// rows or its new ones. The caller holds the lease.
func (w *Writer) rebuildDerived(ctx context.Context) error {
	for _, t := range derivedTables(w.Stream) {
		if err := w.rebuildTable(ctx, t); err != nil {
			return fmt.Errorf("rebuilding the rows of %s of account %s: %w", t.table, w.Account, err)
		}
	}
	return nil
}

func (w *Writer) rebuildTable(ctx context.Context, t derived) error {
	into := w.pool.dialect.ofRun(w.derivedDelta(t.table))
	if err := w.fillAnew(ctx, t, into); err != nil {
		return err
	}
	var rows uint64
	if err := w.pool.conn.QueryRow(ctx, countRows(into)).Scan(&rows); err != nil {
		return err
	}
	statement := replaceDerived(t.table, into, w.Account)
	if rows == 0 { // replacing rows by none is refused: it could be a mistake
		statement = dropDerived(t.table, w.Account)
	}
	if err := w.pool.exec(ctx, statement); err != nil {
		return err
	}
	// warehouse-16
	if err := (publication{Writer: w}).checkAttached(ctx, []target{t.target(into)}); err != nil {
		return err
	}
	return w.pool.exec(ctx, dropTable(into))
}

// rebuildSettings keep memory bounded where all rows of an account are grouped.
var rebuildSettings = clickhouse.Settings{"join_algorithm": "full_sorting_merge",
	"max_bytes_before_external_group_by": 256 << 20}

// fillAnew makes a table like a derived one, with the account's rows as they follow from those that are stored.
func (w *Writer) fillAnew(ctx context.Context, t derived, into string) error {
	now, err := w.pool.Now(ctx)
	if err != nil {
		return err
	}
	steps := []step{{statement: dropDelta(into)}, {statement: w.pool.dialect.createDelta(t.table, into, t.create)}}
	for _, statement := range t.rebuild(w.script, into) {
		steps = append(steps, step{statement: statement, settings: rebuildSettings})
	}
	return w.pool.execAll(ctx, steps, append(w.args(now), named("merged_at", fmt.Sprint(now.UnixMilli())))...)
}

func (w *Writer) isAsRebuilt(ctx context.Context, t derived) (same bool, err error) {
	into := w.pool.dialect.ofRun(w.derivedDelta(t.table))
	if err := w.fillAnew(ctx, t, into); err != nil {
		return false, err
	}
	if err := w.pool.conn.QueryRow(ctx, compareDerived(t, into), named("account", w.Account)).Scan(&same); err != nil {
		return false, err
	}
	return same, w.pool.exec(ctx, dropTable(into))
}

// setState notes what the holder of the lease has stored.
func (l *Lease) setState(name, value string) {
	for i := range l.states {
		if l.states[i].name == name {
			l.states[i].value = value
			return
		}
	}
	l.states = append(l.states, stateRow{name: name, value: value})
}

// hasNone says whether the account has no row at all, deleted ones included.
func (x script) hasNone() string {
	return x.render("SELECT count() = 0 FROM (SELECT 1 FROM $latest WHERE account = {account:String} LIMIT 1)", nil)
}

func countRows(table string) string { return sql("SELECT count() FROM $table", parts{"table": table}) }

// replaceDerived replaces the account's rows of one table by those of another, all at once.
func replaceDerived(table, from, account string) string {
	return sql("ALTER TABLE $table REPLACE PARTITION $account FROM $from",
		parts{"table": table, "from": from, "account": quote(account)})
}

func dropDerived(table, account string) string {
	return sql("ALTER TABLE $table DROP PARTITION $account", parts{"table": table, "account": quote(account)})
}

// compareDerived says whether a derived table has the account's rows that the other one has, except for the columns
// version and _run_id.
func compareDerived(t derived, other string) string {
	return sql(`SELECT
    (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM $table FINAL WHERE account = {account:String}$something))
    = (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM $other FINAL WHERE account = {account:String}$something))`,
		parts{"table": t.table, "other": other, "something": t.something()})
}

// something returns the condition for rows that do not mean the same as a missing one.
func (t derived) something() string {
	if t.nothing == "" {
		return ""
	}
	return " AND NOT (" + t.nothing + ")"
}
