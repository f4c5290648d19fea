package payouts

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dealhouse/internal/finance"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// Statement is what happened to the cashback of an account in a month.
type Statement struct {
	Account    string
	Month      time.Time // its first day
	MadeAt     time.Time // by the clock of the warehouse
	CompleteTo time.Time // until when the transactions are loaded; zero: none are
	Currencies []CurrencyStatement
	Close      *warehouse.Close // nil while the month is open
}

// CurrencyStatement is the statement of one currency (currencies are never added up).
type CurrencyStatement struct {
	Currency string
	finance.Statement
	Ages []finance.Balance // what is unpaid at the end of the month, by the age of the sale: see AgeTitles
	// Unpaid is the same amount by the payout in which it is due.
	Unpaid   Unpaid
	Forecast []finance.Forecast // of the next payouts
	// Rates are sums of the sales of the month by whether they came at the rate of their offer (rate_audit).
	Rates []warehouse.RateSum
}

// Balance is what is owed to an account in one currency.
type Balance = finance.Balance

// AgeTitles returns the names of the ages of CurrencyStatement.Ages.
func AgeTitles() []string {
	var titles []string
	from := 0
	for _, to := range warehouse.Ages() {
		titles = append(titles, fmt.Sprintf("%d to %d days", from, to))
		from = to + 1
	}
	return append(titles, fmt.Sprintf("over %d days", from-1), "no time of sale")
}

// NewStatement reads the statement of a month.
func NewStatement(ctx context.Context, w *warehouse.Warehouse, account string, month time.Time) (Statement, error) {
	closes, err := w.Closes(ctx, account)
	if err != nil {
		return Statement{}, err
	}
	s, err := newStatement(ctx, w, account, month, closes)
	if err != nil {
		return s, err
	}
	if err := s.rates(ctx, w); err != nil {
		return s, err
	}
	return s, s.forecast(ctx, w)
}

func newStatement(ctx context.Context, w *warehouse.Warehouse, account string, month time.Time,
	closes []warehouse.Close) (s Statement, err error) {
	s = Statement{Account: account, Month: month}
	if i := slices.IndexFunc(closes, func(c warehouse.Close) bool {
		return c.Month.Equal(month) &&
			!c.ClosedAt.IsZero()
	}); i >= 0 {
		s.Close = &closes[i]
	}
	if s.MadeAt, err = w.Now(ctx); err != nil {
		return s, err
	}
	if _, s.CompleteTo, err = w.SeenTo(ctx, account); err != nil {
		return s, err
	}
	sums, err := w.ChangeSums(ctx, account, month, month.AddDate(0, 1, 0), closes)
	if err != nil {
		return s, err
	}
	for len(sums) > 0 {
		n := slices.IndexFunc(sums, func(c warehouse.ChangeSum) bool { return c.Currency != sums[0].Currency })
		if n < 0 {
			n = len(sums)
		}
		s.Currencies = append(s.Currencies, newCurrencyStatement(sums[:n]))
		sums = sums[n:]
	}
	return s, nil
}

func newCurrencyStatement(sums []warehouse.ChangeSum) CurrencyStatement {
	s := CurrencyStatement{Currency: sums[0].Currency, Ages: make([]finance.Balance, len(AgeTitles()))}
	var before, within, late []finance.Change
	for _, c := range sums {
		change := changeOf(c)
		switch {
		case c.Before:
			before = append(before, change)
		case c.Late:
			late = append(late, change)
		default:
			within = append(within, change)
		}
		for _, step := range change.Steps() {
			s.Ages[c.Age] = s.Ages[c.Age].Add(step.Balance)
		}
		s.Unpaid.of(c.Due).Add(change)
	}
	s.Statement = finance.NewStatement(before, within, late)
	return s
}

func changeOf(c warehouse.ChangeSum) finance.Change {
	return finance.Change{Sale: c.Sale, Before: c.StatusBefore, After: c.Status, InPayout: c.InPayout,
		IntoPayout: c.IntoPayout, SamePayout: c.SamePayout, FirstPaid: c.FirstPaid,
		ListedBefore: c.ListedBefore, ListedAfter: c.Listed, Count: c.Count, CashbackBefore: c.CashbackBefore,
		Cashback: c.Cashback}
}

// ParseMonth returns the first day of a month such as 2026-03. Its error is a *RefusedError.
func ParseMonth(text string) (time.Time, error) {
	month, err := time.Parse("2006-01", text)
	if err != nil || month.Year() < 1970 || month.Year() > 2200 {
		return month, refused(Unreadable, "%q is not a month such as 2026-03", text)
	}
	return month, nil
}

// Complete reports whether the month is over and all of it is loaded, so that it can be closed.
func (s Statement) Complete() bool {
	return !s.CompleteTo.IsZero() && !s.CompleteTo.Before(s.Month.AddDate(0, 1, 0))
}

// title returns the title of the statement.
func (s Statement) title() string {
	return fmt.Sprintf("Statement of %s, %s", s.Account, s.Month.Format("January 2006"))
}

