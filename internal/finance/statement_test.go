package finance

import (
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"
)

// version is the true state of a transaction from a month on; payout 0 means none.
type version struct {
	month, payout int
	status        string
	cashback      decimal.Decimal
	listed        bool
}

const worldMonths = 6

// newVersions returns the random life of a transaction, as its versions in their order.
func newVersions(d dice) []version {
	v := version{d.IntN(worldMonths), 0, d.status(), d.amount(20), true}
	if d.chance(20) {
		v.payout = 1 + d.IntN(3)
	}
	all := []version{v}
	for d.chance(60) {
		v.month = min(worldMonths-1, v.month+d.IntN(3))
		switch d.IntN(6) {
		case 0, 1:
			v.status = d.status()
		case 2:
			v.cashback = d.amount(20)
		case 3:
			v.payout = d.IntN(3)
		case 4:
			v.listed = !v.listed
		case 5: // all at once
			v.status, v.cashback, v.payout = d.status(), d.amount(20), d.IntN(3)
		}
		all = append(all, v)
	}
	return all
}

// truth returns the balance of a transaction at the end of a month, and what was paid for it until then.
func truth(versions []version, month int) (b Balance, paid decimal.Decimal) {
	seen := map[int]bool{}
	var last *version
	for i := range versions {
		v := &versions[i]
		if v.month > month {
			break
		}
		if v.payout != 0 && !seen[v.payout] {
			seen[v.payout] = true
			if v.listed && v.status != Declined {
				paid = paid.Add(v.cashback)
			}
		}
		last = v
	}
	if last == nil {
		return b, paid
	}
	if last.listed && last.status != Declined {
		switch {
		case last.payout != 0:
			b.Settled = last.cashback
		case last.status == Confirmed:
			b.Confirmed = last.cashback
		default:
			b.Pending = last.cashback
		}
	}
	b.Settled = b.Settled.Sub(paid)
	return b, paid
}

// changesOf returns the changes of a transaction by month: the sale, and each version that differs from the one before.
func changesOf(versions []version) map[int][]Change {
	all := map[int][]Change{}
	first := versions[0]
	all[first.month] = append(all[first.month],
		Change{Sale: true, After: Pending, Count: 1, CashbackBefore: first.cashback, Cashback: first.cashback,
			ListedAfter: true})
	before := version{status: Pending, cashback: first.cashback, listed: true}
	seen := map[int]bool{}
	for _, v := range versions {
		all[v.month] = append(all[v.month], Change{Before: before.status, After: v.status, InPayout: before.payout != 0,
			IntoPayout: v.payout != 0, SamePayout: before.payout == v.payout,
			FirstPaid: v.payout != 0 && !seen[v.payout], ListedBefore: before.listed, ListedAfter: v.listed, Count: 1,
			CashbackBefore: before.cashback, Cashback: v.cashback})
		seen[v.payout] = true
		before = v
	}
	return all
}

// TestStatementBalances adds up the months of random worlds: each statement balances, closes with what is truly owed,
// and opens with what the one before closed with.
func TestStatementBalances(t *testing.T) {
	t.Parallel()
	events := map[Event]int{}
	for seed := range uint64(1000) {
		d := dice{Rand: rand.New(rand.NewPCG(seed, 5))}
		var lives [][]version
		byMonth := map[int][]Change{}
		for range 1 + d.IntN(12) {
			v := newVersions(d)
			lives = append(lives, v)
			for month, changes := range changesOf(v) {
				byMonth[month] = append(byMonth[month], changes...)
			}
		}
		var before []Change
		var last Balance
		var paidBefore decimal.Decimal
		for month := range worldMonths {
			s := NewStatement(before, byMonth[month], nil)
			want, paid := Balance{}, decimal.Zero
			for _, v := range lives {
				b, p := truth(v, month)
				want, paid = want.Add(b), paid.Add(p)
			}
			sum, paidOut := s.Opening, decimal.Zero
			for _, e := range s.Entries {
				sum, paidOut = sum.Add(e.Balance), paidOut.Add(e.Paid)
				events[e.Event]++
				if sign := e.Total().Sign(); sign > 0 && (e.Event == Lowered || e.Event == Decline || e.Event == LoweredPaid) ||
					sign < 0 && (e.Event == Raised || e.Event == Acceptance || e.Event == RaisedPaid) {
					t.Errorf("world %d, month %d: %s of %s", seed, month, e.Event, e.Total())
				}
				if e.Event == Confirmation && !e.Total().IsZero() {
					t.Errorf("world %d, month %d: %+v", seed, month, e)
				}
			}
			if !s.Opening.Equal(last) || !sum.Equal(s.Closing) || !s.Closing.Equal(want) {
				t.Errorf("world %d, month %d: %+v opens, %+v closes, in truth %+v; the one before closed with %+v", seed, month,
					s.Opening, s.Closing, want, last)
			}
			if !paidOut.Equal(paid.Sub(paidBefore)) {
				t.Errorf("world %d, month %d: %s paid, in truth %s", seed, month, paidOut, paid.Sub(paidBefore))
			}
			before, last, paidBefore = append(before, byMonth[month]...), s.Closing, paid
		}
	}
	for _, event := range Events() {
		if event != Adjustment && events[event] == 0 {
			t.Errorf("no world has %q", event)
		}
	}
}
