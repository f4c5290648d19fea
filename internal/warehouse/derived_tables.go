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

// Sales are summed up by day and by whatever else dashboards ask for, so that a look at years of sales reads thousands
// of rows and not millions. A second table has what is known of each retailer from its sales; not all of that is a sum.

// salesTable has sums of sales by everything that panels group by. Views: daily_sales, daily_cashback. Its key has no
// NULL, so that groups are found by IN: the columns dated and identified say whether there is a day and a retailer.
func salesTable() keyed {
	t := newKeyed("sales_latest", "Storage behind the views daily_sales and daily_cashback", "index_granularity = 1024",
		"sales = 0", []column{
			{"dated", "UInt8", "1 when the day of the sale is known"},
			{"day", "Date32", "Day of the sale [UTC]"},
			{"currency_code", "LowCardinality(String)", "Currency of the amounts"},
			{"retailer_name", "LowCardinality(String)", "Retailer name"},
			{"identified", "UInt8", "1 when the retailer has an identifier"},
			{"retailer_id", "UUID", "Retailer"},
			{"country", "LowCardinality(String)", "Country code"},
			{"status", "LowCardinality(String)", "Status as of now"},
		}, []column{
			{"sales", "Int64", "Transactions; 0: the row stands for none"},
			{"order_value", "Decimal(38, 4)", "Sum of the values of the orders"},
			{"cashback", "Decimal(38, 4)", "Sum of the cashback"},
			{"paid_transactions", "Int64", "Those of them that a payout includes, if they are not declined"},
			{"paid_cashback", "Decimal(38, 4)", "Cashback of those that a payout includes, if they are not declined"},
		})
	t.longest = true
	t.fill = func(x script, delta string, first bool) []string {
		return []string{t.changedSums(delta, saleSums(x.changedRows(first)+" AS t", "sign"), "", first)}
	}
	t.rebuild = func(x script, into string) []string {
		return []string{t.wholeSums(into, saleSums(x.render("$latest AS t FINAL", nil), "1")+
			" AND account = {account:String}")}
	}
	return t
}

// saleSums selects single sales in the form in which salesTable counts them.
func saleSums(from, sign string) string {
	return sql(`SELECT sold_at IS NOT NULL AS dated, toDate32(ifNull(t.sold_at, fromUnixTimestamp64Milli(0, 'UTC'))) AS day, currency_code, retailer_name,
        t.retailer_id IS NOT NULL AS identified, ifNull(t.retailer_id, toUUID('00000000-0000-0000-0000-000000000000')) AS retailer_id, country, status,
        toInt64($sign) AS sales, $sign * toDecimal128(ifNull(t.order_value, 0), 4) AS order_value, $sign * toDecimal128(ifNull(t.cashback, 0), 4) AS cashback,
        toInt64($sign * (payout_id IS NOT NULL AND status != $declined)) AS paid_transactions, if(payout_id IS NULL OR status = $declined, 0, $sign) * toDecimal128(ifNull(t.cashback, 0), 4) AS paid_cashback
    FROM $from
    WHERE _deleted = 0`, parts{"sign": sign, "from": from, "declined": quote(catalog.StatusDeclined)})
}

// saleRetailersTable has what is known of each retailer from its sales. View: retailers.
//
// A maximum follows from the stored one and the new rows, unless the row that held it is among those that change and no
// new row reaches it. Only then are the retailer's sales read again. Within a run, _lost marks these retailers.
func saleRetailersTable() keyed {
	t := newKeyed("sale_retailers_latest", "Storage behind the view retailers: what sales say of them",
		"allow_nullable_key = 1", "sales = 0", []column{
			{"retailer_name", "LowCardinality(String)", "Retailer name"},
			{"retailer_id", "Nullable(UUID)", "Retailer"},
		}, []column{
			{"sales", "Int64", "Transactions; 0: the row stands for none"},
			{"last_sold_at", "Nullable(DateTime64(3, 'UTC'))", "Time of the last sale [UTC]"},
			{"last_version", "UInt128", "The highest version of a sale"},
			{"logo", "String", "Logo URL of the newest sale that has one"},
			{"logo_version", "UInt128", "Version of that sale"},
			{"newest", "DateTime64(3, 'UTC')", "When a sale was last loaded new or changed [UTC]"},
			{"_lost", "UInt8", "Used within a run only: a maximum has to be read anew"},
		})
	t.fill = func(x script, delta string, first bool) []string {
		if first {
			return []string{t.insertAll(delta, retailerSums(x.names["delta"]+" WHERE _deleted = 0"))}
		}
		return []string{t.changedRetailers(x, delta)}
	}
	t.lacking = t.lostRetailers
	t.rebuild = func(x script, into string) []string {
		return []string{t.insertAll(into,
			retailerSums(x.render("$latest FINAL WHERE account = {account:String} AND _deleted = 0", nil)))}
	}
	return t
}

