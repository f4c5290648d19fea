package syncer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// TestInitialFromMovesBack sets initial_from back after the first load, whether that was read in windows or as one
// list: each run says that a backfill is needed, with its command, until one has read all that is missing.
func TestInitialFromMovesBack(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	for _, days := range []int{300, 1} {
		t.Run(fmt.Sprintf("%d days", days), func(t *testing.T) {
			t.Parallel()
			x, w := serve(t, pastWorld(400, 50)), open(t)
			job := x.jobs(t, "acme", "transactions")[0]
			first := x.Now().AddDate(0, 0, -days)
			earlier := first.AddDate(0, 0, -20)
			job.InitialFrom = first
			told := func(job Job) string {
				t.Helper()
				return strings.Join(syncAll(t, w, []Job{job})["acme/transactions"].Warnings, " ")
			}
			if got := told(job) + told(job); got != "" {
				t.Errorf("%q", got)
			}
			at := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
			for _, c := range []struct {
				from time.Time
				want string
			}{
				{first.Add(time.Hour), ""}, {first, ""},
				{earlier, "`dealhouse backfill transactions --account acme --from " + at(earlier) + " --to " + at(first) + "`"},
				{time.Time{}, "`dealhouse sync transactions --account acme --full`"},
			} {
				job.InitialFrom = c.from
				if got := told(job); c.want == "" && got != "" || !strings.Contains(got, c.want) {
					t.Errorf("from %s: %q, want %q", c.from, got, c.want)
				}
				known, err := w.LoadedFrom(t.Context())
				if from := known[warehouse.StreamID{Account: "acme", Stream: "transactions"}]; err != nil || !from.Equal(first) ||
					(job.Behind(from) == "") != (c.want == "") {
					t.Errorf("loaded from %s, want %s: %v", from, first, err)
				}
			}
			job.InitialFrom = earlier
			backfillAll(t, w, job, Range{From: earlier, To: first.Add(-time.Hour)}) // an hour is missing
			if got := told(job); !strings.Contains(got, "backfill") {
				t.Errorf("after a part: %q", got)
			}
			backfillAll(t, w, job, Range{From: earlier, To: first})
			if got := told(job); got != "" {
				t.Errorf("after the backfill: %q", got)
			}
			job.InitialFrom, job.Full = time.Time{}, true
			told(job)
			if job.Full = false; told(job) != "" {
				t.Errorf("after a full read: %q", told(job))
			}
			checkTruth(t, w, x, "acme", "transactions")
		})
	}
}

// TestRetriesOfFailedRuns counts the attempts that a run made before it failed.
func TestRetriesOfFailedRuns(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x, w := serve(t, pastWorld(400, 50)), open(t)
	s, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	x.SetFault(func(*http.Request) apisim.Fault {
		return apisim.Fault{Kind: apisim.FaultStatus, Status: http.StatusBadGateway}
	})
	for _, job := range x.jobs(t, "acme", "transactions", "products", "payouts") {
		if r, err := s.Run(t.Context(), job); err == nil || r.Totals.Retries != 3 {
			t.Errorf("%s: %d retries, %v", job.Stream.Name, r.Totals.Retries, err)
		}
	}
	job := x.jobs(t, "acme", "transactions")[0]
	b, err := s.Backfill(t.Context(), job, everything(x, 400*24*time.Hour, 1))
	if err == nil || b.Totals.Retries != 3 {
		t.Errorf("a backfill: %d retries, %v", b.Totals.Retries, err)
	}
	if got := one(t, w, "SELECT groupUniqArray(retries) FROM sync_runs WHERE outcome = 'failed'"); got != "[3]" {
		t.Errorf("retries in sync_runs: %s", got)
	}
}
