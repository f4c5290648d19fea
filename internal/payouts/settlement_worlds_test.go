package payouts

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/finance"
	"dealhouse/internal/warehouse"
)

// hiddenPayout is a payout, and how much of it has been loaded.
type hiddenPayout struct {
	id       int64
	currency string
	paid     decimal.Decimal
	stamped  decimal.Decimal
	end      time.Time
	loaded   bool
	known    bool // its transactions are loaded
}

// hiddenPayment is a payment, and which payouts it is really for.
type hiddenPayment struct {
	warehouse.SettlementRevision
	of       []*hiddenPayout
	named    bool // by a person or clearly by the bank: so it must be matched when its payouts are loaded
	part     bool // of what its payouts paid, or what was taken back: a person named them
	back     bool // it takes back what was paid
	imported bool
	kept     *finance.Kept
	match    finance.Match
}

// hiddenWorld is a ledger of payouts, and payments that were made from it.
type hiddenWorld struct {
	r        *rand.Rand
	payouts  []*hiddenPayout
	payments []*hiddenPayment
	step     int
	seen     *worldsSeen
}

// worldsSeen counts what happened, to make sure that each check had something to check.
type worldsSeen struct {
	worlds, steps, amount, reference, named, open, netted, parts, back, rounding, settled, unsettled, tiny, wholes int
}

var dayOne = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

// amount returns an amount of a few that come again and again, with up to four decimals.
func (w *hiddenWorld) amount(currency string) decimal.Decimal {
	unit := finance.FromMinor(1, currency)
	d := unit.Mul(decimal.NewFromInt(int64(pick(w.r, 1000, 2000, 3000, 3000, 5000, 100+w.r.IntN(9900)))))
	switch w.r.IntN(8) {
	case 0, 1:
		d = d.Add(unit.Mul(decimal.New(int64(w.r.IntN(100)), -2)).Truncate(4))
	case 2:
		d = unit.Mul(decimal.New(int64(1+w.r.IntN(99)), -2)).Truncate(4) // tiny
	}
	if w.r.IntN(4) == 0 {
		d = d.Neg()
	}
	return d
}

func newHiddenWorld(seed uint64, seen *worldsSeen) *hiddenWorld {
	w := &hiddenWorld{r: rand.New(rand.NewPCG(seed, 31)), seen: seen}
	ids := w.r.Perm(40)
	for _, id := range ids[:4+w.r.IntN(10)] {
		p := &hiddenPayout{id: int64(id + 1), currency: pick(w.r, "EUR", "EUR", "EUR", "JPY", "KWD"), end: dayOne.AddDate(0, 0, w.r.IntN(200))}
		p.paid = w.amount(p.currency)
		if p.stamped = p.paid; w.r.IntN(4) == 0 { // the service gives rounded totals
			p.paid = p.paid.Round(finance.Digits(p.currency))
		}
		w.payouts = append(w.payouts, p)
	}
	left := slices.Clone(w.payouts)
	for len(left) > 0 {
		n := min(pick(w.r, 1, 1, 1, 2, 3, 4), len(left))
		group := slices.DeleteFunc(slices.Clone(left[:n]), func(p *hiddenPayout) bool { return p.currency != left[0].currency })
		left = slices.DeleteFunc(left, func(p *hiddenPayout) bool { return slices.Contains(group, p) })
		slices.SortFunc(group, func(a, b *hiddenPayout) int { return int(a.id - b.id) })
		if w.r.IntN(10) > 0 { // others are never paid
			w.pay(group)
		}
	}
	return w
}

// whole returns what is sent for payouts: rounded each, or in sum.
func (w *hiddenWorld) whole(group []*hiddenPayout) decimal.Decimal {
	digits := finance.Digits(group[0].currency)
	var sum, each, cut decimal.Decimal
	for _, p := range group {
		sum, each, cut = sum.Add(p.paid), each.Add(p.paid.Round(digits)), cut.Add(p.paid.Truncate(digits))
	}
	return pick(w.r, sum.Round(digits), sum.Truncate(digits), each, cut)
}

