//go:build !noengine

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
)

// running is a daemon in a process of its own.
type running struct {
	*process
	url string
}

// hurried makes a configuration in which the streams, all where none is given, run every few seconds. more is put under
// [daemon].
func (b *bench) hurried(t *testing.T, more string, only ...string) string {
	t.Helper()
	text, err := os.ReadFile(b.config)
	if err != nil {
		t.Fatal(err)
	}
	streams := ""
	for i, stream := range catalog.Names() {
		streams += fmt.Sprintf("\n[account.streams.%s]\nschedule = \"@every %ds\"\nenabled = %t", stream, 2+i%2,
			slices.Contains(orAll(only), stream))
	}
	accounts := regexp.MustCompile(`(?m)^api_key = .*$`).ReplaceAllString(string(text), "$0"+streams)
	return b.write(t, "[daemon]\njitter = \"0s\"\n"+more+"\n"+accounts)
}

// daemon starts the program and waits until it is ready.
func (b *bench) daemon(t *testing.T, config string) *running {
	t.Helper()
	address := freeAddress(t)
	d := &running{start(t, slices.Concat(b.env, []string{"DEALHOUSE_DAEMON_LISTEN=" + address}), "run", "--config",
		config), "http://" + address}
	d.until(t, "it is ready", func() bool {
		resp, err := http.Get(d.url + "/readyz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return d
}

// until asks again and again what another process will do at a time that nobody tells.
func (d *running) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(comesWithin); !done(); <-tick.C {
		if time.Now().After(deadline) {
			_ = d.Process.Kill()
			_ = d.Wait()
			t.Fatalf("it never came to it that %s\n%s", what, d.stderr.String())
		}
	}
}

// text is what the daemon exports.
func (d *running) text(t *testing.T) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("prometheus", globexKey) // where the configuration asks for it
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return readAll(t, resp)
}

func readAll(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sum adds up the series of a metric that have all the labels, given as name=value.
func (d *running) sum(t *testing.T, name string, labels ...string) (total float64) {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(d.text(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range families[name].GetMetric() {
		has := 0
		for _, l := range m.Label {
			if slices.Contains(labels, l.GetName()+"="+l.GetValue()) {
				has++
			}
		}
		if has == len(labels) {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return total
}

// succeeds waits until the streams, all where none is given, of each account have succeeded so often in this process.
func (d *running) succeeds(t *testing.T, b *bench, times int, only ...string) {
	t.Helper()
	for _, account := range b.sim.Orgs() {
		for _, stream := range orAll(only) {
			d.until(t, stream+" of "+account+" succeeded", func() bool {
				return d.sum(t, "dealhouse_runs_total", "account="+account, "stream="+stream, "outcome=success") >= float64(times)
			})
		}
	}
}

// ends tells the daemon to end, and waits for it.
func (d *running) ends(t *testing.T, s syscall.Signal) outcome {
	t.Helper()
	d.signal(t, s)
	got := d.finish(t)
	got.want(t, 128+int(s))
	return got
}

// A daemon that is killed in the middle of its runs goes on after the next start as if nothing had been, and what its
// metrics say of where streams stand survives. For wide samples: TestKillMatrix of the syncer kills processes,
// TestDaemonReload has a daemon that goes on.
func TestDaemonKilled(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	b := newSmallBench(t)
	b.migrated(t)
	streams := narrow("transactions", "payouts", "products")
	config := b.hurried(t, "", streams...)
	first := b.daemon(t, config)
	first.succeeds(t, b, 1, streams...)
	b.sim.Advance(12 * time.Hour)
	reached := make(chan struct{}, 1)
	b.sim.SetBefore(func(r *http.Request) {
		if r.URL.Query().Has("cursor") {
			select {
			case reached <- struct{}{}:
			default:
			}
			<-r.Context().Done()
		}
	})
	<-reached
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	b.sim.SetBefore(nil)
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	later := b.write(t, strings.ReplaceAll(string(text), "@every ", "@every 100")) // nothing is due
	second := b.daemon(t, later)
	if rows := second.sum(t, "dealhouse_live_rows", "account=acme", "stream=products"); rows == 0 {
		t.Error("what was loaded before is not in the metrics")
	}
	if second.sum(t, "dealhouse_quality_check_ok") == 0 {
		t.Error("what was checked before is not in the metrics")
	}
	second.until(t, "the payouts are compared",
		func() bool { return second.sum(t, "dealhouse_payouts", "account=acme") > 0 })
	if runs := second.sum(t, "dealhouse_runs_total", "stream=payouts"); runs > 0 {
		t.Errorf("%v runs of payouts, which were not due", runs)
	}
	if err := os.WriteFile(later, text, 0o600); err != nil {
		t.Fatal(err)
	}
	second.signal(t, syscall.SIGHUP)
	second.succeeds(t, b, 1, streams...)
	second.ends(t, syscall.SIGTERM)
	engineTurn(t)
	defer hold(t, b.dir)()
	for _, account := range b.sim.Orgs() {
		for _, name := range orAll(streams) {
			s, err := catalog.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, b, b.env, account, s)
		}
	}
	killed := call(t, b.env, "query", "SELECT count() FROM sync_runs WHERE outcome = 'running'", "-o", "csv", "--config",
		b.config)
	if !strings.HasSuffix(killed.out, "\n0\n") {
		t.Errorf("runs of the dead process are said to run: %s", killed.out)
	}
}

// A configuration that is bad is refused, a good one is in force, and what needs a restart is said. For wide samples:
// TestReload of package daemon reads a configuration again.
func TestDaemonReload(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	b := newSmallBench(t)
	b.migrated(t)
	config := b.hurried(t, "", narrow("promotions", "coupons")...)
	d := b.daemon(t, config)
	good, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	reload := func(text string) {
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d.signal(t, syscall.SIGHUP)
	}
	reload(strings.ReplaceAll(string(good), "@every 2s", "@every now and then"))
	d.until(t, "the bad configuration is refused", func() bool { return d.sum(t, "dealhouse_config_reload_success") == 0 })
	answer, err := http.Get(d.url)
	if err != nil {
		t.Fatal(err)
	}
	if page := readAll(t, answer); !strings.Contains(page, "The new configuration was refused") || !strings.Contains(page, "now and then") {
		t.Errorf("the page does not say that the configuration was refused: %s", page)
	}
	runs := d.sum(t, "dealhouse_runs_total", "outcome=success")
	d.until(t, "runs go on", func() bool { return d.sum(t, "dealhouse_runs_total", "outcome=success") > runs })
	reload(strings.ReplaceAll(strings.Replace(string(good), "[daemon]", "[daemon]\npprof = true", 1), "@every 3s",
		"@every 1h"))
	d.until(t, "the good one is in force", func() bool { return d.sum(t, "dealhouse_config_reload_success") == 1 })
	if next := d.sum(t, "dealhouse_next_run_timestamp_seconds", "account=acme",
		"stream=coupons"); next < float64(time.Now().Add(50*time.Minute).Unix()) {
		t.Errorf("coupons run next at %v", next)
	}
	d.ends(t, syscall.SIGINT).want(t, 130, "THE CONFIGURATION WAS REFUSED", `now and then`,
		"takes effect at the next start only", "daemon.pprof")
}

// A run that is under way when the daemon is told to end is stopped after the grace, and told as such. For wide
// samples: package daemon has what stops after the grace.
func TestDaemonDrain(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	b := newSmallBench(t)
	b.migrated(t)
	var held atomic.Int64
	b.sim.SetBefore(func(r *http.Request) {
		if r.URL.Query().Has("cursor") {
			held.Add(1)
			<-r.Context().Done()
		}
	})
	d := b.daemon(t, b.hurried(t, `grace = "100ms"`))
	d.until(t, "a run hangs", func() bool { return held.Load() > 0 })
	got := d.ends(t, syscall.SIGTERM)
	if strings.Contains(got.err, "level=ERROR") || strings.Contains(got.err, "level=WARN") {
		t.Errorf("stopping is told as an error:\n%s", got.err)
	}
	got.want(t, 143, `level=INFO msg="stopped by a signal: terminated"`)
	b.sim.SetBefore(nil)
	engineTurn(t)
	outcomes := call(t, b.env, "query", "SELECT DISTINCT outcome FROM sync_runs WHERE outcome NOT IN ('success', 'stopped')", "-o", "csv", "--config", b.config)
	if strings.TrimPrefix(outcomes.out, "outcome\n") != "" {
		t.Errorf("outcomes beside success and stopped: %s", outcomes.out)
	}
}
