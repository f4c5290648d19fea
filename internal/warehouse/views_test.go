package warehouse

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
)

func wantRows(t *testing.T, w *Warehouse, query string, want ...string) {
	t.Helper()
	cells := "SELECT arrayStringConcat([COLUMNS('.*') APPLY (x -> ifNull(toString(x), '-'))], ' ') FROM (" + query + ")"
	if d := cmp.Diff(append([]string{}, want...), append([]string{}, text(t, w, cells)...)); d != "" {
		t.Errorf("%s: %s", query, d)
	}
}

const retailerA = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"

// TestDecisions follows transactions from sale to decision over several runs.
func TestDecisions(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	step := func(scope Scope, page string) {
		t.Helper()
		load(t, w, "transactions", scope, page)
	}
	const decided = "SELECT id, confirmed_at, declined_at, round(days_to_confirm, 2), round(days_to_decline, 2) FROM transaction_decisions ORDER BY id"
	// B is already confirmed when it is first seen: nobody knows since when.
	step(Part, "["+transaction(idA, "PENDING", "1", day1, "")+","+transaction(idB, "CONFIRMED", "1", day1, "")+","+
		transaction(idC, "PENDING", "1", day1, "")+"]")
	wantRows(t, w, decided)
	step(Part, "["+transaction(idA, "CONFIRMED", "1", "2026-01-05T02:00:00Z", "")+"]")
	wantRows(t, w, decided, idA+" 2026-01-05 02:00:00.000 - 4 -")
	// A is put into a payout, and later declined after all: the first time of each state counts. C is declined.
	step(Part, "["+transaction(idA, "CONFIRMED", "1", "2026-01-06T00:00:00Z", `,"payoutId":1`)+"]")
	step(Part, "["+transaction(idA, "DECLINED", "1", "2026-01-07T02:00:00Z", `,"payoutId":1`)+","+
		transaction(idC, "DECLINED", "1", "2026-01-02T14:00:00Z", "")+"]")
	wantRows(t, w, decided, idA+" 2026-01-05 02:00:00.000 2026-01-07 02:00:00.000 4 6",
		idC+" - 2026-01-02 14:00:00.000 - 1.5")
	wantRows(t, w, "SELECT account, month, currency_code, transactions, pending, confirmed, declined, median_hours_to_sale, confirmed_seen, median_days_to_confirm, declined_seen, p90_days_to_decline, median_days_pending FROM confirmation_funnel",
		"acme 2026-01-01 EUR 3 0 1 2 2 1 4 2 6 -")
	// A is gone from the list, and comes back.
	step(Whole, "["+transaction(idB, "CONFIRMED", "1", day1, "")+","+
		transaction(idC, "DECLINED", "1", "2026-01-02T14:00:00Z", "")+"]")
	wantRows(t, w, "SELECT id FROM transaction_decisions", idC)
	step(Part, "["+transaction(idA, "DECLINED", "1", "2026-01-07T02:00:00Z", "")+"]")
	wantRows(t, w, "SELECT id FROM transaction_decisions ORDER BY id", idA, idC)
	if !enginetest.Wide() {
		return // TestRebuild checks the same for all derived tables
	}
	// What was loaded before this table existed is computed from all versions.
	if err := w.exec(t.Context(), "TRUNCATE TABLE transactions_decided"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.RebuildDerived(t.Context(), StreamID{"acme", "transactions"}); err != nil {
			t.Fatal(err)
		}
		wantRows(t, w, "SELECT id FROM transaction_decisions ORDER BY id", idA, idC)
	}
}

