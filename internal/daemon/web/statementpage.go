package web

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"dealhouse/internal/payouts"
	"dealhouse/internal/term"
)

// refreshStill is the refresh time of pages that rarely change, in milliseconds.
const refreshStill = 60_000

// statementKey names a month of an account.
type statementKey struct {
	account string
	month   time.Time
}

// figureKey names a figure of a month.
type figureKey struct {
	statementKey
	figure payouts.Figure
}

// statementBody is the page of a month.
type statementBody struct {
	Account, Month, Title string
	Path, Before, After   string // Before and After lead to the previous and the next month
	Note, Hash            string
	State                 state
	Currencies            []currencyTable
	ForecastNote          string
	RateNote              string
	ThreeWay              threeWayTable
	Close                 *closeForm
	Error                 string
}

// currencyTable is the statement of one currency.
type currencyTable struct {
	Currency string
	Entries  []balanceRow // with the opening and the closing balance
	Ages     []balanceRow
	Forecast []payouts.ForecastRow // of the next payouts, and what else is unpaid
	Rates    []payouts.RateRow     // of the sales of the month
	Short    []payouts.RateRow     // retailers whose sales came to less than was promised
}

// statementDetails has what the page of a month shows.
type statementDetails struct {
	payouts.Statement
	threeWay payouts.ThreeWay
}

// balanceRow is a row of figures, with the address of the page of its transactions.
type balanceRow struct {
	Name, Path, Count string
	Bold              bool
	payouts.BalanceText
}

// closeForm is the form that closes a month.
type closeForm struct{ Token, Account, Month, Seen string }

func (k statementKey) path() string {
	return "/statements/" + url.PathEscape(k.account) + "/" + k.month.Format("2006-01")
}

func (b *statementBody) fill(k statementKey, statement statementDetails) {
	b.ThreeWay = newThreeWayTable(statement.threeWay, b.Path)
	b.Note, b.Hash, b.State = statement.Note(), statement.Hash(), stateWaiting
	switch {
	case statement.Close != nil && statement.Close.Hash != b.Hash:
		b.State = stateFailing
	case statement.Close != nil:
		b.State = stateFine
	}
	for _, c := range statement.Currencies {
		row := func(name string, f payouts.Figure, of payouts.Balance) balanceRow {
			f.Currency = c.Currency
			return balanceRow{Name: name, Path: figureKey{k, f}.path("figure"), BalanceText: c.Text(of)}
		}
		t := currencyTable{Currency: c.Currency,
			Entries: []balanceRow{row("Opening balance", payouts.Figure{Of: payouts.Opening}, c.Opening)}}
		for _, e := range c.Entries {
			entry := row(string(e.Event), payouts.Figure{Of: string(e.Event)}, e.Balance)
			entry.Count = term.Count(uint64(e.Count))
			t.Entries = append(t.Entries, entry)
		}
		t.Entries = append(t.Entries, row("Closing balance", payouts.Figure{Of: payouts.Closing}, c.Closing))
		t.Entries[0].Bold, t.Entries[len(t.Entries)-1].Bold = true, true
		for i, of := range c.Ages {
			if of.Pending.IsZero() && of.Confirmed.IsZero() {
				continue
			}
			t.Ages = append(t.Ages, row(payouts.AgeTitles()[i], payouts.Figure{Of: payouts.Closing, OneAge: true, Age: i}, of))
		}
		if t.Forecast = c.ForecastRows(); len(t.Forecast) > 0 {
			b.ForecastNote = payouts.ForecastNote()
		}
		if t.Rates, t.Short = c.RateRows(), c.RateRetailers(); len(t.Rates) > 0 {
			b.RateNote = payouts.RateNote()
		}
		b.Currencies = append(b.Currencies, t)
	}
}

// path returns the address of a figure: of its page, or of the download of all transactions behind it.
func (k figureKey) path(of string) string {
	q := url.Values{"of": {k.figure.Of}, "currency": {k.figure.Currency}}
	if k.figure.OneAge {
		q.Set("age", strconv.Itoa(k.figure.Age))
	}
	if of == "download" {
		q.Set("format", string(asCSV))
	}
	return k.statementKey.path() + "/" + of + "?" + q.Encode()
}

// figureOf reads which figure an address is about.
func figureOf(q url.Values) (f payouts.Figure, err error) {
	f = payouts.Figure{Of: q.Get("of"), Currency: q.Get("currency"), OneAge: q.Has("age")}
	if f.OneAge {
		f.Age, err = strconv.Atoi(q.Get("age"))
	}
	if err != nil || !f.Known() {
		return f, fmt.Errorf("of, age: a statement has no such figure")
	}
	return f, nil
}

// figureRows has the first transactions behind a figure, and the number and sum of all of them.
type figureRows struct {
	rows []payouts.Behind
	n    uint64
	sum  payouts.Balance
}

// figureBody is the page with the transactions behind a figure.
type figureBody struct {
	Account, Title, Statement, Month string
	Currency, Download               string
	Rows                             []figureRow
	Sum                              payouts.BalanceText
	Count                            string
	Shown                            int
	Cut                              bool
	Error                            string
}

type figureRow struct {
	ID, At, Sold, Age, Retailer, Status, Payout string
	payouts.BalanceText
}

func (b *figureBody) fill(all figureRows) {
	d := payouts.NewAlignment(payouts.Page)
	for _, x := range all.rows {
		d.NoteBalance(x.Currency, x.Balance)
	}
	d.NoteBalance(b.Currency, all.sum)
	for _, x := range all.rows {
		row := figureRow{BalanceText: d.BalanceText(x.Currency, x.Balance)}
		row.ID, row.At, row.Sold, row.Age, row.Retailer, row.Status = x.ID.String(), payouts.Day(&x.At), payouts.Day(x.SoldAt), payouts.AgeTitles()[x.Age], x.Retailer, x.Status
		if x.Payout != nil {
			row.Payout = strconv.FormatInt(*x.Payout, 10)
		}
		b.Rows = append(b.Rows, row)
	}
	b.Sum = d.BalanceText(b.Currency, all.sum)
	b.Count, b.Cut = term.Plural(all.n, "row"), all.n > uint64(len(all.rows))
}
