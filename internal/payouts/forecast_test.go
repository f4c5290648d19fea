package payouts

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/finance"
)

// TestForecastOfHistory makes the statements of a history of three years. The tests of the last statement show exactly
// what the statements of a year ago forecast, to the cent; what was paid is what the statements say; and no forecast
// uses what was never seen. For wide samples: TestForecastSeesNoFuture of package finance forecasts.
func TestForecastOfHistory(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	end := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	x := lived(t, 3, 36, 4000, end)
	var j journey
	for _, back := range []int{14, 13, 9, 1} {
		j.see(t, x.world, end.AddDate(0, -back, 0))
	}
	j.check(t, 20, map[string]string{"EUR": "6", "USD": "25"})
	x.dueIsUnpaid(t, j.last)
	early := j.see(t, x.world, time.Date(2024, 4, 1, 0, 0, 0, 0, time.UTC))
	x.exec(t, "ALTER TABLE sync_runs_log DELETE WHERE 1 SETTINGS mutations_sync = 2")
	unseen := j.see(t, x.world, end.AddDate(0, -1, 0))
	for _, s := range []Statement{early, unseen} {
		for _, c := range s.Currencies {
			for i, r := range c.ForecastRows() {
				if i < finance.Horizon && c.Forecast[i].Count() > 0 &&
					(r.Forecast != "too little history" || r.PastOff != "not tested") {
					t.Errorf("%s of %s: %+v", c.Currency, s.Month, r)
				}
			}
		}
	}
}

// TestForecastOverMonths lives through 24 months of a simulated service, in which transactions are loaded shortly
// before and after each payout is made. The error is reported.
func TestForecastOverMonths(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	const months = 24
	o := scripted()
	o.Now = time.Date(2026, 3, 20, 9, 0, 0, 0, time.UTC)
	o.Transactions, o.Seed, o.MixedCurrencies = 12000, 24, 0.2
	x := newWorld(t, o)
	x.sync(false, "transactions")
	j := journey{live: true}
	for n := range months {
		border := finance.MonthOf(2026*12 + 3 + n) // from April on
		x.to(border.Add(-time.Hour))
		x.sync(false, "transactions")
		x.to(border.Add(6 * time.Hour)) // the payout was made, its transactions have it, and the day is not over
		x.sync(false, "transactions")
		j.see(t, x, border.AddDate(0, -1, 0))
	}
	j.check(t, months-2*finance.Horizon, map[string]string{"EUR": "8"})
	x.dueIsUnpaid(t, j.last)
}

// journey remembers what statements have said.
type journey struct {
	said map[string]decimal.Decimal // by currency, payout and months to go
	paid map[string]decimal.Decimal // by currency and month
	last Statement
	live bool // statements are made when a month is just over
}

func (j *journey) see(t *testing.T, x *world, month time.Time) Statement {
	t.Helper()
	s, err := NewStatement(t.Context(), x.w, "acme", month)
	if err != nil {
		t.Fatal(err)
	}
	if j.said == nil {
		j.said, j.paid = map[string]decimal.Decimal{}, map[string]decimal.Decimal{}
	}
	for _, c := range s.Currencies {
		for _, f := range c.Forecast {
			if f.Known {
				j.said[fmt.Sprint(c.Currency, f.Due, f.ToGo)] = f.Amount
			}
		}
		for _, e := range c.Entries {
			if e.Event == finance.PaidOut {
				j.paid[fmt.Sprint(c.Currency, finance.MonthNumber(month))] = e.Paid
			}
		}
	}
	unpaidIsWhole(t, s)
	j.last = s
	return s
}

