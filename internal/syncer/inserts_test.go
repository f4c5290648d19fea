package syncer

import (
	"context"
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"dealhouse/internal/apisim"
	"dealhouse/internal/decode"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// fakeInserts stages this number of batches. The insert of each waits until it is told how to end.
func fakeInserts(ctx context.Context, t *testing.T, batches int) (ends []chan error, staged func() ([]int, error)) {
	t.Helper()
	r := newTestReader(jobsOf(t, nil, "acme", "transactions")[0])
	for range batches {
		ends = append(ends, make(chan error, 1))
	}
	var now, most atomic.Int64
	r.insert = func(ctx context.Context, f filled) ([]decode.Reject, error) {
		for n := now.Add(1); ; {
			if was := most.Load(); was >= n || most.CompareAndSwap(was, n) {
				break
			}
		}
		defer now.Add(-1)
		select {
		case err := <-ends[f.number-1]:
			return []decode.Reject{{Key: f.next}}, err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	var order []int
	r.stage = func(_ context.Context, f filled) error {
		if len(f.refused) != 1 || f.refused[0].Key != strconv.Itoa(f.number) || f.next != f.refused[0].Key {
			t.Errorf("batch %d came with what another one refused: %+v", f.number, f)
		}
		order = append(order, f.number)
		return nil
	}
	full, empty, ended := make(chan filled), make(chan *decode.Batch, batches), make(chan error, 1)
	go func() { ended <- Contain(func() error { return r.stageBatches(ctx, full, empty) }) }()
	fed, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(fed)
		defer close(full)
		for n := range batches {
			select {
			case full <- filled{batch: decode.NewBatch(r.run.Stream), next: strconv.Itoa(n + 1)}:
			case <-over:
				return
			}
		}
	}()
	return ends, func() ([]int, error) {
		err := <-ended
		if n := now.Load(); n != 0 {
			t.Errorf("%d inserts are still under way", n)
		}
		close(over)
		<-fed
		if most.Load() > insertsAtOnce {
			t.Errorf("%d inserts were under way at once", most.Load())
		}
		return order, err
	}
}

// Inserts end in any order, and batches count as staged in their own order.
func TestInsertsEndInAnyOrder(t *testing.T) {
	t.Parallel()
	const batches = 7
	ends, staged := fakeInserts(t.Context(), t, batches)
	for n := range batches { // of two, the second ends first
		if at := n ^ 1; at < batches {
			ends[at] <- nil
		} else {
			ends[n] <- nil
		}
	}
	if got, err := staged(); err != nil || !slices.Equal(got, []int{1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("%v, %v", got, err)
	}
}

// A batch does not count as staged when one before it has failed, although its own insert is done.
func TestInsertFailsBesideAnother(t *testing.T) {
	t.Parallel()
	ends, staged := fakeInserts(t.Context(), t, 5)
	ends[0] <- nil
	ends[2] <- nil
	ends[1] <- errInjected
	if got, err := staged(); !errors.Is(err, errInjected) || !slices.Equal(got, []int{1}) {
		t.Errorf("%v, %v", got, err)
	}
}

// A panic of an insert ends the run, and nothing else (syncer-10). Inserts beside it are waited for.
func TestInsertPanics(t *testing.T) {
	t.Parallel()
	r := newTestReader(jobsOf(t, nil, "acme", "transactions")[0])
	r.insert = func(context.Context, filled) ([]decode.Reject, error) { panic("fell over") }
	full := make(chan filled, 1)
	full <- filled{batch: decode.NewBatch(r.run.Stream)}
	if err := r.stageBatches(t.Context(), full, nil); !isPanic(err) {
		t.Error(err)
	}
}

// A run that is cancelled leaves no insert behind: TestMain would find its goroutine.
func TestInsertsAreCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ends, staged := fakeInserts(ctx, t, 5)
	ends[0] <- nil
	cancel()
	if got, err := staged(); !errors.Is(err, context.Canceled) || len(got) > 1 {
		t.Errorf("%v, %v", got, err)
	}
}

// fourPages returns a world of products whose walk has four pages, each of them a batch.
func fourPages(account string) apisim.Options {
	o := tinyWorld(31, account)
	o.Products = 30
	return o
}

// overtaken returns a hook for a walk of four pages. The insert of the second page waits until that of the third has
// ended. Then it ends as end says.
func overtaken(end func() error) hook {
	var inserts, requests, ended atomic.Int64
	third, begun := make(chan struct{}), make([]chan struct{}, 4)
	for n := range begun {
		begun[n] = make(chan struct{})
	}
	return func(_ context.Context, step string, after bool) error {
		switch {
		case step == "request" && !after:
			if n := requests.Add(1); n > 1 { // no page is there before the insert of the one before it has begun
				<-begun[n-2]
			}
		case step == "INSERT products_staging" && !after:
			n := inserts.Add(1)
			close(begun[n-1])
			if n == 2 {
				<-third
				return end()
			}
		case step == "INSERT products_staging" && ended.Add(1) == 2: // of the first and the third
			close(third)
		}
		return nil
	}
}

// TestOvertakenInsertFails lets the insert of a batch fail after that of the next one has ended. The place of the walk
// is before the one that failed: the next run reads it, and what comes after it.
func TestOvertakenInsertFails(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	x := serve(t, fourPages("products"))
	v := newWorker(t, x, w.Database(), "products", clocks{})
	v.seam.set(overtaken(func() error { return errInjected }))
	if _, err := v.Run(t.Context(), v.job(t, "products", "products")); !errors.Is(err, errInjected) {
		t.Fatal(err)
	}
	v.seam.set(nil)
	if n := leftovers(t, w); n != "16" {
		t.Errorf("%s rows are staged, want those of the first page and of the third", n)
	}
	continuesAfterFirst(t, v, w, x, "products")
}

// continuesAfterFirst wants the next run to read all pages but the first, and to end well.
func continuesAfterFirst(t *testing.T, v *worker, w *warehouse.Warehouse, x *world, account string) {
	t.Helper()
	x.ResetLog()
	record, err := v.Run(t.Context(), v.job(t, account, "products"))
	if err != nil || x.Requests("/v2/products") != 3 || record.Totals.Read != uint64(x.Count("products", account)) {
		t.Errorf("%d pages were read: %+v, %v", x.Requests("/v2/products"), record, err)
	}
	checkTruth(t, w, x, account, "products")
	checkTidy(t, w, account, "products")
}

// overtakenLife is the number of the life that a child of TestOvertakenInsertKilled lives.
const overtakenLife = "DEALHOUSE_TEST_OVERTAKEN_LIFE"

// TestOvertakenInsertKilled kills the process, with SIGKILL, when a batch is staged and the one before it is not.
// For wide samples: TestOvertakenInsertFails has the same batches, and TestKillMatrix kills.
func TestOvertakenInsertKilled(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	folder, listener := t.TempDir(), listen(t, "127.0.0.1:0")
	address := listener.Addr().String() // the same in both lives: it is the same service
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	for life := range 2 {
		out, err := enginetest.Life(t.Context(), folder, "TestOvertakenInsertKilledChild",
			overtakenLife+"="+strconv.Itoa(life)+" "+address).CombinedOutput()
		if life == 0 && !enginetest.Killed(err) || life == 1 && err != nil {
			t.Fatalf("life %d ended with %v:\n%s", life, err, out)
		}
	}
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// TestOvertakenInsertKilledChild is a life of TestOvertakenInsertKilled; by itself it does nothing.
func TestOvertakenInsertKilledChild(t *testing.T) {
	life, address, ok := strings.Cut(os.Getenv(overtakenLife), " ")
	if !ok {
		return
	}
	const account = "acme"
	sim, err := apisim.New(fourPages(account))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(sim)
	if err := server.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	server.Listener = listen(t, address)
	server.Start()
	t.Cleanup(server.Close)
	x := &world{Sim: sim, url: server.URL}
	w, err := warehouse.Open(t.Context(), warehouse.Options{DSN: enginetest.DSN()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() //nolint:errcheck // the process ends
	if _, err := w.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := newWorker(t, x, "", account, clocks{})
	if life == "0" {
		v.seam.set(overtaken(enginetest.Die))
		_, err := v.Run(t.Context(), v.job(t, account, "products"))
		t.Fatalf("it lived on: %v", err)
	}
	expireLeases(t, w, account)
	continuesAfterFirst(t, v, w, x, account)
}
