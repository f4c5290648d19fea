package syncer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// The model test makes histories at random: the same seed makes the same world and the same sequence of events.
const (
	modelHistories = "SYNCER_MODEL_HISTORIES" // how many; default 20, in a wide sample
	modelEvents    = "SYNCER_MODEL_EVENTS"    // how many at the most in each; default 1
	modelSeed      = "SYNCER_MODEL_SEED"      // of the first; default 1
)

func setting(t *testing.T, name string, value int) int {
	t.Helper()
	if text := os.Getenv(name); text != "" {
		var err error
		if value, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return value
}

// TestModel lets things go wrong at random, while a reader queries the views all the time. Then it wants one clean sync
// to put everything right. All histories share one warehouse, an account each. For wide samples, or where a number of
// histories is asked for: TestTruth has a history that is written out.
func TestModel(t *testing.T) {
	if os.Getenv(modelHistories) == "" {
		enginetest.OnlyWide(t)
	}
	t.Parallel()
	w := open(t)
	first, most := setting(t, modelSeed, 1), setting(t, modelEvents, 1)
	for i := range setting(t, modelHistories, 20) {
		seed := first + i
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			beside(t)
			h := newHistory(t, w, uint64(seed))
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("again with %s=%d %s=1 %s=%d; what happened:\n%s", modelSeed, seed, modelHistories, modelEvents, most,
						strings.Join(h.events, "\n"))
				}
			})
			reader := watch(t, w, h.account, h.registered)
			for _, v := range h.workers {
				h.quiet(v, reader)
			}
			for range min(3+h.random.IntN(3), most) {
				h.event(t, reader)
				if t.Failed() {
					break
				}
			}
			h.finishCleanly(t, reader)
			reader.stop(t)
			for _, stream := range kinds {
				checkTruth(t, w, h.world, h.account, stream)
				checkTidy(t, w, h.account, stream)
				checkHistory(t, w, h.account, stream)
			}
		})
	}
}

// history is one sequence of events on one account.
type history struct {
	*world
	store      *warehouse.Warehouse
	account    string
	random     *rand.Rand
	workers    [2]*worker
	registered *states
	shifting   bool // lists may change while they are read
	turns      int
	events     []string
}

func newHistory(t *testing.T, w *warehouse.Warehouse, seed uint64) *history {
	t.Helper()
	h := &history{store: w, account: fmt.Sprintf("h%d", seed), random: rand.New(rand.NewPCG(seed, 1)),
		registered: newStates()}
	r := h.random
	o := tinyWorld(seed, h.account)
	skew := func() time.Duration { return time.Duration(r.IntN(1201)-600) * time.Second }
	o.Settings = apisim.Settings{
		PageSize: 3 + r.IntN(20), Order: apisim.Order(r.IntN(3)), Gzip: r.IntN(2) == 0,
		Timestamps: apisim.TimestampStyle(r.IntN(3)),
		NextPage:   apisim.NextPageKind(r.IntN(4)), LastPage: apisim.LastPageKind(r.IntN(3)), DateSkew: skew(),
		VanishedCursorNotFound: r.IntN(2) == 0,
	}
	if r.IntN(4) == 0 {
		// The workers' own clocks replace the server's, and are up to 10 minutes off.
		o.Settings.OmitDate, o.Now = true, time.Now().UTC().Truncate(time.Second)
	}
	h.shifting = r.IntN(2) == 0
	h.world = serve(t, o)
	clock := clocks{warehouse: skew()} // the same for all workers, whose own differ
	for i := range h.workers {
		clock.local = skew()
		h.note("local clock of worker %d: %v", i, clock.local)
		h.workers[i] = newWorker(t, h.world, w.Database(), h.account, clock)
	}
	h.note("page size %d, order %d, nextPage %d, date skew %v, no date %t, warehouse skew %v, shifting %t",
		o.Settings.PageSize, o.Settings.Order,
		o.Settings.NextPage, o.Settings.DateSkew, o.Settings.OmitDate, clock.warehouse, h.shifting)
	return h
}

