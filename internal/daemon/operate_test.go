//go:build !noengine

package daemon

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"dealhouse/internal/daemon/web"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
	"dealhouse/internal/warehouse/warehousetest"
)

// operated runs a daemon on a warehouse of its own. Its streams ran once, and have an hour until the next time.
func operated(t *testing.T, w *warehouse.Warehouse, plan *Plan, change func(*bed, *Options)) *bed {
	t.Helper()
	b := start(t, plan, func(b *bed, o *Options) {
		o.Warehouse = w
		if change != nil {
			change(b, o)
		}
	})
	for range plan.Streams {
		a := <-b.begun
		b.finish(a)
	}
	b.until("all have ended", b.allIdle)
	return b
}

func (b *bed) act(action, stream string) (web.Acted, error) {
	b.t.Helper()
	return b.Act(b.t.Context(), warehouse.Action{Actor: "ops", Via: warehouse.ViaAPI, Action: action, Account: "acme",
		Stream: stream})
}

// does wants the action to have something to do.
func (b *bed) does(action, stream, says string) web.Acted {
	b.t.Helper()
	acted, err := b.act(action, stream)
	if err != nil || !acted.Done || !strings.Contains(acted.Text, says) {
		b.t.Fatalf("%s of %s: %+v, %v", action, stream, acted, err)
	}
	return acted
}

// refuses wants the action to be refused.
func (b *bed) refuses(action, stream, says string) {
	b.t.Helper()
	acted, err := b.act(action, stream)
	if _, is := errors.AsType[*web.RefusalError](err); !is || !strings.Contains(err.Error(), says) {
		b.t.Errorf("%s of %s: %+v, %v", action, stream, acted, err)
	}
}

