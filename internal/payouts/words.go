package payouts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/catalog"
	"dealhouse/internal/finance"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// Amount writes a total or an amount of money as a plain number (one reconciliation makes all outputs): counts as
// integers, everything else with at least two decimals, and more if it has more. nil means unknown, and gives "".
func Amount(name string, d *decimal.Decimal) string {
	switch {
	case d == nil:
		return ""
	case isCount(name):
		return d.StringFixed(0)
	}
	return Money(*d)
}

// isCount reports whether a total of a payout counts something.
func isCount(name string) bool {
	return slices.ContainsFunc(catalog.Payouts().Fields,
		func(f catalog.Field) bool { return f.Column == name && f.Type == catalog.Int })
}

// Money writes an amount as a plain number, with two decimals at least.
func Money(d decimal.Decimal) string { return finance.Format(d, "") }

// MoneyIn writes an amount as a plain number, with the decimals of its currency, or more if it has more.
func MoneyIn(currency string, d decimal.Decimal) string { return finance.Format(d, currency) }

// Total is one total of a payout as text for people: what the payout reports, what its transactions added up to when
// they were paid and add up to now, and the difference between the first two.
type Total struct {
	Name, Reported, Stamped, Now, Difference string
	Differs                                  bool
}

// Totals returns the totals of a payout, in the order of warehouse.PayoutTotals. Their columns are aligned.
func (p Payout) Totals() []Total {
	d := NewAlignment(Page)
	each := func(do func(i int, column, unit string, amount *decimal.Decimal)) {
		for i, name := range warehouse.PayoutTotals() {
			unit := p.Currency()
			if isCount(name) {
				unit = countUnit
			}
			do(i, "reported", unit, p.Reported[i])
			do(i, "stamped", unit, p.likeReported(i, p.Stamped[i]))
			do(i, "difference", unit, p.likeReported(i, p.Difference[i]))
			do(i, "now", unit, p.likeReported(i, p.AsOfNow[i]))
		}
	}
	each(func(_ int, column, unit string, amount *decimal.Decimal) { d.NoteKnown(column, unit, amount) })
	all := make([]Total, len(warehouse.PayoutTotals()))
	each(func(i int, column, unit string, amount *decimal.Decimal) {
		t := &all[i]
		into := map[string]*string{"reported": &t.Reported, "stamped": &t.Stamped, "difference": &t.Difference,
			"now": &t.Now}[column]
		*into = d.TextKnown(column, unit, amount)
	})
	for i, name := range warehouse.PayoutTotals() {
		all[i].Name, all[i].Differs = name, p.Difference[i] != nil && !p.Difference[i].IsZero()
	}
	return all
}

// likeReported rounds an average to as many decimals as the payout reports, because an average may have infinitely
// many. Sums are not rounded.
func (p Payout) likeReported(i int, amount *decimal.Decimal) *decimal.Decimal {
	if warehouse.PayoutTotals()[i] != "aov" || amount == nil {
		return amount
	}
	rounded := amount.Round(finance.Decimals(finance.OrZero(p.Reported[i]), p.Currency()))
	return &rounded
}

