package warehouse

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWatermarkNeverMovesBack(t *testing.T) {
	t.Parallel()
	w := open(t)
	r := begin(t, w, "transactions")
	for _, offset := range []time.Duration{0, time.Hour, -time.Hour} {
		if err := w.saveStates(t.Context(), r.Account, r.Stream.Name, watermarkRow(r.StartedAt.Add(offset))); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]string{watermarkRow(r.StartedAt.Add(time.Hour)).value}, watermarks(t, w)); d != "" {
		t.Error(d)
	}
}

func TestLease(t *testing.T) {
	t.Parallel()
	w := open(t)
	a, b := begin(t, w, "coupons"), begin(t, w, "coupons")
	first, err := w.Acquire(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Acquire(t.Context(), b); err == nil {
		t.Fatal("two hold the lease")
	}
	if err := first.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	second, err := w.Acquire(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := second.Release(t.Context()); err != nil {
		t.Errorf("second release: %v", err)
	}
}

func TestDeadRunsAreBuried(t *testing.T) {
	t.Parallel()
	w := open(t)
	dead, next := begin(t, w, "coupons"), begin(t, w, "coupons")
	if err := w.SaveRun(t.Context(), RunRecord{Account: "acme", Stream: "coupons", RunID: dead.ID,
		StartedAt: dead.StartedAt, Outcome: OutcomeRunning}); err != nil {
		t.Fatal(err)
	}
	stage(t, w, dead, "["+coupon(idA, "a", "2026-01-01T00:00:00Z")+"]")
	lease, err := w.Acquire(t.Context(), next)
	if err != nil {
		t.Fatal(err)
	}
	lease.orphan = true // as if the dead run had held it
	if _, err := w.Writer(next).Recover(t.Context(), lease, next.ID); err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"killed 1 0"},
		text(t, w, "SELECT outcome, finished_at IS NOT NULL, (SELECT count() FROM coupons_staging) FROM sync_runs")); d != "" {
		t.Error(d)
	}
}

// TestSharing tells the holder of a lease how many processes load its account, when it begins and while it works.
func TestSharing(t *testing.T) {
	t.Parallel()
	w := open(t)
	other := func(account, stream, owner string, expires time.Time) {
		t.Helper()
		value := ""
		if owner != "" {
			value = fmt.Sprintf(`{"owner":%q,"expires":%d}`, owner, expires.UnixMicro())
		}
		must(t, w.saveStates(t.Context(), account, stream, stateRow{stateLease, value, uint64(time.Now().UnixMicro())}))
	}
	soon, before := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	other("acme", "payouts", "elsewhere/1/a", soon)
	other("acme", "transactions", "elsewhere/1/a", soon) // the same process
	other("acme", "products", "elsewhere/2/b", before)   // it is dead
	other("globex", "payouts", "elsewhere/3/c", soon)    // another account
	lease, err := w.Acquire(t.Context(), begin(t, w, "coupons"))
	must(t, err)
	var told []int
	lease.OnSharing(func(n int) { told = append(told, n) })
	must(t, lease.beat(t.Context()))
	other("acme", "promotions", "elsewhere/4/d", soon)
	must(t, lease.beat(t.Context()))
	must(t, lease.beat(t.Context()))
	for _, stream := range []string{"payouts", "transactions", "promotions"} {
		other("acme", stream, "", soon)
	}
	must(t, lease.beat(t.Context()))
	if d := cmp.Diff([]int{2, 3, 1}, told); d != "" {
		t.Error(d)
	}
	must(t, lease.Release(t.Context()))
}
