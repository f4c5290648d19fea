package payouts

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"dealhouse/internal/finance"
	"dealhouse/internal/term"
)

// namedIDs is the largest number of transactions that a sentence names. The tables have all.
const namedIDs = 2

// NothingToDo is the advice about a payout that needs no work.
const NothingToDo = "nothing to do"

// Advice says, in words that accountants use, what to expect of a payout, and what to do.
func (p Payout) Advice() string {
	var advice []string
	if text := p.verdictAdvice(); text != "" {
		advice = append(advice, text)
	}
	if p.Altered {
		advice = append(advice, p.alterations())
	}
	if p.MixedCurrency {
		advice = append(advice, "its totals add up "+strings.Join(p.Currencies, " and ")+
			": ask the service what it paid in which currency")
	}
	if text := p.withinAdvice(); text != "" {
		advice = append(advice, text)
	}
	advice = append(advice, p.acknowledged()...)
	if len(advice) == 0 {
		return NothingToDo
	}
	return strings.Join(advice, "; ")
}

func (p Payout) verdictAdvice() string {
	switch {
	case p.Verdict == Matched:
		return ""
	case p.Verdict == NoTransactions && p.CompleteTo == nil:
		return "none of its transactions is loaded: run dealhouse sync transactions"
	case p.Verdict == NoTransactions:
		return "none of its transactions is loaded, and transactions are complete up to " + Day(p.CompleteTo) +
			": load older ones with dealhouse backfill, or wait"
	}
	all := p.expectations()
	if n := p.lacking(); n > 0 && len(p.items(finance.NotLoaded)) == 0 {
		all = append(all, p.notLoaded(n, "no cashback"))
	}
	if p.Gone > 0 && len(p.items(finance.Vanished)) == 0 {
		all = append(all, "ask the service: it no longer lists "+term.Plural(p.Gone, "transaction")+
			" of the payout, though there was no cashback to pay for "+verb(p.Gone, "them", "it"))
	}
	if p.Verdict == Mismatched && len(p.items(finance.PayoutError)) == 0 {
		all = append(all, p.differences()+": ask the service")
	}
	if len(all) == 0 {
		return "nothing to do: " + p.harmless() + ", and no cashback with it"
	}
	return strings.Join(all, "; ")
}

// lacking returns how many transactions the payout counts that were never loaded.
func (p Payout) lacking() int64 {
	if p.TransactionsReported == nil {
		return 0
	}
	return *p.TransactionsReported - int64(p.Loaded+p.Gone)
}

// harmless says what changed without changing what the payout is worth.
func (p Payout) harmless() string {
	if len(p.Mismatches) > 0 {
		return term.Plural(max(p.Late, uint64(len(p.Explained.Culprits.Unseen))), "transaction") +
			" changed between being paid and being loaded"
	}
	return term.Plural(p.Changed+p.Moved, "transaction") + " changed after being paid"
}

// expectations returns a sentence for each kind and reason of the difference, in each currency.
func (p Payout) expectations() []string {
	type group struct {
		kind     finance.Kind
		reason   finance.Reason
		negative bool
	}
	var all []string
	for _, l := range p.Explained.Lines {
		groups := map[group][]finance.Item{}
		var order []group
		for _, kind := range finance.Kinds() {
			for _, item := range l.Items {
				g := group{kind, item.Reason, item.Amount.IsNegative()}
				if item.Kind != kind {
					continue
				}
				if groups[g] == nil {
					order = append(order, g)
				}
				groups[g] = append(groups[g], item)
			}
		}
		for _, g := range order {
			all = append(all, p.expectation(l.Currency, groups[g]))
		}
	}
	return all
}

// expectation returns the sentence about items of one kind and reason.
func (p Payout) expectation(currency string, items []finance.Item) string {
	sum := decimal.Zero
	n, deduced, count := uint64(len(items)), false, int64(0)
	for _, item := range items {
		sum = sum.Add(item.Amount)
		deduced = deduced || item.Deduced
		count += item.Count
	}
	amount := withCurrency(currency, sum.Abs())
	which := term.Plural(n, "transaction")
	after := "after " + verb(n, "they were", "it was") + " paid"
	if deduced {
		after += " and before " + verb(n, "they were", "it was") + " loaded"
	}
	name := namesOf(items)
	switch items[0].Reason {
	case finance.WasDeclined:
		return fmt.Sprintf("expect %s back: %s %s declined %s%s%s", amount, which, verb(n, "were", "was"), after, name,
			p.deduction(deduced))
	case finance.WasLowered:
		return fmt.Sprintf("expect %s back: the cashback of %s was lowered %s%s", amount, which, after, name)
	case finance.WasRaised:
		return fmt.Sprintf("claim %s: the cashback of %s was raised %s%s", amount, which, after, name)
	case finance.WasReinstated:
		return fmt.Sprintf("claim %s: %s %s declined when %s paid, and %s accepted now%s%s", amount, which,
			verb(n, "were", "was"), verb(n, "they were", "it was"), verb(n, "are", "is"), name, p.deduction(deduced))
	case finance.LeftPayout:
		return fmt.Sprintf("%s: %s left the payout %s%s", expected(amount, sum), which, after, name)
	case finance.LeftList:
		return fmt.Sprintf("ask the service about %s: it no longer lists %s that it paid%s", amount, which, name)
	case finance.BeforeLoaded:
		return expected(amount, sum) + ": " + p.unseen()
	case finance.Uncounted:
		return p.notLoaded(count, amount)
	}
	much := " paid too much"
	if sum.IsNegative() {
		much = " paid too little"
	}
	return fmt.Sprintf("ask the service about %s%s: %s", amount, much, p.differences())
}

