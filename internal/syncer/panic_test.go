package syncer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// panicAt is a hook that panics at a point of the seam.
func panicAt(point string) hook {
	return func(_ context.Context, step string, _ bool) error {
		if step == point {
			panic("fell over at " + point)
		}
		return nil
	}
}

// A panic, in whichever goroutine of a run, ends that run as failed, and nothing else. The next run
// makes up for it (syncer-10).
func TestPanicsAreContained(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	x := serve(t, tinyWorld(12, "transactions"))
	c := cell{world: x, store: w, worker: newWorker(t, x, w.Database(), "transactions", clocks{}), stream: "transactions"}
	metrics := NewMetrics(prometheus.NewRegistry(), nil)
	c.metrics = metrics
	c.clean(t)
	points := []string{
		"request", // where pages are fetched ahead
		"decode",
		"INSERT transactions_staging",
		"INSERT transactions_changes",
		"INSERT transactions_delta",
		"ALTER TABLE transactions_latest ATTACH",
	}
	backfillPoints := []string{"INSERT transactions_staging", "request", "INSERT transactions_changes"}
	if !enginetest.Wide() { // one for each goroutine of a run
		points, backfillPoints = points[:2], nil
	}
	for turn, point := range points {
		t.Run(point, func(t *testing.T) {
			c.turn(t, c.stream, turn)
			c.seam.set(panicAt(point))
			record, err := c.Run(t.Context(), c.job(t, c.stream, c.stream))
			c.seam.set(nil)
			checkFallen(t, w, record, err)
			if enginetest.Wide() || turn == len(points)-1 { // else the next run makes up for both
				c.clean(t)
			}
		})
	}
	for i, point := range backfillPoints {
		t.Run("backfill/"+point, func(t *testing.T) {
			c.turn(t, c.stream, len(points)+i) // a list that has not changed is not compared
			asked := Range{From: x.Now().AddDate(0, 0, -300), To: x.Now(), Window: 60 * 24 * time.Hour}
			c.seam.set(panicAt(point))
			record, err := c.Backfill(t.Context(), c.job(t, c.stream, c.stream), asked)
			c.seam.set(nil)
			checkFallen(t, w, record.RunRecord, err)
			if _, err := c.Backfill(t.Context(), c.job(t, c.stream, c.stream), asked); err != nil {
				t.Fatal(err)
			}
			c.clean(t)
		})
	}
	checkDerived(t, w, c.stream, c.stream)
	if n := value(t, metrics.panics.WithLabelValues(c.stream, c.stream)); n != float64(len(points)+len(backfillPoints)) {
		t.Errorf("%v panics were counted", n)
	}
}

// checkFallen wants a run to have ended in a panic, and its row to say so.
func checkFallen(t *testing.T, w *warehouse.Warehouse, record warehouse.RunRecord, err error) {
	t.Helper()
	p, panicked := errors.AsType[*PanicError](err)
	if !panicked || record.Outcome != warehouse.OutcomeFailed || !strings.Contains(record.Error, "fell over") {
		t.Fatalf("%+v, %v", record, err)
	}
	if !strings.Contains(string(p.Stack), "panic_test.go") {
		t.Errorf("the stack is not that of the panic:\n%s", p.Stack)
	}
	// A window that is given up because another one panicked counts as failed, not as stopped: nobody has stopped it.
	got := one(t, w, "SELECT concat(argMax(outcome, finished_at), ', ', toString(countIf(outcome = 'stopped')), ' stopped') FROM sync_runs")
	if got != warehouse.OutcomeFailed+", 0 stopped" {
		t.Errorf("sync_runs says %s", got)
	}
}
