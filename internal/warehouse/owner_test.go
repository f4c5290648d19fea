package warehouse

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/chdb"
	"dealhouse/internal/enginetest"
)

// A process that has the embedded engine open counts all others as dead, except the guests that it has seen.
func TestGuestsAreAlive(t *testing.T) {
	t.Parallel()
	w := open(t)
	name := "elsewhere/1/guest"
	if !w.isGone(name) {
		t.Error("a process that had the engine open before is taken for alive")
	}
	must(t, w.Share(true))
	guest, err := chdb.Join(t.Context(), enginetest.Folder())
	must(t, err)
	beside, err := Open(t.Context(), Options{DSN: enginetest.DSN(), Database: w.Database(), Guest: guest})
	must(t, err)
	defer beside.Close() //nolint:errcheck // closes connections alone
	if !beside.Embedded() || beside.Engine() != nil {
		t.Error("a guest has an engine of its own, or none is embedded")
	}
	guest.Name = name
	run := Run{ID: uuid.New(), Attempt: uuid.New(), Account: "acme", Stream: catalog.Transactions()}
	lease, err := beside.Acquire(t.Context(), run)
	must(t, err)
	if w.isGone(name) {
		t.Error("a guest that works is taken for dead")
	}
	run.ID, run.Attempt = uuid.New(), uuid.New()
	if _, err := w.Acquire(t.Context(), run); !errors.As(err, new(*HeldError)) {
		t.Errorf("the host takes what its guest holds: %v", err)
	}
	must(t, lease.Release(t.Context()))
	if err := beside.ReadOnly().Exec(t.Context(), "TRUNCATE TABLE transactions_latest"); err == nil {
		t.Error("a guest's connection for reading can write")
	}
}
