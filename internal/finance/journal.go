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
	LedgerAfterPayment Ledger = "after_payment" // what paid transactions are worth minus what was paid for them
	LedgerPayouts      Ledger = "in_transit"    // an asset: paid out, but not at the bank yet
	LedgerBank         Ledger = "bank"          // an asset
	LedgerFees         Ledger = "fees"          // an expense
	LedgerConversion   Ledger = "conversion"    // what was converted to another currency: it balances in neither
	LedgerRounding     Ledger = "rounding"      // what is too small to be booked or sent: an expense or income
	LedgerRevenue      Ledger = "revenue"       // income
)

// Ledgers returns all ledgers, in that order.
func Ledgers() []Ledger {
	return []Ledger{LedgerPending, LedgerConfirmed, LedgerAfterPayment, LedgerPayouts, LedgerBank, LedgerFees,
		LedgerConversion, LedgerRounding, LedgerRevenue}
}

// Booking is an entry of a journal in one currency: the amount that each ledger gets; below zero, what it loses.
// The amounts add up to zero.
type Booking map[Ledger]decimal.Decimal

// book adds an amount to a ledger, and takes it from another one.
func (b Booking) book(to, from Ledger, amount decimal.Decimal) {
	b[to], b[from] = b[to].Add(amount), b[from].Sub(amount)
}

// Add books a step of a change: what it adds to a balance is earned, what it takes away is no longer earned, and what
// is paid out is on its way to the bank.
func (b Booking) Add(s Step) {
	b.book(LedgerPending, LedgerRevenue, s.Pending)
	b.book(LedgerConfirmed, LedgerRevenue, s.Confirmed)
	b.book(LedgerAfterPayment, LedgerRevenue, s.Settled)
	b.book(LedgerPayouts, LedgerRevenue, s.Paid)
}

// Rounded returns the booking in the decimals of its currency. inTransit is what LedgerPayouts gets. What is left is
// rounding.
func (b Booking) Rounded(currency string, inTransit decimal.Decimal) Booking {
	r := Booking{}
	for ledger, amount := range b {
		amount = amount.Round(Digits(currency))
		if ledger == LedgerPayouts {
			amount = inTransit
		}
		r.book(ledger, LedgerRounding, amount)
	}
	return r
}

// RoundingOff returns the booking of an amount that is in transit and will not arrive, because it is too small.
func RoundingOff(amount decimal.Decimal) Booking {
	b := Booking{}
	b.book(LedgerRounding, LedgerPayouts, amount)
	return b
}

// Rounding returns the booking that brings the ledgers of a balance to its rounded amounts. booked is what all bookings
// between opening and closing did.
func Rounding(currency string, opening, closing Balance, booked Booking) Booking {
	r, digits := Booking{}, Digits(currency)
	for ledger, amounts := range map[Ledger][2]decimal.Decimal{LedgerPending: {opening.Pending, closing.Pending},
		LedgerConfirmed: {opening.Confirmed, closing.Confirmed}, LedgerAfterPayment: {opening.Settled, closing.Settled}} {
		r.book(ledger, LedgerRounding, amounts[1].Round(digits).Sub(amounts[0].Round(digits)).Sub(booked[ledger]))
	}
	return r
}

// Reversed returns the booking that undoes this one.
func (b Booking) Reversed() Booking {
	r := Booking{}
	for ledger, amount := range b {
		r[ledger] = amount.Neg()
	}
	return r
}

// Lines returns what the booking does to each ledger, in the order of Ledgers, without the ledgers that do not change.
func (b Booking) Lines() []BookingLine {
	var lines []BookingLine
	for _, ledger := range Ledgers() {
		if amount := b[ledger]; !amount.IsZero() {
			lines = append(lines, BookingLine{ledger, amount})
		}
	}
	return lines
}

// BookingLine is a line of an entry: a debit, or a credit if the amount is below zero.
type BookingLine struct {
	Ledger Ledger
	Amount decimal.Decimal
}

// Debit returns the amount of a debit, zero for a credit.
func (l BookingLine) Debit() decimal.Decimal { return decimal.Max(l.Amount, decimal.Zero) }

// Credit returns the amount of a credit, zero for a debit.
func (l BookingLine) Credit() decimal.Decimal { return decimal.Max(l.Amount.Neg(), decimal.Zero) }

// Receipt says how much of what was sent has reached the bank.
type Receipt struct {
	Currency     string
	Amount, Fee  decimal.Decimal
	SentCurrency string
	Sent         decimal.Decimal
}

// Bookings returns the bookings of a receipt, by currency: one, or two if it was converted (finance-2).
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

// Slug returns the event as a part of an identifier: "paid-out".
func (e Event) Slug() string { return strings.ReplaceAll(string(e), " ", "-") }

// OfPayout reports whether entries of the event are made for each payout by itself.
func (e Event) OfPayout() bool {
	return slices.Contains([]Event{PaidOut, PaidAgain, LoweredPaid, RaisedPaid}, e)
}
