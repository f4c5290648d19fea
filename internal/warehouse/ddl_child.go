package warehouse

import (
	"strings"

	"dealhouse/internal/catalog"
)

// A child table (a product's price history) has the parent's key and its own as its key, keeps entries after they have
// left the feed, and compares its few columns directly instead of by a hash.

func childKeyField(c *catalog.Child) int {
	for i, f := range c.Fields {
		if f.Key {
			return i
		}
	}
	return -1
}

// childValues are the indices of the child's fields that are no key.
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
	return createTable(s.Child.Table+"_latest", childStoredColumns(s), "ReplacingMergeTree(_version)", "(account, "+childKeyNames(s)+")",
		"Storage behind the view "+s.Child.Table)
}

func createChildView(s *catalog.Stream) string {
	return createViewAs(s.Child.Table, childViewColumns(s), s.Child.Comment,
		"SELECT "+joinNames(childViewColumns(s))+"\nFROM "+s.Child.Table+"_latest FINAL")
}

func createChildStaging(s *catalog.Stream) string {
	return stagingTable(s.Child.Table+"_staging", columnDefs(childStagingColumns(s)), "_fetched", childKeyNames(s))
}

func childStagingColumns(s *catalog.Stream) []column {
	cols := []column{{name: "run_id", typ: "UUID"}, {name: keyColumns(s)[0].name, typ: "UUID"}}
	for _, f := range s.Child.AllFields() {
		cols = append(cols, column{name: f.Column, typ: f.Type.Wire()})
	}
	return append(cols, column{name: "_nulls", typ: "UInt64"}, column{name: "_fetched", typ: "UInt64"})
}

// insertChildDelta fills the delta of the child with the staged entries that are new or differ from the current ones.
func insertChildDelta(s *catalog.Stream, r Run) string {
	fields := s.Child.AllFields()
	key := childKeyNames(s)
	var staged, stored, picked, differ []string
	for _, i := range childValues(s.Child) {
		f := fields[i]
		staged = append(staged, fromWire(fields, i)+" AS "+f.Column+"_read")
		stored = append(stored, f.Column)
		picked = append(picked, f.Column+"_read")
		differ = append(differ, "NOT (s."+f.Column+"_read <=> l."+f.Column+")")
	}
	dayAt := childKeyField(s.Child)
	day := fields[dayAt].Column
	return "INSERT INTO " + r.childDelta() + " (account, " + key + ", " + strings.Join(stored, ", ") + ", synced_at, _version, _run_id)\n" +
		"SELECT {account:String}, s." + keyNames(s) + ", " + day + "_read, " + strings.Join(picked, ", ") +
		", fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), greatest(s._fetched, l._version + 1), {run:UUID}\n" +
		"FROM (SELECT " + keyNames(s) + ", " + fromWire(fields, dayAt) + " AS " + day + "_read, " + strings.Join(staged, ", ") + ", _fetched\n" +
		"      FROM " + s.Child.Table + "_staging FINAL WHERE run_id = {run:UUID}) AS s\n" +
		"LEFT JOIN (SELECT " + key + ", " + strings.Join(stored, ", ") + ", _version\n" +
		"      FROM " + s.Child.Table + "_latest FINAL WHERE account = {account:String}) AS l\n" +
		"ON s." + keyNames(s) + " = l." + keyNames(s) + " AND s." + day + "_read = l." + day + "\n" +
		// A time of reading that lies ahead came from a clock that was wrong.
		"WHERE l._version = 0 OR (s._fetched > l._version OR l._version > {latest:UInt64}) AND (" + strings.Join(differ, " OR ") + ")"
}
