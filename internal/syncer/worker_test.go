package syncer

import (
	"context"
	"fmt"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// kinds has one stream of each kind: a snapshot, a bare array, an incremental one and a walk.
var kinds = []string{"coupons", "payouts", "transactions", "products"}

// tinyWorld pages, has rows of each kind, and changes some of them every day.
func tinyWorld(seed uint64, accounts ...string) apisim.Options {
	o := apisim.Options{Seed: seed, Retailers: 12, Promotions: -1, Coupons: 24, CashbackOffers: 6, Transactions: 36,
		Products: 22, HistoryDays: 3,
		Rates: apisim.Rates{DealTurnover: 0.1, DealEdits: 0.1, NewTransactions: 0.1, ProductTurnover: 0.1,
			ProductPrices: 0.5},
		Settings: apisim.Settings{PageSize: 8, ETags: seed%2 == 0}}
	for _, name := range accounts {
		o.Orgs = append(o.Orgs, apisim.Org{Name: name, Currency: "EUR"})
	}
	return o
}

// turn changes something in every stream. The same sequence of turns makes the same world.
func (x *world) turn(t testing.TB, account string, n int) {
	t.Helper()
	x.Advance(26 * time.Hour)
	x.TouchTransactions(account, 0.2)
	payout := fmt.Sprintf(`{"id":9000%02d,"totalTransactions":%d,"aov":1.5,"totalGmv":%d.25,"startDate":"2026-01-01"}`,
		n%7, n, n)
	if err := x.Put(apisim.StreamPayouts, account, []byte(payout)); err != nil {
		t.Fatal(err)
	}
}

// worker is a process as far as the warehouse and the service can tell: connections of its own, a seam around all that
// it does, and nothing shared with other workers.
type worker struct {
	*Syncer
	seam    *seam
	store   *warehouse.Warehouse
	client  *dealapi.Client
	waiting func() // called when a run waits for a stream that another one has; may be nil
}

// clocks says how far the clocks of a worker's world are from this machine's.
type clocks struct{ warehouse, local time.Duration }

// newWorker makes a worker on an existing database.
func newWorker(t *testing.T, x *world, database, account string, skew clocks) *worker {
	t.Helper()
	v := &worker{seam: &seam{skew: skew.warehouse}}
	local := func() time.Time { return time.Now().Add(skew.local) }
	var err error
	if v.store, err = warehouse.Open(t.Context(),
		warehouse.Options{DSN: enginetest.DSN(), Database: database, Cluster: enginetest.Cluster(), Wrap: v.seam.wrap,
			Backoff: time.Millisecond, MaxRetryElapsed: patience}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		v.seam.http.CloseIdleConnections()
		if err := v.store.Close(); err != nil {
			t.Error(err)
		}
	})
	key, _ := x.Keys(account)
	v.client, err = dealapi.New(dealapi.Options{Account: account, BaseURL: x.url, Key: key, Backoff: time.Millisecond,
		MaxBackoff:  2 * time.Millisecond,
		MaxAttempts: 3, Timeout: patience, MaxElapsed: patience, Transport: v.seam, Clock: local})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.client.Close)
	if v.Syncer, err = New(Options{Warehouse: v.store, Clock: local, Grace: patience, Progress: func(p Progress) {
		if p.Phase == PhaseReading && p.Totals.Pages > 0 {
			_ = v.seam.call(context.Background(), "decode", true) // decoding cannot be made to fail from here
		}
		if p.Phase == PhaseWaiting && v.waiting != nil {
			v.waiting()
		}
	}}); err != nil {
		t.Fatal(err)
	}
	return v
}

// job returns a run in small batches, so that a stream has several, and a walk several checkpoints.
func (v *worker) job(t *testing.T, account, stream string) Job {
	t.Helper()
	s, err := catalog.Find(stream)
	if err != nil {
		t.Fatal(err)
	}
	job := NewJob(account, s, v.client)
	job.BatchRows, job.AllowMassDelete, job.DeleteAfterLists, job.MaxRejectedRatio = 8, true, 1, 0
	return job
}

// takeOver lets the leases of an account run out whenever this worker waits for one, until the test calls
// back. That includes leases that a worker which stands still has renewed meanwhile, because its heartbeat
// does not stand still with it.
func (v *worker) takeOver(t *testing.T, w *warehouse.Warehouse, account string) (back func()) {
	t.Helper()
	v.waiting = func() { expireLeases(t, w, account) }
	expireLeases(t, w, account)
	return func() { v.waiting = nil }
}

