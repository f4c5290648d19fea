package warehouse

import (
	"fmt"
	"slices"
	"strings"

	"dealhouse/internal/catalog"
)

// keyed is a derived table with a key of its own, and values that are computed from the rows of a stream.
//
// A row that matches derived.nothing counts as missing: views leave it out. So no row is ever deleted.
type keyed struct {
	derived
	key, values []column // beside the account, the version and the run
}

func newKeyed(table, comment, nothing string, key, values []column) keyed {
	columns := slices.Concat([]column{accountColumn}, key, values, []column{
		{"version", "UInt64", "The highest wins"}, {"_run_id", "UUID", "Run that loaded the row"},
	})
	order := "(account, " + joinNames(key) + ")\nSETTINGS index_granularity = 1024"
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
// than a second copy of rows.
func (t keyed) changedSums(delta, rows, near string, first bool) string {
	sums := make([]string, len(t.values))
	for i, c := range t.values {
		sums[i] = "sum(" + c.name + ")"
	}
	named := parts{"key": joinNames(t.key), "columns": t.columns(), "table": t.table, "rows": rows,
		"sums": strings.Join(sums, ", "), "version": versionAfter("max(version)")}
	stored, having := "", ""
	if !first {
		having = "\nHAVING min(version) = 0" // keep only groups that rows has: no stored version is 0
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

// changedColumns are the columns of a row that the tables of payouts read.
var changedColumns = []string{
	"id", "sold_at", "currency_code", "retailer_name", "status", "order_value", "cashback", "payout_id",
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

// namedBy returns the table of the records of other streams that the rows of a stream name: a few thousand, of millions
// of rows. A record is in it if any version of a row named it. A run fills it without reading what is stored: if two
// rows name one record, the latest updatedAt and the earliest time of loading are kept.
func namedBy(s *catalog.Stream) derived {
	return derived{
		table: namedTable(s),
		create: sqlFile("create_named",
			parts{"table": namedTable(s), "stream": s.Name}),
		fill: func(x script, delta string, first bool) []string {
			if first {
				return []string{insertNamed(x.Stream, delta, x.names["delta"], "{run:UUID}", "")}
			}
			return []string{x.insertNamedOnce(delta)}
		},
		rebuild: func(x script, into string) []string {
			return []string{insertNamed(x.Stream, into, x.names["versions"], "any(_run_id)",
				"account = {account:String} AND ")}
		},
	}
}

// insertNamed collects the records that the rows of a table name. Parameter: account.
func insertNamed(s *catalog.Stream, into, from, run, condition string) string {
	var each []string
	for _, f := range s.References() {
		each = append(each, sql(`SELECT {account:String}, $to, toString(assumeNotNull($named)), max($updated), min(synced_at), $run
FROM $from WHERE $condition$named IS NOT NULL GROUP BY $named`, parts{
			"to": quote(f.RefersTo), "named": f.Column, "updated": s.Fields[s.VersionField()].Column,
			"run": run, "from": from,
			"condition": condition,
		}))
	}
	return sql("INSERT INTO $into (account, stream, key, newest, named_at, _run_id)\n$each",
		parts{"into": into, "each": strings.Join(each, "\nUNION ALL\n")})
}

// insertNamedOnce does the same as insertNamed for a run after the first. It reads the delta once, and is planned in
// half the time. With many rows it takes longer, since it compares keys as texts.
func (x script) insertNamedOnce(into string) string {
	s := x.Stream
	var each []string
	for _, f := range s.References() {
		each = append(each, "("+quote(f.RefersTo)+", toString("+f.Column+"))")
	}
	return x.render(`INSERT INTO $into (account, stream, key, newest, named_at, _run_id)
SELECT {account:String}, named.1, assumeNotNull(named.2), max($updated), min(synced_at), {run:UUID}
FROM $delta
ARRAY JOIN [$each] AS named
WHERE named.2 IS NOT NULL
GROUP BY named`, parts{
		"into": into, "updated": s.Fields[s.VersionField()].Column, "each": strings.Join(each, ", "),
	})
}

var createDecisions = sqlFile("create_decisions",
	parts{"table": decidedTable})

// decisions returns the table of when transactions were decided. This follows from all versions of a transaction, so a
// run computes it again for those that it changes. A materialized view could not: it does not see what is attached to a
// table. A new transaction has one version, and nothing to compute.
func decisions() derived {
	return derived{
		table: decidedTable, create: createDecisions,
		fill: func(x script, delta string, first bool) []string {
			if first {
				return nil // each has one version
			}
			return []string{x.insertDecisions(delta)}
		},
		touched: script.countStored,
		rebuild: func(x script, into string) []string {
			return []string{x.render(insertAllDecisions, decisionParts(parts{"into": into}))}
		},
	}
}

// countStored counts the changed rows that have stored versions: a new transaction has no time of a decision.
func (x script) countStored(Changes) []string { return []string{"countIf(sign = -1)"} }

// decisionParts adds the parts that the statements for decisions have in common. A transaction that vanished upstream
// gets no times of decisions.
func decisionParts(more parts) parts {
	return parts{
		"columns":   "account, id, retailer_id, currency_code, clicked_at, sold_at, confirmed_at, declined_at, version, _run_id",
		"pending":   quote(catalog.StatusPending),
		"confirmed": quote(catalog.StatusConfirmed),
		"declined":  quote(catalog.StatusDeclined),
	}.with(more)
}

// insertDecisions computes the decisions of the transactions in the delta of a run, from their stored versions and
// those in the delta. Each time is that of the earliest version with the status. The stored versions or the delta may
// lack such a version.
func (x script) insertDecisions(delta string) string {
	return x.sqlFile("insert_decisions", decisionParts(parts{"decisions": delta}))
}

// insertAllDecisions computes the decisions of all transactions of an account, from all their versions. If the newest
// version of a transaction is not the current one, it belongs to a run that is about to be published, which brings its
// own decisions. Parameter: account.
const insertAllDecisions = `INSERT INTO $into ($columns)
SELECT account, v.id, row.1, row.2, row.3, row.4, if(confirmed > pending AND NOT gone, confirmed, NULL),
    if(declined > pending AND NOT gone, declined, NULL), newest, row.5
FROM
(
    SELECT account, id, argMax((retailer_id, currency_code, clicked_at, sold_at, _run_id), _version) AS row,
        max(_version) AS newest, argMax(_deleted, _version) AS gone,
        minIf(updated_at, status = $pending) AS pending, minIf(updated_at, status = $confirmed) AS confirmed, minIf(updated_at, status = $declined) AS declined
    FROM $versions
    WHERE account = {account:String}
    GROUP BY account, id
) AS v
INNER JOIN (SELECT id, _version FROM $latest FINAL WHERE account = {account:String}) AS l ON v.id = l.id
WHERE newest = l._version AND (confirmed > pending OR declined > pending)`

// derived is a table that follows from the rows of a stream: sums of them, or a few of their columns in another order.
//
// A run changes it in the same way as the tables of the stream. Before anything is attached, the run computes what
// changes, from what readers see and from its delta, as rows that replace those of the same key. They are attached
// under the same intent, after the stream's own tables (warehouse-1, warehouse-2). Rows may be attached twice, so fill
// must give sums as they are afterwards, and not amounts to add.
//
// The table is partitioned by account, so that all rows of one account are replaced at once when they are made again.
// Its columns begin with account. The column version only orders rows, and _run_id only names a run. create has the
// sorting key in a line of its own.
//
// Whoever adds a derived table to a stream that is in use must change the name of its staging table (stagingTable), so
// that no older binary publishes rows that the derived table lacks.
type derived struct {
	table  string // behind the views; its engine replaces rows
	create string // the statement that makes it
	// fill returns the statements that fill its delta from that of the stream. The tables are filled in the
	// order of derivedTables, so that one may read the delta of a table before it. first says that the account
	// had no row at all.
	fill func(x script, delta string, first bool) []string
	// touched returns counts of the rows of a run that concern the table: expressions over what a run of the stream
	// changes (insertChanged), or queries in parentheses. If all are 0, or there are none, the table gets no delta. nil:
	// any run may change the table.
	touched func(x script, c Changes) []string
	// after is the table whose delta fill reads. It comes before this one, and has no after itself. "": fill reads only
	// the delta of the stream.
	after string
	// rebuild returns the statements that fill an empty table from all stored rows of the account, or from what was
	// rebuilt of the tables before it.
	rebuild func(x script, into string) []string
	nothing string // a condition: rows that match it mean the same as a missing row; "": there are none
	once    bool   // in a first load fill gives each key once, and possibly as many rows as the stream has
	ofChild bool   // it follows from the rows of the stream's child, and is prepared and attached with them
}
