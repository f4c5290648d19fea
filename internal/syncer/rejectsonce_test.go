package syncer

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/decode"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// TestOverlapRejectsOnce reads bad values again with each run, as the overlap does: each is one reject, in the view and
// in the storage, and sync_runs has a row of each run. For wide samples: package warehouse keeps rejects once.
func TestOverlapRejectsOnce(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	x, w := serve(t, pastWorld(-1, 100)), open(t) // on one page: with several, some would be read twice
	const values = 29
	runs := enginetest.Sample(3, 5)
	put := func(n int, value string) {
		t.Helper()
		record := fmt.Appendf(nil, `{"id":%q,"status":"NEW","orderValue":%s,"updatedAt":%q}`, recordID(n), value,
			x.Now().Add(-time.Minute).Format(dealapi.TimeLayout))
		if err := x.Put("transactions", "acme", record); err != nil {
			t.Fatal(err)
		}
	}
	for n := range values {
		put(n, `"\ud800"`)
	}
	job := x.jobs(t, "acme", "transactions")[0]
	job.MaxRejectedRatio = 1
	for range runs {
		if r := syncAll(t, w, []Job{job})["acme/transactions"]; r.Totals.Rejected != values || r.Totals.Read != values {
			t.Fatalf("%+v: nothing is read again, or it is not counted", r.Totals)
		}
	}
	if got := one(t, w, "SELECT (count(), uniqExact(key), groupUniqArray(times), groupUniqArray(state)) FROM rejected_records"); got != fmt.Sprintf("(%d,%d,[%d],['open'])", values, values, runs) {
		t.Errorf("rejected_records: %s", got)
	}
	if got := one(t, w, "SELECT sum(rejected) FROM sync_runs"); got != fmt.Sprint(values*runs) {
		t.Errorf("sync_runs counts %s", got)
	}
	if err := w.Conn().Exec(t.Context(), "OPTIMIZE TABLE rejects_log FINAL"); err != nil {
		t.Fatal(err)
	}
	if got := one(t, w, "SELECT count() FROM rejects_log"); got != fmt.Sprint(values) {
		t.Errorf("%s rows are stored", got)
	}
	// What is corrected is superseded by the next read of all.
	put(0, "1")
	job.Full = true
	syncAll(t, w, []Job{job})
	if got := one(t, w, "SELECT (countIf(state = 'superseded'), countIf(state = 'open')) FROM rejected_records"); got != fmt.Sprintf("(1,%d)", values-1) {
		t.Errorf("after a correction: %s", got)
	}
}

// TestRetryOfWhatWasReadAgain: if the overlap has read the same record again, a retry still completes its row.
// If a stale copy of the record was read, it does not: the row is newer. For wide samples:
// TestRetryTransactions completes a row.
func TestRetryOfWhatWasReadAgain(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	k := keep(t, "transactions")
	at := func(day string) int64 {
		when, err := time.Parse(time.RFC3339, day)
		if err != nil {
			t.Fatal(err)
		}
		return when.UnixMilli()
	}
	bad := func(n int, day string) decode.Reject {
		return decode.Reject{Key: recordID(n), Field: "orderValue", Raw: `5`, Updated: at(day)}
	}
	first := k.load(t, sale(1, "NEW", day2, ""), sale(2, "NEW", day2, ""), sale(3, "NEW", day3, ""))
	k.reject(t, first, bad(1, day2))
	again := k.load(t, sale(1, "NEW", day2, ""), sale(2, "OLD", day1, ""))
	if again.Changes.Any() {
		t.Fatalf("%+v", again.Changes)
	}
	k.reject(t, again, bad(1, day2), bad(2, day1))
	k.retry(t, 1, 0, 1)
	k.wantRows(t, statusOf, "1 NEW 5", "2 NEW -", "3 NEW -")
	k.retry(t, 0, 0, 0)

	// Met once more, it is open once more, and the retry does not count as one that met it.
	k.reject(t, k.load(t, sale(3, "NEW", day3, "")), bad(1, day2))
	if got := one(t, k.w, "SELECT (state, times) FROM rejected_records WHERE key = '"+recordID(1)+
		"'"); got != "('open',3)" {
		t.Errorf("it is %s", got)
	}
}