func TestEnriched(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	load(t, w, "coupons", Whole, "["+coupon(idA, "SAVE", day1)+","+coupon(idB, "OLD", day1)+"]")
	load(t, w, "coupons", Whole, "["+coupon(idA, "SAVE", day1)+"]")
	load(t, w, "cashback_offers", Whole, `[{"id":"`+idA+
		`","category":"Shoes","hostname":"a.test","cashbackPercentage":0.05,"updatedAt":"2026-01-01T00:00:00Z"}]`)
	load(t, w, "transactions", Part, "["+
		transaction(idA, "PENDING", "1", day1, `,"couponId":"`+idA+`","cashbackOfferId":"`+idA+`"`)+","+
		transaction(idB, "PENDING", "1", day1, `,"couponId":"`+idB+`"`)+","+
		transaction(idC, "PENDING", "1", day1, `,"couponId":"`+idC+`"`)+"]")
	wantRows(t, w, "SELECT id, coupon_code, coupon_listed, offer_category, offer_cashback_percentage, offer_listed, hostname, promotion_listed FROM transactions_enriched ORDER BY id",
		idA+" SAVE true Shoes 0.05 true a.test -", idB+" OLD false  - -  -", idC+"  -  - -  -")
	// Deals are those of the account.
	if err := w.exec(t.Context(), "INSERT INTO transactions_latest SELECT * REPLACE ('other' AS account) FROM (SELECT * FROM transactions_latest)"); err != nil {
		t.Fatal(err)
	}
	wantRows(t, w, "SELECT account, countIf(coupon_code != '') FROM transactions_enriched GROUP BY account ORDER BY account", "acme 2", "other 0")
}

func TestRetailers(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	of := func(more string) string { return `,"retailerId":"` + retailerA + `"` + more }
	load(t, w, "coupons", Whole, `[{"id":"`+idA+
		`","name":"Shop","hostname":"shop.test","logo":"l1","endDate":"2026-01-01T00:00:00Z"`+of("")+`},`+
		`{"id":"`+idB+`","name":"Shop","hostname":"shop.test"`+of("")+`},{"id":"`+idC+
		`","name":"No UUID","retailerId":"shop-7"}]`)
	load(t, w, "promotions", Whole, `[{"id":"`+idA+`","name":"Shop"`+of(`,"startDate":"2200-01-01T00:00:00Z"`)+`}]`)
	load(t, w, "transactions", Part, "["+transaction(idA, "PENDING", "1", day1, of(`,"retailerName":"Shop Ltd"`))+","+
		transaction(idB, "PENDING", "1", day1, `,"retailerName":"No UUID"`)+"]")
	wantRows(t, w, "SELECT ifNull(toString(retailer_id), '-'), name, hostname, logo, live_promotions, live_coupons, live_cashback_offers, transactions, last_sold_at FROM retailers ORDER BY retailer_id NULLS LAST",
		retailerA+" Shop Ltd shop.test l1 0 1 0 1 2026-01-01 02:00:00.000", "- No UUID   0 1 0 1 2026-01-01 02:00:00.000")
}

// TestRetailersKeepWhatIsKnown checks that a newer deal without a value for an attribute does not remove the known
// value. For wide samples: TestRetailers has their main path.
func TestRetailersKeepWhatIsKnown(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	deal := func(id, updatedAt, more string) string {
		return `{"id":"` + id + `","retailerId":"` + retailerA + `","name":"Shop","updatedAt":"` + updatedAt + `"` + more +
			`}`
	}
	load(t, w, "coupons", Whole, "["+deal(idA, day1, `,"hostname":"old.test","logo":"old"`)+","+
		deal(idB, "2026-01-05T00:00:00Z", `,"hostname":"shop.test"`)+","+deal(idC, "2026-01-06T00:00:00Z", "")+"]")
	load(t, w, "promotions", Whole, "["+deal(idA, "2026-01-04T00:00:00Z", `,"logo":"new"`)+","+
		deal(idB, "2026-01-07T00:00:00Z", "")+"]")
	load(t, w, "cashback_offers", Whole, "["+deal(idA, "2026-01-03T00:00:00Z", `,"hostname":"older.test","logo":"older"`)+
		"]")
	// The row that was loaded last is not the row that changed last.
	load(t, w, "transactions", Part, "["+transaction(idA, "PENDING", "1", day2,
		`,"retailerId":"`+retailerA+`","retailerName":"Old Shop","retailerLogo":"oldest"`)+"]")
	wantRows(t, w, "SELECT name, hostname, logo FROM retailers", "Shop shop.test new")
}