// check compares the tests of the last statement with what the earlier ones have said. It wants at least this number of
// tests, and an error in percent of at most most.
func (j *journey) check(t *testing.T, tests int, most map[string]string) {
	t.Helper()
	compared := 0
	for _, c := range j.last.Currencies {
		for _, f := range c.Forecast {
			for _, test := range f.Tests {
				due := finance.MonthOf(test.Due).Format("2006-01")
				// Sales of the last day are loaded after the month is over, and count in it then. They
				// are due in the last payout.
				if was, ok := j.said[fmt.Sprint(c.Currency, test.Due, f.ToGo)]; ok && (f.ToGo < finance.Horizon-1 || !j.live) {
					compared++
					if !was.Equal(test.Forecast) {
						t.Errorf("%s of %s, %d months before: the test says %s, the statement said %s", c.Currency, due, f.ToGo,
							test.Forecast, was)
					}
				}
				if was, ok := j.paid[fmt.Sprint(c.Currency, test.Due)]; ok && !was.Equal(test.Paid) {
					t.Errorf("%s of %s: the test says %s was paid, the statement %s", c.Currency, due, test.Paid, was)
				}
			}
			if most[c.Currency] == "" {
				continue
			}
			t.Logf("%s, %d months before the payout: off by %s", c.Currency, f.ToGo, c.ForecastRows()[f.ToGo].PastOff)
			if len(f.Tests) < tests-f.ToGo || !f.Tested() ||
				decimal.RequireFromString(f.OffPercent()).GreaterThan(decimal.RequireFromString(most[c.Currency])) {
				t.Errorf("%s, %d months before the payout: %d tests, off by %s %%", c.Currency, f.ToGo, len(f.Tests),
					f.OffPercent())
			}
		}
	}
	if compared < 3*finance.Horizon {
		t.Errorf("only %d forecasts could be compared", compared)
	}
}

// to moves the clock of the world to a time.
func (x *world) to(at time.Time) { x.Advance(at.Sub(x.Now())) }

// unpaidIsWhole compares what is unpaid by the payout in which it is due with what the statement closes with.
func unpaidIsWhole(t *testing.T, s Statement) {
	t.Helper()
	for _, c := range s.Currencies {
		if u := c.Unpaid.Total(); !u.Pending.Equal(c.Closing.Pending) || !u.Confirmed.Equal(c.Closing.Confirmed) {
			t.Errorf("%s of %s: %+v is unpaid, the statement closes with %+v", c.Currency, s.Month.Format("2006-01"), u,
				c.Closing)
		}
	}
}

// dueIsUnpaid compares the transactions behind the forecast with its figures.
func (x *world) dueIsUnpaid(t *testing.T, s Statement) {
	t.Helper()
	var b bytes.Buffer
	if err := WriteDueCSV(t.Context(), x.w, s.Account, s.Month, &b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(b.String(), byteOrderMark))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]decimal.Decimal{}
	count := map[string]int64{}
	for _, row := range rows[1:] {
		key := row[2] + row[3]
		got[key] = got[key].Add(decimal.RequireFromString(row[7])).Add(decimal.RequireFromString(row[8]))
		count[key]++
	}
	for _, c := range s.Currencies {
		for _, f := range c.Forecast {
			if key := c.Currency + finance.MonthOf(f.Due).Format("2006-01"); !got[key].Equal(f.Unpaid()) ||
				count[key] != f.Count() {
				t.Errorf("%s: the forecast is of %s in %d, its transactions are %s in %d", key, f.Unpaid(), f.Count(), got[key],
					count[key])
			}
		}
	}
}

// The decimal points of forecasts stand below each other, and below those of what is not forecast.
func TestForecastRowsAreAligned(t *testing.T) {
	t.Parallel()
	stock := func(pending string) finance.Stock {
		return finance.Stock{Pending: decimal.RequireFromString(pending), PendingCount: 1}
	}
	c := CurrencyStatement{Currency: "EUR", Forecast: []finance.Forecast{{Stock: stock("49944.3")},
		{Stock: stock("7098.79")}}, Unpaid: Unpaid{Later: stock("1.2345")}}
	var got []string
	for _, r := range c.ForecastRows() {
		got = append(got, r.Pending)
	}
	if want := "49,944.3000 7,098.7900 1.2345"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %s", got, want)
	}
}
