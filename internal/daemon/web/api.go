package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/warehouse"
)

// The JSON API. Its names and words are promised (API.md): fields are added, never renamed. Times are RFC 3339 in UTC.
// Something unknown or missing is null.

type statusJSON struct {
	GeneratedAt string        `json:"generated_at"`
	State       state         `json:"state"`
	Summary     string        `json:"summary"`
	Warehouse   warehouseJSON `json:"warehouse"`
	Streams     []streamJSON  `json:"streams"`
}

type warehouseJSON struct {
	Reachable bool    `json:"reachable"`
	Error     string  `json:"error"`
	ReadAt    *string `json:"read_at"` // when the shown data was read
}

type streamJSON struct {
	Account          string       `json:"account"`
	Stream           string       `json:"stream"`
	State            state        `json:"state"`
	Enabled          bool         `json:"enabled"`
	Schedule         string       `json:"schedule"`
	NextRun          *string      `json:"next_run"`
	LastSuccess      *string      `json:"last_success"`
	LastSuccessAge   *float64     `json:"last_success_age_seconds"`
	StaleAfter       *float64     `json:"stale_after_seconds"`
	LastRun          *string      `json:"last_run"`
	LastOutcome      *string      `json:"last_outcome"`
	FailingSince     *string      `json:"failing_since"`
	FailedRuns       uint64       `json:"failed_runs"` // including incomplete ones
	LastError        string       `json:"last_error"`
	Watermark        *string      `json:"watermark"`
	Lag              *float64     `json:"lag_seconds"`
	Rows             *uint64      `json:"rows"`
	Scope            scopeJSON    `json:"scope"`
	LoadedScope      scopeJSON    `json:"loaded_scope"`
	Waiting          uint64       `json:"waiting"`
	Running          *runningJSON `json:"running"`
	LastAttemptError string       `json:"last_attempt_error"`
	FailedChecks     []checkJSON  `json:"failed_checks"`
	Paused           *pausedJSON  `json:"paused"`
	Guarded          *guardedJSON `json:"guarded"`
}

type pausedJSON struct {
	By      string `json:"by"`
	At      string `json:"at"`
	Reason  string `json:"reason"`
	Account bool   `json:"with_account"`
}

type guardedJSON struct {
	RunID       string `json:"run_id"`
	WouldDelete uint64 `json:"would_delete"`
}

// checkJSON has the names of the view quality_checks.
type checkJSON struct {
	Check     string `json:"check"`
	Detail    string `json:"detail"`
	CheckedAt string `json:"checked_at"`
}

type runningJSON struct {
	Phase        string `json:"phase"`
	Since        string `json:"since"`
	Pages        uint64 `json:"pages"`
	RowsRead     uint64 `json:"rows_read"`
	Rejected     uint64 `json:"rejected"`
	Bytes        uint64 `json:"bytes"`
	Retries      uint64 `json:"retries"`
	WindowsDone  int    `json:"windows_done"`
	WindowsTotal int    `json:"windows_total"`
}

func (s *Server) apiStatus(w http.ResponseWriter, r *http.Request) {
	if _, err := parameters(r); err != nil {
		s.reply.refuse(w, http.StatusBadRequest, err)
		return
	}
	o := s.answers.overview(r.Context())
	out := statusJSON{GeneratedAt: rfc3339(o.local), Streams: []streamJSON{}}
	out.State, out.Summary = o.verdict()
	out.Warehouse = warehouseJSON{Reachable: o.problem == nil, Error: explain(o.problem), ReadAt: timeJSON(o.known)}
	for i := range o.streams {
		out.Streams = append(out.Streams, o.streamJSON(&o.streams[i]))
	}
	s.reply.writeJSON(w, http.StatusOK, out)
}

