package web

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/payouts"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// forms has what an operator can do with a stream, or an account, from a page.
type forms struct {
	Token, Account, Stream string
	Back                   string // the page to return to, as backTo knows it
	Name                   string // for people
	Running, Stopping      bool
	Paused                 bool // the stream or account itself is paused
	OfAccount              bool // its account is paused
	Full                   bool // it can be told to read everything
	RunID, Deletes         string
}

// formsOf returns the forms of a stream, nil if there is no user, or nothing that could be done.
func (s *Server) formsOf(st *streamState, back string) *forms {
	if !s.gate.acts() || !st.configured || !st.Enabled {
		return nil
	}
	f := &forms{
		Token: s.gate.token(), Account: st.id.Account, Stream: st.id.Stream, Back: back, Name: st.name(),
		Running: st.Running != nil, Stopping: st.Stopping,
		Paused: st.Paused != nil && st.Paused.Stream != "", OfAccount: st.Paused != nil && st.Paused.Stream == "",
	}
	if stream, err := catalog.Find(st.id.Stream); err == nil {
		f.Full = stream.Kind != catalog.Snapshot // a snapshot reads everything in any case
	}
	if g := st.guarded; g != nil {
		f.RunID, f.Deletes = g.RunID.String(), term.Count(g.Deletes)
	}
	return f
}

// formsOfAccount returns the forms of an account.
func (s *Server) formsOfAccount(account string, streams []*streamState) *forms {
	if !s.gate.acts() {
		return nil
	}
	f := &forms{Token: s.gate.token(), Account: account, Back: "account", Name: "account " + account}
	able := false
	for _, st := range streams {
		able = able || st.configured && st.Enabled
		f.Running = f.Running || st.Running != nil
		f.Paused = f.Paused || st.Paused != nil && st.Paused.Stream == ""
	}
	if !able {
		return nil
	}
	return f
}

// said keeps the results of actions from pages, to be shown on the next page.
type said struct {
	mu    sync.Mutex
	texts map[string]notice
	order []string
}

// notice is what a page says about an action.
type notice struct {
	Text string
	Bad  bool
}

// mostSaid is how many notices are remembered.
const mostSaid = 64

func (s *said) add(n notice) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil {
		s.texts = map[string]notice{}
	}
	if len(s.order) == mostSaid {
		delete(s.texts, s.order[0])
		s.order = s.order[1:]
	}
	id = uuid.NewString()
	s.texts[id], s.order = n, append(s.order, id)
	return id
}

// to returns the notice for a request of a page, nil if there is none.
func (s *said) to(r *http.Request) *notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, ok := s.texts[r.URL.Query().Get("said")]; ok {
		return &n
	}
	return nil
}

// pageAct carries out an action from a form of a page, and redirects to that page.
func (s *Server) pageAct(w http.ResponseWriter, r *http.Request) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		http.Error(w, "this address is for the forms of the pages; programs use "+actionsAPI,
			http.StatusUnsupportedMediaType)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the form cannot be read", http.StatusBadRequest)
		return
	}
	form := r.PostForm                                                                      // parameters in the address do not count
	if subtle.ConstantTimeCompare([]byte(form.Get("token")), []byte(s.gate.token())) != 1 { // web-6
		http.Error(w, "this form does not come from a page of this daemon, which may have been restarted: go back, load the page again and repeat it", http.StatusForbidden)
		return
	}
	q := actionRequest{Action: form.Get("action"), Account: form.Get("account"), Stream: form.Get("stream"),
		RunID: form.Get("run_id"), Reason: form.Get("reason"), payoutRequest: payoutRequestOf(form)}
	a, err := q.read()
	var acted Acted
	if err == nil {
		a.Via = warehouse.ViaPage
		acted, err = s.operator.act(r.Context(), q, a)
	}
	n := notice{Text: acted.Text}
	if err != nil {
		_, text := s.operator.whyNot(err)
		n = notice{Text: "Not done: " + text + ".", Bad: true}
	}
	http.Redirect(w, r, backTo(form.Get("back"), q)+"said="+s.said.add(n), http.StatusSeeOther)
}

// backTo returns the address of the page that a form was on. It is one of ours, whatever the form says.
func backTo(page string, q actionRequest) string {
	switch page {
	case "stream":
		return "/streams/" + url.PathEscape(q.Account) + "/" + url.PathEscape(q.Stream) + "?"
	case "account":
		return "/?account=" + url.QueryEscape(q.Account) + "&"
	case "actions":
		return actionsPage + "?"
	case "payout":
		return "/payouts/" + url.PathEscape(q.Account) + "/" + url.PathEscape(string(q.PayoutID)) + "?"
	case "statement":
		return "/statements/" + url.PathEscape(q.Account) + "/" + url.PathEscape(q.Month) + "?"
	}
	return "/?"
}

// actionsBody is the page that shows what operators did.
type actionsBody struct {
	Acts    bool // there is a user
	Token   string
	Error   string
	Actions []actionRow
	Shown   int
}

type actionRow struct {
	At                 moment
	Exact              string
	Who, Via, What     string
	Account, Stream    string
	About, Reason, Run string
}

// whats are the names of actions for people.
var whats = map[string]string{
	warehouse.ActionRun: "run now", warehouse.ActionRunFull: "read everything", warehouse.ActionPause: "pause",
	warehouse.ActionResume:  "resume",
	warehouse.ActionConsent: "consent", warehouse.ActionCancel: "cancel", warehouse.ActionReload: "reload",
	"consent_used":              "consent used",
	warehouse.ActionAcknowledge: "acknowledge", warehouse.ActionCloseMonth: "close month",
}

// actionsPage serves the page that shows what operators did.
func (s *Server) actionsPage(w http.ResponseWriter, r *http.Request) {
	o := s.answers.overview(r.Context())
	body := actionsBody{Acts: s.gate.acts(), Token: s.gate.token(), Shown: defaultRuns}
	all := s.answers.actions.last(defaultRuns)
	if o.problem == nil {
		all = s.answers.actions.get(r.Context(), defaultRuns)
	}
	body.Error = explain(all.err)
	for _, a := range all.value {
		row := actionRow{At: o.moment(a.At), Exact: a.At.UTC().Format("2006-01-02 15:04:05"), Who: a.Actor, Via: a.Via,
			What: whats[a.Action], Account: a.Account, Stream: a.Stream, Reason: a.Reason}
		if a.RunID != uuid.Nil {
			row.Run, row.About = a.RunID.String(), term.Plural(a.Deletes, "row")
		}
		body.Actions = append(body.Actions, row)
	}
	p := s.reply.newPage(&o, actionsPage, "Actions", body)
	p.Said = s.said.to(r)
	s.reply.render(w, "actions.html", p)
}

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
