package syncer

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
	"dealhouse/internal/warehouse/warehousetest"
)

// shardAccounts live on different shards.
var shardAccounts = []string{"acme", "globex"}

// TestShards loads two accounts that live on different shards. It compares the views over all shards with the truth,
// and every view with that of a warehouse that is not divided. Without a wide sample, it compares only the transactions
// of a tiny world with the truth.
func TestShards(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	size, streams := tinyWorld(17, shardAccounts...), []string{catalog.Transactions().Name}
	if enginetest.Wide() {
		size, streams = smallWorld(), catalog.Names()
	}
	x, w := serve(t, size), warehousetest.OpenShards(t)
	if w.At("acme").Database() == w.At("globex").Database() {
		t.Fatal("both accounts live on one shard: this shows nothing")
	}
	loadShards(t, x, w, streams...)
	samePublic(t, w)
	if !enginetest.Wide() {
		return
	}

	// What is deleted is deleted on one shard, and a guard looks at that account alone.
	x.Advance(3 * 24 * time.Hour)
	if err := x.Delete(apisim.StreamTransactions, "globex", oneID(t, w, "globex")); err != nil {
		t.Fatal(err)
	}
	full := x.jobs(t, "globex", apisim.StreamTransactions)
	full[0].Full = true
	syncAll(t, w, full)
	loadShards(t, x, w, streams...)

	for _, account := range shardAccounts {
		if got := one(t, w.At(account), "SELECT groupUniqArray(account) FROM transactions_latest"); got != "['"+account+"']" {
			t.Errorf("the shard of %s has rows of %s", account, got)
		}
	}
	sameViews(t, w)
}

// loadShards syncs streams of both accounts, and compares them with the truth.
func loadShards(t *testing.T, x *world, w *warehouse.Warehouse, streams ...string) {
	t.Helper()
	var jobs []Job
	for _, account := range shardAccounts {
		jobs = append(jobs, x.jobs(t, account, streams...)...)
	}
	syncAll(t, w, jobs)
	for _, account := range shardAccounts {
		checkTruth(t, w, x, account, streams...)
	}
}

// samePublic wants the database of views to have the rows of all shards.
func samePublic(t *testing.T, w *warehouse.Warehouse) {
	t.Helper()
	for _, from := range []string{"transactions", "payout_reconciliation", "deals_active(at = '2100-01-01 00:00:00')"} {
		query, public := "SELECT (count(), groupUniqArray(account)) FROM ", w.Database()+"_public."
		if strings.Contains(from, "(") {
			public = w.Database() + "_public_with_parameters."
		}
		if want, got := one(t, w, query+from), one(t, w, query+public+from); want != got || strings.HasPrefix(got, "(0,") &&
			from == "transactions" {
			t.Errorf("%s: %s in the database of views, %s in the warehouse", from, got, want)
		}
	}
	if err := w.CheckSchema(t.Context()); err != nil {
		t.Error(err)
	}
}

func oneID(t *testing.T, w *warehouse.Warehouse, account string) string {
	t.Helper()
	return one(t, w, "SELECT min(id) FROM transactions WHERE account = '"+account+"'")
}

// sameViews copies the rows of all shards into one database, and wants each view to have the same rows there.
func sameViews(t *testing.T, w *warehouse.Warehouse) {
	t.Helper()
	whole := open(t)
	copyTo(t, w, whole)
	views, err := w.Dictionary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	user := one(t, whole, "SELECT max(passback_uid) FROM transactions")
	for _, v := range views {
		from := v.Name
		switch {
		case strings.HasPrefix(from, "schema_"):
			continue
		case from == "deals_active", strings.HasSuffix(from, "_as_of"):
			from += "(at = toDateTime64('2026-03-01 00:00:00', 3, 'UTC'))"
		case from == "transactions_by_passback_uid":
			from += "(passback_uid = '" + user + "')"
		}
		query := "SELECT (count(), sum(cityHash64(toString(tuple(* EXCEPT '^age_seconds$'))))) FROM " +
			from // an age grows meanwhile
		if want, got := one(t, whole, query), one(t, w, query); want != got {
			t.Errorf("%s: %s over all shards, %s in one warehouse", v.Name, got, want)
		} else if !strings.HasPrefix(got, "(0,") {
			compared++
		}
	}
	if compared < 20 {
		t.Errorf("only %d views had any rows to compare", compared)
	}
}

