package web

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/payouts"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// The payouts of these tests, and the sale numbers from which their transactions begin.
const firstPayout = 9_000

// sell sets the state of a transaction, a minute after the last change; payout 0 means none.
func (b *bench) sell(t *testing.T, n int, status, cashback, currency string, payout int) {
	t.Helper()
	b.Advance(time.Minute)
	stamp := "null"
	if payout != 0 {
		stamp = fmt.Sprint(payout)
	}
	now := b.Now()
	record := fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d","soldAt":%q,"updatedAt":%q,"currencyCode":%q,"orderValue":100,"cashback":%s,"status":%q,"payoutId":%s}`,
		n, now.Add(-10*24*time.Hour).Format(time.RFC3339), now.Format(time.RFC3339Nano), currency, cashback, status, stamp)
	if err := b.Put(apisim.StreamTransactions, "acme", []byte(record)); err != nil {
		t.Fatal(err)
	}
}

// pay makes a payout of this number of confirmed transactions.
func (b *bench) pay(t *testing.T, id, transactions int, cashback string) {
	t.Helper()
	day := b.Now().Add(-48 * time.Hour).Format(time.RFC3339)
	record := fmt.Sprintf(`{"id":%d,"startDate":%q,"endDate":%q,"totalTransactions":%d,"totalGmv":%d,"aov":100,"totalCashback":%s,"confirmedTransactions":%d,"confirmedGmv":%d,`+
		`"confirmedCashback":%s,"declinedTransactions":0,"declinedGmv":0,"declinedCashback":0,"pendingTransactions":0,"pendingGmv":0,"pendingCashback":0}`,
		id, day, day, transactions, 100*transactions, cashback, transactions, 100*transactions, cashback)
	if err := b.Put(apisim.StreamPayouts, "acme", []byte(record)); err != nil {
		t.Fatal(err)
	}
}

// books plays a world in which acme has a payout of each kind, in addition to those that were generated.
func (b *bench) books(t *testing.T) {
	t.Helper()
	for i, p := range []struct {
		transactions int
		cashback     string
		currencies   []string
	}{
		{1, "1234.5", []string{"EUR"}},      // matched
		{2, "3000", []string{"EUR", "EUR"}}, // drifted: one is declined later
		{3, "3", []string{"USD", "USD"}},    // missing: one of three
		{1, "10.01", []string{"EUR"}},       // mismatched, by 0.01
		{2, "4", []string{"EUR", hostile}},  // mixed currency, of hostile names
		{1, "0", nil},                       // none of its transactions is loaded
		{1, "6.5", []string{"GBP"}},         // altered later
	} {
		id := firstPayout + i
		b.pay(t, id, p.transactions, p.cashback)
		for j, currency := range p.currencies {
			each := decimal.RequireFromString(p.cashback).Sub(decimal.New(int64(i/3%2*(1-i%3)),
				-2)).Div(decimal.NewFromInt(int64(p.transactions)))
			b.sell(t, 10*id+j, "CONFIRMED", each.String(), currency, id)
		}
	}
	b.sell(t, 1, "CONFIRMED", "17.05", "EUR", 9_999) // an orphan
	b.mustSync(t, "acme", "transactions", "payouts")
	b.sell(t, 10*(firstPayout+1), "DECLINED", "1500", "EUR", firstPayout+1)
	b.pay(t, firstPayout+6, 1, "7.5")
	b.mustSync(t, "acme", "transactions", "payouts")
	b.bank(t)
}

