package warehouse

import (
	"dealhouse/internal/enginetest"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// TestRecoverAll finishes an interrupted run without a run of its stream, and leaves it alone while its worker lives.
func TestRecoverAll(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w, clock := openSkewed(t)
	r, in := prepared(t, w, "["+coupon(idA, "a", "2026-01-01T00:00:00Z")+"]")
	must(t, w.saveJSON(t.Context(), r, intentName(r.ID), in))
	must(t, w.exec(t.Context(), w.dialect.attachDelta(r.Stream, "coupons_versions", r.delta()))) // it died between the two attachments
	l, err := w.Acquire(t.Context(), r)
	must(t, err)
	if recovered, err := w.RecoverAll(t.Context()); err != nil || len(recovered) > 0 {
		t.Errorf("its worker is alive: %v, %v", recovered, err)
	}
	must(t, l.Expire(t.Context()))
	broken := begin(t, w, "payouts") // its intent cannot be read
	must(t, w.saveStates(t.Context(), "acme", "payouts", stateRow{intentName(broken.ID), "{", 0}))
	recovered, err := w.RecoverAll(t.Context())
	if len(recovered) != 1 || recovered[0].RunID != r.ID || err == nil || !strings.Contains(err.Error(), "payouts") {
		t.Errorf("%v, %v", recovered, err)
	}
	if got := text(t, w, "SELECT code, (SELECT count() FROM coupons_versions), (SELECT count() FROM sync_state WHERE stream = 'coupons') FROM coupons"); len(got) != 1 || got[0] != "a 1 0" {
		t.Errorf("row, versions and states of coupons: %v", got)
	}
	must(t, w.saveStates(t.Context(), "acme", "payouts", stateRow{intentName(broken.ID), "", 0}))
	clock.statements.Store(0)
	if _, err := w.RecoverAll(t.Context()); err != nil || clock.statements.Load() != 1 {
		t.Errorf("with nothing to finish it asks %d times: %v", clock.statements.Load(), err)
	}
}

// TestClearedStatesAreBounded starts and ends hundreds of runs. Their intents do not stay, and none comes back.
func TestClearedStatesAreBounded(t *testing.T) {
	t.Parallel()
	w := open(t)
	var states, cleared []stateRow
	for range 3 * keptCleared {
		name := intentName(uuid.New())
		states, cleared = append(states, stateRow{name, "{}", 0}), append(cleared, stateRow{name, "", 0})
	}
	must(t, w.saveStates(t.Context(), "acme", "coupons", states...),
		w.saveStates(t.Context(), "acme", "coupons", cleared...))
	for range 2 {
		takeOver(t, w, begin(t, w, "coupons"))
	}
	got := text(t, w, "SELECT uniqExact(name), uniqExactIf(name, value = ''), (SELECT count() FROM sync_state) FROM sync_state_log WHERE startsWith(name, 'intent')")
	if want := fmt.Sprintf("%d %d 0", keptCleared, keptCleared); got[0] != want {
		t.Errorf("intents, cleared ones and states that are set: %s, want %s", got[0], want)
	}
}

// TestIntentThatCameBack clears the intent of a run that was published, and does not change the row of the run.
func TestIntentThatCameBack(t *testing.T) {
	t.Parallel()
	w := open(t)
	r, in := prepared(t, w, "["+coupon(idA, "a", "2026-01-01T00:00:00Z")+"]")
	must(t, w.saveJSON(t.Context(), r, intentName(r.ID), in))
	takeOver(t, w, begin(t, w, "coupons"))
	must(t, w.saveJSON(t.Context(), r, intentName(r.ID), in)) // from a worker that slept while it wrote
	if recovered := takeOver(t, w, begin(t, w, "coupons")); len(recovered) > 0 {
		t.Errorf("%v", recovered)
	}
	if got := strings.Join(text(t, w, "SELECT outcome, inserted FROM sync_runs"), ","); got != "success 1" {
		t.Error(got)
	}
	if left := text(t, w, "SELECT name FROM sync_state"); len(left) > 0 {
		t.Errorf("state is left: %v", left)
	}
}

// TestBackfillsExpire forgets a backfill that was interrupted long ago, with its rows. Other backfills stay.
func TestBackfillsExpire(t *testing.T) {
	t.Parallel()
	w, clock := openSkewed(t)
	for name, age := range map[string]time.Duration{"old": backfillLife + time.Hour, "new": backfillLife - time.Hour} {
		clock.by.Store(int64(-age))
		r := begin(t, w, "transactions")
		r.Account = name
		stage(t, w, r, sale("PENDING", -time.Hour))
		must(t, w.Writer(r).SaveBackfill(t.Context(), BackfillPrefix+name, `{"run_id":"`+r.ID.String()+`"}`))
	}
	clock.by.Store(0)
	for _, account := range []string{"old", "new"} {
		next := begin(t, w, "transactions")
		next.Account = account
		takeOver(t, w, next)
	}
	if got := text(t, w, "SELECT groupArray(name), (SELECT count() FROM transactions_staging) FROM sync_state"); got[0] != "['"+BackfillPrefix+"new'] 1" {
		t.Errorf("states and staged rows: %s", got[0])
	}
}
