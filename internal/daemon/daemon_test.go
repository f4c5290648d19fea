//go:build !noengine

package daemon

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// A time that comes while the stream still runs is skipped and counted; the next run is at the next time (daemon-1).
func TestScheduleFasterThanTheRun(t *testing.T) {
	b := start(t, &Plan{Streams: []Stream{planned(t, "acme", "coupons", "@every 10s", "")}}, nil)
	first := b.begins("coupons")
	for range 3 {
		b.advance(10 * time.Second)
	}
	if n := b.value("dealhouse_missed_runs_total", "stream=coupons"); n != 3 {
		t.Errorf("%v missed", n)
	}
	b.advance(5 * time.Second)
	b.finish(first)
	b.idle()
	b.advance(5 * time.Second)
	b.finish(b.begins("coupons"))
	if n := b.value("dealhouse_missed_runs_total", "stream=coupons"); n != 3 {
		t.Errorf("%v missed in the end", n)
	}
}

// A full read that comes due during a run is not skipped: it follows at once (daemon-1).
func TestResyncFollows(t *testing.T) {
	b := start(t, &Plan{Streams: []Stream{planned(t, "acme", "transactions", "*/5 * * * *", "30 12 * * *")}}, nil)
	b.finish(b.begins("transactions"))
	b.advance(25 * time.Minute)
	run := b.begins("transactions")
	if run.job.Full {
		t.Error("a full read came too early")
	}
	b.advance(6 * time.Minute) // 12:31
	b.finish(run)
	full := b.begins("transactions")
	if !full.job.Full {
		t.Error("the full read was skipped")
	}
	b.finish(full)
	b.idle()
	b.advance(4 * time.Minute)
	if run := b.begins("transactions"); run.job.Full {
		t.Error("the full read came twice")
	}
}

// One run makes up for what was missed while the machine slept. After the clock was set back, nothing waits for the old
// time to come again (daemon-2).
func TestClockJumps(t *testing.T) {
	b := start(t, &Plan{Streams: []Stream{planned(t, "acme", "coupons", "0 * * * *", "")}}, nil)
	b.finish(b.begins("coupons"))
	b.advance(3*time.Hour + 30*time.Minute)
	b.finish(b.begins("coupons"))
	b.idle()
	if n := b.value("dealhouse_missed_runs_total", "stream=coupons"); n != 2 {
		t.Errorf("%v missed, not counting the one that was made up for", n)
	}
	if next := b.stream("acme", "coupons").Next; !next.Equal(at(t, "2026-07-01T16:00:00Z")) {
		t.Errorf("next at %s", next)
	}
	b.advance(-5 * time.Hour) // 10:30
	b.idle()
	if next := b.stream("acme", "coupons").Next; !next.Equal(at(t, "2026-07-01T11:00:00Z")) {
		t.Errorf("after the clock was set back, next at %s", next)
	}
	if v := b.value("dealhouse_next_run_timestamp_seconds",
		"stream=coupons"); v != float64(at(t, "2026-07-01T11:00:00Z").Unix()) {
		t.Errorf("after the clock was set back, the metric still says %v", v)
	}
	b.advance(30 * time.Minute)
	b.finish(b.begins("coupons"))
	for _, said := range []string{"the machine slept", "the clock was set back"} {
		if !strings.Contains(b.log.String(), said) {
			t.Errorf("the log does not say that %s", said)
		}
	}
	if n := strings.Count(b.log.String(), asEver); n != 1 {
		t.Errorf("what all 3 runs noticed is told %d times", n)
	}
}

