package payouts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/finance"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// Codes are the account codes of the user's chart of accounts.
type Codes map[finance.Ledger]string

// Journal has the entries of a month for the books.
type Journal struct {
	Account string
	Month   time.Time
	Draft   bool // the month is open: a later journal of it may differ
	Entries []Entry
	codes   Codes
}

// Entry is a journal entry, in one currency. Its debits equal its credits exactly.
type Entry struct {
	ID        string // the same whenever the journal is made
	Date      time.Time
	Currency  string
	Reference string // a payout, a month that was closed, or the reference of a settlement
	Text      string
	Booking   finance.Booking
	paid      map[int64]decimal.Decimal // what it pays out, by payout
}

// Errors of NewJournal.
var (
	// ErrMonthDraft says that a month is open, so that its journal is a draft.
	ErrMonthDraft = errors.New("the month is not closed, so its journal may still change")
	// ErrMonthDiffers says that the figures of a closed month differ from those it was closed with.
	ErrMonthDiffers = errors.New("the figures of the month differ from those it was closed with")
)

// NewJournal makes the journal of a month from the changes of transactions in its statement and from what reached the
// bank. A change that belongs to a month closed earlier, and was seen in this month, is an adjustment of this month (a
// closed month does not change). Only the journal of a closed month is final. draft also allows an open month; its
// entries have other identifiers.
func NewJournal(ctx context.Context, w *warehouse.Warehouse, account string, month time.Time, codes Codes,
	draft bool) (Journal, error) {
	j := Journal{Account: account, Month: month, codes: codes}
	closes, err := w.Closes(ctx, account)
	if err != nil {
		return j, err
	}
	s, err := newStatement(ctx, w, account, month, closes)
	switch {
	case err != nil:
		return j, err
	case s.Close == nil && !draft:
		return j, fmt.Errorf("%w: close it with `dealhouse reconcile close --month %s`, or print a draft with --draft",
			ErrMonthDraft, month.Format("2006-01"))
	case s.Close != nil && s.Hash() != s.Close.Hash:
		return j, fmt.Errorf("%w: %s", ErrMonthDiffers, s.Note())
	}
	j.Draft = s.Close == nil
	changes, err := w.Changes(ctx, account, month, month.AddDate(0, 1, 0), closes)
	if err != nil {
		return j, err
	}
	revisions, err := w.SettlementRevisions(ctx, account)
	if err != nil {
		return j, err
	}
	matches, err := w.SettlementMatches(ctx, account)
	if err != nil {
		return j, err
	}
	j.Entries = j.ofChanges(changes)
	if err := j.round(ctx, w, s, closes); err != nil {
		return j, err
	}
	j.Entries = slices.Concat(j.Entries, j.ofSettlements(revisions, closes), j.ofRounding(matches, revisions, closes))
	slices.SortFunc(j.Entries, func(a, b Entry) int { return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(a.ID, b.ID)) })
	return j, nil
}

// id returns the identifier of an entry.
func (j Journal) id(parts ...string) string {
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	all := append([]string{j.Account}, parts...)
	if j.Draft {
		all = append([]string{"draft"}, all...)
	}
	return strings.Join(all, "/")
}

// ofChanges returns the entries of what happened to transactions: one for each event and currency and, for
// paid transactions, payout.
func (j Journal) ofChanges(changes []warehouse.Change) []Entry {
	all := map[string]*Entry{}
	month, last := j.Month.Format("2006-01"), j.Month.AddDate(0, 1, -1)
	for _, c := range changes {
		for _, step := range changeOf(c.ChangeSum).Steps() {
			e := Entry{Date: last, Currency: c.Currency, Reference: month, Text: string(step.Event)}
			event := step.Event
			switch {
			case c.Late:
				event, e.Reference = finance.Adjustment, c.At.UTC().Format("2006-01")
				e.Text = "adjustment of " + e.Reference
			case event.OfPayout() && c.Payout != nil:
				e.Reference = fmt.Sprintf("payout %d", *c.Payout)
			}
			if event == finance.PaidOut {
				e.Date = day(c.At)
			}
			e.ID = j.id(month, cmp.Or(c.Currency, "-"), event.Slug(), strings.ReplaceAll(e.Reference, " ", "-"))
			if all[e.ID] == nil {
				e.Booking, e.paid = finance.Booking{}, map[int64]decimal.Decimal{}
				all[e.ID] = &e
			}
			kept := all[e.ID]
			kept.Booking.Add(step)
			if c.Payout != nil && !step.Paid.IsZero() {
				kept.paid[*c.Payout] = kept.paid[*c.Payout].Add(step.Paid)
			}
			if e.Date.Before(kept.Date) {
				kept.Date = e.Date
			}
		}
	}
	var entries []Entry
	for _, e := range all {
		if len(e.Booking.Lines()) > 0 {
			entries = append(entries, *e)
		}
	}
	return entries
}

