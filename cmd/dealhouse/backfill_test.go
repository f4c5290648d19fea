//go:build !noengine

package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
)

// TestBackfill is for wide samples: TestBackfillGoesOn of package syncer has what is below it.
func TestBackfill(t *testing.T) {
	enginetest.OnlyWide(t)
	engineHere(t)
	b := newBench(t)
	b.migrated(t)
	defer hold(t, b.dir)()
	day := func(days int) string { return b.sim.Now().AddDate(0, 0, days).Format(time.DateOnly) }
	command := []string{"backfill", "transactions", "--from", day(-430), "--to", day(1), "--window",
		fmt.Sprintf("%dh", enginetest.Sample(480, 240)), "--output", "json"}

	b.sim.SetFault(func(*http.Request) apisim.Fault {
		if b.sim.Requests("/v1/deals/transactions") > 20 {
			return apisim.Fault{Kind: apisim.FaultStatus, Status: http.StatusServiceUnavailable}
		}
		return apisim.Fault{}
	})
	broken := b.call(t, append(command, "--account", "acme")...)
	broken.want(t, 1, "run the same command again to continue", "error: acme: transactions: ", "HTTP 503")
	b.sim.SetFault(nil)

	got := b.call(t, command...)
	got.want(t, 0, "continuing an interrupted backfill", "stream ended")
	before := parse[syncRow](t, broken.out)[0]
	for _, r := range parse[syncRow](t, got.out) {
		count := b.sim.Count("transactions", r.Account)
		if r.Account == "acme" {
			count -= before.Inserted
		}
		if r.Mode != "backfill" || r.Outcome != "success" || r.Inserted != count {
			t.Errorf("%d are missing: %+v", count, r)
		}
	}
	rows := b.call(t, "query", "SELECT count(), uniqExact(id) FROM transactions WHERE account = 'acme'", "-o", "csv")
	if n := b.sim.Count("transactions", "acme"); !strings.Contains(rows.out, fmt.Sprintf("%d,%d", n, n)) {
		t.Errorf("%d upstream: %s", n, rows.out)
	}
	if state := b.call(t, "query", "SELECT count() AS n FROM sync_state WHERE name NOT IN ('decisions', 'origin', 'derived', 'live', 'certificate')", "-o", "csv"); state.out != "n\n0\n" {
		t.Errorf("state is left: %s", state.out)
	}
	table := b.call(t, "backfill", "transactions", "--from", day(-30), "--to", day(-20), "--account", "globex")
	table.want(t, 0)
	table.shows(t, "globex   transactions  backfill")
}

func TestBackfillMistakes(t *testing.T) {
	b := newBench(t)
	from, to := []string{"--from", "2024-01-01"}, []string{"--to", "2024-02-01"}
	for words, args := range map[string][]string{
		"only transactions can be read by time": append(from, to...),
		"--from is missing":                     append([]string{"transactions"}, to...),
		"--to is missing":                       append([]string{"transactions"}, from...),
		`--from: "yesterday" is not a time`:     append([]string{"transactions", "--from", "yesterday"}, to...),
		"the range is empty":                    {"transactions", "--from", "2024-02-01", "--to", "2024-01-01"},
		"is too narrow": {"transactions", "--from", "2024-01-01", "--to", "2024-02-01", "--window",
			"1s"},
		"a window of -1h0m0s": {"transactions", "--from", "2024-01-01", "--to", "2024-02-01", "--window",
			"-1h"},
		"must be more than 0": {"transactions", "--from", "2024-01-01", "--to", "2024-02-01", "--parallel",
			"0"},
		"cannot be read in parallel": {"transactions", "--from", "2024-01-01", "--to", "2024-02-01", "--parallel",
			"1000"},
		"more than 100000 windows": {"transactions", "--from", "2000-01-01", "--to", "2024-02-01", "--window",
			"1m"},
		`there is no account "acne"`: {"transactions", "--from", "2024-01-01", "--to", "2024-02-01", "--account",
			"acne"},
	} {
		got := b.call(t, append([]string{"backfill"}, args...)...)
		got.want(t, 2, words)
		if n := strings.Count(got.err, "error: "); n != 1 || got.out != "" {
			t.Errorf("%d errors, want 1:\n%s\n%s", n, got.err, got.out)
		}
	}
	call(t, nil, "backfill", "--help").shows(t, "Usage:\n  dealhouse backfill transactions", "Exit codes", "Examples:")
}
