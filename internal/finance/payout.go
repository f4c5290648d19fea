package finance

import (
	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

// Statuses of a transaction that a payout counts, as the service writes them: those of the catalog, which this package
// does not import. A test of package report holds that they are the same.
const (
	Confirmed = "CONFIRMED"
	Declined  = "DECLINED"
	Pending   = "PENDING"
)

// Figures are what a payout says of some of its transactions: how many they are, their order value and their cashback.
// nil is what it does not say.
type Figures struct{ Count, Value, Cashback *decimal.Decimal }

// Totals are the figures of all transactions of a payout, and of those of each status.
type Totals struct{ Total, Confirmed, Declined, Pending Figures }

// Sums are the figures of transactions that are loaded: all of them are known.
type Sums struct{ Count, Value, Cashback decimal.Decimal }

func (s Sums) add(o Sums) Sums {
	return Sums{s.Count.Add(o.Count), s.Value.Add(o.Value), s.Cashback.Add(o.Cashback)}
}

func (s Sums) sub(o Sums) Sums {
	return Sums{s.Count.Sub(o.Count), s.Value.Sub(o.Value), s.Cashback.Sub(o.Cashback)}
}

// known is what a payout says, where it says all of it.
func (f Figures) known() (Sums, bool) {
	if f.Count == nil || f.Value == nil || f.Cashback == nil {
		return Sums{}, false
	}
	return Sums{*f.Count, *f.Value, *f.Cashback}, true
}

// OrZero is an amount, where what is not known counts as nothing.
func OrZero(d *decimal.Decimal) decimal.Decimal {
	if d == nil {
		return decimal.Zero
	}
	return *d
}

// loaded are the figures of what is loaded, where what is not known counts as nothing.
func (f Figures) loaded() Sums {
	return Sums{OrZero(f.Count), OrZero(f.Value), OrZero(f.Cashback)}
}

// Standing is how a transaction stood at a time.
type Standing struct {
	Status          string
	Value, Cashback decimal.Decimal // what was absent counts as nothing
}

// Worth is what it earned then: nothing when it was declined.
func (s Standing) Worth() decimal.Decimal {
	if s.Status == Declined {
		return decimal.Zero
	}
	return s.Cashback
}

func (s Standing) sums() Sums { return Sums{decimal.NewFromInt(1), s.Value, s.Cashback} }

// States of a transaction that was paid.
const (
	Same    = "same"    // it stands as it was first loaded with its payout
	Changed = "changed" // its status or an amount is another one
	Moved   = "moved"   // it carries another payout, or none
	Gone    = "gone"    // the service no longer lists it
)

// Transaction is one that carries, or carried, the number of a payout.
type Transaction struct {
	ID       uuid.UUID
	Currency string
	State    string
	// Unseen says that it may have changed between being paid and being loaded: nobody saw it as it was paid.
	Unseen bool
	// Doubtful says that no earlier version of it is known. Where it stands alone, nothing tells whether it was seen as
	// it was paid.
	Doubtful bool
	Stamped  Standing // as first loaded with the number of the payout
	Now      Standing
}

// WorthNow is what it is worth in its payout now: nothing when it left the payout or the list.
func (t *Transaction) WorthNow() decimal.Decimal {
	if t.State == Moved || t.State == Gone {
		return decimal.Zero
	}
	return t.Now.Worth()
}

// Payout is a payout, and what is loaded of it.
type Payout struct {
	Currency string // of its transactions; empty when it is not known
	Reported Totals
	Stamped  Totals // of its transactions as they were first loaded with its number
	Now      Totals // of those that are still in it
	// Lines are given instead of the currency where its transactions have several.
	Lines []CurrencySums
	// Transactions are at least those whose worth has changed, and those that nobody saw as they were paid.
	Transactions []Transaction
}

// CurrencySums are what the transactions of one currency were worth when they were first loaded, and are worth now.
type CurrencySums struct {
	Currency     string
	Stamped, Now decimal.Decimal
}

// undeclined is the cashback of all but the declined.
func (t Totals) undeclined() decimal.Decimal {
	return OrZero(t.Total.Cashback).Sub(OrZero(t.Declined.Cashback))
}

// paid is what the payout says it paid. Where it does not, its transactions say it.
func (p *Payout) paid() (amount decimal.Decimal, said bool) {
	if p.Reported.Total.Cashback == nil || p.Reported.Declined.Cashback == nil {
		return p.Stamped.undeclined(), false
	}
	return p.Reported.undeclined(), true
}

// Lacking is how many transactions it counts beyond those that were ever loaded; below zero, it counts fewer.
func (p *Payout) Lacking() int64 {
	if p.Reported.Total.Count == nil {
		return 0
	}
	return p.Reported.Total.Count.Sub(OrZero(p.Stamped.Total.Count)).IntPart()
}

// unseen are those of its transactions that nobody saw as they were paid.
func (p *Payout) unseen() []*Transaction {
	var all []*Transaction
	for i := range p.Transactions {
		if p.Transactions[i].Unseen {
			all = append(all, &p.Transactions[i])
		}
	}
	return all
}
