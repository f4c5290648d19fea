package syncer

import (
	"testing"
	"time"

	"dealhouse/internal/warehouse/warehousetest"
)

// TestShards loads several accounts into two shards, and compares what is over them with the truth.
func TestShards(t *testing.T) {
	t.Parallel()
	x, w := serve(t, smallWorld()), warehousetest.OpenShards(t)
	syncAll(t, w, append(x.jobs(t, "globex"), x.jobs(t, "acme")...))
	checkTruth(t, w, x, "acme")
	checkTruth(t, w, x, "globex")

	x.Advance(3 * 24 * time.Hour)
	syncAll(t, w, append(x.jobs(t, "globex"), x.jobs(t, "acme")...))
	checkTruth(t, w, x, "acme")
	checkTruth(t, w, x, "globex")
}
