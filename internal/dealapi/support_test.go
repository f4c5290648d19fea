package dealapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v4"
	"go.uber.org/goleak"
)

const testKey = "sk_live_T0p+Secret/Key=="

// patience is the time limit of one attempt in tests that are not about it: no machine is that slow.
const patience = 10 * time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeClock makes waiting for a retry instant and remembers the waits.
type fakeClock struct {
	mu    sync.Mutex
	t     time.Time
	waits []time.Duration
	stuck chan struct{} // when set, timers never fire and Start sends here
}

func (f *fakeClock) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.t
}

func (f *fakeClock) newTimer() backoff.Timer { return &fakeTimer{clock: f, c: make(chan time.Time, 1)} }

func (f *fakeClock) slept() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]time.Duration(nil), f.waits...)
}

type fakeTimer struct {
	clock *fakeClock
	c     chan time.Time
}

func (t *fakeTimer) Start(d time.Duration) {
	f := t.clock
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waits = append(f.waits, d)
	if f.stuck != nil {
		f.stuck <- struct{}{}
		return
	}
	f.t = f.t.Add(d)
	t.c <- f.t
}
func (t *fakeTimer) Stop()               {}
func (t *fakeTimer) C() <-chan time.Time { return t.c }

// rig is a client of a real server, with a fake clock for its retries.
type rig struct {
	*Client
	server *httptest.Server
	clock  *fakeClock
}

func newRig(t *testing.T, handler http.HandlerFunc, change func(*Options)) *rig {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o := Options{Account: "acme", BaseURL: server.URL, Key: testKey, Timeout: patience}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	clock := &fakeClock{t: time.Now()}
	c.now, c.newTimer = clock.now, clock.newTimer
	return &rig{Client: c, server: server, clock: clock}
}

// collect walks a list to its end or its error.
func collect(ctx context.Context, c *Client, q Query) (pages []*Page, err error) {
	for page, err := range c.Pages(ctx, q) {
		if err != nil {
			return pages, err
		}
		pages = append(pages, page)
	}
	return pages, nil
}

// wantKind fails unless the error is a typed one of the kind.
func wantKind(t *testing.T, err error, kind Kind) {
	t.Helper()
	_ = ofKind(t, err, kind)
}

// ofKind returns the typed error and fails unless it is of the kind.
func ofKind(t *testing.T, err error, kind Kind) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %v (%T), want an *Error of kind %s", err, err, kind)
	}
	if e.Kind != kind {
		t.Fatalf("kind is %s, want %s: %v", e.Kind, kind, e)
	}
	return e
}

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(s)) }
}
