package finance

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

func num(text string) decimal.Decimal { return decimal.RequireFromString(text) }

// one returns a transaction with a number. Its order value is ten times its cashback.
func one(n byte, unseen bool, state, status, cashback, statusNow, cashbackNow string) Transaction {
	return Transaction{ID: uuid.UUID{15: n}, Currency: "EUR", State: state, Unseen: unseen,
		Stamped: Standing{status, num(cashback).Mul(num("10")), num(cashback)},
		Now:     Standing{statusNow, num(cashback).Mul(num("10")), num(cashbackNow)}}
}

// figures returns a count and a cashback, with ten times the cashback as order value.
func figures(count, cashback string) Figures {
	n, c := num(count), num(cashback)
	v := c.Mul(num("10"))
	return Figures{&n, &v, &c}
}

// of makes a payout of transactions that are all loaded; reported is what it says.
func of(reported Totals, all ...Transaction) *Payout {
	var lives []life
	for _, t := range all {
		lives = append(lives, life{first: t.Stamped, now: t.Now, state: t.State, loaded: true})
	}
	return &Payout{Currency: "EUR", Reported: reported, Transactions: all,
		Stamped: totals(lives, func(l *life) (Standing, bool) { return l.first, true }),
		Now:     totals(lives, func(l *life) (Standing, bool) { return l.now, l.here() })}
}

