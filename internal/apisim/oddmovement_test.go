package apisim_test

import (
	"bytes"
	"errors"
	"net/http"
	"testing"
	"time"

	"dealhouse/internal/apisim"
)

// Some records have the same time of update, and all have if the clock does not move.
func TestTheClockOfMovement(t *testing.T) {
	t.Parallel()
	for step, most := range map[time.Duration]int{0: 30, 40 * time.Millisecond: 30, -1: 1} {
		o := tiny()
		o.Settings = apisim.Settings{PageSize: 1000,
			Movement: apisim.Movement{PerPage: 10, Insert: 1, MaxEvents: 30, Step: step}}
		sim := newSim(t, o)
		begin := sim.Now()
		_, before := index(t, sim, apisim.StreamTransactions)
		for range 10 {
			page(t, sim, apisim.StreamTransactions, "")
		}
		times := map[string]bool{}
		for r := range sim.Truth(apisim.StreamTransactions, "acme") {
			if id := field(t, r, "id"); before[id] == nil {
				times[field(t, r, "updatedAt")] = true
			}
		}
		took := sim.Now().Sub(begin)
		switch {
		case step < 0:
			if len(times) != 1 || took != 0 {
				t.Errorf("the clock stands, and there are %d times in %v", len(times), took)
			}
		case len(times) == most || len(times) < most/2:
			t.Errorf("step %v: %d times of %d events; want a few that collide", step, len(times), most)
		case took < 8*max(step, 5*time.Millisecond) || took > 60*max(step, 5*time.Millisecond):
			t.Errorf("step %v: 30 events took %v", step, took)
		}
	}
}

// Lists that are hard to move: empty ones, ones with records that are not objects, have no id or have the same id, and
// ones with records that a caller has brought back meanwhile.
func TestMovementOfOddLists(t *testing.T) {
	t.Parallel()
	empty := newSim(t, apisim.Options{Promotions: -1, Coupons: -1, CashbackOffers: -1, Transactions: -1, Products: -1})
	must(t, empty.SetMovement(apisim.Movement{PerPage: 5}))
	for _, stream := range documentedMoving() {
		page(t, empty, stream, "")
	}
	if m := empty.Moves(); m != (apisim.Moves{}) {
		t.Errorf("nothing moved: %+v", m)
	}
	for _, stream := range movingStreams() {
		for _, order := range []apisim.Order{apisim.ByUpdatedAsc, apisim.Drifting} {
			o := tiny()
			o.Promotions, o.Coupons, o.CashbackOffers, o.Transactions, o.Products = 2, 2, 2, 2, 2
			o.Settings = apisim.Settings{Order: order, PageSize: 3, Cursor: apisim.CursorKeyset,
				Movement: apisim.Movement{PerPage: 3, Aim: 0.3}}
			sim := newSim(t, o)
			all := collect(sim, stream)
			for _, record := range append(hostile(), string(all[0]), string(all[0]), string(all[1])) {
				must(t, sim.Append(stream, "acme", []byte(record)))
			}
			cursor := ""
			for i := range 40 {
				code, _, body := page(t, sim, stream, cursor)
				if code != http.StatusOK {
					t.Fatalf("%s by %v: %d %s", stream, order, code, body)
				}
				cursor = next(t, body)
				if i%10 == 9 {
					for _, r := range all {
						if stream != apisim.StreamProducts {
							_ = sim.Restore(stream, "acme", field(t, r, "id")) // an error means that it was not gone
						}
					}
				}
			}
			must(t, sim.SetMovement(apisim.Movement{}))
			if n, truth := sim.Count(stream, "acme"), collect(sim, stream); n != len(truth) {
				t.Errorf("%s by %v: Count is %d, %d are true", stream, order, n, len(truth))
			}
		}
	}
}

