package syncer

import (
	"strings"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
)

// TestDatedAheadIsCorrected loads a transaction that is dated 30 days ahead, and then as the service has corrected it.
// For wide samples: TestUpstreamTimes of the warehouse has the same times.
func TestDatedAheadIsCorrected(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	x, w := serve(t, smallWorld()), open(t)
	job := x.jobs(t, "acme", "transactions")[0]
	const id = "7f000000-0000-4000-8000-00000000000f"
	put := func(status string, at time.Time) {
		t.Helper()
		record := `{"id":"` + id + `","status":"` + status + `","currencyCode":"EUR","updatedAt":"` +
			at.UTC().Format(time.RFC3339Nano) + `"}`
		if err := x.Put(apisim.StreamTransactions, "acme", []byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	sync := func(want string) warehouse.RunRecord {
		t.Helper()
		record := syncAll(t, w, []Job{job})["acme/transactions"]
		if got := one(t, w, "SELECT status FROM transactions WHERE id = '"+id+"'"); got != want {
			t.Errorf("readers see %s, want %s", got, want)
		}
		return record
	}
	put("PENDING", x.Now().Add(30*24*time.Hour))
	sync("PENDING")
	put("CONFIRMED", x.Now())
	sync("CONFIRMED")
	put("DECLINED", x.Now().Add(-2*time.Minute)) // its updatedAt is set back
	if r := sync("CONFIRMED"); r.Changes.Older != 1 ||
		!strings.Contains(strings.Join(r.Warnings, " "), "older updatedAt") {
		t.Errorf("%+v, %q", r.Changes, r.Warnings)
	}
	job.Full = true
	sync("DECLINED")
	job.Full = false
	put("CONFIRMED", x.Now().Add(-time.Minute))
	sync("CONFIRMED")
}
