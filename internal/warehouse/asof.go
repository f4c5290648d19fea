package warehouse

import "dealhouse/internal/catalog"

// asOfView is the name of the view of the rows of a stream as they were shown at a time.
func asOfView(s *catalog.Stream) string { return s.Name + "_as_of" }

// createAsOf makes that view: the time is its parameter.
//
// A row that nothing has changed since then is read where all current rows are. Only for the others are earlier
// versions looked for, so a time of this week costs little more than the current rows. The history would sort every
// version of every row first, to find out when each ended.
//
// Which rows have changed is read from _latest alone, and _versions only says what these were before. So the view shows
// the stream as _latest has it, whichever of the two tables a run is attached to first (warehouse-12). A mark where a
// row was before it moved is no row: the row itself stands elsewhere. Over several shards the changed rows are found
// once for all of them, hence GLOBAL.
func createAsOf(s *catalog.Stream) string {
	marks := ""
	if s.OrderedBy != "" {
		marks = " AND _deleted != " + markedMoved
	}
	return createViewAs(asOfView(s), viewColumns(s),
		"The rows of "+s.Name+" at the time that the parameter at gives",
		sql(`SELECT $columns
FROM ${stream}_latest FINAL
WHERE _deleted = 0 AND synced_at <= $at
UNION ALL
SELECT $columns
FROM
(
    SELECT $columns, _deleted
    FROM ${stream}_versions
    WHERE synced_at <= $at AND (account, $key) GLOBAL IN
    (
        SELECT account, $key FROM ${stream}_latest FINAL WHERE synced_at > $at$marks
    )
    ORDER BY _version DESC, _deleted DESC
    LIMIT 1 BY account, $key
)
WHERE _deleted = 0`, parts{"columns": joinNames(viewColumns(s)), "stream": s.Name, "key": keyNames(s), "marks": marks,
			"at": "{at:DateTime64(3, 'UTC')}"}))
}
