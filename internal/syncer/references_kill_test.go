package syncer

import (
	"context"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// referencesLife is the number of the life that a child of TestReferencesKilled lives.
const referencesLife = "DEALHOUSE_TEST_REFERENCES_LIFE"

// referenceDeaths are where the lives end: at the nth time that the point of the seam is reached.
var referenceDeaths = []struct {
	point string
	after bool
	nth   int64
}{
	{"request", true, 2},
	{"INSERT reference_misses_log", true, 1},
	{"INSERT cashback_offers_delta", true, 1},
	{"INSERT sync_state_log intent", true, 1},
	{"ALTER TABLE cashback_offers_versions ATTACH", true, 1},
	{"ALTER TABLE cashback_offers_latest ATTACH", true, 1},
	{"INSERT sync_state_log lease cleared", false, 1},
}

// deaths returns all of them for the whole matrix, every second one in a wide sample, else the one after the intent.
func deaths() []int {
	var all []int
	for i := range referenceDeaths {
		if enginetest.Wide() && i%2 == 0 || !enginetest.Wide() && i == 3 || os.Getenv(wholeMatrix) != "" {
			all = append(all, i)
		}
	}
	return all
}

// TestReferencesKilled kills a worker, with SIGKILL, along its way. Each life first looks at what the one before it
// left and makes up for it; then transactions name more offers, and it dies while it requests them. For wide samples:
// TestReferences has the references, TestKillMatrix kills.
func TestReferencesKilled(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	folder := t.TempDir()
	for i := range len(deaths()) + 1 {
		out, err := enginetest.Life(t.Context(), folder, "TestReferencesKilledChild",
			referencesLife+"="+strconv.Itoa(i)).CombinedOutput()
		if last := i == len(deaths()); last && err != nil || !last && !enginetest.Killed(err) {
			t.Fatalf("life %d ended with %v:\n%s", i, err, out)
		}
	}
}

// TestReferencesKilledChild is one life of TestReferencesKilled; by itself it does nothing.
func TestReferencesKilledChild(t *testing.T) {
	life, err := strconv.Atoi(os.Getenv(referencesLife))
	if err != nil {
		return
	}
	o := expiredWorld(120, 40)
	o.Rates.NewTransactions = 0.3
	x := serve(t, o)
	x.Advance(time.Duration(5*life) * 24 * time.Hour)
	w, err := warehouse.Open(t.Context(), warehouse.Options{DSN: enginetest.DSN()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() //nolint:errcheck // the process ends
	if _, err := w.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := newWorker(t, x, "", "acme", clocks{})
	jobs := jobsOf(t, v.client, "acme", "cashback_offers", "transactions")
	if r := refer(t, v.Syncer, jobs, jobs[1].ReferenceLimit); r.Record.Mode != "" { // else all was visible, and the next run clears up
		checkTidy(t, w, "acme", "cashback_offers")
	}
	if n := one(t, w, unknownOffers+" AND cashback_offer_id NOT IN (SELECT id FROM reference_misses)"); n != "0" &&
		life > 0 {
		t.Errorf("%s offers were lost", n)
	}
	checkHistory(t, w, "acme", "cashback_offers")
	if n := one(t, w, "SELECT count() FROM cashback_offers_history WHERE id NOT IN (SELECT id FROM cashback_offers)"); n != "0" {
		t.Errorf("%s offers that were never listed are in the history", n)
	}
	if life == 0 {
		syncAll(t, w, jobs[:1]) // the only list that is ever read
	}
	if n, want := one(t, w, "SELECT count() FROM cashback_offers"), "SELECT inserted FROM sync_runs WHERE mode = 'snapshot'"; n != one(t, w, want) {
		t.Errorf("%s live offers, %s were listed", n, one(t, w, want))
	}
	if life == len(deaths()) {
		jobs[0].NewService = true // each life has an address of its own, and none of the first offers is left
		syncAll(t, w, jobs[:1])
		checkTruth(t, w, x, "acme", "cashback_offers")
		checkTidy(t, w, "acme", "cashback_offers")
	}
	if t.Failed() || life == len(deaths()) {
		return
	}
	x.Advance(5 * 24 * time.Hour)
	syncAll(t, w, jobs[1:])
	die := referenceDeaths[deaths()[life]]
	var reached atomic.Int64
	v.seam.set(func(_ context.Context, step string, after bool) error {
		if step == die.point && after == die.after && reached.Add(1) == die.nth {
			return enginetest.Die()
		}
		return nil
	})
	// One is not there, so that there is something to remember as well.
	missing := "/" + one(t, w, "SELECT any(cashback_offer_id) FROM transactions WHERE cashback_offer_id NOT IN (SELECT id FROM offers_all)")
	x.SetFault(func(r *http.Request) apisim.Fault {
		if strings.HasSuffix(r.URL.Path, missing) {
			return apisim.Fault{Kind: apisim.FaultStatus, Status: http.StatusNotFound}
		}
		return apisim.Fault{}
	})
	results, err := v.References(t.Context(), jobs[1], jobs)
	t.Errorf("it lived on: %+v, %v", results, err)
}
