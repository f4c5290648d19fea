package warehouse

import (
	"maps"
	"slices"
	"strings"

	"dealhouse/internal/catalog"
)

// derived is a table that follows from the rows of a stream: sums of them, or a few of their columns in another order.
//
// A run changes it as it changes the tables of the stream: what changes is computed before anything is attached, from
// what readers see and from the delta of the run, as rows that replace those of the same key. It is attached under the
// same intent, after the stream's own tables (warehouse-1, warehouse-2). So fill must give rows that may be attached
// twice: sums as they are afterwards, not what is to be added.
//
// A row whose values are all defaults says that there is none: views leave it out, and nothing is ever deleted.
type derived struct {
	table  string // behind the views; its engine replaces rows
	create string // makes it
	// key and values are its columns beside the account, the version and the run.
	key, values []column
	// fill are the statements that fill its delta from that of the stream. Those of one stream come in the order of
	// their tables, so that one may read the delta of another before it. first says that the account had no row at all.
	fill func(x script, delta string, first bool) []string
	// whole selects key and values for all rows of an account, as they have to be. It is what fill must agree with.
	whole string
}

// newDerived is a derived table with the columns that all of them have.
func newDerived(table, comment, settings string, key, values []column) derived {
	columns := slices.Concat([]column{accountColumn}, key, values, []column{
		{"_version", "UInt64", "The highest wins"}, {"_run_id", "UUID", "Run that loaded the row"},
	})
	order := "(account, " + joinNames(key) + ")\nSETTINGS " + settings
	return derived{table: table, create: createTable(table, columns, "ReplacingMergeTree(_version)", order, comment), key: key, values: values}
}

// derivedTables are those of a stream, in the order in which they are filled and attached.
func derivedTables(s *catalog.Stream) []derived {
	if s.Name != transactionsStream {
		return nil
	}
	return []derived{salesTable(), saleRetailersTable(), payoutTransactionsTable(), payoutMovesTable(), payoutSumsTable()}
}

// derivedDelta is the name of the delta of a derived table.
func (r Run) derivedDelta(table string) string { return table + "_delta_" + r.suffix() }

// changed is the name of the table of the rows that a run changes, as they were and as they become.
func (r Run) changed() string { return r.Stream.Name + "_changed_" + r.suffix() }

// derivedSteps make the deltas of the derived tables and fill them.
func (w *Writer) derivedSteps(c Changes) (steps []step) {
	tables := derivedTables(w.Stream)
	if len(tables) == 0 {
		return nil
	}
	settings := joinSettings(c.Inserted + c.Updated + c.Deleted)
	maps.Copy(settings, deltaSettings)
	if !c.First {
		steps = append(steps, step{dropDelta(w.script.names["changed"]), nil}, step{w.script.createChanged(), nil}, step{w.script.insertChanged(), settings})
	}
	for _, t := range tables {
		delta := w.dialect.ofRun(w.derivedDelta(t.table))
		steps = append(steps, step{dropDelta(delta), nil}, step{createDeltaOf(t.table, delta), nil})
		for _, statement := range t.fill(w.script, delta, c.First) {
			steps = append(steps, step{statement, settings})
		}
	}
	return steps
}

// changedColumns are what the derived tables know of a row.
var changedColumns = []string{
	"id", "sold_at", "currency_code", "retailer_id", "retailer_name", "retailer_logo", "country", "status", "order_value", "cashback", "payout_id",
	"updated_at", "synced_at", "_version", "_deleted",
}

func (x script) createChanged() string {
	columns := []column{{name: "sign", typ: "Int8"}}
	for _, c := range storedColumns(x.Stream) {
		if slices.Contains(changedColumns, c.name) {
			columns = append(columns, column{name: c.name, typ: c.typ})
		}
	}
	return x.render("CREATE TABLE IF NOT EXISTS $changed ($columns)\nENGINE = MergeTree ORDER BY $key\nCOMMENT 'What a run under way changes'",
		parts{"columns": strings.Join(columnDefs(columns), ", ")})
}

// insertChanged copies the rows that the run changes: with sign 1 as they become, and with sign -1 as readers see them,
// so that they are looked up only once.
func (x script) insertChanged() string {
	return x.render(`INSERT INTO $changed (sign, $columns)
SELECT -1, $columns
FROM $latest FINAL
WHERE account = {account:String} AND _deleted IN (0, 1) AND $key IN (SELECT $key FROM $delta)
UNION ALL
SELECT 1, $columns
FROM $delta
WHERE _deleted IN (0, 1)`, parts{"columns": strings.Join(changedColumns, ", ")})
}

// changedRows are the rows that the run changes. In a first load they are its delta.
func (x script) changedRows(first bool) string {
	if first {
		return x.render("(SELECT 1 AS sign, * FROM $delta)", nil)
	}
	return x.names["changed"]
}

// derivedNames are the tables that follow from a stream.
func derivedNames(s *catalog.Stream) (names []string) {
	for _, t := range derivedTables(s) {
		names = append(names, t.table)
	}
	return names
}

// derivedTargets are the derived tables that the intent names. One that came later than the intent is not among them.
func (p publication) derivedTargets() (targets []target) {
	for _, t := range derivedTables(p.Stream) {
		if slices.Contains(p.intent.Derived, t.table) {
			targets = append(targets, target{t.table, p.dialect.ofRun(p.derivedDelta(t.table))})
		}
	}
	return targets
}

// inserted begins the statement that fills the delta of the table.
func (t derived) inserted(delta string) string {
	return sql("INSERT INTO $delta (account, $columns, _version, _run_id)\n", parts{"delta": delta, "columns": t.columns()})
}

// columns are the names of key and values.
func (t derived) columns() string { return joinNames(slices.Concat(t.key, t.values)) }

// nextVersion is above the version that is stored, whatever the clock says.
const nextVersion = "greatest(toUInt64({merged_at:Int64}), $stored + 1)"

func versionAfter(stored string) string { return strings.ReplaceAll(nextVersion, "$stored", stored) }

// changedSums fills the delta of a table of sums: of the groups that rows name, what is stored and the rows on top. They
// are key and values of single rows, those that are no more with the opposite sign.
func (t derived) changedSums(delta, rows string, first bool) string {
	sums := make([]string, len(t.values))
	for i, c := range t.values {
		sums[i] = "sum(" + c.name + ")"
	}
	named := parts{"key": joinNames(t.key), "columns": t.columns(), "table": t.table, "rows": rows, "sums": strings.Join(sums, ", "), "version": versionAfter("max(_version)")}
	stored := ""
	if !first {
		stored = sql(`
    UNION ALL
    SELECT $columns, _version
    FROM $table FINAL
    WHERE account = {account:String} AND ($key) IN (SELECT $key FROM ($rows))`, named)
	}
	return t.inserted(delta) + sql(`SELECT {account:String}, $key, $sums, $version, {run:UUID}
FROM
(
    SELECT $columns, toUInt64(0) AS _version FROM ($rows)$stored
)
GROUP BY $key`, named.with(parts{"stored": stored}))
}

// wholeSums are the sums over rows.
func (t derived) wholeSums(rows string) string {
	sums := make([]string, len(t.values))
	for i, c := range t.values {
		sums[i] = "sum(s." + c.name + ") AS " + c.name
	}
	return sql("SELECT $key, $sums\nFROM ($rows) AS s\nGROUP BY $key", parts{"key": joinNames(t.key), "sums": strings.Join(sums, ", "), "rows": rows})
}
