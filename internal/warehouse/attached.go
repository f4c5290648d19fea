package warehouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// publication carries out an intent.
type publication struct {
	*Writer
	lease   *Lease
	intent  Intent
	reading leaseReading // of the lease and of the row of the run; zero if a dead run is finished
	begun   bool         // an earlier attempt may have attached something
}

// target is a table that a delta is attached to.
type target struct {
	table, delta string
	of           string // the table that the delta was made for, or movesOf
	key, row     string // of a derived table: the columns of its sorting key, and what tells its rows apart
}

// goneDelta turns an error that means the same into an errDeltaGone.
func goneDelta(err error) error {
	if IsMissing(err) || hasCode(err, codeIncompatibleColumns, codeBadArguments) {
		return fmt.Errorf("%w: %w", errDeltaGone, err)
	}
	return err
}

// errDeltaGone says that what was to be attached is missing, or no longer has the structure of the table. An intent is
// withdrawn before its delta is dropped. So another worker took the run for dead before its intent was durable, or has
// migrated since.
var errDeltaGone = errors.New("what the run had prepared has been dropped, or is older than a migration")

// targets returns the tables that the run changes, in the order in which their deltas are attached.
func (p publication) targets() []target {
	var targets []target
	names := p.script.names
	if p.intent.Record.Changes.Any() {
		if p.Stream.History {
			targets = append(targets, target{names["versions"], names["delta"], names["latest"], "", ""})
		}
		latest := target{names["latest"], names["delta"], names["latest"], "", ""}
		if p.intent.Record.Changes.Moved > 0 {
			latest.delta, latest.of = names["moves"], movesOf(p.Stream)
		}
		targets = append(targets, latest)
		targets = append(targets, p.derivedTargets(false)...)
	}
	if p.Stream.Child != nil {
		targets = append(targets, target{names["child_latest"], names["child_delta"], names["child_latest"], "", ""})
		if slices.Contains(p.intent.Derived, names["child_hashes"]) { // an intent of an older version has none
			targets = append(targets, target{names["child_hashes"], names["child_hashes_delta"],
				names["child_hashes"], "", ""})
		}
		targets = append(targets, p.derivedTargets(true)...)
	}
	return targets
}

// countTargets counts what is attached, by the name of the target. The parts of a delta keep their content when they
// are attached, and so their hash: the table itself is not read. A part that was merged since is not found this way.
func (p publication) countTargets(ctx context.Context, targets []target) (map[string]attached, error) {
	if p.pool.dialect.cloud {
		for _, t := range targets {
			if err := p.pool.catchUp(ctx, t.delta, t.table); err != nil {
				return nil, goneDelta(err)
			}
		}
	}
	type part struct {
		table, hash string
		rows        uint64
	}
	tables, deltas := make([]string, len(targets)), make([]string, len(targets))
	for i, t := range targets {
		tables[i], deltas[i] = t.table, p.pool.dialect.bare(t.delta)
	}
	rows, err := p.pool.conn.Query(ctx, selectParts(p.pool.dialect),
		named("tables", "["+words(slices.Concat(tables, deltas))+"]"), named("deltas", "["+words(deltas)+"]"))
	parts, err := scanned(rows, err, func(x *part) []any { return []any{&x.table, &x.hash, &x.rows} })
	if err != nil {
		return nil, fmt.Errorf("counting what is published: %w", err)
	}
	known, of := map[string]bool{}, map[string]map[string]uint64{} // the rows of each part, by table and hash
	for _, x := range parts {
		switch {
		case x.hash == "": // a delta that exists
			known[x.table] = true
		case of[x.table] == nil:
			of[x.table] = map[string]uint64{x.hash: x.rows}
		default:
			of[x.table][x.hash] = x.rows
		}
	}
	all := map[string]attached{}
	for i, t := range targets {
		if !known[deltas[i]] {
			return nil, fmt.Errorf("%w: there is no table %s", errDeltaGone, t.delta)
		}
		var n attached
		for hash, rows := range of[deltas[i]] {
			n.delta += rows
			n.target += of[t.table][hash]
		}
		all[t.table] = n
	}
	return all, nil
}

// countMissing counts what is attached, and says in missing which target lacks rows of its delta. If the parts of a
// target do not show all rows, the rows of the run are counted in the whole table.
func (p publication) countMissing(ctx context.Context,
	targets []target) (counts map[string]attached, missing *PublishedError, err error) {
	counts, err = p.countTargets(ctx, targets)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range targets {
		n := counts[t.table]
		if n.target >= n.delta {
			continue
		}
		if err := p.pool.conn.QueryRow(clickhouse.Context(ctx, clickhouse.WithSettings(nullsEqual)), t.count(),
			named("account", p.Account), named("run", p.ID.String())).Scan(&n.target); err != nil {
			return nil, nil, fmt.Errorf("counting what is published: %w", err)
		}
		if n.target < n.delta {
			return counts, &PublishedError{Table: t.table, Want: n.delta, Have: n.target}, nil
		}
	}
	return counts, nil, nil
}

// isMissing reports whether a target lacks rows of its delta.
func (p publication) isMissing(ctx context.Context, t target) (bool, error) {
	_, missing, err := p.countMissing(ctx, []target{t})
	return missing != nil, err
}

// checkDeltas compares the deltas with what was prepared.
func (p publication) checkDeltas(targets []target, counts map[string]attached) error {
	for _, t := range targets {
		want, known := p.script.rowsOf(t.of, p.intent.Record.Changes)
		if !known {
			want, known = p.intent.Prepared[t.of]
		}
		if have := counts[t.table].delta; known && have != want {
			return &DeltaError{Table: t.table, Want: want, Rows: have}
		}
	}
	return nil
}

