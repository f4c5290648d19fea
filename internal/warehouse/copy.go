package warehouse

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/catalog"
)

// A copy brings everything that a warehouse has into another one: from the embedded engine to a server, and back. It
// works piece by piece, an account and a month at a time. Only pieces whose rows have another sum at the other end are
// copied, so a copy that was killed goes on where it was, and one that is repeated brings what has changed since. The
// state of the streams comes last: what was copied in part counts as not loaded.

// CopyOptions of a copy.
type CopyOptions struct {
	Streams []StreamID                        // that may run meanwhile, even if they never did (Hold)
	Wait    time.Duration                     // for runs under way to end
	Waiting func(StreamID)                    // is called whenever it waits for a stream
	Copying func(table string, copied uint64) // is called at each piece, with the rows that were written so far
}

// Copied is what a warehouse has after it was copied into.
type Copied struct {
	Tables  int
	Rows    uint64 // equal at both ends
	Written uint64 // by this copy; the others were there already
}

// CopyError says why a warehouse cannot be copied into another one. Nothing was changed that is of use there.
type CopyError struct{ reason string }

func (e *CopyError) Error() string { return e.reason }

// errStillRunning is the cause of a Hold that has waited for long enough.
var errStillRunning = errors.New("a run has not ended in time")

// CopyTo copies everything into another warehouse, which is empty, or has what an earlier copy has brought. Runs go on
// while most of it is copied. They are held back while what they have changed meanwhile follows.
func (w *Warehouse) CopyTo(ctx context.Context, to *Warehouse, o CopyOptions) (c Copied, err error) {
	if err := w.CheckSchema(ctx); err != nil {
		return c, err
	}
	if _, err := to.Migrate(ctx); err != nil {
		return c, err
	}
	if _, err := to.Identify(ctx); err != nil { // on which shard an account lives
		return c, err
	}
	if err := w.checkRuns(ctx, to); err != nil {
		return c, err
	}
	x := &copying{from: w, to: to, told: o.Copying}
	if x.tables, err = to.permanentTables(ctx); err != nil {
		return c, err
	}
	if err := x.all(ctx, nil); err != nil {
		return c, err
	}
	err = w.each()[0].inTurn(ctx, func(ctx context.Context) (err error) {
		waiting, stop := context.WithTimeoutCause(ctx, o.Wait, errStillRunning)
		defer stop()
		hold, err := w.Hold(ctx, waiting, o.Streams, o.Waiting)
		if err != nil {
			return fmt.Errorf("waiting for runs to end: %w", err)
		}
		defer func() { err = errors.Join(err, hold.Release(ctx)) }()
		if err := x.all(ctx, hold); err != nil {
			return err
		}
		return hold.Check(ctx)
	})
	if err == nil {
		err = w.checkRuns(ctx, to)
	}
	return Copied{Tables: len(x.tables), Rows: x.rows, Written: x.written}, err
}

// checkRuns returns an error if the other warehouse has runs that this one has not: then it was loaded by itself. Runs
// from before those that are kept here may have been copied once.
func (w *Warehouse) checkRuns(ctx context.Context, to *Warehouse) error {
	here, oldest, err := w.runsBegun(ctx)
	if err != nil {
		return err
	}
	there, _, err := to.runsBegun(ctx)
	if err != nil {
		return err
	}
	for id, begun := range there {
		if _, known := here[id]; !known && !begun.Before(oldest) {
			return &CopyError{fmt.Sprintf("the warehouse to copy to was loaded by itself: it has run %s, which the other one has not; choose another database, or drop this one", id)}
		}
	}
	return nil
}

// runsBegun returns when each run that is kept began, and the first of them.
func (w *Warehouse) runsBegun(ctx context.Context) (begun map[string]time.Time, oldest time.Time, err error) {
	type run struct {
		id    string
		begun time.Time
	}
	begun = map[string]time.Time{}
	for _, shard := range w.each() {
		rows, err := shard.conn.Query(ctx, selectRunsBegun)
		runs, err := scanned(rows, err, func(r *run) []any { return []any{&r.id, &r.begun} })
		if err != nil {
			return nil, oldest, fmt.Errorf("reading which runs there are: %w", err)
		}
		for _, r := range runs {
			begun[r.id] = r.begun
			if oldest.IsZero() || r.begun.Before(oldest) {
				oldest = r.begun
			}
		}
	}
	return begun, oldest, nil
}

// copiedTable is a table that is copied.
type copiedTable struct {
	name    string
	columns []column // without those that follow from others
	account string   // the expression of a row's account; "''": its rows belong to no single one
	month   string   // the expression of a row's month; "0": it is not divided
	final   string   // FINAL, if its rows replace each other
	where   string   // a condition: rows that are not copied do not meet it
	ages    bool     // its rows are removed when they are old
	entered bool     // people have entered its rows, so none is ever removed
}

// notCopied are tables about a warehouse itself and the processes that work with it.
var notCopied = []string{"schema_migrations_log", schemaTurns, "notification_edges_log", "notification_sending_log"}

