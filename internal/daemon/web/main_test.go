package web

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
	"dealhouse/internal/warehouse/warehousetest"
)

// The connections of the browsers in these tests may end late.
func TestMain(m *testing.M) {
	enginetest.Main(m, enginetest.Options{Leaks: []goleak.Option{
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
	}})
}

// bench is a simulated API, a warehouse, and what a daemon knows about the runs between them.
type bench struct {
	*apisim.Sim
	w       *warehouse.Warehouse
	syncer  *syncer.Syncer
	clients map[string]*dealapi.Client

	mu      sync.Mutex
	streams []Stream
	stands  time.Time     // the time at which the clock stands still; zero: it runs
	clock   time.Duration // added to that
	ready   error
}

// newBench has a world whose clock stands still in March 2026; its rows are the same each time.
func newBench(t testing.TB) *bench {
	t.Helper()
	return newBenchAt(t, time.Time{})
}

func newBenchAt(t testing.TB, world time.Time) *bench {
	t.Helper()
	b := &bench{w: warehousetest.Open(t), clients: map[string]*dealapi.Client{}, stands: time.Now()}
	var url string
	b.Sim, url = enginetest.Serve(t, apisim.Options{Seed: 7, Now: world, Retailers: 60, Promotions: 120, Coupons: 150,
		CashbackOffers: 130, Transactions: 900,
		Products: 110, HistoryDays: 9, Settings: apisim.Settings{PageSize: 20}})
	var err error
	if b.syncer, err = syncer.New(syncer.Options{Warehouse: b.w, Progress: b.note}); err != nil {
		t.Fatal(err)
	}
	for _, account := range b.Orgs() {
		key, _ := b.Keys(account)
		b.clients[account], err = dealapi.New(dealapi.Options{Account: account, BaseURL: url, Key: key,
			Backoff: time.Millisecond, MaxBackoff: 2 * time.Millisecond, MaxAttempts: 2, Timeout: patient.Read})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.clients[account].Close)
		for _, name := range catalog.Names() {
			b.streams = append(b.streams, Stream{Account: account, Stream: name, Enabled: true, Schedule: "*/5 * * * *",
				Next: b.stands.Add(4 * time.Minute), StaleAfter: 15 * time.Hour})
		}
	}
	return b
}

// loaded returns how many rows of a stream a complete run finds.
func (b *bench) loaded(account, stream string) uint64 { return uint64(b.Count(stream, account)) }

// narrow leaves only some streams in the configuration, unless a wide sample is requested, because each run takes time.
func (b *bench) narrow(streams ...string) {
	if !enginetest.Wide() {
		b.streams = slices.DeleteFunc(b.streams, func(s Stream) bool { return !slices.Contains(streams, s.Stream) })
	}
}

// configured returns the streams of an account.
func (b *bench) configured(account string) (streams []string) {
	for _, s := range b.streams {
		if s.Account == account {
			streams = append(streams, s.Stream)
		}
	}
	return streams
}

func (b *bench) find(account, stream string) *Stream {
	for i := range b.streams {
		if b.streams[i].Account == account && b.streams[i].Stream == stream {
			return &b.streams[i]
		}
	}
	return nil
}

// change changes what the daemon knows about a stream.
func (b *bench) change(account, stream string, f func(*Stream)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b.find(account, stream))
}

// note keeps the progress of runs, as the daemon does.
func (b *bench) note(p syncer.Progress) {
	b.change(p.Account, p.Stream, func(s *Stream) {
		if p.Phase == syncer.PhaseDone || p.Phase == syncer.PhaseFailed {
			s.Running = nil
			return
		}
		if s.Running == nil {
			s.Since = b.now()
		}
		s.Running = &p
	})
}

// now must be called with the lock. The time that it returns does not depend on the speed of the
// machine, unless the clock runs.
func (b *bench) now() time.Time {
	if b.stands.IsZero() {
		return time.Now().Add(b.clock)
	}
	return b.stands.Add(b.clock)
}

