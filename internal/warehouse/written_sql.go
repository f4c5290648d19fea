package warehouse

import (
	"fmt"

	"dealhouse/internal/catalog"
)

// selectClashes counts the keys that different staged records have, and returns some of them. A page is known by the
// time at which it was read.
func (x script) selectClashes(apart bool) string {
	page, differ := "_hash", ""
	if x.Stream.Child != nil {
		page += ", cityHash64(_entries)"
	}
	if i := x.Stream.VersionField(); i >= 0 {
		differ = x.render(" OR uniqExact($updated, _hash) > uniqExact($updated)", parts{"updated": x.Stream.Fields[i].Column})
	} else if !apart {
		var values []string
		for _, f := range x.Stream.Fields {
			if !f.Key && f.Type != catalog.Time {
				values = append(values, f.Column)
			}
		}
		differ = " OR uniqExact(" + hashOf(values) + ") > 1"
	}
	return x.render(`SELECT count(), groupArray($some)(key) FROM
(
    SELECT toString($key) AS key FROM $staging
    WHERE run_id = {run:UUID} AND $key IN (SELECT $key FROM $staging WHERE run_id = {run:UUID} GROUP BY $key HAVING count() > 1)
    GROUP BY $key HAVING uniqExact(_fetched, $page) > uniqExact(_fetched)$differ
    ORDER BY key
)`, parts{"page": page, "differ": differ, "some": fmt.Sprint(someClashes)})
}

// someClashes is how many keys of different records are named.
const someClashes = 5

// inspectDelta counts the rows that break each rule, with an example. known says that there are earlier versions of
// some rows. Parameters: account and server.
func (x script) inspectDelta(rules []rule, known bool) string {
	payouts := "toUInt64(0)"
	if f := x.Stream.Reference(catalog.Payouts()); f != nil {
		payouts = "countIf(" + f.Column + " IS NOT NULL)"
		if known {
			payouts += x.render(` + (SELECT uniqExact($key) FROM $versions
    WHERE account = {account:String} AND $named IS NOT NULL AND $key IN (SELECT $key FROM $delta WHERE $named IS NULL))`,
				parts{"named": f.Column})
		}
	}
	columns := []string{fmt.Sprintf("groupArrayIf(%d)(toString($key), _deleted = 0)", someKeys), payouts}
	for _, r := range rules {
		broken := "_deleted = 0 AND ifNull(" + r.broken + ", false)"
		columns = append(columns, "countIf("+broken+")", "anyIf(toString($key), "+broken+")")
	}
	return x.render("SELECT "+joined(columns)+"\nFROM $delta", nil)
}
