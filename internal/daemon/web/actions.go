package web

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/payouts"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const (
	// maxRequest bounds what is read of an action, in bytes.
	maxRequest = 16 << 10
	// maxKey bounds an idempotency key, in bytes.
	maxKey = 200
)

// actionWords are the actions that may be requested.
var actionWords = []string{
	warehouse.ActionRun, warehouse.ActionRunFull, warehouse.ActionPause, warehouse.ActionResume, warehouse.ActionConsent,
	warehouse.ActionCancel, warehouse.ActionReload,
	warehouse.ActionAcknowledge, warehouse.ActionCloseMonth,
}

// takesActions reports whether POST is allowed at an address.
func takesActions(path string) bool { return path == actionsAPI || path == actionsPage }

// acts reports whether actions are possible. They never are without a user (web-1).
func (g *gate) acts() bool { return g.o.secured() && g.o.Act != nil }

// newSecret makes the secret of this process, from which its tokens are made.
func newSecret() []byte {
	secret := make([]byte, sha256.Size)
	_, _ = rand.Read(secret) // it never fails
	return secret
}

// token returns a secret that each form of our pages contains, and that pages of other sites do not know (web-6). It
// stays the same while the process lives, so that a page which was opened this morning still works.
func (g *gate) token() string {
	if !g.acts() {
		return ""
	}
	mac := hmac.New(sha256.New, g.secret)
	_, _ = mac.Write([]byte(g.o.User)) // writing to a hash cannot fail
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// requestError says why a request cannot be understood, with the HTTP status of the answer.
type requestError struct {
	status int
	text   string
}

func (e *requestError) Error() string { return e.text }

func badRequest(format string, args ...any) error {
	return &requestError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// actionRequest is what a program sends.
type actionRequest struct {
	Action  string `json:"action"`
	Account string `json:"account"`
	Stream  string `json:"stream"`
	RunID   string `json:"run_id"`
	Reason  string `json:"reason"`
	payoutRequest
}

// read parses an action from a request. It checks everything that does not depend on the configuration.
func (q actionRequest) read() (a warehouse.Action, err error) {
	a = warehouse.Action{Action: q.Action, Account: q.Account, Stream: q.Stream, Reason: q.Reason}
	reload, consent := q.Action == warehouse.ActionReload, q.Action == warehouse.ActionConsent
	switch {
	case !slices.Contains(actionWords, q.Action):
		return a, badRequest("action: want %s", strings.Join(actionWords, ", "))
	case reload && q.Account+q.Stream != "":
		return a, badRequest("reload is about the whole configuration: leave account and stream out")
	case !reload && q.Account == "":
		return a, badRequest("account: say which")
	case aboutPayouts(q.Action) && q.Stream != "":
		return a, badRequest("stream: %s is about payouts: leave it out", q.Action)
	case !aboutPayouts(q.Action) && q.payoutRequest != payoutRequest{}:
		return a, badRequest("%s takes nothing but account, stream, run_id and reason", q.Action)
	case consent && q.Stream == "":
		return a, badRequest("stream: consent is for one stream")
	case consent != (q.RunID != ""):
		return a, badRequest("run_id: consent, and nothing else, names the run that the guard stopped")
	}
	if consent {
		if a.RunID, err = uuid.Parse(q.RunID); err != nil {
			return a, badRequest("run_id: want the id of a run")
		}
	}
	if err := CheckReason(q.Reason); err != nil {
		return a, badRequest("reason: %s", err)
	}
	return a, nil
}

// actionJSON is an action, with the names of the columns of the view operator_actions.
type actionJSON struct {
	ID      *string `json:"action_id"`
	At      *string `json:"at"`
	Actor   string  `json:"actor"`
	Via     string  `json:"via"`
	Action  string  `json:"action"`
	Account string  `json:"account"`
	Stream  string  `json:"stream"`
	RunID   *string `json:"run_id"`
	Deletes uint64  `json:"deletes"`
	Reason  string  `json:"reason"`
}

// actedJSON is the answer to an action.
type actedJSON struct {
	Done    bool       `json:"done"`
	Message string     `json:"message"`
	Action  actionJSON `json:"action"`
}

func newActionJSON(a warehouse.Action) actionJSON {
	return actionJSON{
		ID: uuidJSON(a.ID), At: timeJSON(a.At), Actor: a.Actor, Via: a.Via, Action: a.Action, Account: a.Account,
		Stream: a.Stream,
		RunID:  uuidJSON(a.RunID), Deletes: a.Deletes, Reason: a.Reason,
	}
}

func uuidJSON(id uuid.UUID) *string {
	if id == uuid.Nil {
		return nil
	}
	text := id.String()
	return &text
}

// idempotencyKey returns the key by which a repeated request is recognized, "" if none is given.
func idempotencyKey(r *http.Request) (string, error) {
	keys := r.Header.Values("Idempotency-Key")
	if len(keys) == 0 {
		return "", nil
	}
	key := keys[0]
	if len(keys) > 1 || key == "" || len(key) > maxKey ||
		strings.ContainsFunc(key, func(c rune) bool { return c < '!' || c > '~' }) {
		return "", badRequest("Idempotency-Key: want one, of 1 to %d visible ASCII characters", maxKey)
	}
	return key, nil
}

// operator carries out what a person requested on a page or by the JSON API.
type operator struct {
	o          *Options
	log        *slog.Logger
	answers    *answers
	accounting sync.Mutex // held while a payout is acknowledged or a month is closed
}

// act carries out an action, even if the client disconnects.
func (op *operator) act(ctx context.Context, q actionRequest, a warehouse.Action) (Acted, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), op.o.Waits.Act)
	defer cancel()
	a.Actor = op.o.User
	if aboutPayouts(a.Action) {
		return op.actOnPayouts(ctx, q, a)
	}
	return op.o.Act(ctx, a)
}

