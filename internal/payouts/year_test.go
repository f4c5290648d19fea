package payouts

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/finance"
)

var update = flag.Bool("update", false, "write the golden files")

// year is an account during a year, as the service has it.
type year struct {
	*world
	sales map[int]*yearSale
}

type yearSale struct {
	currency, value, cashback, status string
	sold                              time.Time
	payout                            int
}

// write sends the state of a transaction to the service, a minute after the last change.
func (y *year) write(t *testing.T, n int) {
	t.Helper()
	y.Advance(time.Minute)
	s := y.sales[n]
	payout := "null"
	if s.payout != 0 {
		payout = fmt.Sprint(s.payout)
	}
	record := fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d","soldAt":%q,"updatedAt":%q,"currencyCode":%q,"orderValue":%s,"cashback":%s,"status":%q,"retailerName":%q,"payoutId":%s}`,
		n, s.sold.Format(time.RFC3339), y.Now().Format(time.RFC3339Nano), s.currency, s.value, s.cashback, s.status,
		[]string{"Nordlicht Books", "Café Müller", "Outdoor & Co"}[n%3], payout)
	if err := y.Put(apisim.StreamTransactions, "acme", []byte(record)); err != nil {
		t.Fatal(err)
	}
}

// sell makes a sale of today.
func (y *year) sell(t *testing.T, n int, currency, value, cashback string) {
	t.Helper()
	y.sales[n] = &yearSale{currency: currency, value: value, cashback: cashback, status: finance.Pending, sold: y.Now()}
	y.write(t, n)
}

// becomes gives a transaction another status or, if what is an amount, another cashback.
func (y *year) becomes(t *testing.T, n int, what string) {
	t.Helper()
	if _, err := decimal.NewFromString(what); err == nil {
		y.sales[n].cashback = what
	} else {
		y.sales[n].status = what
	}
	y.write(t, n)
}

// pay makes a payout from the present state of the transactions, adds wrong to its totals, and sets the
// payout of the transactions.
func (y *year) pay(t *testing.T, id int, wrong map[string]string, sales ...int) {
	t.Helper()
	totals := map[string]decimal.Decimal{}
	for _, group := range []string{"total", "confirmed", "declined", "pending"} {
		for _, measure := range []string{"Transactions", "Gmv", "Cashback"} {
			totals[group+measure] = decimal.Zero
		}
	}
	from, to := y.Now(), time.Time{}
	for _, n := range sales {
		s := y.sales[n]
		for _, group := range []string{"total", strings.ToLower(s.status)} {
			totals[group+"Transactions"] = totals[group+"Transactions"].Add(decimal.NewFromInt(1))
			totals[group+"Gmv"] = totals[group+"Gmv"].Add(decimal.RequireFromString(s.value))
			totals[group+"Cashback"] = totals[group+"Cashback"].Add(decimal.RequireFromString(s.cashback))
		}
		if s.sold.Before(from) {
			from = s.sold
		}
		if s.sold.After(to) {
			to = s.sold
		}
	}
	for name, by := range wrong {
		totals[name] = totals[name].Add(decimal.RequireFromString(by))
	}
	text := fmt.Sprintf(`{"id":%d,"startDate":%q,"endDate":%q`, id, from.Format(time.RFC3339), to.Format(time.RFC3339))
	for name, v := range totals {
		text += fmt.Sprintf(",%q:%s", name, v)
	}
	if err := y.Put(apisim.StreamPayouts, "acme", []byte(text+"}")); err != nil {
		t.Fatal(err)
	}
	for _, n := range sales {
		if y.sales[n].payout != id {
			y.sales[n].payout = id
			y.write(t, n)
		}
	}
}

// playYear plays a year of an account that is paid three months after the sale, in euros and in dollars. Each month
// sells 10 m + 1 to 4, of which the last one is in dollars; payouts 200 + m are in euros and 300 + m in dollars.
func playYear(t *testing.T) *year {
	t.Helper()
	y := &year{newWorld(t, scripted()), map[int]*yearSale{}}
	wrong := map[int]map[string]string{
		6: {"totalTransactions": "1", "totalGmv": "80", "totalCashback": "8", "pendingTransactions": "1", "pendingGmv": "80",
			"pendingCashback": "8"}, // one that does not exist
		7: {"totalCashback": "0.03"}, // within the tolerance
		8: {"totalCashback": "15"},
	}
	for m := range 12 {
		for i, sale := range [][3]string{{"EUR", "120.00", "12.00"}, {"EUR", "80.50", "8.05"}, {"EUR", "99.90", "9.99"},
			{"USD", "60.00", "6.00"}} {
			value, cashback := decimal.RequireFromString(sale[1]).Add(decimal.NewFromInt(int64(m))), decimal.RequireFromString(sale[2]).Add(decimal.New(int64(m), -1))
			y.sell(t, 10*m+i+1, sale[0], value.String(), cashback.String())
		}
		if paid := m - 3; paid >= 0 {
			y.becomes(t, 10*paid+1, finance.Confirmed)
			y.becomes(t, 10*paid+2, finance.Confirmed)
			y.becomes(t, 10*paid+4, finance.Confirmed)
			if paid == 4 {
				y.pay(t, 204, nil, 41, 42, 43, 44) // of both currencies
			} else {
				y.pay(t, 200+paid, wrong[paid], 10*paid+1, 10*paid+2, 10*paid+3)
				y.pay(t, 300+paid, nil, 10*paid+4)
			}
		}
		switch m {
		case 4: // before anything is loaded: history
			y.becomes(t, 3, finance.Declined)
			y.sync(false, "transactions", "payouts")
		case 6:
			y.becomes(t, 21, finance.Declined) // a clawback, acknowledged below
			y.sync(false, "transactions", "payouts")
		}
		y.Advance(30 * 24 * time.Hour)
	}
	y.sync(false, "transactions", "payouts")
	y.becomes(t, 31, finance.Declined)
	y.becomes(t, 32, "18.005") // a raise, to more decimals than the currency has
	y.becomes(t, 54, "4.40")
	if err := y.Delete(apisim.StreamTransactions, "acme", "00000000-0000-4000-8000-000000000052"); err != nil {
		t.Fatal(err)
	}
	y.pay(t, 201, map[string]string{"totalCashback": "2.50"}, 11, 12, 13) // altered
	y.sell(t, 900, "EUR", "170.50", "17.05")
	y.sales[900].payout = 999 // which is never made
	y.write(t, 900)
	y.sync(true, "transactions", "payouts")
	return y
}

