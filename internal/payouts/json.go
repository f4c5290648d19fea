package payouts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"dealhouse/internal/finance"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// The shapes of the JSON report. Amounts are JSON numbers with all their digits.
type (
	document struct {
		MadeAt       time.Time           `json:"made_at"`
		Summary      string              `json:"summary"`
		NeedsWork    bool                `json:"needs_work"`
		Payouts      []payoutObject      `json:"payouts"`
		Orphans      []orphanObject      `json:"orphans"`
		Overdue      []overdueObject     `json:"overdue"`
		Transactions []transactionObject `json:"transactions,omitempty"`
	}
	payoutObject struct {
		Account       string                 `json:"account"`
		PayoutID      int64                  `json:"payout_id"`
		StartDate     *time.Time             `json:"start_date"`
		EndDate       *time.Time             `json:"end_date"`
		Verdict       string                 `json:"verdict"`
		WhatToDo      string                 `json:"what_to_do"`
		Mismatches    []string               `json:"mismatches"`
		Currencies    []string               `json:"currencies"`
		MixedCurrency bool                   `json:"mixed_currency"`
		Altered       bool                   `json:"altered"`
		AlteredAt     *time.Time             `json:"altered_at"`
		Alterations   []alteration           `json:"alterations"`
		CompleteTo    *time.Time             `json:"complete_to"`
		Loaded        uint64                 `json:"transactions_loaded"`
		Changed       uint64                 `json:"transactions_changed"`
		Moved         uint64                 `json:"transactions_moved"`
		Gone          uint64                 `json:"transactions_gone"`
		Late          uint64                 `json:"transactions_late"`
		AtStake       json.Number            `json:"at_stake"`
		AtStakeBy     map[string]json.Number `json:"at_stake_by"`
		Reported      map[string]any         `json:"reported"`
		Stamped       map[string]any         `json:"as_stamped"`
		AsOfNow       map[string]any         `json:"as_of_now"`
		Difference    map[string]any         `json:"difference"`
		Lines         []lineObject           `json:"lines"`
		Exceptions    []exceptionObject      `json:"exceptions"`
		Matters       []matterObject         `json:"matters"`
	}
	matterObject struct {
		Kind     string      `json:"kind"`
		Currency string      `json:"currency"`
		Amount   json.Number `json:"amount"`
		Open     bool        `json:"open"`
		Within   bool        `json:"within_tolerance"`
		By       string      `json:"acknowledged_by"`
		At       *time.Time  `json:"acknowledged_at"`
		Reason   string      `json:"reason"`
		Note     string      `json:"note"`
		Moved    json.Number `json:"moved_since"`
	}
	// lineObject is what was paid in one currency and what that is worth now. The five kinds add up to paid minus
	// worth_now.
	lineObject struct {
		Currency string      `json:"currency"`
		Paid     json.Number `json:"paid"`
		Worth    json.Number `json:"worth_now"`
		Clawback json.Number `json:"expected_clawback"`
		Claim    json.Number `json:"claimable"`
		Error    json.Number `json:"payout_error"`
		Lacking  json.Number `json:"not_loaded"`
		Vanished json.Number `json:"vanished"`
	}
	exceptionObject struct {
		ID       uuid.UUID   `json:"id"`
		Kind     string      `json:"kind"`
		Reason   string      `json:"reason"`
		Currency string      `json:"currency"`
		WhenPaid string      `json:"status_when_paid"`
		Status   string      `json:"status"`
		Paid     json.Number `json:"paid"`
		Worth    json.Number `json:"worth_now"`
	}
	alteration struct {
		Column string `json:"column"`
		Before string `json:"before"`
		After  string `json:"after"`
	}
	orphanObject struct {
		Account      string      `json:"account"`
		PayoutID     int64       `json:"payout_id"`
		Currency     string      `json:"currency"`
		Transactions uint64      `json:"transactions"`
		Cashback     json.Number `json:"cashback"`
		WasListed    bool        `json:"was_listed"`
		Certain      bool        `json:"certain"`
		WhatToDo     string      `json:"what_to_do"`
	}
	overdueObject struct {
		Account      string      `json:"account"`
		Month        string      `json:"month"`
		Currency     string      `json:"currency"`
		Transactions uint64      `json:"transactions"`
		Cashback     json.Number `json:"cashback"`
		OldestSale   time.Time   `json:"oldest_sale"`
		WhatToDo     string      `json:"what_to_do"`
	}
	transactionObject struct {
		ID                uuid.UUID   `json:"id"`
		Account           string      `json:"account"`
		PayoutID          int64       `json:"payout_id"`
		SoldAt            *time.Time  `json:"sold_at"`
		Retailer          string      `json:"retailer"`
		Currency          string      `json:"currency"`
		State             string      `json:"state"`
		WhenPaid          string      `json:"status_when_paid"`
		StampedStatus     string      `json:"stamped_status"`
		StampedOrderValue any         `json:"stamped_order_value"`
		StampedCashback   any         `json:"stamped_cashback"`
		StampedAt         *time.Time  `json:"stamped_at"`
		FirstKnown        bool        `json:"stamped_is_first_known"`
		Status            string      `json:"status"`
		OrderValue        any         `json:"order_value"`
		Cashback          any         `json:"cashback"`
		PayoutNow         *int64      `json:"payout_id_now"`
		ChangedAt         *time.Time  `json:"changed_at"`
		AtStake           json.Number `json:"at_stake"`
	}
)