// whyNot returns the status and text to answer for an action that was not carried out.
func (op *operator) whyNot(err error) (status int, text string) {
	request, misunderstood := errors.AsType[*requestError](err)
	refusal, refused := errors.AsType[*RefusalError](err)
	reused, again := errors.AsType[*warehouse.KeyReusedError](err)
	switch {
	case misunderstood:
		return request.status, request.text
	case refused && refusal.Unknown:
		return http.StatusNotFound, refusal.Reason
	case refused:
		return http.StatusConflict, refusal.Reason
	case again:
		return http.StatusUnprocessableEntity, reused.Error()
	}
	op.log.Error("an action could not be carried out", "error", err)
	return http.StatusServiceUnavailable, "it could not be recorded in the warehouse, and so was not done: " + op.advised(err)
}

// advised returns why an action could not be recorded, and what can be done about it.
func (op *operator) advised(err error) string {
	if advice := op.o.Warehouse.Advice(err); advice != "" {
		return explain(err) + "; " + advice
	}
	return explain(err)
}

// Count returns a number of things, as pages write it.
func Count(n uint64, of string) string { return term.Plural(n, of) }

// Again returns the result of an action that was requested before under the same key. Nothing is done a second time.
func Again(earlier *warehouse.Action) Acted {
	if earlier == nil {
		return Acted{}
	}
	return Acted{Action: *earlier, Done: true, Text: "This request came before, and is not carried out a second time."}
}

// RefusalError says why an action is not carried out. Nothing was changed.
type RefusalError struct {
	Unknown bool // the stream, account or payout does not exist
	Reason  string
}

func (r *RefusalError) Error() string { return r.Reason }

// maxReason is the longest reason that an operator may write, in characters.
const maxReason = 500

// CheckReason returns why a text cannot be the reason of an action, nil if it can. A reason is one line for people.
func CheckReason(text string) error {
	switch {
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("want one line of text")
	case utf8.RuneCountInString(text) > maxReason:
		return fmt.Errorf("want at most %d characters", maxReason)
	}
	return nil
}

// scopeJSON is a list of conditions, never null.
type scopeJSON []catalog.Condition

func newScopeJSON(s catalog.Scope) scopeJSON { return append(scopeJSON{}, s...) }

// loadedScope returns the scope of the last complete list of the stream, nil if this version cannot read it.
func (st *streamState) loadedScope() catalog.Scope {
	scope, err := catalog.ParseScope(st.standing.Scope)
	if err != nil {
		return nil
	}
	return scope
}

// scopeRow is the part of a stream that is loaded.
type scopeRow struct {
	Brief, Whole string
	Loaded       string // the part that is loaded until the next complete list, if it differs
}

// scope returns the part of the stream that is loaded, nil if all of it is loaded and should be.
func (st *streamState) scope() *scopeRow {
	loaded := st.loadedScope()
	wanted := st.Scope
	if !st.configured {
		wanted = loaded
	}
	if len(wanted) == 0 && len(loaded) == 0 {
		return nil
	}
	row := scopeRow{Brief: capitalized(wanted.Brief()), Whole: wanted.Or("all rows")}
	if len(wanted) == 0 {
		row.Brief = "All rows"
	}
	if wanted.Encode() == loaded.Encode() {
		return &row
	}
	row.Loaded = "not loaded yet"
	if st.standing.LastSuccess != nil {
		row.Loaded = "loaded so far: " + loaded.Or("all rows")
	}
	return &row
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
