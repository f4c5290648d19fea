package warehouse

import (
	"fmt"
	"slices"
	"strings"

	"dealhouse/internal/catalog"
)

// Columns that every table of current rows has beside the stream's own.
var (
	accountColumn = column{"account", "LowCardinality(String)",
		"Account of the configuration: one API key, one organization"}
	extraColumn = column{"_extra", "String",
		"Fields that dealhouse does not know, verbatim as JSON; empty when there are none"}
	syncedColumn = column{"synced_at", "DateTime64(3, 'UTC')",
		"When this version was loaded: the moment it became visible [UTC]"}
)

// keyColumns are the columns of the stream's key, in the order of the sorting key, without the account.
func keyColumns(s *catalog.Stream) []column {
	if s.DerivedKey {
		return []column{{catalog.DerivedKeyColumn, "UUID", "Key derived from the fields that product_key_rule names"}}
	}
	f := s.Fields[s.KeyField()]
	return []column{{f.Column, f.ColumnType(), f.Describe()}}
}

// dataColumns are the stream's columns beside the key.
func dataColumns(s *catalog.Stream) []column {
	var cols []column
	if s.DerivedKey {
		cols = append(cols, column{catalog.KeyRuleColumn, "LowCardinality(String)",
			"Rule that gave the key: url_gtin, url_mpn, url_sku, url_asin, url, asin, gtin, brand_mpn or brand_sku"})
	}
	for _, f := range s.Fields {
		if !f.Key {
			cols = append(cols, column{f.Column, f.ColumnType(), f.Describe()})
		}
	}
	return append(cols, extraColumn)
}

// viewColumns are the columns that people see: the account and the key first, synced_at last.
func viewColumns(s *catalog.Stream) []column {
	return append(append(append([]column{accountColumn}, keyColumns(s)...), dataColumns(s)...), syncedColumn)
}

// storedColumns are the columns of <stream>_latest and <stream>_versions.
func storedColumns(s *catalog.Stream) []column {
	return append(viewColumns(s),
		column{"_hash", "FixedString(16)", hashComment(s)},
		column{"_version", "UInt128", "updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins"},
		column{"_deleted", "UInt8", deletedComment(s)},
		column{"_run_id", "UUID", "Run that loaded this version"},
	)
}

func deletedComment(s *catalog.Stream) string {
	text := "1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address"
	if s.OrderedBy != "" {
		text += "; " + markedMoved + " where a row was that has another " + s.OrderedBy + " now"
	}
	return text
}

// createLatest makes the table of current rows. It may be partitioned only by columns of its key, since
// ReplacingMergeTree does not replace across partitions. It has no is_deleted parameter, since then FINAL would hide
// from the merge what was deleted.
func createLatest(d dialect, s *catalog.Stream) string {
	return createStored(d, latestTable(s), s, "ReplacingMergeTree(_version)", "Storage behind the view "+s.Name)
}

// createVersions makes the table of all versions. Columns and sorting key are those of _latest, so that one set of
// parts can be attached to both.
func createVersions(d dialect, s *catalog.Stream) string {
	return createStored(d, versionsTable(s), s, "MergeTree", "Storage behind the view "+s.Name+"_history")
}

func sortingKey(s *catalog.Stream) string { return "(" + sortingColumns(s) + ")" }

func keyNames(s *catalog.Stream) string { return joinNames(keyColumns(s)) }

// createView makes the view of current rows.
func createView(s *catalog.Stream) string {
	return createViewAs(s.Name, viewColumns(s), s.Comment, sql(`SELECT $columns
FROM $latest FINAL
WHERE _deleted = 0`, parts{"columns": joinNames(viewColumns(s)), "latest": latestTable(s)}))
}