// bank imports what reached the bank in the year: with fees, converted, two payouts at once, one in two parts, one that
// is short, and one that was taken back.
func (y *year) bank(t *testing.T) ThreeWay {
	t.Helper()
	y.unsettled(t)
	_, err := y.importText(t, Options{Source: "bank-2026.csv", By: "ann"}, bankHeader+
		"SEPA-0401,2026-04-02,EUR,28.54,1.50,,,200,\"transfer of payout 200, less a fee\"\n"+
		"SEPA-0501,2026-05-04,EUR,20.00,,,,201,first part\n"+
		"SEPA-0502,2026-05-11,EUR,10.34,,,,201,the rest\n"+
		"SEPA-0601,2026-06-02,EUR,30.64,,,,202,\n"+
		"SEPA-0602,2026-06-19,EUR,-12.20,,,,202,taken back: order 21\n"+
		"WIRE-0401,2026-04-03,EUR,5.21,0.35,USD,6.00,300,converted at 0.9267\n"+
		"WIRE-0501,2026-05-05,USD,12.30,,,,301 302,two payouts\n"+
		"SEPA-0701,2026-07-02,EUR,30.00,,,,203,\n"+
		"SEPA-0901,2026-09-02,EUR,7.77,,,,,of whom is this\n")
	if err != nil {
		t.Fatal(err)
	}
	all, err := NewThreeWay(t.Context(), y.w, "acme")
	if err != nil {
		t.Fatal(err)
	}
	y.states(t, map[string]string{
		"200 EUR": "received: 30.04 = 28.54 + 1.50 fees", "300 USD": "received: 6.00 = 0.00 + 6.00 converted",
		"301 USD": "received: 6.10 = 6.10", "302 USD": "received: 6.20 = 6.20",
		"203 EUR": "short: 30.94 = 30.00 + 0.94 outstanding",
	})
	return all
}

// TestYear compares the whole report of a scripted year, as a person reads it: every verdict, amount and sentence.
func TestYear(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	y := playYear(t)
	rules := Filter{Account: "acme", Tolerances: finance.Tolerances{"EUR": 5, "USD": 5}}
	if _, err := Acknowledge(t.Context(), y.w,
		Acknowledging{Account: "acme", Payout: 202, Reason: "expected", Note: "taken off in June", By: "ann",
			Rules: rules}); err != nil {
		t.Fatal(err)
	}
	r, err := Reconcile(t.Context(), y.w, rules)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int64]string{}
	for _, p := range r.Payouts {
		got[p.ID] = p.Word()
		addsUp(t, p)
	}
	for id, want := range map[int64]string{
		200: "drifted", 201: "mismatched, altered", 202: "drifted, acknowledged", 203: "drifted",
		204: "matched, mixed currency", 205: "missing", 206: "missing", 207: "mismatched, within tolerance",
		208: "mismatched",
		300: "matched", 301: "matched", 302: "matched", 303: "matched", 305: "drifted", 306: "matched", 307: "matched",
		308: "matched",
	} {
		if got[id] != want {
			t.Errorf("payout %d is %q, want %q", id, got[id], want)
		}
	}
	three := y.bank(t)
	// A lost transaction counts as lost when the warehouse sees that, which is today; this month is earlier.
	s, err := NewStatement(t.Context(), y.w, "acme", time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	r.MadeAt, s.MadeAt, three.MadeAt = y.Now(), y.Now(), y.Now()
	for i := range r.Payouts { // the warehouse saw it all today
		r.Payouts[i].FirstSeenAt = y.Now()
		for _, m := range r.Payouts[i].Matters {
			if m.Acknowledged != nil {
				m.Acknowledged.At = y.Now()
			}
		}
	}
	for name, write := range map[string]func(*bytes.Buffer) error{"year.html": func(b *bytes.Buffer) error { return r.WriteHTML(b) }, "year-statement.html": func(b *bytes.Buffer) error { return s.WriteHTML(b) }, "year-bank.html": func(b *bytes.Buffer) error { return three.WriteHTML(b) }} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if text != string(want) {
			t.Errorf("not as in %s (go generate ./... writes it):\n%s", path, text)
		}
	}
}
