package notify

import (
	"cmp"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/receiver"
	"dealhouse/internal/warehouse"
	"dealhouse/internal/warehouse/warehousetest"
)

func TestMain(m *testing.M) { enginetest.Main(m, enginetest.Options{}) }

// secret is part of every URL and password of these tests: nothing may show it.
const secret = "hunter2hunter2"

// hook is a receiver that remembers the requests that it got.
type hook struct {
	*httptest.Server
	mu     sync.Mutex
	status int                                      // of its answers; 0: 200
	answer func(http.ResponseWriter, *http.Request) // in place of a status
	got    []request
}

type request struct {
	path, query, key, body string
	header                 http.Header
}

func newHook(t *testing.T) *hook {
	t.Helper()
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		status, answer := h.status, h.answer
		if status < 300 && answer == nil {
			h.got = append(h.got, request{r.URL.Path, r.URL.RawQuery, r.Header.Get("Idempotency-Key"), string(body), r.Header})
		}
		h.mu.Unlock()
		switch {
		case answer != nil:
			answer(w, r)
		case status != 0:
			http.Error(w, "the answer of a receiver with "+secret, status)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) fail(status int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status = status
}

// drain returns the requests since the last call.
func (h *hook) drain() []request {
	h.mu.Lock()
	defer h.mu.Unlock()
	got := h.got
	h.got = nil
	return got
}

// titles returns those of the messages since the last call, of the form json.
func (h *hook) titles(t *testing.T) (titles []string) {
	t.Helper()
	for _, r := range h.drain() {
		var m struct{ Title string }
		if err := json.Unmarshal([]byte(r.body), &m); err != nil {
			t.Fatalf("%s: %v", r.body, err)
		}
		titles = append(titles, m.Title)
	}
	return titles
}

// longAgo is before anything that these tests do.
const longAgo = 60 * 24 * time.Hour

// house is a warehouse, a clock, and the results of runs. It begins a month ago: what is dated in the future
// does not count.
type house struct {
	*testing.T
	w       *warehouse.Warehouse
	mu      sync.Mutex
	now     time.Time
	streams []Stream
	log     *lockedText
	hasty   time.Duration // limit of one attempt, if time does not matter; 0: unhurried
}

// unhurried is longer than anything that must not be cut off takes here, even on a slow machine.
const unhurried = 10 * time.Minute

type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{T: t, w: warehousetest.Open(t), now: time.Now().UTC().Truncate(time.Millisecond).Add(-longAgo / 2),
		log: &lockedText{}}
	for _, account := range []string{"acme", "globex"} {
		for _, stream := range []string{"coupons", "transactions"} {
			h.streams = append(h.streams, Stream{Account: account, Stream: stream, Enabled: true, StaleAfter: longAgo})
		}
	}
	return h
}

func (h *house) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *house) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// notifier returns one of a process that has just begun.
func (h *house) notifier(all ...Receiver) *Notifier {
	h.Helper()
	n, err := New(Options{Warehouse: h.w, Streams: func() []Stream { return h.streams }, Clock: h.clock,
		Logger: slog.New(slog.NewTextHandler(h.log, nil)),
		limits: limits{storing: unhurried, serving: unhurried, settling: unhurried, patience: unhurried}})
	if err != nil {
		h.Fatal(err)
	}
	n.Adopt(h.compile(all...))
	return n
}

func (h *house) compile(all ...Receiver) *Receivers {
	h.Helper()
	r, err := Compile(all, nil)
	if err != nil {
		h.Fatal(err)
	}
	for _, t := range r.all {
		t.patience = cmp.Or(h.hasty, unhurried)
	}
	return r
}

func (h *house) turn(n *Notifier) {
	h.Helper()
	if err := n.Turn(h.Context()); err != nil {
		h.Fatal(err)
	}
}

// run records how a run of a stream ended, a moment after the one before.
func (h *house) run(account, stream, outcome, why string) {
	h.Helper()
	h.runOf(account, stream, outcome, why, "")
}

// runOf records the same, with what kept the run from its end.
func (h *house) runOf(account, stream, outcome, why, cause string) {
	h.Helper()
	h.pass(time.Second)
	now := h.clock()
	r := warehouse.RunRecord{
		Account: account, Stream: stream, RunID: uuid.New(), Mode: warehouse.ModeSnapshot, StartedAt: now, FinishedAt: now,
		Outcome: outcome, Error: why, Cause: cause,
	}
	if outcome == warehouse.OutcomeGuarded {
		r.WouldDelete = 300
	}
	if err := h.w.SaveRun(h.Context(), r); err != nil {
		h.Fatal(err)
	}
}

// carry records a complete run, and in how many of its records each field has a value.
func (h *house) carry(account, stream string, records uint64, fields map[string]uint64) {
	h.Helper()
	r := warehouse.RunRecord{
		Account: account, Stream: stream, RunID: uuid.New(), Mode: warehouse.ModeSnapshot, Outcome: warehouse.OutcomeSuccess,
		Carried: &warehouse.Carried{Records: records, Counted: records, Fields: fields},
	}
	if _, err := h.w.CheckQuality(h.Context(), r); err != nil {
		h.Fatal(err)
	}
}

// webhook returns a receiver of the form json.
func (h *hook) webhook(name string) Receiver {
	return Receiver{Name: name, Form: receiver.JSON, URL: h.URL + "/" + secret}
}
