package web

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// crowd makes a warehouse with the records of this number of accounts, with 30 runs of each stream, most of them
// successful, and a daemon that knows these streams.
func crowd(t testing.TB, accounts int) *bench {
	t.Helper()
	b := newBench(t)
	b.streams = nil
	for i := range accounts {
		for _, stream := range catalog.Names() {
			b.streams = append(b.streams, Stream{Account: fmt.Sprintf("account-%02d", i), Stream: stream, Enabled: true,
				Schedule: "*/5 * * * *", Next: time.Now().Add(4 * time.Minute), StaleAfter: time.Hour})
		}
	}
	// In account 7 the last run of each stream failed because the key was refused. In account 31 a guard stopped the
	// last run of the coupons.
	err := b.w.Conn().Exec(t.Context(), fmt.Sprintf(`INSERT INTO sync_runs_log (account, stream, run_id, mode, started_at, finished_at, outcome, rows_read, inserted, would_delete, error, version)
SELECT 'account-' || leftPad(toString(intDiv(number, 180)), 2, '0') AS account, splitByChar(',', '%s')[intDiv(number, 30) %% 6 + 1] AS stream, generateUUIDv4(), 'snapshot',
    now64(3) - toIntervalMinute(30 - number %% 30) AS started_at, started_at + toIntervalSecond(1),
    multiIf(number %% 30 < 29, 'success', account = 'account-07', 'failed', account = 'account-31' AND stream = 'coupons', 'guarded', 'success') AS how,
    1000 + number %% 77, 3, if(how = 'guarded', 1234, 0),
    multiIf(how = 'failed', 'account account-07: list /v1/deals/' || stream || ': the API refused the key (HTTP 401): check api_key [GET https://api.test/' || stream || ']', how = 'guarded', 'stopped by a guard', ''), 1
FROM numbers(%d)`, strings.Join(catalog.Names(), ","), 180*accounts))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// With many accounts, what needs a person comes first, an error of several streams is shown once, and the other
// accounts are one line each.
func TestManyAccounts(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := crowd(t, 50)
	finding := warehouse.Finding{Account: "account-07", Kind: "missing", Subject: "1", Detail: "payout 1 is missing"}
	if _, err := b.w.RecordFindings(t.Context(), "account-07",
		[]warehouse.Finding{finding, {Account: "account-07", Kind: "missing", Subject: "2",
			Detail: "payout 2 is missing"}}); err != nil {
		t.Fatal(err)
	}
	finding.Account = "account-40"
	if _, err := b.w.RecordFindings(t.Context(), "account-40", []warehouse.Finding{finding}); err != nil {
		t.Fatal(err)
	}
	x, _ := b.serveDesk(t, func(o *Options) { o.Version = "1.2.3" })
	page := func(path string) string {
		t.Helper()
		answer, body := x.get(t, path, as("ops", opsPassword))
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", path, answer.Status)
		}
		return body
	}
	page("/api/v1/status")
	if !x.answers.charts.last(struct{}{}).at.IsZero() {
		t.Error("the runs of charts are read where no chart is shown")
	}
	// The other questions of a page are asked at the same time: here, each of the two waits for the other.
	met := make(chan struct{})
	meet := func(context.Context) {
		select {
		case met <- struct{}{}:
		case <-met:
		case <-time.After(patience):
			t.Error("one waits for the end of the other")
		}
	}
	x.answers.overview(t.Context(), meet, meet)
	body := page("/")
	wantText(t, body, `<h1 data-state="guarded"><a href="/streams/account-31/coupons">A guard stopped the coupons of account-31: a person must look. 6 others are failing.</a>`,
		"It would have deleted 1,234 rows.", "Promotions, Coupons, ",
		"the API refused the key (HTTP 401): check api_key</span>", "2 payout findings", "1 payout finding", "6 up to date",
		`<dt>Version</dt><dd>1.2.3</dd>`, "Not shown: 5 up to date.", "Warehouse on disk", " free</dd>")
	if n := strings.Count(body, "HTTP 401"); n != 1 {
		t.Errorf("an error that six streams have is shown %d times", n)
	}
	var order []string
	for _, m := range regexp.MustCompile(`<h2 id="account-([^"]+)">`).FindAllStringSubmatch(body, -1) {
		order = append(order, m[1])
	}
	if want := []string{"account-31", "account-07"}; !slices.Equal(order, want) {
		t.Errorf("%v come first, not %v", order, want)
	}
	if n := strings.Count(body, `<li class="stream">`); n != 7 {
		t.Errorf("%d streams are shown in full", n)
	}
	for i := range 50 {
		if account := fmt.Sprintf("account-%02d", i); !strings.Contains(body, `href="/?account=`+account+`"`) {
			t.Errorf("nothing leads to %s", account)
		}
	}
	one := page("/?account=account-40")
	if n := strings.Count(one, `<li class="stream">`); n != 6 ||
		!strings.Contains(one, `aria-current="page">account-40`) || !strings.Contains(one, "1 payout finding") ||
		!strings.Contains(one, "Act on account account-40") {
		t.Errorf("the page of one account shows %d streams:\n%s", n, one)
	}
	for _, path := range []string{"/?account=nobody", "/?account=%3Cscript%3E"} {
		if answer, body := x.get(t, path, as("ops", opsPassword)); answer.StatusCode != http.StatusNotFound ||
			strings.Contains(body, "<script") {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
	wantText(t, page("/streams/account-31/coupons"), "Let one run delete 1,234 rows")
	fastest := time.Hour
	for range 5 {
		b.fresh()
		began := time.Now()
		page("/")
		fastest = min(fastest, time.Since(began))
	}
	t.Logf("50 accounts, 300 streams, 9000 runs: %d bytes in %s, with all that is kept gone stale", len(body), fastest)
	if len(body) > 120_000 {
		t.Errorf("the page has %d bytes", len(body))
	}
}

// The headline leads to what it is about.
func TestHeadlineLeads(t *testing.T) {
	t.Parallel()
	fine := stands("payouts", time.Minute)
	failing, again := stands("promotions", time.Hour, faults("failed", time.Minute)), stands("coupons", time.Hour,
		faults("failed", time.Minute))
	elsewhere := stands("coupons", time.Minute)
	elsewhere.id.Account = "globex"
	paused := stands("coupons", 900*time.Hour, faults("failed", time.Minute))
	paused.Paused = &warehouse.Action{Actor: "ops"}
	for _, c := range []struct {
		name    string
		streams []streamState
		to      string
		text    string
	}{
		{"nothing is wrong", []streamState{fine, elsewhere}, "", "All is fine: 2 streams are up to date."},
		{"one stream", []streamState{fine, elsewhere, failing}, "/streams/acme/promotions",
			"The promotions of acme have been failing since 11:59 UTC."},
		{"an account of several", []streamState{elsewhere, failing, fine, again}, "/?account=acme",
			"2 streams of acme have been failing, the first since 11:59 UTC."},
		{"the only account", []streamState{failing, fine, again}, "",
			"2 streams of acme have been failing, the first since 11:59 UTC."},
		{"one is paused", []streamState{fine, paused}, "", "All is fine: the one stream is up to date. 1 stream is paused."},
		{"all are", []streamState{paused}, "", "Every stream is paused: nothing is loaded."},
		{"paused beside another", []streamState{paused, failing}, "/streams/acme/promotions",
			"The promotions of acme have been failing since 11:59 UTC. 1 stream is paused."},
	} {
		o := overview{now: noon, local: noon, known: noon, streams: c.streams}
		for i := range o.streams {
			o.streams[i].state = o.judge(&o.streams[i])
		}
		_, text := o.verdict()
		if to := o.target(o.byAccount()); to != c.to || text != c.text {
			t.Errorf("%s: %q leads to %q", c.name, text, to)
		}
	}
}

// Errors count as equal if they differ only in where they occurred.
func TestErrorsThatAreOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"account acme: list /v1/deals/coupons: the service failed (HTTP 503) after 2 attempts [GET http://x/v1/deals/coupons]", "account acme: list /v1/deals/cashback-offers: the service failed (HTTP 503) after 2 attempts [GET http://x/v1/deals/cashback-offers?cursor=7]", true},
		{"account acme: list /v1/deals/coupons: the service failed (HTTP 503)",
			"account acme: list /v1/deals/cashback-offers: the API refused the key (HTTP 401)", false},
		{"account acme: coupons: stopped by a guard: 3 of 9", "account acme: cashback_offers: stopped by a guard: 4 of 7",
			true},
		{"dial tcp 10.0.0.1:9000: refused", "dial tcp 10.0.0.1:9000: refused", true},
		{"no lease", "no disk", false},
	} {
		if got := essence(c.a, "acme", "coupons") == essence(c.b, "acme", "cashback_offers"); got != c.same {
			t.Errorf("%q and %q: %q, %q", c.a, c.b, essence(c.a, "acme", "coupons"), essence(c.b, "acme", "cashback_offers"))
		}
	}
}
