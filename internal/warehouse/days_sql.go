package warehouse

import (
	"fmt"

	"dealhouse/internal/catalog"
)

// selectChangesByDay adds up what the runs that read the list of a stream did to its rows, for each of the last days
// with a run, the oldest first. Parameters: account, stream and days.
var selectChangesByDay = sql(`SELECT toDate32(started_at) AS day, sum(inserted), sum(updated), sum(deleted), count(),
    countIf($faulty)
FROM (SELECT started_at, outcome, if($published, inserted, 0) AS inserted, if($published, updated, 0) AS updated,
          if($published, deleted, 0) AS deleted
      FROM sync_runs WHERE account = {account:String} AND stream = {stream:String} AND $whole)
WHERE started_at > now64(3, 'UTC') - toIntervalDay({days:UInt32})
GROUP BY day ORDER BY day`, parts{"faulty": faulty, "published": publishedSomething, "whole": wholeLooks})

// selectRowsByDay counts the live rows of each of the newest days that have any, the newest first. Days in the future
// are left out. Parameters: account and days.
func selectRowsByDay(by *catalog.ByDay) string {
	return sql(`SELECT assumeNotNull($day) AS on_day, count() AS live
FROM $view WHERE account = {account:String} AND isNotNull($day) AND $day <= toDate32(now64(3, 'UTC'))
GROUP BY on_day ORDER BY on_day DESC LIMIT {days:UInt32}`, parts{"view": by.View, "day": "toDate32(" + by.Column + ")"})
}

// maxRaw is how many characters of a rejected value are shown.
const maxRaw = 4000

// selectRejectGroups selects the values of a stream that could not be loaded and still are not loaded, the last seen
// first. Parameters: account, stream and limit.
var selectRejectGroups = sql(`SELECT key, field, reason, substringUTF8(raw, 1, $most), toUInt64(length(raw)), page,
    toString(run_id), first_seen_at, seen_at, times
FROM rejected_records WHERE account = {account:String} AND stream = {stream:String} AND $unsettled
ORDER BY seen_at DESC, key, field, raw LIMIT {limit:UInt32}`,
	parts{"most": fmt.Sprint(maxRaw), "unsettled": unsettledRejects})
