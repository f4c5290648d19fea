package warehouse

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/chdb"
	"dealhouse/internal/enginetest"
)

// gated is a server that holds back answers or statements, as a network or a paused machine does.
type gated struct {
	http.Handler
	mu     sync.Mutex
	answer func(statement string) // called when the answer to a statement is ready, before it is sent
	before func(statement string) // called before a statement is executed
	// instead answers in place of the server, or returns false. done does what the server would do.
	instead func(w http.ResponseWriter, statement string, done func(http.ResponseWriter)) bool
}

// breaks makes it answer differently from the server; nil ends that.
func (g *gated) breaks(instead func(w http.ResponseWriter, statement string, done func(http.ResponseWriter)) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.instead = instead
}

func (g *gated) set(before, answer func(string)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.before, g.answer = before, answer
}

func (g *gated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	statement := r.URL.Query().Get("query")
	if statement == "" {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		statement, r.Body = string(body), io.NopCloser(strings.NewReader(string(body)))
	}
	g.mu.Lock()
	before, answer, instead := g.before, g.answer, g.instead
	g.mu.Unlock()
	if instead != nil && instead(w, statement, func(w http.ResponseWriter) { g.Handler.ServeHTTP(w, r) }) {
		return
	}
	if before != nil {
		before(statement)
	}
	if answer == nil {
		g.Handler.ServeHTTP(w, r)
		return
	}
	ready := httptest.NewRecorder()
	g.Handler.ServeHTTP(ready, r)
	answer(statement)
	for name, values := range ready.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(ready.Code)
	_, _ = w.Write(ready.Body.Bytes())
}

// patience is how long tests wait for what must happen. It only ends tests that hang, even on the slowest machine.
const patience = 10 * time.Minute

// door passes statements to the engine of w over HTTP. A client that has to wait for its turn, on a slow machine,
// is not refused.
func door(w *Warehouse) http.Handler {
	return w.Engine().Handler(chdb.HandlerOptions{AllowWrites: true, MaxWait: patience, Grace: patience})
}

// through opens the database of w over HTTP, through a gate.
func through(t *testing.T, w *Warehouse, o Options) (*Warehouse, *gated) {
	t.Helper()
	g := &gated{Handler: door(w)}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	o.DSN, o.Database, o.Backoff = server.URL, w.database, time.Millisecond
	far, err := Open(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, far.Close()) })
	return far, g
}

// replica opens the database of w for a worker with a replica of its own: the tables of runs are in a database that
// only this worker has.
func replica(t *testing.T, w *Warehouse, name string) (*Warehouse, *gated) {
	t.Helper()
	far, g := through(t, w, Options{})
	far.dialect = w.dialect
	far.dialect.localDatabase = "`" + w.database + "_" + name + "`."
	for _, create := range far.dialect.createLocal() {
		must(t, far.exec(t.Context(), create))
	}
	t.Cleanup(func() { must(t, w.exec(context.Background(), "DROP DATABASE IF EXISTS "+far.dialect.local()+" SYNC")) })
	g.breaks(func(answer http.ResponseWriter, statement string, _ func(http.ResponseWriter)) bool {
		if !strings.HasPrefix(statement, "SYSTEM SYNC REPLICA ") { // the door refuses such statements
			return false
		}
		if err := w.exec(context.Background(), statement); err != nil {
			refuse(answer, codeTimeout, err.Error())
		}
		return true
	})
	return far, g
}

// pause stops the worker that has the lease: it no longer renews the lease, however long the test takes.
func pause(l *Lease) {
	l.stop()
	l.done.Wait()
}

// outlive makes w notice that a stopped worker has not renewed the lease of a stream for longer than a lease lasts.
func outlive(t *testing.T, w *Warehouse, r Run) {
	t.Helper()
	now := time.Now()
	w.sightings.now = func() time.Time { return now }
	_, err := w.Acquire(t.Context(), r)
	if _, held := errors.AsType[*HeldError](err); !held {
		t.Fatalf("the stream is free: %v", err)
	}
	// The version of the lease is ahead of the clock by the time that the first reading took. After the duration of a
	// lease it is not.
	for text(t, w, "SELECT max(version) < toUnixTimestamp64Micro(now64(6)) FROM sync_state_log")[0] != "1" {
	}
	now = now.Add(leaseTTL)
}

// TestTwoTakeOneStream makes two workers on two replicas find a stream free at the same moment. Exactly one of them
// publishes, and the next run has all rows.
func TestTwoTakeOneStream(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	ids, both := []string{idA, idB}, sync.WaitGroup{}
	errs, looked := make([]error, 2), sync.WaitGroup{}
	looked.Add(2)
	for i := range 2 {
		far, g := replica(t, w, []string{"one", "two"}[i])
		r := begin(t, far, "coupons")
		stage(t, far, r, "["+coupon(ids[i], "c", day1)+"]")
		var first sync.Once
		g.set(nil, func(s string) {
			if strings.Contains(s, selectLease(false)) {
				first.Do(func() { looked.Done(); looked.Wait() })
			}
		})
		both.Go(func() { errs[i] = publishAsRun(t.Context(), far, r) })
	}
	both.Wait()
	if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), ErrLeaseLost) {
		t.Fatalf("one of two has to publish, and the other to find its lease lost: %v", errs)
	}
	winner := ids[0]
	if errs[0] != nil {
		winner = ids[1]
	}
	wantRows(t, w, "SELECT id FROM coupons", winner)
	load(t, w, "coupons", Part, "["+coupon(idA, "c", day1)+","+coupon(idB, "c", day1)+"]")
	wantRows(t, w, "SELECT id FROM coupons ORDER BY id", idA, idB)
}

