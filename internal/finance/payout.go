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

// Figures are what a payout says about some of its transactions: their number, their order value and their cashback.
// nil means that it does not say.
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

// known returns the figures, and whether the payout says all of them.
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

// loaded returns the figures of loaded transactions. An unknown figure counts as zero.
func (f Figures) loaded() Sums {
	return Sums{OrZero(f.Count), OrZero(f.Value), OrZero(f.Cashback)}
}

// Standing is the state of a transaction at a time.
type Standing struct {
	Status          string
	Value, Cashback decimal.Decimal // an absent amount counts as zero
}

// Worth returns what the transaction earned then: zero if it was declined.
func (s Standing) Worth() decimal.Decimal {
	if s.Status == Declined {
		return decimal.Zero
	}
	return s.Cashback
}

func (s Standing) sums() Sums { return Sums{decimal.NewFromInt(1), s.Value, s.Cashback} }

// States of a transaction that was paid.
const (
	Same    = "same"    // unchanged since it was first loaded with its payout
	Changed = "changed" // its status or an amount is different
	Moved   = "moved"   // it carries another payout, or none
	Gone    = "gone"    // the service no longer lists it
)

// Transaction is a transaction that has, or had, the number of a payout.
type Transaction struct {
	ID       uuid.UUID
	Currency string
	State    string
	// Unseen says that it may have changed between being paid and being loaded: it was not loaded as
	// it was when it was paid.
	Unseen bool
	// Doubtful says that no earlier version of it is known. Without other signs, nothing shows whether it was loaded as
	// it was when it was paid.
	Doubtful bool
	Stamped  Standing // as first loaded with the number of the payout
	Now      Standing
}

// WorthNow returns what it is worth in its payout now: zero if it left the payout or the list.
func (t *Transaction) WorthNow() decimal.Decimal {
	if t.State == Moved || t.State == Gone {
		return decimal.Zero
	}
	return t.Now.Worth()
}

// Payout is a payout, and what is loaded of its transactions.
type Payout struct {
	Currency string // of its transactions; empty if it is not known
	Reported Totals
	Stamped  Totals // of its transactions as they were first loaded with its number
	Now      Totals // of those that are still in it
	// Lines are given instead of the currency if its transactions have several.
	Lines []CurrencySums
	// Transactions has at least those whose worth has changed, and those that are Unseen.
	Transactions []Transaction
}

// CurrencySums is what the transactions of one currency were worth when they were first loaded, and are worth now.
type CurrencySums struct {
	Currency     string
	Stamped, Now decimal.Decimal
}

// undeclined returns the cashback of all transactions that are not declined.
func (t Totals) undeclined() decimal.Decimal {
	return OrZero(t.Total.Cashback).Sub(OrZero(t.Declined.Cashback))
}

// paid returns what the payout says that it paid. If it does not say, its transactions give the
// amount, and said is false.
func (p *Payout) paid() (amount decimal.Decimal, said bool) {
	if p.Reported.Total.Cashback == nil || p.Reported.Declined.Cashback == nil {
		return p.Stamped.undeclined(), false
	}
	return p.Reported.undeclined(), true
}

// Lacking returns how many transactions the payout counts beyond those that were ever loaded;
// below zero, it counts fewer.
func (p *Payout) Lacking() int64 {
	if p.Reported.Total.Count == nil {
		return 0
	}
	return p.Reported.Total.Count.Sub(OrZero(p.Stamped.Total.Count)).IntPart()
}

// unseen returns its transactions that are Unseen.
func (p *Payout) unseen() []*Transaction {
	var all []*Transaction
	for i := range p.Transactions {
		if p.Transactions[i].Unseen {
			all = append(all, &p.Transactions[i])
		}
	}
	return all
}