func TestTouch(t *testing.T) {
	t.Parallel()
	for _, style := range []apisim.TimestampStyle{apisim.TimeZulu, apisim.TimeNoZone, apisim.TimeOffset} {
		for _, stream := range movingStreams() {
			o := tiny()
			o.Settings = apisim.Settings{Order: apisim.ByUpdatedAsc, Timestamps: style, ExtraFields: true}
			sim := newSim(t, o)
			sim.Advance(time.Hour)
			all := collect(sim, stream)
			key := "id"
			if stream == apisim.StreamProducts {
				key = "url"
			}
			id, was := field(t, all[4], key), all[4]
			for range 3 { // at the same time, but different each time
				must(t, sim.Touch(stream, "acme", id))
				after := collect(sim, stream)
				last := after[len(after)-1]
				if len(after) != len(all) || field(t, last, key) != id || bytes.Equal(last, was) {
					t.Fatalf("%s: %d records, the last is %s", stream, len(after), last)
				}
				want := map[apisim.TimestampStyle]string{
					apisim.TimeZulu: "2026-03-15T10:00:00.000Z", apisim.TimeNoZone: "2026-03-15T10:00:00",
					apisim.TimeOffset: "2026-03-15T12:00:00.000+02:00",
				}[style]
				if stream != apisim.StreamProducts && field(t, last, "updatedAt") != want {
					t.Errorf("%s: want updatedAt %s: %s", stream, want, last)
				}
				was = last
			}
			if err := sim.Touch(stream, "acme", uuidText(9)); !errors.Is(err, apisim.ErrUnknown) {
				t.Errorf("%s: touching nothing: %v", stream, err)
			}
		}
	}
	sim := newSim(t, tiny())
	must(t, sim.Put(apisim.StreamTransactions, "acme", []byte(`42`)))
	for _, c := range [][3]string{
		{apisim.StreamPayouts, "acme", "1"}, {apisim.StreamTransactions, "nobody", "x"}, {"x", "", ""},
		{apisim.StreamTransactions, "acme", ""},
	} {
		if err := sim.Touch(c[0], c[1], c[2]); !errors.Is(err, apisim.ErrUnknown) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// Payouts do not change while transactions move, even over the end of a month.
func TestMovementLeavesPayoutsAlone(t *testing.T) {
	t.Parallel()
	o := small()
	o.Now = time.Date(2026, 3, 31, 23, 59, 59, 900_000_000, time.UTC)
	sim := newSim(t, o)
	before := collect(sim, apisim.StreamPayouts)
	must(t, sim.SetMovement(apisim.Movement{PerPage: 4, Step: 20 * time.Millisecond}))
	for range 30 {
		page(t, sim, apisim.StreamTransactions, "")
	}
	after := collect(sim, apisim.StreamPayouts)
	if len(after) != len(before)+1 || sim.Now().Month() != time.April {
		t.Fatalf("%d payouts, then %d at %v", len(before), len(after), sim.Now())
	}
	for i := range before {
		if !bytes.Equal(before[i], after[i]) {
			t.Errorf("payout changed: %s", after[i])
		}
	}
}

// A Truth does not change while records change again and again (apisim-4).
func TestTruthStaysWhileTheListMoves(t *testing.T) {
	t.Parallel()
	for _, stream := range movingStreams() {
		o := tiny()
		o.Settings = apisim.Settings{Order: apisim.ByUpdatedAsc, PageSize: 5}
		sim := newSim(t, o)
		key := "id"
		if stream == apisim.StreamProducts {
			key = "url"
		}
		records := collect(sim, stream)
		one, two := field(t, records[7], key), field(t, records[9], key)
		must(t, sim.Touch(stream, "acme", one))
		must(t, sim.Touch(stream, "acme", two))
		before := collect(sim, stream)
		must(t, sim.SetMovement(apisim.Movement{PerPage: 3}))
		var during [][]byte
		for r := range sim.Truth(stream, "acme") {
			during = append(during, r)
			switch len(during) {
			case 1:
				must(t, sim.Touch(stream, "acme", one))
				must(t, sim.Delete(stream, "acme", two))
			case 2, 3, 4:
				page(t, sim, stream, "")
			}
		}
		if !bytes.Equal(bytes.Join(before, nil), bytes.Join(during, nil)) {
			t.Errorf("%s: changes showed in a Truth under way", stream)
		}
	}
}

// A record that a caller has brought back by hand does not come back a second time.
func TestReturnedByHandIsThereOnce(t *testing.T) {
	t.Parallel()
	for _, stream := range movingStreams() {
		for _, twice := range []bool{false, true} { // updated before it was deleted
			o := tiny()
			o.Settings = apisim.Settings{PageSize: 10}
			sim := newSim(t, o)
			key, before := index(t, sim, stream)
			if stream == apisim.StreamProducts {
				key = "url"
			}
			if twice {
				for _, r := range collect(sim, stream) {
					_ = sim.Touch(stream, "acme", field(t, r, key)) // an error means a product without a url
				}
			}
			page(t, sim, stream, "")
			all := collect(sim, stream)
			must(t, sim.SetMovement(apisim.Movement{PerPage: 100, MaxEvents: 1, Aim: 1, Delete: 1}))
			page(t, sim, stream, "")
			left := map[string]bool{}
			for r := range sim.Truth(stream, "acme") {
				left[field(t, r, key)] = true
			}
			for _, r := range all {
				if id := field(t, r, key); id != "" && !left[id] {
					must(t, sim.Restore(stream, "acme", id))
				}
			}
			must(t, sim.SetMovement(apisim.Movement{PerPage: 5, Return: 1}))
			page(t, sim, stream, "")
			page(t, sim, stream, "")
			if n, m := sim.Count(stream, "acme"), sim.Moves(); n != len(before) || m.Deleted != 1 || m.Returned != 0 {
				t.Errorf("%s: %d records, want %d; %+v", stream, n, len(before), m)
			}
		}
	}
}
