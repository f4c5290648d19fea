package payouts

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/finance"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// Unpaid is the cashback that is unpaid at the end of a month, by the payout in which it is due. Services make a payout
// at the beginning of each month, for sales that are more than 90 days old.
type Unpaid struct {
	Next    [finance.Horizon]finance.Stock // by the months from that end to the payout
	Later   finance.Stock                  // due in a later payout
	Overdue finance.Stock                  // due in a payout that was made already: no longer forecast
	Undated finance.Stock                  // without a time of sale
}

// of returns the part that is due in a number of months, given as in warehouse.ChangeSum.
func (u *Unpaid) of(due int8) *finance.Stock {
	switch {
	case due == warehouse.NotDue:
		return &u.Undated
	case due < 0:
		return &u.Overdue
	case due >= finance.Horizon:
		return &u.Later
	}
	return &u.Next[due]
}

// Total returns everything that is unpaid.
func (u Unpaid) Total() finance.Stock {
	var sum finance.Stock
	for _, s := range append([]finance.Stock{u.Later, u.Overdue, u.Undated}, u.Next[:]...) {
		sum.Pending, sum.Confirmed = sum.Pending.Add(s.Pending), sum.Confirmed.Add(s.Confirmed)
		sum.PendingCount, sum.ConfirmedCount = sum.PendingCount+s.PendingCount, sum.ConfirmedCount+s.ConfirmedCount
	}
	return sum
}

// seenWithin is how close to the beginning of a month transactions must have been loaded for that time to count as
// seen.
const seenWithin = 7 * 24 * time.Hour

// forecast adds the forecasts. They use only what had happened by the end of the month, even if that is long ago.
func (s *Statement) forecast(ctx context.Context, w *warehouse.Warehouse) error {
	if len(s.Currencies) == 0 {
		return nil
	}
	end := s.Month.AddDate(0, 1, 0)
	// The first test looks Horizon months ahead. Its first rate comes from payouts RateMonths before it, and looks
	// Horizon months ahead as well.
	from := end.AddDate(0, -(finance.TestMonths + finance.RateMonths + 2*finance.Horizon), 0)
	cohorts, err := w.UnpaidCohorts(ctx, s.Account, from, end, finance.Horizon)
	if err != nil {
		return err
	}
	days, err := w.LoadedDays(ctx, s.Account)
	if err != nil {
		return err
	}
	before, after := seenMonths(days)
	all := map[string]*finance.PayoutHistory{}
	for i := range s.Currencies {
		all[s.Currencies[i].Currency] = &finance.PayoutHistory{Paid: map[int]decimal.Decimal{}, SeenBefore: before,
			SeenAfter: after}
	}
	for _, c := range cohorts {
		h, due := all[c.Currency], finance.MonthNumber(c.Due)
		switch {
		case h == nil: // its transactions have another currency now
		case c.ToGo < 0:
			h.Paid[due] = h.Paid[due].Add(c.Paid)
		default:
			h.Cohorts = append(h.Cohorts, finance.Cohort{Due: due, ToGo: int(c.ToGo), Confirmed: c.Confirmed, Count: c.Count,
				Unpaid: c.Unpaid, Paid: c.Paid})
		}
	}
	for i := range s.Currencies {
		c := &s.Currencies[i]
		c.Forecast = all[c.Currency].Forecasts(c.Currency, finance.MonthNumber(end), c.Unpaid.Next)
	}
	return nil
}

// seenMonths returns the months with transactions loaded shortly before their beginning, and those with transactions
// loaded shortly after it.
func seenMonths(days []time.Time) (before, after map[int]bool) {
	before, after = map[int]bool{}, map[int]bool{}
	for _, day := range days {
		this := time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
		if next := this.AddDate(0, 1, 0); next.Sub(day) <= seenWithin {
			before[finance.MonthNumber(next)] = true
		}
		if day.Sub(this) < seenWithin {
			after[finance.MonthNumber(this)] = true
		}
	}
	return before, after
}

// ForecastRow is a forecast as text for people.
type ForecastRow struct {
	Payout                                                            string // "2026-04", or what else is unpaid
	Count                                                             int64
	Pending, PendingRate, Confirmed, ConfirmedRate, Forecast, PastOff string
}

