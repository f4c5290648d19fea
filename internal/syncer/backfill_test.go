package syncer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/apisim"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

const transactionsPath = "/v1/deals/transactions"

// pastWorld returns a world of one account with n transactions, and nothing else.
func pastWorld(n, pageSize int) apisim.Options {
	o := transactionsWorld(n)
	o.Seed, o.Retailers, o.Settings.PageSize = 5, 50, pageSize
	return o
}

// backfillAll runs a backfill that must succeed.
func backfillAll(t *testing.T, w *warehouse.Warehouse, job Job, r Range) BackfillRecord {
	t.Helper()
	s, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	record, err := s.Backfill(t.Context(), job, r)
	if err != nil {
		t.Fatal(err)
	}
	if record.Done != record.Windows || record.Outcome != warehouse.OutcomeSuccess || record.FinishedAt.IsZero() {
		t.Errorf("%+v", record)
	}
	return record
}

func transaction(n int, updatedAt time.Time) []byte {
	return fmt.Appendf(nil, `{"id":"00000000-0000-4000-8000-%012d","orderValue":1,"cashback":1,"status":"PENDING","updatedAt":%q}`, n, updatedAt.Format(dealapi.TimeLayout))
}

// TestBackfillRange reads a range in which rows lie exactly on the borders of windows: rows of the range are read once,
// other rows are not read, and the watermark stays.
func TestBackfillRange(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x, w := serve(t, pastWorld(-1, 3)), open(t)
	from := x.Now().AddDate(0, 0, -20).Truncate(24 * time.Hour)
	want := 0
	for i := range 30 {
		at := from.Add(time.Duration(i-5) * 12 * time.Hour)
		for j, shift := range []time.Duration{-time.Millisecond, 0, time.Millisecond} {
			if err := x.Put("transactions", "acme", transaction(10*i+j, at.Add(shift))); err != nil {
				t.Fatal(err)
			}
			if at := at.Add(shift); !at.Before(from) && at.Before(from.AddDate(0, 0, 10)) {
				want++
			}
		}
	}
	asked := Range{From: from, To: from.AddDate(0, 0, 10), Window: 24 * time.Hour}
	job := x.jobs(t, "acme", "transactions")[0]
	r := backfillAll(t, w, job, asked)
	if r.Windows != 10 || r.Totals.Read != uint64(want) || r.Changes.Inserted != uint64(want) || r.Duplicates != 0 ||
		len(r.Warnings) > 0 {
		t.Errorf("%d rows are in the range: %+v", want, r)
	}
	outside := fmt.Sprintf("updated_at < '%s' OR updated_at >= '%s'", from.Format(time.DateTime),
		asked.To.Format(time.DateTime))
	if got := one(t, w, "SELECT (count(), countIf("+outside+")) FROM transactions"); got != fmt.Sprintf("(%d,0)", want) {
		t.Errorf("%s rows, want %d", got, want)
	}
	if got := one(t, w, "SELECT arraySort(groupUniqArray(name)) FROM sync_state WHERE name NOT IN ('derived', 'live', 'origin', 'certificate')"); got != "[]" {
		t.Errorf("state %s is left", got)
	}
	if got := one(t, w, "SELECT groupArray(mode || ' ' || outcome) FROM sync_runs"); got != "['backfill success']" {
		t.Errorf("runs %s", got)
	}
	job.BatchRows = 20 // every window takes several batches, and is published by itself
	again := backfillAll(t, w, job, asked)
	if again.Changes.Any() || again.Changes.Unchanged != uint64(want) || again.Earlier != 0 {
		t.Errorf("again: %+v", again)
	}
	empty := backfillAll(t, w, job, Range{From: from.AddDate(-1, 0, 0), To: from.AddDate(-1, 0, 3)})
	if empty.Totals.Read != 0 || one(t, w, "SELECT count() FROM sync_runs") != "3" {
		t.Errorf("empty: %+v", empty)
	}
	syncAll(t, w, []Job{job}) // there is no watermark, so it reads everything
	checkTruth(t, w, x, "acme", "transactions")
}

// TestBackfillIsParallel answers no request for a window before the allowed number of them are under way. For wide
// samples: TestBackfillGoesOn has the windows.
func TestBackfillIsParallel(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	const parallel = 8
	x, w := serve(t, pastWorld(2_000, 150)), open(t)
	var waiting atomic.Int64
	together := make(chan struct{})
	x.SetBefore(func(r *http.Request) {
		if r.URL.Query().Get("updatedBefore") == "" {
			return // not for a window
		}
		if waiting.Add(1) == parallel {
			close(together)
		}
		select {
		case <-together:
		case <-r.Context().Done():
		case <-time.After(patience):
			t.Errorf("after %s only %d windows are read side by side", patience, waiting.Load())
		}
	})
	backfillAll(t, w, x.jobs(t, "acme", "transactions")[0], everything(x, 8*24*time.Hour, parallel))
	checkTruth(t, w, x, "acme", "transactions")
}

