//go:build !noengine

package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

var usual = Retry{time.Minute, 2 * time.Minute, 5 * time.Minute}

func failing(err error) func() (warehouse.RunRecord, error) {
	return func() (warehouse.RunRecord, error) {
		return warehouse.RunRecord{Account: "acme", Stream: "coupons", StartedAt: time.Now(),
			Outcome: warehouse.OutcomeFailed}, err
	}
}

// How long a stream waits after several failures, by their kind.
func TestPauses(t *testing.T) {
	t.Parallel()
	api := func(k dealapi.Kind) error { return fmt.Errorf("reading: %w", &dealapi.Error{Kind: k}) }
	for _, tt := range []struct {
		name     string
		retry    Retry
		failures int
		err      error
		want     time.Duration
	}{
		{"the first", usual, 1, errors.New("x"), time.Minute},
		{"the second", usual, 2, errors.New("x"), 2 * time.Minute},
		{"the last", usual, 3, errors.New("x"), 5 * time.Minute},
		{"one after the last", usual, 40, errors.New("x"), 5 * time.Minute},
		{"none", nil, 1, errors.New("x"), 0},
		{"a guard", usual, 1, fmt.Errorf("run: %w", &syncer.GuardError{}), 0},
		{"an incomplete list", usual, 1, &syncer.IncompleteError{}, time.Minute},
		{"a panic", usual, 1, &syncer.PanicError{}, time.Minute},
		{"a deadline", usual, 2, &syncer.DeadlineError{}, 2 * time.Minute},
		{"another worker", usual, 1, &syncer.BusyError{}, time.Minute},
		{"a key that is refused", usual, 1, api(dealapi.KindAuth), 5 * time.Minute},
		{"a wrong address", usual, 1, api(dealapi.KindNotFound), 5 * time.Minute},
		{"a service that is down", usual, 1, api(dealapi.KindServer), time.Minute},
		{"no network", usual, 2, api(dealapi.KindNetwork), 2 * time.Minute},
		{"a service that asks for patience", usual, 1, &dealapi.Error{Kind: dealapi.KindRateLimited, RetryAfter: time.Hour},
			time.Hour},
		{"two of them, joined", usual, 1, errors.Join(errors.New("x"), &syncer.GuardError{}), 0},
	} {
		if got := tt.retry.pause(tt.failures, tt.err); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// A stream whose run failed is tried again, after longer and longer pauses. Once it has succeeded, it runs by its
// schedule again (daemon-9).
func TestFailedRunIsTriedAgain(t *testing.T) {
	b := start(t, &Plan{Retry: usual, Streams: []Stream{planned(t, "acme", "coupons", "0 */8 * * *", "")}}, nil)
	b.finishAs(b.begins("coupons"), failing(errors.New("no route")))
	for i, pause := range []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 5 * time.Minute} {
		if s := b.stream("acme", "coupons"); s.Next.Sub(b.clock()) != pause {
			t.Fatalf("after %d failures the next run is in %s: %+v", i+1, s.Next.Sub(b.clock()), s)
		}
		if n := b.value("dealhouse_failed_runs_in_a_row", "stream=coupons"); n != float64(i+1) {
			t.Errorf("%v failed runs in a row", n)
		}
		if at := b.value("dealhouse_next_run_timestamp_seconds",
			"stream=coupons"); at != float64(b.clock().Add(pause).Unix()) {
			t.Errorf("next run at %v", at)
		}
		b.advance(pause - time.Second)
		b.idle()
		b.advance(time.Second)
		run := b.begins("coupons")
		if i == 3 {
			b.finish(run)
			break
		}
		b.finishAs(run, failing(errors.New("no route")))
	}
	if s := b.stream("acme", "coupons"); !s.Next.Equal(at(t, "2026-07-01T16:00:00Z")) {
		t.Errorf("%+v", s)
	}
	if n := b.value("dealhouse_missed_runs_total", "stream=coupons") + b.value("dealhouse_failed_runs_in_a_row",
		"stream=coupons"); n != 0 {
		t.Errorf("%v", n)
	}
}

// If the next time is sooner than the next attempt, the stream runs then. A stream that a guard has stopped
// waits for its next time.
func TestNextTimeIsSooner(t *testing.T) {
	b := start(t, &Plan{Retry: Retry{10 * time.Minute},
		Streams: []Stream{planned(t, "acme", "coupons", "*/5 * * * *", "")}}, nil)
	b.finishAs(b.begins("coupons"), failing(errors.New("no route")))
	b.advance(5 * time.Minute)
	b.finishAs(b.begins("coupons"), failing(&syncer.GuardError{}))
	b.advance(4*time.Minute + 59*time.Second)
	b.idle()
	b.advance(time.Second)
	b.finish(b.begins("coupons"))
	b.advance(4 * time.Minute)
	b.idle()
}

// A full read that failed is tried again as a full read, as often as there are pauses. After
// that, only changes are read.
func TestFailedFullReadStaysFull(t *testing.T) {
	b := start(t, &Plan{Retry: usual, Streams: []Stream{planned(t, "acme", "transactions", "0 * * * *", "30 12 * * *")}},
		nil)
	b.finish(b.begins("transactions"))
	b.advance(30 * time.Minute)
	for i, pause := range append(Retry{0}, usual...) {
		b.advance(pause)
		run := b.begins("transactions")
		if !run.job.Full {
			t.Fatalf("attempt %d read a part only", i+1)
		}
		b.finishAs(run, failing(errors.New("half of it")))
	}
	b.advance(5 * time.Minute)
	if run := b.begins("transactions"); run.job.Full {
		t.Error("full reads that fail keep the stream from being read")
	}
}

// If a full read failed and the next time comes before the next attempt, the run at that time reads everything.
func TestFullReadAtTheNextTime(t *testing.T) {
	b := start(t, &Plan{Retry: Retry{time.Hour},
		Streams: []Stream{planned(t, "acme", "transactions", "*/10 * * * *", "30 12 * * *")}}, nil)
	b.finish(b.begins("transactions"))
	b.advance(30 * time.Minute)
	b.finishAs(b.begins("transactions"), failing(errors.New("half of it")))
	b.advance(10 * time.Minute)
	run := b.begins("transactions")
	if !run.job.Full {
		t.Error("the full read was forgotten")
	}
	b.finish(run)
	b.advance(10 * time.Minute)
	if run := b.begins("transactions"); run.job.Full {
		t.Error("everything is read again and again")
	}
}

// A change of the configuration may have solved a problem: what failed runs at once, and nothing else does.
func TestReloadTriesWhatFailed(t *testing.T) {
	next := &Plan{Retry: usual, Streams: []Stream{planned(t, "acme", "coupons", "0 */8 * * *", ""),
		planned(t, "acme", "payouts", "0 */8 * * *", "")}}
	first := *next
	b := start(t, &first, func(_ *bed, o *Options) {
		o.Load = func(context.Context) (*Plan, error) { return next, nil }
	})
	for range 2 {
		a := <-b.begun
		if a.job.Stream.Name == "payouts" {
			b.finish(a)
			continue
		}
		b.finishAs(a, failing(&dealapi.Error{Kind: dealapi.KindAuth}))
	}
	b.until("both have ended", b.allIdle)
	b.reloads <- syscall.SIGHUP
	b.finish(b.begins("coupons"))
	b.idle()
	if s := b.stream("acme", "coupons"); s.LastError != "" {
		t.Errorf("%+v", s)
	}
	if !strings.Contains(b.log.String(), "is in force") {
		t.Error(b.log.String())
	}
}

// After the clock was set back, no stream waits longer than the longest pause.
func TestRetryAfterClockWasSetBack(t *testing.T) {
	b := start(t, &Plan{Retry: usual, Streams: []Stream{planned(t, "acme", "coupons", "0 0 * * *", "")}}, nil)
	b.finishAs(b.begins("coupons"), failing(errors.New("no route")))
	b.advance(-6 * time.Hour)
	b.advance(5 * time.Minute)
	b.begins("coupons")
}
