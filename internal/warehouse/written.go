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

// Inspect reads from the prepared rows of the run what the checks need, and proves that they are those that were
// staged (warehouse-23): the sum of their hashes is that of the staged rows which the plan writes, and each hash is
// that of the columns beside it. Otherwise it returns an *AlteredError. If none of the prepared sales carries a
// payout, or ever did, their versions are not read.
func (w *Writer) Inspect(ctx context.Context, c Changes, prepared Prepared) (Written, error) {
	var written Written
	if !c.Any() {
		return written, nil
	}
	rules := rulesOf(w.Stream, !w.ServerTime.IsZero())
	written.Broken = make([]Broken, len(rules))
	var have, want, removed uint64
	altered := AlteredError{Table: w.delta()}
	into := []any{&written.Keys, &written.Payouts, &have, &want, &removed, &altered.Rows, &altered.Example}
	for i, r := range rules {
		written.Broken[i].Rule = r.name
		into = append(into, &written.Broken[i].Rows, &written.Broken[i].Example)
	}
	args := []any{named("account", w.Account), named("run", w.ID.String()), named("server", fmt.Sprint(w.ServerTime.UnixMilli()))}
	_, paid := prepared[membersTable]
	known := c.Updated+c.Deleted > 0 && (paid || !w.Stream.NamesPayouts())
	if err := w.pool.conn.QueryRow(ctx, w.script.inspectDelta(rules, known, c), args...).Scan(into...); err != nil {
		return written, fmt.Errorf("reading what run %s of %s is about to publish: %w", w.ID, w.Stream.Name, err)
	}
	if have != want || altered.Rows > 0 {
		return written, &altered
	}
	written.Added, written.Removed = Sum(have), Sum(removed)
	return written, nil
}

// AlteredError says that rows which a run has prepared are not those that it has staged. Nothing was published.
type AlteredError struct {
	Table   string
	Rows    uint64 // of which the columns do not have the hash of the row; 0: other rows are there
	Example string // the key of one of them
}

func (e *AlteredError) Error() string {
	what := "the rows prepared in " + e.Table + " are not those that were staged"
	if e.Rows > 0 {
		what = fmt.Sprintf("%d of the rows prepared in %s were altered, that of %s among them", e.Rows, e.Table, e.Example)
	}
	return what + ": nothing was published, and the next run reads everything again; look at the memory and the disks of the warehouse's machine"
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

// inspectDelta counts the rows that break each rule, with an example, and adds up what proves the rows. known says that
// there are earlier versions of some rows. Parameters: account, run and server.
func (x script) inspectDelta(rules []rule, known bool, c Changes) string {
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
	columns = append(columns, x.proof(c)...)
	for _, r := range rules {
		broken := "_deleted = 0 AND ifNull(" + r.broken + ", false)"
		columns = append(columns, "countIf("+broken+")", "anyIf(toString($key), "+broken+")")
	}
	return x.render("SELECT "+joined(columns)+"\nFROM $delta", nil)
}

// proof are the columns that prove the rows of the delta: the sums of those that it has, of those that it should have,
// and of those that they replace; how many have other columns than their hash says, with an example. Rows that are gone
// keep the columns that they had, whatever their hash says: that somebody altered a row must not keep it from leaving.
func (x script) proof(c Changes) []string {
	sum, written := rowSum(x.names["key"], "_hash"), "_deleted = 0"
	if c.Unlisted {
		written = "1"
	}
	altered := written + " AND " + contentSum("_hash") + " != " + storedContentSum(x.Stream)
	return []string{
		"sumIf(" + sum + ", " + written + ")", x.expected(c), x.removed(c),
		"countIf(" + altered + ")", "anyIf(toString(" + x.names["key"] + "), " + altered + ")",
	}
}

// expected is the sum of the staged rows that the plan writes.
func (x script) expected(c Changes) string {
	switch {
	case !c.allNew():
		return x.render("(SELECT sumIf(now, $written) FROM $changes)", nil)
	case c.Distinct == c.Staged:
		return fmt.Sprintf("toUInt64(%d)", uint64(c.Sum))
	}
	return x.render("(SELECT sum($sum) FROM ($rows) AS s)",
		parts{"sum": rowSum(x.names["key"], "_hash"), "rows": x.stagedRows("*, _version", "", c.Ahead > 0)})
}

// removed is the sum of the rows that the plan replaces or removes.
func (x script) removed(c Changes) string {
	if c.allNew() {
		return "toUInt64(0)"
	}
	return x.render("(SELECT sumIf(was, $written OR $gone) FROM $changes)", nil)
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