// TestDaysOutsideDate checks that sales whose day does not fit into ClickHouse's Date belong to their own day and
// month. For wide samples: TestDays has days of their usual range.
func TestDaysOutsideDate(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	sale := func(id, soldAt string) string {
		return `{"id":"` + id + `","status":"PENDING","currencyCode":"EUR","soldAt":"` + soldAt + `","clickedAt":"` + soldAt +
			`","payoutId":1,"updatedAt":"` + soldAt + `"}`
	}
	load(t, w, "transactions", Part, "["+sale(idA, "1950-03-10T05:06:07.008Z")+","+sale(idB, "2200-11-30T23:59:59Z")+","+
		sale(idC, "1969-12-31T23:59:59.999Z")+"]")
	load(t, w, "payouts", Whole, "["+payout(1, 3, 0)+"]")
	want := []string{"1950-03-10", "1969-12-31", "2200-11-30"}
	wantRows(t, w, "SELECT day FROM daily_cashback ORDER BY day", want...)
	wantRows(t, w, "SELECT month FROM confirmation_funnel ORDER BY month", "1950-03-01", "1969-12-01", "2200-11-01")
	wantRows(t, w, "SELECT quarter FROM payout_sums ORDER BY quarter", "1950-03-10 05:00:00.000",
		"1969-12-31 23:45:00.000", "2200-11-30 23:45:00.000")
	wantRows(t, w, "SELECT transactions_late FROM payout_reconciliation", "2")
	days, err := w.RowsByDay(t.Context(), StreamID{"acme", "transactions"}, 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range days {
		got = append(got, d.Day.Format("2006-01-02"))
	}
	if d := cmp.Diff(want[:2], got); d != "" { // the third is in the future
		t.Error(d)
	}
}

// TestMedians checks that the median of an even number of values is the mean of the two in the middle.
func TestMedians(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	var sales []string
	for i, id := range []string{idA, idB, idC, idD} {
		hours := []string{"01", "02", "05", "11"}[i]
		sales = append(sales, `{"id":"`+id+`","status":"PENDING","currencyCode":"EUR","clickedAt":"2026-01-01T00:00:00Z","soldAt":"2026-01-01T`+hours+`:00:00Z","updatedAt":"`+day1+`"}`)
	}
	load(t, w, "transactions", Part, "["+strings.Join(sales, ",")+"]")
	wantRows(t, w, "SELECT median_hours_to_sale FROM confirmation_funnel", "3.5")
	load(t, w, "transactions", Part, "["+strings.ReplaceAll(strings.ReplaceAll(strings.Join(sales, ","), "PENDING",
		"CONFIRMED"), `"updatedAt":"`+day1, `"updatedAt":"2026-01-03T00:00:00Z`)+"]")
	wantRows(t, w, "SELECT round(24 * median_days_to_confirm, 9), confirmed_seen FROM confirmation_funnel", "44.5 4")
}

// TestSinceKeepsWhatHasNoDate checks that a payout without an end is not left out as too old. For wide samples: only
// payouts without an end depend on it.
func TestSinceKeepsWhatHasNoDate(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	load(t, w, "payouts", Whole, `[{"id":1,"endDate":"2025-01-01T00:00:00Z"},{"id":2},{"id":3,"endDate":"2026-01-01T00:00:00Z"}]`)
	load(t, w, "transactions", Part, `[{"id":"`+idA+`","payoutId":8,"updatedAt":"`+day1+`"},{"id":"`+idB+
		`","payoutId":9,"soldAt":"2025-01-01T00:00:00Z","updatedAt":"`+day1+`"}]`)
	f := PayoutFilter{Since: time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)}
	payouts, err := w.Payouts(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	orphans, err := w.PayoutOrphans(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	if len(payouts) != 2 || payouts[0].ID != 3 || payouts[1].ID != 2 || len(orphans) != 1 || orphans[0].Payout != 8 {
		t.Errorf("%+v\n%+v", payouts, orphans)
	}
}

func TestDailyCashback(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	load(t, w, "transactions", Part, "["+transaction(idA, "PENDING", "1.0001", day1, "")+","+
		transaction(idB, "PENDING", "2.0002", day1, `,"payoutId":3`)+","+
		`{"id":"`+idC+`","status":"PENDING","currencyCode":"GBP"}]`)
	wantRows(t, w, "SELECT day, currency_code, status, transactions, order_value, cashback, paid_transactions, paid_cashback FROM daily_cashback ORDER BY currency_code",
		"2026-01-01 EUR PENDING 2 20 3.0003 1 2.0002", "- GBP PENDING 1 0 0 0 0")
}

// TestPaidIsNotDeclined: a declined sale is not paid, though its payout counts it, also when it is declined later.
func TestPaidIsNotDeclined(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	load(t, w, "transactions", Part, "["+transaction(idA, "CONFIRMED", "1.5", day1, `,"payoutId":3`)+","+
		transaction(idB, "DECLINED", "2.25", day1, `,"payoutId":3`)+","+transaction(idC, "PENDING", "4", day1, `,"payoutId":3`)+"]")
	sums := "SELECT sum(paid_transactions), sum(paid_cashback) FROM daily_sales"
	wantRows(t, w, sums, "2 5.5")
	load(t, w, "transactions", Part, "["+transaction(idC, "DECLINED", "4", day2, `,"payoutId":3`)+"]")
	wantRows(t, w, sums, "1 1.5")
	wantRows(t, w, "SELECT sum(paid_cashback) FROM daily_cashback WHERE status = 'DECLINED'", "0")
}

// TestDealsActive reads lists as they were at each moment between runs.
func TestDealsActive(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	deal := func(id, code, start, end string) string {
		text := `{"id":"` + id + `","code":"` + code + `"`
		if start != "" {
			text += `,"startDate":"` + start + `"`
		}
		if end != "" {
			text += `,"endDate":"` + end + `"`
		}
		return text + "}"
	}
	moments := []string{}
	look := func() {
		moments = append(moments, text(t, w, "SELECT now64(3)")[0])
		if err := w.exec(t.Context(), "SELECT sleep(0.002)"); err != nil { // the clock of the engine has milliseconds
			t.Fatal(err)
		}
	}
	at := func(i int) string {
		return "SELECT code FROM deals_active(at = '" + moments[i] + "') ORDER BY code"
	}
	look()
	load(t, w, "coupons", Whole, "["+deal(idA, "open", "", "")+","+
		deal(idB, "ended", "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z")+","+deal(idC, "later", "2200-01-01T00:00:00Z", "")+
		"]")
	look()
	load(t, w, "coupons", Whole, "["+deal(idB, "again", "2020-01-01T00:00:00Z", "")+","+
		deal(idC, "later", "2200-01-01T00:00:00Z", "")+"]")
	look()
	load(t, w, "coupons", Whole, "["+deal(idA, "back", "", "")+","+
		deal(idB, "again", "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z")+"]")
	look()
	load(t, w, "cashback_offers", Whole, `[{"id":"`+idA+`","category":"Shoes"}]`)
	wantRows(t, w, at(0))
	wantRows(t, w, at(1), "open")
	wantRows(t, w, at(2), "again")
	wantRows(t, w, at(3), "back")
	wantRows(t, w, "SELECT kind, code, category FROM deals_active(at = now64(3)) ORDER BY kind", "cashback_offer  Shoes",
		"coupon back ")
	wantRows(t, w, "SELECT kind, code, category FROM deals_active_now ORDER BY kind", "cashback_offer  Shoes",
		"coupon back ")
	wantRows(t, w, "SELECT code FROM deals_active(at = '2200-06-01 00:00:00') WHERE kind = 'coupon'", "back")
}

func TestProductPriceChanges(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	load(t, w, "products", Whole, `[{"url":"https://a.test","currencyCode":"EUR","history":[{"yearMonthDay":"2026-01-01","price":10,"views":1},{"yearMonthDay":"2026-01-02","price":10,"views":2},`+
		`{"yearMonthDay":"2026-01-04","views":9},{"yearMonthDay":"2026-01-05","price":12.5,"views":3}]},{"url":"https://b.test","currencyCode":"EUR","history":[{"yearMonthDay":"2026-01-01","price":0,"views":1},{"yearMonthDay":"2026-01-02","price":1}]}]`)
	// From then on A is sold in another currency. Its first price there is not a change.
	load(t, w, "products", Whole, `[{"url":"https://a.test","currencyCode":"USD","history":[{"yearMonthDay":"2026-01-06","price":13,"views":4},{"yearMonthDay":"2026-01-07","price":6.5,"views":5}]},{"url":"https://b.test","currencyCode":"EUR"}]`)
	wantRows(t, w, "SELECT currency_code, day, price, previous_day, previous_price, change, change_percent, views, previous_views FROM product_price_changes ORDER BY currency_code, price DESC",
		"EUR 2026-01-05 12.5 2026-01-02 10 2.5 25 3 2", "EUR 2026-01-02 1 2026-01-01 0 1 - - 1",
		"USD 2026-01-07 6.5 2026-01-06 13 -6.5 -50 5 4")
}

// TestViewsHaveTheirTypes compares a view's list of columns, which the dictionary and BI tools show, with what a
// query returns.
func TestViewsHaveTheirTypes(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	views, err := w.Dictionary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range views {
		from := asked(t, v)
		var want, got []string
		for _, c := range v.Columns {
			want = append(want, c.Name+" "+c.Type)
		}
		rows, err := w.conn.Query(t.Context(), "DESCRIBE (SELECT * FROM "+from+")")
		if err != nil {
			t.Fatal(err)
		}
		cells := make([]string, len(rows.Columns()))
		into := make([]any, len(cells))
		for i := range cells {
			into[i] = &cells[i]
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			got = append(got, cells[0]+" "+cells[1])
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", v.Name, d)
		}
	}
}

// TestDictionary parses the comments of views of each sort.
func TestDictionary(t *testing.T) {
	t.Parallel()
	w := open(t)
	views, err := w.Dictionary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	columns := map[string]ViewColumn{}
	// What dealhouse writes itself has no source: facts about its own work, what people enter, and the columns that
	// each stream's rows get. The comments that are in migrations lack units, too: migrations are never changed.
	migrated := []string{"payout_findings", "schema_migrations", "settlement_revisions", "sync_runs", "sync_state"}
	own := append([]string{"notifications", "operator_actions", "payout_acknowledgements", "quality_checks",
		"reference_misses", "rejected_records", "statement_closes", "unknown_fields", "vanished_fields"}, migrated...)
	for _, v := range views {
		framed := slices.ContainsFunc(v.Columns, func(c ViewColumn) bool { return c.Name == "synced_at" })
		if v.Meaning == "" || len(v.Columns) == 0 {
			t.Errorf("%s has %d columns and means %q", v.Name, len(v.Columns), v.Meaning)
		}
		for _, c := range v.Columns {
			columns[v.Name+"."+c.Name] = c
			if c.Source == "" && !framed && c.Name != "kind" && !slices.Contains(own, v.Name) {
				t.Errorf("%s.%s does not say what it is made from: %+v", v.Name, c.Name, c)
			}
			number := strings.Contains(c.Type, "Int64") && !strings.HasPrefix(c.Type, "Array") &&
				!strings.Contains("_"+c.Name+"_", "_id_") && c.Name != "key"
			if c.Unit == "" && (number || strings.Contains(c.Type, "DateTime")) && !slices.Contains(migrated, v.Name) {
				t.Errorf("%s.%s has no unit: %+v", v.Name, c.Name, c)
			}
			if c.Meaning == "" || (strings.Contains(c.Type, "Decimal") || strings.Contains(c.Type, "Float")) && c.Unit == "" &&
				!strings.Contains(c.Name, "rating") {
				t.Errorf("%s.%s lacks its meaning or its unit: %+v", v.Name, c.Name, c)
			}
		}
	}
	for _, want := range []struct{ name, typ, absent, unit, source, meaning string }{
		{"transactions.cashback", "Nullable(Decimal(18, 4))", "NULL", "currency_code", "API: cashback", "Cashback amount"},
		{"coupons.retailer_name", "LowCardinality(String)", "empty", "", "API: name", "Retailer name; empty when absent"},
		{"coupons.account", "LowCardinality(String)", "", "", "",
			"Account of the configuration: one API key, one organization"},
		{"deals_active.hostname", "LowCardinality(String)", "empty", "", "API: hostname",
			"Hostname of the retailer's website; empty when absent"},
		{"retailers.last_sold_at", "Nullable(DateTime64(3, 'UTC'))", "NULL", "UTC", "transactions.sold_at",
			"Time of the last sale; NULL when there was none"},
	} {
		if d := cmp.Diff(ViewColumn{want.name[strings.Index(want.name, ".")+1:], want.typ, want.absent, want.unit,
			want.source, want.meaning}, columns[want.name]); d != "" {
			t.Errorf("%s: %s", want.name, d)
		}
	}
}