// publishAsRun takes the stream and publishes the one row that the run has staged.
func publishAsRun(ctx context.Context, w *Warehouse, r Run) error {
	l, err := w.Acquire(ctx, r)
	if err != nil {
		return err
	}
	x := w.Writer(r)
	_, err = x.Recover(ctx, l, r.ID)
	var c Changes
	if err == nil {
		var staged Set
		if staged, err = x.CountStaged(ctx); err == nil {
			c, err = x.Plan(ctx, Part, staged)
		}
	}
	var p Prepared
	if err == nil {
		p, err = x.Prepare(ctx, c, l.Begun())
	}
	if err == nil {
		err = x.Publish(ctx, l, Intent{RunID: r.ID, MergedAt: l.Begun(), Prepared: p,
			Record: RunRecord{Account: r.Account, Stream: r.Stream.Name, RunID: r.ID, StartedAt: r.StartedAt,
				FinishedAt: l.Begun(), Outcome: OutcomeSuccess, Changes: c}})
	}
	return errors.Join(err, l.Release(ctx))
}

// TestBeatOfAPausedWorker checks that a late beat does not take a stream back: the worker stopped between reading the
// lease and the beat, for so long that another one has the stream.
func TestBeatOfAPausedWorker(t *testing.T) {
	t.Parallel()
	w := open(t)
	far, g := replica(t, w, "one")
	r, next := begin(t, far, "coupons"), begin(t, w, "coupons")
	slow, err := far.Acquire(t.Context(), r)
	must(t, err)
	pause(slow)
	outlive(t, w, next)
	looked, goOn, beaten := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	g.set(nil, func(s string) {
		if strings.Contains(s, selectLease(false)) {
			once.Do(func() { close(looked); <-goOn })
		}
	})
	go func() { beaten <- slow.beat(context.WithoutCancel(t.Context())) }()
	<-looked
	l, err := w.Acquire(t.Context(), next)
	must(t, err)
	close(goOn)
	if err := <-beaten; err != nil && !errors.Is(err, ErrLeaseLost) {
		t.Error(err)
	}
	must(t, l.Check(t.Context()))
	if err := slow.Check(t.Context()); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("the paused worker has the stream again: %v", err)
	}
	must(t, slow.Release(t.Context()), l.Check(t.Context()), l.Release(t.Context()))
}

// TestAttachmentAfterATakeover cuts a worker off from its replica while it attaches. Another one, on another replica,
// takes the stream over and cannot drop what the first had prepared. When the first reaches its replica again, it
// publishes nothing: its rows are older than those that are stored by now.
func TestAttachmentAfterATakeover(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	far, g := replica(t, w, "one")
	near, _ := replica(t, w, "two")
	load(t, w, "coupons", Whole, "["+coupon(idA, "a1", day1)+","+coupon(idB, "b1", day1)+"]")
	r, in := prepared(t, far, "["+coupon(idA, "a2", day2)+"]") // b is gone
	slow, err := far.Acquire(t.Context(), r)
	must(t, err)
	pause(slow)
	next := begin(t, near, "coupons")
	outlive(t, near, next)
	sent, cut, published := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	g.set(func(s string) {
		if strings.HasPrefix(s, "ALTER TABLE coupons_versions ATTACH") {
			once.Do(func() {
				close(sent)
				<-cut
				panic(http.ErrAbortHandler)
			})
		}
	}, nil)
	go func() { published <- far.Writer(r).Publish(t.Context(), slow, in) }()
	<-sent
	slow.mu.Lock()
	slow.held = time.Time{} // the last check was a while ago
	slow.mu.Unlock()
	if recovered := takeOver(t, near, next); len(recovered) > 0 {
		t.Errorf("finished a run of another replica: %v", recovered)
	}
	load(t, near, "coupons", Part, "["+coupon(idA, "a3", day2)+"]") // b is there again, unchanged
	close(cut)
	if err := <-published; !errors.Is(err, ErrLeaseLost) {
		t.Errorf("%v", err)
	}
	must(t, slow.Release(t.Context()))
	wantRows(t, w, "SELECT code FROM coupons ORDER BY code", "a3", "b1")
	if d := cmp.Diff([]string{"0"}, text(t, w, "SELECT count() FROM coupons_versions WHERE _run_id = {run:UUID}",
		named("run", r.ID.String()))); d != "" {
		t.Error(d)
	}
}
