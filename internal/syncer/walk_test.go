package syncer

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/warehouse"
)

// leftovers counts the rows in the staging tables of products.
func leftovers(t *testing.T, w *warehouse.Warehouse) string {
	t.Helper()
	return one(t, w, "SELECT (SELECT count() FROM products_staging) + (SELECT count() FROM product_prices_staging)")
}

// stopped runs the job and interrupts it when it reaches the phase.
func stopped(t *testing.T, w *warehouse.Warehouse, job Job, at Phase) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := New(Options{Warehouse: w, Progress: func(p Progress) {
		if p.Phase == at && (at != PhaseReading || p.Totals.Read > 60) {
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if record, err := s.Run(ctx, job); err == nil || record.Outcome != warehouse.OutcomeStopped {
		t.Fatalf("stopped at %s: %v, outcome %s", at, err, record.Outcome)
	}
}

// TestWalkStoppedAnywhere interrupts a walk in each phase: the next run ends well, and nothing is left behind.
func TestWalkStoppedAnywhere(t *testing.T) {
	for _, phase := range []Phase{PhaseReading, PhaseComparing, PhaseMerging} {
		for name, full := range map[string]bool{"goes on": false, "starts over with --full": true} {
			t.Run(string(phase)+" "+name, func(t *testing.T) {
				t.Parallel()
				options := smallWorld()
				options.Settings.PageSize = 10
				x, w := serve(t, options), open(t)
				job := x.jobs(t, "acme", "products")[0]
				job.BatchRows = 20
				stopped(t, w, job, phase)
				job.Full = full
				r := syncAll(t, w, []Job{job})["acme/products"]
				if r.Changes.Inserted != 110 || one(t, w, "SELECT count() FROM products") != "110" {
					t.Errorf("%+v", r.Changes)
				}
				checkPrices(t, w, x, "acme")
				if n := leftovers(t, w); n != "0" {
					t.Errorf("%s staged rows are left", n)
				}
			})
		}
	}
}

// TestCheckpointWithoutItsRows is what a worker finds that loaded a checkpoint whose walk another one has ended.
func TestCheckpointWithoutItsRows(t *testing.T) {
	t.Parallel()
	x, w := serve(t, smallWorld()), open(t)
	job := x.jobs(t, "acme", "products")[0]
	now, err := w.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stale := warehouse.Run{ID: uuid.New(), Account: "acme", Stream: job.Stream, StartedAt: now.Add(-time.Hour)}
	if err := w.SaveCheckpoint(t.Context(), stale, warehouse.Checkpoint{RunID: stale.ID, StartedAt: stale.StartedAt, SavedAt: now, Next: "gone", Batch: 3,
		Totals: warehouse.Totals{Pages: 3, Read: 60, Staged: 60}}); err != nil {
		t.Fatal(err)
	}
	if r := syncAll(t, w, []Job{job})["acme/products"]; r.Changes.Inserted != 110 || r.Totals.Read != 110 {
		t.Errorf("%+v", r)
	}
}
