package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"dealhouse/internal/apisim"
	"dealhouse/internal/config"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
	"dealhouse/internal/warehouse/warehousetest"
)

// meter writes down each statement to the warehouse, with the CPU time of the process until the next one.
type meter struct {
	mu    sync.Mutex
	each  []sent
	begun time.Duration
}

type sent struct {
	text string
	cpu  time.Duration // user and system, until the next statement
}

func (m *meter) note(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addCPU()
	m.each = append(m.each, sent{text: strings.Join(strings.Fields(text), " ")})
}

func (m *meter) addCPU() {
	now := cpu()
	if n := len(m.each); n > 0 {
		m.each[n-1].cpu += now - m.begun
	}
	m.begun = now
}

// drain returns what was sent since the last time.
func (m *meter) drain() []sent {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addCPU()
	each := m.each
	m.each = nil
	return each
}

// cpu is the time that this process has computed, the engine in it included.
func cpu() time.Duration { return cpuOf(syscall.RUSAGE_SELF) }

func cpuOf(who int) time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(who, &u) // where it is not known, nothing was spent
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// api is the simulated service. It is in this process, so the time that it computes is counted apart.
type api struct {
	*apisim.Sim
	spent atomic.Int64
}

// threadOnly asks for the time of this thread alone. It is RUSAGE_THREAD of Linux; elsewhere nothing is counted.
const threadOnly = 1

// ServeHTTP answers on a thread that does nothing else meanwhile.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := cpuOf(threadOnly)
	a.Sim.ServeHTTP(w, r)
	a.spent.Add(int64(cpuOf(threadOnly) - began))
}

func (m *meter) wrap(c driver.Conn) driver.Conn { return metered{c, m} }

type metered struct {
	driver.Conn
	meter *meter
}

func (c metered) Exec(ctx context.Context, query string, args ...any) error {
	c.meter.note(query)
	return c.Conn.Exec(ctx, query, args...)
}

func (c metered) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	c.meter.note(query)
	return c.Conn.Query(ctx, query, args...)
}

func (c metered) QueryRow(ctx context.Context, query string, args ...any) driver.Row {
	c.meter.note(query)
	return c.Conn.QueryRow(ctx, query, args...)
}

func (c metered) PrepareBatch(ctx context.Context, query string,
	opts ...driver.PrepareBatchOption) (driver.Batch, error) {
	c.meter.note(query)
	return c.Conn.PrepareBatch(ctx, query, opts...)
}

// house is a warehouse with the data of a service that stands still, as the daemon works on it.
type house struct {
	sim     *api
	cfg     *config.Config
	w       *warehouse.Warehouse
	service *Service
	meter   *meter
	unpaid  []string // ids of transactions in no payout
}

// newHouse loads a service with so many transactions.
func newHouse(t testing.TB, transactions int) *house {
	t.Helper()
	o := apisim.Options{
		Seed: 5, Retailers: 60, Promotions: 120, Coupons: 150, CashbackOffers: 130, Transactions: transactions, Products: -1,
		Orgs:  []apisim.Org{{Name: "acme", Currency: "EUR"}},
		Rates: apisim.Rates{DealTurnover: -1, DealEdits: -1, NewTransactions: -1},
	}
	o.Settings.PageSize = 1000
	sim, err := apisim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{sim: &api{Sim: sim}, meter: &meter{}}
	server := httptest.NewServer(h.sim)
	t.Cleanup(server.Close)
	key, _ := sim.Keys("acme")
	text := fmt.Sprintf("[defaults]\nrequests_per_second = 10000\ntimeout = \"10m\"\n[[account]]\nname = \"acme\"\nbase_url = %q\napi_key = %q\n", server.URL, key)
	cfg, _, err := config.Read(config.Source{Path: "dealhouse.toml", NeedAccounts: true,
		ReadFile: func(string) ([]byte, fs.FileMode, error) { return []byte(text), 0o600, nil }})
	if err != nil {
		t.Fatal(err)
	}
	h.cfg = cfg
	h.w = warehousetest.Again(t, warehousetest.Open(t), warehouse.Options{Wrap: h.meter.wrap})
	h.service = New(Options{})
	h.run(t)
	rows, err := h.w.Conn().Query(t.Context(),
		"SELECT toString(id) FROM transactions WHERE payout_id IS NULL ORDER BY id LIMIT 10000")
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		h.unpaid = append(h.unpaid, "")
		if err := rows.Scan(&h.unpaid[len(h.unpaid)-1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	return h
}

// run makes a run of each stream that is named, and does what follows it, as the daemon does.
func (h *house) run(t testing.TB, streams ...string) []syncer.Result {
	t.Helper()
	jobs, api, err := h.service.Jobs(h.cfg, Selection{Streams: streams}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	results, err := h.service.Sync(t.Context(), h.w, jobs, Watch{Ended: func(syncer.Result) {}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	h.service.AfterRuns(t.Context(), h.cfg, h.w, api, results)
	return results
}

// change changes the first n transactions that are in no payout, a second after the last change.
func (h *house) change(t testing.TB, n int) {
	t.Helper()
	h.sim.Advance(time.Second)
	for _, id := range h.unpaid[:n] {
		if err := h.sim.Touch(apisim.StreamTransactions, "acme", id); err != nil {
			t.Fatal(err)
		}
	}
}

// asLongAs is what a run of that length may send besides. It looks at its lease again when it did so 2 s ago, in two
// places, and renews it every 15 s, with two statements. A quick one does neither.
func asLongAs(took time.Duration) int {
	return 2*int(took/(2*time.Second)) + 2*int(took/(15*time.Second))
}

// A run that finds nothing new costs little: one request, and these statements. One that finds three changed rows needs
// no table that they do not concern. The numbers may only fall.
func TestQuietRun(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	h := newHouse(t, 900)
	for stream, most := range map[string]int{"transactions": 10, "coupons": 13, "payouts": 14} {
		for range 3 { // the first may still have to catch up
			h.run(t, stream)
		}
		h.meter.drain()
		h.sim.ResetLog()
		begun := time.Now()
		r := h.run(t, stream)[0].Record
		most += asLongAs(time.Since(begun))
		if r.Changes.Any() || r.Totals.Read == 0 {
			t.Errorf("%s: the run was not quiet: %+v %+v", stream, r.Totals, r.Changes)
		}
		if n := h.sim.Requests(""); n != 1 {
			t.Errorf("%s: %d requests", stream, n)
		}
		if each := h.meter.drain(); len(each) > most {
			t.Errorf("%s: %d statements, want at most %d", stream, len(each), most)
			for _, s := range each {
				t.Logf("%.150s", s.text)
			}
		}
	}
	h.change(t, 3)
	h.meter.drain()
	begun := time.Now()
	if c := h.run(t, "transactions")[0].Record.Changes; c.Updated != 3 {
		t.Errorf("three rows were to change: %+v", c)
	}
	if each, most := h.meter.drain(), 51+asLongAs(time.Since(begun)); len(each) > most {
		t.Errorf("three changed rows: %d statements, want at most %d", len(each), most)
		for _, s := range each {
			t.Logf("%.150s", s.text)
		}
	}
}
