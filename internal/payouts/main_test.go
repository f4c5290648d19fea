package payouts

import (
	"fmt"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
	"dealhouse/internal/warehouse/warehousetest"
)

func TestMain(m *testing.M) { enginetest.Main(m, enginetest.Options{}) }

// world is a simulated account with a warehouse of its own.
type world struct {
	*apisim.Sim
	w    *warehouse.Warehouse
	sync func(full bool, streams ...string)
}

func newWorld(t testing.TB, o apisim.Options) *world {
	t.Helper()
	o.Orgs = []apisim.Org{{Name: "acme"}}
	sim, url := enginetest.Serve(t, o)
	w := warehousetest.Open(t)
	key, _ := sim.Keys("acme")
	client, err := dealapi.New(dealapi.Options{Account: "acme", BaseURL: url, Key: key})
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
		if err := Match(t.Context(), w, "acme"); err != nil { // as the service does after runs
			t.Fatal(err)
		}
	}}
}

const saleOne = "00000000-0000-4000-8000-000000000001"

// put sets the state of a transaction, a minute after the last change; payout 0 means none.
func (x *world) put(t testing.TB, id, status, cashback string, payout int) {
	t.Helper()
	x.Advance(time.Minute)
	x.correct(t, id, status, cashback, payout)
}

// correct sets the state of a transaction without changing its updatedAt.
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

// only returns the single transaction of a payout.
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

// record makes a pending transaction that was sold at a time, and has not changed since.
func (x *world) record(t testing.TB, id string, at time.Time, currency, cashback string) {
	t.Helper()
	record := fmt.Sprintf(`{"id":%q,"soldAt":%[2]q,"updatedAt":%[2]q,"currencyCode":%[3]q,"orderValue":100,"cashback":%[4]s,"status":"PENDING"}`, id, at.Format(time.RFC3339Nano), currency, cashback)
	if err := x.Put(apisim.StreamTransactions, "acme", []byte(record)); err != nil {
		t.Fatal(err)
	}
}

// namedArg returns a parameter of a query.
func namedArg(name, value string) any { return clickhouse.Named(name, value) }
