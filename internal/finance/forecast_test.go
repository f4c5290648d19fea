package finance

import (
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"
)

func eur(text string) decimal.Decimal { return decimal.RequireFromString(text) }

// seenAll marks a range of months as seen.
func seenAll(from, to int) map[int]bool {
	all := map[int]bool{}
	for m := from; m <= to; m++ {
		all[m] = true
	}
	return all
}

// TestForecastByHand is the worked example: three payouts of which 90 of 120 pending and 299 of 300 confirmed were
// paid.
func TestForecastByHand(t *testing.T) {
	t.Parallel()
	at := MonthNumber(MonthOf(2026*12 + 3)) // April 2026
	h := PayoutHistory{Paid: map[int]decimal.Decimal{}, SeenBefore: seenAll(at-9, at), SeenAfter: seenAll(at-9, at)}
	for i, pending := range []string{"20", "30", "40"} {
		due := at - 3 + i
		h.Cohorts = append(h.Cohorts, Cohort{Due: due, Count: 4, Unpaid: eur("40"), Paid: eur(pending)},
			Cohort{Due: due, Confirmed: true, Count: 9, Unpaid: eur("100"), Paid: eur([]string{"100", "99", "100"}[i])})
		h.Paid[due] = eur("130")
	}
	stock := [Horizon]Stock{{Pending: eur("10.02"), Confirmed: eur("50")}}
	f := h.Forecasts("EUR", at, stock)[0]
	// 10.02 x 90/120 = 7.515, 50 x 299/300 = 49.8333..., together 57.348333...
	if !f.Known || f.Amount.String() != "57.35" || f.PendingRate.Percent() != "75.0" ||
		f.ConfirmedRate.Percent() != "99.7" {
		t.Errorf("%+v", f)
	}
	// No forecast is possible with two months of history, a month that was not seen, or a status that never occurred.
	for name, change := range map[string]func(h *PayoutHistory, at *int){
		"two months":          func(h *PayoutHistory, _ *int) { h.Cohorts = h.Cohorts[2:] },
		"not seen before":     func(h *PayoutHistory, at *int) { h.SeenBefore = seenAll(*at-2, *at) },
		"not seen after":      func(h *PayoutHistory, at *int) { h.SeenAfter = seenAll(*at-2, *at) },
		"nothing at all":      func(h *PayoutHistory, _ *int) { *h = PayoutHistory{} },
		"too long ago":        func(_ *PayoutHistory, at *int) { *at += RateMonths - 2 },
		"payout not yet over": func(_ *PayoutHistory, at *int) { *at-- },
	} {
		changed, at := h, at
		change(&changed, &at)
		if f := changed.Forecasts("EUR", at, stock)[0]; f.Known || !f.Amount.IsZero() {
			t.Errorf("%s: %+v", name, f)
		}
		if f := changed.Forecasts("EUR", at, [Horizon]Stock{})[0]; !f.Known || !f.Amount.IsZero() {
			t.Errorf("%s: of nothing comes %+v", name, f)
		}
	}
}

// TestForecastOfFew uses the rate of both statuses for one that hardly ever occurred.
func TestForecastOfFew(t *testing.T) {
	t.Parallel()
	h := PayoutHistory{SeenBefore: seenAll(0, 9), SeenAfter: seenAll(0, 9)}
	for due := range 3 {
		h.Cohorts = append(h.Cohorts, Cohort{Due: due + 2, Unpaid: eur("9"), Paid: eur("6")})
	}
	h.Cohorts = append(h.Cohorts, Cohort{Due: 4, Confirmed: true, Unpaid: eur("3"), Paid: eur("3")})
	f := h.Forecasts("EUR", 5, [Horizon]Stock{{Pending: eur("3"), Confirmed: eur("30")}})[0]
	if !f.Known || f.PendingRate.Both || !f.ConfirmedRate.Both || f.Amount.String() != "23" { // 3 x 18/27 + 30 x 21/30
		t.Errorf("%+v", f)
	}
}

// TestForecastRounds rounds half a cent away from zero, once, in the decimals of the currency.
func TestForecastRounds(t *testing.T) {
	t.Parallel()
	h := PayoutHistory{SeenBefore: seenAll(0, 9), SeenAfter: seenAll(0, 9)}
	for due := range 3 {
		h.Cohorts = append(h.Cohorts, Cohort{Due: due + 2, Unpaid: eur("8"), Paid: eur("1")},
			Cohort{Due: due + 2, Confirmed: true, Unpaid: eur("8"), Paid: eur("1")})
	}
	for _, want := range []struct{ currency, pending, confirmed, amount string }{
		{"EUR", "0.04", "0", "0.01"},       // 0.005
		{"EUR", "0.03", "0", "0"},          // 0.00375
		{"EUR", "0.03", "0.03", "0.01"},    // 0.0075: each by itself would round to zero
		{"JPY", "4", "0", "1"},             // 0.5
		{"KWD", "0.004", "0.012", "0.002"}, // in the third decimal
		{"EUR", "-0.04", "0", "-0.01"},     // a return of more than was sold
	} {
		f := h.Forecasts(want.currency, 5, [Horizon]Stock{{Pending: eur(want.pending), Confirmed: eur(want.confirmed)}})[0]
		if !f.Known || !f.Amount.Equal(eur(want.amount)) {
			t.Errorf("%+v gives %s", want, f.Amount)
		}
	}
}

