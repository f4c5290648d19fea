package syncer

import (
	"context"
	"sync/atomic"
	"testing"

	"dealhouse/internal/enginetest"
)

// TestFinishedAtOpening kills a worker at each step of its publication. Readers see all of the run as soon as the
// warehouse is opened again, before the stream runs. For wide samples: TestKillMatrix kills publications.
func TestFinishedAtOpening(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	const stream = "transactions"
	x, w := serve(t, tinyWorld(21, stream)), open(t)
	v := newWorker(t, x, w.Database(), stream, clocks{})
	if _, err := v.Run(t.Context(), v.job(t, stream, stream)); err != nil {
		t.Fatal(err)
	}
	for i, point := range []string{"INSERT sync_state_log intent", "ALTER TABLE transactions_versions ATTACH",
		"ALTER TABLE transactions_latest ATTACH"} {
		if i != 1 && !enginetest.Wide() {
			continue // between the tables of a stream
		}
		x.turn(t, stream, i)
		dieAfter(v.seam, point)
		if _, err := v.Run(t.Context(), v.job(t, stream, stream)); err == nil {
			t.Fatalf("killed after %s: the run succeeded", point)
		}
		v.seam.set(nil)
		expireLeases(t, w, stream)
		recovered, err := w.RecoverAll(t.Context())
		if err != nil || len(recovered) != 1 {
			t.Errorf("killed after %s: %d runs finished, %v", point, len(recovered), err)
		}
		checkTruth(t, w, x, stream, stream)
		checkTidy(t, w, stream, stream)
	}
}

// dieAfter lets the worker die once a step is done: nothing that it tries later happens.
func dieAfter(s *seam, point string) {
	var dead atomic.Bool
	s.set(func(_ context.Context, step string, after bool) error {
		if step == point && after {
			dead.Store(true)
		}
		if dead.Load() {
			return errInjected
		}
		return nil
	})
}