func (h *history) note(format string, args ...any) {
	h.events = append(h.events, fmt.Sprintf(format, args...))
}

// jobs returns jobs for some streams, at least one.
func (h *history) jobs(t *testing.T, v *worker) (jobs []Job) {
	t.Helper()
	for len(jobs) == 0 {
		for _, stream := range kinds {
			if h.random.IntN(2) == 0 {
				job := v.job(t, h.account, stream)
				job.BatchRows = 1 + h.random.IntN(20)
				job.Full = h.random.IntN(6) == 0
				jobs = append(jobs, job)
			}
		}
	}
	return jobs
}

// quiet lets a worker's steps pass, and tells the reader about them.
func (h *history) quiet(v *worker, r *reader) { v.seam.set(r.watch) }

// change does something to the world, between runs or, from within a request, while a list is read.
func (h *history) change(t *testing.T) {
	t.Helper()
	switch h.random.IntN(4) {
	case 0:
		stream := []string{apisim.StreamCoupons, apisim.StreamProducts}[h.random.IntN(2)]
		for record := range h.Truth(stream, h.account) {
			row := expected(t, stream, record)
			id := row["id"]
			if stream == apisim.StreamProducts {
				id = row["url"]
			}
			if h.random.IntN(5) == 0 && id != "" && h.Count(stream, h.account) > 3 {
				if err := h.Delete(stream, h.account, id); err != nil {
					t.Error(err)
				}
				return
			}
		}
	case 1:
		h.Advance(time.Duration(h.random.IntN(40)) * time.Second)
		h.TouchTransactions(h.account, 0.1)
	case 2:
		h.Advance(time.Duration(1+h.random.IntN(30)) * time.Minute)
	default:
		h.turn(t, h.account, h.turns)
		h.turns++
	}
}

// event makes a change and a run, or several runs, and lets something happen to them. Errors are no failures here: what
// counts is what readers see meanwhile, and what is there in the end.
func (h *history) event(t *testing.T, r *reader) {
	t.Helper()
	h.change(t)
	v, other, n := h.workers[0], h.workers[1], int64(1+h.random.IntN(70))
	if h.random.IntN(2) == 0 {
		v, other = other, v
	}
	jobs := h.jobs(t, v)
	defer h.SetBefore(nil)
	defer h.SetFault(nil)
	if h.shifting && h.random.IntN(2) == 0 {
		h.shift(t)
	}
	if h.random.IntN(3) == 0 {
		h.disturb()
	}
	switch kind := h.random.IntN(7); kind {
	case 0:
		h.run(t, t.Context(), v, jobs, "plainly")
	case 1, 2: // a statement fails, or its answer is lost
		var calls atomic.Int64
		v.seam.set(func(ctx context.Context, step string, after bool) error {
			if err := r.watch(ctx, step, after); err != nil || calls.Add(1) != n {
				return err
			}
			return fmt.Errorf("%w: %s", errInjected, step)
		})
		h.run(t, t.Context(), v, jobs, fmt.Sprintf("with a fault at call %d", n))
	case 3: // from one moment on, the process does nothing any more
		var calls atomic.Int64
		v.seam.set(func(ctx context.Context, step string, after bool) error {
			err := r.watch(ctx, step, after) // readers see what has happened, though the worker is dead
			if calls.Add(1) >= n {
				return errInjected
			}
			return err
		})
		h.run(t, t.Context(), v, jobs, fmt.Sprintf("dead from call %d on", n))
		expireLeases(t, h.store, h.account)
	case 4: // the run is stopped
		ctx, cancel := context.WithCancel(t.Context())
		var calls atomic.Int64
		v.seam.set(func(ctx context.Context, step string, after bool) error {
			if calls.Add(1) == n {
				cancel()
			}
			return r.watch(ctx, step, after)
		})
		h.run(t, ctx, v, jobs, fmt.Sprintf("stopped at call %d", n))
		cancel()
	case 5: // two runs at once
		both := h.jobs(t, other)
		var group sync.WaitGroup
		group.Go(func() { _ = other.All(t.Context(), both) })
		h.run(t, t.Context(), v, jobs, "beside another worker")
		group.Wait()
	case 6: // a worker stands still for longer than its lease, another takes over, and then it wakes up
		h.pause(t, v, other, jobs, n, r)
	}
	h.quiet(v, r)
}

