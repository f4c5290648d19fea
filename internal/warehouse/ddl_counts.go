package warehouse

import (
	"strings"

	"dealhouse/internal/catalog"
)

// createStreamCounts makes the view of how many rows the view of each stream has. For streams that are ordered by a
// time, each run keeps the number (liveOf), so that nobody has to read millions of rows to count them. The other
// streams have few enough rows to be counted.
func createStreamCounts() string {
	var counts []string
	for _, s := range catalog.All() {
		query := "SELECT account, $stream AS stream, count() AS rows FROM $latest FINAL WHERE _deleted = 0 GROUP BY account"
		if s.OrderedBy != "" {
			query = "SELECT account, $stream AS stream, toUInt64(live) AS rows FROM $live FINAL WHERE live > 0"
		}
		counts = append(counts, sql(query, parts{"stream": quote(s.Name), "latest": latestTable(s),
			"live": liveTable(s)}))
	}
	return createViewAs("stream_counts", []column{
		{"account", "LowCardinality(String)", "Account of the configuration (from the streams)"},
		{"stream", "LowCardinality(String)", "Stream: the name of the view that is counted (from the streams)"},
		{"rows", "UInt64", "Rows that the view has; an account without any is not here [count] (from the streams)"},
	}, "How many rows each stream has, by account: the count of transactions without reading them",
		strings.Join(counts, "\nUNION ALL\n"))
}