// enteredTables have what people have entered.
var enteredTables = []string{"settlements_log", "payout_acknowledgements_log", "statement_closes_log", "operator_actions_log"}

// stateTable has what the runs know of each stream. It is copied last.
const stateTable = "sync_state_log"

// permanentTables are the tables to copy, the state of the streams last.
func (w *Warehouse) permanentTables(ctx context.Context) (tables []copiedTable, err error) {
	first := w.each()[0]
	rows, err := first.conn.Query(ctx, selectPermanentTables)
	type found struct {
		table        copiedTable
		engine, key  string
		names, kinds []string
	}
	all, err := scanned(rows, err, func(f *found) []any {
		return []any{&f.table.name, &f.engine, &f.key, &f.table.ages, &f.names, &f.kinds}
	})
	if err != nil {
		return nil, fmt.Errorf("reading which tables there are: %w", err)
	}
	months := map[string]string{}
	for _, s := range catalog.All() {
		if s.OrderedBy != "" {
			months[latestTable(s)], months[versionsTable(s)] = month(s.OrderedBy), month(s.OrderedBy)
		}
	}
	for _, f := range all {
		t := f.table
		t.account, t.month, t.where = "''", "toUInt32(0)", "1"
		if strings.HasPrefix(f.key, accountColumn.name+",") {
			t.account = "toString(" + accountColumn.name + ")"
		}
		if expression := months[t.name]; expression != "" {
			t.month = expression
		}
		if f.engine != "MergeTree" && f.engine != "ReplicatedMergeTree" && f.engine != "SharedMergeTree" {
			t.final = "FINAL"
		}
		if t.name == stateTable {
			t.where = "name != " + quote(stateLease)
		}
		t.entered = slices.Contains(enteredTables, t.name)
		for i, name := range f.names {
			t.columns = append(t.columns, column{name: name, typ: f.kinds[i]})
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// copying is a copy under way.
type copying struct {
	from, to *Warehouse
	tables   []copiedTable
	told     func(table string, copied uint64)
	rows     uint64 // that both ends have, of the tables so far
	written  uint64
}

// all copies all tables. Without a hold, runs are under way: then their state is left out, and what they change
// meanwhile does not matter. With one, the state is copied only if nobody has run in between: it must not claim more
// than the tables have.
func (c *copying) all(ctx context.Context, hold *Hold) error {
	c.rows = 0
	for _, t := range c.tables {
		if t.name == stateTable {
			if hold == nil {
				continue
			}
			if err := hold.Check(ctx); err != nil {
				return err
			}
		}
		if err := c.table(ctx, t, hold != nil); err != nil {
			return fmt.Errorf("copying %s: %w", t.name, err)
		}
	}
	return nil
}

// copyTurns is how often a table is copied while something else than a run writes to it.
const copyTurns = 3

// table makes a table equal at both ends.
func (c *copying) table(ctx context.Context, t copiedTable, held bool) error {
	for turn := 0; ; turn++ {
		if t.ages { // what is too old goes at once, and not some time between two readings
			for _, shard := range c.from.each() {
				if err := shard.exec(ctx, removeOld(t)); err != nil {
					return err
				}
			}
		}
		have, sources, err := c.from.pieces(ctx, t)
		if err != nil {
			return err
		}
		there, _, err := c.to.pieces(ctx, t)
		if err != nil {
			return err
		}
		differ := slices.DeleteFunc(slices.Collect(maps.Keys(have)), func(p copiedPiece) bool { return have[p] == there[p] })
		for p := range there {
			if _, known := have[p]; !known {
				differ = append(differ, p)
			}
		}
		if len(differ) == 0 {
			for _, set := range have {
				c.rows += set.Rows
			}
			return nil
		}
		if turn == copyTurns {
			return unequal(t)
		}
		// Rows that replace others need not be removed first, as a rule.
		if !t.entered && (t.final == "" || turn > 0) {
			if err := c.remove(ctx, t, slices.DeleteFunc(slices.Clone(differ), func(p copiedPiece) bool { return there[p].Rows == 0 })); err != nil {
				return err
			}
		}
		for _, p := range differ {
			c.told(t.name, c.written)
			if err := c.piece(ctx, t, p, sources[p]); err != nil {
				return err
			}
		}
		if !held {
			return nil
		}
	}
}

// unequal returns the error of a table that is not equal although it was copied.
func unequal(t copiedTable) error {
	if t.entered {
		return &CopyError{"the warehouse to copy to has rows that were entered there, and the other one has not: choose another database, or drop this one"}
	}
	return &CopyError{"its rows are not equal at both ends after they were copied: something else than a run writes to one of them; stop the daemon and other commands, and copy again"}
}

// copiedPiece is a part of a table that is copied at once.
type copiedPiece struct {
	account string
	month   uint32
}

// pieces adds up the rows of each piece of a table, and says which shards have it.
func (w *Warehouse) pieces(ctx context.Context, t copiedTable) (sets map[copiedPiece]Set, on map[copiedPiece][]*Warehouse, err error) {
	type found struct {
		piece     copiedPiece
		rows, sum uint64
	}
	sets, on = map[copiedPiece]Set{}, map[copiedPiece][]*Warehouse{}
	for _, shard := range w.each() {
		rows, err := shard.conn.Query(ctx, selectPieces(t))
		all, err := scanned(rows, err, func(f *found) []any { return []any{&f.piece.account, &f.piece.month, &f.rows, &f.sum} })
		if err != nil {
			return nil, nil, err
		}
		for _, f := range all {
			sets[f.piece] = sets[f.piece].And(Set{f.rows, Sum(f.sum)})
			on[f.piece] = append(on[f.piece], shard)
		}
	}
	return sets, on, nil
}

// copyBlock is how many rows are read and sent at once.
const copyBlock = 20_000

// remove removes pieces that are there, with one statement for each shard: each takes its time.
func (c *copying) remove(ctx context.Context, t copiedTable, pieces []copiedPiece) error {
	on := map[*Warehouse][]copiedPiece{}
	for _, p := range pieces {
		on[c.to.At(p.account)] = append(on[c.to.At(p.account)], p)
	}
	for shard, pieces := range on {
		if err := shard.execAll(ctx, []step{{statement: deletePieces(t, pieces), settings: clickhouse.Settings{"mutations_sync": 2}}}); err != nil {
			return err
		}
	}
	return nil
}

// piece copies the rows of a piece.
func (c *copying) piece(ctx context.Context, t copiedTable, p copiedPiece, sources []*Warehouse) error {
	to := c.to.At(p.account)
	for _, from := range sources {
		rows, err := from.conn.Query(ctx, selectPiece(t, p))
		if err != nil {
			return err
		}
		types := rows.ColumnTypes()
		var block [][]any
		send := func() error {
			err := insertEach(ctx, to.pool, t.name, t.columns, block, func(row []any) []any { return row })
			if err != nil {
				return err
			}
			c.written, block = c.written+uint64(len(block)), block[:0]
			c.told(t.name, c.written)
			return nil
		}
		err = each(rows, nil, func(row *[]any) []any {
			*row = make([]any, len(types))
			for i, typ := range types {
				(*row)[i] = reflect.New(typ.ScanType()).Interface()
			}
			return *row
		}, func(row []any) error {
			for i, cell := range row {
				row[i] = reflect.ValueOf(cell).Elem().Interface()
			}
			if block = append(block, row); len(block) < copyBlock {
				return nil
			}
			return send()
		})
		if err == nil && len(block) > 0 {
			err = send()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// selectRunsBegun selects the runs that are kept.
const selectRunsBegun = "SELECT toString(run_id), started_at FROM sync_runs_log FINAL"

// selectPermanentTables selects the tables to copy: the name, the engine, the sorting key, whether rows are removed
// when they are old, and the columns that do not follow from others.
var selectPermanentTables = sql(`SELECT t.name, any(t.engine), any(t.sorting_key), any(t.engine_full LIKE '% TTL %') AS ages,
    arrayMap(c -> c.2, arraySort(groupArray((c.position, c.name, c.type))) AS ordered), arrayMap(c -> c.3, ordered)
FROM system.tables AS t
INNER JOIN system.columns AS c ON c.database = t.database AND c.table = t.name
WHERE t.database = currentDatabase() AND t.engine LIKE '%MergeTree' AND t.name NOT IN ($without) AND NOT endsWith(t.name, $staging)
    AND c.default_kind NOT IN ('MATERIALIZED', 'ALIAS')
GROUP BY t.name
ORDER BY t.name = $last, t.name`, parts{"without": words(notCopied), "staging": quote("_staging"), "last": quote(stateTable)})

// selectPieces counts the rows of each piece of a table, and adds them up.
func selectPieces(t copiedTable) string {
	return sql("SELECT $account AS of_account, $month AS of_month, count(), sum(cityHash64(tuple($columns)))\nFROM $table $final\nWHERE $where\nGROUP BY of_account, of_month", t.parts())
}

// selectPiece selects the rows of a piece.
func selectPiece(t copiedTable, p copiedPiece) string {
	return sql("SELECT $columns FROM $table $final WHERE $where AND $is", t.parts().with(parts{"is": t.is(p)}))
}

// deletePieces deletes the rows of pieces.
func deletePieces(t copiedTable, pieces []copiedPiece) string {
	var each []string
	for _, p := range pieces {
		each = append(each, t.is(p))
	}
	return sql("ALTER TABLE $table DELETE WHERE $where AND ($each)", t.parts().with(parts{"each": strings.Join(each, " OR ")}))
}

// removeOld removes the rows of a table that are too old to be kept.
func removeOld(t copiedTable) string { return sql("OPTIMIZE TABLE $table FINAL", t.parts()) }

func (t copiedTable) parts() parts {
	return parts{"table": t.name, "columns": joinNames(t.columns), "account": t.account, "month": t.month,
		"final": t.final, "where": t.where}
}

// is returns the condition that a row belongs to a piece.
func (t copiedTable) is(p copiedPiece) string {
	return sql("($account = $of AND $month = $is)", t.parts().with(parts{"of": quote(p.account), "is": fmt.Sprint(p.month)}))
}
