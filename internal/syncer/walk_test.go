package syncer

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// leftovers counts the rows in the staging table of products.
func leftovers(t *testing.T, w *warehouse.Warehouse) string {
	t.Helper()
	return one(t, w, "SELECT count() FROM products_staging")
}

// stopped runs the job and tells it to stop when it reaches the phase.
func stopped(t *testing.T, w *warehouse.Warehouse, job Job, at Phase) (warehouse.RunRecord, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := New(Options{Warehouse: w, Grace: patience, Progress: func(p Progress) {
		if p.Phase == at && (at != PhaseReading || p.Totals.Read > 60) {
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s.Run(ctx, job)
}

// TestStoppedWalk tells a walk to stop in each phase. While it reads, it stages what it has read and saves its place;
// once it has read everything, it publishes it. The next run ends well, and nothing is left behind.
func TestStoppedWalk(t *testing.T) {
	enginetest.Long(t)
	for _, phase := range []Phase{PhaseReading, PhaseComparing, PhaseMerging} {
		if phase == PhaseComparing && !enginetest.Wide() {
			continue // once all is read, the phases differ little
		}
		for name, full := range map[string]bool{"goes on": false, "starts over with --full": true} {
			if full && phase != PhaseReading && os.Getenv(wholeMatrix) == "" {
				continue // nothing is left to continue
			}
			t.Run(string(phase)+" "+name, func(t *testing.T) {
				t.Parallel()
				options := smallWorld()
				options.Settings.PageSize = 10
				x, w := serve(t, options), open(t)
				job := x.jobs(t, "acme", "products")[0]
				job.BatchRows = 50
				first, err := stopped(t, w, job, phase)
				if phase != PhaseReading && (err != nil || first.Changes.Inserted != 110) {
					t.Errorf("%+v, %v", first, err)
				}
				if phase == PhaseReading {
					if err == nil || first.Outcome != warehouse.OutcomeStopped {
						t.Fatalf("%v, outcome %s", err, first.Outcome)
					}
					if n := one(t, w, "SELECT count() FROM products_staging"); n != fmt.Sprint(first.Totals.Staged) {
						t.Errorf("%s rows of %d are staged: what was in hand is lost", n, first.Totals.Staged)
					}
					dry := job
					dry.DryRun = true
					if _, err := stopped(t, w, dry, phase); err == nil {
						t.Error("the dry run was not stopped")
					}
				}
				job.Full = full
				requests := x.counted(t, &job)
				all := syncAll(t, w, []Job{job})["acme/products"].Totals.Pages
				if n := requests.n.Load(); phase == PhaseReading && !full && n+first.Totals.Pages != all {
					t.Errorf("of %d pages, %d were read and then %d", all, first.Totals.Pages, n)
				}
				if n := one(t, w, "SELECT count() FROM products"); n != "110" {
					t.Errorf("%s products", n)
				}
				checkPrices(t, w, x, "acme")
				if n := leftovers(t, w); n != "0" {
					t.Errorf("%s staged rows are left", n)
				}
			})
		}
	}
}

// TestCheckpointWithoutItsRows has a worker find the checkpoint of a walk whose rows are gone, because another
// worker has ended the walk.
func TestCheckpointWithoutItsRows(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x, w := serve(t, smallWorld()), open(t)
	job := x.jobs(t, "acme", "products")[0]
	now, err := w.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stale := warehouse.Run{ID: uuid.New(), Account: "acme", Stream: job.Stream, StartedAt: now.Add(-time.Hour)}
	if err := w.Writer(stale).SaveCheckpoint(t.Context(),
		warehouse.Checkpoint{RunID: stale.ID, StartedAt: stale.StartedAt, SavedAt: now, Next: "gone", Batch: 3,
			Totals: warehouse.Totals{Pages: 3, Read: 60, Staged: 60}}); err != nil {
		t.Fatal(err)
	}
	if r := syncAll(t, w, []Job{job})["acme/products"]; r.Changes.Inserted != 110 || r.Totals.Read != 110 {
		t.Errorf("%+v", r)
	}
}
