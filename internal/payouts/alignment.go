package payouts

import (
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"dealhouse/internal/finance"
	"dealhouse/internal/term"
)

// Medium is where a table is shown: it says which spaces are as wide as a digit and as a point.
type Medium struct{ digit, point string }

// The media. On a page, a normal space is not as wide as a digit.
var (
	Terminal = Medium{" ", " "}
	Page     = Medium{"\u2007", "\u2008"}
)

// countUnit is used in place of a currency for counts.
const countUnit = "#"

// Alignment writes the amounts of a table so that decimal points are below each other. In a column, all amounts of a
// currency have the same number of decimals: that of the currency, or more if an amount has more. Amounts of currencies
// with fewer decimals are padded with spaces.
type Alignment struct {
	in     Medium
	digits map[[2]string]int32 // by column and currency
	most   map[string]int32    // by column
}

// NewAlignment makes the alignment of a table. All amounts of the table must be noted before the first one is written.
func NewAlignment(in Medium) *Alignment {
	return &Alignment{in: in, digits: map[[2]string]int32{}, most: map[string]int32{}}
}

// Note adds an amount to a column.
func (a *Alignment) Note(column, currency string, amount decimal.Decimal) {
	n := int32(0)
	if currency != countUnit {
		n = finance.Decimals(amount, currency)
	}
	key := [2]string{column, currency}
	a.digits[key] = max(a.digits[key], n)
	a.most[column] = max(a.most[column], n)
}

// NoteKnown does what Note does, for an amount that may be unknown: it ignores nil.
func (a *Alignment) NoteKnown(column, currency string, amount *decimal.Decimal) {
	if amount != nil {
		a.Note(column, currency, *amount)
	}
}

// Text returns an amount as it is written in its column.
func (a *Alignment) Text(column, currency string, amount decimal.Decimal) string {
	n := a.digits[[2]string{column, currency}]
	text := term.Grouped(amount.StringFixed(n))
	if lacking := a.most[column] - n; lacking > 0 {
		if n == 0 {
			text += a.in.point
		}
		text += strings.Repeat(a.in.digit, int(lacking))
	}
	return text
}

// TextKnown does what Text does, for an amount that may be unknown: it returns "" for nil.
func (a *Alignment) TextKnown(column, currency string, amount *decimal.Decimal) string {
	if amount == nil {
		return ""
	}
	return a.Text(column, currency, *amount)
}

// BalanceText has the parts of a balance, each as it is written in its column.
type BalanceText struct{ Pending, Confirmed, Settled, Unpaid, Total string }

// The columns of the parts of a balance.
const (
	pendingPart   = "pending"
	confirmedPart = "confirmed"
	settledPart   = "settled"
	unpaidPart    = "unpaid"
	totalPart     = "total"
)

// NoteBalance adds the parts of a balance, each to its column.
func (a *Alignment) NoteBalance(currency string, b finance.Balance) {
	a.Note(pendingPart, currency, b.Pending)
	a.Note(confirmedPart, currency, b.Confirmed)
	a.Note(settledPart, currency, b.Settled)
	a.Note(unpaidPart, currency, b.Unpaid())
	a.Note(totalPart, currency, b.Total())
}

// BalanceText returns the parts of a balance as they are written in their columns.
func (a *Alignment) BalanceText(currency string, b finance.Balance) BalanceText {
	return BalanceText{
		Pending:   a.Text(pendingPart, currency, b.Pending),
		Confirmed: a.Text(confirmedPart, currency, b.Confirmed),
		Settled:   a.Text(settledPart, currency, b.Settled),
		Unpaid:    a.Text(unpaidPart, currency, b.Unpaid()),
		Total:     a.Text(totalPart, currency, b.Total()),
	}
}

// moneyOrNone returns an amount as a plain number, "" if it is nil, which means unknown.
func moneyOrNone(currency string, amount *decimal.Decimal) string {
	if amount == nil {
		return ""
	}
	return MoneyIn(currency, *amount)
}

// AlignLines returns the alignment of a table of payouts: what was paid, and its parts by kind.
func AlignLines(in Medium, all ...finance.Line) *Alignment {
	a := NewAlignment(in)
	for _, l := range all {
		a.Note("paid", l.Currency, l.Paid)
		a.Note("worth", l.Currency, l.Worth)
		a.Note("difference", l.Currency, l.Difference())
		for _, k := range KindColumns() {
			a.NoteKnown(k.Title, l.Currency, k.Cell(l))
		}
	}
	return a
}

// AlignPayouts returns AlignLines of all payouts.
func (r Reconciliation) AlignPayouts(in Medium) *Alignment {
	var all []finance.Line
	for _, p := range r.Payouts {
		all = append(all, p.Explained.Lines...)
	}
	return AlignLines(in, all...)
}

// AlignExceptions returns the alignment of a table of exceptions.
func AlignExceptions(in Medium, all []Exception) *Alignment {
	a := NewAlignment(in)
	for _, e := range all {
		a.Note("paid", e.Currency, e.Paid)
		a.Note("worth", e.Currency, e.Worth)
		a.Note("difference", e.Currency, e.Difference())
	}
	return a
}

// AlignTransactions returns the alignment of a table of the transactions of a payout.
func (r Reconciliation) AlignTransactions(in Medium) *Alignment {
	a := NewAlignment(in)
	for _, t := range r.Transactions {
		p := r.Payout(t)
		a.NoteKnown("paid", t.Currency, p.PaidFor(t))
		a.NoteKnown("cashback", t.Currency, t.Cashback)
		a.Note("worth", t.Currency, p.WorthOf(t))
	}
	for _, s := range r.TransactionSums() {
		a.NoteKnown("paid", s.Currency, s.Paid)
		a.Note("worth", s.Currency, s.Worth)
	}
	return a
}

// TransactionSum is the sum of the transactions of a payout in one currency, for the foot of their table.
type TransactionSum struct {
	Currency, Title string           // Title says how many they are
	Paid            *decimal.Decimal // nil: of one of them it is not known
	Worth           decimal.Decimal
}

// TransactionSums returns the sums of Transactions, by currency.
func (r Reconciliation) TransactionSums() (sums []TransactionSum) {
	counts := map[string]uint64{}
	for _, t := range r.Transactions {
		i := slices.IndexFunc(sums, func(s TransactionSum) bool { return s.Currency == t.Currency })
		if i < 0 {
			i, sums = len(sums), append(sums, TransactionSum{Currency: t.Currency, Paid: &decimal.Decimal{}})
		}
		s, p := &sums[i], r.Payout(t)
		if paid := p.PaidFor(t); paid == nil || s.Paid == nil {
			s.Paid = nil
		} else {
			sum := s.Paid.Add(*paid)
			s.Paid = &sum
		}
		s.Worth = s.Worth.Add(p.WorthOf(t))
		counts[t.Currency]++
		s.Title = "Sum of " + term.Count(counts[t.Currency])
	}
	slices.SortFunc(sums, func(a, b TransactionSum) int { return strings.Compare(a.Currency, b.Currency) })
	return sums
}

// AlignOthers returns the alignment of a table of transactions that are in no known payout.
func (r Reconciliation) AlignOthers(in Medium) *Alignment {
	a := NewAlignment(in)
	for _, o := range r.Orphans {
		a.Note("orphans", o.Currency, o.Cashback)
		a.Note("cashback", o.Currency, o.Cashback)
	}
	for _, o := range r.Overdue {
		a.Note("overdue", o.Currency, o.Cashback)
		a.Note("cashback", o.Currency, o.Cashback)
	}
	return a
}
