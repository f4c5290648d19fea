package payouts

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

func scripted() apisim.Options {
	return apisim.Options{Retailers: 5, Promotions: -1, Coupons: -1, CashbackOffers: -1, Transactions: -1, Products: -1}
}

// The stamped state is the first known version that has the payoutId, whatever happened before and after.
func TestAsStamped(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	cases := []struct {
		name  string
		play  func(x *world)
		stamp string // status, cashback and whether it is the first version known
		now   string
		state string
	}{
		{"stamped while it was watched", func(x *world) {
			x.put(t, saleOne, "PENDING", "1.5", 0)
			x.sync(false, "transactions")
			x.put(t, saleOne, "PENDING", "1.5", 7)
			x.sync(false, "transactions")
			x.put(t, saleOne, "DECLINED", "1.5", 7)
			x.sync(false, "transactions")
		}, "PENDING 1.5 false", "DECLINED 1.5", "changed"},
		{"arrived late", func(x *world) {
			x.put(t, saleOne, "PENDING", "1.5", 7)
			x.put(t, strings.Replace(saleOne, "1", "2", 1), "PENDING", "1", 0) // the watermark moves past it
			if err := x.Delete(apisim.StreamTransactions, "acme", saleOne); err != nil {
				t.Fatal(err)
			}
			x.sync(false, "transactions")
			x.put(t, saleOne, "CONFIRMED", "1.25", 7)
			x.sync(false, "transactions")
		}, "CONFIRMED 1.25 true", "CONFIRMED 1.25", "same"},
		{"read twice", func(x *world) {
			x.put(t, saleOne, "PENDING", "1.5", 0)
			x.sync(false, "transactions")
			x.put(t, saleOne, "CONFIRMED", "1.5", 7)
			for range 3 {
				x.sync(false, "transactions")
			}
			x.sync(true, "transactions")
		}, "CONFIRMED 1.5 false", "CONFIRMED 1.5", "same"},
		{"changed several times within one overlap", func(x *world) {
			x.put(t, saleOne, "PENDING", "1.5", 0)
			x.sync(false, "transactions")
			for _, status := range []string{"PENDING", "CONFIRMED", "DECLINED", "CONFIRMED"} {
				x.put(t, saleOne, status, "1.5", 7)
				x.sync(false, "transactions")
			}
			x.put(t, saleOne, "CONFIRMED", "0.5", 7)
			x.sync(false, "transactions")
		}, "PENDING 1.5 false", "CONFIRMED 0.5", "changed"},
		{"changed several times between two reads", func(x *world) {
			x.put(t, saleOne, "PENDING", "1.5", 0)
			x.sync(false, "transactions")
			x.put(t, saleOne, "PENDING", "1.5", 7)
			x.put(t, saleOne, "DECLINED", "1.5", 7)
			x.sync(false, "transactions")
		}, "DECLINED 1.5 false", "DECLINED 1.5", "same"},
		{"first seen already stamped", func(x *world) {
			x.put(t, saleOne, "CONFIRMED", "1.5", 7)
			x.sync(false, "transactions")
			x.put(t, saleOne, "DECLINED", "1.5", 7)
			x.sync(false, "transactions")
		}, "CONFIRMED 1.5 true", "DECLINED 1.5", "changed"},
		{"moved to another payout and back to none", func(x *world) {
			x.put(t, saleOne, "CONFIRMED", "1.5", 7)
			x.sync(false, "transactions")
			x.put(t, saleOne, "CONFIRMED", "1.5", 8)
			x.sync(false, "transactions")
			x.put(t, saleOne, "CONFIRMED", "1.5", 0)
			x.sync(false, "transactions")
		}, "CONFIRMED 1.5 true", "CONFIRMED 1.5", "moved"},
		{"with an amount that is readable only later", func(x *world) {
			x.put(t, saleOne, "CONFIRMED", `"1.5 EUR"`, 7)
			x.sync(false, "transactions")
			x.correct(t, saleOne, "CONFIRMED", "1.5", 7)
			x.sync(false, "transactions")
		}, "CONFIRMED 1.5 false", "CONFIRMED 1.5", "same"},
		{"no longer listed", func(x *world) {
			for i := range 9 { // so that the guard allows one of them to be deleted
				x.put(t, fmt.Sprintf("00000000-0000-4000-8000-00000000010%d", i), "PENDING", "1", 0)
			}
			x.put(t, saleOne, "CONFIRMED", "1.5", 7)
			x.sync(false, "transactions")
			if err := x.Delete(apisim.StreamTransactions, "acme", saleOne); err != nil {
				t.Fatal(err)
			}
			x.sync(true, "transactions")
		}, "CONFIRMED 1.5 true", "CONFIRMED 1.5", "gone"},
	}
	for _, test := range enginetest.Spread(cases, 1) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			x := newWorld(t, scripted())
			test.play(x)
			got := x.only(t, 7)
			if s := fmt.Sprint(got.StampedStatus, " ", got.StampedCashback, " ", got.FirstKnown); s != test.stamp {
				t.Errorf("as stamped %q, want %q", s, test.stamp)
			}
			if s := fmt.Sprint(got.Status, " ", got.Cashback); s != test.now {
				t.Errorf("now %q, want %q", s, test.now)
			}
			if got.State != test.state || (got.ChangedAt == nil) != (test.state == "same") {
				t.Errorf("state %s, changed at %v, want %s", got.State, got.ChangedAt, test.state)
			}
			payable := func(status string, d *decimal.Decimal) decimal.Decimal {
				if status == "DECLINED" {
					return decimal.Zero
				}
				return *d
			}
			want := payable(got.StampedStatus, got.StampedCashback)
			if got.State == "same" || got.State == "changed" {
				want = want.Sub(payable(got.Status, got.Cashback))
			}
			if !got.AtStake.Equal(want) {
				t.Errorf("at stake %s, want %s", got.AtStake, want)
			}
		})
	}
}

