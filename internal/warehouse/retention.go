package warehouse

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/catalog"
)

// Retention says how long the bookkeeping is kept. Zero keeps it forever.
type Retention struct {
	Runs     time.Duration // after they began
	Rejects  time.Duration // settled ones of transactions, after they were last met; others have a TTL
	Findings time.Duration // about payouts, after they were resolved

	// DealVersions are earlier versions of deals, after they were replaced. Those of transactions and payouts always
	// stay: reconciliation, decisions and closed months are made of them.
	DealVersions time.Duration
}

// Removed is how much was removed of one thing.
type Removed struct {
	What      string
	OlderThan time.Time // by the clock of the warehouse
	Rows      uint64
}

// retentionPause is the shortest time between two removals of what is too old, whichever process does them. To remove
// rows, the server writes their parts again.
const retentionPause = 20 * time.Hour

// Retire removes what is older than r allows, except for what other rows still need. It does nothing if a process did
// so less than retentionPause ago. It works in steps, and after each of them the tables are consistent: a row that
// replaces an older one is removed last, so that the older one does not come back (warehouse-19). If it is killed in
// between, the next call continues. It never removes what is loaded, its history except for that of deals,
// acknowledgements, closed months and what operators did.
func (w *Warehouse) Retire(ctx context.Context, r Retention) (removed []Removed, err error) {
	if r == (Retention{}) {
		return nil, nil
	}
	for _, shard := range w.each() {
		here, err := retirement{shard.pool}.removeOld(ctx, r)
		if removed = append(removed, here...); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// retirement removes what is too old from one warehouse.
type retirement struct{ *pool }

func (x retirement) removeOld(ctx context.Context, r Retention) (removed []Removed, err error) {
	var last, now time.Time
	if err := x.conn.QueryRow(ctx, selectRetired).Scan(&last, &now); err != nil {
		return nil, fmt.Errorf("asking when old rows were removed last: %w", err)
	}
	if age := now.Sub(last); age >= 0 && age < retentionPause {
		return nil, nil
	}
	for _, kind := range []struct {
		what string
		keep time.Duration
		do   func(ctx context.Context, before time.Time) (uint64, error)
	}{{"runs", r.Runs, x.runs}, {"rejects", r.Rejects, x.rejects}, {"findings", r.Findings, x.findings},
		{"deal versions", r.DealVersions, x.dealVersions}} {
		if kind.keep == 0 {
			continue
		}
		old := Removed{What: kind.what, OlderThan: now.Add(-kind.keep)}
		if old.Rows, err = kind.do(ctx, old.OlderThan); err != nil {
			return removed, fmt.Errorf("removing old %s: %w", kind.what, err)
		}
		removed = append(removed, old)
	}
	err = insertEach(ctx, x.pool, "retention_log", retiredColumns, removed, func(old Removed) []any {
		return []any{now, old.What, old.OlderThan, old.Rows}
	})
	if err != nil {
		return removed, fmt.Errorf("recording what was removed: %w", err)
	}
	return removed, nil
}

var retiredColumns = columns("at DateTime64(3), what String, older_than DateTime64(3), removed UInt64")

// keptAtOnce is how many runs one statement names at most as those to keep. The length of a statement is limited by
// max_query_size, whose default has room for 6000 runs. streamsAtOnce is how many streams it names at most.
const (
	keptAtOnce    = 4000
	streamsAtOnce = 500
)

// runs removes runs that began before a time, of streams of which no run is being published.
func (x retirement) runs(ctx context.Context, before time.Time) (removed uint64, err error) {
	cut := named("before", fmt.Sprint(before.UnixMilli()))
	rows, err := x.conn.Query(ctx, selectOldRuns, cut)
	type old struct {
		StreamID
		runs uint64
		kept []string
	}
	all, err := scanned(rows, err, func(o *old) []any { return []any{&o.Account, &o.Stream, &o.runs, &o.kept} })
	if err != nil {
		return 0, err
	}
	for len(all) > 0 {
		var streams, kept []string
		for len(all) > 0 && len(streams) < streamsAtOnce && len(kept)+len(all[0].kept) <= keptAtOnce {
			o := all[0]
			streams = append(streams, "("+quote(o.Account)+", "+quote(o.Stream)+")")
			kept = append(kept, o.kept...)
			removed += o.runs
			all = all[1:]
		}
		if len(streams) == 0 { // it has failed for so long that more of its runs are needed than a statement can name
			all = all[1:]
			continue
		}
		for _, last := range []bool{false, true} {
			if err := x.mutate(ctx, deleteRuns(before, streams, kept, last)); err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}

// rowsAtOnce is how many rows one statement names and removes. statementsAtMost is how many such statements are run in
// a day: what is left then is for the next one.
const (
	rowsAtOnce       = 2000
	versionsAtOnce   = 6000 // max_query_size has room for 7000
	statementsAtMost = 10
)

// rejects removes rejects of transactions that are settled, and were met last before a time.
func (x retirement) rejects(ctx context.Context, before time.Time) (uint64, error) {
	return x.byID(ctx, before, selectOldRejects, rowsAtOnce, func(ids []string) []string {
		return []string{deleteRejects(before, ids)}
	})
}

// findings removes findings that were resolved before a time: first the rows in which they are still open.
func (x retirement) findings(ctx context.Context, before time.Time) (uint64, error) {
	return x.byID(ctx, before, selectOldFindings, rowsAtOnce, func(ids []string) []string {
		return []string{deleteFindings(before, ids, false), deleteFindings(before, ids, true)}
	})
}

// dealVersions removes versions of deals that a later one had replaced before a time. What was listed at any moment
// since then does not change.
func (x retirement) dealVersions(ctx context.Context, before time.Time) (removed uint64, err error) {
	for _, s := range dealHistories() {
		n, err := x.byID(ctx, before, selectOldVersions(s), versionsAtOnce, func(ids []string) []string {
			return []string{deleteVersions(s, before, ids)}
		})
		if removed += n; err != nil {
			return removed, fmt.Errorf("of %s: %w", s.Name, err)
		}
	}
	return removed, nil
}

// byID removes the rows that a query finds, atOnce with each statement.
func (x retirement) byID(ctx context.Context, before time.Time, query string, atOnce int,
	statements func(ids []string) []string) (removed uint64, err error) {
	rows, err := x.conn.Query(ctx, query, named("before", fmt.Sprint(before.UnixMilli())),
		named("limit", fmt.Sprint(atOnce*statementsAtMost)))
	ids, err := scanned(rows, err, only[string])
	if err != nil {
		return 0, err
	}
	for some := range slices.Chunk(ids, atOnce) {
		for _, statement := range statements(some) {
			if err := x.mutate(ctx, statement); err != nil {
				return removed, err
			}
		}
		removed += uint64(len(some))
	}
	return removed, nil
}

// mutate changes rows that are stored, and returns when that is done.
func (x retirement) mutate(ctx context.Context, statement string) error {
	return x.conn.Exec(clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"mutations_sync": 1})),
		statement)
}

// neededRuns selects the runs that must stay: the first and the last of each kind, from which the state of a stream
// follows; those since the last success, which are counted; those under way; those that a state names; and those in
// which rejects were read.
var neededRuns = sqlFile("needed_runs",
	parts{"fresh": freshLooks, "succeeded": succeeded, "running": quote(OutcomeRunning)})

// selectOldRuns selects the streams with runs that began before a time and are not needed. It counts these runs, and
// lists those of that age which are needed. A stream of which a run is being published is left out. Parameter: before,
// in milliseconds.
var selectOldRuns = sql(`SELECT account, stream, countIf(NOT needed) AS runs, groupArrayIf(toString(run_id), needed) AS kept FROM
(
    SELECT account, stream, run_id, run_id IN ($needed) AS needed FROM sync_runs_log FINAL
    WHERE started_at < fromUnixTimestamp64Milli({before:Int64}, 'UTC')
        AND (account, stream) NOT IN (SELECT account, stream FROM sync_state WHERE startsWith(name, $intent))
)
GROUP BY account, stream
HAVING runs > 0
ORDER BY account, stream`, parts{"needed": neededRuns, "intent": quote(stateIntent + ":")})

// deleteRuns removes the runs of some streams that began before a time, except for those in kept. First it removes the
// rows that say running; with last set, all others.
func deleteRuns(before time.Time, streams, kept []string, last bool) string {
	rows := "outcome = "
	if last {
		rows = "outcome != "
	}
	return sql(`ALTER TABLE sync_runs_log DELETE
WHERE started_at < fromUnixTimestamp64Milli($before, 'UTC') AND $rows AND (account, stream) IN ($streams)
    AND toString(run_id) NOT IN ($kept)`,
		parts{"before": fmt.Sprint(before.UnixMilli()), "rows": rows + quote(OutcomeRunning),
			"streams": joinedRights(streams), "kept": literals(kept)})
}

// rejectID and findingID identify the rows of one key.
const (
	rejectID  = "hex(sipHash128(account, stream, key, field, reason, raw_hash))"
	findingID = "hex(sipHash128(account, kind, subject, detail_hash))"
)

// selectOldRejects selects rejects of transactions that are settled and were last met before a time. Those of other
// streams have a TTL. Parameters: before, in milliseconds, and limit.
var selectOldRejects = sqlFile("select_old_rejects", parts{"id": rejectID, "stream": quote(catalog.Transactions().Name),
	"open": quote(string(RejectOpen))})

// deleteRejects removes rejects by their ids, unless one was met again meanwhile.
func deleteRejects(before time.Time, ids []string) string {
	return sql("ALTER TABLE rejects_log DELETE WHERE stream = $stream AND written_at < toDateTime($before, 'UTC') AND $id IN ($ids)",
		parts{"stream": quote(catalog.Transactions().Name), "before": fmt.Sprint(before.Unix()), "id": rejectID,
			"ids": literals(ids)})
}

// selectOldFindings selects findings that were resolved before a time. Parameters: before, in milliseconds, and limit.
var selectOldFindings = sql(`SELECT $id AS id FROM payout_findings_log FINAL
WHERE isNotNull(resolved_at) AND resolved_at < fromUnixTimestamp64Milli({before:Int64}, 'UTC')
ORDER BY id LIMIT {limit:UInt64}`, parts{"id": findingID})

// deleteFindings removes findings by their ids: the rows in which they are open, or those in which they are resolved.
// One that was found again meanwhile stays.
func deleteFindings(before time.Time, ids []string, resolved bool) string {
	rows := "isNull(resolved_at)"
	if resolved {
		rows = "isNotNull(resolved_at)"
	}
	return sql("ALTER TABLE payout_findings_log DELETE WHERE $rows AND last_seen < fromUnixTimestamp64Milli($before, 'UTC') AND $id IN ($ids)",
		parts{"rows": rows, "before": fmt.Sprint(before.UnixMilli()), "id": findingID, "ids": literals(ids)})
}

// dealHistories returns the streams of which every version is kept, and whose earlier versions only show the past: no
// sums, payouts or decisions are made of them.
func dealHistories() (all []*catalog.Stream) {
	for _, s := range catalog.All() {
		if s.History && !s.Payouts && !s.NamesPayouts() {
			all = append(all, s)
		}
	}
	return all
}

// versionID identifies a version of a row of a stream.
func versionID(s *catalog.Stream) string {
	return "hex(sipHash128(account, " + keyNames(s) + ", _version))"
}

// selectOldVersions selects versions of records that others had replaced before a time. The version that was in force
// then stays. If versions of equal content lead up to it, all of them stay, since they are shown as one. So the newest
// version stays as well, which may be a deletion. The oldest are removed first: of A, B and A again, the first A never
// comes directly before the last. Parameters: before, in milliseconds, and limit.
func selectOldVersions(s *catalog.Stream) string {
	return sqlFile("select_old_versions", parts{
		"id": versionID(s), "key": keyNames(s), "stream": quote(s.Name), "table": versionsTable(s),
		"intent": quote(stateIntent + ":"),
		"old":    "synced_at < fromUnixTimestamp64Milli({before:Int64}, 'UTC')",
		"versions": "PARTITION BY account, " + keyNames(s) +
			" ORDER BY _version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
	})
}

// deleteVersions removes versions of a stream by their ids.
func deleteVersions(s *catalog.Stream, before time.Time, ids []string) string {
	return sql("ALTER TABLE $table DELETE WHERE synced_at < fromUnixTimestamp64Milli($before, 'UTC') AND $id IN ($ids)",
		parts{"table": versionsTable(s), "before": fmt.Sprint(before.UnixMilli()), "id": versionID(s), "ids": literals(ids)})
}

// selectRetired asks when old rows were removed last, and for the time.
const selectRetired = "SELECT max(at), now64(3, 'UTC') FROM retention_log"
