package warehouse

import "dealhouse/internal/catalog"

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
