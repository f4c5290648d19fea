package warehouse

import (
	"fmt"
	"strings"

	"dealhouse/internal/catalog"
)

// selectUnknownReferences reads the keys that were ever named, even if only an earlier version of a row named them.
// Parameters: account, retry in milliseconds and limit. The text is empty if from names none of the streams.
func selectUnknownReferences(from *catalog.Stream, to []*catalog.Stream) string {
	var names, known []string
	for _, s := range to {
		if s.ByID && from.Reference(s) != nil {
			names = append(names, s.Name)
			known = append(known, sql("SELECT $stream, $key FROM $latest WHERE account = {account:String}",
				parts{"stream": quote(s.Name), "key": s.KeyColumn(), "latest": latestTable(s)}))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return sqlFile("select_unknown_references", parts{
		"named": namedTable(from), "streams": words(names), "known": strings.Join(known, "\n        UNION ALL "),
		"tolerance": fmt.Sprint(clockTolerance.Milliseconds()), "success": quote(OutcomeSuccess), "whole": wholeLooks,
	})
}

// deleteLaterMisses drops what is dated after a time in milliseconds: a clock that was wrong wrote it.
func deleteLaterMisses(latest int64) string {
	return sql(`ALTER TABLE reference_misses_log DELETE
WHERE account = {account:String} AND stream = {stream:String} AND asked_at > fromUnixTimestamp64Milli($latest)`,
		parts{"latest": fmt.Sprint(latest)})
}
