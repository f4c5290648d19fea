package warehouse

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/decode"
	"dealhouse/internal/enginetest"
)

// meets records a run of the mode with these rejects and this outcome. It read them a millisecond after its start.
func meets(t *testing.T, w *Warehouse, mode, outcome string, rejects ...decode.Reject) Run {
	t.Helper()
	r := begin(t, w, "coupons")
	row := RunRecord{Account: r.Account, Stream: "coupons", RunID: r.ID, Mode: mode, StartedAt: r.StartedAt,
		Outcome: OutcomeRunning}
	if err := w.SaveRun(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	for i := range rejects {
		rejects[i].Fetched = r.StartedAt.Add(time.Millisecond).UnixMicro()
	}
	if err := w.Writer(r).Reject(t.Context(), rejects); err != nil {
		t.Fatal(err)
	}
	if outcome != OutcomeRunning {
		row.Outcome, row.FinishedAt = outcome, r.StartedAt.Add(2*time.Millisecond)
		if err := w.SaveRun(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// listed returns each row of rejected_records, sorted by what distinguishes them.
func listed(t *testing.T, w *Warehouse, columns string) []string {
	t.Helper()
	return text(t, w, "SELECT "+columns+" FROM rejected_records ORDER BY key, field, raw")
}

// TestRejectsAreKeptOnce makes runs meet the same values repeatedly: each is one row, in the view and in the storage.
func TestRejectsAreKeptOnce(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	bad := []decode.Reject{
		{Key: "k", Field: "endDate", Reason: "not_a_timestamp", Raw: `"soon"`},
		{Key: "k", Field: "endDate", Reason: "not_a_timestamp", Raw: `"later"`},
		{Key: "k", Field: "startDate", Reason: "not_a_timestamp", Raw: `"soon"`},
		{Key: "l", Field: "endDate", Reason: "not_a_timestamp", Raw: `"soon"`},
		{Reason: "missing_key", Raw: `{"code":1}`}, {Reason: "missing_key", Raw: `{"code":2}`},
	}
	first := meets(t, w, "incremental", OutcomeSuccess, bad...)
	more := enginetest.Sample(3, 8)
	for range more {
		meets(t, w, "incremental", OutcomeSuccess, bad...)
	}
	last := meets(t, w, "incremental", OutcomeSuccess, bad...)
	// The same rejects are kept again: an answer was lost, or a walk has continued from its checkpoint.
	for range 3 {
		if err := w.Writer(last).Reject(t.Context(), bad); err != nil {
			t.Fatal(err)
		}
	}
	want := slicesOf(len(bad), fmt.Sprint(more+2, " open 1 1"))
	of := fmt.Sprintf("times, state, run_id = '%s', first_seen_at < seen_at", last.ID)
	if d := cmp.Diff(want, listed(t, w, of)); d != "" {
		t.Error(d)
	}
	if err := w.exec(t.Context(), "OPTIMIZE TABLE rejects_log FINAL"); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, listed(t, w, of)); d != "" {
		t.Errorf("after a merge: %s", d)
	}
	if got := text(t, w, "SELECT count() FROM rejects_log"); got[0] != fmt.Sprint(len(bad)) {
		t.Errorf("%s rows are stored of %d values", got[0], len(bad))
	}
	found, err := w.RejectedRecords(t.Context(), RejectFilter{RunID: last.ID})
	if err != nil || len(found) != len(bad) || found[0].Times != uint64(more+2) || !found[0].FirstSeen.Before(found[0].SeenAt) {
		t.Errorf("%+v, %v", found, err)
	}
	if found, err = w.RejectedRecords(t.Context(), RejectFilter{RunID: first.ID}); err != nil || len(found) != 0 {
		t.Errorf("later runs have met them since: %+v, %v", found, err)
	}
}

func slicesOf(n int, s string) []string {
	return strings.Split(strings.TrimSuffix(strings.Repeat(s+"\n", n), "\n"), "\n")
}

// TestRejectsOfRunsThatFailed checks that such a run changes nothing of what an earlier one has published, and is
// listed all the same. For wide samples: TestRejectsAreKeptOnce has the runs that end well.
func TestRejectsOfRunsThatFailed(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	old := decode.Reject{Key: "k", Field: "endDate", Reason: "not_a_timestamp", Raw: `"soon"`}
	fresh := decode.Reject{Reason: "missing_key", Raw: `{"code":1}`}
	good := meets(t, w, "incremental", OutcomeSuccess, old)
	var failed Run
	for _, outcome := range []string{OutcomeFailed, OutcomeGuarded, OutcomeStopped, OutcomeKilled, OutcomeRunning} {
		failed = meets(t, w, "incremental", outcome, old, fresh)
		want := []string{"unpublished " + failed.ID.String() + " 1", "open " + good.ID.String() + " 0"}
		if d := cmp.Diff(want, listed(t, w, "state, run_id, last_run_id = run_id")); d != "" {
			t.Errorf("%s: %s", outcome, d)
		}
		if found, err := w.RejectedRecords(t.Context(), RejectFilter{RunID: failed.ID}); err != nil || len(found) != 2 {
			t.Errorf("%s: %d of 2 are listed, %v", outcome, len(found), err)
		}
	}
	// A run that may have missed rows has published what it read. A run that did not meet a value says
	// nothing about it.
	partial := meets(t, w, "incremental", OutcomeIncomplete, old)
	if d := cmp.Diff([]string{"unpublished 5", "open 7"}, listed(t, w, "state, times")); d != "" {
		t.Error(d)
	}
	if got := listed(t, w, "run_id")[1]; got != partial.ID.String() {
		t.Errorf("the reading of %s counts", got)
	}
	// What an incomplete read of the whole list did not have may still exist; a complete one decides.
	meets(t, w, "snapshot", OutcomeIncomplete)
	if d := cmp.Diff([]string{"unpublished", "open"}, listed(t, w, "state")); d != "" {
		t.Error(d)
	}
	meets(t, w, "snapshot", OutcomeSuccess)
	if d := cmp.Diff([]string{"superseded", "superseded"}, listed(t, w, "state")); d != "" {
		t.Error(d)
	}
	meets(t, w, "snapshot", OutcomeSuccess, old)
	if d := cmp.Diff([]string{"superseded", "open"}, listed(t, w, "state")); d != "" {
		t.Error(d)
	}
}

// TestRejectsWithTheClockSetBack checks that the value met now is the last one, whatever the clock said before.
func TestRejectsWithTheClockSetBack(t *testing.T) {
	t.Parallel()
	w := open(t)
	x := decode.Reject{Key: "k", Field: "endDate", Reason: "not_a_timestamp", Raw: `"soon"`}
	meets(t, w, "incremental", OutcomeSuccess, x)
	ahead := "INSERT INTO rejects_log (account, stream, key, field, reason, raw, first_seen_at, seen_at, last)" +
		" SELECT account, stream, key, field, reason, raw, first_seen_at, seen_at, (last.1 + 3600000000, generateUUIDv4(), last.3, last.4, last.5) FROM rejects_log"
	if err := w.exec(t.Context(), ahead); err != nil {
		t.Fatal(err)
	}
	r := meets(t, w, "incremental", OutcomeSuccess, x)
	if got := listed(t, w, "last_run_id")[0]; got != r.ID.String() {
		t.Errorf("the last run is %s, want %s", got, r.ID)
	}
}

// TestListedAndUnreadable checks that a row stays whose record is listed and cannot be loaded, also if another worker,
// which has lost the stream, has met the record since.
func TestListedAndUnreadable(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	load(t, w, "coupons", Whole, "["+coupon(idA, "a", "2026-01-01T00:00:00Z")+","+coupon(idB, "b", "2026-01-01T00:00:00Z")+
		"]")
	x := decode.Reject{Key: idB, Reason: decode.ReasonRefused, Raw: "{}"}
	meets(t, w, "snapshot", OutcomeFailed, x)
	for _, thief := range []bool{false, true} {
		r := begin(t, w, "coupons")
		x.Fetched = r.StartedAt.Add(time.Millisecond).UnixMicro()
		if err := w.Writer(r).Reject(t.Context(), []decode.Reject{x}); err != nil {
			t.Fatal(err)
		}
		if thief {
			if err := w.Writer(begin(t, w, "coupons")).Reject(t.Context(), []decode.Reject{x}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.exec(t.Context(), "OPTIMIZE TABLE rejects_log FINAL"); err != nil {
			t.Fatal(err)
		}
		stage(t, w, r, "["+coupon(idA, "a", "2026-01-01T00:00:00Z")+"]")
		if c := publish(t, w, r, Whole); c.Deleted != 0 {
			t.Errorf("with another worker %v: %+v", thief, c)
		}
	}
}

// TestViewsOfRejectsUnderOtherSettings checks that tools with settings of their own read the same. For wide samples:
// TestViewsUnderEverySetting has all views, TestRejectsAreKeptOnce what they show.
func TestViewsOfRejectsUnderOtherSettings(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	meets(t, w, "incremental", OutcomeFailed,
		decode.Reject{Key: "k", Field: "endDate", Reason: "not_a_timestamp", Raw: `"soon"`})
	for _, settings := range []string{"join_use_nulls = 1", "group_by_use_nulls = 1", "transform_null_in = 1", "final = 1",
		"prefer_column_name_to_alias = 1", "join_algorithm = 'full_sorting_merge'"} {
		if got := text(t, w, "SELECT state, times, record_updated_at IS NULL, length(raw) FROM rejected_records WHERE key != '' AND raw LIKE '%soon%' ORDER BY seen_at SETTINGS "+settings); len(got) != 1 || got[0] != "unpublished 1 1 6" {
			t.Errorf("%s: %q", settings, got)
		}
	}
}
