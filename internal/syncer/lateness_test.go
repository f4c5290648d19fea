package syncer

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/warehouse"
)

// TestLateness has a service that shows changes some time after their updatedAt. Those within the overlap are found by
// the next run, the others by a full one, and late_changes says how late each was. What is late only because no run
// came before is not counted, and neither is a row that changes without a new updatedAt.
func TestLateness(t *testing.T) {
	t.Parallel()
	x, w := serve(t, pastWorld(-1, 50)), open(t)
	job := x.jobs(t, "acme", "transactions")[0]
	job.Overlap = 10 * time.Minute
	put := func(n int, at time.Time) {
		t.Helper()
		if err := x.Put("transactions", "acme", transaction(n, at)); err != nil {
			t.Fatal(err)
		}
	}
	run := func(full bool) warehouse.RunRecord {
		t.Helper()
		job.Full = full
		return syncAll(t, w, []Job{job})["acme/transactions"]
	}
	put(1, x.Now().Add(-48*time.Hour)) // loaded by the first run, which is late for nobody
	put(2, x.Now())
	run(false)
	began := x.Now()
	x.Advance(3 * time.Hour)
	late := []time.Duration{20 * time.Second, time.Minute, 5 * time.Minute, 9 * time.Minute, 40 * time.Minute, 3 * time.Hour}
	for i, l := range late {
		put(10+i, began.Add(-l))
	}
	put(30, began.Add(time.Minute)) // changed after that run began: only the schedule makes it late
	if r := run(false); r.Changes.Inserted != 5 {
		t.Errorf("%+v", r.Changes)
	}
	x.Advance(time.Hour)
	put(1, x.Now()) // on time
	if r := run(true); r.Changes.Inserted != 2 || r.Changes.Updated != 1 {
		t.Errorf("%+v", r.Changes)
	}
	// The later run that missed it counts for what only the full one found.
	want := slices.Clone(late)
	want[4], want[5] = want[4]+3*time.Hour, want[5]+3*time.Hour
	got, err := w.Lateness(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i].Half, got[i].Most, got[i].Latest = got[i].Half.Round(time.Second), got[i].Most.Round(time.Second), got[i].Latest.Round(time.Second)
	}
	if d := cmp.Diff([]warehouse.Lateness{{StreamID: warehouse.StreamID{Account: "acme", Stream: "transactions"}, Late: 6, Missed: 2,
		Half: want[2], Most: want[5], Latest: want[5]}}, got); d != "" {
		t.Error(d)
	}
	if seen := one(t, w, "SELECT arraySort(groupArray((found_by, round(late_seconds)))) FROM late_changes"); seen !=
		"[('full',13200),('full',21600),('overlap',20),('overlap',60),('overlap',300),('overlap',540)]" {
		t.Error(seen)
	}
}

// TestBeforeInitialFrom loads transactions from a time on. What is from before that is no difference, and a full run
// that loads it finds nothing late.
func TestBeforeInitialFrom(t *testing.T) {
	t.Parallel()
	x, w := serve(t, pastWorld(-1, 50)), open(t)
	job := x.jobs(t, "acme", "transactions")[0]
	job.InitialFrom = x.Now().AddDate(0, 0, -30)
	for n, days := range []int{60, 45, 10, 1} {
		if err := x.Put("transactions", "acme", transaction(n, x.Now().AddDate(0, 0, -days))); err != nil {
			t.Fatal(err)
		}
	}
	syncAll(t, w, []Job{job})
	x.Advance(time.Hour)
	if r := syncAll(t, w, []Job{job})["acme/transactions"]; r.Mode != warehouse.ModeIncremental {
		t.Errorf("%+v", r)
	}
	if n := one(t, w, "SELECT count() FROM transactions"); n != "2" {
		t.Errorf("%s rows are loaded", n)
	}
	look := job
	look.Full, look.DryRun, look.Differences = true, true, 10
	if found := syncAll(t, w, []Job{look})["acme/transactions"].Differences; found.All != 0 {
		t.Errorf("%+v", found)
	}
	job.Full = true
	if r := syncAll(t, w, []Job{job})["acme/transactions"]; r.Changes.Inserted != 2 {
		t.Errorf("%+v", r.Changes)
	}
	if late, err := w.Lateness(t.Context()); err != nil || len(late) > 0 {
		t.Errorf("%+v %v", late, err)
	}
}