// createAllView makes the view of every known row: the rows of the list, and with their last content the rows that have
// left the list, or that were only ever read by their own address.
func createAllView(s *catalog.Stream) string {
	key := append([]column{accountColumn}, keyColumns(s)...)
	data := append(dataColumns(s), syncedColumn)
	listed := column{"listed",
		"Bool", "Whether the list had the row when it was last loaded; where not, the row is as it was last seen"}
	return createViewAs(s.AllView, slices.Concat(key, []column{listed}, data),
		"All "+s.Name+" that are known: listed now, listed once, or named by a transaction and read by their own address",
		sql(`SELECT $key, toBool(_deleted = 0) AS listed, $columns
FROM $latest FINAL`, parts{"key": joinNames(key), "columns": joinNames(data), "latest": latestTable(s)}))
}

// createHistory makes the view of all versions with the time during which each was the current one. Versions of equal
// content that follow each other are one: two workers may have loaded the same change.
func createHistory(s *catalog.Stream) string {
	cols := append(viewColumns(s),
		column{"valid_from", "DateTime64(3, 'UTC')", "When this version became visible [UTC]"},
		column{"valid_to", "Nullable(DateTime64(3, 'UTC'))",
			"When the next version, or the row's deletion, became visible; NULL while it is current [UTC]"})
	return createViewAs(s.Name+"_history", cols, "Every version of "+s.Name+" that was ever loaded",
		sqlFile("select_history", parts{
			"columns": joinNames(viewColumns(s)), "table": versionsTable(s),
			"versions": "PARTITION BY account, " + keyNames(s) + " ORDER BY _version",
		}))
}

// createStaging makes the table of rows of runs under way, with one partition for each run. It is sorted by key and
// replacing, so that the merge reads it in order and sees each key once. The run is part of the key, because FINAL
// replaces across partitions: two accounts may read the same deals at the same time.
func createStaging(d dialect, s *catalog.Stream) string {
	cols := stagingColumns(s)
	version := "toUInt128(_fetched)"
	if i := s.VersionField(); i >= 0 {
		version = sql("bitOr(bitShiftLeft(toUInt128(if($absent, 0, greatest($updated, 0))), 64), toUInt128(_fetched))",
			parts{"absent": absent(s.Fields, i), "updated": s.Fields[i].Column})
	}
	defs := columnDefs(cols)
	defs = append(defs,
		"_version UInt128 MATERIALIZED "+version,
		"_hash FixedString(16) DEFAULT "+stagedHash(s)+" COMMENT "+quote(hashComment(s)))
	return createStagingTable(d, stagingTable(s), defs, "_version", keyNames(s))
}

func createStagingTable(d dialect, name string, defs []string, version, key string) string {
	return d.staging(sql(`CREATE TABLE IF NOT EXISTS $table
(
    $columns
)
ENGINE = ReplacingMergeTree($version)
PARTITION BY run_id
ORDER BY (run_id, $key)
SETTINGS $settings
COMMENT 'Rows of runs under way'`, parts{
		"table": name, "columns": strings.Join(defs, ",\n    "), "version": version, "key": key,
		"settings": d.stagingSettings(),
	}))
}

// stagingColumns are the columns that the worker writes, in the order in which it writes them.
func stagingColumns(s *catalog.Stream) []column {
	cols := []column{{name: "run_id", typ: "UUID"}}
	if s.DerivedKey {
		cols = append(cols, column{name: catalog.DerivedKeyColumn, typ: "UUID"},
			column{name: catalog.KeyRuleColumn, typ: "String"})
	}
	for _, f := range s.Fields {
		cols = append(cols, column{name: f.Column, typ: f.Type.Wire()})
	}
	cols = append(cols, column{name: "_nulls", typ: "UInt64"}, column{name: "_extra", typ: "String"},
		column{name: "_page", typ: "UInt32"}, column{name: "_fetched", typ: "Int64"})
	if s.Child != nil {
		cols = append(cols, column{name: "_entries", typ: "String"})
	}
	return cols
}

