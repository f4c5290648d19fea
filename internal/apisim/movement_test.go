package apisim_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"dealhouse/internal/apisim"
)

func allOrders() []apisim.Order {
	return append(orders(), apisim.Shuffled, apisim.Drifting)
}

func movingStreams() []string { return append(cursorStreams(), apisim.StreamProducts) }

// documentedMoving returns the documented streams that can move. The digest is that of these streams.
func documentedMoving() []string {
	return slices.DeleteFunc(documented(), func(stream string) bool { return stream == apisim.StreamPayouts })
}

// page asks for one page of a stream, without a network.
func page(t testing.TB, sim *apisim.Sim, stream, cursor string) (int, http.Header, []byte) {
	t.Helper()
	q := url.Values{}
	if cursor != "" {
		q.Set("cursor", cursor)
		q.Set("page", cursor)
	}
	r := httptest.NewRequest(http.MethodGet, paths()[stream]+"?"+q.Encode(), nil)
	key, _ := sim.Keys("acme")
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	sim.ServeHTTP(w, r)
	return w.Code, w.Header(), w.Body.Bytes()
}

// next returns what a page says about the page after it, or "".
func next(t testing.TB, body []byte) string {
	t.Helper()
	e := parse[envelope](t, body)
	if e.Cursor != nil {
		return *e.Cursor
	}
	if e.NextPage != nil {
		return text(e.NextPage)
	}
	return ""
}

// A world that moves gives equal answers on every machine too (apisim-1).
func TestMovementIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	walk := func(seed uint64) string {
		o := tiny()
		o.Settings = apisim.Settings{PageSize: 9, Movement: apisim.Movement{Seed: seed, PerPage: 2.5, Aim: 0.3}}
		sim := newSim(t, o)
		answers := sha256.New()
		for _, order := range allOrders() {
			must(t, sim.SetOrder(order))
			for _, stream := range documentedMoving() {
				cursor := ""
				for range 8 {
					code, header, body := page(t, sim, stream, cursor)
					fmt.Fprintln(answers, code, header.Get("Date"), string(body))
					if cursor = ""; code == http.StatusOK {
						cursor = next(t, body)
					}
				}
			}
		}
		fmt.Fprintln(answers, sim.Now(), sim.Moves(), digestOf(sim, documented()))
		return hex.EncodeToString(answers.Sum(nil))
	}
	one := walk(1)
	if again := walk(1); again != one {
		t.Errorf("equal requests, other answers: %s, %s", one, again)
	}
	if walk(2) == one {
		t.Error("two seeds, one movement")
	}
	if want := "de1860452bebdcc01b8383515f17d28ff370f15ec117f2b99e348bd7f177084b"; one != want {
		t.Errorf("digest %s, want %s", one, want)
	}
}

// The movement of a list does not depend on what else is read.
func TestListsMoveApart(t *testing.T) {
	t.Parallel()
	walk := func(others bool) (ids []string) {
		o := small()
		o.Settings = apisim.Settings{PageSize: 9, Movement: apisim.Movement{Seed: 1, PerPage: 2}}
		sim := newSim(t, o)
		for range 50 {
			page(t, sim, apisim.StreamCoupons, "")
			if others {
				page(t, sim, apisim.StreamPromotions, "")
				page(t, sim, apisim.StreamProducts, "")
			}
		}
		for r := range sim.Truth(apisim.StreamCoupons, "") {
			ids = append(ids, field(t, json.RawMessage(r), "id"))
		}
		return ids
	}
	if !slices.Equal(walk(false), walk(true)) {
		t.Error("reading other lists changes how coupons move")
	}
}

// change is what happened to the records of a list.
type change struct{ inserted, updated, deleted, unchanged int }

func compare(t testing.TB, key string, before, after map[string]json.RawMessage) (c change) {
	t.Helper()
	for id, old := range before {
		switch now, there := after[id]; {
		case !there:
			c.deleted++
		case bytes.Equal(old, now):
			c.unchanged++
		default:
			c.updated++
			if key == "id" && field(t, now, "updatedAt") <= field(t, old, "updatedAt") {
				t.Errorf("%s changed, updatedAt did not: %s", id, now)
			}
		}
	}
	for id := range after {
		if _, there := before[id]; !there {
			c.inserted++
		}
	}
	return c
}

