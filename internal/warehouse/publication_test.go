package warehouse

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
)

// TestRecover kills a publication after each of its steps, or after two of them without a wide sample. The next
// run finishes it.
func TestRecover(t *testing.T) {
	t.Parallel()
	const day1, day2 = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
	steps := []string{"intent", "versions", "latest", "run", "state"}
	for stop, name := range steps {
		if stop%3 != 1 && !enginetest.Wide() {
			continue
		}
		t.Run("killed after "+name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			load(t, w, "coupons", Whole, "["+coupon(idA, "a1", day1)+","+coupon(idB, "b1", day1)+"]")
			r := begin(t, w, "coupons")
			stage(t, w, r, "["+coupon(idA, "a2", day2)+"]")
			c, err := w.Writer(r).Plan(t.Context(), Whole, staged(t, w, r))
			if err != nil {
				t.Fatal(err)
			}
			now := r.StartedAt.Add(time.Second)
			if _, err := w.Writer(r).Prepare(t.Context(), c, now); err != nil {
				t.Fatal(err)
			}
			in := Intent{RunID: r.ID, MergedAt: now, Watermark: now,
				Record: RunRecord{Account: "acme", Stream: "coupons", RunID: r.ID, StartedAt: r.StartedAt, FinishedAt: now,
					Outcome: OutcomeSuccess, Changes: c}}
			if err := w.SaveRun(t.Context(), RunRecord{Account: "acme", Stream: "coupons", RunID: r.ID, StartedAt: r.StartedAt,
				Outcome: OutcomeRunning}); err != nil {
				t.Fatal(err)
			}
			for i, step := range []func() error{
				func() error { return w.saveJSON(t.Context(), r, intentName(r.ID), in) },
				func() error {
					return publication{Writer: w.Writer(r)}.attach(t.Context(),
						target{"coupons_versions", r.delta(), "coupons_latest", "", ""})
				},
				func() error {
					return publication{Writer: w.Writer(r)}.attach(t.Context(),
						target{"coupons_latest", r.delta(), "coupons_latest", "", ""})
				},
				func() error { return w.SaveRun(t.Context(), in.Record) },
				func() error {
					return w.saveStates(t.Context(), "acme", "coupons", stateRow{intentName(r.ID), "", 0}, watermarkRow(now))
				},
			} {
				if i > stop {
					break
				}
				if err := step(); err != nil {
					t.Fatal(err)
				}
			}
			next := begin(t, w, "coupons")
			lease, err := w.Acquire(t.Context(), next)
			if err != nil {
				t.Fatal(err)
			}
			lease.orphan = true // as if the killed run had held it
			in2, err := w.Writer(next).Recover(t.Context(), lease, next.ID)
			if err != nil {
				t.Fatal(err)
			}
			if (len(in2) == 1) != (stop < slices.Index(steps, "state")) {
				t.Errorf("recovered %v", in2)
			}
			if err := lease.Release(t.Context()); err != nil {
				t.Error(err)
			}
			if d := cmp.Diff([]string{"a2"}, text(t, w, "SELECT code FROM coupons")); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff([]string{"a1 1", "a2 0", "b1 1"},
				text(t, w, "SELECT code, valid_to IS NOT NULL FROM coupons_history ORDER BY code")); d != "" {
				t.Error(d)
			}
			if n := text(t, w, "SELECT count() FROM coupons_versions"); n[0] != "4" {
				t.Errorf("%s versions", n[0])
			}
			if d := cmp.Diff([]string{"success", "success"}, text(t, w, "SELECT outcome FROM sync_runs")); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff([]string{watermarkRow(now).value}, watermarks(t, w)); d != "" {
				t.Error(d)
			}
			left := text(t, w, "SELECT name FROM system.tables WHERE database = currentDatabase() AND match(name, '_(delta|changes|changed|moves)_[0-9a-f]{32}')")
			if n := text(t, w, "SELECT count() FROM coupons_staging"); len(left) > 0 || n[0] != "0" {
				t.Errorf("left behind: %v and %s staged rows", left, n[0])
			}
		})
	}
}

func TestLostStagedRowsStopTheRun(t *testing.T) {
	t.Parallel()
	w := open(t)
	r := begin(t, w, "coupons")
	const day = "2026-01-01T00:00:00Z"
	stage(t, w, r, "["+coupon(idA, "a", day)+","+coupon(idA, "b", day)+"]", "["+coupon(idA, "c", day)+"]")
	if got := staged(t, w, r).Rows; got != 3 {
		t.Errorf("%d rows of 3 are staged: the count would be no check", got)
	}
	if _, err := w.Writer(r).Plan(t.Context(), Whole, staged(t, w, r).And(Set{Rows: 1})); err == nil {
		t.Error("a run that lost a row went on")
	}
}