// round brings the entries to the decimals of their currencies. What is in transit for a payout is always what can be
// paid of it, however many entries it has, and at the end of the month the ledgers have the balances of the statement,
// rounded.
func (j *Journal) round(ctx context.Context, w *warehouse.Warehouse, s Statement, closes []warehouse.Close) error {
	var payouts []int64
	for _, e := range j.Entries {
		payouts = slices.AppendSeq(payouts, maps.Keys(e.paid))
	}
	before, err := w.PaidBefore(ctx, j.Account, payouts, j.Month, closes)
	if err != nil {
		return err
	}
	paid := map[warehouse.PayoutCurrency]decimal.Decimal{}
	for _, p := range before {
		paid[p.PayoutCurrency] = p.Paid
	}
	slices.SortFunc(j.Entries, func(a, b Entry) int { return cmp.Compare(a.ID, b.ID) })
	booked := map[string]finance.Booking{}
	for i, e := range j.Entries {
		inTransit := decimal.Zero
		for id, amount := range e.paid {
			of := warehouse.PayoutCurrency{Payout: id, Currency: e.Currency}
			after := paid[of].Add(amount)
			inTransit = inTransit.Add(finance.Payable(after, e.Currency)).Sub(finance.Payable(paid[of], e.Currency))
			paid[of] = after
		}
		j.Entries[i].Booking = e.Booking.Rounded(e.Currency, inTransit)
		if booked[e.Currency] == nil {
			booked[e.Currency] = finance.Booking{}
		}
		for ledger, amount := range j.Entries[i].Booking {
			booked[e.Currency][ledger] = booked[e.Currency][ledger].Add(amount)
		}
	}
	for _, c := range s.Currencies {
		month := j.Month.Format("2006-01")
		j.Entries = append(j.Entries, Entry{ID: j.id(month, cmp.Or(c.Currency, "-"), "rounding"),
			Date: j.Month.AddDate(0, 1, -1), Currency: c.Currency, Reference: month, Text: "rounding",
			Booking: finance.Rounding(c.Currency, c.Opening, c.Closing, booked[c.Currency])})
	}
	j.Entries = slices.DeleteFunc(j.Entries, func(e Entry) bool { return len(e.Booking.Lines()) == 0 })
	return nil
}

