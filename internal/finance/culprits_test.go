package finance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
)

// numbered returns the numbers of transactions, as one gives them.
func numbered(all []*Transaction) string {
	var text []string
	for _, t := range all {
		text = append(text, fmt.Sprint(t.ID[15]))
	}
	return strings.Join(text, " ")
}

// tried returns all sets of transactions that were declined at payment or accepted again since, as trying every status
// of every unseen transaction finds them.
func tried(p *Payout) (sets []string) {
	unseen := p.unseen()
	for mask := range 1 << len(unseen) {
		var declined Sums
		var differ []*Transaction
		for i := range p.Transactions {
			t := &p.Transactions[i]
			was := t.Stamped.Status == Declined
			if at := slices.Index(unseen, t); at >= 0 {
				if then := mask&(1<<at) != 0; then != was {
					differ, was = append(differ, t), then
				}
			}
			if was {
				declined = declined.add(t.Stamped.sums())
			}
		}
		if equal(declined, p.Reported.Declined.loaded()) {
			sets = append(sets, numbered(differ))
		}
	}
	slices.Sort(sets)
	return sets
}

// TestCulprits compares what is deduced of payouts, whose transactions were declined and accepted between being paid
// and being loaded, with all that could have been.
func TestCulprits(t *testing.T) {
	t.Parallel()
	certain, several, none := 0, 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		var all []Transaction
		var paid []life
		for n := range 2 + r.IntN(5) {
			then := []string{Confirmed, Declined, Pending}[r.IntN(3)]
			unseen, now := r.IntN(4) > 0, then
			if unseen && r.IntN(3) == 0 {
				now = []string{Confirmed, Declined}[r.IntN(2)]
			}
			x := one(byte(n+1), unseen, Same, now, fmt.Sprint(1+r.IntN(6)), now, "1")
			if seed%2 == 1 { // returns of more than was sold
				x.Stamped.Cashback = x.Stamped.Cashback.Sub(decimal.NewFromInt(int64(r.IntN(5))))
				x.Stamped.Value = x.Stamped.Value.Sub(decimal.NewFromInt(int64(10 * r.IntN(6))))
			}
			all = append(all, x)
			paid = append(paid, life{first: Standing{then, x.Stamped.Value, x.Stamped.Cashback}, loaded: true})
		}
		p := of(totals(paid, func(l *life) (Standing, bool) { return l.first, true }), all...)
		c, want := p.culprits(&Budget{Left: 1 << 20}), tried(p)
		var got []string
		for _, set := range c.Sets {
			got = append(got, numbered(set))
		}
		slices.Sort(got)
		if slices.Contains(want, "") { // nothing need have changed, which is an answer only where it is the only one
			if len(got) > 0 && len(want) == 1 {
				t.Fatalf("seed %d: %q, though what was loaded is what was paid", seed, got)
			}
			none++
			continue
		}
		if len(want) > maxSets || c.IfFinal {
			continue
		}
		switch {
		case len(want) == 1:
			certain++
		case len(want) > 1:
			several++
		}
		if !slices.Equal(got, want) || c.Certain() != (len(want) == 1) || c.More || c.GaveUp {
			t.Fatalf("seed %d: %q, certain: %t, and these explain it: %q", seed, got, c.Certain(), want)
		}
	}
	if certain < 300 || several < 100 || none < 300 {
		t.Errorf("%d were certain, %d had several answers, %d none: these worlds show too little", certain, several, none)
	}
}

