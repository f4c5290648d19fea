package warehouse

import (
	"fmt"
	"strings"

	"dealhouse/internal/catalog"
)

// selectUnknownReferences reads the storage without FINAL: that an earlier version of a row named the key is reason
// enough. Parameters: account, retry in milliseconds and limit. It is empty where from names none of the streams.
func selectUnknownReferences(from *catalog.Stream, to []*catalog.Stream) string {
	var named []string
	for _, f := range from.Fields {
		for _, s := range to {
			if f.RefersTo == s.Name && s.ByID {
				named = append(named, selectUnknownKeys(from, f, s))
			}
		}
	}
	if len(named) == 0 {
		return ""
	}
	return sql(`SELECT stream, key FROM
(
$named
)
ORDER BY (stream, key) IN (SELECT stream, id FROM reference_misses_log WHERE account = {account:String}), newest DESC, key
LIMIT {limit:UInt64}`, parts{"named": strings.Join(named, "\nUNION ALL\n")})
}

func selectUnknownKeys(from *catalog.Stream, f catalog.Field, to *catalog.Stream) string {
	return sql(`SELECT $stream AS stream, assumeNotNull($named) AS key, max($updated) AS newest
FROM ${from}_latest WHERE account = {account:String} AND $named IS NOT NULL
    AND $named NOT IN (SELECT $key FROM ${to}_latest WHERE account = {account:String})
    AND $named NOT IN (SELECT id FROM reference_misses_log WHERE account = {account:String} AND stream = $stream AND asked_at > now64(3) - toIntervalMillisecond({retry:Int64})
        AND asked_at <= now64(3) + toIntervalMillisecond($tolerance))
    AND account IN (SELECT account FROM sync_runs_log WHERE account = {account:String} AND stream = $stream AND outcome = $success AND $whole)
GROUP BY key`, parts{
		"stream": quote(to.Name), "named": f.Column, "updated": from.Fields[from.VersionField()].Column, "from": from.Name, "key": to.KeyColumn(), "to": to.Name,
		"tolerance": fmt.Sprint(clockTolerance.Milliseconds()), "success": quote(OutcomeSuccess), "whole": wholeLooks,
	})
}

// deleteLaterMisses drops what is dated after a time in milliseconds: a clock that was wrong wrote it.
func deleteLaterMisses(latest int64) string {
	return sql("ALTER TABLE reference_misses_log DELETE WHERE account = {account:String} AND stream = {stream:String} AND asked_at > fromUnixTimestamp64Milli($latest)",
		parts{"latest": fmt.Sprint(latest)})
}