// copyTo copies a warehouse, and wants the certificates to hold for what is there then.
func copyTo(t *testing.T, from, to *warehouse.Warehouse) {
	t.Helper()
	_, err := from.CopyTo(t.Context(), to, warehouse.CopyOptions{Wait: time.Minute, Waiting: func(warehouse.StreamID) {}, Copying: func(string, uint64) {}})
	if err != nil {
		t.Fatal(err)
	}
	audits, err := to.AuditCertificates(t.Context(), func(warehouse.StreamID) bool { return true }, 5, nil)
	if err != nil || len(audits) == 0 {
		t.Fatalf("%d audits, %v", len(audits), err)
	}
	for _, a := range audits {
		if len(a.Findings) > 0 {
			t.Errorf("%s of %s: %+v", a.Stream, a.Account, a.Findings)
		}
	}
}

// TestCopied copies a warehouse with a history to shards and from these to another one. Each goes on from what was
// copied: what it reads next is a difference.
func TestCopied(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	x, w := serve(t, smallWorld()), open(t)
	loadShards(t, x, w, catalog.Names()...)
	for _, next := range []*warehouse.Warehouse{warehousetest.OpenShards(t), open(t)} {
		x.Advance(2 * 24 * time.Hour)
		loadShards(t, x, w, catalog.Names()...)
		copyTo(t, w, next)
		if w = next; w.Shards() > 1 {
			sameViews(t, w)
		}
		x.Advance(24 * time.Hour)
		loadShards(t, x, w, catalog.Names()...)
		if got := one(t, w, "SELECT groupArray(toString(mode)) FROM (SELECT mode FROM sync_runs WHERE stream = 'transactions' ORDER BY started_at DESC LIMIT 2)"); got != "['incremental','incremental']" {
			t.Errorf("the runs after it: %s", got)
		}
	}
}

const shardCell = "DEALHOUSE_TEST_SHARD_CELL" // number of the point at which the life ends

// shardPoints are the steps of a publication at which a process is killed that publishes on both shards.
var shardPoints = []string{"INSERT sync_state_log intent", "ALTER TABLE transactions_versions ATTACH",
	"ALTER TABLE transactions_latest ATTACH",
	"ALTER TABLE transactions_keys ATTACH", "INSERT sync_runs_log", "INSERT sync_state_log intent cleared"}

// TestShardsKilled kills a process that publishes on two shards, when the second of them is at a step of the
// publication. The next process finishes both.
func TestShardsKilled(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	folder := t.TempDir()
	for i := range len(shardPoints) + 1 {
		out, err := enginetest.Life(t.Context(), folder, "TestShardsKilledChild",
			shardCell+"="+strconv.Itoa(i)).CombinedOutput()
		if i < len(shardPoints) && enginetest.Killed(err) {
			continue
		}
		if i < len(shardPoints) || err != nil {
			t.Fatalf("child %d ended with %v:\n%s", i, err, out)
		}
	}
}

// TestShardsKilledChild is one life of TestShardsKilled; by itself it does nothing.
func TestShardsKilledChild(t *testing.T) {
	cell := os.Getenv(shardCell)
	if cell == "" {
		return
	}
	life, err := strconv.Atoi(cell)
	if err != nil {
		t.Fatal(err)
	}
	x := serve(t, tinyWorld(13, shardAccounts...))
	for i := range life {
		turnShards(t, x, i)
	}
	seam := &seam{}
	w := warehousetest.ShardsIn(t, "divided", warehouse.Options{Wrap: seam.wrap})
	defer w.Close() //nolint:errcheck // the process ends
	recovered, err := w.RecoverAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if life > 0 {
		if point := shardPoints[life-1]; len(recovered) == 0 && strings.Contains(point, "ATTACH") {
			t.Errorf("killed at %s, and there was nothing to finish", point)
		}
	}
	run := func() {
		var jobs []Job
		for _, account := range shardAccounts {
			jobs = append(jobs, x.jobs(t, account, catalog.Transactions().Name)...)
		}
		syncAll(t, w, jobs)
	}
	run()
	for _, account := range shardAccounts {
		checkTruth(t, w, x, account, catalog.Transactions().Name)
		checkTidy(t, w.At(account), account, catalog.Transactions().Name)
		checkHistory(t, w, account, catalog.Transactions().Name)
	}
	if t.Failed() || life == len(shardPoints) {
		return
	}
	turnShards(t, x, life)
	var came atomic.Int64
	waiting := make(chan struct{})
	seam.set(func(_ context.Context, step string, after bool) error {
		if after || step != shardPoints[life] {
			return nil
		}
		if came.Add(1) == int64(len(shardAccounts)) { // both have come to it
			return enginetest.Die()
		}
		<-waiting
		return nil
	})
	run()
	t.Error("the process lives")
}

func turnShards(t *testing.T, x *world, n int) {
	t.Helper()
	for _, account := range slices.Sorted(slices.Values(shardAccounts)) {
		x.turn(t, account, n)
	}
}
