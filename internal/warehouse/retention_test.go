package warehouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
)

// What is older than its retention is removed, and what other things depend on stays: the states of streams are the
// same before and after.
func TestRetire(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	fillRuns(t, w, 6000)
	fillOdd(t, w)
	before := standingsOf(t, w)
	recent, err := w.Runs(t.Context(), RunFilter{Limit: 50})
	must(t, err)
	guarded, err := w.GuardedRuns(t.Context())
	must(t, err)

	removed, err := w.Retire(t.Context(), Retention{Runs: 400 * 24 * time.Hour, Rejects: 400 * 24 * time.Hour,
		Findings: 400 * 24 * time.Hour})
	must(t, err)
	if len(removed) != 3 || removed[0].Rows < 3000 || removed[1].Rows != 1 || removed[2].Rows != 1 {
		t.Errorf("removed %+v", removed)
	}
	if diff := cmp.Diff(before, standingsOf(t, w)); diff != "" {
		t.Errorf("where the streams stand has changed:\n%s", diff)
	}
	after, err := w.Runs(t.Context(), RunFilter{Limit: 50})
	must(t, err)
	if diff := cmp.Diff(recent, after); diff != "" {
		t.Errorf("the last runs have changed:\n%s", diff)
	}
	still, err := w.GuardedRuns(t.Context())
	must(t, err)
	if diff := cmp.Diff(guarded, still); diff != "" || len(still) != 1 {
		t.Errorf("%d guarded runs:\n%s", len(still), diff)
	}
	for what, want := range map[string]string{
		"SELECT count() < 300 FROM sync_runs WHERE started_at < now() - toIntervalDay(400) AND account LIKE 'account%'": "1",
		"SELECT count() FROM sync_runs_log WHERE account = 'publishing'":                                                "4",
		"SELECT count() FROM sync_runs WHERE account = 'failing'":                                                       "40",
		"SELECT count() FROM sync_runs WHERE account = 'reading'":                                                       "3", // the first, the last, and the one of a reject
		"SELECT count() FROM sync_runs_log WHERE outcome = 'running'":                                                   "2",
		"SELECT groupArray(key) FROM (SELECT DISTINCT key FROM rejects_log ORDER BY key)":                               "['old and open','settled lately']",
		"SELECT groupArray(subject) FROM (SELECT subject FROM payout_findings ORDER BY subject)":                        "['1','3']",
		"SELECT toString(groupArray((what, removed > 0))) FROM (SELECT what, removed FROM retention_log ORDER BY what)": "[('findings',1),('rejects',1),('runs',1)]",
		"SELECT count() FROM operator_actions_log":                                                                      "0",
		"SELECT count() FROM system.mutations WHERE database = currentDatabase() AND NOT is_done":                       "0",
	} {
		var got string
		must(t, w.conn.QueryRow(t.Context(), "SELECT toString(("+what+"))").Scan(&got))
		if got != want {
			t.Errorf("%s is %s, want %s", what, got, want)
		}
	}
	again, err := w.Retire(t.Context(), Retention{Runs: 30 * 24 * time.Hour})
	must(t, err)
	if again != nil {
		t.Errorf("looked again at once: %+v", again)
	}
}

// standingsOf returns the states of the streams, without what changes with time.
func standingsOf(t *testing.T, w *Warehouse) []StreamStatus {
	t.Helper()
	all, err := w.Standings(t.Context())
	must(t, err)
	for i := range all {
		all[i].Now = time.Time{}
	}
	return all
}

