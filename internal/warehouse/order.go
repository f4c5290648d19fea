package warehouse

import (
	"dealhouse/internal/catalog"
)

// A stream may be ordered by a time of its rows before their key (catalog-10), so that what asks for some days reads no
// others. The time is part of what tells two stored rows apart. Where it changes, the row moves: the run that loads it
// leaves a mark at its old position, in the same part as the new row, and so readers see one of the two.

// markedMoved is what _deleted says of a position that its row has left. No view has such a row. _versions has none at
// all, since there nothing is replaced.
const markedMoved = "2"

// sortingColumns are the columns by which the rows of a stream are stored.
func sortingColumns(s *catalog.Stream) string {
	if s.OrderedBy != "" {
		return "account, " + s.OrderedBy + ", " + keyNames(s)
	}
	return "account, " + keyNames(s)
}

// stagingTable is the name of the staging table of a stream.
//
// It changes with each way of storing a stream that older binaries cannot keep up: they stage nothing any more, and so
// publish nothing, however long they have been running. To give a stream its order was the first such change. To add a
// derived table is another: products have had one since the changes of their prices are kept.
func stagingTable(s *catalog.Stream) string {
	if s.OrderedBy != "" || s.Child != nil {
		return s.Name + "_2_staging"
	}
	return s.Name + "_staging"
}

// firstStagingTable is the name that it had at first.
func firstStagingTable(s *catalog.Stream) string { return s.Name + "_staging" }

// createStored makes a table of rows of a stream.
//
// The key that begins with a time may be NULL. Only so does a condition on that column reach the order, for index
// analysis sees through no expression that gives NULL a value.
func createStored(table string, s *catalog.Stream, engine, comment string) string {
	if s.OrderedBy == "" {
		return createTable(table, storedColumns(s), engine, sortingKey(s), comment)
	}
	defs := columnDefs(storedColumns(s))
	defs = append(defs, sql("INDEX by_key $key TYPE bloom_filter(0.001) GRANULARITY 1", parts{"key": keyNames(s)}))
	for _, column := range s.LookedUpBy {
		defs = append(defs, sql("INDEX by_$column $column TYPE bloom_filter(0.01) GRANULARITY 1", parts{"column": column}))
	}
	return createTableOf(table, defs, engine, sortingKey(s)+"\nSETTINGS allow_nullable_key = 1", comment)
}

// position is the column position of a table of changes: where the stored row is, if there is one.
func (x script) position() string {
	if x.Stream.OrderedBy == "" {
		return ""
	}
	return ", position " + x.Stream.Fields[x.Stream.OrderField()].ColumnType() + ", moved UInt8"
}

// stored is a condition on rows of the account in _latest: those of the keys in the table of changes for which the
// other condition holds. It reads the positions at which they are, and no others. NULL is never IN a list.
func (x script) stored(condition string) string {
	if x.Stream.OrderedBy == "" {
		return x.render("$key IN (SELECT $key FROM $changes WHERE $condition)", parts{"condition": condition})
	}
	return x.render(`(($ordered_by, $key) IN (SELECT position, $key FROM $changes WHERE $condition AND position IS NOT NULL)
        OR $ordered_by IS NULL AND $key IN (SELECT $key FROM $changes WHERE $condition AND position IS NULL))`,
		parts{"ordered_by": x.Stream.OrderedBy, "condition": condition})
}

// createMoves makes the table that is attached to _latest instead of the delta where rows have moved.
func (x script) createMoves() string {
	return x.dialect.createDelta(x.names["latest"], x.names["moves"], createLatest(x.Stream))
}

func (x script) copyDelta() string {
	return x.render("INSERT INTO $moves SELECT * FROM $delta", nil)
}

// insertMarks marks the positions that rows have left. A mark replaces the row that was there, and the version of the
// row is above that of the mark.
func (x script) insertMarks() string {
	return x.render(`INSERT INTO $moves (account, $key, $ordered_by, synced_at, _version, _deleted, _run_id)
SELECT account, $key, $ordered_by, $merged_at, _version + 1, $moved, {run:UUID}
FROM $latest FINAL
WHERE account = {account:String} AND $stored`,
		parts{"ordered_by": x.Stream.OrderedBy, "moved": markedMoved, "stored": x.stored(isMoved)})
}
