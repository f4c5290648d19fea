package warehouse

import (
	"context"
	"fmt"
	"strings"

	"dealhouse/internal/catalog"
)

// Clashes returns those of the run's staged rows. A list may be read again while it moves, so only records with
// different contents count. They count if they were on one page, or have the same updatedAt. Of records without an
// updatedAt, those of different pages count too, unless they differ in their times alone; apart says that these pages
// were read long after each other, and do not count.
func (w *Writer) Clashes(ctx context.Context, apart bool) (c Clashes, err error) {
	err = w.pool.conn.QueryRow(ctx, w.script.selectClashes(apart), named("run", w.ID.String())).Scan(&c.Keys, &c.Examples)
	if err != nil {
		return c, fmt.Errorf("looking for different records with one key in run %s of %s: %w", w.ID, w.Stream.Name, err)
	}
	return c, nil
}

// Inspect reads from the prepared rows of the run what the checks need. If none of the prepared sales carries a payout,
// or ever did, their versions are not read.
func (w *Writer) Inspect(ctx context.Context, c Changes, prepared Prepared) (Written, error) {
	var written Written
	if !c.Any() {
		return written, nil
	}
	rules := rulesOf(w.Stream, !w.ServerTime.IsZero())
	written.Broken = make([]Broken, len(rules))
	into := []any{&written.Keys, &written.Payouts}
	for i, r := range rules {
		written.Broken[i].Rule = r.name
		into = append(into, &written.Broken[i].Rows, &written.Broken[i].Example)
	}
	args := []any{named("account", w.Account), named("server", fmt.Sprint(w.ServerTime.UnixMilli()))}
	_, paid := prepared[membersTable]
	known := c.Updated+c.Deleted > 0 && (paid || !w.Stream.NamesPayouts())
	if err := w.pool.conn.QueryRow(ctx, w.script.inspectDelta(rules, known), args...).Scan(into...); err != nil {
		return written, fmt.Errorf("reading what run %s of %s is about to publish: %w", w.ID, w.Stream.Name, err)
	}
	return written, nil
}

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

// rule is a condition on the values of a row. what completes "3 rows ..." and has no verb, because it must also fit "1
// row".
type rule struct{ name, broken, what string }

// rulesOf returns the rules of a stream, which follow from its fields.
func rulesOf(s *catalog.Stream, serverTime bool) []rule {
	var rules []rule
	if i := s.VersionField(); i >= 0 {
		now := "now64(3, 'UTC')"
		if serverTime {
			now = "fromUnixTimestamp64Milli({server:Int64}, 'UTC')"
		}
		rules = append(rules, rule{CheckUpdatesNotFuture,
			fmt.Sprintf("%s > %s + toIntervalSecond(%d)", s.Fields[i].Column, now,
				int(catalog.FutureTolerance.Seconds())),
			"with an updatedAt more than " + catalog.FutureTolerance.String() + " after the API's own time"})
	}
	var amounts []string
	status := ""
	for _, f := range s.Fields {
		switch {
		case f.Status:
			status = f.Column
		case f.Type == catalog.Money && !f.Declined:
			amounts = append(amounts, "ifNull("+f.Column+" < 0, false)")
		}
	}
	if len(amounts) > 0 {
		broken := "(" + strings.Join(amounts, " OR ") + ")"
		if status != "" {
			broken += " AND " + status + " != " + quote(catalog.StatusDeclined)
		}
		rules = append(rules, rule{CheckAmounts, broken, "with an amount below zero that are not declined"})
	}
	if status != "" {
		rules = append(rules, rule{CheckStatuses,
			status + " NOT IN (" + literals(catalog.Statuses()) + ") OR " + status + " = ''",
			"with a status that dealhouse does not know, which payouts and reports leave out"})
	}
	return rules
}

// mostUnknown is how many missing payouts are looked up at most.
const mostUnknown = 1000
