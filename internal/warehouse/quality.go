package warehouse

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// Names of the checks, as quality_checks has them.
const (
	CheckRowsMatch        = "rows_match"            // the view has as many rows as the run says
	CheckKeysUnique       = "keys_unique"           // no key that the run wrote is twice in the view
	CheckKeysTellApart    = "keys_tell_apart"       // no two different records came with one key
	CheckUpdatesNotFuture = "updates_not_in_future" // no updatedAt after the API's own time
	CheckPayoutsKnown     = "payouts_known"         // every payout that a transaction names is loaded
	CheckAmounts          = "amounts_not_negative"  // no amount below zero, unless declined
	CheckStatuses         = "statuses_known"        // no status that dealhouse does not know
	CheckPrices           = "prices_agree"          // the price history of the day has the product's price
)

// Check is the outcome of one check after a run.
type Check struct {
	Account, Stream string
	RunID           uuid.UUID
	Name            string
	OK              bool
	Found, Expected uint64
	Detail          string    // what was found and what to look at; "" when the check holds
	CheckedAt       time.Time // as LatestChecks reads it, by the clock of the warehouse
}

// countAgain is the time after which the rows of a stream are counted again, for CheckRowsMatch. That
// reads all of them.
const countAgain = 24 * time.Hour

// fewRows is up to how many rows are counted after each run that changed any, or read all. That costs milliseconds.
const fewRows = 100_000

// CheckQuality checks what readers see after a run that has loaded all, and records the results in quality_checks. A
// check that cannot be made is left out: of payouts before payouts are loaded, of the number of rows when another run
// has published since.
//
// It looks at what the run has written, so it costs the same however many rows there are. The rows of a large stream
// are counted only in three cases: once a day, after a run that read them all and found changes, and for as long as a
// check fails. Keys that are there twice are looked for only among those that the run wrote. The others were checked
// when they were written, and a second row of a key shows in the number of rows. After a run that changed nothing there
// is nothing new to check: what was right before still is.
func (w *Warehouse) CheckQuality(ctx context.Context, run RunRecord) ([]Check, error) {
	if !run.LoadedAll() {
		return nil, nil
	}
	s, err := catalog.Find(run.Stream)
	if err != nil {
		return nil, err
	}
	q := newQuality(w.At(run.Account), run, s)
	for _, step := range []func(context.Context) error{q.before, q.rows, q.keys, q.apart, q.values,
		q.payouts, q.prices, q.fields, q.save} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("checking %s of account %s after run %s: %w", run.Stream,
				run.Account, run.RunID, err)
		}
	}
	return q.checks, nil
}

var checkColumns = columns("account String, stream String, run_id UUID, check String, ok Bool, found UInt64, expected UInt64, detail String, checked_at DateTime64(3)")

// save records the checks.
func (q *quality) save(ctx context.Context) error {
	if len(q.checks) == 0 {
		return nil
	}
	return q.w.saveChecks(ctx, q.checks, q.next)
}

// saveChecks records checks that were made at a time.
func (p *pool) saveChecks(ctx context.Context, checks []Check, at time.Time) error {
	err := insertEach(ctx, p, "quality_checks_log", checkColumns, checks, func(c Check) []any {
		return []any{c.Account, c.Stream, c.RunID, c.Name, c.OK, c.Found, c.Expected, c.Detail, at}
	})
	if err != nil {
		return fmt.Errorf("writing to quality_checks: %w", err)
	}
	return nil
}