// A panic ends its run and is logged with its stack, and nothing else happens (daemon-5). The same is true for a
// panic in what follows a run.
func TestPanic(t *testing.T) {
	enginetest.Long(t)
	b := start(t, &Plan{Streams: []Stream{planned(t, "acme", "coupons", "@every 1m", ""),
		planned(t, "acme", "payouts", "", "")}}, func(_ *bed, o *Options) {
		o.Warehouse = open(t)
		o.Plan.After = func(_ context.Context, results []syncer.Result) {
			if results[0].Err == nil {
				panic("afterwards")
			}
		}
	})
	b.finishAs(b.begins("coupons"), func() (warehouse.RunRecord, error) { panic("at the disco") })
	if s := b.stream("acme", "coupons"); !strings.Contains(s.LastError, "at the disco") {
		t.Errorf("%+v", s)
	}
	b.advance(time.Minute)
	b.finish(b.begins("coupons"))
	if s := b.stream("acme", "coupons"); s.LastError != "" {
		t.Errorf("%+v", s)
	}
	rows, err := b.o.Warehouse.Runs(t.Context(), warehouse.RunFilter{})
	if err != nil || len(rows) != 1 || rows[0].Outcome != warehouse.OutcomeFailed ||
		!strings.Contains(rows[0].Error, "at the disco") {
		t.Errorf("sync_runs has %+v, %v", rows, err)
	}
	log := b.log.String()
	if strings.Count(log, "daemon_test.go") < 2 || !strings.Contains(log, "afterwards") {
		t.Errorf("the stacks are not in the log:\n%s", log)
	}
}

// At the start, only what is late runs at once (daemon-4).
func TestStart(t *testing.T) {
	enginetest.Long(t)
	now := time.Now().UTC().Truncate(time.Second) // "@every" cuts off what is less
	b := start(t, &Plan{Streams: []Stream{
		planned(t, "acme", "coupons", "@every 1h", ""),
		planned(t, "acme", "promotions", "@every 1h", ""),
		planned(t, "acme", "payouts", "@every 1h", ""),
		planned(t, "acme", "products", "", ""),
		planned(t, "acme", "transactions", "@every 1h", "@every 24h"),
	}}, func(b *bed, o *Options) {
		b.now = now
		o.Warehouse = open(t)
		for _, r := range []struct {
			stream, mode, outcome string
			age                   time.Duration
		}{
			{"coupons", "snapshot", warehouse.OutcomeSuccess, 2 * time.Hour},
			{"promotions", "snapshot", warehouse.OutcomeSuccess, 30 * time.Minute},
			{"payouts", "snapshot", warehouse.OutcomeSuccess, 2 * time.Hour},
			{"payouts", "snapshot", warehouse.OutcomeFailed, time.Minute},
			{"transactions", "full", warehouse.OutcomeSuccess, 30 * time.Hour},
			{"transactions", "incremental", warehouse.OutcomeSuccess, time.Minute},
		} {
			began := now.Add(-r.age)
			record := warehouse.RunRecord{Account: "acme", Stream: r.stream, RunID: uuid.New(), Mode: r.mode, StartedAt: began,
				FinishedAt: began.Add(time.Second), Outcome: r.outcome}
			if err := o.Warehouse.SaveRun(t.Context(), record); err != nil {
				t.Fatal(err)
			}
			if r.stream != "coupons" {
				continue
			}
			if _, err := o.Warehouse.CheckQuality(t.Context(), record); err != nil {
				t.Fatal(err)
			}
		}
	})
	full := map[string]bool{}
	for range 3 {
		select {
		case a := <-b.begun:
			full[a.job.Stream.Name] = a.job.Full
		case <-time.After(patience):
			t.Fatalf("only %v began", full)
		}
	}
	b.advance(time.Second)
	if len(b.begun) > 0 || len(full) != 3 || full["coupons"] || full["payouts"] || !full["transactions"] {
		t.Errorf("runs and whether they are full: %v", full)
	}
	if next := b.stream("acme", "promotions").Next; next.Sub(now).Round(time.Second) != 30*time.Minute {
		t.Errorf("promotions run in %s", next.Sub(now))
	}
	if next := b.stream("acme", "products").Next; !next.IsZero() {
		t.Errorf("products run at %s", next)
	}
	if age := b.value("dealhouse_look_age_seconds", "stream=coupons"); age < 7190 || age > 3*3600 {
		t.Errorf("the last look was %v s ago", age)
	}
	if v := b.value("dealhouse_quality_check_ok", "stream=coupons", "check="+warehouse.CheckRowsMatch); v != 1 {
		t.Errorf("the check of the last run is %v", v)
	}
	if _, known := b.find("dealhouse_payouts"); known {
		t.Error("the daemon says how payouts are, and nobody compared them")
	}
	if _, known := b.find("dealhouse_look_age_seconds", "stream=products"); known {
		t.Error("products have an age and were never loaded")
	}
	if v := b.value("dealhouse_last_failure_timestamp_seconds",
		"stream=payouts"); v < float64(now.Add(-2*time.Minute).Unix()) {
		t.Errorf("last failure %v", v)
	}
}