func (o *overview) streamJSON(st *streamState) streamJSON {
	out := streamJSON{
		Account: st.id.Account, Stream: st.id.Stream, State: st.state, Enabled: st.Enabled, Schedule: st.Schedule,
		NextRun:     timeJSON(st.Next),
		LastSuccess: pointedJSON(st.standing.LastSuccess), LastSuccessAge: seconds(o.age(st)),
		LastRun:      pointedJSON(st.standing.LastRun),
		FailingSince: pointedJSON(st.standing.Faults.Since), FailedRuns: st.standing.Faults.Count,
		LastError: st.standing.Faults.Error,
		Watermark: pointedJSON(st.standing.Watermark), Lag: seconds(o.lag(st)), Rows: st.rows, Waiting: st.standing.Waiting,
		LastAttemptError: st.LastError,
		Scope:            newScopeJSON(st.Scope), LoadedScope: newScopeJSON(st.loadedScope()), FailedChecks: []checkJSON{},
	}
	for _, c := range st.failedChecks() {
		out.FailedChecks = append(out.FailedChecks, checkJSON{c.Name, c.Detail, rfc3339(c.CheckedAt)})
	}
	if p := st.Paused; p != nil {
		out.Paused = &pausedJSON{By: p.Actor, At: rfc3339(p.At), Reason: p.Reason, Account: p.Stream == ""}
	}
	if g := st.guarded; g != nil {
		out.Guarded = &guardedJSON{RunID: g.RunID.String(), WouldDelete: g.Deletes}
	}
	if st.StaleAfter > 0 {
		out.StaleAfter = seconds(&st.StaleAfter)
	}
	if st.standing.LastOutcome != "" {
		out.LastOutcome = &st.standing.LastOutcome
	}
	if p := st.Running; p != nil {
		out.Running = &runningJSON{
			Phase: string(p.Phase), Since: rfc3339(st.Since), Pages: p.Totals.Pages, RowsRead: p.Totals.Read,
			Rejected: p.Totals.Rejected,
			Bytes:    p.Totals.Bytes, Retries: p.Totals.Retries, WindowsDone: p.Windows.Done, WindowsTotal: p.Windows.Total,
		}
	}
	return out
}

// runJSON has the names of the view sync_runs.
type runJSON struct {
	Account        string          `json:"account"`
	Stream         string          `json:"stream"`
	RunID          string          `json:"run_id"`
	Mode           string          `json:"mode"`
	StartedAt      string          `json:"started_at"`
	FinishedAt     *string         `json:"finished_at"`
	Duration       *float64        `json:"duration_seconds"`
	Outcome        string          `json:"outcome"`
	RequestedAfter *string         `json:"requested_after"`
	Watermark      *string         `json:"watermark"`
	ServerTime     *string         `json:"server_time"`
	Pages          uint64          `json:"pages"`
	RowsRead       uint64          `json:"rows_read"`
	Inserted       uint64          `json:"inserted"`
	Updated        uint64          `json:"updated"`
	Deleted        uint64          `json:"deleted"`
	WouldDelete    uint64          `json:"would_delete"`
	OutOfScope     uint64          `json:"out_of_scope"`
	Scope          string          `json:"scope"`
	Unchanged      uint64          `json:"unchanged"`
	Older          uint64          `json:"older"`
	Waiting        uint64          `json:"waiting"`
	Rejected       uint64          `json:"rejected"`
	Duplicates     uint64          `json:"duplicates"`
	Bytes          uint64          `json:"bytes"`
	Retries        uint64          `json:"retries"`
	Warnings       []string        `json:"warnings"`
	Error          string          `json:"error"`
	Cause          string          `json:"cause"`
	Certificate    json.RawMessage `json:"certificate"` // null: the run was not published
	Signature      string          `json:"signature"`   // of the certificate, in base64
}

const (
	defaultRuns = 50
	maxRuns     = 1000
)

func (s *Server) apiRuns(w http.ResponseWriter, r *http.Request) {
	filter, err := runFilter(r)
	if err != nil {
		s.reply.refuse(w, http.StatusBadRequest, err)
		return
	}
	runs := s.answers.runs.get(r.Context(), filter)
	if runs.err != nil {
		s.reply.refuse(w, http.StatusServiceUnavailable, fmt.Errorf("the warehouse does not answer: %s", explain(runs.err)))
		return
	}
	if len(runs.value) == 0 && !s.answers.configured(filter.Account) {
		s.reply.refuse(w, http.StatusBadRequest, fmt.Errorf("account: no account %q is configured, and none of that name has runs", filter.Account))
		return
	}
	out := []runJSON{}
	for _, run := range runs.value {
		out = append(out, newRunJSON(run))
	}
	s.reply.writeJSON(w, http.StatusOK, map[string][]runJSON{"runs": out})
}