// The reconciliation computes its sums in a shorter way than payout_transactions, but they must be the same. The
// world is generated and runs for half a year: payouts are made, transactions are decided before and after,
// touched, deleted and moved.
func TestReconciliationEqualsItsTransactions(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	o := scripted()
	o.Transactions, o.Seed, o.MixedCurrencies = 1500, 11, 0.02
	x := newWorld(t, o)
	x.sync(false, "transactions", "payouts")
	for month := range enginetest.Sample(2, 6) {
		x.Advance(29 * 24 * time.Hour)
		x.TouchTransactions("acme", 0.05)
		var stamped []string
		for record := range x.Truth(apisim.StreamTransactions, "acme") {
			if regexp.MustCompile(`"payoutId":\d`).Match(record) {
				stamped = append(stamped, string(record[len(`{"id":"`):][:36]))
			}
		}
		x.put(t, stamped[month*7], "CONFIRMED", "3.21", 0)
		x.put(t, stamped[month*7+1], "CONFIRMED", "4.56", 300)
		if err := x.Delete(apisim.StreamTransactions, "acme", stamped[month*7+2]); err != nil {
			t.Fatal(err)
		}
		x.sync(month%2 == 1, "transactions", "payouts")
	}
	var differing, payouts uint64
	err := x.w.Conn().QueryRow(t.Context(), `SELECT count(), countIf(NOT (
    r.loaded = t.loaded AND r.gone = t.gone AND r.stamped = t.stamped AND r.now = t.now AND r.stake = t.stake AND r.currencies = t.currencies))
FROM
(
    SELECT account, payout_id, transactions_loaded AS loaded, transactions_gone AS gone, currencies,
        (stamped_total_transactions, stamped_total_gmv, stamped_total_cashback, stamped_declined_transactions, stamped_pending_gmv, stamped_confirmed_cashback) AS stamped,
        (now_total_transactions, now_total_gmv, now_total_cashback, now_declined_transactions, now_pending_gmv, now_confirmed_cashback) AS now,
        at_stake - at_stake_unexplained AS stake
    FROM payout_reconciliation
) AS r
INNER JOIN
(
    SELECT account, payout_id, countIf(state != 'gone') AS loaded, countIf(state = 'gone') AS gone, arraySort(groupUniqArray(toString(currency_code))) AS currencies,
        (count(), sum(stamped_order_value), sum(stamped_cashback), countIf(stamped_status = 'DECLINED'), sumIf(stamped_order_value, stamped_status = 'PENDING'), sumIf(stamped_cashback, stamped_status = 'CONFIRMED')) AS stamped,
        (countIf(here), sumIf(order_value, here), sumIf(cashback, here), countIf(here AND status = 'DECLINED'), sumIf(order_value, here AND status = 'PENDING'), sumIf(cashback, here AND status = 'CONFIRMED')) AS now,
        sum(at_stake) AS stake
    FROM (SELECT *, state IN ('same', 'changed') AS here FROM payout_transactions)
    GROUP BY account, payout_id
) AS t USING (account, payout_id)`).Scan(&payouts, &differing)
	if err != nil {
		t.Fatal(err)
	}
	if payouts < 10 || differing > 0 {
		t.Errorf("%d of %d payouts differ from the sums of their transactions", differing, payouts)
	}
	r, err := Reconcile(t.Context(), x.w, Filter{})
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]int{}
	for _, p := range r.Payouts {
		verdicts[p.Verdict]++
		addsUp(t, p)
		if p.Verdict == Mismatched && p.Loaded == uint64(*p.TransactionsReported) {
			t.Errorf("payout %d is mismatched in a world whose payouts are right: %s", p.ID, p.Advice())
		}
	}
	if verdicts[Drifted] == 0 || verdicts[Missing] == 0 {
		t.Errorf("the world has %v: too tame", verdicts)
	}
}

