package finance

import (
	"slices"
	"strings"

	"github.com/shopspring/decimal"
)

// Ledger is an account of the user's books that journal lines name.
type Ledger string

// The ledgers, in the order of the lines of an entry.
const (
	LedgerPending      Ledger = "pending"       // an asset: cashback that is pending
	LedgerConfirmed    Ledger = "confirmed"     // an asset: cashback that is confirmed and not paid out
	LedgerAfterPayment Ledger = "after_payment" // what paid transactions are worth less what was paid for them
	LedgerPayouts      Ledger = "in_transit"    // an asset: paid out, and not at the bank yet
	LedgerBank         Ledger = "bank"          // an asset
	LedgerFees         Ledger = "fees"          // an expense
	LedgerConversion   Ledger = "conversion"    // what went from one currency to another: it balances in none of them
	LedgerRevenue      Ledger = "revenue"       // income
)

// Ledgers are all of them, in that order.
func Ledgers() []Ledger {
	return []Ledger{LedgerPending, LedgerConfirmed, LedgerAfterPayment, LedgerPayouts, LedgerBank, LedgerFees,
		LedgerConversion, LedgerRevenue}
}

// Booking is an entry of a journal in one currency: what goes to each ledger; below zero, what leaves it. Its sum is
// nothing.
type Booking map[Ledger]decimal.Decimal

// book adds an amount to a ledger, and takes it from another one.
func (b Booking) book(to, from Ledger, amount decimal.Decimal) {
	b[to], b[from] = b[to].Add(amount), b[from].Sub(amount)
}

// Add books a step of a change: what it adds to a balance is earned, what it takes is not, and what is paid out is on
// its way to the bank.
func (b Booking) Add(s Step) {
	b.book(LedgerPending, LedgerRevenue, s.Pending)
	b.book(LedgerConfirmed, LedgerRevenue, s.Confirmed)
	b.book(LedgerAfterPayment, LedgerRevenue, s.Settled)
	b.book(LedgerPayouts, LedgerRevenue, s.Paid)
}

// Reversed takes back what the booking did.
func (b Booking) Reversed() Booking {
	r := Booking{}
	for ledger, amount := range b {
		r[ledger] = amount.Neg()
	}
	return r
}

// Lines are what the booking does to each ledger, in the order of Ledgers, without those to which it does nothing.
func (b Booking) Lines() []BookingLine {
	var lines []BookingLine
	for _, ledger := range Ledgers() {
		if amount := b[ledger]; !amount.IsZero() {
			lines = append(lines, BookingLine{ledger, amount})
		}
	}
	return lines
}

// BookingLine is a line of an entry: a debit, or below zero a credit.
type BookingLine struct {
	Ledger Ledger
	Amount decimal.Decimal
}

// Debit is the amount of a debit; nothing of a credit.
func (l BookingLine) Debit() decimal.Decimal { return decimal.Max(l.Amount, decimal.Zero) }

// Credit is the amount of a credit; nothing of a debit.
func (l BookingLine) Credit() decimal.Decimal { return decimal.Max(l.Amount.Neg(), decimal.Zero) }

// Receipt is what reached the bank of what was sent.
type Receipt struct {
	Currency     string
	Amount, Fee  decimal.Decimal
	SentCurrency string
	Sent         decimal.Decimal
}

// Bookings are those of a receipt, by currency: one, or two where it was converted (finance-2).
func (r Receipt) Bookings() map[string]Booking {
	from := LedgerPayouts
	if r.SentCurrency != r.Currency {
		from = LedgerConversion
	}
	arrived := Booking{}
	arrived.book(LedgerBank, from, r.Amount)
	arrived.book(LedgerFees, from, r.Fee)
	all := map[string]Booking{r.Currency: arrived}
	if from == LedgerConversion {
		sent := Booking{}
		sent.book(LedgerConversion, LedgerPayouts, r.Sent)
		all[r.SentCurrency] = sent
	}
	return all
}

// Slug is the event as a part of an identifier: "paid-out".
func (e Event) Slug() string { return strings.ReplaceAll(string(e), " ", "-") }

// OfPayout reports whether entries of the event are made for each payout by itself.
func (e Event) OfPayout() bool {
	return slices.Contains([]Event{PaidOut, PaidAgain, LoweredPaid, RaisedPaid}, e)
}
