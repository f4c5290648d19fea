//go:build !noengine

package main

import (
	"testing"

	"dealhouse/internal/enginetest"
)

// TestRebuild finds out that sums are not what the rows say, and makes them anew. For wide samples: TestRebuild of the
// warehouse repairs the tables.
func TestRebuild(t *testing.T) {
	enginetest.OnlyWide(t)
	engineHere(t)
	b := newBench(t)
	b.migrated(t)
	defer hold(t, b.dir)()
	b.call(t, "sync", "transactions", "--account", "acme").want(t, 0)
	b.call(t, "migrate", "--check").want(t, 0)
	b.exec(t, "INSERT INTO payout_sums_latest SELECT * REPLACE (7000 AS stamped_n, version + 1 AS version) FROM payout_sums_latest FINAL LIMIT 1")
	wrong := b.call(t, "migrate", "--check")
	wrong.want(t, 1, "not equal to what the rows give: 1 table; run `dealhouse migrate --rebuild`")
	wrong.shows(t, "transactions of acme: differs from the rows: payout_sums_latest.")
	b.call(t, "migrate", "--rebuild").shows(t, "transactions of acme: 6 tables rebuilt.")
	b.call(t, "migrate", "--check").shows(t, "transactions of acme: 6 tables, equal to what the rows give.")
	b.call(t, "migrate", "--check", "--rebuild").want(t, 1, "none of the others can be")
}