// pay makes the payments of payouts that are paid together.
func (w *hiddenWorld) pay(group []*hiddenPayout) {
	amount, currency := w.whole(group), group[0].currency
	if amount.IsZero() {
		return
	}
	day := dayOne
	for _, p := range group {
		if p.end.After(day) {
			day = p.end
		}
	}
	day = day.AddDate(0, 0, w.r.IntN(60))
	digits := finance.Digits(currency)
	switch kind := w.r.IntN(8); {
	case kind == 0 && amount.IsPositive() && !slices.ContainsFunc(group, func(p *hiddenPayout) bool { return p.paid.IsNegative() }): // in parts
		first := amount.Mul(decimal.New(int64(1+w.r.IntN(9)), -1)).Truncate(digits)
		for _, a := range []decimal.Decimal{first, amount.Sub(first)} {
			if !a.IsZero() {
				w.payment(group, a, day, true).part = true
			}
			day = day.AddDate(0, 0, w.r.IntN(20))
		}
	case kind == 1: // sent back by the bank, and sent again
		for i, a := range []decimal.Decimal{amount, amount.Neg(), amount} {
			p := w.payment(group, a, day.AddDate(0, 0, i), true)
			p.Payouts, p.part, p.back = idsOf(group), true, i == 1
		}
	default:
		p := w.payment(group, amount, day, len(group) > 3)
		switch fee := finance.FromMinor(int64(w.r.IntN(90)), currency); w.r.IntN(5) {
		case 0:
			p.Fee, p.Amount = fee, p.Amount.Sub(fee)
		case 1:
			p.Currency, p.Fee = "CHF", fee.Round(2)
		}
	}
}

func idsOf(group []*hiddenPayout) (ids []int64) {
	for _, p := range group {
		ids = append(ids, p.id)
	}
	return ids
}

// payment makes a payment, with words full of numbers. must says that its payouts are named.
func (w *hiddenWorld) payment(group []*hiddenPayout, amount decimal.Decimal, day time.Time, must bool) *hiddenPayment {
	currency, other := group[0].currency, w.payouts[w.r.IntN(len(w.payouts))].id
	p := &hiddenPayment{of: group, SettlementRevision: warehouse.SettlementRevision{Reference: fmt.Sprintf("B%d-%d", other, len(w.payments)), Revision: 1,
		ReceivedOn: day, Currency: currency, PayoutCurrency: currency, Amount: amount, PayoutAmount: amount}}
	noise := func() string {
		return pick(w.r, "", "2026-10-05", "05.03.2026", "DE89 3704 0044 0532 0130 00", fmt.Sprint(other), fmt.Sprintf("INV-%d", other), "+49 170 1234567",
			fmt.Sprintf("%d.00 EUR", other), fmt.Sprintf("EUR %d", other), fmt.Sprintf("payout of 2026-%02d-05", other%12+1), "Payout 2026", "payout 03/2026", "cashback 2025",
			fmt.Sprintf("payout %d. October", other), fmt.Sprintf("KW %d", other), fmt.Sprintf("part %d of 3", other))
	}
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(idsOf(group)), " ", ", "), "[]")
	switch how := w.r.IntN(5); {
	case how == 0 || must:
		p.Payouts, p.named, p.Text = idsOf(group), true, noise()+" "+noise()
	case how == 1:
		p.named, p.Text = true, noise()+" / "+pick(w.r, "payout ", "PAYOUTS: ", "Payout-ID ", "payout no. ")+list+" . "+pick(w.r, "", "thank you", "2026-10-05")
		if sure, unsure := payoutsInWords(p.Text); !slices.Equal(sure, idsOf(group)) || len(unsure) > 0 {
			p.named = false // the noise makes it unclear
		}
	default:
		p.Text = noise() + " " + noise()
	}
	w.payments = append(w.payments, p)
	return p
}

// live loads and imports in random order. A payment of which nothing is named comes after its payouts: before, nobody
// could tell it from another of the same amount.
func (w *hiddenWorld) live(t *testing.T, seed uint64) {
	t.Helper()
	var events []func() bool
	for _, p := range w.payouts {
		events = append(events, func() bool { p.loaded = true; return true }, func() bool { p.known = p.loaded; return p.loaded })
	}
	for _, p := range w.payments {
		events = append(events, func() bool {
			unloaded := func(o *hiddenPayout) bool { return !o.loaded }
			p.imported = p.named || !slices.ContainsFunc(p.of, unloaded)
			return p.imported
		})
		if w.r.IntN(12) == 0 && !p.part {
			events = append(events, func() bool { w.withdraw(p); return p.imported })
		}
	}
	for len(events) > 0 {
		i := w.r.IntN(len(events))
		if !events[i]() {
			continue
		}
		events = slices.Delete(events, i, i+1)
		if w.r.IntN(3) > 0 || len(events) == 0 {
			w.match(t, seed)
		}
	}
}

// withdraw corrects a payment to nothing: there was none, and its payouts are not paid.
func (w *hiddenWorld) withdraw(p *hiddenPayment) {
	if p.imported {
		p.Revision, p.Amount, p.PayoutAmount, p.Fee, p.kept = 2, decimal.Zero, decimal.Zero, decimal.Zero, nil
	}
}

