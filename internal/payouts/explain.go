package payouts

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"dealhouse/internal/finance"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// searchBudget bounds the search for culprits in all payouts of a reconciliation together. It takes
// a second or two at most.
const searchBudget = 5_000_000

// explainAll explains each payout: what it paid, and what that is worth now. It reads transactions only of payouts in
// which something differs.
func (r *Reconciliation) explainAll(ctx context.Context, w *warehouse.Warehouse) error {
	budget := &finance.Budget{Left: searchBudget}
	for _, account := range r.Accounts() {
		var payouts []*Payout
		for i := range r.Payouts {
			if r.Payouts[i].Account == account {
				payouts = append(payouts, &r.Payouts[i])
			}
		}
		if err := r.readExceptions(ctx, w, account, payouts); err != nil {
			return err
		}
		for _, p := range payouts {
			p.explain(budget)
		}
	}
	return nil
}

// readExceptions reads the transactions and sums that are needed to explain the payouts of an account.
func (r *Reconciliation) readExceptions(ctx context.Context, w *warehouse.Warehouse, account string,
	payouts []*Payout) error {
	byID := map[int64]*Payout{}
	read := warehouse.PayoutsToRead{Account: account}
	var mixed []int64
	for _, p := range payouts {
		byID[p.ID] = p
		p.paid = map[uuid.UUID]warehouse.PaidTransaction{}
		late := len(p.Mismatches) > 0 && p.Loaded+p.Gone > 0
		late = late || r.Filter.Payout != nil // for a single payout, all transactions are shown
		if late || p.Changed+p.Moved+p.Gone > 0 {
			read.Payouts = append(read.Payouts, p.ID)
		}
		if late {
			read.Unseen = append(read.Unseen, p.ID)
		}
		if late && p.Verdict == Mismatched && p.amountsAgree() {
			read.First = append(read.First, p.ID)
		}
		if p.MixedCurrency {
			mixed = append(mixed, p.ID)
		}
	}
	if len(read.Payouts) > 0 {
		all, err := w.PayoutExceptions(ctx, read)
		if err != nil {
			return err
		}
		for _, t := range all {
			p := byID[t.Payout]
			p.paid[t.ID] = t
			p.exceptions = append(p.exceptions, t)
		}
	}
	if len(mixed) == 0 {
		return nil
	}
	sums, err := w.PayoutCurrencies(ctx, account, mixed)
	if err != nil {
		return err
	}
	for _, s := range sums {
		p := byID[s.Payout]
		p.currencySums = append(p.currencySums, finance.CurrencySums{Currency: s.Currency, Stamped: s.Stamped, Now: s.Now})
	}
	return nil
}

// amountsAgree reports whether the payout and its transactions agree except for how they are split by status.
func (p *Payout) amountsAgree() bool {
	for _, name := range []string{"total_transactions", "total_gmv", "total_cashback"} {
		if slices.Contains(p.Mismatches, name) {
			return false
		}
	}
	return true
}

// explain splits the difference between what the payout paid and what that is worth now. A payout whose transactions
// can be shown to have changed before they were loaded has drifted; it is not wrong.
func (p *Payout) explain(budget *finance.Budget) {
	in := finance.Payout{Currency: p.Currency(), Reported: totalsOf(p.Reported), Stamped: totalsOf(p.Stamped),
		Now: totalsOf(p.AsOfNow), Lines: p.currencySums}
	for _, t := range p.exceptions {
		in.Transactions = append(in.Transactions, finance.Transaction{
			ID: t.ID, Currency: t.Currency, State: t.State, Unseen: t.Unseen, Doubtful: t.FirstKnown,
			Stamped: finance.Standing{Status: t.StampedStatus, Value: finance.OrZero(t.StampedOrderValue),
				Cashback: finance.OrZero(t.StampedCashback)},
			Now: finance.Standing{Status: t.Status, Value: finance.OrZero(t.OrderValue), Cashback: finance.OrZero(t.Cashback)},
		})
	}
	p.Explained = finance.Explain(&in, budget)
	p.find()
	if p.Verdict == Mismatched && len(p.Explained.Culprits.Sets) > 0 && len(p.items(finance.PayoutError)) == 0 &&
		p.amountsAgree() {
		p.Verdict = Drifted
	}
}

func totalsOf(totals []*decimal.Decimal) finance.Totals {
	of := func(group string) finance.Figures {
		return finance.Figures{Count: total(totals, group+"_transactions"), Value: total(totals, group+"_gmv"),
			Cashback: total(totals, group+"_cashback")}
	}
	return finance.Totals{Total: of("total"), Confirmed: of("confirmed"), Declined: of("declined"), Pending: of("pending")}
}

// items returns the parts of the difference that are of one kind, in all currencies.
func (p Payout) items(kind finance.Kind) []finance.Item {
	return slices.DeleteFunc(p.Explained.Items(), func(i finance.Item) bool { return i.Kind != kind })
}