// absent is the condition that field i of a staged row has no value.
func absent(fields []catalog.Field, i int) string {
	return fmt.Sprintf("bitTest(_nulls, %d)", catalog.NullBits(fields)[i])
}

// fromWire returns an expression for the value of field i of a staged row, in the type of its column. reinterpret reads
// the integer as the scaled amount or the milliseconds that it is; a CAST would read it as units or seconds.
func fromWire(fields []catalog.Field, i int) string {
	f := fields[i]
	value := f.Column
	switch {
	case f.Type.List():
		value = "arrayPopBack(splitByChar('\\0', " + f.Column + "))"
	case f.Type.Wire() != "UUID" && f.Type.Wire() != "String" && f.Type != catalog.Int:
		value = "reinterpret(" + f.Column + ", '" + strings.ReplaceAll(bareType(f), "'", "''") + "')"
	}
	if f.Nullable() {
		return "if(" + absent(fields, i) + ", NULL, " + value + ")"
	}
	return value
}

func bareType(f catalog.Field) string {
	return strings.TrimSuffix(strings.TrimPrefix(f.ColumnType(), "Nullable("), ")")
}

func createTable(name string, cols []column, engine, key, comment string) string {
	return createTableOf(name, columnDefs(cols), engine, key, comment)
}

func createTableOf(name string, defs []string, engine, key, comment string) string {
	return sql(`CREATE TABLE IF NOT EXISTS $table
(
    $columns
)
ENGINE = $engine
ORDER BY $key
COMMENT $comment`, parts{"table": name, "columns": strings.Join(defs, ",\n    "), "engine": engine, "key": key,
		"comment": quote(comment)})
}

func createViewAs(name string, cols []column, comment, query string) string {
	return sql(`CREATE OR REPLACE VIEW $view
(
    $columns
)
AS $query
COMMENT $comment`, parts{"view": name, "columns": strings.Join(columnDefs(cols), ",\n    "), "query": query,
		"comment": quote(comment)})
}

// asOfView returns the name of the view that shows the rows of a stream as of a time.
func asOfView(s *catalog.Stream) string { return s.Name + "_as_of" }

// createAsOf makes that view. The time is its parameter.
//
// A row that has not changed since that time is read from the current rows. Only for the others are earlier versions
// looked up, so asking for a time of this week costs little more than reading the current rows. The history would sort
// every version of every row first, to find out when each ended.
//
// Which rows have changed is read from _latest alone, and _versions only says what these were before. So the view shows
// the stream as _latest has it, whichever of the two tables a run is attached to first (warehouse-12). When a row
// moves, a mark is left at its old position. The mark is not a row: the row itself is at its new position. Over several
// shards the changed rows are found once for all of them, hence GLOBAL.
func createAsOf(s *catalog.Stream) string {
	marks := ""
	if s.OrderedBy != "" {
		marks = " AND _deleted != " + markedMoved
	}
	return createViewAs(asOfView(s), viewColumns(s),
		"The rows of "+s.Name+" as they were at the time `at`",
		sqlFile("select_as_of", parts{"columns": joinNames(viewColumns(s)), "latest": latestTable(s), "versions": versionsTable(s),
			"key": keyNames(s), "marks": marks, "at": "{at:DateTime64(3, 'UTC')}"}))
}

// lookupView returns the name of the view of the rows of a stream that have one value in a column (catalog.LookedUpBy).
func lookupView(s *catalog.Stream, column string) string { return s.Name + "_by_" + column }

