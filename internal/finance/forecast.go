package finance

import (
	"math/big"
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// The forecast of a payout takes the cashback that is unpaid at the end of a month and due in that payout. It
// multiplies the part of each status by the rate at which such cashback was paid in the past: of all that had the same
// status the same number of months before it was due, the share that was paid. Rates are fractions of amounts that were
// counted. The amounts of both statuses are added up exactly and rounded once, half away from zero, to the smallest
// unit of the currency. If one status has too little history of its own, such as the few that are confirmed soon after
// the sale, the rate of both together is used.

// Bounds of the forecast, in months.
const (
	Horizon    = 4  // payouts that are forecast. For the last one, the sales of a day or two are still to come
	RateMonths = 12 // payouts that a rate is taken from, at most
	RateNeeds  = 3  // payouts that a rate, or a measure of its error, needs at least
	TestMonths = 24 // payouts that the method is tried on, at most
)

// MonthNumber numbers months, so that they can be counted.
func MonthNumber(t time.Time) int { return t.UTC().Year()*12 + int(t.UTC().Month()) - 1 }

// MonthOf returns the first day of the month with a number.
func MonthOf(number int) time.Time {
	return time.Date(number/12, time.Month(number%12+1), 1, 0, 0, 0, 0, time.UTC)
}

// Cohort is what was unpaid at the beginning of a month, had one status, and was due in the same payout.
type Cohort struct {
	Due       int // month in which the payout is made, by MonthNumber
	ToGo      int // months from that beginning to Due
	Confirmed bool
	Count     int64
	Unpaid    decimal.Decimal // cashback
	Paid      decimal.Decimal // the part of Unpaid that was paid until a month after Due
}

// PayoutHistory is what is known about one currency: how much of what was unpaid was paid later, and how
// much was paid in each month.
type PayoutHistory struct {
	Cohorts []Cohort
	Paid    map[int]decimal.Decimal
	// SeenBefore and SeenAfter are the months whose beginning was seen: transactions were loaded shortly before, or
	// shortly after. Other months are not known, and are left out.
	SeenBefore, SeenAfter map[int]bool
}

// Rate is the share of unpaid cashback that was paid.
type Rate struct {
	Paid, Unpaid decimal.Decimal
	Months       int  // payouts that it is taken from
	Both         bool // it is the rate of both statuses together
}

// Enough reports whether there is enough history for the rate to be used.
func (r Rate) Enough() bool { return r.Months >= RateNeeds && r.Unpaid.IsPositive() }

// Percent returns the rate in percent, rounded half away from zero to one decimal.
func (r Rate) Percent() string {
	if !r.Unpaid.IsPositive() {
		return ""
	}
	return percent(r.Paid.Rat(), r.Unpaid.Rat())
}

func percent(part, whole *big.Rat) string {
	share := new(big.Rat).Quo(part, whole)
	return share.Mul(share, big.NewRat(100, 1)).FloatString(1)
}

// Rate returns the rate of what is confirmed, or pending, toGo months before its payout, as it was known at the
// beginning of the month at: from payouts that were at least a month old then.
func (h *PayoutHistory) Rate(at, toGo int, confirmed bool) Rate {
	own := h.rate(at, toGo, func(c Cohort) bool { return c.Confirmed == confirmed })
	if own.Enough() {
		return own
	}
	both := h.rate(at, toGo, func(Cohort) bool { return true })
	if !both.Enough() {
		return own
	}
	both.Both = true
	return both
}

func (h *PayoutHistory) rate(at, toGo int, of func(Cohort) bool) Rate {
	var r Rate
	months := map[int]bool{}
	for _, c := range h.Cohorts {
		if c.ToGo == toGo && of(c) && c.Due < at && c.Due >= at-RateMonths && h.seen(c) {
			r.Paid, r.Unpaid = r.Paid.Add(c.Paid), r.Unpaid.Add(c.Unpaid)
			if c.Unpaid.IsPositive() {
				months[c.Due] = true
			}
		}
	}
	r.Months = len(months)
	return r
}

func (h *PayoutHistory) seen(c Cohort) bool { return h.SeenBefore[c.Due-c.ToGo] && h.SeenAfter[c.Due] }

// Stock is what is unpaid and due in one payout.
type Stock struct {
	Pending, Confirmed           decimal.Decimal
	PendingCount, ConfirmedCount int64
}

// Unpaid returns the sum of both statuses.
func (s Stock) Unpaid() decimal.Decimal { return s.Pending.Add(s.Confirmed) }

// Count returns the number of transactions in the stock.
func (s Stock) Count() int64 { return s.PendingCount + s.ConfirmedCount }

// Add applies a change of transactions to the stock.
func (s *Stock) Add(c Change) {
	for _, side := range []struct {
		at
		n int64
	}{{at{c.Before, c.CashbackBefore, c.InPayout, c.ListedBefore}, -c.Count},
		{at{c.After, c.Cashback, c.IntoPayout, c.ListedAfter}, c.Count}} {
		if !side.listed || side.paid || side.status == Declined {
			continue
		}
		amount := side.cashback
		if side.n < 0 {
			amount = amount.Neg()
		}
		if side.status == Confirmed {
			s.Confirmed, s.ConfirmedCount = s.Confirmed.Add(amount), s.ConfirmedCount+side.n
		} else {
			s.Pending, s.PendingCount = s.Pending.Add(amount), s.PendingCount+side.n
		}
	}
}

// Forecast is the expected amount of a payout.
type Forecast struct {
	Due  int // month in which it is made
	ToGo int
	Stock
	PendingRate, ConfirmedRate Rate
	// Known is false if there is too little history. Then Amount is zero.
	Known  bool
	Amount decimal.Decimal
	Tests  []Test // of the same method in the past, the oldest first
}

// Test is what the method would have forecast for a past payout, and what was paid.
type Test struct {
	Due            int
	Forecast, Paid decimal.Decimal
}

// Off returns by how much the forecast was too high; below zero, it was too low.
func (t Test) Off() decimal.Decimal { return t.Forecast.Sub(t.Paid) }

// Tested reports whether the method was tried on enough payouts to say how accurate it is.
func (f *Forecast) Tested() bool {
	_, paid := f.sums()
	return len(f.Tests) >= RateNeeds && paid.IsPositive()
}

func (f *Forecast) sums() (off, paid decimal.Decimal) {
	for _, t := range f.Tests {
		off, paid = off.Add(t.Off().Abs()), paid.Add(t.Paid)
	}
	return off, paid
}

// OffPercent returns how far the method was off in all tests together, too high or too low, in percent of what was
// paid. It is empty if the method is not tested.
func (f *Forecast) OffPercent() string {
	off, paid := f.sums()
	if !f.Tested() {
		return ""
	}
	return percent(off.Rat(), paid.Rat())
}

// Worst returns the test that was furthest off.
func (f *Forecast) Worst() Test {
	return slices.MaxFunc(f.Tests, func(a, b Test) int { return a.Off().Abs().Cmp(b.Off().Abs()) })
}

// Forecasts returns the forecasts of the next payouts as of the beginning of the month at. stock says what is unpaid
// then, by the months to go.
func (h *PayoutHistory) Forecasts(currency string, at int, stock [Horizon]Stock) []Forecast {
	var all []Forecast
	for toGo, s := range stock {
		f := h.expect(currency, at, toGo, s)
		for due := at - TestMonths; due < at; due++ {
			if t, ok := h.test(currency, due, toGo); ok {
				f.Tests = append(f.Tests, t)
			}
		}
		all = append(all, f)
	}
	return all
}

// expect returns a forecast without its tests.
func (h *PayoutHistory) expect(currency string, at, toGo int, s Stock) Forecast {
	f := Forecast{Due: at + toGo, ToGo: toGo, Stock: s, PendingRate: h.Rate(at, toGo, false),
		ConfirmedRate: h.Rate(at, toGo, true)}
	sum := new(big.Rat)
	for _, part := range []struct {
		amount decimal.Decimal
		rate   Rate
	}{{s.Pending, f.PendingRate}, {s.Confirmed, f.ConfirmedRate}} {
		switch {
		case part.amount.IsZero():
		case !part.rate.Enough():
			return f
		default:
			by := new(big.Rat).Quo(part.rate.Paid.Rat(), part.rate.Unpaid.Rat())
			sum.Add(sum, by.Mul(by, part.amount.Rat()))
		}
	}
	// FloatString is exact, in spite of its name, and rounds half away from zero.
	f.Amount, f.Known = decimal.RequireFromString(sum.FloatString(int(Digits(currency)))), true
	return f
}

// test returns what the method would have forecast for a payout, toGo months before it, and what was paid. It returns
// false if those months were not seen, or if there was too little history then.
func (h *PayoutHistory) test(currency string, due, toGo int) (Test, bool) {
	var s Stock
	for _, c := range h.Cohorts {
		switch {
		case c.Due != due || c.ToGo != toGo:
		case c.Confirmed:
			s.Confirmed = s.Confirmed.Add(c.Unpaid)
		default:
			s.Pending = s.Pending.Add(c.Unpaid)
		}
	}
	t := Test{Due: due, Paid: h.Paid[due]}
	if !h.SeenBefore[due-toGo] || !h.SeenAfter[due] || s.Pending.IsZero() && s.Confirmed.IsZero() && t.Paid.IsZero() {
		return t, false
	}
	f := h.expect(currency, due-toGo, toGo, s)
	t.Forecast = f.Amount
	return t, f.Known
}