func (w *hiddenWorld) match(t *testing.T, seed uint64) {
	t.Helper()
	w.step++
	w.seen.steps++
	var dues []finance.Due
	var payments []finance.Payment
	var imported []*hiddenPayment
	for _, p := range w.payouts {
		d := finance.Due{Payout: p.id, Currency: p.currency, Paid: p.paid, Stamped: p.stamped, End: &p.end}
		if !p.known {
			d.Currency, d.Stamped = "", decimal.Zero
		}
		if p.loaded {
			dues = append(dues, d)
		}
	}
	for _, p := range w.payments {
		if p.imported {
			one := payment(p.SettlementRevision)
			one.Kept = p.kept
			payments, imported = append(payments, one), append(imported, p)
		}
	}
	for i, m := range finance.Pair(dues, payments, dayOne.AddDate(9, 0, 0)) {
		p := imported[i]
		if p.kept != nil && p.kept.By != "" && (m.By == "" || !slices.Equal(m.Payouts, p.kept.Payouts)) {
			t.Errorf("world %d, step %d: %s was matched with %v, and is now with %v", seed, w.step, p.Reference, p.kept.Payouts, m.Payouts)
		}
		if p.match = m; p.kept == nil || p.kept.By != m.By {
			p.kept = &finance.Kept{At: dayOne.Add(time.Duration(w.step)), By: m.By, Payouts: m.Payouts}
		}
		w.check(t, seed, p)
	}
	w.states(t, seed, imported)
}

// cancelBut reports whether a payment is for a payout, and for others that come to nothing: nobody can see those.
func (p *hiddenPayment) cancelBut(id int64) bool {
	rest := decimal.Zero
	for _, o := range p.of {
		if o.id != id {
			rest = rest.Add(o.paid)
		}
	}
	return slices.Contains(idsOf(p.of), id) && rest.Abs().LessThan(finance.FromMinor(int64(len(p.of)), p.PayoutCurrency))
}

// check looks at the match of a payment.
func (w *hiddenWorld) check(t *testing.T, seed uint64, p *hiddenPayment) {
	t.Helper()
	m := p.match
	loaded := !slices.ContainsFunc(p.of, func(o *hiddenPayout) bool { return !o.loaded })
	switch {
	case m.By == "":
		w.seen.open++
		if p.named && loaded && !p.PayoutAmount.IsZero() {
			t.Errorf("world %d, step %d: %s names %v, and is open: %q", seed, w.step, p.Reference, idsOf(p.of), p.Text)
		}
		return
	case !slices.Equal(m.Payouts, idsOf(p.of)):
		if m.By == finance.ByAmount && p.cancelBut(m.Payouts[0]) {
			return
		}
		t.Errorf("world %d, step %d: %s %s is for %v, and was matched by %s with %v", seed, w.step, p.Reference, p.PayoutAmount, idsOf(p.of), m.By, m.Payouts)
		return
	case m.By == finance.ByAmount:
		w.seen.amount++
	case m.By == finance.ByReference:
		w.seen.reference++
	default:
		w.seen.named++
	}
	fee := p.Fee
	if p.Currency != p.PayoutCurrency {
		fee = decimal.Zero
	}
	sum, fees := decimal.Sum(decimal.Zero, m.Shares...), decimal.Sum(decimal.Zero, m.Fees...)
	if !sum.Equal(p.PayoutAmount) || !fees.Equal(fee) {
		t.Errorf("world %d, step %d: the shares of %s are %v, its fees %v, and %s was sent with a fee of %s", seed, w.step, p.Reference, m.Shares, m.Fees, p.PayoutAmount, fee)
	}
	if p.part || !loaded || p.PayoutAmount.IsZero() {
		return
	}
	w.seen.wholes++
	for i, o := range p.of { // all of it was sent, so each payout is paid in full, and on its side
		if unit := finance.FromMinor(1, o.currency); m.Shares[i].Sub(o.paid).Abs().GreaterThanOrEqual(unit) || m.Shares[i].Sign()*o.paid.Sign() < 0 && !o.paid.Abs().LessThan(unit) {
			t.Errorf("world %d, step %d: payout %d gets %s of %s from %s", seed, w.step, o.id, m.Shares[i], o.paid, p.Reference)
		}
		if o.paid.IsNegative() && len(p.of) > 1 {
			w.seen.netted++
		}
	}
}

