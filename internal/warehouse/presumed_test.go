package warehouse

import (
	"dealhouse/internal/enginetest"
	"math"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
)

// A run whose process is certainly gone is shown as killed, before anybody has stored that. A run that may be under way
// never is, whatever its lease and the clocks say (warehouse-22).
func TestDeadRunsAreShown(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	const gone = math.MaxInt32 // the number of no process
	for name, c := range map[string]struct {
		owner   func(*owner)
		server  bool // the warehouse is asked as a server is, which other processes use
		ends    bool // its lease has run out
		earlier bool // the run began before the lease was taken
		want    string
	}{
		"this process":                    {want: OutcomeRunning},
		"its lease has run out":           {ends: true, want: OutcomeRunning},
		"gone":                            {owner: func(o *owner) { o.pid, o.nonce = gone, "other" }, want: OutcomeKilled},
		"gone, beside a server":           {owner: func(o *owner) { o.pid, o.nonce = gone, "other" }, server: true, want: OutcomeKilled},
		"alive on this machine":           {owner: func(o *owner) { o.pid, o.nonce = os.Getppid(), "other" }, want: OutcomeRunning},
		"of the engine's last process":    {owner: func(o *owner) { o.host, o.nonce = "elsewhere", "other" }, want: OutcomeKilled},
		"elsewhere, with the same server": {owner: func(o *owner) { o.host, o.pid = "elsewhere", gone }, server: true, ends: true, want: OutcomeRunning},
		"of a worker that lost the lease": {owner: func(o *owner) { o.pid, o.nonce = gone, "other" }, earlier: true, want: OutcomeRunning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			r := begin(t, w, "coupons")
			must(t, w.BeginRun(t.Context(), RunRecord{Account: "acme", Stream: "coupons", RunID: r.ID, Mode: ModeSnapshot,
				StartedAt: r.StartedAt, Outcome: OutcomeRunning}))
			worker := *w
			if c.owner != nil {
				c.owner(&worker.owner)
			}
			if c.earlier {
				r.ID = uuid.Max
			}
			lease, err := worker.Acquire(t.Context(), r)
			must(t, err)
			lease.stop() // it renews it no longer
			lease.done.Wait()
			if c.ends {
				ended, err := lease.until(time.UnixMicro(0))
				must(t, err, lease.save(t.Context(), ended))
			}
			if engine := w.engine; c.server {
				w.engine = nil
				defer func() { w.engine = engine }()
			}
			w.shown(t, c.want)
			var stored string
			must(t, w.conn.QueryRow(t.Context(), "SELECT outcome FROM sync_runs").Scan(&stored))
			if stored != OutcomeRunning {
				t.Errorf("it is stored as %s by those who look at it", stored)
			}
		})
	}
}

// shown compares the outcome of the one run, wherever it is shown.
func (w *Warehouse) shown(t *testing.T, want string) {
	t.Helper()
	wantError := ""
	if want == OutcomeKilled {
		wantError = diedEarly
	}
	for _, brief := range []bool{false, true} {
		runs, err := w.Runs(t.Context(), RunFilter{Brief: brief})
		must(t, err)
		if len(runs) != 1 || runs[0].Outcome != want || runs[0].Error != wantError || !runs[0].FinishedAt.IsZero() {
			t.Errorf("brief %t: %+v", brief, runs)
		}
	}
	standings, err := w.Standings(t.Context())
	must(t, err)
	if len(standings) != 1 || standings[0].LastOutcome != want || standings[0].LastError != wantError {
		t.Errorf("%+v", standings)
	}
	now, err := w.Now(t.Context())
	must(t, err)
	spans, _, err := w.RunSpans(t.Context(), now.Add(-time.Hour), now.Add(time.Hour), 10)
	must(t, err)
	if len(spans) != 1 || spans[0].Outcome != want {
		t.Errorf("%+v", spans)
	}
}
