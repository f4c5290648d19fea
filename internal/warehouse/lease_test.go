package warehouse

import (
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