// states compares what payouts were given with the truth, and what is in transit with what is outstanding.
func (w *hiddenWorld) states(t *testing.T, seed uint64, imported []*hiddenPayment) {
	t.Helper()
	given, transit, rounding := map[int64]decimal.Decimal{}, map[string]decimal.Decimal{}, map[int64]decimal.Decimal{}
	for _, p := range imported {
		transit[p.PayoutCurrency] = transit[p.PayoutCurrency].Sub(p.PayoutAmount)
		for i, id := range p.match.Payouts {
			given[id], rounding[id] = given[id].Add(p.match.Shares[i]), rounding[id].Add(p.match.Rounding[i])
			transit[p.PayoutCurrency] = transit[p.PayoutCurrency].Sub(p.match.Rounding[i])
		}
	}
	settled := map[string]bool{"EUR": true, "JPY": true, "KWD": true}
	for _, o := range w.payouts {
		unit, missing := finance.FromMinor(1, o.currency), o.paid.Sub(given[o.id])
		if !o.loaded {
			settled[o.currency] = settled[o.currency] && given[o.id].IsZero()
			continue
		}
		if o.known {
			transit[o.currency] = transit[o.currency].Add(finance.Payable(o.stamped, o.currency))
		}
		complete := missing.Abs().LessThan(unit)
		if settled[o.currency] = settled[o.currency] && complete && o.known; complete && o.paid.Abs().LessThan(unit) {
			w.seen.tiny++
		}
		if in := finance.Payable(o.stamped, o.currency).Sub(given[o.id]).Sub(rounding[o.id]); complete && o.known && !in.IsZero() {
			t.Errorf("world %d, step %d: %s is in transit for payout %d, which paid %s and has %s", seed, w.step, in, o.id, o.stamped, given[o.id])
		}
		if !rounding[o.id].IsZero() {
			w.seen.rounding++
		}
	}
	for _, p := range imported { // parts fill the payouts in their order; what was taken back is gone again
		if !p.part || slices.ContainsFunc(p.of, func(o *hiddenPayout) bool { return !o.loaded }) {
			continue
		}
		sum := decimal.Zero
		for _, q := range imported {
			if slices.Equal(q.of, p.of) {
				sum = sum.Add(q.PayoutAmount)
			}
		}
		w.seen.parts++
		if p.back {
			w.seen.back++
		}
		for _, o := range p.of {
			got := given[o.id]
			if sum = sum.Sub(got); got.Sign()*o.paid.Sign() < 0 && got.Sign() != sum.Add(got).Sign() && !p.back {
				t.Errorf("world %d, step %d: payout %d of %s has %s", seed, w.step, o.id, o.paid, got)
			}
		}
		if !sum.IsZero() {
			t.Errorf("world %d, step %d: %s of what came for %v is for none of them", seed, w.step, sum, idsOf(p.of))
		}
	}
	for currency, all := range settled {
		unmatched := slices.ContainsFunc(imported, func(p *hiddenPayment) bool {
			return p.PayoutCurrency == currency && p.match.By == "" && !p.PayoutAmount.IsZero()
		})
		if all = all && !unmatched; all {
			w.seen.settled++
		} else {
			w.seen.unsettled++
		}
		if all && !transit[currency].IsZero() {
			t.Errorf("world %d, step %d: all is settled, and %s %s is in transit", seed, w.step, currency, transit[currency])
		}
	}
}

// TestPairOfRandomWorlds makes payments of payouts by a hidden truth, and loads both in random order: netted, in
// batches and parts, rounded each or in sum, with fees, converted, taken back and withdrawn, with words full of other
// numbers. No payment is ever for a payout that it was not made of; what is named is found; what was found stays;
// shares add up; nothing is in transit when all is settled. SETTLEMENT_WORLDS is how many worlds there are; the first
// have fixed seeds.
func TestPairOfRandomWorlds(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	worlds := 1000
	if text := os.Getenv("SETTLEMENT_WORLDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		worlds = n
	}
	fresh := uint64(time.Now().UnixNano())
	t.Logf("the seeds are 0 to %d, and from %d", worlds/2-1, fresh)
	seen := &worldsSeen{worlds: worlds}
	for i := range uint64(worlds) {
		seed := i
		if i >= uint64(worlds/2) {
			seed = fresh + i
		}
		newHiddenWorld(seed, seen).live(t, seed)
		if t.Failed() && os.Getenv("SETTLEMENT_WORLDS") == "" {
			break
		}
	}
	t.Logf("%+v", *seen)
	if min(seen.amount, seen.reference, seen.named, seen.open, seen.netted, seen.parts, seen.back, seen.rounding, seen.settled,
		seen.unsettled, seen.tiny) == 0 {
		t.Errorf("the worlds are too tame: %+v", *seen)
	}
}