// TestStaleReads distinguishes a read that is older from one that is late: what was read before another run read the
// row loses, and what a complete list says later is true.
func TestStaleReads(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	const day1, day2, far = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2099-01-01T00:00:00Z"
	code := func() string { return text(t, w, "SELECT groupArray(code) FROM coupons")[0] }
	slow := begin(t, w, "coupons")
	stage(t, w, slow, "["+coupon(idA, "slow", day1)+"]")
	load(t, w, "coupons", Whole, "["+coupon(idA, "newer", day2)+"]")
	if got := publish(t, w, slow, Whole); got.Updated != 0 || code() != "['newer']" {
		t.Errorf("a read that began earlier: %+v, %s", got, code())
	}
	if got := load(t, w, "coupons", Part, "["+coupon(idA, "lagging replica", day1)+"]"); got.Updated != 0 ||
		code() != "['newer']" {
		t.Errorf("an older state in a partial read: %+v, %s", got, code())
	}
	load(t, w, "coupons", Whole, "["+coupon(idA, "wrong date", far)+"]")
	if got := load(t, w, "coupons", Whole, "["+coupon(idA, "corrected", day2)+"]"); got.Updated != 1 ||
		code() != "['corrected']" {
		t.Errorf("a corrected date: %+v, %s", got, code())
	}
	load(t, w, "coupons", Whole, "["+coupon(idB, "other", day1)+"]")
	if got := load(t, w, "coupons", Whole, "["+coupon(idA, "back", day1)+","+coupon(idB, "other", day1)+
		"]"); got.Inserted != 1 || code() != "['back','other']" {
		t.Errorf("a row that came back with an older date: %+v, %s", got, code())
	}
	// The list becomes empty, and then has a row without a usable date: it must not lose to its own tombstone.
	load(t, w, "coupons", Whole, "[]")
	if got := load(t, w, "coupons", Whole, "["+coupon(idA, "undated", "soon")+"]"); got.Inserted != 1 ||
		code() != "['undated']" {
		t.Errorf("an undated row that came back: %+v, %s", got, code())
	}
}

// TestPartialAttachIsRepaired recovers from a process that was killed when only some parts of its delta were attached.
func TestPartialAttachIsRepaired(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	r := begin(t, w, "coupons")
	stage(t, w, r, "["+coupon(idA, "a", "2026-01-01T00:00:00Z")+","+coupon(idB, "b", "2026-01-01T00:00:00Z")+"]")
	c, err := w.Writer(r).Plan(t.Context(), Whole, staged(t, w, r))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Writer(r).Prepare(t.Context(), c, r.StartedAt); err != nil {
		t.Fatal(err)
	}
	in := Intent{RunID: r.ID, MergedAt: r.StartedAt,
		Record: RunRecord{Account: "acme", Stream: "coupons", RunID: r.ID, StartedAt: r.StartedAt, Outcome: OutcomeSuccess,
			Changes: c}}
	if err := w.saveJSON(t.Context(), r, intentName(r.ID), in); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"coupons_latest", "coupons_versions"} {
		if err := w.exec(t.Context(), "INSERT INTO "+table+" SELECT * FROM "+r.delta()+" WHERE code = 'a'"); err != nil {
			t.Fatal(err)
		}
	}
	next := begin(t, w, "coupons")
	takeOver(t, w, next)
	for _, view := range []string{"coupons", "coupons_history"} {
		if d := cmp.Diff([]string{"a", "b"}, text(t, w, "SELECT code FROM "+view+" ORDER BY code")); d != "" {
			t.Errorf("%s: %s", view, d)
		}
	}
}

func TestDeltaIsOnePart(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	load(t, w, "coupons", Whole, "["+coupon(idA, "a", "2026-01-01T00:00:00Z")+","+coupon(idB, "b", "2026-01-01T00:00:00Z")+
		"]")
	r := begin(t, w, "coupons") // one row changes, one is gone: two inserts into the delta
	stage(t, w, r, "["+coupon(idA, "a2", "2026-01-02T00:00:00Z")+"]")
	c, err := w.Writer(r).Plan(t.Context(), Whole, staged(t, w, r))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Writer(r).Prepare(t.Context(), c, r.StartedAt); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"1 2"}, text(t, w,
		"SELECT uniqExact(name), sum(rows) FROM system.parts WHERE active AND database = currentDatabase() AND table = '"+
			r.delta()+"'")); d != "" {
		t.Error(d)
	}
}
