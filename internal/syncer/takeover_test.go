package syncer

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
)

// TestTakenOver lets a worker stand still for longer than its lease, at each step from the last look at the lease to
// the end of the publication. Meanwhile another one loads a newer world. When the first wakes up, it must not bring the
// old rows back, nor leave anything that stops later runs. TestLostAndFailed takes a walk over.
func TestTakenOver(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	for kind, stream := range []string{"coupons", "products"}[:enginetest.Sample(1, 2)] { // without and with a checkpoint
		t.Run(stream, func(t *testing.T) {
			beside(t)
			x := serve(t, tinyWorld(14, stream))
			slow, quick := newWorker(t, x, w.Database(), stream, clocks{}), newWorker(t, x, w.Database(), stream, clocks{})
			if _, err := slow.Run(t.Context(), slow.job(t, stream, stream)); err != nil {
				t.Fatal(err)
			}
			for i, at := range []struct {
				point string
				after bool
			}{
				{"INSERT " + stream + "_delta", true}, {"INSERT sync_state_log intent", false},
				{"INSERT sync_state_log intent", true},
				{"ALTER TABLE " + stream + "_latest ATTACH", false}, {"INSERT sync_state_log intent cleared", false},
			} {
				if (i+kind)%enginetest.Sample(5, 2) != 0 && os.Getenv(wholeMatrix) == "" {
					continue
				}
				x.turn(t, stream, 2*i)
				paused, wake, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
				hit := false
				slow.seam.set(func(_ context.Context, step string, after bool) error {
					if step == at.point && after == at.after && !hit {
						hit = true
						close(paused)
						<-wake
					}
					return nil
				})
				go func() {
					_, err := slow.Run(t.Context(), slow.job(t, stream, stream))
					ended <- err
				}()
				<-paused
				x.turn(t, stream, 2*i+1)
				back := quick.takeOver(t, w, stream)
				job := quick.job(t, stream, stream)
				job.Full = stream == "products" // a walk that is continued would show pages of the older world
				if _, err := quick.Run(t.Context(), job); err != nil {
					t.Errorf("paused at %s: the other worker: %v", at.point, err)
				}
				back()
				want := shownRows(t, w, stream, stream)
				checkTruth(t, w, x, stream, stream)
				close(wake)
				if err := <-ended; err != nil {
					t.Logf("paused at %s (after: %t): it ended with: %v", at.point, at.after, err)
				}
				if d := cmp.Diff(want, shownRows(t, w, stream, stream)); d != "" {
					t.Errorf("paused at %s: the old rows are back: %s", at.point, d)
				}
				slow.seam.set(nil)
				if _, err := quick.Run(t.Context(), job); err != nil {
					t.Errorf("paused at %s: the run after both: %v", at.point, err)
				}
				checkTruth(t, w, x, stream, stream)
				checkTidy(t, w, stream, stream)
			}
			checkDerived(t, w, stream, stream)
		})
	}
}

// TestTakenInTheSameMoment lets two workers find the stream free. The later one gets it. The other finds out before it
// publishes, and begins again. It leaves nothing of its first attempt, which the later one does not know about. For
// wide samples: TestTakenOver has two workers on one stream.
func TestTakenInTheSameMoment(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	for _, stream := range []string{"coupons", "products"} {
		x := serve(t, tinyWorld(15, stream))
		a, b := newWorker(t, x, w.Database(), stream, clocks{}), newWorker(t, x, w.Database(), stream, clocks{})
		stop := func(v *worker, point string, after bool, n int64) (paused, wake chan struct{}) {
			paused, wake = make(chan struct{}), make(chan struct{})
			var hits atomic.Int64
			v.seam.set(func(_ context.Context, step string, at bool) error {
				if step == point && at == after && hits.Add(1) == n {
					close(paused)
					<-wake
				}
				return nil
			})
			return paused, wake
		}
		run := func(v *worker) chan error {
			ended := make(chan error, 1)
			job := v.job(t, stream, stream)
			job.BatchRows = 1000
			go func() {
				_, err := v.Run(t.Context(), job)
				ended <- err
			}()
			return ended
		}
		aAtLease, aOn := stop(a, "INSERT sync_state_log lease", false, 1)
		aEnded := run(a)
		<-aAtLease
		bAtLease, bGo := stop(b, "SELECT toUnixTimestamp64Micro(now64(6)),", true,
			1) // its first look at the state is at the lease
		bEnded := run(b)
		<-bAtLease
		aAtDelta, aGo := stop(a, "INSERT "+stream+"_delta", true, 1)
		close(aOn)
		<-aAtDelta
		close(bGo)
		if err := <-bEnded; err != nil {
			t.Error(err)
		}
		close(aGo)
		if err := <-aEnded; err != nil {
			t.Error(err)
		}
		checkTruth(t, w, x, stream, stream)
		checkTidy(t, w, stream, stream)
	}
}

// TestLostAndFailed lets a walk lose its stream without knowing, and then fail for another reason. Nobody continues it,
// because the other worker has cleared the checkpoint. So the walk removes its rows itself.
func TestLostAndFailed(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	x := serve(t, tinyWorld(16, "products"))
	slow, quick := newWorker(t, x, w.Database(), "products", clocks{}), newWorker(t, x, w.Database(), "products", clocks{})
	paused, wake, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var places atomic.Int64
	slow.seam.set(func(_ context.Context, step string, after bool) error {
		switch {
		case step != "INSERT sync_state_log checkpoint":
		case after && places.Load() == 1:
			close(paused)
			<-wake
		case !after && places.Add(1) > 1: // a batch is staged, and its place is never saved
			return errInjected
		}
		return nil
	})
	go func() {
		_, err := slow.Run(t.Context(), slow.job(t, "products", "products"))
		ended <- err
	}()
	<-paused
	defer quick.takeOver(t, w, "products")()
	job := quick.job(t, "products", "products")
	job.Full = true
	if _, err := quick.Run(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	close(wake)
	if err := <-ended; !errors.Is(err, errInjected) {
		t.Fatalf("it ended with %v", err)
	}
	checkTruth(t, w, x, "products", "products")
	checkTidy(t, w, "products", "products")
}
