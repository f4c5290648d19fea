package warehouse

import (
	"dealhouse/internal/catalog"
)

// A stream may be ordered by a time of its rows before their key (catalog-10), so that a query for some days reads no
// others. Two stored rows are then the same only if their times are equal, too. If the time of a row changes, the row
// moves: the run that loads it leaves a mark at its old position, in the same part as the new row, and so readers see
// one of the two.

// markedMoved is the value of _deleted at a position that its row has left. No view shows such a row. _versions has
// none at all, since nothing is replaced there.
const markedMoved = "2"

// sortingColumns returns the columns by which the rows of a stream are stored.
func sortingColumns(s *catalog.Stream) string {
	if s.OrderedBy != "" {
		return "account, " + s.OrderedBy + ", " + keyNames(s)
	}
	return "account, " + keyNames(s)
}

// latestTable returns the name of the table of the current rows of a stream, and versionsTable that of all versions of
// them. Only a stream with a history has the second one.
func latestTable(s *catalog.Stream) string   { return s.Name + "_latest" }
func versionsTable(s *catalog.Stream) string { return s.Name + "_versions" }

// stagingTable returns the name of the staging table of a stream. The name has to change whenever a stream is stored in
// a new way that older binaries cannot maintain. They then find no table to stage in, and so publish nothing, however
// long they have been running.
func stagingTable(s *catalog.Stream) string { return s.Name + "_staging" }

// createStored makes a table of rows of a stream.
//
// A key that begins with a time is nullable. Only then can a condition on that column use the order: the index analysis
// does not see through an expression that replaces NULL by a value.
func createStored(table string, s *catalog.Stream, engine, comment string) string {
	if s.OrderedBy == "" {
		return createTable(table, storedColumns(s), engine, sortingKey(s), comment)
	}
	defs := columnDefs(storedColumns(s))
	defs = append(defs, sql("INDEX by_key $key TYPE bloom_filter(0.001) GRANULARITY 1", parts{"key": keyNames(s)}))
	for _, column := range s.LookedUpBy {
		defs = append(defs, sql("INDEX by_$column $column TYPE bloom_filter(0.01) GRANULARITY 1",
			parts{"column": column}))
	}
	return createTableOf(table, defs, engine, sortingKey(s)+"\nSETTINGS allow_nullable_key = 1", comment)
}

// position returns the columns position and moved of a table of changes. position is where the stored row is, if
// there is one.
func (x script) position() string {
	if x.Stream.OrderedBy == "" {
		return ""
	}
	return ", position " + x.Stream.Fields[x.Stream.OrderField()].ColumnType() + ", moved UInt8"
}

// stored returns a condition on rows of the account in _latest: that their keys are in the table of changes, and
// condition is true there. It reads only the positions at which these rows are. NULL is never IN a list, so rows
// without a time need a condition of their own.
func (x script) stored(condition string) string {
	if x.Stream.OrderedBy == "" {
		return x.render("$key IN (SELECT $key FROM $changes WHERE $condition)", parts{"condition": condition})
	}
	return x.render(`(($ordered_by, $key) IN (SELECT position, $key FROM $changes WHERE $condition AND position IS NOT NULL)
        OR $ordered_by IS NULL AND $key IN (SELECT $key FROM $changes WHERE $condition AND position IS NULL))`,
		parts{"ordered_by": x.Stream.OrderedBy, "condition": condition})
}

// createMoves makes the table that is attached to _latest instead of the delta if rows have moved.
func (x script) createMoves() string {
	return x.dialect.createDelta(x.names["latest"], x.names["moves"], createLatest(x.Stream))
}

func (x script) copyDelta() string {
	return x.render("INSERT INTO $moves SELECT * FROM $delta", nil)
}

// insertMarks marks the positions that rows have left. A mark replaces the row that was there. The row at its new
// position has a version above that of the mark.
func (x script) insertMarks() string {
	return x.render(`INSERT INTO $moves (account, $key, $ordered_by, synced_at, _version, _deleted, _run_id)
SELECT account, $key, $ordered_by, $merged_at, _version + 1, $moved, {run:UUID}
FROM $latest FINAL
WHERE account = {account:String} AND $stored`,
		parts{"ordered_by": x.Stream.OrderedBy, "moved": markedMoved, "stored": x.stored(isMoved)})
}