// createLookup makes that view. The value is its parameter.
//
// A condition on such a column in the view of the stream reads every row. The column's index finds the few blocks that
// may have the value. But FINAL must then read whatever could replace these rows, and it reads everything, because the
// key may be NULL. So this view first looks up the keys, without FINAL, in any version of the rows. Then it reads the
// rows of these keys; another index says where all their versions are. identity keeps the column's index out of this
// second step. Over several shards the keys are looked up once for all of them, hence GLOBAL.
func createLookup(s *catalog.Stream, column string) string {
	i := slices.IndexFunc(s.Fields, func(f catalog.Field) bool { return f.Column == column })
	return createViewAs(lookupView(s, column), viewColumns(s),
		"As "+s.Name+", those of one "+column+", which is given as the parameter: reads few rows",
		sql(`SELECT $columns
FROM $stream
WHERE $key GLOBAL IN (SELECT $key FROM $latest WHERE $column = {$column:$type}) AND identity($column) = {$column:$type}`,
			parts{"columns": joinNames(viewColumns(s)), "stream": s.Name, "latest": latestTable(s), "key": keyNames(s),
				"column": column, "type": bareType(s.Fields[i])}))
}

// createStreamCounts makes the view of how many rows the view of each stream has. For streams that are ordered by a
// time, each run keeps the number (Intent.live), so that nobody has to read millions of rows to count them. The other
// streams have few enough rows to be counted.
func createStreamCounts() string {
	var counts []string
	for _, s := range catalog.All() {
		query := "SELECT account, $stream AS stream, count() AS rows FROM $latest FINAL WHERE _deleted = 0 GROUP BY account"
		if s.OrderedBy != "" {
			query = "SELECT account, $stream AS stream, toUInt64(value) AS rows FROM sync_state_log FINAL WHERE stream = $stream AND name = $live AND value NOT IN ('', '0')"
		}
		counts = append(counts, sql(query, parts{"stream": quote(s.Name), "latest": latestTable(s),
			"live": quote(stateLive)}))
	}
	return createViewAs("stream_counts", []column{
		{"account", "LowCardinality(String)", "Account of the configuration (from the streams)"},
		{"stream", "LowCardinality(String)", "Stream: the name of the view that is counted (from the streams)"},
		{"rows", "UInt64", "Rows that the view has; an account without any is not here [count] (from the streams)"},
	}, "How many rows each stream has, by account: the count of transactions without reading them",
		strings.Join(counts, "\nUNION ALL\n"))
}

// The key of a child table (a product's price history) is the parent's key and its own. The table keeps entries after
// they have left the feed. Its few columns are compared directly, but only for records whose entries have another hash
// than those that were last loaded.

func childKeyField(c *catalog.Child) int {
	for i, f := range c.Fields {
		if f.Key {
			return i
		}
	}
	return -1
}

// childValues returns the indices of the child's fields that are not its key.
func childValues(c *catalog.Child) []int {
	var values []int
	for i, f := range c.AllFields() {
		if !f.Key {
			values = append(values, i)
		}
	}
	return values
}

func childViewColumns(s *catalog.Stream) []column {
	key := s.Child.Fields[childKeyField(s.Child)]
	cols := append([]column{accountColumn}, keyColumns(s)...)
	cols = append(cols, column{key.Column, key.ColumnType(), key.Describe()})
	for _, i := range childValues(s.Child) {
		f := s.Child.AllFields()[i]
		cols = append(cols, column{f.Column, f.ColumnType(), f.Describe()})
	}
	return append(cols, syncedColumn)
}

func childKeyNames(s *catalog.Stream) string {
	return keyNames(s) + ", " + s.Child.Fields[childKeyField(s.Child)].Column
}

func childStoredColumns(s *catalog.Stream) []column {
	return append(childViewColumns(s),
		column{"_version", "UInt64", "Time of reading in microseconds since 1970: the highest wins"},
		column{"_run_id", "UUID", "Run that loaded this version"})
}

func createChildLatest(s *catalog.Stream) string {
	return createTable(childLatest(s), childStoredColumns(s), "ReplacingMergeTree(_version)",
		"(account, "+childKeyNames(s)+")",
		"Storage behind the view "+s.Child.Table)
}

func createChildView(s *catalog.Stream) string {
	return createViewAs(s.Child.Table, childViewColumns(s), s.Child.Comment, sql(`SELECT $columns
FROM $latest FINAL`, parts{"columns": joinNames(childViewColumns(s)), "latest": childLatest(s)}))
}

