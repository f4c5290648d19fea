package warehouse

import (
	"fmt"
	"slices"
	"strings"
)

// keyed is a derived table with a key of its own, and values that are computed from the rows of a stream.
//
// A row that matches derived.nothing counts as missing: views leave it out. So no row is ever deleted.
type keyed struct {
	derived
	key, values []column // beside the account, the version and the run
}

func newKeyed(table, comment, settings, nothing string, key, values []column) keyed {
	columns := slices.Concat([]column{accountColumn}, key, values, []column{
		{"version", "UInt64", "The highest wins"}, {"_run_id", "UUID", "Run that loaded the row"},
	})
	order := "(account, " + joinNames(key) + ")\nSETTINGS " + settings
	t := keyed{key: key, values: values}
	t.table, t.nothing, t.create = table, nothing, createTable(table, columns, "ReplacingMergeTree(version)", order,
		comment)
	return t
}

// columns are the names of key and values.
func (t keyed) columns() string { return joinNames(slices.Concat(t.key, t.values)) }

// inserted returns the beginning of a statement that fills a table like this one.
func (t keyed) inserted(into string) string {
	return sql("INSERT INTO $into (account, $columns, version, _run_id)\n", parts{"into": into, "columns": t.columns()})
}

// insertAll fills an empty table with rows of key and values.
func (t keyed) insertAll(into, rows string) string {
	return t.inserted(into) + sql("SELECT {account:String}, $columns, $version, {run:UUID}\nFROM ($rows)",
		parts{"columns": t.columns(), "version": versionAfter("0"), "rows": rows})
}

// versionAfter returns an expression for a version above the stored one, whatever the clock says.
func versionAfter(stored string) string {
	return "greatest(toUInt64({merged_at:Int64}), " + stored + " + 1)"
}

// changedSums fills the delta of a table of sums. rows is a query for the key and values of single rows; for rows
// that are no longer there, the values have the opposite sign. Each group that rows has gets its stored sums plus
// these values.
//
// near is a condition that selects all stored groups that rows has, and not many others. It takes less time to plan
// than a second copy of rows, which is used if near is empty.
func (t keyed) changedSums(delta, rows, near string, first bool) string {
	sums := make([]string, len(t.values))
	for i, c := range t.values {
		sums[i] = "sum(" + c.name + ")"
	}
	named := parts{"key": joinNames(t.key), "columns": t.columns(), "table": t.table, "rows": rows,
		"sums": strings.Join(sums, ", "), "version": versionAfter("max(version)")}
	stored, having := "", ""
	switch {
	case first:
	case near == "":
		near = sql("($key) IN (SELECT $key FROM ($rows))", named)
	default: // keep only groups that rows has: no stored version is 0
		having = "\nHAVING min(version) = 0"
	}
	if !first {
		stored = sql(`
    UNION ALL
    SELECT $columns, version
    FROM $table FINAL
    WHERE account = {account:String} AND $near`, named.with(parts{"near": near}))
	}
	return t.inserted(delta) + sql(`SELECT {account:String}, $key, $sums, $version, {run:UUID}
FROM
(
    SELECT $columns, toUInt64(0) AS version FROM ($rows)$stored
)
GROUP BY $key$having`, named.with(parts{"stored": stored, "having": having}))
}

// wholeSums fills an empty table of sums.
func (t keyed) wholeSums(into, rows string) string {
	sums := make([]string, len(t.values))
	for i, c := range t.values {
		sums[i] = fmt.Sprintf("sum(s.%s) AS %[1]s", c.name)
	}
	return t.insertAll(into, sql("SELECT $key, $sums\nFROM ($rows) AS s\nGROUP BY $key",
		parts{"key": joinNames(t.key), "sums": strings.Join(sums, ", "), "rows": rows}))
}

// changed returns the name of the table of the rows that a run changes, as they were and as they become.
func (r Run) changed() string { return r.Stream.Name + "_changed_" + r.suffix() }

// changedColumns are the columns of a row that the tables of sums read.
var changedColumns = []string{
	"id", "sold_at", "currency_code", "retailer_id", "retailer_name", "retailer_logo", "country",
	"status", "order_value", "cashback", "payout_id",
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

// insertChanged copies the rows that the run changes: with sign 1 as they become, and with sign -1 as they are stored
// now. So the stored rows are looked up only once. Deleted rows are among them.
func (x script) insertChanged() string {
	return x.render(`INSERT INTO $changed (sign, $columns)
SELECT -1, $columns
FROM $latest FINAL
WHERE account = {account:String} AND _deleted != $moved AND $stored
UNION ALL
SELECT 1, $columns
FROM $delta`, parts{"columns": strings.Join(changedColumns, ", "), "moved": markedMoved, "stored": x.stored(isChanged)})
}

// changedRows are the rows that the run changes. In a first load they are its delta.
func (x script) changedRows(first bool) string {
	if first {
		return x.render("(SELECT 1 AS sign, * FROM $delta)", nil)
	}
	return x.names["changed"]
}
