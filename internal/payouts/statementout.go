package payouts

import (
	"context"
	_ "embed" // the page
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"time"

	"dealhouse/internal/finance"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

//go:embed statement.html
var statementText string

// WriteCSV writes the rows of the statement. It begins with a byte order mark, which Excel needs.
func (s Statement) WriteCSV(w io.Writer) error { return writeRecords(w, s.Records()) }

// WriteAgesCSV writes what is unpaid at the end of the month by the age of its sale.
func (s Statement) WriteAgesCSV(w io.Writer) error {
	records := [][]string{{"account", "month", "currency", "age", "pending", "confirmed", "total"}}
	for _, c := range s.Currencies {
		for i, b := range c.Ages {
			records = append(records, []string{term.Cell(s.Account), s.Month.Format("2006-01"), term.Cell(c.Currency),
				AgeTitles()[i],
				MoneyIn(c.Currency, b.Pending), MoneyIn(c.Currency, b.Confirmed), MoneyIn(c.Currency, b.Unpaid())})
		}
	}
	return writeRecords(w, records)
}

// The shapes of the JSON statement. Amounts are JSON numbers with all their digits.
type (
	statementObject struct {
		Account    string           `json:"account"`
		Month      string           `json:"month"`
		MadeAt     time.Time        `json:"made_at"`
		CompleteTo *time.Time       `json:"complete_to"`
		Note       string           `json:"note"`
		Hash       string           `json:"hash"`
		ClosedAt   *time.Time       `json:"closed_at"`
		ClosedBy   string           `json:"closed_by"`
		Currencies []currencyObject `json:"currencies"`
	}
	currencyObject struct {
		Currency string                   `json:"currency"`
		Opening  balanceObject            `json:"opening"`
		Entries  []entryObject            `json:"entries"`
		Closing  balanceObject            `json:"closing"`
		Ages     map[string]balanceObject `json:"unpaid_by_age"`
		Forecast []forecastObject         `json:"forecast"`
		Rates    []rateSumObject          `json:"rates"`
	}
	balanceObject struct {
		Pending   json.Number `json:"pending"`
		Confirmed json.Number `json:"confirmed"`
		Settled   json.Number `json:"after_payment"`
		Total     json.Number `json:"total"`
	}
	entryObject struct {
		Entry        string `json:"entry"`
		Transactions int64  `json:"transactions"`
		balanceObject
		Paid json.Number `json:"paid"`
	}
)

// WriteJSON writes the statement as one object.
func (s Statement) WriteJSON(w io.Writer) error {
	o := statementObject{Account: s.Account, Month: s.Month.Format("2006-01"), MadeAt: s.MadeAt, Note: s.Note(),
		Hash: s.Hash(), Currencies: []currencyObject{}}
	if !s.CompleteTo.IsZero() {
		o.CompleteTo = &s.CompleteTo
	}
	if s.Close != nil {
		o.ClosedAt, o.ClosedBy = &s.Close.ClosedAt, s.Close.By
	}
	for _, c := range s.Currencies {
		of := func(b finance.Balance) balanceObject {
			n := func(text string) json.Number { return json.Number(text) }
			return balanceObject{n(MoneyIn(c.Currency, b.Pending)), n(MoneyIn(c.Currency, b.Confirmed)),
				n(MoneyIn(c.Currency, b.Settled)), n(MoneyIn(c.Currency, b.Total()))}
		}
		one := currencyObject{Currency: c.Currency, Opening: of(c.Opening), Closing: of(c.Closing), Entries: []entryObject{},
			Ages:     map[string]balanceObject{},
			Forecast: c.forecastObjects(), Rates: c.rateObjects()}
		for _, e := range c.Entries {
			one.Entries = append(one.Entries, entryObject{string(e.Event), e.Count, of(e.Balance),
				json.Number(MoneyIn(c.Currency, e.Paid))})
		}
		for i, b := range c.Ages {
			one.Ages[AgeTitles()[i]] = of(finance.Balance{Pending: b.Pending, Confirmed: b.Confirmed})
		}
		o.Currencies = append(o.Currencies, one)
	}
	return writeObject(w, o, "statement")
}

// WriteHTML writes one page that needs no other files, and prints on A4.
func (s Statement) WriteHTML(w io.Writer) error {
	t, err := template.New("statement").Funcs(template.FuncMap{"grouped": term.Grouped, "ages": AgeTitles,
		"forecastNote": ForecastNote, "rateNote": RateNote, "count": func(n int64) string { return term.Count(uint64(n)) }}).Parse(statementText)
	if err != nil {
		return fmt.Errorf("reading the template of the statement: %w", err)
	}
	page := struct {
		Statement
		Title, Made string
	}{s, s.title(), s.MadeAt.UTC().Format("2006-01-02 15:04 UTC")}
	return execute(w, t, page, "statement")
}

// Text writes a balance of the statement for people. All amounts of the statement that are the same part of a balance
// have the same number of decimals.
func (c CurrencyStatement) Text(b finance.Balance) BalanceText {
	a := NewAlignment(Page)
	for _, other := range append([]finance.Balance{c.Opening, c.Closing}, c.Ages...) {
		a.NoteBalance(c.Currency, other)
	}
	for _, e := range c.Entries {
		a.NoteBalance(c.Currency, e.Balance)
	}
	return a.BalanceText(c.Currency, b)
}

// UnpaidOf returns a list with the unpaid balance of an age; it is empty if nothing is unpaid.
func (c CurrencyStatement) UnpaidOf(age int) []finance.Balance {
	if b := c.Ages[age]; !b.Pending.IsZero() || !b.Confirmed.IsZero() {
		return []finance.Balance{b}
	}
	return nil
}

// WriteChangesCSV writes the changes of transactions that the statement of a month adds up, one
// row per step of a change.
func WriteChangesCSV(ctx context.Context, w *warehouse.Warehouse, account string, month time.Time, to io.Writer) error {
	closes, err := w.Closes(ctx, account)
	if err != nil {
		return err
	}
	header := []string{"account", "month", "currency", "entry", "transaction_id", "at", "seen_at", "sold_at", "retailer",
		"payout_id", "pending", "confirmed", "after_payment", "paid"}
	return writeRows(to, header, func(write func(...string) error) error {
		return w.EachChangeInOrder(ctx, account, month, month.AddDate(0, 1, 0), closes, func(c warehouse.Change) error {
			payout := ""
			if c.Payout != nil {
				payout = fmt.Sprint(*c.Payout)
			}
			for _, step := range changeOf(c.ChangeSum).Steps() {
				event := step.Event
				if c.Late {
					event = finance.Adjustment
				}
				err := write(term.Cell(account), month.Format("2006-01"), term.Cell(c.Currency), string(event),
					c.ID.String(), iso(&c.At), iso(&c.SeenAt), iso(c.SoldAt), term.Cell(c.Retailer), payout,
					MoneyIn(c.Currency, step.Pending), MoneyIn(c.Currency, step.Confirmed), MoneyIn(c.Currency, step.Settled),
					MoneyIn(c.Currency, step.Paid))
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}
