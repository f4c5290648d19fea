package finance

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

// life is the true state of a transaction: when it was paid, when it was first loaded, and now.
type life struct {
	id               uuid.UUID
	currency         string
	paid, first, now Standing
	state            string
	loaded           bool
	late, doubtful   bool // what is known about when it was seen
}

// play is a payout of a random world with its truth.
type play struct {
	lives    []life
	reported Totals
	fault    decimal.Decimal // by how much the payout says too much undeclined cashback
	faulty   bool
	reversed bool // a declined transaction was accepted again before it was loaded
	amounts  bool // an amount changed before it was loaded
}

type dice struct {
	*rand.Rand
	round bool // many amounts are the same
}

func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

// amount returns one of a few round amounts, one to the cent, or one with four decimals.
func (d dice) amount(most int) decimal.Decimal {
	switch {
	case d.round || d.chance(15):
		return decimal.NewFromInt(int64(5 * (1 + d.IntN(3))))
	case d.chance(10):
		return decimal.New(int64(d.IntN(most*10000)), -4)
	}
	return decimal.New(int64(1+d.IntN(most*100)), -2)
}

func (d dice) status() string {
	switch n := d.IntN(10); {
	case n < 5:
		return Confirmed
	case n < 8:
		return Pending
	}
	return Declined
}

// age changes a transaction as time may change it, and returns what it did.
func (d dice) age(s Standing, reversals, amounts bool) (after Standing, reversed, altered bool) {
	after = s
	switch {
	case s.Status == Pending && d.chance(40):
		after.Status = Confirmed
	case s.Status != Declined && d.chance(35):
		after.Status = Declined
	case s.Status == Declined && reversals && d.chance(25):
		after.Status, reversed = Confirmed, true
	}
	if amounts && d.chance(25) {
		after.Cashback, altered = d.amount(20), true
	}
	return after, reversed, altered
}

func newPlay(seed uint64, most int) *play {
	d := dice{Rand: rand.New(rand.NewPCG(seed, 7))}
	d.round = d.chance(20)
	p := &play{}
	lateness, reversals, amounts := []int{0, 15, 50, 100}[d.IntN(4)], d.chance(10), d.chance(15)
	trouble, second := d.chance(50), d.chance(12)
	untold := d.chance(20) // all were touched at once after they were paid: only Doubtful shows that nobody saw them
	for range 1 + d.IntN(most) {
		var l life
		binary.BigEndian.PutUint64(l.id[:], d.Uint64())
		l.currency, l.state, l.loaded = "EUR", Same, true
		if second && d.chance(40) {
			l.currency = "USD"
		}
		l.paid = Standing{d.status(), d.amount(500), d.amount(20)}
		l.doubtful = untold || d.chance(60)
		l.first = l.paid
		if d.chance(lateness) {
			l.late = !untold
			var reversed, altered bool
			l.first, reversed, altered = d.age(l.paid, reversals, amounts)
			p.reversed, p.amounts = p.reversed || reversed, p.amounts || altered
		}
		l.now = l.first
		if d.chance(20) {
			l.now, _, _ = d.age(l.first, true, true)
		}
		switch {
		case trouble && d.chance(4):
			l.loaded = false
		case d.chance(2):
			if l.state = Gone; d.chance(2) {
				l.state = Moved
			}
		case l.now != l.first:
			l.state = Changed
		}
		p.lives = append(p.lives, l)
	}
	p.reported = totals(p.lives, func(l *life) (Standing, bool) { return l.paid, true })
	if trouble && d.chance(50) {
		p.spoil(d)
	}
	return p
}

// spoil makes an amount of the payout wrong.
func (p *play) spoil(d dice) {
	by := d.amount(9).Sub(decimal.NewFromInt(4))
	alter := func(of **decimal.Decimal, by decimal.Decimal) {
		sum := (*of).Add(by)
		*of = &sum
	}
	p.faulty = true
	switch d.IntN(4) {
	case 0:
		alter(&p.reported.Total.Cashback, by)
	case 1:
		alter(&p.reported.Total.Cashback, by)
		alter(&p.reported.Confirmed.Cashback, by)
	case 2: // confirmed for declined
		alter(&p.reported.Confirmed.Cashback, by)
		alter(&p.reported.Declined.Cashback, by.Neg())
	case 3:
		alter(&p.reported.Confirmed.Value, by)
		return
	}
	p.fault = by
}

