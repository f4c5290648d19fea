//go:build !noengine

package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/chdb"
	"dealhouse/internal/enginetest"
)

// beside is a bench whose warehouse is in another folder.
func (b *bench) beside(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "restored")
	return dir, slices.Concat(b.env, []string{"DEALHOUSE_WAREHOUSE_DSN=embedded:" + dir})
}

// A backup is taken beside the daemon, and not while a run is under way. What is restored from it goes on from its
// watermarks: after the next sync the views equal the API. For wide samples: TestRestoreBroken takes a backup and
// restores it.
func TestBackup(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	streams := narrow("coupons", "transactions", "payouts")
	b.migrated(t)
	b.yearly(t, streams...)
	d := b.daemon(t, b.config)
	d.succeeds(t, b, 1, streams...)
	path := filepath.Join(t.TempDir(), "whole.tar")
	b.backUpDuringRun(t, path)
	start(t, b.env, "backup", path, "--config", b.config).finish(t).shows(t, "Backed up",
		path) // its leases are of a process that is gone later
	b.call(t, "backup", path).want(t, 2, "not replaced")
	b.call(t, "backup", filepath.Join(b.dir, "x")).want(t, 2, "in the folder of the warehouse")
	before := b.call(t, "query", "SELECT count(), sum(cashback) FROM transactions", "--output", "csv").out
	b.sim.Advance(2 * 24 * time.Hour)
	b.call(t, append([]string{"sync"}, streams...)...).want(t, 0)
	if after := b.call(t, "query", "SELECT count(), sum(cashback) FROM transactions", "--output",
		"csv").out; after == before {
		t.Error("nothing was loaded after the backup")
	}
	b.call(t, "restore", path).want(t, 2, "not empty")
	d.signal(t, syscall.SIGTERM)
	d.finish(t).want(t, 143)

	dir, env := b.beside(t)
	engineTurn(t)
	restored := func(args ...string) outcome { return call(t, env, append(args, "--config", b.config)...) }
	restored("restore", "--check", path).shows(t, "is whole", "database dealhouse")
	restored("restore", path).shows(t, "Restored")
	if got := restored("query", "SELECT count(), sum(cashback) FROM transactions", "--output", "csv").out; got != before {
		t.Errorf("backed up:\n%s\nrestored:\n%s", before, got)
	}
	got := restored(append([]string{"sync"}, streams...)...)
	got.want(t, 0)
	got.shows(t, "incremental")
	for _, s := range catalog.All() {
		if slices.Contains(orAll(streams), s.Name) {
			compare(t, b, env, "acme", s)
		}
	}
	left, err := os.ReadDir(chdb.BackupFolder(dir))
	if err != nil || slices.ContainsFunc(left, os.DirEntry.IsDir) {
		t.Errorf("the restore left %v, %v", left, err)
	}
}

// backUpDuringRun asks for a backup while a run is under way, which does not end in time.
func (b *bench) backUpDuringRun(t *testing.T, path string) {
	t.Helper()
	held, open := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(held) })
	b.sim.SetBefore(func(*http.Request) { once(); <-open })
	running := start(t, b.env, "sync", "coupons", "--config", b.config)
	running.reaches(t, held)
	b.call(t, "backup", "--wait", "100ms", path).want(t, 1, "nothing was backed up")
	close(open)
	running.finish(t).want(t, 0)
	b.sim.SetBefore(nil)
	if _, err := os.Stat(path); err == nil {
		t.Error("there is a backup")
	}
}

// A restore that fails leaves an empty folder; one whose process dies leaves a folder that nobody opens, and that the
// same command begins anew. A backup of a newer version is refused before anything is made.
func TestRestoreBroken(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	b.migrated(t)
	path := filepath.Join(t.TempDir(), "folder")
	start(t, b.env, "backup", path, "--config", b.config).finish(t).want(t, 0)
	dir, env := b.beside(t)
	restored := func(args ...string) outcome { return call(t, env, append(args, "--config", b.config)...) }

	file := filepath.Join(path, "data", "metadata", "dealhouse.sql")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damage := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	damage("x")
	restored("restore", path).want(t, 2, "damaged", "metadata/dealhouse.sql")
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	damage(string(text))
	restored("restore", filepath.Join(path, "data")).want(t, 2, "not a whole backup")
	call(t, append(env, "DEALHOUSE_WAREHOUSE_DATABASE=other"), "restore", path, "--config", b.config).want(t, 2,
		"warehouse.database")
	server := slices.Concat(b.env, []string{"DEALHOUSE_WAREHOUSE_DSN=clickhouse://127.0.0.1:1/dealhouse"})
	call(t, server, "restore", path, "--config", b.config).want(t, 2, "is a server")
	call(t, server, "backup", dir, "--config", b.config).want(t, 2, "is a server")

	kills := 0
	for _, after := range killPoints() {
		dying := start(t, env, "restore", path, "--config", b.config)
		(&running{process: dying}).until(t, "the restore has begun", func() bool { return entriesBelow(dir) >= after })
		if err := dying.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = dying.Wait()
		if _, err := os.Stat(filepath.Join(dir, chdb.RestoringFile)); err != nil { // it came too late
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			continue
		}
		kills++
		for _, args := range [][]string{{"status"}, {"query", "SELECT 1"}, {"sync", "coupons"}} {
			start(t, env, append(args, "--config", b.config)...).finish(t).want(t, 1, "restore")
		}
	}
	if kills == 0 {
		t.Error("no restore was killed")
	}
	start(t, env, "restore", path, "--config", b.config).finish(t).want(t, 0)
	start(t, env, "sync", "coupons", "--config", b.config).finish(t).want(t, 0)
}

// killPoints are how many files are there when a restore is killed.
func killPoints() (points []int) {
	points = []int{3}
	if enginetest.Wide() {
		points = append(points, 1, 50, 100, 150, 200, 250, 300, 400)
	}
	return points
}

func entriesBelow(dir string) (n int) {
	_ = filepath.WalkDir(dir, func(string, os.DirEntry, error) error { n++; return nil }) // it changes meanwhile
	return n
}

// A backup that is killed at any moment leaves nothing under its name, and the next one clears away what it left.
func TestBackupKilled(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	b.migrated(t)
	start(t, b.env, "sync", "--config", b.config).finish(t).want(t, 0)
	out := t.TempDir()
	for i, after := range []int{50, 200, 300, 400, 500, 600, 700, 800} {
		path := filepath.Join(out, fmt.Sprint(i, ".tar"))
		dying := start(t, b.env, "backup", path, "--config", b.config)
		timer := time.AfterFunc(time.Duration(after)*time.Millisecond, func() { _ = dying.Process.Kill() })
		err := dying.Wait()
		timer.Stop()
		if _, statErr := os.Stat(path); (statErr == nil) && err != nil {
			start(t, b.env, "restore", "--check", path, "--config", b.config).finish(t).want(t, 0)
		}
	}
	path := filepath.Join(out, "0.tar")
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	start(t, b.env, "backup", path, "--config", b.config).finish(t).want(t, 0)
	left, err := filepath.Glob(filepath.Join(out, "0.tar.*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	staged, err := os.ReadDir(chdb.BackupFolder(b.dir))
	if err != nil || slices.ContainsFunc(staged, os.DirEntry.IsDir) {
		t.Errorf("left among the data: %v, %v", staged, err)
	}
	if got := start(t, b.env, "query", "SELECT count() FROM coupons", "-o", "csv", "--config",
		b.config).finish(t); !strings.Contains(got.out, fmt.Sprint(b.sim.Count("coupons", "acme"))) {
		t.Errorf("the warehouse has %s", got.out)
	}
}
