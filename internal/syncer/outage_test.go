package syncer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// TestWarehouseComesBack refuses the connection at the first of each kind of statement, and loses the answer to the
// second: each run succeeds, as if nothing had happened.
func TestWarehouseComesBack(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	for _, stream := range chosenKinds(1) {
		t.Run(stream, func(t *testing.T) {
			beside(t)
			x := serve(t, tinyWorld(17, stream))
			v := newWorker(t, x, w.Database(), stream, clocks{})
			for turn := range enginetest.Sample(1, 2) {
				var mu sync.Mutex
				refused, lost := map[string]bool{}, map[string]bool{}
				v.seam.set(func(_ context.Context, step string, after bool) error {
					mu.Lock()
					defer mu.Unlock()
					switch {
					case step == "request" || step == "body" || step == "decode":
					case after && !lost[step]:
						lost[step] = true
						return io.ErrUnexpectedEOF
					case !after && !refused[step]:
						refused[step] = true
						return fmt.Errorf("dialing: %w", syscall.ECONNREFUSED)
					}
					return nil
				})
				before := v.store.Retries()
				record, err := v.Run(t.Context(), v.job(t, stream, stream))
				v.seam.set(nil)
				if err != nil {
					t.Fatal(err)
				}
				if n := v.store.Retries() - before; n < uint64(len(refused)) || len(refused) < 10 {
					t.Errorf("%d statements were tried again, of %d kinds", n, len(refused))
				}
				checkTruth(t, w, x, stream, stream)
				checkTidy(t, w, stream, stream)
				checkHistory(t, w, stream, stream)
				if c := record.Changes; turn == 0 && (c.Inserted != c.Distinct || c.Updated+c.Deleted+c.Unchanged != 0) {
					t.Errorf("%+v", c)
				}
				x.turn(t, stream, turn)
			}
		})
	}
}

// TestRunTimeout lets the deadline end a walk whose service stands still. The walk has failed, and
// the next one continues it.
func TestRunTimeout(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	options := smallWorld()
	options.Settings.PageSize = 10
	x, w := serve(t, options), open(t)
	job := x.jobs(t, "acme", "products")[0]
	job.BatchRows, job.Timeout = 20, time.Second
	s, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	first, stood := stalled(t, s, x, job)
	for ; !stood; first, stood = stalled(t, s, x, job) { // a slow machine does not get that far in the time
		job.Timeout, job.Full = 2*job.Timeout, true
	}
	x.SetBefore(nil)
	requests := x.counted(t, &job)
	job.Timeout, job.Full = 0, false
	second := syncAll(t, w, []Job{job})["acme/products"]
	if n := requests.n.Load(); n+first.Totals.Pages != second.Totals.Pages ||
		second.Changes.Inserted != 110 {
		t.Errorf("%d pages, then %d, of %d; %+v", first.Totals.Pages, n, second.Totals.Pages, second.Changes)
	}
}

// stalled makes a run that ends by its deadline: the service stands still from the fifth request on. stood says
// that the run got that far.
func stalled(t *testing.T, s *Syncer, x *world, job Job) (record warehouse.RunRecord, stood bool) {
	t.Helper()
	var requests atomic.Int64
	x.SetBefore(func(r *http.Request) {
		if requests.Add(1) > 4 {
			<-r.Context().Done()
		}
	})
	record, err := s.Run(t.Context(), job)
	var late *DeadlineError
	if !errors.As(err, &late) || record.Outcome != warehouse.OutcomeFailed ||
		!strings.Contains(record.Error, "run_timeout = "+job.Timeout.String()) {
		t.Fatalf("%v, %+v", err, record)
	}
	return record, requests.Load() > 4
}