// recorded returns how many actions of a kind the warehouse has.
func (b *bed) recorded(action string) (n int) {
	b.t.Helper()
	all, err := b.o.Warehouse.Actions(b.t.Context(), 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, a := range all {
		if a.Action == action {
			n++
		}
	}
	return n
}

func hourly(t *testing.T, streams ...string) *Plan {
	t.Helper()
	p := &Plan{Retry: usual}
	for _, s := range streams {
		p.Streams = append(p.Streams, planned(t, "acme", s, "30 * * * *", ""))
	}
	return p
}

// A run is started when an operator requests it, once however often it is requested, and every action
// that starts one is recorded.
func TestRunNow(t *testing.T) {
	enginetest.Long(t)
	b := operated(t, open(t), hourly(t, "coupons", "payouts"), nil)
	b.does(warehouse.ActionRun, "coupons", "starts now")
	run := b.begins("coupons")
	if acted, err := b.act(warehouse.ActionRun, "coupons"); err != nil || acted.Done {
		t.Errorf("while it runs: %+v, %v", acted, err)
	}
	if run.job.Full {
		t.Error("it reads everything, which nobody has asked for")
	}
	b.does(warehouse.ActionRun, "", "1 run of account acme will start now. 1 more: under way already.")
	b.finish(b.begins("payouts"))
	b.does(warehouse.ActionRunFull, "coupons", "")
	b.finish(run)
	full := b.begins("coupons")
	if !full.job.Full {
		t.Error("it does not read everything")
	}
	b.finish(full)
	b.advance(time.Minute)
	b.idle()
	b.refuses(warehouse.ActionRun, "promotions", "no promotions of acme")
	b.refuses("dance", "coupons", "no action")
	if n, full := b.recorded(warehouse.ActionRun), b.recorded(warehouse.ActionRunFull); n != 2 || full != 1 {
		t.Errorf("%d and %d runs are recorded", n, full)
	}
	if n := b.value("dealhouse_missed_runs_total", "stream=coupons"); n != 0 {
		t.Errorf("%v missed runs", n)
	}
}

// If a stream that failed is run by an operator, that is its next attempt: it does not run twice.
func TestRunNowInsteadOfRetry(t *testing.T) {
	b := operated(t, open(t), hourly(t, "coupons"), nil)
	b.advance(30 * time.Minute)
	b.finishAs(b.begins("coupons"), failing(errors.New("no route")))
	b.does(warehouse.ActionRun, "coupons", "starts now")
	b.finish(b.begins("coupons"))
	b.advance(10 * time.Minute)
	b.idle()
}

// A paused stream starts no run, whatever the reason. One run makes up for what came due meanwhile (daemon-10).
func TestPause(t *testing.T) {
	w := open(t)
	plan := hourly(t, "coupons", "payouts")
	plan.Streams[0].Resync = schedule(t, "45 12 * * *", "UTC")
	again := *plan
	b := operated(t, w, plan, func(_ *bed, o *Options) {
		o.Load = func(context.Context) (*Plan, error) { return &again, nil }
	})
	b.does(warehouse.ActionPause, "coupons", "no run starts")
	if acted, err := b.act(warehouse.ActionPause, "coupons"); err != nil || acted.Done {
		t.Errorf("once more: %+v, %v", acted, err)
	}
	s := b.stream("acme", "coupons")
	if s.Paused == nil || s.Paused.Actor != "ops" || !s.Next.IsZero() ||
		b.value("dealhouse_paused", "stream=coupons") != 1 ||
		b.value("dealhouse_paused", "stream=payouts") != 0 ||
		b.value("dealhouse_next_run_timestamp_seconds", "stream=coupons") != 0 {
		t.Errorf("%+v", s)
	}
	b.refuses(warehouse.ActionRun, "coupons", "is paused: resume it first")
	b.does(warehouse.ActionRun, "", "1 run of account acme will start now. 1 more: paused.")
	b.finish(b.begins("payouts"))
	b.does(warehouse.ActionReload, "", "in force")
	b.advance(30 * time.Minute)
	b.finish(b.begins("payouts"))
	b.advance(30 * time.Minute) // two times of the coupons, and a full read, have passed
	b.does(warehouse.ActionPause, "", "Account acme is paused")
	b.advance(30 * time.Minute)
	b.idle()
	b.refuses(warehouse.ActionResume, "payouts", "all of account acme is paused, by ops")
	b.does(warehouse.ActionResume, "", "Coupons of acme stays paused, by ops.")
	b.finish(b.begins("payouts"))
	b.idle()
	b.does(warehouse.ActionResume, "coupons", "runs now")
	run := b.begins("coupons")
	if !run.job.Full {
		t.Error("the full read that came due was forgotten")
	}
	b.finish(run)
	b.idle()
	if n := b.value("dealhouse_missed_runs_total", "stream=coupons") + b.value("dealhouse_paused",
		"stream=coupons"); n != 0 {
		t.Errorf("%v runs were missed, or it is paused still", n)
	}
	if acted, err := b.act(warehouse.ActionResume, "coupons"); err != nil || acted.Done {
		t.Errorf("once more: %+v, %v", acted, err)
	}
}

// A pause survives a restart of the daemon, and a pause that another process writes is noticed.
func TestPauseSurvives(t *testing.T) {
	w := open(t)
	first := operated(t, w, hourly(t, "coupons"), nil)
	first.does(warehouse.ActionPause, "coupons", "")
	first.stop(errTold)
	<-first.stopped

	looks := make(chan time.Time)
	second := start(t, hourly(t, "coupons"), func(_ *bed, o *Options) { o.Warehouse, o.looks = w, looks })
	second.advance(time.Hour)
	second.idle()
	if s := second.stream("acme", "coupons"); s.Paused == nil {
		t.Fatalf("%+v", s)
	}
	byCommand := warehouse.Action{Actor: "root", Via: warehouse.ViaCommand, Action: warehouse.ActionResume,
		Account: "acme", Stream: "coupons"}
	if _, err := w.RecordAction(t.Context(), byCommand); err != nil {
		t.Fatal(err)
	}
	second.idle()
	looks <- time.Now()
	second.finish(second.begins("coupons"))
	byCommand.Action, byCommand.Stream = warehouse.ActionPause, ""
	if _, err := w.RecordAction(t.Context(), byCommand); err != nil {
		t.Fatal(err)
	}
	looks <- time.Now()
	second.until("it is paused", func() bool { return second.stream("acme", "coupons").Paused != nil })
}

// A run that is cancelled is no failure: it is not tried again before its time.
func TestCancel(t *testing.T) {
	b := operated(t, open(t), hourly(t, "coupons", "payouts"), nil)
	if acted, err := b.act(warehouse.ActionCancel, "coupons"); err != nil || acted.Done {
		t.Errorf("nothing runs: %+v, %v", acted, err)
	}
	b.does(warehouse.ActionRun, "", "2 runs")
	<-b.begun
	<-b.begun
	b.does(warehouse.ActionCancel, "coupons", "1 run of coupons of acme will stop")
	b.until("it has stopped", func() bool { return b.stream("acme", "coupons").Running == nil })
	if s := b.stream("acme", "payouts"); s.Running == nil || s.Stopping {
		t.Errorf("the other one was stopped, too: %+v", s)
	}
	if s := b.stream("acme", "coupons"); s.LastError != "" ||
		b.value("dealhouse_failed_runs_in_a_row", "stream=coupons") != 0 {
		t.Errorf("%+v", s)
	}
	b.advance(10 * time.Minute)
	if len(b.begun) > 0 {
		t.Error("a run that was cancelled is tried again")
	}
	b.does(warehouse.ActionCancel, "", "1 run of account acme")
	b.until("it has stopped", func() bool { return b.stream("acme", "payouts").Running == nil })
	b.advance(20 * time.Minute)
	<-b.begun
	<-b.begun
}

// Consent is for the run that was stopped last, and starts one that reads everything.
func TestConsentStartsRun(t *testing.T) {
	w := open(t)
	b := operated(t, w, hourly(t, "transactions"), nil)
	consent := warehouse.Action{Actor: "ops", Via: warehouse.ViaPage, Action: warehouse.ActionConsent, Account: "acme",
		Stream: "transactions", RunID: uuid.New()}
	wants := func(says string) {
		t.Helper()
		if _, err := b.Act(t.Context(), consent); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	wants("waits for consent")
	now, err := w.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := warehouse.RunRecord{Account: "acme", Stream: "transactions", RunID: uuid.New(), Mode: warehouse.ModeFull,
		StartedAt: now, FinishedAt: now, Outcome: warehouse.OutcomeGuarded, WouldDelete: 4200}
	if err := w.SaveRun(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	wants("which would have deleted 4,200 rows")
	consent.RunID, consent.Key = r.RunID, "k1"
	acted, err := b.Act(t.Context(), consent)
	if err != nil || acted.Action.Deletes != 4200 || !strings.Contains(acted.Text, "4,200 rows") {
		t.Fatalf("%+v, %v", acted, err)
	}
	run := b.begins("transactions")
	if !run.job.Full {
		t.Error("a run that reads only what changed does not come to the guard")
	}
	if again, err := b.Act(t.Context(), consent); err != nil || again.Action.ID != acted.Action.ID {
		t.Errorf("the same request again: %+v, %v", again, err)
	}
	b.finish(run)
	b.idle()
	if n := b.recorded(warehouse.ActionConsent); n != 1 {
		t.Errorf("%d consents", n)
	}
}

// What cannot be recorded is not done.
func TestNoActionWithoutRecord(t *testing.T) {
	w := open(t)
	b := operated(t, w, hourly(t, "coupons"), nil)
	if err := w.Conn().Exec(t.Context(), "RENAME TABLE operator_actions_log TO hidden"); err != nil {
		t.Fatal(err)
	}
	for _, action := range []string{warehouse.ActionRun, warehouse.ActionPause, warehouse.ActionReload} {
		if action == warehouse.ActionReload {
			continue
		}
		if acted, err := b.act(action, "coupons"); err == nil {
			t.Errorf("%s: %+v", action, acted)
		}
	}
	b.advance(time.Second)
	b.idle()
	if s := b.stream("acme", "coupons"); s.Paused != nil {
		t.Error("it is paused")
	}
}

// fullDisk is a connection to a warehouse whose disk may be full: what writes fails then.
type fullDisk struct {
	driver.Conn
	full *atomic.Bool
}

var errFull = &clickhouse.Exception{Code: 243, Name: "NOT_ENOUGH_SPACE",
	Message: "Cannot reserve 1.00 MiB, not enough space"}

func (d *fullDisk) Exec(ctx context.Context, query string, args ...any) error {
	if d.full.Load() {
		return errFull
	}
	return d.Conn.Exec(ctx, query, args...)
}

func (d *fullDisk) PrepareBatch(ctx context.Context, query string,
	opts ...driver.PrepareBatchOption) (driver.Batch, error) {
	if d.full.Load() {
		return nil, errFull
	}
	return d.Conn.PrepareBatch(ctx, query, opts...)
}

// If the disk is full, the answer to a request says what to do, and not only what the engine says.
func TestFullDiskIsAdvised(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	full := &atomic.Bool{}
	full.Store(true)
	w := warehousetest.Again(t, open(t), warehouse.Options{NoRetry: true,
		Wrap: func(c driver.Conn) driver.Conn { return &fullDisk{c, full} }})
	pause := warehouse.Action{Actor: "root", Via: warehouse.ViaCommand, Action: warehouse.ActionPause, Account: "acme"}
	_, err := Ask(t.Context(), w, pause)
	if err == nil || !strings.Contains(err.Error(), "Cannot reserve") || strings.Count(err.Error(), "free space on it") != 1 {
		t.Errorf("%v", err)
	}
	full.Store(false)
	if acted, err := Ask(t.Context(), w, pause); err != nil || !acted.Done {
		t.Errorf("when there is room again: %+v, %v", acted, err)
	}
}

// Whoever requests a reload gets its result.
func TestReloadByOperator(t *testing.T) {
	bad := errors.New("line 3: nobody understands this")
	var err error
	b := operated(t, open(t), hourly(t, "coupons"), func(_ *bed, o *Options) {
		o.Load = func(context.Context) (*Plan, error) { return hourly(t, "coupons"), err }
	})
	b.does(warehouse.ActionReload, "", "in force")
	b.advance(reloadEvery)
	err = bad
	b.refuses(warehouse.ActionReload, "", "line 3: nobody understands this")
	if n := b.recorded(warehouse.ActionReload); n != 2 {
		t.Errorf("%d reloads", n)
	}
}

// While the daemon shuts down nothing starts, and only the end of the grace stops what runs.
func TestNoActionInDrain(t *testing.T) {
	b := operated(t, open(t), hourly(t, "coupons"), nil)
	b.does(warehouse.ActionRun, "coupons", "")
	run := b.begins("coupons")
	b.stop(errTold)
	b.until("it drains", b.draining.Load)
	b.refuses(warehouse.ActionRunFull, "coupons", "shutting down")
	run.end <- nil
	<-b.stopped
	b.refuses(warehouse.ActionRun, "coupons", "ended")
}