// totals adds up transactions in the state that at returns.
func totals(lives []life, at func(*life) (Standing, bool)) Totals {
	var sums [4]Sums
	for i := range lives {
		s, counts := at(&lives[i])
		if !counts {
			continue
		}
		sums[0] = sums[0].add(s.sums())
		of := map[string]int{Confirmed: 1, Declined: 2, Pending: 3}[s.Status]
		sums[of] = sums[of].add(s.sums())
	}
	figures := func(s Sums) Figures { return Figures{&s.Count, &s.Value, &s.Cashback} }
	return Totals{figures(sums[0]), figures(sums[1]), figures(sums[2]), figures(sums[3])}
}

func (l *life) here() bool { return l.loaded && l.state != Gone && l.state != Moved }

// payout returns what the program gets to know.
func (p *play) payout() *Payout {
	in := &Payout{Currency: "EUR", Reported: p.reported,
		Stamped: totals(p.lives, func(l *life) (Standing, bool) { return l.first, l.loaded }),
		Now:     totals(p.lives, func(l *life) (Standing, bool) { return l.now, l.here() })}
	by := map[string]*CurrencySums{}
	for i := range p.lives {
		l := &p.lives[i]
		if !l.loaded {
			continue
		}
		if by[l.currency] == nil {
			by[l.currency] = &CurrencySums{Currency: l.currency}
		}
		by[l.currency].Stamped = by[l.currency].Stamped.Add(l.first.Worth())
		in.Currency = l.currency
		if l.here() {
			by[l.currency].Now = by[l.currency].Now.Add(l.now.Worth())
		}
		in.Transactions = append(in.Transactions,
			Transaction{ID: l.id, Currency: l.currency, State: l.state, Unseen: l.late, Doubtful: l.doubtful, Stamped: l.first,
				Now: l.now})
	}
	if len(by) == 2 {
		in.Lines = []CurrencySums{*by["EUR"], *by["USD"]}
	}
	return in
}

// TestRandomWorlds explains payouts whose truth is known: the parts add up exactly in each currency, what is called
// certain is true, and if everything was seen, each kind is the true one.
func TestRandomWorlds(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
	t.Parallel()
	var certain, ambiguous, explained, seen int
	for seed := range uint64(4000) {
		most := 30
		if seed%200 == 0 {
			most = 150 // too many to try all
		}
		p := newPlay(seed, most)
		in := p.payout()
		e := Explain(in, &Budget{Left: 1_000_000})
		p.addsUp(t, seed, in, &e)
		truth := p.culprits()
		switch {
		case e.Culprits.Certain():
			certain += min(1, len(truth))
			if got := names(e.Culprits.Sets...); !same(got, truth) && !p.cancels(in) {
				t.Errorf("world %d: named as certain %v, in truth %v", seed, got, truth)
			}
		case len(e.Culprits.Sets) > 0 && !e.Culprits.More && !p.reversed && !p.amounts && !p.faulty:
			ambiguous++
			if !p.listed(&e, truth) {
				t.Errorf("world %d: none of %d sets is the true one", seed, len(e.Culprits.Sets))
			}
		}
		if len(truth) > 0 {
			explained++
		}
		if e.Culprits.Certain() && !p.cancels(in) && !p.faulty {
			p.statusesAreTrue(t, seed, &e)
		}
		if p.allSeen() {
			seen++
			p.kindsAreTrue(t, seed, in, &e)
		}
	}
	t.Logf("of 4,000 worlds, %d have culprits that nobody saw: %d are named, %d are one of several sets; %d were seen throughout", explained, certain, ambiguous, seen)
	if certain < 500 || ambiguous < 50 || seen < 500 {
		t.Error("the worlds are too tame")
	}
}