// ForecastRows returns the forecasts of a currency, and below them what is unpaid but not forecast, so that all rows
// together are everything that is unpaid.
func (c CurrencyStatement) ForecastRows() []ForecastRow {
	var rows []ForecastRow
	money := func(d decimal.Decimal) string { return term.Grouped(MoneyIn(c.Currency, d)) }
	rests := []struct {
		title string
		finance.Stock
	}{{"later", c.Unpaid.Later}, {"overdue", c.Unpaid.Overdue}, {"no time of sale", c.Unpaid.Undated}}
	d := NewAlignment(Page)
	for _, f := range c.Forecast {
		d.Note(pendingPart, c.Currency, f.Pending)
		d.Note(confirmedPart, c.Currency, f.Confirmed)
		if f.Known {
			d.Note("forecast", c.Currency, f.Amount)
		}
	}
	for _, rest := range rests {
		d.Note(pendingPart, c.Currency, rest.Pending)
		d.Note(confirmedPart, c.Currency, rest.Confirmed)
	}
	for _, f := range c.Forecast {
		row := ForecastRow{Payout: finance.MonthOf(f.Due).Format("2006-01"), Count: f.Count(),
			Pending: d.Text(pendingPart, c.Currency, f.Pending), Confirmed: d.Text(confirmedPart, c.Currency, f.Confirmed),
			PendingRate: rateWords(f.PendingRate), ConfirmedRate: rateWords(f.ConfirmedRate), Forecast: "too little history",
			PastOff: "not tested"}
		if f.Known {
			row.Forecast = d.Text("forecast", c.Currency, f.Amount)
		}
		if f.Tested() {
			worst := f.Worst()
			row.PastOff = fmt.Sprintf("%s %% in %s, at most %s (%s)", f.OffPercent(),
				term.Plural(uint64(len(f.Tests)), "payout"), money(worst.Off().Abs()),
				finance.MonthOf(worst.Due).Format("2006-01"))
		}
		rows = append(rows, row)
	}
	for _, rest := range rests {
		if len(c.Forecast) > 0 && rest.Count() != 0 {
			rows = append(rows, ForecastRow{Payout: rest.title, Count: rest.Count(),
				Pending:   d.Text(pendingPart, c.Currency, rest.Pending),
				Confirmed: d.Text(confirmedPart, c.Currency, rest.Confirmed)})
		}
	}
	return rows
}

// rateWords returns a rate with the number of payouts that it is taken from.
func rateWords(r finance.Rate) string {
	if r.Months == 0 {
		return ""
	}
	text := fmt.Sprintf("%s %% of %d", r.Percent(), r.Months)
	if r.Both {
		text += "*"
	}
	return text
}

// ForecastNote says how the forecasts are made.
func ForecastNote() string {
	return fmt.Sprintf("Forecast: a payout is made on the 1st of a month, for sales over 90 days old. What is unpaid at the end of the month is multiplied by the rate at which such cashback was paid before: "+
		"cashback of the same status, as many months before its payout, in up to %d earlier payouts (\"98.1 %% of 7\": in 7 of them; \"*\": both statuses together, if there is too little of one). At least %d payouts are needed. The last payout lacks the sales of a day or two. "+
		"Off in the past: the difference between what the same method would have forecast for earlier payouts and what was paid, in either direction, in percent of what was paid. A month counts if transactions were loaded in the week before it and in the week after it began.",
		finance.RateMonths, finance.RateNeeds)
}

// WriteForecastCSV writes the forecasts with the amounts from which the rates are computed.
func (s Statement) WriteForecastCSV(w io.Writer) error {
	records := [][]string{strings.Fields("account month currency payout_month transactions pending pending_paid_before pending_unpaid_before confirmed confirmed_paid_before " +
		"confirmed_unpaid_before forecast payouts_tested off_percent state")}
	for _, c := range s.Currencies {
		money := func(d decimal.Decimal) string { return MoneyIn(c.Currency, d) }
		for _, f := range c.Forecast {
			amount, state := "", "too little history"
			if f.Known {
				amount, state = money(f.Amount), "forecast"
			}
			records = append(records, []string{term.Cell(s.Account), s.Month.Format("2006-01"), term.Cell(c.Currency),
				finance.MonthOf(f.Due).Format("2006-01"), fmt.Sprint(f.Count()),
				money(f.Pending), money(f.PendingRate.Paid), money(f.PendingRate.Unpaid), money(f.Confirmed),
				money(f.ConfirmedRate.Paid), money(f.ConfirmedRate.Unpaid), amount,
				fmt.Sprint(len(f.Tests)), f.OffPercent(), state})
		}
		for _, rest := range []struct {
			state string
			finance.Stock
		}{{"later", c.Unpaid.Later}, {"overdue", c.Unpaid.Overdue}, {"no time of sale", c.Unpaid.Undated}} {
			if rest.Count() != 0 {
				records = append(records, []string{term.Cell(s.Account), s.Month.Format("2006-01"), term.Cell(c.Currency), "",
					fmt.Sprint(rest.Count()), money(rest.Pending), "", "",
					money(rest.Confirmed), "", "", "", "", "", rest.state})
			}
		}
	}
	return writeRecords(w, records)
}