func runFilter(r *http.Request) (f warehouse.RunFilter, err error) {
	query, err := parameters(r, "account", "stream", "limit")
	if err != nil {
		return f, err
	}
	f = warehouse.RunFilter{Account: query.Get("account"), Stream: query.Get("stream"), Limit: defaultRuns}
	if f.Stream != "" {
		if _, err := catalog.Find(f.Stream); err != nil {
			return f, fmt.Errorf("stream: %w", err)
		}
	}
	if text := query.Get("limit"); query.Has("limit") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxRuns {
			return f, fmt.Errorf("limit: want a number from 1 to %d", maxRuns)
		}
		f.Limit = n
	}
	return f, nil
}

func newRunJSON(r warehouse.RunRecord) runJSON {
	out := runJSON{
		Account: r.Account, Stream: r.Stream, RunID: r.RunID.String(), Mode: r.Mode, StartedAt: rfc3339(r.StartedAt),
		FinishedAt: timeJSON(r.FinishedAt),
		Outcome:    r.Outcome, RequestedAfter: timeJSON(r.RequestedAfter), Watermark: timeJSON(r.Watermark),
		ServerTime: timeJSON(r.ServerTime), Pages: r.Totals.Pages, RowsRead: r.Totals.Read,
		Inserted: r.Changes.Inserted, Updated: r.Changes.Updated, Deleted: r.Changes.Deleted, WouldDelete: r.WouldDelete,
		OutOfScope: r.Changes.Outside, Scope: r.Scope, Unchanged: r.Changes.Unchanged, Older: r.Changes.Older,
		Waiting:  r.Changes.Kept,
		Rejected: r.Totals.Rejected, Duplicates: r.Duplicates, Bytes: r.Totals.Bytes, Retries: r.Totals.Retries,
		Warnings: r.Warnings, Error: r.Error, Cause: r.Cause, Signature: r.Signature,
	}
	if r.Certificate != "" {
		out.Certificate = json.RawMessage(r.Certificate)
	}
	if out.Warnings == nil {
		out.Warnings = []string{}
	}
	if !r.FinishedAt.IsZero() {
		took := r.FinishedAt.Sub(r.StartedAt)
		out.Duration = seconds(&took)
	}
	return out
}

func seconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	s := d.Round(time.Millisecond).Seconds()
	return &s
}

// receiverJSON is the state of the messages to a receiver of notifications.
type receiverJSON struct {
	Receiver      string  `json:"receiver"`
	Form          string  `json:"form"`
	Waiting       uint64  `json:"waiting"`
	OldestWaiting *string `json:"oldest_waiting"` // when its event was noticed
	Attempts      uint32  `json:"attempts"`       // to send the oldest one
	LastError     string  `json:"last_error"`
	LastSent      *string `json:"last_sent"`
	Sent          uint64  `json:"sent"`
	Dropped       uint64  `json:"dropped"`
}

// receiverRow is a receiver on the status page.
type receiverRow struct {
	Name, Text string
	Bad        bool
}

func (s *Server) apiReceivers(w http.ResponseWriter, r *http.Request) {
	if _, err := parameters(r); err != nil {
		s.reply.refuse(w, http.StatusBadRequest, err)
		return
	}
	all, forms, err := s.answers.receiverStates(r.Context())
	if err != nil {
		s.reply.refuse(w, http.StatusServiceUnavailable, fmt.Errorf("the warehouse does not answer: %s", explain(err)))
		return
	}
	out := []receiverJSON{}
	for i, x := range all {
		out = append(out, receiverJSON{
			Receiver: x.Receiver, Form: forms[i], Waiting: x.Waiting, OldestWaiting: pointedJSON(x.Oldest), Attempts: x.Attempts,
			LastError: x.Error,
			LastSent:  pointedJSON(x.LastSent), Sent: x.Sent, Dropped: x.Dropped,
		})
	}
	s.reply.writeJSON(w, http.StatusOK, map[string][]receiverJSON{"receivers": out})
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

// alive answers as long as the process serves at all.
func (s *Server) alive(w http.ResponseWriter, _ *http.Request) {
	writeText(w, "alive\n")
}

// readyz answers whether the daemon can work, and if not, why.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	err := s.answers.ready.get(r.Context(), struct{}{}).err
	switch {
	case err == nil:
		s.reply.writeJSON(w, http.StatusOK, readiness{Ready: true, Reasons: []string{}})
	case !s.gate.authorized(r): // web-5
		s.reply.writeJSON(w, http.StatusServiceUnavailable,
			readiness{Reasons: []string{"the reason is shown only with user and password"}})
	default:
		s.reply.writeJSON(w, http.StatusServiceUnavailable, readiness{Reasons: reasons(err)})
	}
}
