//go:build !noengine

package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"dealhouse/internal/apisim"
	"dealhouse/internal/chdb"
	"dealhouse/internal/enginetest"
)

// syncRow is a row of `dealhouse sync --output json`.
type syncRow struct {
	Account, Stream, Mode, Outcome, Error                        string
	Read, Inserted, Updated, Deleted, Unchanged, Rejected, Pages int
	RunID                                                        string `json:"run_id"`
	Warnings                                                     []string
	DurationSeconds                                              *float64 `json:"duration_seconds"`
}

func parse[T any](t *testing.T, text string) (all []T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return all
}

// sync runs a sync and returns its rows by account and stream.
func (b *bench) sync(t *testing.T, code int, args ...string) (map[string]syncRow, outcome) {
	t.Helper()
	got := b.call(t, append([]string{"sync", "--output", "json"}, args...)...)
	got.want(t, code)
	rows := map[string]syncRow{}
	for _, r := range parse[syncRow](t, got.out) {
		rows[r.Account+" "+r.Stream] = r
	}
	return rows, got
}

// The life of a warehouse, step by step. The steps build on each other, since opening an engine takes its time.
func TestLife(t *testing.T) {
	enginetest.Long(t)
	engineHere(t)
	b := newBench(t)
	t.Run("nothing there yet", b.beforeFirstSync)
	defer hold(t, b.dir)()
	t.Run("wrong key", b.wrongAPIKey)
	t.Run("first sync", b.firstSync)
	t.Run("second sync", b.secondSync)
	t.Run("dry run", b.dryRun)
	t.Run("selection", b.onlySome)
	t.Run("references", b.references)
	t.Run("guard", b.guard)
	t.Run("faults of the service", b.faults)
	t.Run("query", b.queries)
	t.Run("status, runs and check", b.reports)
	t.Run("rejects", b.rejects)
	t.Run("another service", b.anotherService)
}

// hold keeps the engine of a folder open, so that the commands of a test share it: opening one takes its time.
func hold(t *testing.T, dir string) (release func()) {
	t.Helper()
	engine, err := chdb.Open(t.Context(), chdb.Options{Dir: dir, FewRows: enginetest.FewRows()})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}
}

func (b *bench) beforeFirstSync(t *testing.T) {
	got := b.call(t, "sync", "--dry-run")
	got.want(t, 2, b.dir, "dealhouse migrate")
	got = b.call(t, "status")
	got.want(t, 0, "no warehouse")
	got.shows(t, "acme     promotions", "never ran")
	got = b.call(t, "migrate", "--dry-run")
	got.want(t, 0)
	got.shows(t, "CREATE DATABASE IF NOT EXISTS `dealhouse`;", "CREATE OR REPLACE VIEW coupons")
	got = b.call(t, "check")
	got.want(t, 0)
	got.shows(t, "there is no warehouse in")
	if _, err := os.Stat(b.dir); err == nil {
		t.Error("a command that only looks made the folder")
	}
	got = b.call(t, "migrate")
	got.want(t, 0)
	got.shows(t, "Done:")
	got = b.call(t, "migrate")
	got.want(t, 0)
	got.shows(t, "Nothing to do")
	b.call(t, "migrate", "--dry-run").shows(t, "Nothing to do")
}

func (b *bench) wrongAPIKey(t *testing.T) {
	wrong := *b
	wrong.env = []string{"ACME_KEY=" + acmeKey, "GLOBEX_KEY=" + wrongKey}
	rows, got := wrong.sync(t, 3, "promotions", "coupons")
	if n := strings.Count(got.err, "error: "); n != 1 ||
		!strings.Contains(got.err, "error: globex: promotions and coupons: the API refused the key (HTTP 403): check api_key") {
		t.Errorf("%d errors, want one for both streams:\n%s", n, got.err)
	}
	if r := rows["acme coupons"]; r.Outcome != "success" || r.Inserted != b.sim.Count("coupons", "acme") {
		t.Errorf("the other account was stopped too: %+v", r)
	}
	if r := rows["globex coupons"]; r.Outcome != "failed" || r.Error == "" {
		t.Errorf("%+v", r)
	}
	got = wrong.call(t, "check")
	got.want(t, 3)
	got.shows(t, "globex coupons", "FAILED", "refused the key")
}

