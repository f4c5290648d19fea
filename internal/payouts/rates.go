package payouts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// The statement of a month says of its sales whether they came at the rate that their cashback offer gave at the click.
// What is known of an offer begins when it was first loaded, so it is shown and accuses nobody.

// verdicts are the verdicts of the view rate_audit, as a person says them, in the order of the statement.
func verdicts() [][2]string {
	return [][2]string{
		{"as_promised", "as promised at the click"},
		{"as_at_sale", "as the offer gave at the sale"},
		{"as_at_another_time", "as the offer gave at another time"},
		{"below_any_rate", "below any rate that is known"},
		{"between_rates", "between rates that are known"},
		{"above_any_rate", "above any rate that is known"},
		{"not_known_then", "the offer was not known at the click"},
		{"no_amount", "without an amount, or an offer without one"},
		{"no_offer", "names no offer"},
	}
}

// RateRow is one line of what was promised and what came.
type RateRow struct {
	Name                       string // of a verdict or of a retailer
	Count                      int64
	Promised, Came, Difference string // "" where it is not known what was promised
	sum                        warehouse.RateSum
}

// rates reads at which rates the sales of the month came.
func (s *Statement) rates(ctx context.Context, w *warehouse.Warehouse) error {
	sums, err := w.RateSums(ctx, s.Account, s.Month, s.Month.AddDate(0, 1, 0))
	for i := range s.Currencies {
		c := &s.Currencies[i]
		for _, sum := range sums {
			if sum.Currency == c.Currency {
				c.Rates = append(c.Rates, sum)
			}
		}
	}
	return err
}

// Rated reports whether the statement has anything to say of rates.
func (s Statement) Rated() bool {
	return slices.ContainsFunc(s.Currencies, func(c CurrencyStatement) bool { return len(c.RateRows()) > 0 })
}

// RateRows returns a line for each verdict that sales of the month have; none if no sale names an offer.
func (c CurrencyStatement) RateRows() []RateRow {
	if !slices.ContainsFunc(c.Rates, func(s warehouse.RateSum) bool { return s.Verdict != "no_offer" }) {
		return nil
	}
	var rows []RateRow
	for _, v := range verdicts() {
		row := RateRow{Name: v[1]}
		for _, sum := range c.Rates {
			if sum.Verdict == v[0] {
				row.add(sum)
			}
		}
		if row.Count > 0 {
			rows = append(rows, row)
		}
	}
	return c.written(rows)
}

// shownRetailers is how many retailers a statement names.
const shownRetailers = 10

// RateRetailers returns a line for each retailer whose sales came to less than was promised, those with the largest
// difference first, and at most shownRetailers.
func (c CurrencyStatement) RateRetailers() []RateRow {
	by := map[string]*RateRow{}
	for _, sum := range c.Rates {
		if sum.Verdict == "as_promised" || !sum.Difference.IsNegative() {
			continue
		}
		if by[sum.Retailer] == nil {
			by[sum.Retailer] = &RateRow{Name: cmp.Or(sum.Retailer, "no name")}
		}
		by[sum.Retailer].add(sum)
	}
	rows := make([]RateRow, 0, len(by))
	for _, row := range by {
		rows = append(rows, *row)
	}
	slices.SortFunc(rows, func(a, b RateRow) int {
		return cmp.Or(a.sum.Difference.Cmp(b.sum.Difference), cmp.Compare(a.Name, b.Name))
	})
	return c.written(rows[:min(len(rows), shownRetailers)])
}

func (r *RateRow) add(sum warehouse.RateSum) {
	r.Count += sum.Count
	r.sum.Promised = r.sum.Promised.Add(sum.Promised)
	r.sum.Came = r.sum.Came.Add(sum.Came)
	r.sum.Difference = r.sum.Difference.Add(sum.Difference)
}

// written writes the amounts of lines that stand below each other.
func (c CurrencyStatement) written(rows []RateRow) []RateRow {
	a := NewAlignment(Page)
	each := func(do func(part string, d decimal.Decimal) string) {
		for i := range rows {
			r := &rows[i]
			if r.sum.Promised.IsZero() && r.sum.Came.IsZero() {
				continue
			}
			r.Promised, r.Came, r.Difference = do("promised", r.sum.Promised), do("came", r.sum.Came), do("difference", r.sum.Difference)
		}
	}
	each(func(part string, d decimal.Decimal) string { a.Note(part, c.Currency, d); return "" })
	each(func(part string, d decimal.Decimal) string { return a.Text(part, c.Currency, d) })
	return rows
}

// RateNote says what the lines mean.
func RateNote() string {
	return "Rates: promised is what the cashback offer gave at the click, or at the activation where there is no click; came is the cashback of the sale now. Declined sales are left out. A rate is known from when the offer was first loaded, or was last changed before that: dealhouse statement --output csv --list rates has each sale with both, and since when the rates are known."
}

type rateSumObject struct {
	Verdict    string      `json:"verdict"`
	Retailer   string      `json:"retailer"`
	Sales      int64       `json:"sales"`
	Promised   json.Number `json:"promised"`
	Came       json.Number `json:"came"`
	Difference json.Number `json:"difference"`
}

func (c CurrencyStatement) rateObjects() []rateSumObject {
	all := []rateSumObject{}
	for _, s := range c.Rates {
		n := func(d decimal.Decimal) json.Number { return json.Number(MoneyIn(c.Currency, d)) }
		all = append(all, rateSumObject{s.Verdict, s.Retailer, s.Count, n(s.Promised), n(s.Came), n(s.Difference)})
	}
	return all
}

// WriteRatesCSV writes the sales of a month with what was promised and what came, one row per sale.
func WriteRatesCSV(ctx context.Context, w *warehouse.Warehouse, account string, month time.Time, to io.Writer) error {
	header := []string{"account", "month", "transaction_id", "clicked_at", "sold_at", "retailer", "status", "payout_id", "currency", "order_value",
		"cashback_offer_id", "percentage_at_click", "fixed_at_click", "percentage_at_sale", "fixed_at_sale", "promised", "came", "difference",
		"verdict", "paid_as_from", "rates_known_from", "offer_first_loaded_at"}
	return writeRows(to, header, func(write func(...string) error) error {
		return w.EachRateAudited(ctx, account, month, month.AddDate(0, 1, 0), func(a warehouse.RateAudited) error {
			money := func(d *decimal.Decimal) string { return moneyOrNone(a.Currency, d) }
			return write(term.Cell(account), month.Format("2006-01"), a.ID.String(), iso(a.Clicked), iso(a.Sold), term.Cell(a.Retailer),
				term.Cell(a.Status), given(a.Payout), term.Cell(a.Currency), money(a.OrderValue), given(a.Offer), given(a.AtClick), given(a.FixedAtClick),
				given(a.AtSale), given(a.FixedAtSale), money(a.Promised), money(a.Cashback), money(a.Difference), a.Verdict, iso(a.PaidAsFrom),
				iso(a.KnownFrom), iso(a.FirstLoaded))
		})
	})
}

// given writes a value; "" if there is none.
func given[T int64 | uuid.UUID | decimal.Decimal](v *T) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(*v)
}
