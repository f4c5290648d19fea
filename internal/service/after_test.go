package service

import (
	"errors"
	"testing"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// ran is a run of acme that ended well.
func ran(t *testing.T, stream string, c warehouse.Changes) syncer.Result {
	t.Helper()
	found, err := catalog.Find(stream)
	if err != nil {
		t.Fatal(err)
	}
	return syncer.Result{
		Job:    syncer.Job{Account: "acme", Stream: found},
		Record: warehouse.RunRecord{Account: "acme", Stream: stream, Outcome: warehouse.OutcomeSuccess, Changes: c},
	}
}

// A run that changed nothing makes nobody search all transactions again, but what is left to ask for is not forgotten.
func TestAfterQuietRuns(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	quiet, busy := ran(t, "transactions", warehouse.Changes{Unchanged: 5}), ran(t, "transactions", warehouse.Changes{Updated: 1})
	expect := func(when string, afterQuiet bool) {
		t.Helper()
		if s.mayNameDeals(quiet) != afterQuiet || !s.mayNameDeals(busy) {
			t.Errorf("%s: after a quiet run %v, after another %v", when, s.mayNameDeals(quiet), s.mayNameDeals(busy))
		}
	}
	expect("at the start", true)
	s.noteLook("globex", true)
	expect("nothing is left of another account", true)
	s.noteLook("acme", true)
	expect("nothing is left", false)
	s.nothingLeft.Store("acme", time.Now().Add(-lookAnyway))
	expect("some time ago nothing was left", true)
	s.noteLook("acme", true)
	s.noteLook("acme", false)
	expect("there may be more", true)
	if s.mayNameDeals(ran(t, "coupons", warehouse.Changes{Updated: 1})) {
		t.Error("coupons name no deals")
	}

	failed := busy
	failed.Err = errors.New("told to fail")
	for what, r := range map[string]struct {
		syncer.Result
		want bool
	}{
		"transactions that changed": {busy, true}, "transactions that did not": {quiet, false}, "a failure": {failed, false},
		"payouts that did not change": {ran(t, "payouts", warehouse.Changes{}), true}, "coupons": {ran(t, "coupons", warehouse.Changes{Inserted: 1}), false},
	} {
		if concernsPayouts(r.Result) != r.want {
			t.Errorf("%s: reconciled is %v", what, !r.want)
		}
	}
}

// After a run that is incomplete, payouts would be reconciled with what may lack rows.
func TestAfterIncompleteRuns(t *testing.T) {
	t.Parallel()
	r := ran(t, "transactions", warehouse.Changes{Inserted: 5})
	r.Record.Outcome = warehouse.OutcomeIncomplete
	if concernsPayouts(r) {
		t.Error("payouts are reconciled with what may lack rows")
	}
}