// firstSync loads everything. Without a wide sample, it loads two streams of an account, and leaves the others to the
// step of the dry run, which syncs everything too.
func (b *bench) firstSync(t *testing.T) {
	rows, _ := b.sync(t, 0, someOfAcme("coupons", "transactions")...)
	accounts, streams := b.sim.Orgs(), orAll(narrow("coupons", "transactions"))
	if !enginetest.Wide() {
		accounts = []string{"acme"}
	}
	if len(rows) != len(accounts)*len(streams) {
		t.Errorf("%d rows", len(rows))
	}
	b.checkFirst(t, rows, accounts, streams...)
}

// checkFirst holds what the first sync of streams of some accounts has counted.
func (b *bench) checkFirst(t *testing.T, rows map[string]syncRow, accounts []string, streams ...string) {
	t.Helper()
	for _, account := range accounts {
		for _, stream := range streams {
			r, count := rows[account+" "+stream], b.sim.Count(stream, account)
			already := account == "acme" && (stream == "promotions" || stream == "coupons") // by the step before
			if r.Outcome != "success" || r.Read != count || r.DurationSeconds == nil || r.RunID == "" || !already &&
				r.Inserted != count {
				t.Errorf("%d records upstream: %+v", count, r)
			}
		}
	}
}

func (b *bench) secondSync(t *testing.T) {
	got := b.call(t, append([]string{"sync", "transactions"}, ofAcme()...)...)
	got.want(t, 0, "stream ended")
	got.shows(t, "account  stream        mode", "transactions  incremental")
	rows, _ := b.sync(t, 0, someOfAcme("coupons", "transactions")...)
	if len(rows) < enginetest.Sample(2, 4) {
		t.Errorf("%d rows", len(rows))
	}
	for _, r := range rows {
		if r.Inserted+r.Updated+r.Deleted > 0 {
			t.Errorf("nothing has changed: %+v", r)
		}
	}
}

func (b *bench) dryRun(t *testing.T) {
	b.sim.Advance(3 * 24 * time.Hour)
	before := b.call(t, "query", "SELECT count(), max(synced_at) FROM coupons", "--output", "csv")
	rows, _ := b.sync(t, 0, append([]string{"--dry-run", "coupons", "transactions"}, ofAcme()...)...)
	if r := rows["acme coupons"]; r.Outcome != "dry_run" || r.Inserted == 0 || r.Deleted == 0 {
		t.Errorf("%+v", r)
	}
	if after := b.call(t, "query", "SELECT count(), max(synced_at) FROM coupons", "--output",
		"csv"); after.out != before.out {
		t.Errorf("before %s after %s", before.out, after.out)
	}
	again, _ := b.sync(t, 0)
	if len(again) != 12 {
		t.Errorf("%d rows", len(again))
	}
	if !enginetest.Wide() {
		b.checkFirst(t, again, b.sim.Orgs(), "promotions", "cashback_offers", "payouts", "products")
		b.checkFirst(t, again, []string{"globex"}, "coupons", "transactions")
	}
	if r := again["acme coupons"]; r.Inserted != rows["acme coupons"].Inserted ||
		r.Deleted != rows["acme coupons"].Deleted {
		t.Errorf("the dry run counted %+v, the run %+v", rows["acme coupons"], r)
	}
	if r := again["acme transactions"]; r.Mode != "incremental" || r.Read > b.sim.Count("transactions", "acme")/2 {
		t.Errorf("%+v", r)
	}
}

func (b *bench) onlySome(t *testing.T) {
	rows, _ := b.sync(t, 0, "cashback-offers", "--account", "globex", "--full")
	if len(rows) != 1 || rows["globex cashback_offers"].Outcome != "success" {
		t.Errorf("%+v", rows)
	}
	rows, _ = b.sync(t, 0, "transactions", "--account", "acme", "--full")
	if r := rows["acme transactions"]; r.Read != b.sim.Count("transactions", "acme") ||
		r.Inserted+r.Updated+r.Deleted > 0 {
		t.Errorf("%+v", r)
	}
}

