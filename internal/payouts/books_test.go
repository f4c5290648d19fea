package payouts

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/finance"
	"dealhouse/internal/warehouse"
)

// bookSale is a transaction of ledgers as the service has it.
type bookSale struct {
	currency, status, cashback string
	sold                       time.Time
	world, payout              int
	gone, removed              bool // removed: the service no longer has it
	late                       bool // it has not been written yet, and will appear with the time of its sale
}

// ledgers is an account in which everything changes at random, with what a person has acknowledged and closed.
type ledgers struct {
	*world
	r       *rand.Rand
	worlds  int // side by side in one account, each with its own currencies and payouts; if 1, with real currencies
	sales   []*bookSale
	payouts int                  // of each world
	closed  map[time.Time]string // hashes
	acked   map[string]finance.Matter
}

// amount returns a random amount, with the decimals of its currency or more.
func (b *ledgers) amount(currency string) string {
	d := finance.FromMinor(int64(1+b.r.IntN(900)), currency)
	if b.r.IntN(6) == 0 {
		d = d.Add(decimal.New(int64(b.r.IntN(10000)), -4))
	}
	return d.String()
}

func (b *ledgers) write(t *testing.T, n int) {
	t.Helper()
	b.Advance(time.Minute)
	s := b.sales[n]
	id, updated := fmt.Sprintf("00000000-0000-4000-8000-%012d", n), b.Now()
	if s.late {
		s.late, updated = false, s.sold
	}
	if s.gone {
		if s.removed {
			return
		}
		s.removed = true
		if err := b.Delete(apisim.StreamTransactions, "acme", id); err != nil {
			t.Fatal(err)
		}
		return
	}
	s.removed = false
	payout := "null"
	if s.payout != 0 {
		payout = fmt.Sprint(s.payout)
	}
	record := fmt.Sprintf(`{"id":%q,"soldAt":%q,"updatedAt":%q,"currencyCode":%q,"orderValue":100,"cashback":%s,"status":%q,"payoutId":%s}`,
		id, s.sold.Format(time.RFC3339Nano), updated.Format(time.RFC3339Nano), s.currency, s.cashback, s.status, payout)
	if err := b.Put(apisim.StreamTransactions, "acme", []byte(record)); err != nil {
		t.Fatal(err)
	}
}

// change lets something happen to one transaction. Sometimes it becomes unreadable, disappears, is listed again, or was
// sold at another time or in another currency.
func (b *ledgers) change(t *testing.T, n int) {
	t.Helper()
	s := b.sales[n]
	switch b.r.IntN(14) {
	case 0, 1, 2:
		s.status = []string{finance.Confirmed, finance.Declined, finance.Pending}[b.r.IntN(3)]
	case 3, 4:
		s.cashback = b.amount(s.currency)
	case 5, 6, 7:
		if b.payouts > 0 {
			n := b.r.IntN(b.payouts + 2) // none, an existing one, or one that does not exist yet
			if n == 0 && b.r.IntN(2) == 0 {
				n = 1
			}
			s.payout = b.payout(s.world, n)
		}
	case 8:
		s.gone = !s.gone
		if n%4 != 0 {
			s.gone = false
		}
	case 9:
		s.cashback = `"not a number"`
	case 10:
		s.sold = s.sold.Add(-time.Duration(b.r.IntN(60)) * 24 * time.Hour)
	case 11:
		s.currency = b.currencies(s.world)[b.r.IntN(3)]
	case 12:
		s.status = "" // it is loaded without a status
	case 13:
		s.status, s.cashback, s.payout = finance.Confirmed, b.amount(s.currency), b.payout(s.world, min(1, b.payouts))
	}
	b.write(t, n)
}

// sell makes a transaction of a world. A late one was sold earlier, and was not in the list until now.
func (b *ledgers) sell(t *testing.T, world int, late bool) {
	t.Helper()
	of := b.currencies(world)
	s := &bookSale{world: world, status: finance.Pending, late: late, currency: append(of, of[0])[b.r.IntN(4)],
		sold: b.Now().Add(-time.Duration(b.r.IntN(100*24)) * time.Hour)}
	s.cashback = b.amount(s.currency)
	b.sales = append(b.sales, s)
	b.write(t, len(b.sales)-1)
}