// fillOdd writes what must stay, beside what may go: a stream that has been failing for long, one that is being
// published, runs that rejects name, one under way, a guarded one, rejects and findings.
func fillOdd(t *testing.T, w *Warehouse) {
	t.Helper()
	const run = `INSERT INTO sync_runs_log (account, stream, run_id, mode, started_at, outcome, would_delete, version) SELECT '%s', 'coupons', %s, 'snapshot', now64(3) - toIntervalDay(%s), '%s', %d, %d FROM numbers(%d)`
	for _, s := range []string{
		fmt.Sprintf(run, "failing", "generateUUIDv4(number)", "900 - number", OutcomeFailed, 0, 1, 40),
		fmt.Sprintf(run, "publishing", "toUUID('00000000-0000-4000-8000-00000000000' || toString(number))", "900 - number",
			OutcomeSuccess, 0, 2, 4),
		"INSERT INTO sync_state_log (account, stream, name, value, version) VALUES ('publishing', 'coupons', 'intent:x', '{}', 1)",
		fmt.Sprintf(run, "reading", "toUUID('10000000-0000-4000-8000-00000000000' || toString(number))", "900 - number",
			OutcomeSuccess, 0, 2, 6),
		fmt.Sprintf(run, "reading", "toUUID('10000000-0000-4000-8000-00000000000' || toString(number))", "900 - number",
			OutcomeRunning, 0, 1, 6),
		fmt.Sprintf(run, "reading", "toUUID('10000000-0000-4000-8000-000000000009')", "880", OutcomeSuccess, 0, 2, 1),
		fmt.Sprintf(run, "alive", "generateUUIDv4(number)", "900", OutcomeRunning, 0, 1, 2),
		fmt.Sprintf(run, "guarded", "generateUUIDv4(number)", "900 - number", OutcomeSuccess, 0, 1, 3),
		fmt.Sprintf(run, "guarded", "generateUUIDv4(number)", "800", OutcomeGuarded, 7, 1, 1),
		reject("old and open", 900, 900, ""),
		reject("old and settled", 900, 880, "loaded"),
		reject("settled lately", 900, 10, "loaded"),
		`INSERT INTO payout_findings_log (account, kind, subject, detail, first_seen, last_seen, resolved_at, version) VALUES
('a', 'drifted', '1', 'x', now64(3) - toIntervalDay(900), now64(3), NULL, 1),
('a', 'drifted', '2', 'x', now64(3) - toIntervalDay(900), now64(3) - toIntervalDay(800), NULL, 1),
('a', 'drifted', '2', 'x', now64(3) - toIntervalDay(900), now64(3) - toIntervalDay(800), now64(3) - toIntervalDay(800), 2),
('a', 'drifted', '3', 'x', now64(3) - toIntervalDay(900), now64(3) - toIntervalDay(800), now64(3) - toIntervalDay(8), 2)`,
	} {
		must(t, w.conn.Exec(t.Context(), s))
	}
}

// reject returns a reject of transactions that was first and last met the given numbers of days ago, and its state.
func reject(key string, first, last int, state string) string {
	const id = "toUUID('10000000-0000-4000-8000-000000000003')"
	settled := "(0, toUUID('00000000-0000-0000-0000-000000000000'), '', toUUID('00000000-0000-0000-0000-000000000000'), toDateTime64(0, 3, 'UTC'))"
	if state != "" {
		settled = fmt.Sprintf("(5, %s, '%s', %s, now64(3) - toIntervalDay(%d))", id, state, id, last)
	}
	return fmt.Sprintf(`INSERT INTO rejects_log (account, stream, key, field, reason, raw, first_seen_at, seen_at, last, counted, times, settled, written_at)
SELECT 'reading', 'transactions', '%s', 'x', 'type', '1', now64(3) - toIntervalDay(%[2]d), now64(3) - toIntervalDay(%[3]d), (4, %[4]s, 1, now64(6) - toIntervalDay(%[3]d), 0), 4, 1, %[5]s, now() - toIntervalDay(%[3]d)`,
		key, first, last, id, settled)
}

// exhausted is a connection that fails after a given number of statements.
type exhausted struct {
	driver.Conn
	left *int
}

func (c exhausted) Exec(ctx context.Context, query string, args ...any) error {
	if *c.left--; *c.left < 0 {
		return errors.New("the process has died")
	}
	return c.Conn.Exec(ctx, query, args...)
}

// A process that dies between two statements of removing leaves complete tables, and the next one continues.
func TestRetireKilled(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	for dies := range 5 {
		w := open(t)
		fillRuns(t, w, 2000)
		fillOdd(t, w)
		before := standingsOf(t, w)
		left := dies
		broken, err := Open(t.Context(), Options{DSN: enginetest.DSN(), Database: w.database, NoRetry: true,
			Wrap: func(c driver.Conn) driver.Conn { return exhausted{c, &left} }})
		must(t, err)
		keep := Retention{Runs: 400 * 24 * time.Hour, Rejects: 400 * 24 * time.Hour, Findings: 400 * 24 * time.Hour}
		_, err = broken.Retire(t.Context(), keep)
		if must(t, broken.Close()); err == nil {
			t.Errorf("after %d statements it went on", dies)
		}
		if diff := cmp.Diff(before, standingsOf(t, w)); diff != "" {
			t.Errorf("after %d statements:\n%s", dies, diff)
		}
		if _, err := w.Retire(t.Context(), keep); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(before, standingsOf(t, w)); diff != "" {
			t.Errorf("after %d statements, and all of it:\n%s", dies, diff)
		}
		runs, err := w.Runs(t.Context(), RunFilter{Limit: 10000})
		must(t, err)
		if slices.ContainsFunc(runs, func(r RunRecord) bool { return r.Outcome == OutcomeRunning && r.Account != "alive" }) {
			t.Errorf("after %d statements: an old run is under way again", dies)
		}
	}
}
