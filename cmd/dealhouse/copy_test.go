//go:build !noengine

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
)

// server is another embedded warehouse that a process serves for writing: to a copy it is a server.
func (b *bench) server(t *testing.T) (url string, p *process) {
	t.Helper()
	env := slices.Concat(b.env, []string{"DEALHOUSE_WAREHOUSE_DSN=embedded:" + filepath.Join(t.TempDir(), "server")})
	p = start(t, env, "serve-warehouse", "--allow-writes", "--listen", "127.0.0.1:0", "--config", b.config)
	return p.find(t, `on (http://\S+) \(reads and writes\)`)[1] + "/dealhouse", p
}

// A warehouse is copied to a server beside the daemon, while killed on the way, and from there into a folder. Each has
// the same rows and certificates, and goes on from the same watermarks.
func TestCopy(t *testing.T) {
	enginetest.OnlyWide(t) // TestCopy of warehouse copies too
	t.Parallel()
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	streams := narrow("coupons", "transactions", "payouts")
	b.migrated(t)
	b.yearly(t, streams...)
	d := b.daemon(t, b.config)
	d.succeeds(t, b, 1, streams...)
	url, server := b.server(t)
	other := func(dsn string) []string { return slices.Concat(b.env, []string{"DEALHOUSE_WAREHOUSE_DSN=" + dsn}) }
	copying := []string{"copy", "--to", url, "--config", b.config}

	kills := 1
	if enginetest.Wide() {
		kills = 10
	}
	count := func() string {
		return call(t, other(url), "query", "SELECT sum(total_rows) FROM system.tables WHERE database = 'dealhouse' AND NOT startsWith(name, 'schema')",
			"--output", "csv", "--config", b.config).out
	}
	for range kills {
		before := count()
		dying := start(t, b.env, copying...)
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_ = dying.Wait()
		}()
		(&running{process: dying}).until(t, "more is copied", func() bool {
			select {
			case <-gone:
				return true
			default:
				return count() != before
			}
		})
		_ = dying.Process.Kill() // it may have ended
		<-gone
	}
	start(t, b.env, copying...).finish(t).shows(t, "are equal at both ends")
	start(t, b.env, copying...).finish(t).shows(t, "are equal at both ends, 0 of them written now")
	d.signal(t, syscall.SIGTERM)
	d.finish(t).want(t, 143)
	start(t, b.env, copying...).finish(t).want(t, 0)

	all := "SELECT (SELECT count() FROM transactions_history), (SELECT sum(cashback) FROM transactions), (SELECT sum(cityHash64(certificate)) FROM sync_runs)"
	value := func(env []string) string {
		return start(t, env, "query", all, "--output", "csv", "--config", b.config).finish(t).out
	}
	want := value(b.env)
	b.sim.Advance(2 * 24 * time.Hour)
	if got := value(other(url)); got != want || strings.Contains(want, ",0\n") {
		t.Errorf("on the server: %s, want %s", got, want)
	}
	folder := "embedded:" + filepath.Join(t.TempDir(), "back")
	start(t, b.env, "copy", "--from", url, "--to", folder, "--config", b.config).finish(t).shows(t, "are equal at both ends")
	for _, dsn := range []string{url, folder} {
		env := other(dsn)
		if got := value(env); got != want {
			t.Errorf("in %s: %s, want %s", dsn, got, want)
		}
		start(t, env, "verify", "--offline", "--config", b.config).finish(t).shows(t, "as the runs certified it")
		start(t, env, append([]string{"sync", "--config", b.config}, streams...)...).finish(t).shows(t, "incremental")
	}
	start(t, b.env, copying...).finish(t).want(t, 2, "loaded by itself")
	server.signal(t, syscall.SIGTERM)
	server.finish(t).want(t, 143)
}

// What cannot be copied is refused before anything is made.
func TestCopyRefused(t *testing.T) {
	t.Parallel()
	b := newSmallBench(t)
	file := filepath.Join(t.TempDir(), "new.toml")
	if err := os.WriteFile(file, []byte("[warehouse]\ndsn = \"clickhouse://127.0.0.1:1/dealhouse\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args  []string
		code  int
		words string
	}{
		{nil, 2, "--to"},
		{[]string{"--to", "embedded:" + t.TempDir()}, 2, "dealhouse restore"},
		{[]string{"--to", "nonsense"}, 2, "--to"},
		{[]string{"--to", "file:not-there-at-all"}, 2, "not-there-at-all"},
		{[]string{"--to", file + ".toml"}, 2, file},
		{[]string{"--to", file, "--from", file}, 2, "the same warehouse"},
		{[]string{"--to", "http://127.0.0.1:1", "--from", "embedded:" + filepath.Join(t.TempDir(), "none")}, 2, "no warehouse"},
	} {
		t.Run(fmt.Sprint(c.args), func(t *testing.T) {
			t.Parallel()
			b.call(t, append([]string{"copy"}, c.args...)...).want(t, c.code, c.words)
		})
	}
}
