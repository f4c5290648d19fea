package warehouse

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"dealhouse/internal/decode"
	"dealhouse/internal/enginetest"
)

// record writes a run that began at the given time and took a minute.
func record(t *testing.T, w *Warehouse, stream, outcome string, at time.Time, changes Changes) {
	t.Helper()
	r := RunRecord{Account: "acme", Stream: stream, RunID: uuid.New(), Mode: "snapshot", StartedAt: at, Outcome: outcome,
		Changes: changes}
	if outcome != OutcomeRunning {
		r.FinishedAt = at.Add(time.Minute)
	}
	if outcome != OutcomeSuccess {
		r.Error = outcome + " at " + at.Format(time.TimeOnly)
	}
	if err := w.SaveRun(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func TestStandings(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(hour int) time.Time { return day.Add(time.Duration(hour) * time.Hour) }
	for stream, outcomes := range map[string][]string{
		"coupons":      {OutcomeFailed, OutcomeSuccess, OutcomeStopped, OutcomeRunning},
		"promotions":   {OutcomeSuccess, OutcomeFailed, OutcomeKilled, OutcomeStopped, OutcomeGuarded, OutcomeRunning},
		"payouts":      {OutcomeFailed},
		"transactions": {OutcomeRunning},
	} {
		for hour, outcome := range outcomes {
			record(t, w, stream, outcome, at(hour), Changes{})
		}
	}
	all, err := w.Standings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range all {
		since, success := "never", "never"
		if s.Faults.Since != nil {
			since = s.Faults.Since.Format("15:04")
		}
		if s.LastSuccess != nil {
			success = s.LastSuccess.Format("15:04")
		}
		got = append(got, fmt.Sprintf("%s: success %s, %d faults since %s: %s, %q, last %s", s.Stream, success,
			s.Faults.Count, since, s.Faults.Outcome, s.Faults.Error, s.LastOutcome))
	}
	want := []string{
		`promotions: success 00:01, 3 faults since 01:00: guarded, "guarded at 04:00:00", last running`,
		`coupons: success 01:01, 0 faults since never: , "", last running`,
		`transactions: success never, 0 faults since never: , "", last running`,
		`payouts: success never, 1 faults since 00:00: failed, "failed at 00:00:00", last failed`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}

	for _, mode := range []string{ModeRetry, ModeReferences} { // they do not read the whole stream
		if err := w.SaveRun(t.Context(), RunRecord{Account: "acme", Stream: "coupons", RunID: uuid.New(), Mode: mode,
			StartedAt: at(6), Outcome: OutcomeRunning}); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := w.Runs(t.Context(), RunFilter{WholeLooks: true, PerStream: 2, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	got = nil
	for _, r := range runs {
		got = append(got, r.StartedAt.Format("15 ")+r.Stream+" "+r.Outcome)
	}
	want = []string{"05 promotions running", "04 promotions guarded", "03 coupons running", "02 coupons stopped",
		"00 payouts failed", "00 transactions running"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestStandingsOfIncompleteRuns checks that such a run is a fault, and does not count as a read of the whole list.
func TestStandingsOfIncompleteRuns(t *testing.T) {
	t.Parallel()
	w := open(t)
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	record(t, w, "coupons", OutcomeSuccess, day, Changes{Kept: 7})
	record(t, w, "coupons", OutcomeFailed, day.Add(time.Hour), Changes{Kept: 9})
	record(t, w, "coupons", OutcomeIncomplete, day.Add(2*time.Hour), Changes{Inserted: 5, Updated: 4, Kept: 3})
	all, err := w.Standings(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if s := all[0]; !s.LookedAt.Equal(day) || !s.LastSuccess.Equal(day.Add(time.Minute)) ||
		!s.LastFailure.Equal(day.Add(2*time.Hour+time.Minute)) ||
		s.Faults.Count != 2 || s.Faults.Outcome != OutcomeIncomplete || !strings.HasPrefix(s.Faults.Error, "incomplete") ||
		s.LastOutcome != OutcomeIncomplete || s.Waiting != 3 {
		t.Errorf("%+v", s)
	}
	runs, err := w.Runs(t.Context(), RunFilter{})
	if err != nil || runs[0].Changes.Kept != 3 {
		t.Errorf("%+v, %v", runs, err)
	}
	now, err := w.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	record(t, w, "promotions", OutcomeIncomplete, now, Changes{Inserted: 5, Updated: 4})
	days, err := w.ChangesByDay(t.Context(), StreamID{"acme", "promotions"}, 30)
	if err != nil || len(days) != 1 || days[0].Inserted != 5 || days[0].Updated != 4 || days[0].Faults != 1 {
		t.Errorf("%+v, %v", days, err)
	}
	if d := cmp.Diff([]string{"coupons incomplete 2026-01-01 00:01:00.000", "promotions incomplete -"},
		text(t, w, "SELECT stream, last_outcome, ifNull(toString(last_success), '-') FROM stream_freshness ORDER BY stream")); d != "" {
		t.Error(d)
	}
}

// TestStandingsOfBackfills checks that a backfill that was asked for says nothing about its stream, however it ends. A
// backfill that is the first sync does once its last load has moved the watermark: then all changes from before its
// first load are known.
func TestStandingsOfBackfills(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	run := func(mode, outcome string, hour int, watermark time.Time) {
		t.Helper()
		at := day.Add(time.Duration(hour) * time.Hour)
		r := RunRecord{Account: "acme", Stream: "transactions", RunID: uuid.New(), Mode: mode, StartedAt: at,
			FinishedAt: at.Add(time.Minute), Outcome: outcome, Watermark: watermark}
		if err := w.SaveRun(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	want := func(success, looked string, faults uint64) {
		t.Helper()
		all, err := w.Standings(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		clock := func(at *time.Time) string {
			if at == nil {
				return "never"
			}
			return at.Format("15:04")
		}
		if s := all[0]; clock(s.LastSuccess) != success || clock(s.LookedAt) != looked || clock(s.LastFull) != looked &&
			looked == "never" || s.Faults.Count != faults {
			t.Errorf("success %s, looked %s, %d faults; want %s, %s, %d", clock(s.LastSuccess), clock(s.LookedAt),
				s.Faults.Count, success, looked, faults)
		}
		if got := text(t, w, "SELECT ifNull(formatDateTime(last_success, '%H:%i'), 'never') FROM stream_freshness"); got[0] != success {
			t.Errorf("stream_freshness has %s, want %s", got[0], success)
		}
	}
	mark := day.Add(-time.Hour)
	run(ModeInitial, OutcomeSuccess, 0, time.Time{})
	run(ModeInitial, OutcomeSuccess, 1, time.Time{})
	want("never", "never", 0)
	run(ModeInitial, OutcomeFailed, 2, time.Time{})
	want("never", "never", 1)
	run(ModeInitial, OutcomeSuccess, 3, mark)
	want("03:01", "00:00", 0)
	run(ModeBackfill, OutcomeSuccess, 4, mark)
	run(ModeBackfill, OutcomeFailed, 5, mark)
	run(ModeBackfill, OutcomeKilled, 6, mark)
	want("03:01", "00:00", 0)
	run("incremental", OutcomeSuccess, 7, mark)
	want("07:01", "07:00", 0)
	run(ModeBackfill, OutcomeSuccess, 8, mark)
	want("07:01", "07:00", 0)
}

func TestLiveRows(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	load(t, w, "coupons", Whole, "["+coupon(idA, "a", "2026-01-01T00:00:00Z")+","+coupon(idB, "b", "2026-01-01T00:00:00Z")+
		"]")
	load(t, w, "coupons", Whole, "["+coupon(idA, "a", "2026-01-02T00:00:00Z")+"]")
	rows, err := w.LiveRows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[StreamID]uint64{{"acme", "coupons"}: 1}, rows); d != "" {
		t.Error(d)
	}
}

func TestDays(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	now, err := w.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	today := now.Truncate(24 * time.Hour)
	record(t, w, "coupons", OutcomeSuccess, today.AddDate(0, 0, -90), Changes{Inserted: 1000}) // too long ago
	record(t, w, "coupons", OutcomeSuccess, today.AddDate(0, 0, -2), Changes{Inserted: 10, Updated: 3})
	record(t, w, "coupons", OutcomeSuccess, today.AddDate(0, 0, -2).Add(time.Hour), Changes{Inserted: 1, Deleted: 2})
	record(t, w, "coupons", OutcomeFailed, today, Changes{Inserted: 500}) // planned but never published
	days, err := w.ChangesByDay(t.Context(), StreamID{"acme", "coupons"}, 30)
	if err != nil {
		t.Fatal(err)
	}
	want := []DayChanges{{Day: today.AddDate(0, 0, -2), Inserted: 11, Updated: 3, Deleted: 2, Runs: 2},
		{Day: today, Runs: 1, Faults: 1}}
	if d := cmp.Diff(want, days); d != "" {
		t.Error(d)
	}

	sale := func(n int, soldAt string) string {
		return fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d","soldAt":%s,"updatedAt":"2026-01-03T00:00:00Z"}`, n, soldAt)
	}
	load(t, w, "transactions", Whole, "["+sale(1, `"2026-01-01T00:00:00Z"`)+","+sale(2, `"2026-01-02T23:59:59.999Z"`)+","+
		sale(3, `"2026-01-02T00:00:00Z"`)+","+sale(4, "null")+","+sale(5, `"2099-01-01T00:00:00Z"`)+"]")
	sales, err := w.RowsByDay(t.Context(), StreamID{"acme", "transactions"}, 30)
	if err != nil {
		t.Fatal(err)
	}
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if d := cmp.Diff([]DayRows{{first, 1}, {first.AddDate(0, 0, 1), 2}}, sales); d != "" {
		t.Error(d)
	}
	if sales, err = w.RowsByDay(t.Context(), StreamID{"acme", "transactions"}, 1); err != nil || len(sales) != 1 ||
		sales[0].Rows != 2 {
		t.Errorf("the newest day: %v, %v", sales, err)
	}
	if prices, err := w.RowsByDay(t.Context(), StreamID{"acme", "products"}, 30); err != nil || len(prices) != 0 {
		t.Errorf("prices of an empty feed: %v, %v", prices, err)
	}
	if _, err := w.RowsByDay(t.Context(), StreamID{"acme", "coupons"}, 30); err == nil || HasDays("coupons") {
		t.Error("coupons have no day of their own")
	}
}

// TestRejectGroups lists a record that every run sends again once, and shortens a long one.
func TestRejectGroups(t *testing.T) {
	t.Parallel()
	w := open(t)
	long := `"`
	for len(long) < 9000 {
		long += "ä<script>"
	}
	for range 3 {
		r := begin(t, w, "coupons")
		rejects := []decode.Reject{
			{Key: "k", Field: "endDate", Reason: "no date", Raw: `"soon"`},
			{Reason: "no id", Raw: `{"code":1}`}, {Reason: "no id", Raw: `{"code":2}`},
		}
		if err := w.Writer(r).Reject(t.Context(), rejects); err != nil {
			t.Fatal(err)
		}
	}
	r := begin(t, w, "coupons")
	if err := w.Writer(r).Reject(t.Context(),
		[]decode.Reject{{Key: "l", Field: "code", Reason: "too long", Raw: long}}); err != nil {
		t.Fatal(err)
	}
	all, err := w.RejectGroups(t.Context(), StreamID{"acme", "coupons"}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 4 {
		t.Fatalf("%d entries: %v", len(all), all)
	}
	if x := all[0]; x.Key != "l" || x.Size != uint64(len(long)) || len([]rune(x.Raw)) != maxRaw ||
		x.Raw != string([]rune(long)[:maxRaw]) || x.RunID != r.ID.String() {
		t.Errorf("the long one: %d characters of %d bytes, run %s", len([]rune(x.Raw)), x.Size, x.RunID)
	}
	for _, x := range all[1:] {
		if x.Times != 3 || x.SeenAt.Before(x.FirstSeen) {
			t.Errorf("%+v", x)
		}
	}
	if all, err = w.RejectGroups(t.Context(), StreamID{"acme", "coupons"}, 2); err != nil || len(all) != 2 {
		t.Errorf("%d of at most 2, %v", len(all), err)
	}
}
