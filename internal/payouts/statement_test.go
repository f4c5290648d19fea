package payouts

import (
	"bytes"
	"encoding/csv"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/finance"
)

// TestStatementsOfAWorld makes the statements of half a year in which transactions are sold, decided, paid, changed,
// moved and lost. Each opens with what the one before closed with, and the last one closes with what the views say is
// unpaid, and with what is at stake in payouts. Then a month is closed, and what happens later does not change it. For
// wide samples: TestReconcile of the commands has a statement, TestStatementBalances of package finance balances.
func TestStatementsOfAWorld(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	o := scripted()
	o.Transactions, o.Seed, o.MixedCurrencies = 600, 13, 0.05
	x := newWorld(t, o)
	x.sync(false, "transactions", "payouts")
	for month := range enginetest.Sample(2, 4) {
		x.Advance(29 * 24 * time.Hour)
		x.TouchTransactions("acme", 0.1)
		x.put(t, sale(month+1), "CONFIRMED", "3.21", 0)
		x.put(t, sale(month), "DECLINED", "4.56", 300)
		x.sync(month%2 == 1, "transactions", "payouts")
	}
	now := x.Now().UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	var last Statement
	paid := 0
	for back := enginetest.Sample(4, 8); back >= 0; back-- {
		s, err := NewStatement(t.Context(), x.w, "acme", month.AddDate(0, -back, 0))
		if err != nil {
			t.Fatal(err)
		}
		balances(t, s, last)
		last = s
		paid += x.monthMatches(t, s.Month, len(s.Currencies)) // payouts are made with errors
	}
	if paid < 3 {
		t.Errorf("too tame: %d payouts", paid)
	}
	x.closesWithTheViews(t, last)
	x.opensToTransactions(t, last)
	before := month.AddDate(0, -1, 0)
	if _, err := CloseMonth(t.Context(), x.w, "acme", month, "ann", ""); !errors.Is(err, ErrMonthOpen) {
		t.Errorf("a month that is not over was closed: %v", err)
	}
	closed, err := CloseMonth(t.Context(), x.w, "acme", before, "ann", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := CloseMonth(t.Context(), x.w, "acme", before, "bob", ""); !errors.Is(err, ErrMonthClosed) {
		t.Errorf("a month was closed twice: %v", err)
	}
	// A sale of the closed month appears late.
	late := strings.Replace(saleOne, "1", "77", 1)[:36]
	x.record(t, late, before.Add(time.Hour), "EUR", "1000")
	began, err := x.w.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x.sync(true, "transactions", "payouts")
	again, err := NewStatement(t.Context(), x.w, "acme", before)
	if err != nil || again.Hash() != closed.Hash() || again.Close == nil ||
		!strings.Contains(again.Note(), "Closed by ann") {
		t.Errorf("a closed month has another hash: %v\n%s\n%s", err, closed.text(), again.text())
	}
	seen, _, err := x.w.SeenTo(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	// A new month may begin while it is loaded.
	found, text := false, ""
	for _, at := range []time.Time{began, seen} {
		s, err := NewStatement(t.Context(), x.w, "acme", time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		text = s.text()
		if found = found || s.adjustedBy("EUR", decimal.NewFromInt(1000)); found {
			break
		}
	}
	if !found {
		t.Errorf("what was loaded of a closed month is no adjustment of the one in which it was loaded:\n%s", text)
	}
}

// adjustedBy reports whether a statement has an adjustment of at least an amount.
func (s Statement) adjustedBy(currency string, least decimal.Decimal) bool {
	for _, c := range s.Currencies {
		for _, e := range c.Entries {
			if c.Currency == currency && e.Event == finance.Adjustment &&
				e.Pending.Add(e.Confirmed).GreaterThanOrEqual(least) {
				return true
			}
		}
	}
	return false
}

func balances(t *testing.T, s, before Statement) {
	t.Helper()
	opening := map[string]finance.Balance{}
	for _, c := range before.Currencies {
		opening[c.Currency] = c.Closing
	}
	for _, c := range s.Currencies {
		sum := c.Opening
		for _, e := range c.Entries {
			sum = sum.Add(e.Balance)
		}
		var ages finance.Balance
		for _, b := range c.Ages {
			ages = ages.Add(b)
		}
		if before.Account != "" && !c.Opening.Equal(opening[c.Currency]) || !sum.Equal(c.Closing) || !ages.Equal(c.Closing) {
			t.Errorf("%s of %s: %+v opens, %+v was closed with, %+v closes, %+v by age", c.Currency, s.Month.Format("2006-01"),
				c.Opening, opening[c.Currency], c.Closing, ages)
		}
	}
	for name, write := range map[string]func(*bytes.Buffer) error{"csv": func(b *bytes.Buffer) error { return s.WriteCSV(b) }, "ages": func(b *bytes.Buffer) error { return s.WriteAgesCSV(b) }} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(b.String(),
			byteOrderMark))).ReadAll(); err != nil || len(rows[0]) > 15 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// closesWithTheViews compares a statement that is up to date with what is unpaid, and what is at stake.
func (x *world) closesWithTheViews(t *testing.T, s Statement) {
	t.Helper()
	for _, c := range s.Currencies {
		var pending, confirmed, stake decimal.Decimal
		err := x.w.Conn().QueryRow(t.Context(),
			`SELECT (SELECT sumIf(ifNull(cashback, 0), status != 'CONFIRMED') FROM payout_unpaid WHERE currency_code = {c:String}),
    (SELECT sumIf(ifNull(cashback, 0), status = 'CONFIRMED') FROM payout_unpaid WHERE currency_code = {c:String}),
    (SELECT sum(at_stake) FROM payout_transactions WHERE currency_code = {c:String})`,
			namedArg("c", c.Currency)).Scan(&pending, &confirmed, &stake)
		if err != nil {
			t.Fatal(err)
		}
		if want := (finance.Balance{Pending: pending, Confirmed: confirmed, Settled: stake.Neg()}); !c.Closing.Equal(want) {
			t.Errorf("%s closes with %+v, the views have %+v", c.Currency, c.Closing, want)
		}
	}
}
