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
	quiet, busy := ran(t, "transactions", warehouse.Changes{Unchanged: 5}), ran(t, "transactions",
		warehouse.Changes{Updated: 1})
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
	fees := ran(t, "transactions", warehouse.Changes{Updated: 1})
	fees.Job.Stream = &catalog.Stream{Fields: []catalog.Field{*catalog.Transactions().Reference(catalog.Payouts())}}
	if s.mayNameDeals(fees) {
		t.Error("what names payouts alone names no deals")
	}

	failed := busy
	failed.Err = errors.New("told to fail")
	failed.Record.Written.Payouts = 1
	paid := busy
	paid.Record.Written.Payouts = 1
	same, more := ran(t, "payouts", warehouse.Changes{}), ran(t, "payouts", warehouse.Changes{Inserted: 1})
	for when, c := range map[string]struct {
		last *reconciled
		want []bool // after each of the runs below
	}{
		"at the start": {nil, []bool{true, false, false, false, true, true, false}},
		"all was settled": {&reconciled{at: time.Now(), ended: true},
			[]bool{true, false, false, false, false, true, false}},
		"some was not settled": {&reconciled{at: time.Now(), ended: true, unsettled: true},
			[]bool{true, false, false, false, true, true, false}},
		"that was long ago": {&reconciled{at: time.Now().Add(-reconcileAgain), ended: true},
			[]bool{true, true, true, false, true, true, false}},
		"it was not to the end": {&reconciled{at: time.Now()}, []bool{true, true, true, false, true, true, false}},
	} {
		s := New(Options{})
		if c.last != nil {
			s.reconciled.Store("acme", *c.last)
		}
		for i, r := range []syncer.Result{paid, busy, quiet, failed, same, more,
			ran(t, "coupons", warehouse.Changes{Inserted: 1})} {
			if got := s.concernsPayouts(r); got != c.want[i] {
				t.Errorf("%s: after run %d reconciled is %v", when, i, got)
			}
		}
	}
}

// A run that changed nothing is not checked again while what was checked holds.
func TestChecksThatHold(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := New(Options{Clock: func() time.Time { return now }})
	quiet, busy := ran(t, "transactions", warehouse.Changes{Unchanged: 5}), ran(t, "transactions",
		warehouse.Changes{Updated: 1})
	expect := func(when string, want bool) {
		t.Helper()
		if s.stillHolds(quiet) != want || s.stillHolds(busy) {
			t.Errorf("%s: %v, after a change %v", when, s.stillHolds(quiet), s.stillHolds(busy))
		}
	}
	expect("at the start", false)
	s.noteChecks(busy, []warehouse.Check{{OK: true}}, nil)
	expect("all hold", true)
	now = now.Add(lookAnyway)
	expect("some time ago all held", false)
	s.noteChecks(quiet, nil, nil)
	expect("there was nothing to check", true)
	s.noteChecks(busy, []warehouse.Check{{OK: true}, {OK: false}}, nil)
	expect("one does not hold", false)
	s.noteChecks(busy, []warehouse.Check{{OK: true}}, nil)
	s.noteChecks(busy, nil, errors.New("told to fail"))
	expect("they could not be made", false)
	payouts := ran(t, "payouts", warehouse.Changes{})
	s.noteChecks(payouts, nil, nil)
	if s.stillHolds(payouts) {
		t.Error("a run of payouts may make certain which payouts are not there")
	}
}

// After a run that is incomplete, payouts would be reconciled with what may lack rows.
func TestAfterIncompleteRuns(t *testing.T) {
	t.Parallel()
	r := ran(t, "transactions", warehouse.Changes{Inserted: 5})
	r.Record.Outcome = warehouse.OutcomeIncomplete
	r.Record.Written.Payouts = 1
	if New(Options{}).concernsPayouts(r) {
		t.Error("payouts are reconciled with what may lack rows")
	}
}
