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
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// The addresses that actions are sent to: by programs, and by the forms of the pages.
const (
	actionsAPI  = "/api/v1/actions"
	actionsPage = "/actions"
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

// apiAct carries out an action that a program requests.
func (s *Server) apiAct(w http.ResponseWriter, r *http.Request) {
	acted, err := s.actOf(w, r)
	if err != nil {
		status, text := s.operator.whyNot(err)
		s.reply.refuse(w, status, errors.New(text))
		return
	}
	s.reply.writeJSON(w, http.StatusOK, actedJSON{Done: acted.Done, Message: acted.Text, Action: newActionJSON(acted.Action)})
}

func (s *Server) actOf(w http.ResponseWriter, r *http.Request) (acted Acted, err error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		kind != "application/json" { // web-6
		return acted, &requestError{http.StatusUnsupportedMediaType, "want Content-Type: application/json"}
	}
	if _, err := parameters(r); err != nil {
		return acted, badRequest("%s", err)
	}
	var q actionRequest
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	body.DisallowUnknownFields()
	if err := body.Decode(&q); err != nil {
		return acted, badRequest("the request cannot be read: %s", err)
	}
	if _, err := body.Token(); !errors.Is(err, io.EOF) {
		return acted, badRequest("unexpected data after the JSON document")
	}
	a, err := q.read()
	if err != nil {
		return acted, err
	}
	if a.Key, err = idempotencyKey(r); err != nil {
		return acted, err
	}
	a.Via = warehouse.ViaAPI
	return s.operator.act(r.Context(), q, a)
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

// apiActions lists what operators did.
func (s *Server) apiActions(w http.ResponseWriter, r *http.Request) {
	limit := defaultRuns
	query, err := parameters(r, "limit")
	if err == nil && query.Has("limit") {
		if limit, err = strconv.Atoi(query.Get("limit")); err != nil || limit < 1 || limit > maxRuns {
			err = fmt.Errorf("limit: want a number from 1 to %d", maxRuns)
		}
	}
	if err != nil {
		s.reply.refuse(w, http.StatusBadRequest, err)
		return
	}
	all := s.answers.actions.get(r.Context(), limit)
	if all.err != nil {
		s.reply.refuse(w, http.StatusServiceUnavailable, fmt.Errorf("the warehouse does not answer: %s", explain(all.err)))
		return
	}
	out := []actionJSON{}
	for _, a := range all.value {
		out = append(out, newActionJSON(a))
	}
	s.reply.writeJSON(w, http.StatusOK, map[string][]actionJSON{"actions": out})
}

func (a *answers) readActions(ctx context.Context, limit int) ([]warehouse.Action, error) {
	return a.o.Warehouse.Actions(ctx, limit)
}

// Acted is the result of an operator's action.
type Acted struct {
	Action warehouse.Action // as it was recorded; if nothing was done, as it was requested
	Done   bool             // there was something to do
	Text   string           // the result, in a sentence or two
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