// WriteBacktestCSV writes what the method would have forecast for earlier payouts, and what was paid.
func (s Statement) WriteBacktestCSV(w io.Writer) error {
	records := [][]string{{"account", "month", "currency", "months_before", "payout_month", "forecast", "paid",
		"difference"}}
	for _, c := range s.Currencies {
		for _, f := range c.Forecast {
			for _, t := range f.Tests {
				records = append(records, []string{term.Cell(s.Account), s.Month.Format("2006-01"), term.Cell(c.Currency),
					fmt.Sprint(f.ToGo), finance.MonthOf(t.Due).Format("2006-01"),
					MoneyIn(c.Currency, t.Forecast), MoneyIn(c.Currency, t.Paid), MoneyIn(c.Currency, t.Off())})
			}
		}
	}
	return writeRecords(w, records)
}

// WriteDueCSV writes the transactions that are unpaid at the end of a month, one row per transaction, with the
// payout in which each is due.
func WriteDueCSV(ctx context.Context, w *warehouse.Warehouse, account string, month time.Time, to io.Writer) error {
	closes, err := w.Closes(ctx, account)
	if err != nil {
		return err
	}
	header := []string{"account", "month", "currency", "payout_month", "transaction_id", "sold_at", "retailer", "pending",
		"confirmed"}
	return writeRows(to, header, func(write func(...string) error) error {
		return w.EachDueTransaction(ctx, account, month.AddDate(0, 1, 0), closes, func(d warehouse.DueTransaction) error {
			due := ""
			if d.Due != nil {
				due = d.Due.Format("2006-01")
			}
			return write(term.Cell(account), month.Format("2006-01"), term.Cell(d.Currency), due, d.ID.String(),
				iso(d.SoldAt), term.Cell(d.Retailer), MoneyIn(d.Currency, d.Pending), MoneyIn(d.Currency, d.Confirmed))
		})
	})
}

// The shapes of the forecast in JSON.
type (
	forecastObject struct {
		Payout         string       `json:"payout_month"`
		Transactions   int64        `json:"transactions"`
		Pending        any          `json:"pending"`
		PendingRate    rateObject   `json:"pending_rate"`
		Confirmed      any          `json:"confirmed"`
		ConfirmedRate  rateObject   `json:"confirmed_rate"`
		Forecast       any          `json:"forecast"` // null: too little history
		PayoutsTested  int          `json:"payouts_tested"`
		OffPercent     any          `json:"off_percent"` // null: not tested
		Tests          []testObject `json:"tests"`
		SalesAreToCome bool         `json:"sales_are_to_come"`
	}
	rateObject struct {
		Paid    any `json:"paid_before"`
		Unpaid  any `json:"unpaid_before"`
		Payouts int `json:"payouts"`
	}
	testObject struct {
		Payout   string `json:"payout_month"`
		Forecast any    `json:"forecast"`
		Paid     any    `json:"paid"`
	}
)

// forecastObjects returns the forecasts of a currency for JSON.
func (c CurrencyStatement) forecastObjects() []forecastObject {
	all := []forecastObject{}
	n := func(d decimal.Decimal) any { return json.Number(MoneyIn(c.Currency, d)) }
	rate := func(r finance.Rate) rateObject { return rateObject{n(r.Paid), n(r.Unpaid), r.Months} }
	for _, f := range c.Forecast {
		o := forecastObject{Payout: finance.MonthOf(f.Due).Format("2006-01"), Transactions: f.Count(), Pending: n(f.Pending),
			PendingRate: rate(f.PendingRate),
			Confirmed:   n(f.Confirmed), ConfirmedRate: rate(f.ConfirmedRate), PayoutsTested: len(f.Tests),
			Tests:          []testObject{},
			SalesAreToCome: f.ToGo == finance.Horizon-1}
		if f.Known {
			o.Forecast = n(f.Amount)
		}
		if f.Tested() {
			o.OffPercent = json.Number(f.OffPercent())
		}
		for _, t := range f.Tests {
			o.Tests = append(o.Tests, testObject{finance.MonthOf(t.Due).Format("2006-01"), n(t.Forecast), n(t.Paid)})
		}
		all = append(all, o)
	}
	return all
}
