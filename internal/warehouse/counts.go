package warehouse

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/catalog"
)

// Prepared is the number of rows of each delta of a run, by the target table.
type Prepared map[string]uint64

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

// delta is a table that holds what a run changes in another table.
type delta struct {
	table string // the table that it is made for, or movesOf
	name  string // in full, as statements need it
	key   string // the columns of the sorting key; each of its values is there once
}

// movesOf is the name of the table that is attached to _latest instead of the delta if rows have moved.
func movesOf(s *catalog.Stream) string { return s.Name + "_moves" }

// deltas returns the deltas that the run has prepared.
func (w *Writer) deltas(c Changes) (all []delta) {
	x, d := w.script, w.pool.dialect
	if c.Any() {
		key := sortedBy(createLatest(x.Stream))
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

var orderBy = regexp.MustCompile(`(?m)^ORDER BY (.+)$`)

// sortedBy returns the columns of the sorting key of a table, taken from the statement that creates it.
func sortedBy(create string) string {
	key := orderBy.FindStringSubmatch(create)[1]
	if strings.HasPrefix(key, "(") {
		key = strings.TrimSuffix(key[1:], ")")
	}
	return key
}

// nullsEqual makes joins match keys that are NULL.
var nullsEqual = clickhouse.Settings{"transform_null_in": 1}

// fewKeys is how many rows of a stream a run may stage or change at most for its keys to be counted in sets, which are
// in memory. Streams with a child are left out (few), since a price history has many more rows than its stream.
const fewKeys = 10_000

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

// attached is the number of rows of a delta, and how many of these its target has.
type attached struct{ delta, target uint64 }

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
	return "SELECT table, count() AS rows, uniqExact(key) AS keys, uniqExact(part) AS parts\nFROM\n(\n" +
		countEach(deltas, "SELECT $table AS table, toString(tuple($key)) AS key, _part AS part FROM $delta") +
		"\n)\nGROUP BY table"
}

func countEach(deltas []delta, count string) string {
	var all []string
	for _, d := range deltas {
		all = append(all, sql(count, parts{"table": quote(d.table), "delta": d.name, "key": d.key}))
	}
	return strings.Join(all, "\nUNION ALL ")
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
