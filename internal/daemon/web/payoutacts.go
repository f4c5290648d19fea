package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"dealhouse/internal/catalog"
	"dealhouse/internal/payouts"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// rules returns the rules of the reconciliation from the configuration in force.
func (a *answers) rules() payouts.Filter {
	return payouts.Filter{OverdueAfter: a.o.OverdueAfter(), Tolerances: a.o.Tolerances()}
}

// payoutRequest has the parts of a request that only actions about payouts have.
type payoutRequest struct {
	PayoutID  json.Number `json:"payout_id"`
	Kind      string      `json:"kind"`
	Currency  string      `json:"currency"`
	Code      string      `json:"code"`
	Tolerance json.Number `json:"tolerance"`
	Month     string      `json:"month"`
	Seen      string      `json:"seen"`
}

// payoutRequestOf reads a request from a form. The field matter is the kind, and the currency if there is one.
func payoutRequestOf(form url.Values) payoutRequest {
	q := payoutRequest{PayoutID: json.Number(form.Get("payout_id")), Code: form.Get("code"),
		Tolerance: json.Number(form.Get("tolerance")), Month: form.Get("month"), Seen: form.Get("seen")}
	q.Kind, q.Currency, _ = strings.Cut(form.Get("matter"), " ")
	return q
}

// aboutPayouts reports whether an action is about payouts. Such an action needs only the warehouse, not the daemon.
func aboutPayouts(action string) bool {
	return action == warehouse.ActionAcknowledge || action == warehouse.ActionCloseMonth
}

// actOnPayouts writes what an operator requests, as `dealhouse reconcile` does, and then records the action. If
// recording fails, repeating the request does no harm: there is nothing left to do, or the state is no longer the
// one that the operator saw.
func (op *operator) actOnPayouts(ctx context.Context, q actionRequest, a warehouse.Action) (Acted, error) {
	op.accounting.Lock()
	defer op.accounting.Unlock()
	do, about := op.closeMonth, "month "+q.Month
	if a.Action == warehouse.ActionAcknowledge {
		do, about = op.acknowledge, q.about()
	}
	a.Stream = catalog.Payouts().Name
	a.Reason = strings.TrimSuffix(about+": "+q.Reason, ": ")
	if a.Key != "" {
		earlier, err := op.o.Warehouse.EarlierAction(ctx, a)
		if err != nil || earlier != nil {
			return Again(earlier), err
		}
	}
	acted, err := do(ctx, q)
	acted.Action = a
	if err != nil || !acted.Done {
		return acted, err
	}
	op.answers.payouts.outdate(struct{}{})
	if acted.Action, err = op.o.Warehouse.RecordAction(ctx, a); err != nil {
		return acted, err
	}
	op.log.Info("an operator has acted", "action", a.Action, "actor", a.Actor, "via", a.Via, "account", a.Account, "reason",
		a.Reason)
	return acted, nil
}

// about returns an acknowledgement in one line.
func (q payoutRequest) about() string {
	text := fmt.Sprintf("payout %s as %s", q.PayoutID, term.Spaced(q.Code))
	if q.Kind != "" {
		text += ", " + strings.TrimSpace(term.Spaced(q.Kind)+" "+q.Currency)
	}
	if q.Tolerance != "" && q.Tolerance != "0" {
		text += ", tolerance " + string(q.Tolerance)
	}
	return text
}

func (op *operator) acknowledge(ctx context.Context, q actionRequest) (acted Acted, err error) {
	ask := payouts.Acknowledging{Account: q.Account, Kind: q.Kind, Currency: q.Currency, Reason: q.Code, Note: q.Reason,
		By: op.o.User, Seen: q.Seen, Rules: op.answers.rules()}
	switch {
	case q.RunID != "" || q.Month != "":
		return acted, badRequest("run_id, month: an acknowledgement is about a payout")
	case q.Tolerance == "":
		q.Tolerance = "0"
	}
	if ask.Payout, err = strconv.ParseInt(string(q.PayoutID), 10, 64); err != nil {
		return acted, badRequest("payout_id: want the number of a payout")
	}
	if ask.Tolerance, err = strconv.ParseInt(string(q.Tolerance), 10, 64); err != nil {
		return acted, badRequest("tolerance: want a number of the smallest units of the currency")
	}
	all, err := payouts.Acknowledge(ctx, op.o.Warehouse, ask)
	op.answers.onePayout.outdate(payoutKey{q.Account, ask.Payout})
	if refused, ok := errors.AsType[*payouts.RefusedError](err); ok {
		if refused.Why == payouts.NothingOpen {
			return Acted{Text: term.Sentence(refused.Reason)}, nil
		}
		return acted, whyRefused(refused)
	}
	if err != nil {
		return acted, err
	}
	var what []string
	for _, k := range all {
		what = append(what, payouts.Acknowledged(k))
	}
	return Acted{Done: true, Text: fmt.Sprintf("Payout %d is acknowledged as %s: %s. It stays quiet until its amounts change.",
		ask.Payout, term.Spaced(q.Code), term.List(what))}, nil
}

func (op *operator) closeMonth(ctx context.Context, q actionRequest) (acted Acted, err error) {
	only := payoutRequest{Month: q.Month, Seen: q.Seen}
	if q.payoutRequest != only || q.RunID != "" {
		return acted, badRequest("close_month takes account, month, seen and reason")
	}
	month, err := payouts.ParseMonth(q.Month)
	if err == nil && !op.answers.knowsAccount(ctx, q.Account) {
		return acted, &RefusalError{Unknown: true, Reason: "there is no account " + q.Account}
	}
	var statement payouts.Statement
	if err == nil {
		statement, err = payouts.CloseAsSeen(ctx, op.o.Warehouse, q.Account, month, op.o.User, q.Reason, q.Seen)
		op.answers.statements.outdate(statementKey{q.Account, month})
	}
	if refused, ok := errors.AsType[*payouts.RefusedError](err); ok {
		return acted, whyRefused(refused)
	}
	switch {
	case errors.Is(err, payouts.ErrMonthClosed):
		closes, failed := op.o.Warehouse.Closes(ctx, q.Account)
		i := slices.IndexFunc(closes, func(c warehouse.Close) bool { return c.Month.Equal(month) })
		if failed == nil && i >= 0 {
			return Acted{Text: fmt.Sprintf("%s of %s is closed already, by %s.", q.Month, q.Account, closes[i].By)}, nil
		}
		return acted, &RefusalError{Reason: err.Error()}
	case errors.Is(err, payouts.ErrMonthOpen):
		return acted, &RefusalError{Reason: err.Error()}
	case err != nil:
		return acted, err
	}
	return Acted{Done: true, Text: fmt.Sprintf("%s of %s is closed, with the hash %s.", q.Month, q.Account,
		statement.Hash())}, nil
}

// whyRefused returns the error by which a refusal is answered.
func whyRefused(r *payouts.RefusedError) error {
	switch r.Why {
	case payouts.NotThere:
		return &RefusalError{Unknown: true, Reason: r.Reason}
	case payouts.HasMoved, payouts.NothingOpen:
		return &RefusalError{Reason: r.Reason}
	case payouts.Unreadable:
	}
	return badRequest("%s", r.Reason)
}