// Exception is a transaction whose worth differs from what was paid for it.
type Exception struct {
	warehouse.PaidTransaction
	Kind        finance.Kind
	Reason      finance.Reason
	WhenPaid    string // its status, as WhenPaid gives it
	Paid, Worth decimal.Decimal
}

// Difference returns what was paid for it minus what it is worth now.
func (e Exception) Difference() decimal.Decimal { return e.Paid.Sub(e.Worth) }

// Exceptions returns the transactions of the payout whose worth differs from what was paid for them, by kind.
func (p Payout) Exceptions() []Exception { return p.found }

// find lists the exceptions, and notes the status when paid of transactions for which it differs from the loaded one.
func (p *Payout) find() {
	p.told, p.foundBy = map[uuid.UUID]string{}, map[uuid.UUID]int{}
	p.unsure = slices.ContainsFunc(p.Explained.Items(),
		func(i finance.Item) bool { return i.Reason == finance.BeforeLoaded })
	for id, t := range p.paid {
		if t.Unseen {
			p.told[id] = notSeen
		}
	}
	for _, kind := range finance.Kinds() {
		for _, item := range p.items(kind) {
			if item.Transaction == nil {
				continue
			}
			e := Exception{PaidTransaction: p.paid[item.Transaction.ID], Kind: kind, Reason: item.Reason,
				WhenPaid: item.PaidAs.Status,
				Paid:     item.PaidAs.Worth(), Worth: item.Transaction.WorthNow()}
			switch {
			case item.Deduced:
				e.WhenPaid += " (deduced)"
			case item.Transaction.Unseen:
				e.WhenPaid = notSeen
			}
			p.told[e.ID] = e.WhenPaid
			if _, known := p.foundBy[e.ID]; !known {
				p.foundBy[e.ID] = len(p.found)
			}
			p.found = append(p.found, e)
		}
	}
}

// notSeen is shown for a status when paid that was not loaded and that does not follow from the counts of the payout.
const notSeen = "not seen"

// WhenPaid returns the status of a transaction of the payout when it was paid, if it was seen or follows from the
// counts of the payout (finance-5). Otherwise it returns notSeen.
func (p Payout) WhenPaid(t warehouse.PayoutTransaction) string {
	if told, ok := p.told[t.ID]; ok {
		return told
	}
	return t.StampedStatus
}

// Payout returns the payout of a transaction of Transactions.
func (r Reconciliation) Payout(t warehouse.PayoutTransaction) Payout {
	for _, p := range r.Payouts {
		if p.Account == t.Account && p.ID == t.Payout {
			return p
		}
	}
	return Payout{} // it does not exist: its transactions are orphans
}

// PaidFor returns what was paid for a transaction of the payout: its cashback, or zero if it was declined. It returns
// nil if that was not seen and cannot be deduced.
func (p Payout) PaidFor(t warehouse.PayoutTransaction) *decimal.Decimal {
	if i, ok := p.foundBy[t.ID]; ok {
		return &p.found[i].Paid
	}
	if p.told[t.ID] == notSeen && p.unsure {
		return nil
	}
	worth := p.WorthOf(t) // nothing has changed since it was paid
	return &worth
}

// WorthOf returns what a transaction of the payout is worth in it now.
func (p Payout) WorthOf(t warehouse.PayoutTransaction) decimal.Decimal {
	here := finance.Transaction{State: t.State, Now: finance.Standing{Status: t.Status, Cashback: finance.OrZero(t.Cashback)}}
	return here.WorthNow()
}

// KindColumn is the column of a kind in tables.
type KindColumn struct {
	Kind  finance.Kind
	Title string
}

// KindColumns returns the columns of the kinds in the order of the tables.
func KindColumns() []KindColumn {
	return []KindColumn{{finance.Clawback, "expect back"}, {finance.Claimable, "claim"},
		{finance.PayoutError, "error in payout"}, {finance.NotLoaded, "not loaded"}, {finance.Vanished, "vanished"}}
}

// MatterTitle returns the kind of a matter as it is named on pages.
func MatterTitle(kind string) string {
	for _, k := range KindColumns() {
		if string(k.Kind) == kind {
			return k.Title
		}
	}
	return term.Spaced(kind)
}

// Amount returns the amount of the kind in a line. What can be claimed is written without a sign.
func (k KindColumn) Amount(l finance.Line) decimal.Decimal {
	if k.Kind == finance.Claimable {
		return l.Sum(k.Kind).Neg()
	}
	return l.Sum(k.Kind)
}

// Cell returns the amount, nil if the line has nothing of the kind.
func (k KindColumn) Cell(l finance.Line) *decimal.Decimal {
	for _, item := range l.Items {
		if item.Kind == k.Kind {
			amount := k.Amount(l)
			return &amount
		}
	}
	return nil
}

// Has reports whether any payout has something of a kind.
func (r Reconciliation) Has(k KindColumn) bool {
	return slices.ContainsFunc(r.Payouts, func(p Payout) bool { return len(p.items(k.Kind)) > 0 })
}