// childLatest returns the name of the table of the entries of a child.
func childLatest(s *catalog.Stream) string { return s.Child.Table + "_latest" }

// childHashes returns the name of the table that says for each record which entries were last loaded.
func childHashes(s *catalog.Stream) string { return s.Child.Table + "_hashes" }

func childHashesColumns(s *catalog.Stream) []column {
	return append(append([]column{accountColumn}, keyColumns(s)...),
		column{"hash",
			"FixedString(16)", "Hash of the entries that were last loaded: of a record with equal ones, none is looked at"},
		column{"_version", "UInt64", "Time of reading in microseconds since 1970: the highest wins"},
		column{"_run_id", "UUID", "Run that loaded them"})
}

func createChildHashes(s *catalog.Stream) string {
	return createTable(childHashes(s), childHashesColumns(s), "ReplacingMergeTree(_version)", sortingKey(s),
		"Which entries of "+s.Child.Table+" were last loaded")
}

// latestTable returns the name of the table of the current rows of a stream, and versionsTable that of all versions of
// them. Only a stream with a history has the second one.
func latestTable(s *catalog.Stream) string { return s.Name + "_latest" }

func versionsTable(s *catalog.Stream) string { return s.Name + "_versions" }

// stagingTable returns the name of the staging table of a stream. The name has to change whenever a stream is stored in
// a new way that older binaries cannot maintain. They then find no table to stage in, and so publish nothing, however
// long they have been running.
func stagingTable(s *catalog.Stream) string { return s.Name + "_staging" }

// sortingColumns returns the columns by which the rows of a stream are stored.
func sortingColumns(s *catalog.Stream) string {
	if s.OrderedBy != "" {
		return "account, " + s.OrderedBy + ", " + keyNames(s)
	}
	return "account, " + keyNames(s)
}

// markedMoved is the value of _deleted at a position that its row has left. No view shows such a row. _versions has
// none at all, since nothing is replaced there.
const markedMoved = "2"

// createStored makes a table of rows of a stream.
//
// A key that begins with a time is nullable. Only then can a condition on that column use the order: the index analysis
// does not see through an expression that replaces NULL by a value.
func createStored(d dialect, table string, s *catalog.Stream, engine, comment string) string {
	if s.OrderedBy == "" {
		return createTable(table, storedColumns(s), engine, sortingKey(s), comment)
	}
	defs := columnDefs(storedColumns(s))
	defs = append(defs, sql("INDEX by_key $key TYPE bloom_filter(0.001) GRANULARITY 1", parts{"key": keyNames(s)}))
	for _, column := range s.LookedUpBy {
		defs = append(defs, sql("INDEX by_$column $column TYPE bloom_filter(0.01) GRANULARITY 1",
			parts{"column": column}))
	}
	settings := "\nSETTINGS allow_nullable_key = 1"
	if d.byMonth(s) {
		engine += "\nPARTITION BY " + month(s.OrderedBy)
		settings += fewFiles
	}
	return createTableOf(table, defs, engine, sortingKey(s)+settings, comment)
}

// keysTable returns the name of the table of the keys of a stream, or "" if _latest itself is ordered by key.
func keysTable(s *catalog.Stream) string {
	if s.OrderedBy == "" {
		return ""
	}
	return s.Name + "_keys"
}

// namedTable is the table of the records that the rows of a stream name.
func namedTable(s *catalog.Stream) string { return s.Name + "_named" }

const (
	membersTable = "payout_transactions_latest"
	movesTable   = "payout_moves_latest"
)

// decidedTable has the times at which sales were decided.
var decidedTable = catalog.Transactions().Name + "_decided"

// insertInto is the statement of a block of rows.
func insertInto(table string, cols []column) string {
	return sql("INSERT INTO $table ($columns)", parts{"table": table, "columns": joinNames(cols)})
}