// TestFreshnessOfBackfills: a requested backfill of old data says nothing about the freshness of the stream, whether it
// succeeds or not; one that is the first sync does. For wide samples: TestBackfillGoesOn runs the same backfills.
func TestFreshnessOfBackfills(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	x, w := serve(t, pastWorld(600, 20)), open(t)
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry, time.Now)
	m.Expect("acme", "transactions")
	if v, known := gathered(t, registry, "dealhouse_waiting_deletes"); v != 0 || !known {
		t.Errorf("%v rows wait before the first run: %v", v, known)
	}
	s, err := New(Options{Warehouse: w, Grace: patience, Metrics: m})
	if err != nil {
		t.Fatal(err)
	}
	standing := func() warehouse.StreamStatus {
		t.Helper()
		all, err := w.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m.Observe(all)
		if len(all) == 0 {
			return warehouse.StreamStatus{}
		}
		return all[0]
	}
	job := x.jobs(t, "acme", "transactions")[0]
	r := Range{From: x.Now().AddDate(0, 0, -60), To: x.Now().AddDate(0, 0, -50)}
	if b, err := s.Backfill(t.Context(), job, r); err != nil || b.Mode != warehouse.ModeBackfill ||
		b.Changes.Inserted == 0 {
		t.Fatalf("%+v, %v", b.RunRecord, err)
	}
	if st := standing(); st.LastSuccess != nil || st.LookedAt != nil || st.LastFull != nil {
		t.Errorf("after a backfill: %+v", st)
	}
	if v, _ := gathered(t, registry, "dealhouse_last_success_timestamp_seconds"); v != 0 {
		t.Errorf("a success at %v", v)
	}
	if _, known := gathered(t, registry, "dealhouse_look_age_seconds"); known {
		t.Error("a backfill is a look at the stream")
	}
	job.InitialFrom = x.Now().AddDate(0, 0, -45)
	first, err := s.Run(t.Context(), job)
	if err != nil || first.Mode != warehouse.ModeInitial {
		t.Fatalf("%+v, %v", first, err)
	}
	st := standing()
	if st.LastSuccess == nil || st.LookedAt == nil || st.LookedAt.After(*st.LastSuccess) || st.Watermark == nil {
		t.Fatalf("after the first sync: %+v", st)
	}
	x.failAfter(transactionsPath, 0)
	if _, err := s.Backfill(t.Context(), job, Range{From: r.From, To: r.To.AddDate(0, 0, 1)}); err == nil {
		t.Fatal("the backfill did not fail")
	}
	if after := standing(); after.Faults.Count != 0 || !after.LookedAt.Equal(*st.LookedAt) {
		t.Errorf("after a backfill that failed: %+v", after)
	}
	if v, _ := gathered(t, registry, "dealhouse_last_failure_timestamp_seconds"); v != 0 {
		t.Errorf("a failure of the stream at %v", v)
	}
}

// TestIncompleteRunsAreCounted: the series exists from the start, such a run counts as a failure, and its
// waiting rows are counted.
func TestIncompleteRunsAreCounted(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	m := NewMetrics(registry, func() time.Time { return now })
	m.Expect("acme", "coupons")
	runs := m.runs.WithLabelValues("acme", "coupons", warehouse.OutcomeIncomplete)
	if !slices.Contains(countedOutcomes, warehouse.OutcomeIncomplete) || value(t, runs) != 0 {
		t.Error("incomplete runs are not exported before the first")
	}
	coupons, err := catalog.Find("coupons")
	if err != nil {
		t.Fatal(err)
	}
	job := Job{Account: "acme", Stream: coupons}
	record := warehouse.RunRecord{Account: "acme", Stream: "coupons", Mode: "snapshot",
		Outcome: warehouse.OutcomeIncomplete, StartedAt: now, FinishedAt: now, Changes: warehouse.Changes{Kept: 12}}
	m.started(job, now)
	m.published(record)
	m.ended(job, record, &IncompleteError{}, now, now)
	success, _ := gathered(t, registry, "dealhouse_last_success_timestamp_seconds")
	failure, _ := gathered(t, registry, "dealhouse_last_failure_timestamp_seconds")
	waiting, _ := gathered(t, registry, "dealhouse_waiting_deletes")
	if value(t, runs) != 1 || success != 0 || failure != unix(now) || waiting != 12 {
		t.Errorf("%v runs, success at %v, failure at %v, %v rows wait", value(t, runs), success, failure, waiting)
	}
	record.Mode, record.Changes.Kept = "incremental", 0 // says nothing about what the list no longer has
	m.published(record)
	if waiting, _ := gathered(t, registry, "dealhouse_waiting_deletes"); waiting != 12 {
		t.Errorf("%v rows wait after an incremental run", waiting)
	}
}