func (b *bench) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clock += d
}

// sync runs streams of an account, all of them if none is named, and returns their errors by stream.
func (b *bench) sync(ctx context.Context, t *testing.T, account string, streams ...string) map[string]error {
	t.Helper()
	if len(streams) == 0 {
		streams = catalog.Names()
	}
	var jobs []syncer.Job
	for _, name := range streams {
		s, err := catalog.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, syncer.NewJob(account, s, b.clients[account]))
	}
	errs := map[string]error{}
	for _, r := range b.syncer.All(ctx, jobs) {
		text := ""
		if r.Err != nil {
			text, errs[r.Record.Stream] = r.Err.Error(), r.Err
		}
		b.change(account, r.Record.Stream, func(s *Stream) { s.LastError, s.FailedAt = text, b.now() })
	}
	return errs
}

// mustSync calls sync, and wants all runs to succeed.
func (b *bench) mustSync(t *testing.T, account string, streams ...string) {
	t.Helper()
	if errs := b.sync(t.Context(), t, account, streams...); len(errs) > 0 {
		t.Fatal(errs)
	}
}

// fail makes a run of a stream fail: the service answers it with 503, and with hostile text.
func (b *bench) fail(t *testing.T, account, stream string) {
	t.Helper()
	s, err := catalog.Find(stream)
	if err != nil {
		t.Fatal(err)
	}
	b.SetFault(func(r *http.Request) apisim.Fault {
		if r.URL.Path != s.Path {
			return apisim.Fault{}
		}
		return apisim.Fault{Kind: apisim.FaultStatus, Status: http.StatusServiceUnavailable,
			Body: `{"error":"<script>alert(1)</script>"}`}
	})
	defer b.SetFault(nil)
	if errs := b.sync(t.Context(), t, account, stream); errs[stream] == nil {
		t.Fatal("the run did not fail")
	}
}

// site is a served page.
type site struct {
	*Server
	base   string
	client *http.Client
	log    *buffer
	vanish func() // ends the server
}

// buffer is a log that may be written while it is read.
type buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// patient has time limits that are long enough for any machine.
var patient = Waits{Read: patience, Detail: patience, Compare: patience, Viewer: patience, Act: patience,
	Header: patience, Request: patience, Answer: 2 * patience, Drain: patience}

// patience is how long a test waits for something that must happen.
const patience = 10 * time.Minute

// serve serves the bench until the test ends.
func (b *bench) serve(t testing.TB, change func(*Options)) *site {
	t.Helper()
	log := &buffer{}
	o := Options{Listen: "127.0.0.1:0", Warehouse: b.w, Waits: patient, Logger: slog.New(slog.NewTextHandler(log, nil)),
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeText(w, "dealhouse_up 1\n") }),
		Ready: func(context.Context) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.ready
		},
		Streams: func() []Stream {
			b.mu.Lock()
			defer b.mu.Unlock()
			return append([]Stream(nil), b.streams...)
		},
		Clock: func() time.Time {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.now()
		},
	}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	x := &site{Server: s, base: "http://" + s.Addr(), log: log, client: &http.Client{Transport: &http.Transport{}}}
	x.vanish = sync.OnceFunc(func() {
		x.client.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(x.vanish)
	return x
}

// get requests a path and returns the answer and its body.
func (x *site) get(t *testing.T, path string, change ...func(*http.Request)) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, x.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(req)
	}
	answer, err := x.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

// page wants the path to answer with 200.
func (x *site) page(t *testing.T, path string) string {
	t.Helper()
	answer, body := x.get(t, path)
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", path, answer.Status, body)
	}
	return body
}

// json reads the answer of a path into to.
func (x *site) json(t *testing.T, path string, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(x.page(t, path)), to); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// fresh lets so much time pass that kept answers are stale.
func (b *bench) fresh() { b.pass(countsFor) }
