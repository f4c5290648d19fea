package warehouse

import (
	"slices"

	"dealhouse/internal/catalog"
)

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
