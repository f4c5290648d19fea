//go:build !noengine

package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
)

// yearly makes a configuration with schedules that do not come: the daemon runs each stream once, at its start.
func (b *bench) yearly(t *testing.T, only ...string) {
	t.Helper()
	text, err := os.ReadFile(b.hurried(t, "", only...))
	if err != nil {
		t.Fatal(err)
	}
	b.config = b.write(t, regexp.MustCompile(`"@every \w+"`).ReplaceAllString(string(text), `"0 0 1 1 *"`))
}

// Every command works beside a daemon that has the embedded warehouse, and answers what it does without one.
func TestCommandsBesideDaemon(t *testing.T) {
	t.Parallel()
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	streams := narrow("coupons", "transactions", "payouts", "products")
	b.migrated(t)
	b.yearly(t, streams...)
	d := b.daemon(t, b.config)
	d.succeeds(t, b, 1, streams...)
	if info, err := os.Stat(filepath.Join(b.dir, "dealhouse.sock")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	type answer struct {
		args []string
		out  string
	}
	var same []answer // what does not depend on the time
	for _, args := range [][]string{
		{"query", "SELECT count(), sum(cashback) FROM transactions"},
		{"query", "SELECT account, id, status FROM transactions ORDER BY id", "--output", "csv"},
		{"schema", "--output", "json"},
		{"rejects", "--output", "json"},
		{"reconcile", "--output", "csv"},
		{"runs", "--output", "csv", "--stream", "products"}, // the daemon still looks up what others name
		{"migrate"},
		{"migrate", "--dry-run"},
	} {
		got := b.call(t, args...)
		got.want(t, 0)
		same = append(same, answer{args, got.out})
	}
	b.call(t, "status").shows(t, "transactions")
	b.call(t, "check").shows(t, "ClickHouse", "up to date")
	b.call(t, "query", "SELECT * FROM file('/etc/passwd')").want(t, 2, "not allowed")
	b.call(t, "query", "TRUNCATE TABLE transactions_latest").want(t, 2, "read-only")
	b.call(t, "query", "SELECT number FROM numbers(1000)", "--max-result-rows", "10").want(t, 1, "396")
	b.call(t, "query", "SELECT groupArray(number) FROM numbers(10000000)", "--max-query-memory", "20").want(t, 1, "241")
	b.call(t, "query", "SELECT sum(sipHash64(number)) FROM numbers(1000000000000)", "--max-time", "1").want(t, 1, "159")
	d.signal(t, syscall.SIGTERM)
	d.end(t).want(t, 143)

	release := engineTurn(t)
	closeEngine := hold(t, b.dir)
	for _, answer := range same {
		if got := b.call(t, answer.args...); got.out != answer.out {
			t.Errorf("%q: without the daemon\n%s\nbeside it\n%s", answer.args, got.out, answer.out)
		}
	}
	closeEngine()
	release()
}

// What loads works through the daemon too, and takes turns with its runs by the leases. For wide samples:
// TestOperateBesideDaemon loads through a daemon, and the others here ask through it.
func TestLoadingBesideDaemon(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	streams := narrow("coupons", "transactions", "payouts")
	b.migrated(t)
	b.yearly(t, streams...)
	d := b.daemon(t, b.config)
	d.succeeds(t, b, 1, streams...)
	var coupons []string
	for record := range b.sim.Truth(apisim.StreamCoupons, "acme") {
		var c struct{ ID string }
		if err := json.Unmarshal(record, &c); err != nil {
			t.Fatal(err)
		}
		coupons = append(coupons, c.ID)
	}
	for _, id := range coupons[:len(coupons)/2] {
		if err := b.sim.Delete(apisim.StreamCoupons, "acme", id); err != nil {
			t.Fatal(err)
		}
	}
	b.call(t, "sync", "coupons", "--dry-run").want(t, 4, "stopped by a guard")
	b.call(t, "sync", "coupons").want(t, 4, "--allow-mass-delete")
	b.call(t, "sync", "coupons", "--allow-mass-delete").want(t, 0)
	b.call(t, "sync", "transactions", "payouts").want(t, 0)
	b.call(t, "backfill", "transactions", "--from", "2025-11-01T00:00:00Z", "--to", "2026-03-01T00:00:00Z").want(t, 0)
	b.call(t, "rejects", "retry").want(t, 0)
	if got := b.call(t, "runs", "--output", "csv"); strings.Count(got.out, "coupons") < 3 {
		t.Errorf("the runs beside the daemon are not there:\n%s", got.out)
	}
	if err := d.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = d.Wait()
	release := engineTurn(t) // nobody answers at the socket that is left: the command opens the warehouse itself
	b.call(t, "query", "SELECT count() FROM coupons").want(t, 0)
	release()
}

// A command that only looks works through a sync that is under way, and one that loads waits for its end.
func TestCommandsBesideSync(t *testing.T) {
	t.Parallel()
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	b.migrated(t)
	held, open := make(chan struct{}, 1), make(chan struct{})
	b.sim.SetBefore(func(r *http.Request) {
		if strings.Contains(r.URL.Path, "coupons") {
			select {
			case held <- struct{}{}:
			default:
			}
			<-open
		}
	})
	syncing := start(t, b.env, "sync", "coupons", "--config", b.config)
	syncing.reaches(t, held)
	b.call(t, "query", "SELECT count() FROM coupons").want(t, 0, "another dealhouse has the embedded warehouse open")
	b.call(t, "status").want(t, 0)
	waiting := start(t, b.env, "sync", "payouts", "--config", b.config)
	(&running{process: waiting}).until(t, "the second sync waits", func() bool { return strings.Contains(waiting.stderr.String(), "waiting for another process") })
	close(open)
	syncing.end(t).want(t, 0)
	waiting.end(t).want(t, 0)
}