// TestForecastTested says how accurate a forecast was only if it was tried on three payouts that paid anything, and
// tries it on each payout of which anything was known or paid. A rate is taken from the last twelve payouts.
func TestForecastTested(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{RateNeeds - 1: false, RateNeeds: true, RateNeeds + 1: true} {
		f := Forecast{Tests: make([]Test, n)}
		if f.Tested() {
			t.Errorf("%d payouts that paid nothing say how accurate it is", n)
		}
		f.Tests[0].Paid = eur("1")
		if f.Tested() != want {
			t.Errorf("%d payouts: %t, want %t", n, f.Tested(), want)
		}
	}
	for name, last := range map[string]struct {
		pending, confirmed, paid string
		tried                    bool
	}{
		"pending only": {"3", "0", "0", true}, "confirmed only": {"0", "3", "0", true}, "paid only": {"0", "0", "3", true},
		"nothing": {"0", "0", "0", false}, "all": {"3", "3", "3", true},
	} {
		h := PayoutHistory{SeenBefore: seenAll(0, 20), SeenAfter: seenAll(0, 20), Paid: map[int]decimal.Decimal{}}
		for due := 2; due < 8; due++ {
			for _, confirmed := range []bool{false, true} {
				h.Cohorts = append(h.Cohorts, Cohort{Due: due, Confirmed: confirmed, Unpaid: eur("9"), Paid: eur("6")})
			}
			h.Paid[due] = eur("12")
		}
		h.Cohorts = append(h.Cohorts, Cohort{Due: 8, Unpaid: eur(last.pending)}, Cohort{Due: 8, Confirmed: true, Unpaid: eur(last.confirmed)})
		h.Paid[8] = eur(last.paid)
		tried := false
		for _, test := range h.Forecasts("EUR", 9, [Horizon]Stock{{Pending: eur("1")}})[0].Tests {
			tried = tried || test.Due == 8
		}
		if tried != last.tried {
			t.Errorf("%s: tried on it: %t", name, tried)
		}
	}
	h := PayoutHistory{SeenBefore: seenAll(0, 40), SeenAfter: seenAll(0, 40)}
	for due := 2; due < 5; due++ {
		h.Cohorts = append(h.Cohorts, Cohort{Due: due, Unpaid: eur("9"), Paid: eur("6")})
	}
	for at, want := range map[int]bool{2 + RateMonths: true, 3 + RateMonths: false} {
		if got := h.Rate(at, 0, false).Enough(); got != want {
			t.Errorf("in month %d, the rate of three payouts counts: %t", at, got)
		}
	}
}

// TestForecastSeesNoFuture changes everything that came later, and everything that was not seen, at random: no forecast
// of an earlier month changes, and no test.
func TestForecastSeesNoFuture(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
	t.Parallel()
	known, tested := 0, 0
	for seed := range uint64(300) {
		d := dice{Rand: rand.New(rand.NewPCG(seed, 9))}
		h := randomHistory(d, 40)
		at := 5 + d.IntN(30)
		var stock [Horizon]Stock
		for i := range stock {
			stock[i] = Stock{Pending: d.amount(50), Confirmed: d.amount(50)}
		}
		before := h.Forecasts("EUR", at, stock)
		later := h
		later.Cohorts = nil
		for _, c := range h.Cohorts {
			if c.Due >= at || !h.seen(c) {
				c.Paid, c.Unpaid = d.amount(500), d.amount(500)
			}
			later.Cohorts = append(later.Cohorts, c)
		}
		for i, f := range later.Forecasts("EUR", at, stock) {
			b := before[i]
			if f.Known != b.Known || !f.Amount.Equal(b.Amount) || f.OffPercent() != b.OffPercent() ||
				len(f.Tests) != len(b.Tests) {
				t.Errorf("world %d: %+v became %+v", seed, b, f)
			}
			if f.Known {
				known++
			}
			tested += len(f.Tests)
			for _, test := range f.Tests {
				if test.Due >= at {
					t.Errorf("world %d: tested on the payout of %d, at %d", seed, test.Due, at)
				}
			}
		}
	}
	if known < 200 || tested < 1000 {
		t.Errorf("%d forecasts and %d tests: the worlds are too tame", known, tested)
	}
}

func randomHistory(d dice, months int) PayoutHistory {
	h := PayoutHistory{Paid: map[int]decimal.Decimal{}, SeenBefore: map[int]bool{}, SeenAfter: map[int]bool{}}
	for due := range months {
		h.SeenBefore[due], h.SeenAfter[due] = !d.chance(5), !d.chance(5)
		h.Paid[due] = d.amount(200)
		for toGo := range Horizon {
			for _, confirmed := range []bool{false, true} {
				h.Cohorts = append(h.Cohorts, Cohort{Due: due, ToGo: toGo, Confirmed: confirmed, Count: 1, Unpaid: d.amount(100),
					Paid: d.amount(100)})
			}
		}
	}
	return h
}
