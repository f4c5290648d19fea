package syncer

import (
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/warehouse"
)

func named(name string, value any) any { return clickhouse.Named(name, value) }

// one returns the single value of a query, as text.
func one(t *testing.T, w *warehouse.Warehouse, query string) string {
	t.Helper()
	var v string
	if err := w.Conn().QueryRow(t.Context(), "SELECT toString(("+query+"))").Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}