// retailerSums selects the rows of saleRetailersTable that follow from sales.
func retailerSums(from string) string {
	return sql(`SELECT retailer_name, retailer_id, toInt64(count()) AS sales, $latest AS last_sold_at, max(_version) AS last_version,
        argMaxIf(retailer_logo, _version, retailer_logo != '') AS logo, maxIf(_version, retailer_logo != '') AS logo_version,
        max(synced_at) AS newest, 0 AS _lost
    FROM $from
    GROUP BY retailer_name, retailer_id`,
		parts{"from": from, "latest": fromMillis("max(toUnixTimestamp64Milli(sold_at))")})
}

// fromMillis returns an expression for the time of a number of milliseconds. Aggregate functions compare times as such
// numbers: max, once the engine has compiled it, takes a time before 1970 for the latest of all.
func fromMillis(ms string) string { return "fromUnixTimestamp64Milli(" + ms + ", 'UTC')" }

// changedRetailers merges what is stored of the retailers with the rows of the run, old and new.
func (t keyed) changedRetailers(x script, delta string) string {
	// held says that the old rows held a maximum, and the new ones do not reach it.
	held := func(c string) string {
		return sql(`ifNull(maxOrNullIf($c, side = -1) >= maxOrNullIf($c, side = 0), 0)
        AND ifNull(maxOrNullIf($c, side = 1) < maxOrNullIf($c, side = -1), 1)`, parts{"c": c})
	}
	return t.inserted(delta) + x.sqlFile("changed_retailers", parts{
		"table": t.table, "next": versionAfter("max(stored)"),
		"last_sold": fromMillis("maxIf(sold, side >= 0)"),
		"sold":      held("sold"), "version": held("r.version"), "logo": held("r.logo_version"),
		"newest": held("r.newest"),
	})
}

// lostRetailers reads again the sales of the retailers of which a maximum is lost.
func (t keyed) lostRetailers(x script, delta string) (when, statement string) {
	when = sql("SELECT count() FROM $delta WHERE _lost", parts{"delta": delta})
	lost := sql(`retailer_name IN (SELECT retailer_name FROM $delta WHERE _lost)`, parts{"delta": delta})
	return when, t.inserted(delta) + x.render(`SELECT {account:String}, $columns, (SELECT max(version) FROM $retailers) + 1, {run:UUID}
FROM
(
    $rows
)
WHERE (retailer_name, retailer_id IS NULL, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')))
    IN (SELECT retailer_name, retailer_id IS NULL, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')) FROM $retailers WHERE _lost)`, parts{
		"columns": t.columns(), "retailers": delta, "rows": retailerSums(x.render(`
    (
        SELECT retailer_name, retailer_id, sold_at, retailer_logo, synced_at, _version FROM $latest FINAL
        WHERE account = {account:String} AND _deleted = 0 AND $lost AND $key NOT IN (SELECT $key FROM $delta)
        UNION ALL
        SELECT retailer_name, retailer_id, sold_at, retailer_logo, synced_at, _version FROM $delta
        WHERE _deleted = 0 AND $lost
    )`, parts{"lost": lost})),
	})
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
	// changes (changedRows), or queries in parentheses. If all are 0, or there are none, the table gets no delta. nil:
	// any run may change the table.
	touched func(x script, c Changes) []string
	// after is the table whose delta fill reads. It comes before this one, and has no after itself. "": fill reads only
	// the delta of the stream.
	after string
	// lacking returns a statement for the rows that fill cannot compute, and a query that counts them. nil: fill
	// computes all.
	lacking func(x script, delta string) (when, statement string)
	// rebuild returns the statements that fill an empty table from all stored rows of the account, or from what was
	// rebuilt of the tables before it.
	rebuild func(x script, into string) []string
	nothing string // a condition: rows that match it mean the same as a missing row; "": there are none
	once    bool   // in a first load fill gives each key once, and possibly as many rows as the stream has
	longest bool   // in a large first load it takes longest to fill; at most one table of a stream
	ofChild bool   // it follows from the rows of the stream's child, and is prepared and attached with them
}
