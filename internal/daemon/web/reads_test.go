package web

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestKept asks the same question many times at once: it is sent once, and all get its answer.
func TestKept(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	r := newReads(func() time.Time { return time.Unix(now.Load(), 0) }, patience)
	var asked atomic.Int64
	var broken atomic.Bool
	k := keep(r, 10*time.Second, func(ctx context.Context, question string) (int64, error) {
		if _, ok := ctx.Deadline(); !ok || ctx.Err() != nil {
			t.Error("the question has no time-out of its own")
		}
		if n := asked.Add(1); !broken.Load() {
			return n, nil
		}
		return 0, errors.New("broken: " + question)
	})
	gone, leave := context.WithCancel(context.Background())
	leave() // what a viewer who has left asked for is still read
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if a := k.get(gone, "x"); a.value != 1 || a.err != nil {
				t.Errorf("%+v", a)
			}
		})
	}
	group.Wait()
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	broken.Store(true)
	now.Add(9)
	if a := k.get(t.Context(), "x"); a.value != 1 || a.err != nil {
		t.Errorf("while it is fresh: %+v", a)
	}
	now.Add(1)
	if a := k.get(t.Context(), "x"); a.value != 1 || a.err == nil || !a.at.Equal(time.Unix(0, 0)) {
		t.Errorf("what was known is lost: %+v", a)
	}
	now.Add(9)
	if k.get(t.Context(), "x"); asked.Load() != 2 {
		t.Errorf("a failed question is asked again at once: %d", asked.Load())
	}
	now.Add(-100) // after the clock was set back, an answer is not kept forever
	broken.Store(false)
	if a := k.get(t.Context(), "x"); a.value != 3 {
		t.Errorf("%+v", a)
	}
	for i := range 3 * maxKept {
		k.get(t.Context(), string(rune('a'+i)))
	}
	if n := len(k.entries); n > maxKept {
		t.Errorf("%d answers are kept", n)
	}
}

// TestViewersDoNotWait asks while someone else does: what was known before is there at once.
func TestViewersDoNotWait(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	began, release := make(chan struct{}), make(chan struct{})
	k := keep(newReads(func() time.Time { return time.Unix(now.Load(), 0) }, patience), time.Second,
		func(context.Context, int) (int64, error) {
			if now.Load() > 0 {
				began <- struct{}{}
				<-release
			}
			return now.Load(), nil
		})
	k.get(t.Context(), 1)
	now.Store(100)
	asking := make(chan answer[int64])
	go func() { asking <- k.get(context.Background(), 1) }()
	<-began
	if a := k.get(t.Context(), 1); a.value != 0 || a.err != nil { // would wait forever
		t.Errorf("%+v", a)
	}
	close(release)
	if a := <-asking; a.value != 100 {
		t.Errorf("%+v", a)
	}
}

// TestReadsAreBounded asks many different questions at once.
func TestReadsAreBounded(t *testing.T) {
	t.Parallel()
	var at, most atomic.Int64
	full, release := make(chan struct{}, 100), make(chan struct{})
	k := keep(newReads(time.Now, patience), time.Hour, func(context.Context, int) (int, error) {
		most.Store(max(most.Load(), at.Add(1)))
		full <- struct{}{}
		<-release
		at.Add(-1)
		return 0, nil
	})
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() { k.get(context.Background(), i) })
	}
	for range maxReads {
		<-full
	}
	close(release)
	group.Wait()
	if n := most.Load(); n > maxReads {
		t.Errorf("%d questions at once", n)
	}
}
