//go:build !noengine

package main

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
)

// oneEngine is held by the test that opens an engine in this process: one folder can be open at a time.
var oneEngine sync.Mutex

// engineHere lets other tests run beside this one, but none that opens an engine in this process too, until it ends.
func engineHere(t *testing.T) {
	t.Helper()
	t.Parallel()
	engineTurn(t)
}

// engineTurn is the same for a part of a test, which ends with release or with the test.
func engineTurn(t *testing.T) (release func()) {
	t.Helper()
	oneEngine.Lock()
	release = sync.OnceFunc(oneEngine.Unlock)
	t.Cleanup(release)
	return release
}

// emptyWarehouse is a folder with the schema and nothing else, which is made once and copied: to make the schema takes
// longer than most of what tests do with it.
var emptyWarehouse struct {
	once sync.Once
	dir  string
	err  error
}

// migrated gives the bench a warehouse that has its schema already.
func (b *bench) migrated(t *testing.T) {
	t.Helper()
	e := &emptyWarehouse
	e.once.Do(func() {
		if e.dir, e.err = os.MkdirTemp("", "dealhouse-test-"); e.err != nil { //nolint:usetesting // it outlives this test
			return
		}
		made := filepath.Join(e.dir, "data")
		start(t, []string{"DEALHOUSE_WAREHOUSE_DSN=embedded:" + made}, "migrate", "--config", b.write(t, "")).finish(t).want(t,
			0)
		if t.Failed() {
			e.err = errors.New("the schema could not be made")
		}
	})
	if e.err != nil {
		t.Fatal(e.err)
	}
	if err := os.CopyFS(b.dir, os.DirFS(filepath.Join(e.dir, "data"))); err != nil {
		t.Fatal(err)
	}
	// The configuration has paths in it; it is written at every start.
	if err := os.RemoveAll(filepath.Join(b.dir, "engine")); err != nil {
		t.Fatal(err)
	}
}

// removeShared removes what tests shared.
func removeShared() error { return os.RemoveAll(emptyWarehouse.dir) }

// newSmallBench is one with a single account, unless a wide sample is asked for: each run of a stream costs its time.
func newSmallBench(t *testing.T) *bench {
	t.Helper()
	if enginetest.Wide() {
		return newBench(t)
	}
	return newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
}

// orAll are the streams that are given, or all.
func orAll(streams []string) []string {
	if len(streams) == 0 {
		return catalog.Names()
	}
	return streams
}

// ofAcme leaves the second account to another step of the test, unless a wide sample is asked for.
func ofAcme() []string {
	if enginetest.Wide() {
		return nil
	}
	return []string{"--account", "acme"}
}

// someOfAcme are the streams of the first account, or none, which means all of all accounts, where a wide sample is
// asked for.
func someOfAcme(streams ...string) []string { return append(narrow(streams...), ofAcme()...) }

// narrow are the streams that are given, or none, which means all, where a wide sample is asked for.
func narrow(streams ...string) []string {
	if enginetest.Wide() {
		return nil
	}
	return streams
}