// TestBackfillGoesOn breaks a backfill by a window that fails: the others are kept, and the same command reads the
// rest. A backfill of another range in between changes nothing about that.
func TestBackfillGoesOn(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	rows, early := enginetest.Sample(1_000, 6_000), enginetest.Sample(20, 40) // windows before the one that fails
	x, w := serve(t, pastWorld(rows, 50)), open(t)
	job := x.jobs(t, "acme", "transactions")[0]
	asked := everything(x, time.Duration(enginetest.Sample(10, 5))*24*time.Hour, 4)
	broken := window{from: asked.From.Truncate(time.Millisecond).Add(time.Duration(early) * asked.Window)}.after().Format(dealapi.TimeLayout)
	enough := make(chan struct{}) // closed when enough of the others are done
	x.SetFault(func(r *http.Request) apisim.Fault {
		if r.URL.Query().Get("updatedAfter") == broken {
			select {
			case <-enough:
			case <-r.Context().Done():
			}
			return apisim.Fault{Kind: apisim.FaultStatus, Status: http.StatusInternalServerError}
		}
		return apisim.Fault{}
	})
	var once sync.Once
	s, err := New(Options{Warehouse: w, Grace: patience, Progress: func(p Progress) {
		if p.Windows.Done >= early-2 {
			once.Do(func() { close(enough) })
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	failed, err := s.Backfill(t.Context(), job, asked)
	if err == nil || failed.Outcome != warehouse.OutcomeFailed || failed.Done < early-2 || failed.Done >= failed.Windows {
		t.Fatalf("%+v %v", failed, err)
	}
	if got := one(t, w, "SELECT count() FROM transactions"); got != fmt.Sprint(failed.Changes.Inserted) ||
		failed.Changes.Inserted == 0 {
		t.Errorf("%s rows, %+v", got, failed.Changes)
	}
	if got := one(t, w, "SELECT countIf(outcome = 'failed' AND error LIKE '%HTTP 500%') || ' ' || countIf(outcome = 'running') FROM sync_runs"); got != "1 0" {
		t.Errorf("runs %s", got)
	}
	x.SetFault(nil)
	other := asked
	other.From, other.To = asked.From.AddDate(0, 0, 100), asked.From.AddDate(0, 0, 105)
	backfillAll(t, w, job, other)
	x.ResetLog()
	done := backfillAll(t, w, job, asked)
	if done.Earlier != failed.Done || x.Rows(transactionsPath) > rows-int(failed.Changes.Inserted)+10 { // a few to recognise the service by
		t.Errorf("%d windows of %d were done; %d rows were read for those that were left: %+v", failed.Done, failed.Windows,
			x.Rows(transactionsPath), done)
	}
	checkTruth(t, w, x, "acme", "transactions")
}

// TestBackfillStops lets a signal end a backfill: what is complete is published before it returns. For wide samples:
// TestBackfillGoesOn interrupts one too.
func TestBackfillStops(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	x, w := serve(t, pastWorld(4_000, 50)), open(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	told := errors.New("told to stop")
	x.SetBefore(func(*http.Request) {
		if x.Requests(transactionsPath) == 40 {
			cancel(told)
		}
	})
	s, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	job, asked := x.jobs(t, "acme", "transactions")[0], everything(x, 3*24*time.Hour, 4)
	r, err := s.Backfill(ctx, job, asked)
	if !errors.Is(err, told) || r.Done < 20 || r.Done >= r.Windows {
		t.Fatalf("%+v %v", r, err)
	}
	x.SetBefore(nil)
	if r.Outcome != warehouse.OutcomeStopped {
		t.Errorf("outcome %s", r.Outcome)
	}
	if got := one(t, w, "SELECT count() FROM transactions"); got != fmt.Sprint(r.Totals.Read) {
		t.Errorf("%s rows are published, %d were read in %d windows", got, r.Totals.Read, r.Done)
	}
	if got := one(t, w, "SELECT count() FROM system.parts WHERE active AND database = currentDatabase() AND table = 'transactions_staging'"); got != "0" {
		t.Errorf("%s staged parts are left", got)
	}
	backfillAll(t, w, job, asked)
	checkTruth(t, w, x, "acme", "transactions")
}

// TestBackfillWithoutFilter reads from a service that does not honour the filters: everything is read about once. For
// wide samples: TestFilterThatIsNotHonoured has such a service.
func TestBackfillWithoutFilter(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	o := pastWorld(1_500, 50)
	o.Settings.IgnoreDateFilters = true
	x, w := serve(t, o), open(t)
	r := backfillAll(t, w, x.jobs(t, "acme", "transactions")[0], everything(x, 0, 4))
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "account.params") {
		t.Errorf("warnings %q", r.Warnings)
	}
	// Each of the four windows that begin notices that at the end of its first batch, which is the whole list here.
	if n := x.Rows(transactionsPath); n > 6*1_500 {
		t.Errorf("%d rows were read", n)
	}
	checkTruth(t, w, x, "acme", "transactions")
}

// TestBackfillStagedIsGone continues a backfill whose staged rows are no longer there: they are read again. For wide
// samples: TestBackfillGoesOn continues one too.
func TestBackfillStagedIsGone(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	x, w := serve(t, pastWorld(500, 50)), open(t)
	job, asked := x.jobs(t, "acme", "transactions")[0], everything(x, 30*24*time.Hour, 2)
	asked.setDefaults()
	state := progressState{From: asked.From, To: asked.To, Window: asked.Window.String(), RunID: uuid.NewString(),
		Staged: spans{{0, 12}}, Totals: warehouse.Totals{Staged: 400}}
	text, err := state.text()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Writer(warehouse.Run{Account: "acme", Stream: job.Stream}).SaveBackfill(t.Context(), stateName(asked),
		text); err != nil {
		t.Fatal(err)
	}
	if r := backfillAll(t, w, job, asked); r.Earlier != 0 || r.Totals.Read != 500 {
		t.Errorf("%+v", r)
	}
	checkTruth(t, w, x, "acme", "transactions")
}

func TestBackfillRefusesOtherStreams(t *testing.T) {
	t.Parallel()
	x, w := serve(t, smallWorld()), open(t)
	s, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	full := x.jobs(t, "acme", "transactions")[0]
	full.Full = true
	for _, job := range []Job{x.jobs(t, "acme", "coupons")[0], full} {
		var bad *RangeError
		if _, err := s.Backfill(t.Context(), job, everything(x, time.Hour, 1)); !errors.As(err, &bad) {
			t.Errorf("%s: %v", job.Stream.Name, err)
		}
	}
}

// TestFirstSyncFromATime begins a stream at initial_from, is interrupted, and continues: the watermark appears only
// with the last window, and is not past the start of the first attempt. For wide samples: TestBackfillGoesOn has
// windows that fail, and the run that goes on.
func TestFirstSyncFromATime(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	x, w := serve(t, pastWorld(3_000, 50)), open(t)
	job := x.jobs(t, "acme", "transactions")[0]
	job.InitialFrom = x.Now().AddDate(0, 0, -430)
	var broken atomic.Bool
	broken.Store(true)
	x.SetFault(func(*http.Request) apisim.Fault {
		if broken.Load() && x.Requests(transactionsPath) > 60 {
			return apisim.Fault{Kind: apisim.FaultStatus, Status: http.StatusForbidden}
		}
		return apisim.Fault{}
	})
	s, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	start := x.Now()
	first, err := s.Run(t.Context(), job)
	if err == nil || first.Mode != warehouse.ModeInitial || first.Changes.Inserted == 0 {
		t.Fatalf("%+v %v", first, err)
	}
	if got := one(t, w, "SELECT groupArray(name) FROM sync_state WHERE name NOT IN ('lease', 'derived', 'live', 'origin', 'certificate')"); got != "['"+
		initialBackfill+"']" {
		t.Errorf("state %s", got)
	}
	broken.Store(false)
	x.Advance(2 * time.Hour)
	x.TouchTransactions("acme", 0.02)
	second := syncAll(t, w, []Job{job})["acme/transactions"]
	if second.Mode != warehouse.ModeInitial || second.Watermark.IsZero() || second.Watermark.After(start) {
		t.Errorf("started at %s: %+v", start, second)
	}
	third := syncAll(t, w, []Job{job})["acme/transactions"]
	if third.Mode != "incremental" || third.Watermark.Before(second.Watermark) {
		t.Errorf("%+v", third)
	}
	checkTruth(t, w, x, "acme", "transactions")
	if got := one(t, w, "SELECT arraySort(groupArray(name)) FROM sync_state"); got != "['certificate','clock','derived','live','loaded_from','origin','watermark']" {
		t.Errorf("state %s", got)
	}
}

// TestFirstSyncOfOnePage wants a first sync of one page to be no backfill: there is nothing to divide.
func TestFirstSyncOfOnePage(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x, w := serve(t, pastWorld(40, 50)), open(t)
	job := x.jobs(t, "acme", "transactions")[0]
	job.InitialFrom = x.Now().AddDate(0, 0, -430)
	if r := syncAll(t, w, []Job{job})["acme/transactions"]; r.Mode != "incremental" || r.Watermark.IsZero() ||
		x.Requests(transactionsPath) != 2 {
		t.Errorf("%d requests: %+v", x.Requests(transactionsPath), r)
	}
}