// LatestChecks reads the newest outcome of each check of each stream: by stream, those that do not hold first.
func (r Reader) LatestChecks(ctx context.Context) (map[StreamID][]Check, error) {
	rows, err := r.once.Query(ctx, selectLatestChecks)
	checks, err := scanned(rows, err, func(c *Check) []any {
		return []any{&c.Account, &c.Stream, &c.Name, &c.CheckedAt, &c.RunID, &c.OK, &c.Found, &c.Expected, &c.Detail}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the latest checks: %w", err)
	}
	all := map[StreamID][]Check{}
	for _, c := range checks {
		id := StreamID{c.Account, c.Stream}
		all[id] = append(all[id], c)
	}
	return all, nil
}

// quality makes the checks of one run.
type quality struct {
	w      *Warehouse
	run    RunRecord
	stream *catalog.Stream
	args   []any
	next   time.Time // the time of the checks, later than that of all stored checks of the stream
	failed bool      // one of the earlier checks failed
	count  bool      // the rows are to be counted
	checks []Check

	presence [][]any // what is known of the fields of the stream
}

func newQuality(w *Warehouse, run RunRecord, s *catalog.Stream) *quality {
	return &quality{w: w, run: run, stream: s, args: []any{
		named("account", run.Account), named("stream", run.Stream),
		named("from", fmt.Sprint(run.StartedAt.UnixMilli())),
		named("to", fmt.Sprint(run.FinishedAt.UnixMilli())), named("server", fmt.Sprint(run.ServerTime.UnixMilli())),
	}}
}

// before reads the earlier checks, and decides whether the rows are counted.
func (q *quality) before(ctx context.Context) error {
	var us, counted int64
	var newest, failed uint64
	if err := q.w.conn.QueryRow(ctx, selectChecksBefore, q.args...).Scan(&us, &newest, &counted, &failed,
		&q.presence); err != nil {
		return err
	}
	now := time.UnixMicro(us).UTC()
	q.next, q.failed = laterOf(now, newest), failed > 0
	age := now.Sub(time.UnixMicro(counted))
	q.count = q.failed || age >= countAgain || age < -clockTolerance // counted by a clock that was wrong
	switch few, whole := q.run.Changes.Live <= fewRows, ReadsWhole(q.run.Mode); {
	case q.run.Changes.Any():
		q.count = q.count || few || whole
	case whole:
		q.count = q.count || few
	}
	return nil
}

// idle reports whether there is nothing to check about the rows of the run: it wrote none, and no earlier check failed.
func (q *quality) idle() bool { return !q.run.Changes.Any() && !q.failed }

// add keeps the outcome of a check. detail says what is wrong if it fails.
func (q *quality) add(name string, found, expected uint64, detail string) {
	c := Check{Account: q.run.Account, Stream: q.run.Stream, RunID: q.run.RunID, Name: name, OK: found == expected,
		Found: found, Expected: expected}
	if !c.OK {
		c.Detail = detail
	}
	q.checks = append(q.checks, c)
}

// rows compares the number of rows that readers see with what the run has counted. It leaves out backfills: they
// publish many times, and the counts of their parts overlap.
func (q *quality) rows(ctx context.Context) error {
	if !q.count {
		return nil
	}
	c := q.run.Changes
	expected := c.Live + c.Inserted - c.Deleted
	switch q.run.Mode {
	case ModeBackfill:
		return nil
	case ModeSnapshot, ModeWalk:
		// A record that cannot be loaded may have a row, which stays; and of a list that was not sent again, nothing is
		// staged.
		if q.run.Totals.Unloadable == 0 && c.Distinct > 0 {
			expected = c.Distinct + c.Kept
		}
	}
	var found, later uint64
	err := q.w.conn.QueryRow(ctx, countSeen(q.stream), q.args...).Scan(&found, &later)
	if err == nil && later == 0 {
		q.add(CheckRowsMatch, found, expected,
			fmt.Sprintf("rows of the view: %d; by the count of the run: %d; `dealhouse sync %s --full` reads the whole stream again; "+
				"`dealhouse migrate` and SHOW CREATE VIEW %s tell whether the view is the one of this version", found,
				expected, q.stream.Name, q.stream.Name))
	}
	return err
}

// keys looks for keys that the view has twice, among some of those that the run has written.
func (q *quality) keys(ctx context.Context) error {
	if q.idle() {
		return nil
	}
	var twice uint64
	if some := q.run.Written.Keys; len(some) > 0 {
		if err := q.w.conn.QueryRow(ctx, countTwice(q.stream, some), q.args...).Scan(&twice); err != nil {
			return err
		}
	}
	q.add(CheckKeysUnique, twice, 0, fmt.Sprintf("rows of the view with a key that another row has: %d; SHOW CREATE VIEW %s tells whether it still reads with FINAL", twice, q.stream.Name))
	return nil
}

// apart looks at keys that several different records had. A run that read only a part says nothing of the others.
func (q *quality) apart(context.Context) error {
	if n := q.run.Clashes.Keys; n > 0 || ReadsWhole(q.run.Mode) {
		q.add(CheckKeysTellApart, n, 0, q.run.Clashes.Words(q.stream))
	}
	return nil
}

// Words says what was found, and what to look at.
func (c Clashes) Words(s *catalog.Stream) string {
	return fmt.Sprintf("keys with which the service lists several records that differ: %d; the one that it lists last is loaded, "+
		"and the others are not: ask the people who run it; %s: %s", c.Keys, keyNames(s), strings.Join(c.Examples, ", "))
}

// values checks the rows of the run one by one.
func (q *quality) values(context.Context) error {
	if q.idle() {
		return nil
	}
	for _, r := range rulesOf(q.stream, !q.run.ServerTime.IsZero()) {
		var b Broken
		if i := slices.IndexFunc(q.run.Written.Broken, func(b Broken) bool { return b.Rule == r.name }); i >= 0 {
			b = q.run.Written.Broken[i]
		}
		q.add(r.name, b.Rows, 0,
			fmt.Sprintf("rows %s: %d; look at `dealhouse query \"SELECT * FROM %s WHERE %s = '%s'\"`",
				r.what, b.Rows, q.stream.Name, keyNames(q.stream), b.Example))
	}
	return nil
}

// payouts checks that the payouts which transactions name are loaded. Payouts that were first named after the last
// run of payouts began are left out: the run may not have seen them yet. Transactions are looked up only if a
// payout is missing.
func (q *quality) payouts(ctx context.Context) error {
	if !q.stream.Payouts && (!q.stream.NamesPayouts() || q.run.Written.Payouts == 0 && !q.failed) {
		return nil
	}
	var loaded time.Time
	var unknown []string
	if err := q.w.conn.QueryRow(ctx, selectUnknownPayouts, q.args...).Scan(&loaded, &unknown); err != nil ||
		loaded.Unix() <= 0 {
		return err
	}
	var found uint64
	var example int64
	if len(unknown) > 0 {
		err := q.w.conn.QueryRow(ctx, countNaming(unknown),
			append(q.args, named("loaded", fmt.Sprint(loaded.UnixMilli())))...).Scan(&found, &example)
		if err != nil {
			return err
		}
	}
	naming := catalog.Transactions()
	q.add(CheckPayoutsKnown, found, 0, fmt.Sprintf("%s that name a payout which the service does not list: %d; look at `dealhouse query \"SELECT * FROM %s WHERE %s = %d\"`",
		naming.Name, found, naming.Name, naming.Reference(catalog.Payouts()).Column, example))
	return nil
}

// prices compares the price of the products that the run has written with their price history of the same day, if it
// has that day.
func (q *quality) prices(ctx context.Context) error {
	if q.stream.Child == nil || q.idle() {
		return nil
	}
	var found uint64
	var example string
	err := q.w.conn.QueryRow(ctx, countOtherPrices(q.stream, !q.run.ServerTime.IsZero()), q.args...).
		Scan(&found, &example)
	if err != nil {
		return err
	}
	q.add(CheckPrices, found, 0, fmt.Sprintf("products with another price than in the history of the same day: %d; look at `dealhouse query \"SELECT day, price FROM %s WHERE %s = '%s' ORDER BY day DESC LIMIT 3\"`", found, q.stream.Child.Table, keyNames(q.stream), example))
	return nil
}

// selectLatestChecks selects the newest outcome of each check of each stream: by stream, those that do not hold first.
// It takes the newest of each by itself, and so needs no FINAL.
const selectLatestChecks = `SELECT account, stream, check, max(checked_at), argMax(run_id, checked_at), argMax(ok, checked_at) AS holds,
    argMax(found, checked_at), argMax(expected, checked_at), argMax(detail, checked_at)
FROM quality_checks_log GROUP BY account, stream, check ORDER BY account, stream, holds, check`

// selectChecksBefore returns, in one row: the warehouse's time, when a check of the stream was last made and when its
// rows were last counted, all in microseconds; how many checks of runs fail; what is known of the fields.
var selectChecksBefore = sql(`SELECT toUnixTimestamp64Micro(now64(6)), toUInt64($newest),
    toInt64(ifNull(maxIf(toUnixTimestamp64Micro(toDateTime64(checked_at, 6, 'UTC')), check = $rows), 0)),
    countIf(NOT holds AND check != $asked), ($presence)
FROM (SELECT check, max(checked_at) AS checked_at, argMax(ok, quality_checks_log.checked_at) AS holds
    FROM quality_checks_log WHERE account = {account:String} AND stream = {stream:String} GROUP BY check)`,
	parts{"newest": newestTime("checked_at"), "rows": quote(CheckRowsMatch), "asked": quote(CheckBehaviour), "presence": selectPresence})

// ofRun is the condition for the rows that the run has written. A backfill is several runs, so their time is compared.
const ofRun = `account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
    AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC')`

// countSeen returns how many rows readers see of a stream, and how many rows were loaded after a run. Parameters:
// account, and to in milliseconds.
func countSeen(s *catalog.Stream) string {
	return sql(`SELECT (SELECT count() FROM $view WHERE account = {account:String}),
    (SELECT countIf(synced_at > fromUnixTimestamp64Milli({to:Int64}, 'UTC')) FROM $latest WHERE account = {account:String})`,
		parts{"view": s.Name, "latest": latestTable(s)})
}

// countTwice counts the rows of a view that have a key which another row has, among those with some keys. Parameter:
// account.
func countTwice(s *catalog.Stream, keys []string) string {
	return sql("SELECT toUInt64(count() - uniqExact($key)) FROM $view WHERE account = {account:String} AND $key IN ($keys)",
		parts{"view": s.Name, "key": keyNames(s), "keys": words(keys)})
}

// selectUnknownPayouts returns when the last run of payouts began, and which payouts had been named by then and are
// missing. Parameter: account.
var selectUnknownPayouts = sql(`WITH
    (SELECT max(started_at) FROM sync_runs
    WHERE account = {account:String} AND stream = $to AND outcome = $success AND $whole) AS loaded
SELECT loaded, groupArray($most)(key) FROM
(
    SELECT n.key AS key FROM $names AS n
    WHERE account = {account:String} AND n.stream = $to AND n.key NOT IN (SELECT toString($key) FROM $table WHERE account = {account:String})
    GROUP BY n.key HAVING min(n.named_at) < loaded
)`, parts{
	"to": quote(catalog.Payouts().Name), "success": quote(OutcomeSuccess), "whole": wholeLooks,
	"names": namedTable(catalog.Transactions()),
	"key":   catalog.Payouts().KeyColumn(), "table": catalog.Payouts().Name, "most": fmt.Sprint(mostUnknown),
})

// countNaming counts the transactions that name one of some payouts and were loaded before a time. It also returns one
// of these payouts. Parameters: account, and loaded in milliseconds.
func countNaming(payouts []string) string {
	return sql(`SELECT count(), ifNull(any($payout), 0)
FROM $view
WHERE account = {account:String} AND $payout IN ($ids) AND synced_at < fromUnixTimestamp64Milli({loaded:Int64}, 'UTC')`,
		parts{"view": catalog.Transactions().Name, "ids": strings.Join(payouts, ", "),
			"payout": catalog.Transactions().Reference(catalog.Payouts()).Column})
}

// countOtherPrices counts the products whose price differs from their price history of the same day, if it has that
// day, among those that a run has written. It also returns the key of one of them. serverTime says that the time of the
// service is known. Parameters: account; from, to and, with serverTime, server, all in milliseconds.
func countOtherPrices(s *catalog.Stream, serverTime bool) string {
	today := "toDate32(now64(3, 'UTC'))"
	if serverTime {
		today = "toDate32(fromUnixTimestamp64Milli({server:Int64}, 'UTC'))"
	}
	return sql(`SELECT count(), any(toString(p.$key)) FROM (SELECT $key, price FROM $latest WHERE $of_run AND _deleted = 0) AS p
INNER JOIN (SELECT $key, argMax(price, _version) AS price FROM $prices WHERE account = {account:String} AND day = $today GROUP BY $key) AS h ON p.$key = h.$key
WHERE p.price != h.price`, parts{"key": keyNames(s), "latest": latestTable(s), "prices": childLatest(s), "of_run": ofRun,
		"today": today})
}
