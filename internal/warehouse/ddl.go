package warehouse

import (
	"fmt"
	"slices"
	"strings"

	"dealhouse/internal/catalog"
)

// column is a column of a table or a view.
type column struct{ name, typ, comment string }

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

// createLatest makes the table of current rows. It has no partition key, since ReplacingMergeTree does not replace
// across partitions, and no is_deleted parameter, since then FINAL would hide from the merge what was deleted.
func createLatest(s *catalog.Stream) string {
	return createStored(latestTable(s), s, "ReplacingMergeTree(_version)", "Storage behind the view "+s.Name)
}

// createVersions makes the table of all versions. Columns and sorting key are those of _latest, so that one set of
// parts can be attached to both.
func createVersions(s *catalog.Stream) string {
	return createStored(versionsTable(s), s, "MergeTree", "Storage behind the view "+s.Name+"_history")
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
		"_hash FixedString(16) MATERIALIZED "+stagedHash(s)+" COMMENT "+quote(hashComment(s)))
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

func columnDefs(cols []column) []string {
	defs := make([]string, len(cols))
	for i, c := range cols {
		defs[i] = c.name + " " + c.typ
		if c.comment != "" {
			defs[i] += " COMMENT " + quote(c.comment)
		}
	}
	return defs
}

func joinNames(cols []column) string {
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = c.name
	}
	return strings.Join(names, ", ")
}

// quote writes a SQL string literal.
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