// payout returns the number of the nth payout of a world; 0 means none.
func (b *ledgers) payout(world, nth int) int {
	if nth == 0 {
		return 0
	}
	return world*100 + nth
}

// currencies returns the currencies of a world.
func (b *ledgers) currencies(world int) []string {
	if b.worlds == 1 {
		return []string{"EUR", "JPY", "KWD"}
	}
	of := func(last string) string { return string([]byte{byte('A' + world/26), byte('A' + world%26)}) + last }
	return []string{of("A"), of("B"), of("B")}
}

// pay makes a payout of some random numbers in each world: it need not be right.
func (b *ledgers) pay(t *testing.T) {
	t.Helper()
	b.payouts++
	day := b.Now().Format(time.RFC3339)
	for world := range b.worlds {
		total, declined := decimal.RequireFromString(b.amount("EUR")), decimal.Zero
		if b.r.IntN(2) == 0 {
			declined = total.Div(decimal.NewFromInt(4)).Truncate(4)
		}
		record := fmt.Sprintf(`{"id":%d,"totalTransactions":%d,"totalGmv":300,"aov":100,"totalCashback":%s,"confirmedTransactions":1,"declinedTransactions":1,"pendingTransactions":1,
"confirmedGmv":100,"declinedGmv":100,"pendingGmv":100,"confirmedCashback":%s,"declinedCashback":%s,"pendingCashback":0,"startDate":%q,"endDate":%q}`,
			b.payout(world, b.payouts), b.r.IntN(4), total, total.Sub(declined), declined, day, day)
		if err := b.Put(apisim.StreamPayouts, "acme", []byte(record)); err != nil {
			t.Fatal(err)
		}
	}
}

// manyWorlds returns how many worlds are side by side in every second account. Accounts take
// time, and worlds hardly any.
func manyWorlds() int {
	if os.Getenv("REPORT_WORLDS") == "" {
		return 10
	}
	return 100
}

// TestLedgersInRandomWorlds lets everything change at random, against the real engine: statements balance and equal the
// sum of their single changes; the parts of each payout add up; a closed month keeps its hash, and what comes later is
// in the month in which it was seen, once. From the first month to the last, each opens with what the one before closed
// with, and the last one closes with what is unpaid at the service. What was acknowledged is quiet until it moves, and
// then shows by how much. For wide samples: TestYear closes months and acknowledges.
func TestLedgersInRandomWorlds(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	var seen ledgersSeen
	for seed := range uint64(worlds(t)) {
		b := &ledgers{world: newWorld(t, scripted()), r: rand.New(rand.NewPCG(seed, 23)), worlds: 1,
			closed: map[time.Time]string{}, acked: map[string]finance.Matter{}}
		sales := 60
		if seed%2 == 1 {
			b.worlds, sales = manyWorlds(), 20*manyWorlds()
		}
		seen.worlds += b.worlds
		for n := range sales {
			b.sell(t, n%b.worlds, false)
		}
		b.pay(t)
		b.sync(true, "transactions", "payouts")
		for round := range 3 {
			b.Advance(time.Duration(5+b.r.IntN(30)) * 24 * time.Hour)
			if b.r.IntN(2) == 0 {
				b.pay(t)
			}
			for range b.worlds * (3 + b.r.IntN(12)) {
				b.change(t, b.r.IntN(len(b.sales)))
			}
			for world := range b.worlds {
				b.sell(t, world, true)
			}
			b.sync(round%2 == 0, "transactions", "payouts")
			b.checkMatters(t, seed, &seen)
			b.checkMonths(t, seed, round)
		}
		b.checkAllMonths(t, seed, &seen)
		seen.closed += len(b.closed)
	}
	t.Logf("%+v", seen)
	if seen.moved == 0 || seen.quiet == 0 || seen.closed == 0 || seen.adjusted == 0 {
		t.Errorf("the worlds are too tame: %+v", seen)
	}
}

// ledgersSeen counts what happened, to make sure that each check had something to check.
type ledgersSeen struct{ worlds, acknowledged, quiet, moved, closed, adjusted int }

