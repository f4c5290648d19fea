package finance

import (
	"slices"

	"github.com/shopspring/decimal"
)

// Balance is what is owed to the account in one currency: the unpaid cashback by status, and the worth of paid
// transactions minus what was paid for them.
type Balance struct{ Pending, Confirmed, Settled decimal.Decimal }

// Total returns the sum of all parts.
func (b Balance) Total() decimal.Decimal { return b.Pending.Add(b.Confirmed).Add(b.Settled) }

// Unpaid returns the cashback that is in no payout.
func (b Balance) Unpaid() decimal.Decimal { return b.Pending.Add(b.Confirmed) }

// Add returns the sum of two balances.
func (b Balance) Add(o Balance) Balance {
	return Balance{b.Pending.Add(o.Pending), b.Confirmed.Add(o.Confirmed), b.Settled.Add(o.Settled)}
}

func (b Balance) sub(o Balance) Balance {
	return Balance{b.Pending.Sub(o.Pending), b.Confirmed.Sub(o.Confirmed), b.Settled.Sub(o.Settled)}
}

// Equal reports whether all parts are the same.
func (b Balance) Equal(o Balance) bool {
	d := b.sub(o)
	return d.Pending.IsZero() && d.Confirmed.IsZero() && d.Settled.IsZero()
}

// Event is a line of a statement: something that happened to transactions.
type Event string

// The events, in the order of a statement.
const (
	Sold          Event = "sold"
	Raised        Event = "raised"            // its cashback, before it was paid
	Lowered       Event = "lowered"           // its cashback, before it was paid
	Confirmation  Event = "confirmed"         // from pending: the sum stays
	Reopening     Event = "pending again"     // from confirmed
	Decline       Event = "declined"          // before it was paid
	Acceptance    Event = "accepted again"    // after it was declined, before it was paid
	PaidOut       Event = "paid out"          // it is in a payout
	PaidAgain     Event = "paid again"        // in another payout, while it was in one
	LeftItsPayout Event = "left its payout"   // it is in none any more
	LoweredPaid   Event = "clawback expected" // declined or lowered after it was paid
	RaisedPaid    Event = "claimable"         // raised or accepted again after it was paid
	Disappearance Event = "no longer listed"  // by the service
	Reappearance  Event = "listed again"      // by the service
	Adjustment    Event = "adjusted"          // of a month that was closed before it was seen
)

// Events returns all events, in that order.
func Events() []Event {
	return []Event{Adjustment, Sold, Raised, Lowered, Confirmation, Reopening, Decline, Acceptance, PaidOut, PaidAgain,
		LeftItsPayout, LoweredPaid, RaisedPaid, Disappearance, Reappearance}
}

// Change sums up transactions that changed in the same way: their number and the sums of their cashback.
type Change struct {
	Sale                      bool   // it was sold: there was nothing before
	Before, After             string // status
	InPayout, IntoPayout      bool   // before and after
	SamePayout                bool   // it is the same one
	FirstPaid                 bool   // it was never in that payout before
	ListedBefore, ListedAfter bool
	Count                     int64
	CashbackBefore, Cashback  decimal.Decimal // all are raised, or all lowered, or all the same
}

// at is the state of transactions during a change.
type at struct {
	status   string
	cashback decimal.Decimal
	paid     bool
	listed   bool
}

func (a at) balance() Balance {
	worth := Standing{Status: a.status, Cashback: a.cashback}.Worth()
	switch {
	case !a.listed:
		return Balance{}
	case a.paid:
		return Balance{Settled: worth}
	case a.status == Confirmed:
		return Balance{Confirmed: worth}
	}
	return Balance{Pending: worth}
}

// Step is a part of a change: one event, and what it adds to the balance.
type Step struct {
	Event Event
	Balance
	Paid decimal.Decimal // of PaidOut and PaidAgain: how much
}

