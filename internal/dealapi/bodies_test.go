package dealapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// bomb returns a gzip body that unpacks to the size. Its text is the beginning of valid JSON.
func bomb(t *testing.T, size int) []byte {
	t.Helper()
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(w, `{"data":["`)
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for range size >> 20 {
		_, _ = w.Write(chunk)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// peak returns the most heap memory that the program has while f runs, in use or not given back.
func peak(f func()) (bytes uint64) {
	debug.FreeOSMemory()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			metrics.Read(sample)
			bytes = max(bytes, sample[0].Value.Uint64()+sample[1].Value.Uint64())
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	f()
	close(done)
	<-ended
	return bytes
}

// sideBySide makes n requests at the same time, with a client each, and returns their errors.
func sideBySide(t *testing.T, n int, handler http.HandlerFunc) []error {
	t.Helper()
	bodies := NewBodies()
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		r := newRig(t, handler, func(o *Options) { o.Bodies, o.MaxAttempts = bodies, 1 })
		group.Go(func() { _, errs[i] = r.Get(t.Context(), couponsPath+"/7", nil) })
	}
	group.Wait()
	return errs
}

// Six bombs at once fit into the memory of the deployment, with room for everything else.
func TestBombsDoNotAddUp(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
	packed := bomb(t, 300<<20)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(460 << 20))
	// The peak must show memory in use, not garbage that a slow collector has not freed yet.
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	serve := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed)
	}
	one := peak(func() { sideBySide(t, 1, serve) })
	six := peak(func() {
		for _, err := range sideBySide(t, 6, serve) {
			wantKind(t, err, KindTooLarge)
		}
	})
	t.Logf("one bomb: %d MiB; six at once: %d MiB", one>>20, six>>20)
	if six > 320<<20 {
		t.Errorf("six bombs at once took %d MiB; one takes %d MiB", six>>20, one>>20)
	}
}

// Large pages of all streams of an account are read at the same time: none waits for another to end.
func TestLargePagesAreReadSideBySide(t *testing.T) {
	page := []byte(`{"x":"` + strings.Repeat("x", 10<<20) + `"}`)
	var here atomic.Int32
	all := make(chan struct{})
	for _, err := range sideBySide(t, 6, func(w http.ResponseWriter, req *http.Request) {
		_, _ = w.Write(page[:len(page)-10]) // more than fits into the buffers between: it is read
		if here.Add(1) == 6 {
			close(all)
		}
		select {
		case <-all:
			_, _ = w.Write(page[len(page)-10:])
		case <-req.Context().Done():
		}
	}) {
		if err != nil {
			t.Error(err)
		}
	}
}

// Bodies that need all the room get it in turn, and waiting costs no attempt.
func TestHugePagesTakeTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
	page := []byte(`{"x":"` + strings.Repeat("x", 20<<20) + `"}`)
	for _, err := range sideBySide(t, roomyBodies+2,
		func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(page) }) {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestWaitingForRoom(t *testing.T) {
	bodies := NewBodies()
	if err := bodies.large.Acquire(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	reading := make(chan struct{}, 2)
	page := []byte(`{"x":"` + strings.Repeat("x", 20<<20) + `"}`)
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(page[:roomyBytes+1])
		reading <- struct{}{}
		_, _ = w.Write(page[roomyBytes+1:])
	}, func(o *Options) { o.Bodies, o.MaxAttempts = bodies, 1 })

	// A request that waits can be cancelled.
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-reading
		cancel()
	}()
	_, err := r.Get(ctx, couponsPath+"/7", nil)
	wantKind(t, err, KindCanceled)
	if !bodies.roomy.TryAcquire(roomyBodies) {
		t.Fatal("the place of a body that was given up is still taken")
	}
	bodies.roomy.Release(roomyBodies)

	bodies.large.Release(1)
	if _, err := r.Get(t.Context(), couponsPath+"/7", nil); err != nil {
		t.Error(err)
	}
}

// The time that an attempt waits for room does not count.
func TestWaitingTakesNoTimeOfTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watched, watch, end := startStopwatch(t.Context(), 50*time.Millisecond)
		defer end()
		time.Sleep(20 * time.Millisecond)
		if err := watch.hold(func(context.Context) error {
			time.Sleep(time.Hour)
			return watched.Err()
		}); err != nil {
			t.Errorf("the time went on: %v", err)
		}
		resumed := time.Now()
		<-watched.Done()
		if left := time.Since(resumed); left != 30*time.Millisecond {
			t.Errorf("after the wait it had %s left, want 30ms", left)
		}
		if cause := context.Cause(watched); !errors.Is(cause, context.DeadlineExceeded) {
			t.Error(cause)
		}
		if err := watch.hold(func(context.Context) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an attempt whose time was up went on: %v", err)
		}
	})
}

func TestNextSize(t *testing.T) {
	for _, limit := range []int64{1, 1000, smallBody, trustedBytes, trustedBytes + 1, roomyBytes, roomyBytes + 5,
		defaultMaxBodyBytes} {
		for size := int64(0); size < limit+1; {
			next := nextSize(size, limit)
			if next <= size || next > limit+1 || size < trustedBytes && next > trustedBytes || size < roomyBytes &&
				next > roomyBytes {
				t.Fatalf("limit %d: %d grows to %d", limit, size, next)
			}
			size = next
		}
	}
}
