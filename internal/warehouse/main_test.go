package warehouse

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"dealhouse/internal/testdir"
)

var (
	testDSN   string
	databases atomic.Int64
)

// TestMain keeps one engine for all tests of the package: one path per process is all it allows.
func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if err := testdir.InMemory(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "dealhouse-warehouse")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system clears its temporary folder
	testDSN = EmbeddedScheme + dir
	keep, err := Open(context.Background(), Options{DSN: testDSN})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer keep.Close() //nolint:errcheck // the process ends
	return m.Run()
}

// open gives the test a migrated database of its own.
func open(t *testing.T) *Warehouse {
	t.Helper()
	w, err := Open(t.Context(), Options{DSN: testDSN, Database: fmt.Sprintf("test_%d", databases.Add(1))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.admin.Exec(context.Background(), "DROP DATABASE IF EXISTS "+w.database+" SYNC"); err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := w.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// text runs a query and returns its rows, cells separated by a space.
func text(t *testing.T, w *Warehouse, query string, args ...any) []string {
	t.Helper()
	rows, err := w.conn.Query(t.Context(), "SELECT arrayStringConcat([COLUMNS('.*') APPLY toString], ' ') FROM ("+query+")", args...)
	all, err := scanned(rows, err, only[string])
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return all
}

// watermarks are those that are stored.
func watermarks(t *testing.T, w *Warehouse) []string {
	t.Helper()
	return text(t, w, "SELECT value FROM sync_state WHERE name = 'watermark'")
}