// TestCulpritsUndecided has payouts that say too little, or whose sums say that more than statuses has changed.
func TestCulpritsUndecided(t *testing.T) {
	t.Parallel()
	// Two of three were declined when they were paid, and one is declined now.
	sales := []Transaction{one(1, true, Same, Declined, "1", Declined, "1"), one(2, true, Same, Confirmed, "2", Confirmed, "2"),
		one(3, true, Same, Confirmed, "4", Confirmed, "4")}
	said := func(total, confirmed, declined string) Totals {
		at := func(text string) Figures {
			count, cashback, _ := strings.Cut(text, " ")
			return figures(count, cashback)
		}
		return Totals{at(total), at(confirmed), at(declined), figures("0", "0")}
	}
	silent := said("3 7", "1 4", "2 3")
	silent.Declined.Value = nil
	for name, test := range map[string]struct {
		reported Totals
		sets     string
		possible bool
	}{
		"it is the second":                  {said("3 7", "1 4", "2 3"), "[2]", true},
		"another sum of all":                {said("3 8", "1 5", "2 3"), "[]", true},
		"a sale that is not loaded":         {said("4 7", "2 4", "2 3"), "[]", false},
		"a sum that nobody can have":        {said("3 7", "1 4.5", "2 2.5"), "[]", true},
		"totals that are not their sums":    {said("3 7", "1 5", "2 3"), "[2]", false},
		"an amount that it does not say":    {silent, "[]", false},
		"more declined than there are":      {said("3 7", "0 0", "4 7"), "[]", false},
		"all of them, whatever the amounts": {said("3 8", "0 0", "3 8"), "[2 3]", true},
		"none of them":                      {said("3 7", "3 7", "0 0"), "[1]", true},
		"as it was loaded":                  {said("3 7", "2 6", "1 1"), "[]", true},
		"as it was loaded, other amounts":   {said("3 7", "2 5", "1 2"), "[1 2]", true},
	} {
		p := of(test.reported, slices.Clone(sales)...)
		c := p.culprits(&Budget{Left: 1 << 20})
		got := []string{}
		for _, set := range c.Sets {
			got = append(got, numbered(set))
		}
		if fmt.Sprint(got) != test.sets || p.possible() != test.possible {
			t.Errorf("%s: %q, possible: %t, want %s and %t", name, got, p.possible(), test.sets, test.possible)
		}
	}
	seen := of(said("3 7", "1 4", "2 3"), sales[0], one(2, false, Same, Confirmed, "2", Confirmed, "2"), one(3, false, Same, Confirmed, "4", Confirmed, "4"))
	if c := seen.culprits(&Budget{Left: 1 << 20}); len(c.Sets) > 0 || seen.possible() {
		t.Errorf("what was seen when it was paid cannot explain it: %+v", c.Sets)
	}
	if got := decimal.NewFromInt(seen.Lacking()); !got.IsZero() {
		t.Errorf("%s are lacking", got)
	}
}

// TestCulpritsOfMany has too many transactions to try them all: then only those are tried that are declined now.
func TestCulpritsOfMany(t *testing.T) {
	t.Parallel()
	var all []Transaction
	var paid []life
	for n := range byte(80) {
		now := Confirmed
		if n < 40 {
			now = Declined
		}
		x := one(n, true, Same, now, fmt.Sprint(1000+int(n)*int(n)*int(n)), now, "1")
		then := x.Stamped
		if n == 20 || n == 31 { // they were declined after they were paid
			then.Status = Confirmed
		}
		all, paid = append(all, x), append(paid, life{first: then, loaded: true})
	}
	p := of(totals(paid, func(l *life) (Standing, bool) { return l.first, true }), all...)
	c := p.culprits(&Budget{Left: 10_000_000})
	if len(c.Sets) != 1 || numbered(c.Sets[0]) != "20 31" || !c.IfFinal || c.GaveUp || !c.Certain() {
		t.Errorf("%d sets, if final: %t, gave up: %t", len(c.Sets), c.IfFinal, c.GaveUp)
	}
	if c := p.culprits(&Budget{Left: 1}); !c.GaveUp || len(c.Sets) > 0 || c.Certain() {
		t.Errorf("beyond the budget: %+v", c)
	}
	same := of(totals(paid[:2], func(l *life) (Standing, bool) { return l.first, true }), one(0, false, Same, Declined, "1000", Declined, "1"),
		one(1, false, Same, Declined, "1001", Declined, "1"))
	if same.possible() {
		t.Error("without unseen transactions nothing can have changed")
	}
}