// TestKinds has payouts of one kind each, and of several at once, which are not netted.
func TestKinds(t *testing.T) {
	t.Parallel()
	paidOne := Totals{figures("2", "19"), figures("2", "19"), figures("0", "0"), figures("0", "0")}
	for _, test := range []struct {
		name string
		p    *Payout
		want string
	}{
		{"all stands", of(paidOne, one(1, false, Same, Confirmed, "10", Confirmed, "10"),
			one(2, false, Same, Confirmed, "9", Confirmed, "9")), ""},
		{"declined", of(paidOne, one(1, false, Same, Confirmed, "10", Confirmed, "10"),
			one(2, false, Changed, Confirmed, "9", Declined, "9")), "expected_clawback 9 declined 2"},
		{"one raised, one lowered by as much",
			of(paidOne, one(1, false, Changed, Confirmed, "10", Confirmed, "8"),
				one(2, false, Changed, Confirmed, "9", Confirmed, "11")),
			"expected_clawback 2 lowered 1; claimable -2 raised 2"},
		{"gone and moved", of(paidOne, one(1, false, Gone, Confirmed, "10", Confirmed, "10"),
			one(2, false, Moved, Confirmed, "9", Confirmed, "9")),
			"vanished 10 no longer listed 1; expected_clawback 9 left the payout 2"},
		{"a total that is not the sum of its parts",
			of(Totals{figures("2", "20.5"), figures("2", "19"), figures("0", "0"), figures("0", "0")},
				one(1, false, Same, Confirmed, "10", Confirmed, "10"), one(2, false, Same, Confirmed, "9", Confirmed, "9")),
			"payout_error 1.5 own sums"},
		{"one is not loaded", of(Totals{figures("3", "20.5"), figures("3", "20.5"), figures("0", "0"), figures("0", "0")},
			one(1, false, Same, Confirmed, "10", Confirmed, "10"), one(2, false, Same, Confirmed, "9", Confirmed, "9")),
			"not_loaded 1.5 not loaded (1)"},
		{"a declined one is not loaded, and the payout says too much",
			of(Totals{figures("3", "24"), figures("2", "20"), figures("1", "4"), figures("0", "0")},
				one(1, false, Same, Confirmed, "10", Confirmed, "10"), one(2, false, Same, Confirmed, "9", Confirmed, "9")),
			"payout_error 1 its transactions"},
		{"declined before it was loaded", of(paidOne, one(1, true, Same, Confirmed, "10", Confirmed, "10"),
			one(2, true, Same, Declined, "9", Declined, "9")),
			"expected_clawback 9 declined 2 deduced"},
		{"declined before it was loaded, and accepted since",
			of(paidOne, one(1, true, Same, Confirmed, "10", Confirmed, "10"),
				one(2, true, Changed, Declined, "9", Confirmed, "9")), ""},
		{"declined before it was loaded, and one is lacking",
			of(Totals{figures("3", "20"), figures("3", "20"), figures("0", "0"), figures("0", "0")},
				one(1, false, Same, Confirmed, "10", Confirmed, "10"), one(2, true, Same, Declined, "9", Declined, "9")),
			"expected_clawback 9 declined 2 deduced; not_loaded 1 not loaded (1)"},
		{"one of two that are alike", of(Totals{figures("2", "18"), figures("1", "9"), figures("1", "9"), figures("0", "0")},
			one(1, true, Same, Declined, "9", Declined, "9"), one(2, true, Same, Declined, "9", Declined, "9")),
			"expected_clawback 9 before it was loaded [2] [1]"},
		{"the amount of one changed before it was loaded",
			of(Totals{figures("2", "21"), figures("2", "21"), figures("0", "0"), figures("0", "0")},
				one(1, true, Same, Confirmed, "10", Confirmed, "10"), one(2, false, Same, Confirmed, "9", Confirmed, "9")),
			"expected_clawback 2 before it was loaded"},
		{"pending, and confirmed before it was loaded",
			of(Totals{figures("2", "19"), figures("1", "10"), figures("0", "0"), figures("1", "9")},
				one(1, false, Same, Confirmed, "10", Confirmed, "10"), one(2, true, Same, Confirmed, "9", Confirmed, "9")), ""},
		{"the payout counts fewer than carry its number",
			of(Totals{figures("1", "10"), figures("1", "10"), figures("0", "0"), figures("0", "0")},
				one(1, false, Same, Confirmed, "10", Confirmed, "10"), one(2, false, Same, Confirmed, "9", Confirmed, "9")),
			"payout_error -9 its transactions"},
		{"it does not say what it paid", of(Totals{}, one(1, false, Same, Confirmed, "10", Confirmed, "10"),
			one(2, false, Changed, Confirmed, "9", Declined, "9")), "expected_clawback 9 declined 2"},
		{"none is loaded", of(paidOne), "not_loaded 19 not loaded (2)"},
	} {
		e := Explain(test.p, &Budget{Left: 1000})
		got := ""
		for _, i := range e.Items() {
			if got != "" {
				got += "; "
			}
			got += fmt.Sprintf("%s %s %s", i.Kind, i.Amount, i.Reason)
			if i.Transaction != nil {
				got += fmt.Sprintf(" %d", i.Transaction.ID[15])
			}
			if i.Deduced {
				got += " deduced"
			}
			if i.Count > 0 {
				got += fmt.Sprintf(" (%d)", i.Count)
			}
		}
		if !e.Culprits.Certain() {
			for _, set := range e.Culprits.Sets {
				got += fmt.Sprintf(" %d", []byte{set[0].ID[15]})
			}
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestFormat writes amounts with the decimals of their currency, and with more only if they have more.
func TestFormat(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ amount, currency, want string }{
		{"1", "EUR", "1.00"}, {"1.2", "EUR", "1.20"}, {"1.2345", "EUR", "1.2345"}, {"1.2300", "EUR", "1.23"},
		{"-0.5", "USD", "-0.50"},
		{"150", "JPY", "150"}, {"150.5", "JPY", "150.5"}, {"1.2", "KWD", "1.200"}, {"1.5", "", "1.50"},
		{"12345678901234567890.1", "EUR", "12345678901234567890.10"},
	} {
		if got := Format(num(test.amount), test.currency); got != test.want {
			t.Errorf("%s %s is written %s, want %s", test.amount, test.currency, got, test.want)
		}
	}
	if got := FromMinor(150, "EUR"); !got.Equal(num("1.5")) || !FromMinor(150, "JPY").Equal(num("150")) {
		t.Errorf("150 cents are %s", got)
	}
}

// TestSearchGivesUp has more combinations to try than the limit allows.
func TestSearchGivesUp(t *testing.T) {
	t.Parallel()
	var items []Sums
	for n := range int64(60) {
		items = append(items, Sums{decimal.NewFromInt(1), decimal.New(10000+n*n, -2), decimal.New(1000+7*n, -2)})
	}
	want := Sums{decimal.NewFromInt(30), num("3000"), num("300")}
	if got := choose(items, want, &Budget{Left: 10_000_000}); !got.gaveUp || len(got.found) > 0 {
		t.Errorf("%+v", got)
	}
	few := items[4]
	if got := choose(items, few, &Budget{Left: 10_000_000}); len(got.found) != 1 || got.found[0][0] != 4 {
		t.Errorf("%+v", got)
	}
	all := Sums{}
	for i, s := range items {
		if i != 9 && i != 33 {
			all = all.add(s)
		}
	}
	if got := choose(items, all, &Budget{Left: 10_000_000}); len(got.found) != 1 || len(got.found[0]) != 58 {
		t.Errorf("all but two of them: %+v", got)
	}
	if got := choose(items, few, &Budget{Left: 10}); !got.gaveUp {
		t.Errorf("beyond the budget: %+v", got)
	}
}