func TestFindingsAreToldOnce(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x := newWorld(t, scripted())
	x.put(t, saleOne, "PENDING", "1.5", 7)
	x.sync(false, "transactions", "payouts")
	after := func() (Counts, []warehouse.Finding, string) {
		t.Helper()
		var out bytes.Buffer
		r, fresh, err := AfterSync(t.Context(), x.w, slog.New(slog.NewTextHandler(&out, nil)), Filter{Account: "acme"})
		if err != nil {
			t.Fatal(err)
		}
		return r.Counts(), fresh, out.String()
	}
	c, fresh, out := after()
	if len(fresh) != 1 || fresh[0].Kind != Orphan || c.Orphans != 1 || strings.Count(out, "\n") != 1 {
		t.Errorf("%+v %+v\n%s", c, fresh, out)
	}
	other := warehouse.Finding{Account: "globex", Kind: Orphan, Subject: "7", Detail: "of another account"}
	if _, err := x.w.RecordFindings(t.Context(), "globex", []warehouse.Finding{other}); err != nil {
		t.Fatal(err)
	}
	// More transactions of a payout that does not exist, and more that are overdue, are no new findings.
	sale := func(n string) string { return strings.Replace(saleOne, "1", n, 1) }
	x.Advance(10 * 24 * time.Hour)
	x.put(t, sale("2"), "PENDING", "2", 8)
	x.put(t, sale("3"), "PENDING", "3", 0)
	x.sync(false, "transactions", "payouts")
	if c, fresh, out = after(); len(fresh) != 2 || fresh[0].Kind != Orphan || fresh[1].Kind != Overdue || c.Orphans != 2 ||
		c.Overdue != 1 {
		t.Errorf("%+v %+v\n%s", c, fresh, out)
	}
	x.put(t, sale("4"), "PENDING", "4", 8)
	x.put(t, sale("5"), "PENDING", "5", 0)
	x.sync(false, "transactions", "payouts")
	if c, fresh, out = after(); len(fresh) != 0 || c.Orphans != 3 || c.Overdue != 2 || out != "" {
		t.Errorf("told again: %+v %+v\n%s", c, fresh, out)
	}
	if again, err := x.w.RecordFindings(t.Context(), "globex", []warehouse.Finding{other}); err != nil || len(again) != 0 {
		t.Errorf("what stands of another account was taken for resolved: %+v, %v", again, err)
	}
	payout := `{"id":7,"totalTransactions":1,"totalGmv":100,"aov":100,"totalCashback":1.5,"confirmedTransactions":0,"declinedTransactions":0,"pendingTransactions":1,` +
		`"confirmedGmv":0,"declinedGmv":0,"pendingGmv":100,"confirmedCashback":0,"declinedCashback":0,"pendingCashback":1.5,"startDate":"2025-11-20T10:00:00Z","endDate":"2025-11-20T10:00:00Z"}`
	if err := x.Put(apisim.StreamPayouts, "acme", []byte(payout)); err != nil {
		t.Fatal(err)
	}
	x.sync(false, "payouts")
	if c, fresh, _ = after(); len(fresh) != 0 || c.ByVerdict[Matched] != 1 || c.Orphans != 2 {
		t.Errorf("%+v %+v", c, fresh)
	}
	x.put(t, saleOne, "DECLINED", "1.5", 7)
	x.sync(false, "transactions")
	if _, fresh, _ = after(); len(fresh) != 1 || fresh[0].Kind != Drifted ||
		!strings.Contains(fresh[0].Detail, "EUR 1.50") {
		t.Errorf("%+v", fresh)
	}
}

// A number that we write stays a number.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]string{"-0.5": "-0.50", "5000": "5000.00", "0.0001": "0.0001",
		"-12345678901234567890.1": "-12345678901234567890.10"} {
		if got := Money(decimal.RequireFromString(number)); got != want {
			t.Errorf("Money(%s) = %s, want %s", number, got, want)
		}
	}
}
