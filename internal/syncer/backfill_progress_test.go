package syncer

import (
	"sync"
	"testing"
	"time"

	"dealhouse/internal/enginetest"
)

// TestBackfillProgress shows no more rows than are read: windows that are published together count once. For wide
// samples: it is about what is shown, not about what is loaded.
func TestBackfillProgress(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	x, w := serve(t, pastWorld(300, 10)), open(t)
	var mu sync.Mutex
	var most uint64
	s, err := New(Options{Warehouse: w, Grace: patience, Progress: func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		most = max(most, p.Totals.Read)
	}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Backfill(t.Context(), x.jobs(t, "acme", "transactions")[0], everything(x, 7*24*time.Hour, 4))
	if err != nil {
		t.Fatal(err)
	}
	if most != r.Totals.Read {
		t.Errorf("the progress shows %d rows of %d", most, r.Totals.Read)
	}
}
