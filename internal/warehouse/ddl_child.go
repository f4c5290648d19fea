package warehouse

import (
	"dealhouse/internal/catalog"
)

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