func index(t testing.TB, s *apisim.Sim, stream string) (string, map[string]json.RawMessage) {
	t.Helper()
	key := "id"
	if stream == apisim.StreamProducts {
		key = "sku"
	}
	out := map[string]json.RawMessage{}
	for r := range s.Truth(stream, "acme") {
		out[field(t, json.RawMessage(r), key)] = json.RawMessage(r)
	}
	return key, out
}

// Every kind of event happens to every stream in every order, and Truth and Count agree with what is served.
func TestMovementReachesEverything(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
	t.Parallel()
	kinds := map[string]struct {
		m    apisim.Movement
		want func(c change, m apisim.Moves) bool
	}{
		"insert": {apisim.Movement{Insert: 1}, func(c change, m apisim.Moves) bool {
			return c.inserted == m.Inserted && c.inserted > 0 && c.updated+c.deleted == 0
		}},
		"update": {apisim.Movement{Update: 1}, func(c change, m apisim.Moves) bool {
			return c.updated > 0 && c.updated <= m.Updated && c.inserted+c.deleted == 0
		}},
		"delete": {apisim.Movement{Delete: 1}, func(c change, m apisim.Moves) bool {
			return c.deleted == m.Deleted && c.deleted > 0 && c.inserted+c.updated == 0
		}},
		"return": {apisim.Movement{Delete: 1, Return: 3, ReturnOld: true}, func(c change, m apisim.Moves) bool {
			return c.deleted == m.Deleted-m.Returned && m.Returned > 2 && c.inserted+c.updated == 0
		}},
		"return updated": {apisim.Movement{Delete: 1, Return: 3}, func(c change, m apisim.Moves) bool {
			return c.deleted == m.Deleted-m.Returned && m.Returned > 2 && c.inserted == 0
		}},
	}
	for name, kind := range kinds {
		for _, order := range allOrders() {
			for _, stream := range movingStreams() {
				if stream == apisim.StreamProducts && order != apisim.ByID {
					continue // products keep their own order
				}
				o := tiny()
				o.Settings.Order, o.Settings.PageSize = order, 1000
				sim := newSim(t, o)
				key, before := index(t, sim, stream)
				m := kind.m
				m.PerPage, m.Seed = 3, 2
				must(t, sim.SetMovement(m))
				for range 6 {
					if code, _, body := page(t, sim, stream, ""); code != http.StatusOK {
						t.Fatalf("%s: %d %s", stream, code, body)
					}
				}
				must(t, sim.SetMovement(apisim.Movement{}))
				_, after := index(t, sim, stream)
				if c := compare(t, key, before, after); !kind.want(c, sim.Moves()) {
					t.Errorf("%s %s by %v: %+v, but the events are %+v", name, stream, order, c, sim.Moves())
				}
				_, _, body := page(t, sim, stream, "")
				served := parse[envelope](t, body).Data
				truth := collect(sim, stream)
				if n := sim.Count(stream, "acme"); n != len(served) || n != len(truth) {
					t.Errorf("%s by %v: Count is %d, %d are served, %d are true", stream, order, n, len(served), len(truth))
				}
				for i := range served {
					if !bytes.Equal(served[i], truth[i]) {
						t.Fatalf("%s by %v: record %d is %s, the truth is %s", stream, order, i, served[i], truth[i])
					}
				}
			}
		}
	}
}

// Orders that are updated with each event are the same as orders that are made anew.
func TestOrdersFollowMovement(t *testing.T) {
	t.Parallel()
	o := small()
	o.Transactions = 150
	o.Rates = apisim.Rates{DealTurnover: 3, DealEdits: 5, NewTransactions: 2}
	o.Settings = apisim.Settings{PageSize: 20, Movement: apisim.Movement{
		Seed: 5, PerPage: 2, Aim: 0.2, Step: 30 * time.Second,
	}}
	sim := newSim(t, o)
	for i := range 120 {
		stream := cursorStreams()[i%len(cursorStreams())]
		must(t, sim.SetOrder(allOrders()[i%5]))
		page(t, sim, stream, "")
		if i%29 != 0 {
			continue
		}
		for _, order := range allOrders() {
			must(t, sim.SetOrder(order))
			for _, stream := range cursorStreams() {
				carried := collect(sim, stream)
				// These two calls change nothing, but after them the orders are made anew.
				must(t, sim.Append(stream, "acme", []byte(`{"id":"`+uuidText(i)+`"}`)))
				must(t, sim.Delete(stream, "acme", uuidText(i)))
				if fresh := collect(sim, stream); !bytes.Equal(bytes.Join(carried, nil), bytes.Join(fresh, nil)) {
					t.Fatalf("after %d pages, %s by %v is not in order", i, stream, order)
				}
			}
		}
	}
}