func day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// booked returns the day on which a settlement is booked: the day on which it was received, unless that month or a
// later one was closed by the time of the import. Then it is the day of the import, which is after all closed months.
func booked(on, imported time.Time, closes []warehouse.Close) time.Time {
	at := day(on)
	for _, c := range closes { // the first month first
		if end := c.Month.AddDate(0, 1, 0); at.Before(end) && !imported.Before(c.ClosedAt) {
			at = later(day(imported), end)
		}
	}
	return at
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// ofSettlements returns the entries of what reached the bank. A correction takes back what was
// booked, and books it again.
func (j Journal) ofSettlements(revisions []warehouse.SettlementRevision, closes []warehouse.Close) []Entry {
	warehouse.SortRevisions(revisions)
	var entries []Entry
	var on time.Time // when the revision before was booked
	for i, r := range revisions {
		if i > 0 && revisions[i-1].Reference == r.Reference {
			before := revisions[i-1]
			back := booked(on, r.At, closes)
			entries = append(entries, j.ofRevision(before, back, true)...)
		}
		on = booked(r.ReceivedOn, r.At, closes)
		entries = append(entries, j.ofRevision(r, on, false)...)
	}
	return j.inMonth(entries)
}

func (j Journal) inMonth(entries []Entry) []Entry {
	return slices.DeleteFunc(entries, func(e Entry) bool {
		return e.Date.Before(j.Month) || !e.Date.Before(j.Month.AddDate(0, 1, 0))
	})
}

// ofRounding returns the entries of the rounding of payouts of which all has arrived: what is in transit for them then
// becomes zero. A settlement that is matched in another way has a further entry, with the difference.
func (j Journal) ofRounding(matches []warehouse.SettlementMatch, revisions []warehouse.SettlementRevision,
	closes []warehouse.Close) []Entry {
	var entries []Entry
	before := map[string]map[string]decimal.Decimal{} // by settlement and currency
	for _, m := range matches {
		i := slices.IndexFunc(revisions, func(r warehouse.SettlementRevision) bool {
			return r.Reference == m.Reference && r.Revision == m.Revision && r.Hash == m.Hash
		})
		if i < 0 {
			continue
		}
		if before[m.Reference] == nil {
			before[m.Reference] = map[string]decimal.Decimal{}
		}
		was := before[m.Reference]
		if _, known := was[revisions[i].PayoutCurrency]; !known { // it may be in another currency than before
			was[revisions[i].PayoutCurrency] = decimal.Zero
		}
		for currency := range was {
			now := decimal.Zero
			if currency == revisions[i].PayoutCurrency {
				now = decimal.Sum(decimal.Zero, m.Rounding...)
			}
			e := Entry{ID: j.id("settlement-rounding", m.Reference, fmt.Sprint(m.At.UnixMilli()), currency), Currency: currency,
				Date: booked(revisions[i].ReceivedOn, m.At, closes), Reference: m.Reference, Text: "rounding, payout " +
					strings.Join(ids(m.Payouts), " "), Booking: finance.RoundingOff(now.Sub(was[currency]))}
			if len(e.Booking.Lines()) > 0 {
				entries = append(entries, e)
			}
			was[currency] = now
		}
	}
	return j.inMonth(entries)
}

func (j Journal) ofRevision(r warehouse.SettlementRevision, on time.Time, reversed bool) []Entry {
	var entries []Entry
	receipt := finance.Receipt{Currency: r.Currency, Amount: r.Amount, Fee: r.Fee, SentCurrency: r.PayoutCurrency,
		Sent: r.PayoutAmount}
	for currency, booking := range receipt.Bookings() {
		e := Entry{Date: on, Currency: currency, Reference: r.Reference, Text: "received", Booking: booking}
		kind := "settlement"
		if reversed {
			kind, e.Text, e.Booking = "settlement-reversed", "correction: taken back", booking.Reversed()
		} else if r.Revision > 1 {
			e.Text = "correction"
		}
		if len(r.Payouts) > 0 {
			e.Text += ", payout " + strings.Join(ids(r.Payouts), " ")
		}
		e.ID = j.id(kind, r.Reference, fmt.Sprint(r.Revision), r.Hash[:8], currency)
		if len(e.Booking.Lines()) > 0 {
			entries = append(entries, e)
		}
	}
	return entries
}

// Line is a line of the journal.
type Line struct {
	Entry
	Number int // in its entry, from 1
	Code   string
	finance.BookingLine
}

// Lines returns the lines of all entries.
func (j Journal) Lines() []Line {
	var lines []Line
	for _, e := range j.Entries {
		for i, l := range e.Booking.Lines() {
			lines = append(lines, Line{e, i + 1, j.codes[l.Ledger], l})
		}
	}
	return lines
}

// cell returns an amount of a line; empty if it is zero.
func (l Line) cell(amount decimal.Decimal) string {
	if amount.IsZero() {
		return ""
	}
	return MoneyIn(l.Currency, amount)
}

// DebitCell returns the debit as a plain number; empty for a credit.
func (l Line) DebitCell() string { return l.cell(l.Debit()) }

// CreditCell returns the credit as a plain number; empty for a debit.
func (l Line) CreditCell() string { return l.cell(l.Credit()) }

// Note says what to know about the journal.
func (j Journal) Note() string {
	if j.Draft {
		return "This is a draft: the month is not closed. Its entries have other identifiers than those of the closed month."
	}
	return "The month is closed: this journal is the same whenever it is made. An entry that was imported before has the same identifier."
}

// WriteCSV writes the lines, one row per line.
func (j Journal) WriteCSV(w io.Writer) error {
	records := [][]string{strings.Fields("entry_id line date account_code debit credit currency reference text account month state")}
	for _, l := range j.Lines() {
		records = append(records, []string{term.Cell(l.ID), fmt.Sprint(l.Number), l.Date.Format(time.DateOnly),
			term.Cell(l.Code), l.DebitCell(), l.CreditCell(), term.Cell(l.Currency),
			term.Cell(l.Reference), term.Cell(l.Text), term.Cell(j.Account), j.Month.Format("2006-01"), j.state()})
	}
	return writeRecords(w, records)
}

func (j Journal) state() string {
	if j.Draft {
		return "draft"
	}
	return "closed"
}

// WriteJSON writes the journal as one object. Amounts are JSON numbers with all their digits.
func (j Journal) WriteJSON(w io.Writer) error {
	type object map[string]any
	lines := []object{}
	for _, l := range j.Lines() {
		n := func(d decimal.Decimal) json.Number { return json.Number(MoneyIn(l.Currency, d)) }
		lines = append(lines, object{"entry_id": l.ID, "line": l.Number, "date": l.Date.Format(time.DateOnly),
			"account_code": l.Code, "debit": n(l.Debit()), "credit": n(l.Credit()),
			"currency": l.Currency, "reference": l.Reference, "text": l.Text})
	}
	return writeObject(w, object{"account": j.Account, "month": j.Month.Format("2006-01"), "state": j.state(),
		"note": j.Note(), "lines": lines}, "report")
}
