package warehouse

import (
	"context"
	"testing"

	"dealhouse/internal/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m, enginetest.Options{}) }

// open gives the test a migrated database of its own.
func open(t testing.TB) *Warehouse {
	t.Helper()
	return enginetest.Open(t, func(ctx context.Context, dsn, database string) (*Warehouse, error) {
		return Open(ctx, Options{DSN: dsn, Database: database, Cluster: enginetest.Cluster()})
	})
}

// text runs a query and returns its rows, cells separated by a space.
func text(t *testing.T, w *Warehouse, query string, args ...any) []string {
	t.Helper()
	rows, err := w.conn.Query(t.Context(), "SELECT arrayStringConcat([COLUMNS('.*') APPLY toString], ' ') FROM ("+query+
		")", args...)
	all, err := scanned(rows, err, only[string])
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return all
}

// watermarks returns those that are stored.
func watermarks(t *testing.T, w *Warehouse) []string {
	t.Helper()
	return text(t, w, "SELECT value FROM sync_state WHERE name = 'watermark'")
}