func TestMovementHasABound(t *testing.T) {
	t.Parallel()
	o := small()
	o.Settings.Movement = apisim.Movement{PerPage: 3, MaxEvents: 10}
	sim := newSim(t, o)
	for range 20 {
		page(t, sim, apisim.StreamCoupons, "")
	}
	m := sim.Moves()
	if n := m.Inserted + m.Updated + m.Deleted + m.Returned; n != 10 {
		t.Errorf("%d events, want 10: %+v", n, m)
	}
}

// Aimed events between two pages hit the item that the cursor named, with each kind of cursor and in each order.
func TestMovementAims(t *testing.T) {
	t.Parallel()
	for _, kind := range cursorKinds() {
		for _, order := range allOrders() {
			for _, stream := range movingStreams() {
				o := tiny()
				o.Settings = apisim.Settings{PageSize: 10, Order: order, Cursor: kind}
				sim := newSim(t, o)
				before := collect(sim, stream)
				page(t, sim, stream, "")
				aimed := apisim.Movement{PerPage: 100, MaxEvents: 1, Aim: 1, Delete: 1, Return: 1}
				must(t, sim.SetMovement(aimed))
				page(t, sim, stream, "")
				hit := -1
				after := collect(sim, stream)
				for i, r := range before {
					if i == len(after) || !bytes.Equal(after[i], r) {
						hit = i
						break
					}
				}
				want := hit == 10
				if stream == apisim.StreamProducts {
					want = hit == 9 || hit == 10
				} else if kind == apisim.CursorLastID {
					want = hit == 9
				}
				if m := sim.Moves(); !want || m.Aimed != 1 || m.Deleted != 1 {
					t.Fatalf("%s, %v by %v: item %d was hit, %+v", stream, kind, order, hit, m)
				}
			}
		}
	}
}

// Aimed events bring a deleted item back, and delete it again.
func TestAimedItemsComeBack(t *testing.T) {
	t.Parallel()
	for _, stream := range movingStreams() {
		o := tiny()
		o.Settings = apisim.Settings{PageSize: 10, Cursor: apisim.CursorLastID}
		sim := newSim(t, o)
		_, before := index(t, sim, stream)
		page(t, sim, stream, "")
		// All but one of the many events of this page hit one item.
		must(t, sim.SetMovement(apisim.Movement{PerPage: 100, MaxEvents: 40, Aim: 1, Delete: 1, Return: 1, ReturnOld: true}))
		page(t, sim, stream, "")
		_, after := index(t, sim, stream)
		m := sim.Moves()
		if m.Aimed != 40 || len(before)-len(after) != m.Deleted-m.Returned || m.Returned < 15 {
			t.Errorf("%s: %d records, then %d, %+v", stream, len(before), len(after), m)
		}
		for id, r := range after {
			if !bytes.Equal(before[id], r) {
				t.Errorf("%s: came back changed: %s", stream, r)
			}
		}
	}
}

func TestMovingListsAreSafe(t *testing.T) {
	t.Parallel()
	o := small()
	o.Settings = apisim.Settings{PageSize: 20, Movement: apisim.Movement{PerPage: 2, Aim: 0.5}}
	sim := newSim(t, o)
	var group sync.WaitGroup
	for i, stream := range append(movingStreams(), movingStreams()...) {
		group.Go(func() {
			cursor := ""
			for n := range 40 {
				code, _, body := page(t, sim, stream, cursor)
				if cursor = ""; code == http.StatusOK {
					cursor = next(t, body)
				}
				switch {
				case i >= len(movingStreams()):
				case n%20 == 7:
					must(t, sim.Put(stream, "acme", []byte(`{"id":"`+uuidText(n)+`","updatedAt":"2026-03-01T00:00:00Z"}`)))
					must(t, sim.Update(func(set *apisim.Settings) { set.Cursor = cursorKinds()[n/20+i%2] }))
				case n%20 == 13:
					sim.Advance(time.Hour)
					sim.TouchTransactions("acme", 0.1)
					sim.Moves()
				}
			}
		})
	}
	group.Wait()
}