// expected says whether an amount is to be expected back or claimed.
func expected(amount string, sum decimal.Decimal) string {
	if sum.IsNegative() {
		return "claim " + amount
	}
	return "expect " + amount + " back"
}

// namesOf returns the ids of a few transactions in brackets. If there are more than namedIDs, it returns
// "": the tables have them.
func namesOf(items []finance.Item) string {
	var ids []string
	for _, item := range items {
		if item.Transaction != nil {
			ids = append(ids, item.Transaction.ID.String())
		}
	}
	if len(ids) == 0 || len(ids) > namedIDs {
		return ""
	}
	return " (" + term.List(ids) + ")"
}

// deduction says how a status that was not seen was deduced.
func (p Payout) deduction(deduced bool) string {
	switch {
	case !deduced:
		return ""
	case p.Explained.Culprits.IfFinal:
		return ", which follows from what the payout counts unless a declined one was accepted again"
	}
	return ", which follows from what the payout counts"
}

// unseen says what is known about transactions that changed before they were loaded, if it is not known which ones.
func (p Payout) unseen() string {
	c := p.Explained.Culprits
	among := term.Plural(uint64(len(c.Unseen)), "transaction")
	if len(c.Sets) > 1 {
		many := fmt.Sprint(len(c.Sets))
		if c.More {
			many = "over " + many
		}
		return fmt.Sprintf("%s may have changed after they were paid and before they were loaded; "+
			"%s combinations of them would explain the difference%s", among, many, setNames(c))
	}
	text := fmt.Sprintf("%s changed between being paid and being loaded, and nobody saw what %s when paid", among,
		verb(uint64(len(c.Unseen)), "they were", "it was"))
	if c.GaveUp {
		text += "; there are too many ways in which they can explain it to try them all"
	}
	return text
}

// setNames names the sets if they are few and small.
func setNames(c finance.Culprits) string {
	if len(c.Sets) > namedIDs || c.More {
		return ""
	}
	var sets []string
	for _, set := range c.Sets {
		var ids []string
		for _, t := range set {
			ids = append(ids, t.ID.String())
		}
		if len(ids) > namedIDs {
			return ""
		}
		sets = append(sets, term.List(ids))
	}
	return ": " + strings.Join(sets, ", or ")
}

// notLoaded says how many transactions the payout counts that are not loaded.
func (p Payout) notLoaded(n int64, with string) string {
	return fmt.Sprintf("%s of %s %s not loaded, and %s with %s: run dealhouse sync transactions --full, and ask the service if it stays so",
		term.Count(uint64(n)), term.Plural(uint64(*p.TransactionsReported), "transaction"),
		verb(uint64(n), "are", "is"), with, verb(uint64(n), "them", "it"))
}

// kindsText says what to expect of all payouts: each kind by itself, by currency.
func (r Reconciliation) kindsText() string {
	text := ""
	for _, k := range r.Kinds() {
		text += " " + k.Words + " " + k.Text() + "."
	}
	return text
}

// KindSum is the sum of one kind over all payouts, by currency (currencies are never added up). Amounts above and below
// zero are summed separately.
type KindSum struct {
	Kind    finance.Kind
	Words   string
	sums    sums
	payouts int // how many payouts have some of it
}

// Text returns the amounts with their currencies.
func (k KindSum) Text() string { return k.sums.text() }

// Kinds returns the kinds with their sums over all payouts. Payouts without loaded transactions are left out.
func (r Reconciliation) Kinds() []KindSum {
	words := []struct {
		kind     finance.Kind
		negative bool
		text     string
	}{
		{finance.Clawback, false, "Expect back:"}, {finance.Claimable, true, "Claim:"},
		{finance.PayoutError, false, "Paid too much, by errors in payouts:"},
		{finance.PayoutError, true, "Paid too little, by errors in payouts:"},
		{finance.Vanished, false, "Paid for transactions that the service no longer lists:"},
		{finance.Vanished, true, "Taken off for transactions that the service no longer lists:"},
		{finance.NotLoaded, false, "Not loaded:"}, {finance.NotLoaded, true, "Not loaded, taken off:"},
	}
	var all []KindSum
	for _, w := range words {
		k := KindSum{Kind: w.kind, Words: w.text}
		for _, p := range r.Payouts {
			if p.Verdict == NoTransactions {
				continue
			}
			some := 0
			for _, l := range p.Explained.Lines {
				for _, item := range l.Items {
					if item.Kind == w.kind && item.Amount.IsNegative() == w.negative {
						k.sums.add(l.Currency, item.Amount.Abs())
						some = 1
					}
				}
			}
			k.payouts += some
		}
		if len(k.sums.order) > 0 {
			all = append(all, k)
		}
	}
	return all
}