// A configuration that cannot be read changes nothing; one that can be read is in force at once, except for runs under
// way, whose settings are closed after the last of them (daemon-6).
func TestReload(t *testing.T) {
	closed := make(chan string, 3)
	var adopted []string // written by the loop; read once it has started a run of the plan
	var next *Plan
	loads := make(chan error)
	old := &Plan{Streams: []Stream{planned(t, "acme", "coupons", "@every 1m", ""),
		planned(t, "gone", "coupons", "@every 1m", ""), planned(t, "acme", "payouts", "0 0 * * *", "")},
		Adopted: func() { adopted = append(adopted, "old") }, Close: func() { closed <- "old" }}
	b := start(t, old, func(_ *bed, o *Options) {
		o.Load = func(context.Context) (*Plan, error) { return next, <-loads }
	})
	running := map[string]*attempted{}
	for range 3 {
		a := <-b.begun
		running[a.job.Account+" "+a.job.Stream.Name] = a
	}
	b.finish(running["acme payouts"])
	b.reloads <- syscall.SIGHUP
	loads <- errors.New("line 3 is wrong")
	b.until("the reload is refused", func() bool {
		return b.value("dealhouse_config_reload_success") == 0 && strings.Contains(b.log.String(), "REFUSED") &&
			b.Refused() == "line 3 is wrong" // as the page says it
	})
	if !strings.Contains(b.log.String(), "REFUSED") || !strings.Contains(b.log.String(), "line 3 is wrong") ||
		len(b.Streams()) != 3 {
		t.Errorf("%d streams\n%s", len(b.Streams()), b.log.String())
	}

	disabled := planned(t, "acme", "payouts", "", "")
	disabled.Enabled = false
	next = &Plan{Streams: []Stream{planned(t, "acme", "coupons", "@every 5m", ""), disabled,
		planned(t, "new", "coupons", "@every 1h", "")},
		Adopted: func() { adopted = append(adopted, "new") }, Close: func() { closed <- "new" }}
	next.Beside = func(ctx context.Context) {
		<-ctx.Done()
		closed <- "what was beside the new"
	}
	b.advance(reloadEvery)
	b.reloads <- syscall.SIGHUP
	loads <- nil
	b.finish(b.begins("coupons")) // of the new account
	if !slices.Equal(adopted, []string{"old", "new"}) {
		t.Errorf("adopted: %v", adopted)
	}
	if v := b.value("dealhouse_config_reload_success"); v != 1 || b.Refused() != "" {
		t.Errorf("success %v, refused: %s", v, b.Refused())
	}
	if _, known := b.find("dealhouse_runs_total", "account=acme", "stream=payouts"); known {
		t.Error("a stream that is not loaded any more has series")
	}
	if _, known := b.find("dealhouse_http_requests_total", "account=gone"); !known {
		t.Error("an account that still runs has no series")
	}
	if s := b.stream("acme", "coupons"); s.Running == nil || s.Schedule != "@every 5m" {
		t.Errorf("%+v", s)
	}
	if len(closed) > 0 {
		t.Error("settings were closed under a run")
	}
	b.finish(running["acme coupons"])
	running["gone coupons"].end <- nil
	if which := <-closed; which != "old" {
		t.Errorf("the %s settings were closed", which)
	}
	b.until("the series are gone", func() bool {
		_, known := b.find("dealhouse_http_requests_total", "account=gone")
		_, still := b.find("dealhouse_live_rows", "account=gone")
		return !known && !still
	})
	b.stop(errTold)
	if which := <-closed; which != "what was beside the new" {
		t.Errorf("the %s settings were closed while they were used", which)
	}
	if which := <-closed; which != "new" {
		t.Errorf("the %s settings were closed at the end", which)
	}
}

