//go:build !noengine

package main

import (
	"testing"

	"dealhouse/internal/enginetest"
)

// TestOpeningFinishesInterruptedRuns has the intent of a run that died before a command that is about another stream.
// Of this one the delta is gone, so that to finish it means to give it up. For wide samples: package warehouse finishes
// such runs.
func TestOpeningFinishesInterruptedRuns(t *testing.T) {
	enginetest.OnlyWide(t)
	engineHere(t)
	b := newBench(t)
	b.migrated(t)
	defer hold(t, b.dir)()
	const run = "01990000-0000-7000-8000-000000000001"
	b.exec(t, `INSERT INTO sync_state_log (account, stream, name, value, version) VALUES ('acme', 'transactions', 'intent:`+run+`', `+
		`'{"run_id":"`+run+`","record":{"account":"acme","stream":"transactions","run_id":"`+run+
		`","outcome":"success","changes":{"inserted":1}}}', 1)`)
	b.call(t, "sync", "payouts", "--account", "acme").want(t, 0)
	got := b.call(t, "query", "SELECT (SELECT count() FROM sync_state WHERE startsWith(name, 'intent')) AS open, outcome FROM sync_runs WHERE stream = 'transactions'", "-o", "csv")
	if got.out != "open,outcome\n0,failed\n" {
		t.Errorf("intents, and how the run ended: %s", got.out)
	}
}