// bank imports what reached the bank: one payout, with a fee, and an amount for no known payout.
func (b *bench) bank(t *testing.T) {
	t.Helper()
	const file = "reference,received_on,currency,amount,fee,payouts,text\nbank-9001,2026-03-28,EUR,2998.50,1.50,9001,\nbank-lost,2026-03-29,EUR,7.77,,,of whom is this\n"
	read, err := payouts.ReadFile(strings.NewReader(file), payouts.Rules{Account: "acme",
		Until: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil || len(read.Problems) > 0 {
		t.Fatal(err, read.Problems)
	}
	if _, err := payouts.Import(t.Context(), b.w, read.Rows, payouts.Options{Source: "bank.csv", By: "ann"}); err != nil {
		t.Fatal(err)
	}
}

// soon wants the page of payouts to show a text soon, since it may be read in the background.
func (x *site) soon(t *testing.T, text string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	for every := time.NewTicker(20 * time.Millisecond); ; {
		body := x.page(t, "/payouts")
		if strings.Contains(body, text) {
			return body
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			t.Fatalf("%q does not come: %s", text, strings.Join(strings.Fields(markup.ReplaceAllString(body, " ")), " "))
		}
	}
}

// TestPayouts compares the page with what `dealhouse reconcile` is made from, for a payout of each kind.
func TestPayouts(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBench(t)
	x := b.serve(t, func(o *Options) { o.OverdueAfter = func() time.Duration { return 60 * 24 * time.Hour } })
	empty := x.soon(t, "There are no payouts.")
	wantText(t, empty, "They have not been loaded yet.", `aria-current="page"`, `href="/payouts"`)
	if strings.Contains(empty, `class="ledger"`) {
		t.Error("without payouts there is a list")
	}

	b.books(t)
	b.mustSync(t, "globex", "payouts")
	b.pass(payoutsFor)
	wantText(t, x.page(t, "/payouts"), "There are no payouts.") // the last answer, while a new one is made
	page := x.soon(t, "The payouts of acme need a look.")
	r, err := payouts.Reconcile(t.Context(), b.w, payouts.Filter{OverdueAfter: 60 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page, "<script>") || !strings.Contains(page, escaped) {
		t.Error("hostile text is not text")
	}
	page = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#43;", "+", "&#39;", "'").Replace(page)
	for _, account := range []string{"acme", "globex"} {
		if !strings.Contains(page, r.Of(account).Summary()) {
			t.Errorf("%q is not on the page", r.Of(account).Summary())
		}
	}
	for i, verdict := range []string{"matched", "drifted", "missing", "mismatched", "matched, mixed currency",
		"no transactions", "mismatched, altered"} {
		p := r.Payouts[indexOf(t, r, firstPayout+int64(i))]
		if p.Word() != verdict {
			t.Errorf("payout %d is %s, want %s: %s", p.ID, p.Word(), verdict, p.Advice())
		}
		row := rowOf(t, page, fmt.Sprintf("acme/%d", p.ID))
		wantText(t, row, p.Period(), p.Advice()[1:], `href="/payouts/acme/`+fmt.Sprint(p.ID)+`"`)
		for _, label := range strings.Split(verdict, ", ") {
			wantText(t, row, ">"+label+"</span>")
		}
		for _, l := range p.Explained.Lines {
			wantText(t, row, term.Grouped(payouts.MoneyIn(l.Currency, l.Paid)), ">"+l.Currency+"</span>")
		}
	}
	wantText(t, rowOf(t, page, "acme/9001"), "Expect EUR 1,500.00 back: 1 transaction was declined after it was paid",
		`<dt>expect back</dt><dd><span class="unit">EUR</span> 1,500.00`, `data-state="late"`)
	wantText(t, rowOf(t, page, "acme/9003"), `<dt>error in payout</dt><dd><span class="unit">EUR</span> `, "0.01</dd>",
		`data-state="failing"`)
	if row := rowOf(t, page, "acme/9000"); strings.Contains(row, `data-state="late"`) ||
		!strings.Contains(row, `data-state="fine"`) {
		t.Errorf("what needs nothing is not fine: %s", row)
	}
	wantText(t, rowOf(t, page, "acme/9006"), "total_cashback from 6.5 to 7.5")
	if strings.Index(page, `data-live="acme/9006"`) > strings.Index(page, `data-live="acme/9005"`) {
		t.Error("the newest payout is not the first")
	}
	wantText(t, page, "1 transaction (EUR 17.05) carries payout 9999", "dealhouse reconcile --account acme",
		"over 60 days old", "<h3>March 2026</h3>", `href="/statements/acme/2026-03"`)
	wantText(t, x.page(t, "/"), ">Payouts</a>")
	y, _ := b.serveDesk(t, func(o *Options) { o.OverdueAfter = func() time.Duration { return 60 * 24 * time.Hour } })
	t.Run("pages", func(t *testing.T) { testPayoutPages(t, b, y, r) })
	t.Run("downloads", func(t *testing.T) { testDownloads(t, b, y, r) })
	t.Run("cut off", func(t *testing.T) { testCutOff(t, b) })
	t.Run("acknowledge", func(t *testing.T) { testAcknowledge(t, b, y) })
	t.Run("close", func(t *testing.T) { testClose(t, b, y) })
}

// rowOf returns what the page shows about one payout.
func rowOf(t *testing.T, page, key string) string {
	t.Helper()
	_, row, found := strings.Cut(page, `<li data-live="`+key+`">`)
	if !found {
		t.Fatalf("there is no payout %s", key)
	}
	row, _, _ = strings.Cut(row, `<li data-live=`)
	return row
}

func indexOf(t *testing.T, r payouts.Reconciliation, id int64) int {
	t.Helper()
	for i, p := range r.Payouts {
		if p.Account == "acme" && p.ID == id {
			return i
		}
	}
	t.Fatalf("there is no payout %d", id)
	return 0
}

// TestManyPayouts: the page says how many payouts it does not show, and how many of them need work.
func TestManyPayouts(t *testing.T) {
	t.Parallel()
	var r payouts.Reconciliation
	for i := range shownPayouts + 10 {
		p := warehouse.Payout{Account: "acme", ID: int64(1000 - i), Verdict: payouts.Matched}
		if i >= shownPayouts+7 {
			p.Verdict = payouts.Mismatched
		}
		n := len(warehouse.PayoutTotals())
		p.Reported, p.Stamped, p.AsOfNow, p.Difference = make([]*decimal.Decimal, n), make([]*decimal.Decimal,
			n), make([]*decimal.Decimal, n), make([]*decimal.Decimal, n)
		r.Payouts = append(r.Payouts, payouts.Payout{Payout: p})
	}
	for i := range shownOthers + 5 {
		r.Orphans = append(r.Orphans, warehouse.OrphanGroup{Account: "acme", Payout: int64(i), Transactions: 1})
	}
	a := newAccountPayouts(r.Of("acme"))
	if len(a.Months) != 1 || len(a.Months[0].Payouts) != shownPayouts || a.Months[0].Payouts[0].ID != "1000" ||
		a.Total != shownPayouts+10 || a.Unshown != 3 || len(a.Others) != shownOthers || a.MoreOther != 5 ||
		a.State != stateFailing {
		t.Errorf("%d months, %d payouts, %d others and %d more, %d unshown, %s", len(a.Months), a.Total, len(a.Others),
			a.MoreOther, a.Unshown, a.State)
	}
	pages, err := parsePages()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := pages["payouts.html"].ExecuteTemplate(&out, "content",
		page{Body: payoutsPage{Compared: &moment{}, Accounts: []accountPayouts{a}, Shown: shownPayouts}}); err != nil {
		t.Fatal(err)
	}
	wantText(t, out.String(), "The newest 200 of 210 are shown; of the older ones, 3 need a look.", "and 5 more")
}

// stuck is a connection on which the reconciliation waits until the test lets it continue.
type stuck struct {
	driver.Conn
	began chan struct{}
	held  *atomic.Bool
	free  chan struct{}
}

func (c stuck) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	if c.held.Load() && strings.Contains(query, "payout_reconciliation") {
		c.began <- struct{}{}
		select {
		case <-c.free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return c.Conn.Query(ctx, query, args...)
}

// TestSlowPayouts: the page answers while the comparison takes longer than a viewer waits. It runs once for all
// viewers, and the server can end without waiting for it. For wide samples: TestPayouts shows the last answer
// while a new one is made.
func TestSlowPayouts(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	b := newBench(t)
	b.mustSync(t, "acme", "transactions", "payouts")
	c := stuck{began: make(chan struct{}, 100), held: &atomic.Bool{}, free: make(chan struct{})}
	c.held.Store(true)
	w := b.wrapped(t, func(conn driver.Conn) driver.Conn {
		c := c
		c.Conn = conn
		return c
	})
	x := b.serve(t, func(o *Options) { o.Warehouse, o.Waits.Viewer = w, time.Millisecond })
	for range 2 {
		wantText(t, x.page(t, "/payouts"), "The payouts are being compared with their transactions.", `data-refresh="1500"`)
	}
	wantText(t, x.page(t, "/"), "2 streams are up to date")
	select {
	case c.free <- struct{}{}:
	case <-time.After(patience):
		t.Fatal("no comparison is under way any more")
	}
	x.soon(t, "Compared ")
	if n := len(c.began); n != 1 {
		t.Errorf("%d comparisons", n)
	}
	b.pass(payoutsFor)
	wantText(t, x.page(t, "/payouts"), ">1 minute ago</time>")
	for range 2 {
		<-c.began
	}
	x.vanish() // would wait forever
}

// TestPayoutsUnreachable makes the warehouse unreachable. For wide samples: TestUnreachable has a
// warehouse that does not answer.
func TestPayoutsUnreachable(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	b := newBench(t)
	b.mustSync(t, "acme", "transactions", "payouts")
	var broken atomic.Bool
	w := b.wrapped(t, func(c driver.Conn) driver.Conn { return cut{c, &broken} })
	through := func(o *Options) { o.Warehouse = w }
	x := b.serve(t, through)
	x.soon(t, "Compared ")
	broken.Store(true)
	b.pass(3 * time.Minute)
	wantText(t, x.page(t, "/payouts"), "The warehouse does not answer (", "connection refused", ">3 minutes ago</time>",
		`data-live="acme/`)
	y := b.serve(t, through)
	wantText(t, y.page(t, "/payouts"), "The warehouse does not answer.", "connection refused")
	broken.Store(false)
	b.pass(payoutsFor)
	y.soon(t, "Compared ")
}

// doubt records checks of a stream of which one fails, with hostile text.
func (b *bench) doubt(t *testing.T, account, stream string) {
	t.Helper()
	const one = "INSERT INTO quality_checks_log SELECT ?, ?, ?, ?, ?, ?, 0, ?, now64(3) - INTERVAL ? SECOND"
	for _, c := range []struct {
		check, detail string
		found, ago    int
	}{
		{"amounts_not_negative", "", 0, 6 * 3600}, {"amounts_not_negative", "3 rows have an amount below zero: look at " + hostile,
			3, 5 * 3600},
		{"statuses_known", "which has passed since", 2, 6 * 3600}, {"statuses_known", "", 0, 5 * 3600},
		{"keys_unique", "", 0, 5 * 3600},
	} {
		if err := b.w.Conn().Exec(t.Context(), one, account, stream, uuid.New(), c.check, c.detail == "", c.found, c.detail,
			c.ago); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFailedChecks wants a failed check to be shown, and the stream's state not to change.
func TestFailedChecks(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBench(t)
	b.narrow("coupons", "products")
	for _, account := range b.Orgs() {
		b.mustSync(t, account, b.configured(account)...)
	}
	x := b.serve(t, nil)
	wantText(t, x.page(t, "/"), fmt.Sprintf("All is fine: %d streams are up to date.", len(b.streams)))
	wantText(t, x.page(t, "/streams/acme/coupons"), "Nothing has been checked yet.")
	b.doubt(t, "acme", "coupons")
	b.fresh()
	page := x.page(t, "/")
	wantText(t, page, `<h1 data-state="doubtful"><a href="/streams/acme/coupons">Everything is loaded, but a check of the coupons of acme failed.</a>`, "The check <code>amounts_not_negative</code> failed", ">5 hours ago</time>", "look at "+escaped)
	if n := strings.Count(page, ">Up to date</span>"); n != len(b.streams) {
		t.Errorf("%d streams are up to date, want all", n)
	}
	if strings.Contains(page, "which has passed since") {
		t.Error("a check that holds now is shown as it was")
	}
	page = x.page(t, "/streams/acme/coupons")
	wantText(t, page, "<code>statuses_known</code>", "<code>keys_unique</code>", ">holds<", ">failed<", escaped)
	if strings.Index(page, "<code>amounts_not_negative</code></th>") > strings.Index(page,
		"<code>keys_unique</code></th>") {
		t.Error("what failed is not the first")
	}
	var status statusJSON
	x.json(t, "/api/v1/status", &status)
	for _, s := range status.Streams {
		if s.State != stateFine || s.FailedChecks == nil {
			t.Errorf("%+v", s)
		}
		if s.Account == "acme" && s.Stream == "coupons" {
			if len(s.FailedChecks) != 1 || s.FailedChecks[0].CheckedAt == "" {
				t.Fatalf("%+v", s.FailedChecks)
			}
			want := checkJSON{"amounts_not_negative", "3 rows have an amount below zero: look at " + hostile,
				s.FailedChecks[0].CheckedAt}
			if d := cmp.Diff(want, s.FailedChecks[0]); d != "" {
				t.Error(d)
			}
		} else if len(s.FailedChecks) > 0 {
			t.Errorf("%+v", s)
		}
	}
	if status.State != stateDoubtful {
		t.Errorf("%s: %s", status.State, status.Summary)
	}
	b.fail(t, "globex", "products")
	b.pass(freshFor)
	wantText(t, x.page(t, "/"), "The products of globex have been failing")
}