func (p *play) addsUp(t *testing.T, seed uint64, in *Payout, e *Explanation) {
	t.Helper()
	paid, worth := decimal.Zero, map[string]decimal.Decimal{}
	for i := range e.Lines {
		l := &e.Lines[i]
		sum := decimal.Zero
		for _, k := range Kinds() {
			sum = sum.Add(l.Sum(k))
		}
		if !sum.Equal(l.Difference()) {
			t.Errorf("world %d: the kinds of %q add up to %s, paid less worth is %s", seed, l.Currency, sum, l.Difference())
		}
		for _, item := range l.Items {
			if item.Amount.IsZero() || item.Kind == Clawback && item.Amount.IsNegative() || item.Kind == Claimable &&
				item.Amount.IsPositive() {
				t.Errorf("world %d: %s of %s", seed, item.Kind, item.Amount)
			}
			if tr := item.Transaction; tr != nil && tr.Currency != l.Currency && len(in.Lines) > 0 {
				t.Errorf("world %d: %s in the line of %s", seed, tr.Currency, l.Currency)
			}
		}
		paid = paid.Add(l.Paid)
		worth[l.Currency] = l.Worth
	}
	if want := p.reported.Total.Cashback.Sub(*p.reported.Declined.Cashback); !paid.Equal(want) {
		t.Errorf("world %d: %s paid, the payout says %s", seed, paid, want)
	}
	want := map[string]decimal.Decimal{}
	for i := range p.lives {
		if l := &p.lives[i]; l.here() {
			want[l.currency] = want[l.currency].Add(l.now.Worth())
		}
	}
	for currency, w := range want {
		if !worth[currency].Equal(w) {
			t.Errorf("world %d: worth %s %s now, in truth %s", seed, currency, worth[currency], w)
		}
	}
}

// culprits returns the loaded transactions that were declined, or accepted again, between being paid and being loaded.
func (p *play) culprits() map[uuid.UUID]bool {
	all := map[uuid.UUID]bool{}
	for i := range p.lives {
		if l := &p.lives[i]; l.loaded && (l.paid.Status == Declined) != (l.first.Status == Declined) {
			all[l.id] = true
		}
	}
	return all
}

func names(sets ...[]*Transaction) map[uuid.UUID]bool {
	all := map[uuid.UUID]bool{}
	for _, set := range sets {
		for _, t := range set {
			all[t.ID] = true
		}
	}
	return all
}

func same(a, b map[uuid.UUID]bool) bool {
	for id := range a {
		if !b[id] {
			return false
		}
	}
	return len(a) == len(b)
}

func (p *play) listed(e *Explanation, truth map[uuid.UUID]bool) bool {
	for _, set := range e.Culprits.Sets {
		if same(names(set), truth) {
			return true
		}
	}
	return false
}

// cancels reports whether amounts changed before they were loaded, and the changes cancel each other: nothing
// can show that (finance-5).
func (p *play) cancels(in *Payout) bool { return p.amounts && in.amountsAgree() }

// statusesAreTrue compares the deduced statuses of transactions when they were paid with the truth.
func (p *play) statusesAreTrue(t *testing.T, seed uint64, e *Explanation) {
	t.Helper()
	truth := map[uuid.UUID]string{}
	for _, l := range p.lives {
		truth[l.id] = l.paid.Status
	}
	for _, i := range e.Items() {
		if !i.Deduced {
			continue
		}
		if was := truth[i.Transaction.ID]; i.PaidAs.Status != was && (i.PaidAs.Status != Undeclined || was == Declined) {
			t.Errorf("world %d: a transaction was %s when it was paid, deduced is %s", seed, was, i.PaidAs.Status)
		}
	}
}

func (p *play) allSeen() bool {
	for i := range p.lives {
		if l := &p.lives[i]; l.late || l.paid != l.first {
			return false
		}
	}
	return true
}

// kindsAreTrue compares each kind with the truth, in a world that was seen throughout.
func (p *play) kindsAreTrue(t *testing.T, seed uint64, in *Payout, e *Explanation) {
	t.Helper()
	want := map[Kind]decimal.Decimal{}
	for i := range p.lives {
		l := &p.lives[i]
		amount := l.paid.Worth().Sub(l.now.Worth())
		if l.loaded && !l.here() {
			amount = l.paid.Worth()
		}
		kind := Clawback
		switch {
		case !l.loaded:
			kind, amount = NotLoaded, l.paid.Worth()
		case l.state == Gone:
			kind = Vanished
		case amount.IsNegative():
			kind = Claimable
		}
		want[kind] = want[kind].Add(amount)
	}
	want[PayoutError] = p.fault
	if p.fault.IsZero() || in.Lacking() == 0 { // a wrong amount and one that is not loaded cannot always be told apart
		for _, kind := range Kinds() {
			got := decimal.Zero
			for i := range e.Lines {
				got = got.Add(e.Lines[i].Sum(kind))
			}
			if !got.Equal(want[kind]) {
				t.Errorf("world %d: %s %s, in truth %s", seed, kind, got, want[kind])
			}
		}
	}
}
