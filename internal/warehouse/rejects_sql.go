package warehouse

import (
	"strings"

	"dealhouse/internal/catalog"
)

// reading is the type of the columns last and published of rejects_log, and decision that of the column settled.
const (
	reading  = "Tuple(version UInt64, run_id UUID, page UInt32, read_at DateTime64(6, 'UTC'), updated Int64)"
	decision = "Tuple(version UInt64, run_id UUID, state String, settled_by UUID, settled_at DateTime64(3, 'UTC'))"
)

// selectRejectVersion returns a version above all versions that the rejects of the stream have, and the time.
const selectRejectVersion = `SELECT greatest(toUInt64(toUnixTimestamp64Micro(now64(6))), max(greatest(last.version, settled.version)) + 1), now64(3, 'UTC')
FROM rejects_log WHERE account = {account:String} AND stream = {stream:String}`

// insertCounted counts the readings of earlier runs. If only a part of a tuple is read, FINAL does not merge it, so the
// rows are grouped.
var insertCounted = sqlFile("insert_counted",
	parts{"mine": "account = {account:String} AND stream = {stream:String}", "published": publishedSomething,
		"retry": quote(ModeRetry)})

// rejectCondition is the condition for the rejects that a RejectFilter selects.
const rejectCondition = `({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String})
    AND ({run:UUID} = '00000000-0000-0000-0000-000000000000' OR run_id = {run:UUID} OR last_run_id = {run:UUID})
    AND ({reason:String} = '' OR reason = {reason:String}) AND ({field:String} = '' OR field = {field:String})
    AND (toUnixTimestamp64Micro(read_at) >= {since:Int64} OR toUnixTimestamp64Milli(seen_at) * 1000 >= {since:Int64})`

// selectRejected selects rejected records, the newest first. Its parameters are those of rejectCondition.
func selectRejected(unsettled bool, limit string) string {
	condition := rejectCondition
	if unsettled {
		condition += " AND " + unsettledRejects
	}
	return sql(`SELECT account, stream, run_id, page, key, field, reason, raw, first_seen_at, seen_at, times, last_run_id, read_at, state, settled_at
FROM rejected_records
WHERE $condition
ORDER BY read_at DESC, account, stream, run_id, page, key, field, reason, raw LIMIT $limit`,
		parts{"condition": condition, "limit": limit})
}

// selectAnyReject says whether anything was ever rejected: it counts 1 row or none.
const selectAnyReject = "SELECT count() FROM (SELECT 1 FROM rejects_log LIMIT 1)"

// countOpenRejects counts the open rejects of each stream. Its parameters are those of rejectCondition.
var countOpenRejects = `SELECT account, stream, count() FROM rejected_records
WHERE state = ` + quote(string(RejectOpen)) + ` AND ` + rejectCondition + `
GROUP BY account, stream ORDER BY account, stream`

// selectCandidates joins the open rejects with the rows that their fields belong to. It says of such a row whether it
// is still what the reject's run made of the record. That is so in three cases:
//
//   - The row carries the run and the time of reading of the reject.
//   - The run read the same content again, so the row stayed as it was: it is older than the reading, and the record
//     had the same updatedAt. With another one, it would have been replaced, or would be the newer one.
//   - The run read the whole stream, and the row was read before that run began. Such a run replaces rows whatever
//     their updatedAt is.
//
// all says that nothing is filtered out. Records that were read by their own addresses are left out: no list has them,
// so they must not be loaded as if one did. They are asked for again instead.
func (x script) selectCandidates(all bool) string {
	open := x.render(`FROM rejected_records
    WHERE state = $open AND account = {account:String} AND stream = {stream:String}
        AND run_id NOT IN (SELECT run_id FROM sync_runs_log WHERE account = {account:String} AND stream = {stream:String} AND mode = $references)`,
		parts{"open": quote(string(RejectOpen)), "references": quote(ModeReferences)})
	matching := "SELECT key " + open + " AND field != '' AND " + rejectCondition
	chosen := sql(" AND (field = '' AND $condition OR field != '' AND key IN ($matching))",
		parts{"condition": rejectCondition, "matching": matching})
	if all {
		chosen = ""
	}
	cast := "toUUIDOrZero(key)"
	if x.Stream.KeyType() == catalog.Int {
		cast = "toInt64OrZero(key)"
	}
	same, updated := "0", "0"
	if i := x.Stream.VersionField(); i >= 0 {
		same, updated = "l.updated = r.updated", "ifNull(toUnixTimestamp64Milli("+x.Stream.Fields[i].Column+"), 0)"
	}
	return x.sqlFile("select_candidates", parts{
		"same": same, "open": open, "chosen": chosen, "record": recordJSON(x.Stream), "updated": updated, "cast": cast,
		"matching": matching, "whole": wholeModes,
	})
}

// recordJSON writes a stored row as the record that it came from, in JSON with the API's names.
func recordJSON(s *catalog.Stream) string {
	var values, types []string
	for _, f := range s.Fields {
		values = append(values, f.Column)
		types = append(types, "`"+f.JSON+"` "+f.ColumnType())
	}
	known := sql("toJSONString(CAST(tuple($values), $type))",
		parts{"values": strings.Join(values, ", "), "type": quote("Tuple(" + strings.Join(types, ", ") + ")")})
	return sql("if(_extra = '', $known, concat(substring($known, 1, length($known) - 1), ',', substring(_extra, 2)))",
		parts{"known": known})
}