// checkAttached returns an error unless each target has all rows of its delta. Of a delta that was emptied meanwhile,
// no row could be missing, so the deltas are compared with what was prepared as well.
func (p publication) checkAttached(ctx context.Context, targets []target) error {
	counts, missing, err := p.countMissing(ctx, targets)
	if err == nil {
		err = p.checkDeltas(targets, counts)
	}
	if err == nil && missing != nil {
		return missing
	}
	return err
}

// attached is the number of rows of a delta, and how many of these its target has.
type attached struct{ delta, target uint64 }

// countOfRun counts the rows of a table that a run has loaded.
func countOfRun(table string) string {
	return sql("SELECT count() FROM $table WHERE account = {account:String} AND _run_id = {run:UUID}",
		parts{"table": table})
}

// countSame counts the rows of a delta that the derived table has. It looks them up by their keys, and reads
// nothing else.
func countSame(t target) string {
	return sql("SELECT uniqExact($row) FROM $table WHERE ($key) IN (SELECT $key FROM $delta) AND $row IN (SELECT $row FROM $delta)",
		parts{"table": t.table, "delta": t.delta, "key": t.key, "row": "sipHash128(toString(tuple(" + t.row + ")))"})
}

// count counts the rows of a target that a run has published.
func (t target) count() string {
	if t.key != "" {
		return countSame(t)
	}
	return countOfRun(t.table)
}

// DeltaError says that a delta differs from what the run prepared: rows are missing, or a key is there twice. Nothing
// of it was published.
type DeltaError struct {
	Table            string // that the delta is for
	Want, Rows, Keys uint64 // Keys is 0 if they were not counted
}

func (e *DeltaError) Error() string {
	if e.Rows == e.Want {
		return fmt.Sprintf("the rows prepared for %s are %d of only %d keys: nothing was published, and the next run reads everything again", e.Table, e.Rows, e.Keys)
	}
	return fmt.Sprintf("%d rows were prepared for %s, but the warehouse has %d: nothing was published, and the next run reads everything again. "+
		"If the address is that of several servers, give that of one", e.Want, e.Table, e.Rows)
}

// PublishedError says that the warehouse accepted a delta and does not have its rows. The state has not moved: the next
// run publishes them again.
type PublishedError struct {
	Table      string
	Want, Have uint64
}

func (e *PublishedError) Error() string {
	return fmt.Sprintf("%d rows were published to %s, but it has %d of them: the state was not moved, and the next run publishes them again. "+
		"If the address is that of several servers, give that of one", e.Want, e.Table, e.Have)
}

// selectParts lists the parts of deltas and of the tables that they are attached to, with the hash of their content. It
// also lists the deltas that exist, with an empty hash.
func selectParts(d dialect) string {
	return sql(`SELECT table, hash_of_all_files, rows FROM system.parts
WHERE active AND database IN (currentDatabase(), $local) AND table IN ({tables:Array(String)})
UNION ALL
SELECT name, '', 0 FROM system.tables WHERE database = $local AND name IN ({deltas:Array(String)})`,
		parts{"local": d.runDatabase()})
}

func countEach(deltas []delta, count string) string {
	var all []string
	for _, d := range deltas {
		all = append(all, sql(count, parts{"table": quote(d.table), "delta": d.name, "key": d.key}))
	}
	return strings.Join(all, "\nUNION ALL ")
}

// target returns the table as the target of a delta. If the table adds rows up, attached rows do not stay as they were,
// so they are looked for by their keys alone.
func (t derived) target(delta string) target {
	to := target{t.table, delta, t.table, sortedBy(t.create), "*"}
	if strings.Contains(t.create, "AggregatingMergeTree") {
		to.row = to.key
	}
	return to
}

// derivedTargets returns the derived tables that the intent names: those of the stream, or those of its child. Tables
// that are newer than the intent are not among them.
func (p publication) derivedTargets(ofChild bool) (targets []target) {
	for _, t := range derivedTables(p.Stream) {
		if t.ofChild == ofChild && slices.Contains(p.intent.Derived, t.table) {
			targets = append(targets, t.target(p.pool.dialect.ofRun(p.derivedDelta(t.table))))
		}
	}
	return targets
}

// Codes for a delta that was made before a migration: its columns or its order differ from the table's.
const (
	codeIncompatibleColumns = 122
	codeBadArguments        = 36
)

// rowsOf returns how many rows a delta must have according to the plan, if the plan says it.
func (x script) rowsOf(of string, c Changes) (rows uint64, known bool) {
	switch of {
	case x.names["latest"]:
		return c.written(), true
	case movesOf(x.Stream):
		return c.written() + c.Moved, true
	}
	return 0, false
}

// countKeys counts the rows of deltas and their distinct keys. The rows are read in the order of the key, and each is
// compared with the one before it: a group for each key takes three to seven times as long. No account has an empty
// name, so the first row differs from the default value that it is compared with.
func countKeys(deltas []delta) string {
	return countEach(deltas, `SELECT $table AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple($key) AS this, lagInFrame(this) OVER (ORDER BY $key ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM $delta)`)
}

// countFewKeys does the same as countKeys, for the deltas of a small run: planning a window takes longer than
// counting their keys in a set. It also counts the parts. The keys of all deltas are counted together. With one count
// for each delta, the engine would compile the third one, which takes longer than all the counts. A delta without
// rows is left out.
func countFewKeys(deltas []delta) string {
	return "SELECT table, count() AS rows, uniqExact(key) AS keys, toUInt64(uniqExact(part) - uniqExact(partition) + 1) AS parts\nFROM\n(\n" +
		countEach(deltas, "SELECT $table AS table, toString(tuple($key)) AS key, _part AS part, _partition_id AS partition FROM $delta") +
		"\n)\nGROUP BY table"
}