// Day writes the day of a time; it returns "" for nil.
func Day(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

// Period returns the first and last day of the sales of a payout, as text.
func (p Payout) Period() string {
	if p.Start == nil && p.End == nil {
		return ""
	}
	return Day(p.Start) + " to " + Day(p.End)
}

// Month returns the month in which the period of a payout ended, as 2026-03; "" if that is not known.
func (p Payout) Month() string {
	if p.End == nil {
		return ""
	}
	return p.End.UTC().Format("2006-01")
}

// Currency returns the currency of a payout's amounts. If there are several, it joins them with a plus sign.
func (p Payout) Currency() string { return strings.Join(p.Currencies, "+") }

// Word returns the verdict with remarks about the payout: "matched, altered".
func (p Payout) Word() string {
	marks := []string{term.Spaced(p.Verdict)}
	if p.Altered {
		marks = append(marks, "altered")
	}
	if p.MixedCurrency {
		marks = append(marks, "mixed currency")
	}
	if p.quiet() {
		marks = append(marks, "acknowledged")
	}
	if p.within() {
		marks = append(marks, "within tolerance")
	}
	return strings.Join(marks, ", ")
}

// differences says which columns differ and by how much, as far as it fits into a sentence.
func (p Payout) differences() string {
	const most = 4
	var all []string
	for i, name := range p.Mismatches {
		if i == most {
			all = append(all, term.Plural(uint64(len(p.Mismatches)-most), "more column"))
			break
		}
		all = append(all, fmt.Sprintf("%s is %s and its transactions give %s (difference %s)",
			name, Amount(name, total(p.Reported, name)), Amount(name, total(p.Stamped, name)),
			Amount(name, total(p.Difference, name))))
	}
	return term.List(all)
}

func (p Payout) alterations() string {
	if len(p.AlteredColumns) == 0 {
		return "the payout was altered after it was first seen on " + p.FirstSeenAt.Format(time.DateOnly) +
			", and changed back"
	}
	var changes []string
	for i, name := range p.AlteredColumns {
		changes = append(changes, fmt.Sprintf("%s from %s to %s", name, orNone(p.AlteredBefore[i]),
			orNone(p.AlteredAfter[i])))
	}
	return "the payout was altered after it was first seen on " + p.FirstSeenAt.Format(time.DateOnly) + ": " +
		strings.Join(changes, ", ") + "; ask the service which is right"
}

func orNone(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// withCurrency returns an amount with its currency, written with the decimals of the currency.
func withCurrency(currency string, d decimal.Decimal) string {
	return strings.TrimSpace(currency + " " + term.Grouped(finance.Format(d, currency)))
}

// OrphanAdvice says what to do about transactions whose payout does not exist.
func OrphanAdvice(o warehouse.OrphanGroup) string {
	return fmt.Sprintf("%s (%s) %s %s", term.Plural(o.Transactions, "transaction"),
		withCurrency(o.Currency, o.Cashback), verb(o.Transactions, "carry", "carries"), orphanWords(o))
}

// orphanWords completes "transactions carry ...".
func orphanWords(o warehouse.OrphanGroup) string {
	text := fmt.Sprintf("payout %d", o.Payout)
	switch {
	case !o.Certain:
		return text + ", which is not loaded yet: run dealhouse sync payouts"
	case o.WasListed:
		return text + ", which the service no longer lists: ask the service"
	}
	return text + ", which the service does not list: ask the service"
}

// OverdueAdvice says what to do about sales that should have been paid.
func (r Reconciliation) OverdueAdvice(o warehouse.OverdueGroup) string {
	return fmt.Sprintf("%s sold in %s (%s) %s %s", term.Plural(o.Transactions, "transaction"), o.Month,
		withCurrency(o.Currency, o.Cashback), verb(o.Transactions, "are", "is"), r.overdueWords())
}

// overdueWords completes "transactions are ...".
func (r Reconciliation) overdueWords() string {
	return fmt.Sprintf("over %d days old and in no payout: ask the service", int(r.Filter.OverdueAfter.Hours())/24)
}

// transactionsIn returns "transactions in" and a currency, without their number. The currency may be unknown.
func transactionsIn(currency string) string {
	return strings.TrimSuffix("transactions in "+currency, " in ")
}

// Summary returns the reconciliation in a few sentences that can be passed on.
func (r Reconciliation) Summary() string { return r.summary(r.kindsText()) }

// Headline returns the summary without the amounts of the kinds, for places where these are shown beside it.
func (r Reconciliation) Headline() string { return r.summary("") }

func (r Reconciliation) summary(kinds string) string {
	if len(r.Payouts)+len(r.Orphans)+len(r.Overdue) == 0 {
		return "There are no payouts."
	}
	var counts []string
	for _, v := range Verdicts() {
		if n := r.Count(v); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, verdictWords(n, v)))
		}
	}
	text := fmt.Sprintf("Of %s, %s.", term.Plural(uint64(len(r.Payouts)), "payout"), term.List(counts))
	if len(r.Payouts) == 0 {
		text = "There are no payouts."
	}
	text += kinds
	altered, mixed, quiet := 0, 0, 0
	for _, p := range r.Payouts {
		quiet += count(p.quiet())
		altered += count(p.Altered)
		mixed += count(p.MixedCurrency)
	}
	if altered > 0 {
		text += fmt.Sprintf(" Altered by the service: %s.", term.Plural(uint64(altered), "payout"))
	}
	if mixed > 0 {
		text += fmt.Sprintf(" Of mixed currency: %s.", term.Plural(uint64(mixed), "payout"))
	}
	if quiet > 0 {
		text += fmt.Sprintf(" Acknowledged: %s.", term.Plural(uint64(quiet), "payout"))
	}
	text += r.withinText()
	if n, s := r.orphanSums(); n > 0 {
		text += fmt.Sprintf(" In an unknown payout: %s (%s).", term.Plural(n, "transaction"), s.text())
	}
	if n, s := r.overdueSums(); n > 0 {
		text += fmt.Sprintf(" Overdue: %s (%s).", term.Plural(n, "transaction"), s.text())
	}
	if !r.NeedsWork() {
		text += " There is nothing to do."
	}
	return text
}

// verdictWords completes "of 12 payouts, n ...".
func verdictWords(n int, verdict string) string {
	switch verdict {
	case Matched:
		return verb(uint64(n), "match their transactions", "matches its transactions")
	case Drifted:
		return verb(uint64(n), "have transactions that changed after they were paid",
			"has transactions that changed after they were paid")
	case NoTransactions:
		return verb(uint64(n), "have", "has") + " no transactions loaded"
	case Missing:
		return verb(uint64(n), "lack", "lacks") + " transactions"
	}
	return verb(uint64(n), "do", "does") + " not add up"
}

// verb returns the form of a verb that fits the number.
func verb(n uint64, many, one string) string {
	if n == 1 {
		return one
	}
	return many
}

func (r Reconciliation) orphanSums() (n uint64, s sums) {
	for _, o := range r.Orphans {
		n += o.Transactions
		s.add(o.Currency, o.Cashback)
	}
	return n, s
}

func (r Reconciliation) overdueSums() (n uint64, s sums) {
	for _, o := range r.Overdue {
		n += o.Transactions
		s.add(o.Currency, o.Cashback)
	}
	return n, s
}

func (s sums) text() string {
	var all []string
	for _, currency := range s.order {
		all = append(all, withCurrency(currency, s.by[currency]))
	}
	return term.List(all)
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
