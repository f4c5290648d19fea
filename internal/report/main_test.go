package report

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/syncer"
	"dealhouse/internal/testdir"
	"dealhouse/internal/warehouse"
)

var (
	testDSN   string
	databases atomic.Int64
)

// TestMain keeps one engine for all tests of the package: one path per process is all it allows.
func TestMain(m *testing.M) { os.Exit(testAll(m)) }

func testAll(m *testing.M) int {
	if err := testdir.InMemory(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "dealhouse-report")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system clears its temporary folder
	testDSN = warehouse.EmbeddedScheme + dir
	keep, err := warehouse.Open(context.Background(), warehouse.Options{DSN: testDSN})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer keep.Close() //nolint:errcheck // the process ends
	return m.Run()
}

// world is a simulated account with a warehouse of its own.
type world struct {
	*apisim.Sim
	w    *warehouse.Warehouse
	sync func(full bool, streams ...string)
}

func newWorld(t testing.TB, o apisim.Options) *world {
	t.Helper()
	o.Orgs = []apisim.Org{{Name: "acme"}}
	sim, err := apisim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	w, err := warehouse.Open(t.Context(), warehouse.Options{DSN: testDSN, Database: fmt.Sprintf("test_%d", databases.Add(1))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Conn().Exec(context.Background(), "DROP DATABASE IF EXISTS "+w.Database()+" SYNC"); err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := w.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	key, _ := sim.Keys("acme")
	client, err := dealapi.New(dealapi.Options{Account: "acme", BaseURL: server.URL, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	s, err := syncer.New(syncer.Options{Warehouse: w})
	if err != nil {
		t.Fatal(err)
	}
	return &world{Sim: sim, w: w, sync: func(full bool, streams ...string) {
		t.Helper()
		for _, name := range streams {
			stream, err := catalog.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			job := syncer.NewJob("acme", stream, client)
			job.Full = full
			if _, err := s.Run(t.Context(), job); err != nil {
				t.Fatal(err)
			}
		}
	}}
}

const saleOne = "00000000-0000-4000-8000-000000000001"

// put makes a transaction what it is now, a minute after the last; payout 0 is none.
func (x *world) put(t testing.TB, id, status, cashback string, payout int) {
	t.Helper()
	x.Advance(time.Minute)
	x.correct(t, id, status, cashback, payout)
}

// correct makes a transaction what it is now, with the updatedAt of the last.
func (x *world) correct(t testing.TB, id, status, cashback string, payout int) {
	t.Helper()
	stamp := ""
	if payout != 0 {
		stamp = fmt.Sprintf(`,"payoutId":%d`, payout)
	}
	record := fmt.Sprintf(`{"id":%q,"soldAt":"2025-11-20T10:00:00Z","updatedAt":%q,"currencyCode":"EUR","orderValue":100,"cashback":%s,"status":%q%s}`,
		id, x.Now().Format(time.RFC3339Nano), cashback, status, stamp)
	if err := x.Put(apisim.StreamTransactions, "acme", []byte(record)); err != nil {
		t.Fatal(err)
	}
}

// only is the single transaction of a payout.
func (x *world) only(t testing.TB, payout int64) warehouse.PayoutTransaction {
	t.Helper()
	all, err := x.w.PayoutTransactions(t.Context(), warehouse.PayoutFilter{Payout: &payout})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 {
		t.Fatalf("payout %d has %d transactions, want 1: %+v", payout, len(all), all)
	}
	return all[0]
}
