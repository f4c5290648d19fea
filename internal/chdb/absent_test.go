//go:build noengine || !(linux || darwin)

package chdb

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
)

func TestNotBuilt(t *testing.T) {
	e, err := Open(context.Background(), Options{Dir: t.TempDir()})
	if e != nil || !errors.Is(err, ErrNotBuilt) {
		t.Fatalf("got %v, %v", e, err)
	}
	db, err := clickhouse.Open(e.ClickHouseOptions("default"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Ping(context.Background()); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("ping: %v", err)
	}
	w := httptest.NewRecorder()
	e.Handler(HandlerOptions{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusNotImplemented {
		t.Errorf("status %d", w.Code)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