// Note says what to know about the statement: whether the month is closed, and if not, whether all of it is loaded.
func (s Statement) Note() string {
	end := s.Month.AddDate(0, 1, 0)
	switch {
	case s.Close != nil && s.Hash() != s.Close.Hash:
		return fmt.Sprintf("Closed by %s on %s with the hash %s, but the figures are different now (hash %s): the view statement_closes has the statement as it was closed.",
			s.Close.By, s.Close.ClosedAt.Format(time.DateOnly), s.Close.Hash, s.Hash())
	case s.Close != nil:
		return fmt.Sprintf("Closed by %s on %s; SHA-256 %s.", s.Close.By, s.Close.ClosedAt.Format(time.DateOnly),
			s.Close.Hash)
	case s.CompleteTo.IsZero():
		return "No transactions are loaded."
	case s.CompleteTo.Before(end):
		return "The month is not complete: transactions are loaded up to " + s.CompleteTo.Format("2006-01-02 15:04 UTC") + "."
	}
	return "The month is complete and not closed."
}

// statementColumns returns the columns of the CSV. A close stores the same columns.
func statementColumns() []string {
	return strings.Fields("account month currency entry transactions pending confirmed after_payment total paid")
}

// Records returns the rows of the statement: for each currency the opening balance, the entries,
// and the closing balance.
func (s Statement) Records() [][]string {
	records := [][]string{statementColumns()}
	month := s.Month.Format("2006-01")
	for _, c := range s.Currencies {
		add := func(entry, count string, b finance.Balance, paid string) {
			records = append(records, []string{term.Cell(s.Account), month, term.Cell(c.Currency), entry, count,
				MoneyIn(c.Currency, b.Pending), MoneyIn(c.Currency, b.Confirmed),
				MoneyIn(c.Currency, b.Settled), MoneyIn(c.Currency, b.Total()), paid})
		}
		add("opening balance", "", c.Opening, "")
		for _, e := range c.Entries {
			paid := ""
			if !e.Paid.IsZero() {
				paid = MoneyIn(c.Currency, e.Paid)
			}
			add(string(e.Event), fmt.Sprint(e.Count), e.Balance, paid)
		}
		add("closing balance", "", c.Closing, "")
	}
	return records
}

// text returns the rows as CSV, as a close stores them.
func (s Statement) text() string {
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	_ = out.WriteAll(s.Records()) // writing to a buffer cannot fail
	return b.String()
}

// Hash returns the SHA-256 of the rows, in hexadecimal digits.
func (s Statement) Hash() string {
	sum := sha256.Sum256([]byte(s.text()))
	return hex.EncodeToString(sum[:])
}

// Errors of CloseMonth.
var (
	// ErrMonthOpen says that a month cannot be closed yet.
	ErrMonthOpen = errors.New("the month cannot be closed yet")
	// ErrMonthClosed says that the month, or a later one, is already closed.
	ErrMonthClosed = errors.New("the month is closed")
)

// CloseMonth closes a month: its statement does not change any more, and what belongs to the month but is loaded later
// counts in the month in which it is loaded (a closed month does not change).
func CloseMonth(ctx context.Context, w *warehouse.Warehouse, account string, month time.Time, by,
	note string) (Statement, error) {
	return CloseAsSeen(ctx, w, account, month, by, note, "")
}

// CloseAsSeen is CloseMonth for a person who has looked at the statement. seen is the Hash of what they saw: if it
// differs now, the month is not closed. "" closes it in any case.
func CloseAsSeen(ctx context.Context, w *warehouse.Warehouse, account string, month time.Time, by, note,
	seen string) (Statement, error) {
	if err := errors.Join(checkNote("the note", note), checkNote("the name", by)); err != nil {
		return Statement{}, err
	}
	closes, err := w.Closes(ctx, account)
	if err != nil {
		return Statement{}, err
	}
	if n := len(closes); n > 0 && !closes[n-1].Month.Before(month) {
		return Statement{}, fmt.Errorf("%w: %s was closed by %s on %s", ErrMonthClosed, closes[n-1].Month.Format("2006-01"),
			closes[n-1].By, closes[n-1].ClosedAt.Format(time.DateOnly))
	}
	seenTo, complete, err := w.SeenTo(ctx, account)
	if err != nil {
		return Statement{}, err
	}
	end := month.AddDate(0, 1, 0)
	switch {
	case seenTo.IsZero() || complete.IsZero():
		return Statement{}, fmt.Errorf("%w: no transactions of %s are loaded", ErrMonthOpen, account)
	case complete.Before(end):
		return Statement{}, fmt.Errorf("%w: transactions of %s are loaded up to %s: run `dealhouse sync transactions` after its end", ErrMonthOpen, account, complete.Format("2006-01-02 15:04 UTC"))
	}
	c := warehouse.Close{Account: account, Month: month, SeenTo: seenTo, By: by, Note: note}
	s, err := newStatement(ctx, w, account, month, append(closes, c))
	if err != nil {
		return s, err
	}
	if c.Statement, c.Hash = s.text(), s.Hash(); seen != "" && seen != c.Hash {
		return s, refused(HasMoved, "the statement of %s has changed since you looked at it: look at it again",
			month.Format("2006-01"))
	}
	if err := w.CloseMonth(ctx, &c); err != nil {
		return s, err
	}
	s.Close = &c
	return s, nil
}