// checkMatters compares what is open with what was acknowledged before, and then acknowledges some of it.
func (b *ledgers) checkMatters(t *testing.T, seed uint64, seen *ledgersSeen) {
	t.Helper()
	r, err := Reconcile(t.Context(), b.w, Filter{Account: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Payouts) != b.payouts*b.worlds {
		t.Fatalf("%d payouts, want %d", len(r.Payouts), b.payouts*b.worlds)
	}
	for _, p := range r.Payouts {
		for _, l := range p.Explained.Lines {
			sum := decimal.Zero
			for _, k := range finance.Kinds() {
				sum = sum.Add(l.Sum(k))
			}
			if !sum.Equal(l.Paid.Sub(l.Worth)) {
				t.Errorf("world %d, payout %d: the kinds of %s add up to %s, %s was paid and %s is its worth", seed, p.ID,
					l.Currency, sum, l.Paid, l.Worth)
			}
		}
		for _, m := range p.Matters {
			key := fmt.Sprint(p.ID, m.Kind, m.Currency)
			before, known := b.acked[key]
			same := known && maps.EqualFunc(before.Entries, m.Entries, decimal.Decimal.Equal)
			by := m.Amount().Sub(before.Amount())
			if m.Open == same || known != (m.Acknowledged != nil) || known && !m.Moved.Equal(by) {
				t.Errorf("world %d, payout %d: %s of %s is open: %t, moved %s; it was acknowledged as %v", seed, p.ID, m.Kind,
					m.Currency, m.Open, m.Moved, before.Entries)
			}
			if same {
				seen.quiet++
			} else if known {
				seen.moved++
			}
		}
		if len(p.Kinds()) == 0 || b.r.IntN(3) == 0 || b.worlds > 1 && b.r.IntN(3) > 0 { // acknowledging many takes long
			continue
		}
		all, err := Acknowledge(t.Context(), b.w,
			Acknowledging{Account: "acme", Payout: p.ID, Reason: "expected", By: "ann", Seen: p.Seen()})
		if err != nil {
			t.Fatal(err)
		}
		seen.acknowledged += len(all)
		for _, a := range all {
			b.acked[fmt.Sprint(a.Payout, a.Kind, a.Currency)] = acknowledgedMatter(&a)
		}
	}
}

// checkMonths adds up every month change by change, and closes one now and then.
func (b *ledgers) checkMonths(t *testing.T, seed uint64, round int) {
	t.Helper()
	closes, err := b.w.Closes(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	now := b.Now().UTC()
	this := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	var months []time.Time
	for m := this.AddDate(0, -1, 0); !m.After(this); m = m.AddDate(0, 1, 0) {
		months = append(months, m)
	}
	seen := time.Now().UTC() // what is seen late counts in the month of today, by the clock of the warehouse
	months = append(months, time.Date(seen.Year(), seen.Month(), 1, 0, 0, 0, 0, time.UTC))
	var last Statement
	for i, month := range months {
		s, err := NewStatement(t.Context(), b.w, "acme", month)
		if err != nil {
			t.Fatal(err)
		}
		if i == len(months)-1 {
			last = Statement{} // this month need not follow the one before
		}
		balances(t, s, last)
		b.oneByOne(t, s, closes)
		if hash, closed := b.closed[month]; closed && s.Hash() != hash {
			t.Errorf("world %d: the closed %s has another hash", seed, month.Format("2006-01"))
		}
		last = s
	}
	if before := this.AddDate(0, -1, 0); round < 2 && b.closed[before] == "" {
		s, err := CloseMonth(t.Context(), b.w, "acme", before, "ann", "")
		if err != nil {
			t.Fatal(err)
		}
		b.closed[before] = s.Hash()
	}
}

// checkAllMonths checks that over all months, nothing that was loaded is left out or counted twice, whenever it was
// loaded and whichever months were closed then.
func (b *ledgers) checkAllMonths(t *testing.T, seed uint64, seen *ledgersSeen) {
	t.Helper()
	closes, err := b.w.Closes(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	first := b.sales[0].sold
	for _, s := range b.sales {
		if s.sold.Before(first) {
			first = s.sold
		}
	}
	end := time.Now().UTC() // what is seen late counts in the month of today, by the clock of the warehouse
	if b.Now().After(end) {
		end = b.Now().UTC()
	}
	var last Statement
	month := time.Date(first.UTC().Year(), first.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
	for ; month.Before(end); month = month.AddDate(0, 1, 0) {
		s, err := newStatement(t.Context(), b.w, "acme", month, closes)
		if err != nil {
			t.Fatal(err)
		}
		balances(t, s, last)
		if hash, closed := b.closed[month]; closed && s.Hash() != hash {
			t.Errorf("world %d: the closed %s has another hash", seed, month.Format("2006-01"))
		}
		for _, c := range s.Currencies {
			for _, e := range c.Entries {
				if e.Event == finance.Adjustment {
					seen.adjusted++
				}
			}
		}
		last = s
	}
	unpaid := map[string]finance.Balance{}
	for _, s := range b.sales {
		cashback, err := decimal.NewFromString(s.cashback)
		if err != nil || s.removed || s.payout != 0 || s.status == finance.Declined {
			continue
		}
		of := finance.Balance{Pending: cashback}
		if s.status == finance.Confirmed {
			of = finance.Balance{Confirmed: cashback}
		}
		unpaid[s.currency] = unpaid[s.currency].Add(of)
	}
	for _, c := range last.Currencies {
		want := unpaid[c.Currency]
		if !c.Closing.Pending.Equal(want.Pending) || !c.Closing.Confirmed.Equal(want.Confirmed) {
			t.Errorf("world %d: %s closes with %+v, upstream has %+v", seed, c.Currency, c.Closing, want)
		}
	}
}

// oneByOne compares a statement with the sum of the changes that are read one by one.
func (b *ledgers) oneByOne(t *testing.T, s Statement, closes []warehouse.Close) {
	t.Helper()
	from, to := s.Month, s.Month.AddDate(0, 1, 0)
	parts := map[string]*[3][]finance.Change{} // before, within, late
	ages := map[string][]finance.Balance{}
	err := b.w.EachChange(t.Context(), "acme", time.UnixMilli(0), to, closes, func(c warehouse.Change) error {
		c.Count = 1
		if parts[c.Currency] == nil {
			parts[c.Currency], ages[c.Currency] = &[3][]finance.Change{}, make([]finance.Balance, len(AgeTitles()))
		}
		when, part := c.At, 1
		if c.Late {
			when, part = c.SeenAt, 2
		}
		if when.Before(from) {
			part = 0
		}
		parts[c.Currency][part] = append(parts[c.Currency][part], changeOf(c.ChangeSum))
		for _, step := range changeOf(c.ChangeSum).Steps() {
			ages[c.Currency][c.Age] = ages[c.Currency][c.Age].Add(step.Balance)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Currencies {
		p := parts[c.Currency]
		if p == nil {
			t.Errorf("%s: %s has no changes", s.Month.Format("2006-01"), c.Currency)
			continue
		}
		want := finance.NewStatement(p[0], p[1], p[2])
		equal := func(a, b finance.Entry) bool {
			return a.Event == b.Event && a.Count == b.Count && a.Equal(b.Balance) && a.Paid.Equal(b.Paid)
		}
		if !c.Opening.Equal(want.Opening) || !c.Closing.Equal(want.Closing) ||
			!slices.EqualFunc(c.Entries, want.Entries, equal) ||
			!slices.EqualFunc(c.Ages, ages[c.Currency], finance.Balance.Equal) {
			t.Errorf("%s in %s:\n%+v\none by one:\n%+v", s.Month.Format("2006-01"), c.Currency, c.Statement, want)
		}
		var unpaid finance.Balance
		for _, age := range c.Ages {
			unpaid = unpaid.Add(age)
		}
		if total := c.Unpaid.Total(); !total.Pending.Equal(unpaid.Pending) || !total.Confirmed.Equal(unpaid.Confirmed) {
			t.Errorf("%s in %s: %s and %s are due, %s and %s unpaid", s.Month.Format("2006-01"), c.Currency, total.Pending,
				total.Confirmed, unpaid.Pending, unpaid.Confirmed)
		}
		delete(parts, c.Currency)
	}
	for currency, p := range parts {
		if s := finance.NewStatement(p[0], p[1], p[2]); !s.Closing.Equal(finance.Balance{}) || len(s.Entries) > 0 {
			t.Errorf("%s is missing", currency)
		}
	}
}