// WriteJSON writes one object with payouts, orphans and overdue, and with the transactions if one payout was requested.
func (r Reconciliation) WriteJSON(w io.Writer) error {
	d := document{MadeAt: r.MadeAt, Summary: r.Summary(), NeedsWork: r.NeedsWork(), Payouts: []payoutObject{},
		Orphans: []orphanObject{}, Overdue: []overdueObject{}}
	for _, p := range r.Payouts {
		d.Payouts = append(d.Payouts, p.object())
	}
	for _, o := range r.Orphans {
		d.Orphans = append(d.Orphans, orphanObject{o.Account, o.Payout, o.Currency, o.Transactions, number(o.Cashback),
			o.WasListed, o.Certain, OrphanAdvice(o)})
	}
	for _, o := range r.Overdue {
		d.Overdue = append(d.Overdue, overdueObject{o.Account, o.Month, o.Currency, o.Transactions, number(o.Cashback),
			o.OldestSale.UTC(), r.OverdueAdvice(o)})
	}
	for _, t := range r.Transactions {
		d.Transactions = append(d.Transactions,
			transactionObject{t.ID, t.Account, t.Payout, t.SoldAt, t.Retailer, t.Currency, t.State, r.Payout(t).WhenPaid(t),
				t.StampedStatus,
				optional("", t.StampedOrderValue), optional("", t.StampedCashback), t.StampedAt, t.FirstKnown, t.Status,
				optional("", t.OrderValue),
				optional("", t.Cashback), t.PayoutNow, t.ChangedAt, number(t.AtStake)})
	}
	return writeObject(w, d, "report")
}

// writeObject writes a document that is safe to show in a terminal. what names it in an error.
func writeObject(w io.Writer, o any, what string) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(o)
	if err == nil {
		_, err = w.Write(term.JSON(text.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("writing the %s as JSON: %w", what, err)
	}
	return nil
}

func (p Payout) object() payoutObject {
	o := payoutObject{Account: p.Account, PayoutID: p.ID, StartDate: p.Start, EndDate: p.End, Verdict: p.Verdict,
		WhatToDo: p.Advice(), Mismatches: orEmpty(p.Mismatches),
		Currencies: orEmpty(p.Currencies), MixedCurrency: p.MixedCurrency, Altered: p.Altered, AlteredAt: p.AlteredAt,
		Alterations: []alteration{}, CompleteTo: p.CompleteTo,
		Loaded: p.Loaded, Changed: p.Changed, Moved: p.Moved, Gone: p.Gone, Late: p.Late, AtStake: number(p.AtStake),
		AtStakeBy: map[string]json.Number{},
		Reported:  totalsObject(p.Reported), Stamped: totalsObject(p.Stamped), AsOfNow: totalsObject(p.AsOfNow),
		Difference: totalsObject(p.Difference)}
	o.Lines, o.Exceptions = []lineObject{}, []exceptionObject{}
	for _, l := range p.Explained.Lines {
		n := func(d decimal.Decimal) json.Number { return json.Number(MoneyIn(l.Currency, d)) }
		o.Lines = append(o.Lines, lineObject{l.Currency, n(l.Paid), n(l.Worth), n(l.Sum(finance.Clawback)),
			n(l.Sum(finance.Claimable)), n(l.Sum(finance.PayoutError)),
			n(l.Sum(finance.NotLoaded)), n(l.Sum(finance.Vanished))})
	}
	for _, e := range p.Exceptions() {
		o.Exceptions = append(o.Exceptions, exceptionObject{e.ID, string(e.Kind), string(e.Reason), e.Currency, e.WhenPaid,
			e.Status,
			json.Number(MoneyIn(e.Currency, e.Paid)), json.Number(MoneyIn(e.Currency, e.Worth))})
	}
	o.Matters = []matterObject{}
	for _, m := range p.Matters {
		of := matterObject{Kind: m.Kind, Currency: m.Currency, Amount: json.Number(MoneyIn(m.Currency, m.Amount())),
			Open: m.Open, Within: m.Within, Moved: json.Number(MoneyIn(m.Currency, m.Moved))}
		if a := m.Acknowledged; a != nil {
			of.By, of.At, of.Reason, of.Note = a.By, &a.At, a.Reason, a.Note
		}
		o.Matters = append(o.Matters, of)
	}
	for i, state := range warehouse.StakeStates() {
		o.AtStakeBy[state] = number(p.AtStakeBy[i])
	}
	for i, name := range p.AlteredColumns {
		o.Alterations = append(o.Alterations, alteration{name, p.AlteredBefore[i], p.AlteredAfter[i]})
	}
	return o
}

func totalsObject(totals []*decimal.Decimal) map[string]any {
	all := map[string]any{}
	for i, name := range warehouse.PayoutTotals() {
		all[name] = optional(name, totals[i])
	}
	return all
}

func number(d decimal.Decimal) json.Number { return json.Number(Money(d)) }

// optional returns null if the amount is not known.
func optional(name string, d *decimal.Decimal) any {
	if d == nil {
		return nil
	}
	return json.Number(Amount(name, d))
}

func orEmpty(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}
