// Package warehousetest gives tests of other packages a warehouse in the engine of their process (enginetest).
package warehousetest

import (
	"context"
	"testing"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// Open gives the test a migrated warehouse of its own, which is closed when the test ends.
func Open(t testing.TB) *warehouse.Warehouse {
	t.Helper()
	return enginetest.Open(t, func(ctx context.Context, dsn, database string) (*warehouse.Warehouse, error) {
		return warehouse.Open(ctx, warehouse.Options{DSN: dsn, Database: database, Cluster: enginetest.Cluster()})
	})
}

// Again opens the database of a warehouse once more, as another process would: with options of its own, of which DSN
// and Database are set here.
func Again(t testing.TB, w *warehouse.Warehouse, o warehouse.Options) *warehouse.Warehouse {
	t.Helper()
	o.DSN, o.Database, o.Cluster = enginetest.DSN(), w.Database(), enginetest.Cluster()
	again, err := warehouse.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	})
	return again
}