// Steps splits a change into steps: first the amount changes, then the status, then the payout.
func (c Change) Steps() []Step {
	var steps []Step
	now := at{c.Before, c.CashbackBefore, c.InPayout, c.ListedBefore}
	to := func(event Event, next at) {
		if by := next.balance().sub(now.balance()); !by.Equal(Balance{}) {
			steps = append(steps, Step{Event: event, Balance: by})
		}
		now = next
	}
	if c.Sale {
		to(Sold, at{c.After, c.Cashback, false, true})
		return steps
	}
	if c.ListedAfter && !c.ListedBefore {
		to(Reappearance, at{now.status, now.cashback, now.paid, true})
	}
	if c.Before != Declined && c.After != Declined {
		event := pick(c.Cashback.LessThan(c.CashbackBefore), Lowered, Raised)
		if now.paid {
			event = pick(c.Cashback.LessThan(c.CashbackBefore), LoweredPaid, RaisedPaid)
		}
		to(event, at{now.status, c.Cashback, now.paid, now.listed})
	} else if c.Before == Declined {
		now.cashback = c.Cashback // the new cashback counts from when it is accepted
	}
	to(c.turn(now), at{c.After, now.cashback, now.paid, now.listed})
	now.cashback = c.Cashback
	steps = append(steps, c.pay(&now)...)
	to(Disappearance, at{now.status, now.cashback, now.paid, c.ListedAfter})
	return steps
}

// turn returns the event of a changed status.
func (c Change) turn(now at) Event {
	switch {
	case now.paid:
		return pick(c.After == Declined, LoweredPaid, RaisedPaid)
	case c.After == Declined:
		return Decline
	case c.Before == Declined:
		return Acceptance
	}
	return pick(c.After == Confirmed, Confirmation, Reopening)
}

func pick(yes bool, one, other Event) Event {
	if yes {
		return one
	}
	return other
}

// pay lets the transactions enter or leave a payout. If they enter one for the first time, they are paid
// what they are worth then.
func (c Change) pay(now *at) []Step {
	if c.InPayout == c.IntoPayout && (c.SamePayout || !c.InPayout) {
		return nil
	}
	next := *now
	next.paid = c.IntoPayout
	s := Step{Event: LeftItsPayout, Balance: next.balance().sub(now.balance())}
	if c.IntoPayout {
		s.Event = pick(c.InPayout, PaidAgain, PaidOut)
	}
	if c.IntoPayout && c.FirstPaid && now.listed {
		s.Paid = Standing{Status: now.status, Cashback: now.cashback}.Worth()
		s.Settled = s.Settled.Sub(s.Paid)
	}
	*now = next
	if s.Equal(Balance{}) && s.Paid.IsZero() {
		return nil
	}
	return []Step{s}
}

// Entry is a line of a statement.
type Entry struct {
	Event Event
	Count int64
	Balance
	Paid decimal.Decimal
}

// Statement is what happened in a month, in one currency. It balances: opening, with the entries, is closing.
type Statement struct {
	Opening, Closing Balance
	Entries          []Entry // in the order of Events; without events that did not happen
}

// NewStatement adds up a month. before has the changes until its beginning, within those of the month, and late those
// of closed months that were seen in this month.
func NewStatement(before, within, late []Change) Statement {
	var s Statement
	for _, c := range before {
		for _, step := range c.Steps() {
			s.Opening = s.Opening.Add(step.Balance)
		}
	}
	s.Closing = s.Opening
	entries := map[Event]Entry{}
	add := func(event Event, c Change, step Step) {
		e := entries[event]
		e.Event, e.Count, e.Balance, e.Paid = event, e.Count+c.Count, e.Add(step.Balance), e.Paid.Add(step.Paid)
		entries[event] = e
		s.Closing = s.Closing.Add(step.Balance)
	}
	for _, c := range within {
		count := c.Count
		var counted []Event // a change may have several steps of one event, but counts once
		for _, step := range c.Steps() {
			if c.Count = count; slices.Contains(counted, step.Event) {
				c.Count = 0
			}
			add(step.Event, c, step)
			counted = append(counted, step.Event)
		}
	}
	for _, c := range late {
		for _, step := range c.Steps() {
			add(Adjustment, c, step)
			c.Count = 0 // once is enough
		}
	}
	for _, event := range Events() {
		if e, ok := entries[event]; ok {
			s.Entries = append(s.Entries, e)
		}
	}
	return s
}
