package warehouse

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
)

// prepared returns a run of coupons, with one record on its page, that has its delta and is about to write its intent.
func prepared(t *testing.T, w *Warehouse, page string) (Run, Intent) {
	t.Helper()
	r := begin(t, w, "coupons")
	stage(t, w, r, page)
	c, err := w.Writer(r).Plan(t.Context(), Whole, staged(t, w, r))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Writer(r).Prepare(t.Context(), c, r.StartedAt); err != nil {
		t.Fatal(err)
	}
	return r, Intent{RunID: r.ID, MergedAt: r.StartedAt,
		Record: RunRecord{Account: "acme", Stream: "coupons", RunID: r.ID, StartedAt: r.StartedAt, Outcome: OutcomeSuccess,
			Changes: c}}
}

// takeOver takes the stream for the next run, which finishes what was interrupted, and returns what it finished.
func takeOver(t *testing.T, w *Warehouse, next Run) []Intent {
	t.Helper()
	lease, err := w.Acquire(t.Context(), next)
	if err != nil {
		t.Fatal(err)
	}
	recovered, err := w.Writer(next).Recover(t.Context(), lease, next.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	return recovered
}

// TestIntentWithoutDelta recovers from a worker that stopped before it wrote its intent: whoever took the stream over
// has dropped its delta. The intent must neither block the stream for good nor move the watermark. For wide samples:
// TestRecover has intents that can be ended.
func TestIntentWithoutDelta(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	const day1, day2 = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
	load(t, w, "coupons", Whole, "["+coupon(idA, "a1", day1)+"]")
	r, in := prepared(t, w, "["+coupon(idA, "a2", day2)+"]")
	in.Watermark = r.StartedAt.Add(time.Hour)
	if err := w.Writer(r).Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.saveJSON(t.Context(), r, intentName(r.ID), in); err != nil {
		t.Fatal(err)
	}
	next := begin(t, w, "coupons")
	if recovered := takeOver(t, w, next); len(recovered) != 0 {
		t.Errorf("%v", recovered)
	}
	if marks := watermarks(t, w); len(marks) > 0 {
		t.Errorf("watermark %v", marks)
	}
	if d := cmp.Diff([]string{"success", "failed"},
		text(t, w, "SELECT outcome FROM sync_runs ORDER BY started_at")); d != "" {
		t.Error(d)
	}
	load(t, w, "coupons", Whole, "["+coupon(idA, "a2", day2)+"]")
	if d := cmp.Diff([]string{"a2"}, text(t, w, "SELECT code FROM coupons")); d != "" {
		t.Error(d)
	}

	// If the worker itself continues only then, it gets the error that it lost the stream.
	late := begin(t, w, "coupons")
	lease, err := w.Acquire(t.Context(), late)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Writer(late).Publish(t.Context(), lease, in); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("%v", err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if left := text(t, w, "SELECT name FROM sync_state WHERE name != 'certificate'"); len(left) > 0 {
		t.Errorf("state is left: %v", left)
	}
}

// TestMigratedMeanwhile finds a delta that was made before a migration added a column: it can no longer be attached,
// and what it holds is read again.
func TestMigratedMeanwhile(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	const page = `[{"id":"` + idA + `","code":"a","updatedAt":"2026-01-01T00:00:00Z"}]`
	dead, in := prepared(t, w, page)
	if err := w.saveJSON(t.Context(), dead, intentName(dead.ID), in); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"coupons_latest", "coupons_versions"} {
		if err := w.exec(t.Context(), "ALTER TABLE "+table+" ADD COLUMN added_later String"); err != nil {
			t.Fatal(err)
		}
	}
	next := begin(t, w, "coupons")
	if recovered := takeOver(t, w, next); len(recovered) != 0 {
		t.Errorf("%v", recovered)
	}
	stage(t, w, next, page)
	publish(t, w, next, Whole)
	if d := cmp.Diff([]string{"a"}, text(t, w, "SELECT code FROM coupons")); d != "" {
		t.Error(d)
	}
}

// TestExpiredLease checks that an expired lease is taken at once, and that its next holder cleans up.
func TestExpiredLease(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	dead := begin(t, w, "products")
	lease, err := w.Acquire(t.Context(), dead)
	if err != nil {
		t.Fatal(err)
	}
	stage(t, w, dead, `[{"url":"https://a.test/p","history":[{"yearMonthDay":"2026-01-01","price":1}]}]`)
	if err := lease.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := begin(t, w, "products")
	lease, err = w.Acquire(t.Context(), next)
	if err != nil {
		t.Fatal(err)
	}
	if !lease.Orphan() {
		t.Error("the next holder is not told that something is left")
	}
	if _, err := w.Writer(next).Recover(t.Context(), lease, next.ID); err != nil {
		t.Fatal(err)
	}
	if n := text(t, w, "SELECT count() FROM products_staging"); n[0] != "0" {
		t.Errorf("%s rows of a dead run are left", n[0])
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPublishAsksOnceMore stops a publication whose worker has lost its lease, when the intent is durable and nothing
// is attached yet.
func TestPublishAsksOnceMore(t *testing.T) {
	t.Parallel()
	w := open(t)
	r, in := prepared(t, w, "["+coupon(idA, "a", "2026-01-01T00:00:00Z")+"]")
	slow, err := w.Acquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if err := slow.Expire(t.Context()); err != nil { // it expired, and another worker took it
		t.Fatal(err)
	}
	other, err := w.Acquire(t.Context(), begin(t, w, "coupons"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if err := w.Writer(r).Publish(t.Context(), slow, in); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("%v", err)
	}
	if n := text(t, w, "SELECT (SELECT count() FROM coupons_latest), (SELECT count() FROM coupons_versions), (SELECT count() FROM sync_state WHERE name != 'lease')"); n[0] != "0 0 0" {
		t.Errorf("rows, versions and states: %s", n[0])
	}
}
