package warehouse

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
)

// TestOthersRunsAreNotOrphans clears up after a dead worker of one account, while another account stages several runs
// under one lease, and a third has staged rows that its state names.
func TestOthersRunsAreNotOrphans(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	s, err := catalog.Find("transactions")
	if err != nil {
		t.Fatal(err)
	}
	run := func(account string) Run {
		return Run{ID: uuid.New(), Attempt: uuid.New(), Account: account, Stream: s}
	}
	stage := func(r Run) {
		if err := w.exec(t.Context(), "INSERT INTO transactions_staging (run_id, id) VALUES ({run:UUID}, generateUUIDv4())",
			named("run", r.ID.String())); err != nil {
			t.Fatal(err)
		}
	}
	record := func(r Run) {
		if err := w.SaveRun(t.Context(), RunRecord{Account: r.Account, Stream: s.Name, RunID: r.ID, Mode: "backfill",
			Outcome: OutcomeRunning}); err != nil {
			t.Fatal(err)
		}
	}
	dead, staged, unknown := run("acme"), run("initech"), run("globex")
	alive := []Run{run("globex"), run("globex")}
	record(dead)
	for _, r := range append(alive, dead, staged, unknown) {
		stage(r)
	}
	for _, r := range alive {
		record(r)
	}
	if err := w.Writer(staged).SaveBackfill(t.Context(), BackfillPrefix+"x",
		`{"run_id":"`+staged.ID.String()+`"}`); err != nil {
		t.Fatal(err)
	}
	next := run("acme")
	if _, err := w.Writer(next).Recover(t.Context(), &Lease{pool: w.pool, orphan: true}, next.ID); err != nil {
		t.Fatal(err)
	}
	left := strings.Join(text(t, w, "SELECT run_id FROM transactions_staging"), " ")
	for _, r := range append(alive, staged) {
		if !strings.Contains(left, r.ID.String()) {
			t.Errorf("a run of %s that is alive was dropped", r.Account)
		}
	}
	for _, r := range []Run{dead, unknown} {
		if strings.Contains(left, r.ID.String()) {
			t.Errorf("a dead run of %s is left", r.Account)
		}
	}
	if got := text(t, w, "SELECT outcome FROM sync_runs WHERE account = 'acme'"); len(got) != 1 ||
		got[0] != OutcomeKilled {
		t.Errorf("outcome of the dead run: %q", got)
	}
	if got := text(t, w, "SELECT count() FROM sync_runs WHERE outcome = 'running'"); got[0] != "2" {
		t.Errorf("%s runs are under way", got[0])
	}
}

// TestIntentState writes state with the end of a publication, also if another process ends it.
func TestIntentState(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	s, err := catalog.Find("transactions")
	if err != nil {
		t.Fatal(err)
	}
	r := Run{ID: uuid.New(), Attempt: uuid.New(), Account: "acme", Stream: s}
	in := Intent{RunID: r.ID, Record: RunRecord{Account: "acme", Stream: s.Name, RunID: r.ID, Outcome: OutcomeSuccess},
		State: map[string]string{BackfillPrefix + "x": "1", BackfillPrefix + "y": ""}}
	if err := w.Writer(r).SaveBackfill(t.Context(), BackfillPrefix+"y", "0"); err != nil {
		t.Fatal(err)
	}
	if err := w.saveJSON(t.Context(), r, intentName(r.ID), in); err != nil { // the process dies here
		t.Fatal(err)
	}
	next := Run{ID: uuid.New(), Attempt: uuid.New(), Account: "acme", Stream: s}
	takeOver(t, w, next)
	if got := strings.Join(text(t, w, "SELECT name, value FROM sync_state WHERE name NOT IN ('derived', 'live')"),
		", "); got != BackfillPrefix+"x 1" {
		t.Errorf("state: %s", got)
	}
}
