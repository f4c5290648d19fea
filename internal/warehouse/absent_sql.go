package warehouse

import (
	"strconv"
	"strings"

	"dealhouse/internal/catalog"
)

// selectNewest reads the live rows with the highest updatedAt.
func (x script) selectNewest(limit int) string {
	return x.render(`SELECT toString($key), $updated AS updated, $key IN (SELECT $key FROM $staging WHERE run_id = {run:UUID})
FROM $latest FINAL
WHERE account = {account:String} AND _deleted = 0
ORDER BY updated DESC, $key
LIMIT $limit`, parts{"updated": updatedAt(x.Stream), "limit": strconv.Itoa(limit)})
}

// countAlike counts the live rows of which the run has read a row with the same key and two thirds of their values.
func (x script) countAlike() string {
	var staged, stored, same []string
	for i, f := range x.Stream.Fields {
		if !f.Key {
			staged, stored = append(staged, fromWire(x.Stream.Fields, i)+" AS "+f.Column+"_read"), append(stored, f.Column)
			same = append(same, "(s."+f.Column+"_read <=> l."+f.Column+")")
		}
	}
	return x.render(`SELECT uniqExact($key)
FROM (SELECT $key, $staged FROM $staging WHERE run_id = {run:UUID}) AS s
INNER JOIN (SELECT $key, $stored FROM $latest FINAL WHERE account = {account:String} AND _deleted = 0) AS l ON s.$key = l.$key
WHERE 3 * ($same) >= 2 * $fields`, parts{"staged": strings.Join(staged, ", "), "stored": strings.Join(stored, ", "),
		"same": strings.Join(same, " + "), "fields": strconv.Itoa(len(same))})
}

// updatedAt is the updatedAt of a row of a stream in milliseconds, 0 if there is none.
func updatedAt(s *catalog.Stream) string {
	i := s.VersionField()
	if i < 0 {
		return "toInt64(0)"
	}
	return "ifNull(toUnixTimestamp64Milli(" + s.Fields[i].Column + "), 0)"
}

// selectPlannedDeletes picks random rows among those that the plan deletes.
func (x script) selectPlannedDeletes(limit int) string {
	inside := ""
	if len(x.Within) > 0 {
		inside = " AND $key NOT IN (" + x.selectOutside() + ")"
	}
	return x.render(`SELECT toString($key), $updated, $filtered FROM $latest FINAL
WHERE account = {account:String} AND $stored`,
		parts{"updated": updatedAt(x.Stream), "filtered": filtered(x.Stream, x.Within),
			"stored": x.stored(x.render("$gone AND $key IN (SELECT $key FROM $changes WHERE $gone$inside ORDER BY cityHash64($key, $run) LIMIT $limit)",
				parts{"run": quote(x.ID.String()), "limit": strconv.Itoa(limit), "inside": x.render(inside, nil)}))})
}

// deletePlanned cancels the planned deletes whose key, as text, is not in the list or query. Rows outside of the scope
// stay planned: they may exist at the API, but are deleted anyway.
func (x script) deletePlanned(confirmed string) string {
	text := "ALTER TABLE $changes DELETE WHERE $gone AND toString($key) NOT IN ($confirmed)"
	if len(x.Within) > 0 {
		text += " AND $key NOT IN (" + x.selectOutside() + ")"
	}
	return x.render(text, parts{"confirmed": confirmed})
}

func (x script) deleteAllPlanned() string {
	return x.render("ALTER TABLE $changes DELETE WHERE $gone", nil)
}

// selectAbsent returns the keys of rows that were missing from at least the given number of complete lists in a row.
func (x script) selectAbsent(lists int) string {
	return x.render("SELECT key FROM absent_rows_log FINAL WHERE account = $account AND stream = '$stream' AND lists >= $lists",
		parts{"account": quote(x.Account), "lists": strconv.Itoa(lists)})
}

// countUnconfirmed counts the planned deletes that deletePlanned would cancel.
func (x script) countUnconfirmed(confirmed string) string {
	return x.render("SELECT count() FROM $changes WHERE $gone AND toString($key) NOT IN ($confirmed)",
		parts{"confirmed": confirmed})
}

// countAbsence adds 1 to the count of each row that the run's plan deletes, unless this run was counted before. It sets
// the counts of all other rows back to 0.
func (x script) countAbsence() string {
	return x.sqlFile("count_absence", nil)
}