// TestBusyStream waits for another run of the stream, and says so when that does not end.
func TestBusyStream(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x, w := serve(t, tinyWorld(5, "acme")), open(t)
	job := x.jobs(t, "acme", "coupons")[0]
	now, err := w.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other := warehouse.Run{ID: uuid.New(), Attempt: uuid.New(), Account: "acme", Stream: job.Stream, StartedAt: now}
	lease, err := w.Acquire(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	s.leaseWait = time.Millisecond
	var busy *BusyError
	if _, err := s.Run(t.Context(), job); !errors.As(err, &busy) || busy.Holder == nil || busy.Holder.RunID != other.ID {
		t.Errorf("%v", err)
	}
	s.leaseWait = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	s.progress = func(p Progress) {
		if p.Phase == PhaseWaiting {
			cancel()
		}
	}
	if _, err := s.Run(ctx, job); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
	s.progress = func(Progress) {}
	if _, err := s.Run(t.Context(), job); err != nil {
		t.Error(err)
	}
}

// TestPoisonIsQuarantined has ClickHouse refuse some records of a snapshot and of a backfill: those are rejects, with
// their JSON, and the rest is loaded. When it refuses them no more, the next run loads them.
func TestPoisonIsQuarantined(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	for _, stream := range []string{"coupons", "transactions"}[:enginetest.Sample(1, 2)] {
		t.Run(stream, func(t *testing.T) {
			t.Parallel()
			x, w := serve(t, tinyWorld(19, "acme")), open(t)
			job := x.jobs(t, "acme", stream)[0]
			job.BatchRows, job.MaxRejectedRatio = 8, 0.99
			job.InitialFrom = x.Now().AddDate(-1, 0, 0) // a backfill, which stages in its own way
			key := job.Stream.KeyColumn()
			alter := func(change string) {
				if err := w.Conn().Exec(t.Context(), "ALTER TABLE "+stream+"_staging"+" "+change); err != nil {
					t.Fatal(err)
				}
			}
			alter("ADD CONSTRAINT taste CHECK sipHash64(" + key + ") % 8 != 0")
			record := syncAll(t, w, []Job{job})["acme/"+stream]
			truth := uint64(x.Count(stream, "acme"))
			n := record.Totals.Unloadable
			if n == 0 || record.Totals.Rejected != n || record.Changes.Inserted != truth-n ||
				record.Totals.Staged != record.Changes.Staged {
				t.Errorf("%d records: %+v", truth, record)
			}
			if got := one(t, w, "SELECT (count(), countIf(reason = 'refused' AND field = '' AND isValidJSON(raw) AND raw LIKE '{%'), uniqExact(key)) FROM rejected_records"); got != fmt.Sprintf("(%d,%d,%d)", n, n, n) {
				t.Errorf("rejected_records: %s, want %d", got, n)
			}
			if got := one(t, w, "SELECT count() FROM "+stream+" WHERE sipHash64("+key+") % 8 = 0"); got != "0" {
				t.Errorf("%s refused rows are loaded", got)
			}
			alter("DROP CONSTRAINT taste")
			job.Full = true
			syncAll(t, w, []Job{job})
			checkTruth(t, w, x, "acme", stream)

			alter("ADD CONSTRAINT taste CHECK sipHash64(" + key + ") % 2 != 0")
			s, err := New(Options{Warehouse: w, Grace: patience})
			if err != nil {
				t.Fatal(err)
			}
			job.MaxRejectedRatio = 0.05
			var guard *GuardError
			if _, err := s.Run(t.Context(), job); !errors.As(err, &guard) {
				t.Errorf("%v", err)
			}
			checkTruth(t, w, x, "acme", stream)
		})
	}
}

// TestPoisonAndCheckpoint stops a walk behind batches with refused records: the counts of the walk are right when
// another run ends it. For wide samples: TestPoisonIsQuarantined has refused records, TestStoppedWalk a walk that goes
// on.
func TestPoisonAndCheckpoint(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	options := smallWorld()
	options.Settings.PageSize = 10
	x, w := serve(t, options), open(t)
	if err := w.Conn().Exec(t.Context(), "ALTER TABLE products_staging ADD CONSTRAINT taste CHECK sipHash64(product_key) % 8 != 0"); err != nil {
		t.Fatal(err)
	}
	job := x.jobs(t, "acme", "products")[0]
	job.BatchRows, job.MaxRejectedRatio = 20, 0.99
	if _, err := stopped(t, w, job, PhaseReading); err == nil {
		t.Fatal("it was not stopped")
	}
	r := syncAll(t, w, []Job{job})["acme/products"]
	n := r.Totals.Unloadable
	if n == 0 || r.Totals.Rejected != n || r.Totals.Read != 110 || r.Totals.Staged != 110-n ||
		r.Changes.Inserted != 110-n {
		t.Errorf("%+v", r)
	}
	if got := one(t, w, "SELECT count() FROM rejected_records"); got != fmt.Sprint(n) {
		t.Errorf("%s entries in rejected_records, want %d", got, n)
	}
}