// references puts an offer upstream that the lists which were loaded do not have, a coupon that nobody knows, and a
// transaction that names both.
func (b *bench) references(t *testing.T) {
	const offer, coupon = "00000000-0000-4000-8000-0000000000aa", "00000000-0000-4000-8000-0000000000bb"
	for stream, record := range map[string]string{
		apisim.StreamCashbackOffers: `{"id":"` + offer + `","category":"new","updatedAt":"2026-01-01T00:00:00Z"}`,
		apisim.StreamTransactions: `{"id":"00000000-0000-4000-8000-0000000000cc","updatedAt":"2026-01-01T00:00:00Z","status":"PENDING","cashbackOfferId":"` + offer +
			`","couponId":"` + coupon + `"}`,
	} {
		if err := b.sim.Put(stream, "acme", []byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	b.sim.SetFault(func(r *http.Request) apisim.Fault {
		if strings.HasSuffix(r.URL.Path, offer) {
			return apisim.Fault{Kind: apisim.FaultStatus, Status: http.StatusServiceUnavailable}
		}
		return apisim.Fault{}
	})
	_, got := b.sync(t, 0, "transactions", "--account", "acme", "--full")
	got.want(t, 0, "warning: acme: cashback_offers: ", "HTTP 503", "account=acme stored=0 not_found=") // and what was not there before
	got.want(t, 0, "warning: acme: transactions: 1 change in 30 days came late, ", "plan full runs")
	b.call(t, "status").shows(t, "transactions of acme: 1 change in 30 days came late, ", "plan full runs")
	if other := b.call(t, "status", "-o", "csv").out; strings.Contains(other, "came late") {
		t.Errorf("it is in a file for programs: %s", other)
	}
	if n := strings.Count(got.err, "warning: "); n != 2 {
		t.Errorf("%d warnings: %s", n, got.err)
	}
	b.sim.SetFault(nil)
	rows, got := b.sync(t, 0, "transactions", "--account", "acme")
	got.want(t, 0, "account=acme stored=1 not_found=0 unusable=0")
	if len(rows) != 1 {
		t.Errorf("the results have what was no run of theirs: %+v", rows)
	}
	b.call(t, "runs", "--account", "acme", "--stream", "cashback_offers").shows(t, "references")
	b.call(t, "query", "SELECT category, listed FROM offers_all WHERE id = '"+offer+"'", "-o", "csv").shows(t,
		"category,listed\nnew,false\n")
	b.call(t, "query", "SELECT stream, reason FROM reference_misses WHERE id = '"+coupon+"'", "-o", "csv").shows(t,
		"coupons,not_found\n")
	b.call(t, "query", "SELECT count() FROM cashback_offers WHERE id = '"+offer+"'", "-o", "csv").shows(t, "\n0\n")
	if rows, _ := b.sync(t, 0, "cashback_offers"); rows["acme cashback_offers"].Inserted != 1 {
		t.Errorf("its list: %+v", rows)
	}
	asked := b.sim.Requests("")
	if _, got := b.sync(t, 0, "transactions"); strings.Contains(got.err, "no list contains") || b.sim.Requests("") != asked+2 {
		t.Errorf("%d requests for two accounts:\n%s", b.sim.Requests("")-asked, got.err)
	}
}

func (b *bench) guard(t *testing.T) {
	var ids []string
	for record := range b.sim.Truth(apisim.StreamCoupons, "") {
		var c struct{ ID string }
		if err := json.Unmarshal(record, &c); err != nil {
			t.Fatal(err)
		}
		if ids = append(ids, c.ID); len(ids) == b.sim.Count("coupons", "")/2 {
			break
		}
	}
	for _, id := range ids {
		if err := b.sim.Delete(apisim.StreamCoupons, "", id); err != nil {
			t.Fatal(err)
		}
	}
	got := b.call(t, "sync", "coupons", "promotions", "--account", "acme")
	got.want(t, 4, "error: acme: coupons: stopped by a guard: ", "--allow-mass-delete")
	got.shows(t, "guarded", "success")
	rows, _ := b.sync(t, 0, "coupons", "--allow-mass-delete")
	if r := rows["acme coupons"]; r.Deleted != len(ids) {
		t.Errorf("%d went: %+v", len(ids), r)
	}
}

func (b *bench) faults(t *testing.T) {
	for _, test := range []struct {
		status, code int
		words        string
	}{
		{http.StatusServiceUnavailable, 1, "the service failed (HTTP 503)"},
		{http.StatusNotFound, 2, "check base_url"},
		{http.StatusUnauthorized, 3, "check api_key"},
	} {
		b.sim.SetFault(func(*http.Request) apisim.Fault {
			return apisim.Fault{Kind: apisim.FaultStatus, Status: test.status}
		})
		b.call(t, "sync", "payouts").want(t, test.code, "error: acme: payouts: ", "error: globex: payouts: ", test.words)
	}
	b.sim.SetFault(nil)
}

func (b *bench) queries(t *testing.T) {
	sql := "SELECT 'a,b' AS s, toDecimal64('112.45', 4) AS d, NULL AS n, toDateTime64('2026-01-02 03:04:05.678', 3, 'UTC') AS t, toInt64(-7) AS i"
	got := b.call(t, "query", sql)
	got.want(t, 0)
	got.shows(t, "s           d  n     t                          i\n",
		"a,b  112.4500  NULL  2026-01-02T03:04:05.678Z  -7\n")
	row := `{"s": "a,b", "d": 112.4500, "n": null, "t": "2026-01-02T03:04:05.678Z", "i": -7}`
	for format, want := range map[string]string{
		"json": "[\n  " + row + "\n]\n", "jsonl": row + "\n",
		"csv": "s,d,n,t,i\n\"a,b\",112.4500,,2026-01-02T03:04:05.678Z,-7\n",
	} {
		if got := b.call(t, "query", sql, "--output", format); got.code != 0 || got.out != want {
			t.Errorf("%s: %d\n%s\nwant\n%s", format, got.code, got.out, want)
		}
	}
	stdin := callWith(t, "SELECT count() AS c FROM payouts;\n", b.env, "query", "-", "-o", "csv", "--config", b.config)
	if want := fmt.Sprintf("c\n%d\n", b.sim.Count("payouts", "acme")+b.sim.Count("payouts", "globex")); stdin.out != want {
		t.Errorf("%q, want %q", stdin.out, want)
	}
	b.call(t, "query", "SELEC 1").want(t, 2, "refused the statement", "code 62")
	b.call(t, "query", "SELECT * FROM nothing").want(t, 2, "SHOW TABLES")
	b.call(t, "query", "DROP TABLE coupons_latest").want(t, 2, "read-only")
	b.call(t, "query", "SELECT * FROM file('/etc/passwd')").want(t, 2, "refused the statement")
	lines := b.call(t, "query", "SELECT number FROM numbers(200000)", "-o", "jsonl")
	if n := strings.Count(lines.out, "\n"); n != 200000 {
		t.Errorf("%d lines", n)
	}
}

func (b *bench) reports(t *testing.T) {
	got := b.call(t, "status")
	got.want(t, 0)
	got.shows(t, "acme     transactions", "ago", "failed") // payouts, by the faults
	for line := range strings.Lines(got.out) {
		if before, text, found := strings.Cut(line, "failed"); found && utf8.RuneCountInString(text) > widestError+10 {
			t.Errorf("%s... an error of %d characters", before, utf8.RuneCountInString(text))
		}
	}
	type row struct {
		Account, Stream string
		Rows            int
		LastSuccess     time.Time `json:"last_success"`
		LastError       string    `json:"last_error"`
		Watermark       *time.Time
	}
	for _, r := range parse[row](t, b.call(t, "status", "--output", "json").out) {
		if r.Rows != b.sim.Count(r.Stream, r.Account) || r.LastSuccess.IsZero() ||
			(r.Watermark != nil) != (r.Stream == "transactions") || (r.LastError != "") != (r.Stream == "payouts") {
			t.Errorf("%+v", r)
		}
	}
	runs := parse[syncRow](t, b.call(t, "runs", "--account", "acme", "--stream", "coupons", "--limit", "3", "-o",
		"json").out)
	if len(runs) != 3 || runs[1].Outcome != "guarded" || runs[1].Error == "" || runs[0].Deleted == 0 {
		t.Errorf("%+v", runs)
	}
	b.call(t, "runs").shows(t, "started", "guarded", "stopped by a guard")
	lines, err := csv.NewReader(strings.NewReader(b.call(t, "runs", "-o", "csv").out)).ReadAll()
	if err != nil || len(lines) != 21 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	got = b.call(t, "check", "-o", "json")
	got.want(t, 0)
	got.shows(t, `"2 accounts, 12 streams enabled"`[1:20], "ClickHouse", "up to date", "API: globex products")
	if strings.Contains(got.out, "FAILED") {
		t.Error(got.out)
	}
	reader := []string{"DEALHOUSE_WAREHOUSE_DSN=embedded:" + b.dir}
	unconfigured := call(t, append(reader, "DEALHOUSE_ACCOUNT=other", "DEALHOUSE_BASE_URL=http://127.0.0.1:1",
		"DEALHOUSE_API_KEY=none"), "status")
	unconfigured.want(t, 0)
	unconfigured.shows(t, "globex   products", "not configured")
	if strings.Contains(unconfigured.out, "failed") { // as the payouts of acme did
		t.Errorf("streams that are not configured have failed:\n%s", unconfigured.out)
	}
	unconfigured = call(t, reader, "status")
	unconfigured.want(t, 0, "no account is configured here")
	unconfigured.shows(t, "globex   products", "failed")
	if strings.Contains(unconfigured.out, "not configured") {
		t.Errorf("nothing is configured, and the status holds that against the streams:\n%s", unconfigured.out)
	}
}