// Reloads that are requested while one is under way, or shortly after, become one more reload.
func TestReloadsAreOne(t *testing.T) {
	loads := make(chan error)
	begun := make(chan struct{}, 10)
	b := start(t, &Plan{Streams: []Stream{planned(t, "acme", "coupons", "", "")}}, func(_ *bed, o *Options) {
		o.Load = func(context.Context) (*Plan, error) { begun <- struct{}{}; return nil, <-loads }
	})
	for range 4 {
		b.reloads <- syscall.SIGHUP
	}
	loads <- errors.New("first")
	b.until("the first is told", func() bool { return strings.Count(b.log.String(), "REFUSED") == 1 })
	b.reloads <- syscall.SIGHUP
	b.advance(reloadEvery / 2)
	if len(begun) != 1 {
		t.Errorf("%d loads at once", len(begun))
	}
	b.advance(reloadEvery / 2)
	loads <- errors.New("second")
	b.until("both are told", func() bool { return strings.Count(b.log.String(), "REFUSED") == 2 })
	b.advance(reloadEvery)
	if len(begun) != 2 {
		t.Errorf("%d loads", len(begun))
	}
}

// Once it is told to end, the daemon starts nothing, lets runs end, and stops them when the grace is over (daemon-7).
func TestDrain(t *testing.T) {
	b := start(t, &Plan{Streams: []Stream{planned(t, "acme", "coupons", "@every 1s", ""),
		planned(t, "acme", "payouts", "@every 1s", "")}}, nil)
	running := map[string]*attempted{}
	for range 2 {
		a := <-b.begun
		running[a.job.Stream.Name] = a
	}
	b.stop(errTold)
	b.until("it drains", func() bool { return b.draining.Load() })
	if err := b.Ready(t.Context()); err == nil {
		t.Error("it is ready while it shuts down")
	}
	b.finish(running["coupons"])
	b.advance(10 * time.Second)
	if len(b.begun) > 0 {
		t.Error("a run began while the daemon was shutting down")
	}
	if running["payouts"].ctx.Err() != nil {
		t.Error("a run was stopped within the grace")
	}
	b.grace <- b.clock()
	<-running["payouts"].ctx.Done()
	if cause := context.Cause(running["payouts"].ctx); !errors.Is(cause, errTold) {
		t.Errorf("stopped for %v", cause)
	}
	if err := <-b.ended; err != nil {
		t.Error(err)
	}
	if b.Streams() != nil {
		t.Error("there are streams after the end")
	}
	if strings.Contains(b.log.String(), "ERROR") {
		t.Errorf("stopping is told as an error:\n%s", b.log.String())
	}
}

// systemd is told about the start, about reloads and about the end. Only the loop tells its watchdog (daemon-8).
func TestSupervisor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close() //nolint:errcheck // nothing is written to it
	hears := func(want ...string) {
		t.Helper()
		buffer := make([]byte, 4096)
		if err := socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		n, err := socket.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(buffer[:n]), w) {
				t.Errorf("%q lacks %q", buffer[:n], w)
			}
		}
	}
	b := start(t, &Plan{Streams: []Stream{planned(t, "acme", "coupons", "", "")}}, func(_ *bed, o *Options) {
		o.Env = []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=20000000", "WATCHDOG_PID=" + strconv.Itoa(os.Getpid())}
		o.Load = func(context.Context) (*Plan, error) { return nil, errors.New("bad") }
	})
	hears("READY=1", "STATUS=1 streams")
	b.advance(10 * time.Second)
	hears("WATCHDOG=1")
	b.advance(5 * time.Second)
	b.reloads <- syscall.SIGHUP
	hears("RELOADING=1", "MONOTONIC_USEC=") // not the watchdog: it is too early
	hears("READY=1", "refused")
	b.stop(errTold)
	hears("STOPPING=1")

	other := newSupervisor([]string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=20000000", "WATCHDOG_PID=1"}, nil)
	if other.watchdog != 0 {
		t.Error("it answers a watchdog of another process")
	}
}