// expireLeases lets the leases of an account expire: those of workers that are gone or stand still.
func expireLeases(t *testing.T, w *warehouse.Warehouse, account string) {
	t.Helper()
	err := w.Conn().Exec(t.Context(), `INSERT INTO sync_state_log (account, stream, name, value, version)
SELECT account, stream, name, replaceRegexpOne(value, '"expires":[0-9]+', '"expires":1'), version + 1
FROM sync_state_log FINAL WHERE name = 'lease' AND value != '' AND account = {account:String}`,
		named("account", account))
	if err != nil {
		t.Error(err) // from any goroutine
	}
}

// checkTidy wants nothing left behind by any run of the account: no staged rows, no tables, no state but a watermark
// and what is known of the service's clock.
// In a wide sample it calls checkDerived, which costs as much as a run; otherwise tests call that at their end.
func checkTidy(t *testing.T, w *warehouse.Warehouse, account, stream string) {
	t.Helper()
	staged := "SELECT toString(run_id) AS id, '" + stream + "_staging' AS place FROM " + stream + "_staging"
	left := one(t, w, "SELECT groupArray(DISTINCT (place, id)) FROM ("+staged+" UNION ALL "+
		"SELECT replaceRegexpOne(extract(name, '_([0-9a-f]{32})$'), '^(.{8})(.{4})(.{4})(.{4})(.{12})$', '\\1-\\2-\\3-\\4-\\5'), name "+
		"FROM system.tables WHERE database = currentDatabase() AND match(name, '_(delta|changes|changed|moves)_[0-9a-f]{32}')) WHERE id IN "+
		"(SELECT toString(run_id) FROM sync_runs_log WHERE account = '"+account+"' AND stream = '"+stream+"')")
	state := one(t, w, fmt.Sprintf("SELECT groupArray((name, value)) FROM sync_state WHERE account = '%s' AND stream = '%s' AND name NOT IN ('watermark', 'origin', 'clock', 'loaded_from', 'derived', 'live', 'certificate', 'list')", account, stream))
	if left != "[]" || state != "[]" {
		t.Errorf("left behind by %s of %s: %s, in the state: %s", stream, account, left, state)
	}
	if off := one(t, w, fmt.Sprintf("SELECT (SELECT toInt64(sum(rows)) FROM stream_counts WHERE account = '%[1]s' AND stream = '%[2]s') - (SELECT count() FROM %[2]s WHERE account = '%[1]s')",
		account, stream)); off != "0" {
		t.Errorf("stream_counts is off by %s for %s of %s", off, stream, account)
	}
	if enginetest.Wide() {
		checkDerived(t, w, account, stream)
	}
}

// checkDerived wants each table that is derived from the stream's rows to be as if it were made anew.
func checkDerived(t *testing.T, w *warehouse.Warehouse, account, stream string) {
	t.Helper()
	wrong, err := w.CheckDerived(t.Context(), warehouse.StreamID{Account: account, Stream: stream})
	if err != nil || len(wrong) > 0 {
		t.Errorf("of %s of %s: not as if they were made anew: %v %v", stream, account, wrong, err)
	}
}

// checkHistory wants no version twice, and the last versions to be what the view shows. It calls checkDerived too.
func checkHistory(t *testing.T, w *warehouse.Warehouse, account, stream string) {
	t.Helper()
	checkDerived(t, w, account, stream)
	if s, err := catalog.Find(stream); err != nil || !s.History {
		return
	}
	if n := one(t, w, fmt.Sprintf("SELECT count() FROM (SELECT id, _version FROM %s_versions WHERE account = '%s' GROUP BY id, _version HAVING count() > 1)", stream, account)); n != "0" {
		t.Errorf("%s versions of %s are there twice", n, stream)
	}
	current := fmt.Sprintf("SELECT (count(), sum(sipHash64(toString(tuple(* EXCEPT (valid_from, valid_to)))))) FROM %s_history WHERE valid_to IS NULL AND account = '%s'", stream, account)
	if h, v := one(t, w, current), one(t, w,
		fmt.Sprintf("SELECT (count(), sum(sipHash64(toString(tuple(*))))) FROM %s WHERE account = '%s'", stream,
			account)); h != v {
		t.Errorf("%s: the history shows %s as current, the view %s", stream, h, v)
	}
}
