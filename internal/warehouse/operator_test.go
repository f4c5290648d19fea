package warehouse

import (
	"dealhouse/internal/enginetest"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// act records an action in ops.
func act(t *testing.T, w *Warehouse, action, account, stream string) Action {
	t.Helper()
	return actAs(t, w, Action{Action: action, Account: account, Stream: stream})
}

func actAs(t *testing.T, w *Warehouse, a Action) Action {
	t.Helper()
	a.Actor, a.Via = "ops", ViaAPI
	done, err := w.RecordAction(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// The last action on a stream, and on its account, says whether it is paused.
func TestPauses(t *testing.T) {
	t.Parallel()
	w := open(t)
	coupons, payouts := StreamID{"acme", "coupons"}, StreamID{"acme", "payouts"}
	paused := func() (got string) {
		t.Helper()
		d, err := w.Directives(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []StreamID{coupons, payouts, {"globex", "coupons"}} {
			if p := d.PauseOf(id); p != nil {
				got += strings.TrimRight(id.Account+"/"+id.Stream+" by "+p.Actor+" "+p.Reason, " ") + "; "
			}
		}
		return got
	}
	for _, step := range []struct{ action, account, stream, want string }{
		{ActionRun, "acme", "coupons", ""},
		{ActionPause, "acme", "coupons", "acme/coupons by ops; "},
		{ActionPause, "acme", "", "acme/coupons by ops; acme/payouts by ops; "},
		{ActionResume, "acme", "", "acme/coupons by ops; "},
		{ActionResume, "acme", "coupons", ""},
		{ActionPause, "globex", "coupons", "globex/coupons by ops; "},
		{ActionPause, "globex", "coupons", "globex/coupons by ops; "},
		{ActionResume, "globex", "", "globex/coupons by ops; "},
		{ActionConsent, "globex", "coupons", "globex/coupons by ops; "},
		{ActionResume, "globex", "coupons", ""},
	} {
		act(t, w, step.action, step.account, step.stream)
		if got := paused(); got != step.want {
			t.Errorf("after %s of %s/%s: %q, want %q", step.action, step.account, step.stream, got, step.want)
		}
	}
	all, err := w.Actions(t.Context(), 3)
	if err != nil || len(all) != 3 || all[0].Action != ActionResume || all[1].Action != ActionConsent ||
		all[2].Stream != "" {
		t.Errorf("%+v, %v", all, err)
	}
	if got := text(t, w, "SELECT count(), countIf(run_id IS NULL), countIf(at > now64(3) - 600) FROM operator_actions"); got[0] != "10 10 10" {
		t.Error(got)
	}
}

// A repeated request is recognized by the key of its user. The same key of another user is another key.
func TestActionKeys(t *testing.T) {
	t.Parallel()
	w := open(t)
	const secret = "not-to-be-stored-4411"
	pause := Action{Actor: "ops", Via: ViaAPI, Action: ActionPause, Account: "acme", Stream: "coupons",
		Reason: "they asked", Key: secret}
	if earlier, err := w.EarlierAction(t.Context(), pause); err != nil || earlier != nil {
		t.Fatalf("%+v, %v", earlier, err)
	}
	first, err := w.RecordAction(t.Context(), pause)
	if err != nil || first.ID == uuid.Nil || first.At.IsZero() {
		t.Fatalf("%+v, %v", first, err)
	}
	act(t, w, ActionResume, "acme", "coupons")
	earlier, err := w.EarlierAction(t.Context(), pause)
	if err != nil || earlier == nil || earlier.ID != first.ID || !earlier.At.Equal(first.At) ||
		earlier.Reason != "they asked" {
		t.Errorf("%+v, %v", earlier, err)
	}
	other := pause
	other.Stream = "payouts"
	var reused *KeyReusedError
	if _, err := w.EarlierAction(t.Context(), other); !errors.As(err, &reused) || reused.Action != ActionPause {
		t.Errorf("another request under the same key: %v", err)
	}
	other.Actor = "somebody"
	if earlier, err := w.EarlierAction(t.Context(), other); err != nil || earlier != nil {
		t.Errorf("another user's key: %+v, %v", earlier, err)
	}
	if got := text(t, w, "SELECT count() FROM operator_actions_log WHERE toString(tuple(*)) LIKE '%"+secret+
		"%'"); got[0] != "0" {
		t.Error("the key is stored as it was given")
	}
}

// A consent is for one run: for the run that a guard stopped last. It is valid for a day.
func TestConsent(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	id := StreamID{"acme", "coupons"}
	now, err := w.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := now.Add(-time.Hour).Truncate(time.Millisecond)
	run := func(outcome string, deletes uint64) uuid.UUID {
		t.Helper()
		began = began.Add(time.Minute)
		r := RunRecord{Account: id.Account, Stream: id.Stream, RunID: uuid.New(), Mode: ModeSnapshot, StartedAt: began,
			FinishedAt: began, Outcome: outcome, WouldDelete: deletes}
		if err := w.SaveRun(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		return r.RunID
	}
	consent := func(to uuid.UUID) {
		actAs(t, w, Action{Action: ActionConsent, Account: id.Account, Stream: id.Stream, RunID: to, Deletes: 300})
	}
	asks := func(what string, only, want bool) {
		t.Helper()
		got, err := w.Consent(t.Context(), id, uuid.New(), 250, only)
		if err != nil || (got != nil) != want || got != nil && (got.Deletes != 300 || got.Actor != "ops") {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	guarded := func(want uuid.UUID) {
		t.Helper()
		g, err := w.GuardedRun(t.Context(), id)
		if err != nil || (g == nil) != (want == uuid.Nil) || g != nil &&
			(g.RunID != want || g.Deletes == 0 || g.Mode != ModeSnapshot) {
			t.Errorf("%+v, %v, want %s", g, err, want)
		}
	}
	run(OutcomeSuccess, 0)
	guarded(uuid.Nil)
	stopped := run(OutcomeGuarded, 300)
	run(OutcomeFailed, 0) // it did not reach the guard
	run(OutcomeGuarded, 0)
	guarded(stopped)
	asks("nobody has agreed", false, false)
	consent(stopped)
	asks("a dry run", true, true)
	asks("the first run", false, true)
	asks("the second run", false, false)
	asks("a dry run after it", true, false)

	consent(stopped)
	act(t, w, ActionPause, "acme", "coupons")
	asks("paused, by whoever runs it all the same", true, true)
	next := run(OutcomeGuarded, 301)
	guarded(next)
	asks("another run was stopped since", false, false)
	consent(next)
	run(OutcomeSuccess, 0)
	guarded(uuid.Nil)
	asks("a run has read all since, and deleted little", false, false)

	last := run(OutcomeGuarded, 300)
	consent(last)
	if err := w.exec(t.Context(), "INSERT INTO operator_actions_log SELECT * REPLACE (at - toIntervalHour(25) AS at, version + 1 AS version) FROM operator_actions_log FINAL ORDER BY version DESC LIMIT 1"); err != nil {
		t.Fatal(err)
	}
	asks("it is of yesterday", false, false)
	if got := text(t, w, "SELECT action, ifNull(toString(run_id), '-') != '-', deletes FROM operator_actions WHERE via = 'run'"); cmp.Diff([]string{"consent_used 1 250"}, got) != "" {
		t.Error(got)
	}
	if all, err := w.GuardedRuns(t.Context()); err != nil || len(all) != 1 || all[0].StreamID != id {
		t.Errorf("%+v, %v", all, err)
	}
	more := run(OutcomeGuarded, 300)
	consent(more)
	if _, err := w.Consent(t.Context(), id, uuid.New(), 301, false); err != nil {
		t.Fatal(err)
	}
	wantRows(t, w, "SELECT toString(deletes), reason FROM operator_actions WHERE action = 'consent_used' ORDER BY at DESC LIMIT 1", "301 more than was agreed to: nothing was deleted")
}