func (h *history) run(t *testing.T, ctx context.Context, v *worker, jobs []Job, how string) { //nolint:revive // t first, as everywhere here
	t.Helper()
	text := how
	for _, result := range v.All(ctx, jobs) {
		text += fmt.Sprintf("\n    %s (batches of %d, full %t): %v", result.Job.Stream.Name, result.Job.BatchRows,
			result.Job.Full, result.Err)
	}
	h.note("%s", text)
}

func (h *history) pause(t *testing.T, v, other *worker, jobs []Job, n int64, r *reader) {
	t.Helper()
	var calls atomic.Int64
	paused, wake := make(chan string, 1), make(chan struct{})
	v.seam.set(func(ctx context.Context, step string, after bool) error {
		err := r.watch(ctx, step, after) // first: what this worker has published is legal, also while it stands still
		if calls.Add(1) == n {
			paused <- fmt.Sprintf("%s, after %t", step, after)
			<-wake
		}
		return err
	})
	takeover := h.jobs(t, other)
	for i := range takeover {
		takeover[i].Stream = jobs[min(i, len(jobs)-1)].Stream
	}
	takeover = takeover[:min(len(takeover), len(jobs))]
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.run(t, t.Context(), v, jobs, fmt.Sprintf("paused at call %d", n))
	}()
	select {
	case where := <-paused:
		back := other.takeOver(t, h.store, h.account)
		text := "taken over while the other stands at " + where
		for _, result := range other.All(t.Context(), takeover) {
			text += fmt.Sprintf("\n    %s: %v", result.Job.Stream.Name, result.Err)
		}
		back()
		close(wake)
		<-ended
		h.note("%s", text)
	case <-ended:
		close(wake)
	}
	expireLeases(t, h.store, h.account)
}

// shift changes the world while lists are read.
func (h *history) shift(t *testing.T) {
	t.Helper()
	var mu sync.Mutex
	left := 1 + h.random.IntN(3)
	h.note("the world shifts %d times", left)
	h.SetBefore(func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if left > 0 && r.URL.RawQuery != "" { // in the middle of a chain, or where a filter is
			left--
			h.change(t)
		}
	})
}

// disturb lets some of the requests fail, each in its own way.
func (h *history) disturb() {
	random := rand.New(rand.NewPCG(h.random.Uint64(), 2))
	var mu sync.Mutex
	h.note("requests are disturbed")
	h.SetFault(func(*http.Request) apisim.Fault {
		mu.Lock()
		defer mu.Unlock()
		if random.IntN(4) > 0 {
			return apisim.Fault{}
		}
		return []apisim.Fault{
			{Kind: apisim.FaultStatus, Status: http.StatusServiceUnavailable},
			{Kind: apisim.FaultStatus, Status: http.StatusTooManyRequests},
			{Kind: apisim.FaultCut, After: random.IntN(2000)}, {Kind: apisim.FaultDrop}, {Kind: apisim.FaultInvalidJSON},
			{Kind: apisim.FaultErrorObject},
			{Kind: apisim.FaultStatus, Status: http.StatusBadRequest},
		}[random.IntN(7)]
	})
}

// finishCleanly is the one clean sync. Transactions are read in full where their list may have shifted while it was
// read; a walk is begun again, because one that continues shows pages of an older world.
func (h *history) finishCleanly(t *testing.T, r *reader) {
	t.Helper()
	v := h.workers[0]
	h.quiet(v, r)
	expireLeases(t, h.store, h.account)
	var jobs []Job
	for _, stream := range kinds {
		job := v.job(t, h.account, stream)
		job.Full = stream == "products" || stream == "transactions" && h.shifting
		jobs = append(jobs, job)
	}
	for _, result := range v.All(t.Context(), jobs) {
		if result.Err != nil {
			t.Errorf("the clean sync: %v", result.Err)
		}
	}
}
