package apisim_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/apisim"
)

func cursorKinds() []apisim.CursorKind {
	return []apisim.CursorKind{apisim.CursorNextID, apisim.CursorLastID, apisim.CursorOffset, apisim.CursorKeyset}
}

func opaque(kind apisim.CursorKind) bool {
	return kind == apisim.CursorOffset || kind == apisim.CursorKeyset
}

// tiny returns a world whose lists are read in a few pages.
func tiny() apisim.Options {
	return apisim.Options{
		Seed: 3, Retailers: 9, Promotions: 30, Coupons: 30, CashbackOffers: 30, Transactions: 30, Products: 30,
		HistoryDays: 2, Rates: noRates(),
	}
}

// If a list does not move, each kind of cursor serves it completely and in order, including records that have no id, or
// an id that is not a UUID.
func TestEachCursorServesTheTruth(t *testing.T) {
	t.Parallel()
	o := tiny()
	o.Promotions, o.Coupons, o.CashbackOffers, o.Transactions = 15, 15, 15, 15
	s := start(t, o)
	for _, record := range hostile() {
		must(t, s.Put(apisim.StreamTransactions, "acme", []byte(record)))
	}
	for _, kind := range cursorKinds() {
		for _, order := range allOrders() {
			for _, size := range []int{1, 7} {
				must(t, s.Update(func(set *apisim.Settings) { set.Cursor, set.Order, set.PageSize = kind, order, size }))
				for _, stream := range cursorStreams() {
					got, _ := s.walk(stream, "acme", nil)
					same(t, fmt.Sprintf("%s by %v, %v, %d", stream, order, kind, size), got, s.truth(stream, "acme"))
				}
			}
		}
	}
}

// Opaque cursors work together with filters, in each order.
func TestCursorsWithinAFilter(t *testing.T) {
	t.Parallel()
	o := tiny()
	o.Transactions = 80
	s := start(t, o)
	must(t, s.Put(apisim.StreamTransactions, "acme", []byte(hostile()[0]))) // then orders are made in another way
	all := s.truth(apisim.StreamTransactions, "acme")
	var dates []string
	for _, r := range all {
		dates = append(dates, field(t, r, "updatedAt"))
	}
	slices.Sort(dates)
	query := url.Values{"updatedAfter": {dates[20]}, "updatedBefore": {dates[50]}}
	for _, kind := range cursorKinds() {
		for _, order := range allOrders() {
			must(t, s.Update(func(set *apisim.Settings) { set.Cursor, set.Order, set.PageSize = kind, order, 9 }))
			var want []json.RawMessage
			for _, r := range s.truth(apisim.StreamTransactions, "acme") {
				if at := field(t, r, "updatedAt"); at > dates[20] && at < dates[50] {
					want = append(want, r)
				}
			}
			got, _ := s.walk(apisim.StreamTransactions, "acme", query)
			same(t, fmt.Sprintf("%v by %v", kind, order), got, want)
		}
	}
}

func TestWhatACursorSays(t *testing.T) {
	t.Parallel()
	for _, kind := range cursorKinds() {
		s := start(t, tiny())
		must(t, s.Update(func(set *apisim.Settings) { set.Cursor, set.PageSize = kind, 10 }))
		all := ids(t, s.truth(apisim.StreamCoupons, ""))
		_, _, body := page(t, s.Sim, apisim.StreamCoupons, "")
		cursor := next(t, body)
		switch place := slices.Index(all, cursor); {
		case !isUUID4(cursor):
			t.Errorf("%v: %s is no UUID", kind, cursor)
		case kind == apisim.CursorNextID && place != 10, kind == apisim.CursorLastID && place != 9, opaque(kind) &&
			place >= 0:
			t.Errorf("%v: the cursor is the id of item %d", kind, place)
		}
		_, _, lower := page(t, s.Sim, apisim.StreamCoupons, cursor)
		if _, _, upper := page(t, s.Sim, apisim.StreamCoupons, strings.ToUpper(cursor)); string(upper) != string(lower) {
			t.Errorf("%v: a cursor in capitals is another", kind)
		}
		// A cursor of another list, kind or order is refused.
		if opaque(kind) {
			s.get("/v1/deals/promotions?cursor="+cursor, s.key("acme"), http.StatusBadRequest)
			s.get("/v1/deals/coupons?cursor="+all[10], s.key("acme"), http.StatusBadRequest)
			must(t, s.Update(func(set *apisim.Settings) { set.Cursor = apisim.CursorOffset + apisim.CursorKeyset - kind }))
			s.get("/v1/deals/coupons?cursor="+cursor, s.key("acme"), http.StatusBadRequest)
		}
		must(t, s.Update(func(set *apisim.Settings) { set.Cursor, set.Order = apisim.CursorKeyset, apisim.ByUpdatedDesc }))
		s.get("/v1/deals/coupons?cursor="+cursor, s.key("acme"), http.StatusBadRequest)
		s.get("/v1/deals/coupons?cursor=7", s.key("acme"), http.StatusBadRequest)
	}
}

// What a second page, after ten items, begins with if an item has changed after the first page. The item is given by
// its place before that: 10 is the next item, 9 the last one read.
func TestWherePagesBegin(t *testing.T) {
	t.Parallel()
	const end = -1 // no more items
	for _, c := range []struct {
		kind          apisim.CursorKind
		order         apisim.Order
		touch, remove int // the item that is updated or deleted; -1 for none
		first         int // the item that the second page begins with
	}{
		{apisim.CursorNextID, apisim.ByUpdatedAsc, 10, -1, 10},  // the page has only the moved item
		{apisim.CursorNextID, apisim.ByUpdatedAsc, 9, -1, 10},   // the items that follow stay
		{apisim.CursorNextID, apisim.ByUpdatedDesc, 10, -1, 10}, // starts over: the item is now the first of all
		{apisim.CursorNextID, apisim.ByID, 10, -1, 10},          // stays
		{apisim.CursorNextID, apisim.Shuffled, 10, -1, 10},      // stays
		{apisim.CursorLastID, apisim.ByUpdatedAsc, 9, -1, end},  // after the last of all: nothing
		{apisim.CursorLastID, apisim.ByUpdatedAsc, 10, -1, 11},  // the next item has left
		{apisim.CursorLastID, apisim.ByUpdatedDesc, 9, -1, 0},   // after the first of all
		{apisim.CursorOffset, apisim.ByUpdatedAsc, 3, -1, 11},   // one item less before the page: 10 is skipped
		{apisim.CursorOffset, apisim.ByUpdatedAsc, 20, -1, 10},  // the items before the page stay
		{apisim.CursorOffset, apisim.ByUpdatedDesc, 20, -1, 9},  // one item more before the page: 9 is repeated
		{apisim.CursorOffset, apisim.ByID, -1, 2, 11},           // a deletion does the same in each order
		{apisim.CursorOffset, apisim.Drifting, -1, 2, 11},
		{apisim.CursorKeyset, apisim.ByUpdatedAsc, 10, -1, 11}, // the place stays if its item moves
		{apisim.CursorKeyset, apisim.ByUpdatedAsc, -1, 10, 11}, // and if it is deleted
		{apisim.CursorKeyset, apisim.ByUpdatedAsc, 9, -1, 10},
		{apisim.CursorKeyset, apisim.ByUpdatedDesc, 10, -1, 11},
		{apisim.CursorKeyset, apisim.ByUpdatedDesc, -1, 10, 11},
		{apisim.CursorKeyset, apisim.ByID, -1, 10, 11},
		{apisim.CursorKeyset, apisim.ByID, 10, -1, 10},
		{apisim.CursorKeyset, apisim.Shuffled, -1, 10, 11},
		{apisim.CursorKeyset, apisim.Shuffled, 10, -1, 10},
		{apisim.CursorKeyset, apisim.Drifting, -1, 10, 11},
		{apisim.CursorNextID, apisim.Drifting, 10, -1, 10}, // wherever the item is now
	} {
		for _, stream := range []string{apisim.StreamTransactions, apisim.StreamPromotions} {
			o := tiny()
			o.Settings = apisim.Settings{PageSize: 10, Order: c.order, Cursor: c.kind}
			sim := newSim(t, o)
			sim.Advance(time.Hour) // so that now is later than every updatedAt
			var all []string
			for _, r := range collect(sim, stream) {
				all = append(all, field(t, r, "id"))
			}
			_, _, body := page(t, sim, stream, "")
			if c.touch >= 0 {
				must(t, sim.Touch(stream, "acme", all[c.touch]))
			}
			if c.remove >= 0 {
				must(t, sim.Delete(stream, "acme", all[c.remove]))
			}
			code, _, second := page(t, sim, stream, next(t, body))
			if code != http.StatusOK {
				t.Fatalf("%+v: %d %s", c, code, second)
			}
			got := end
			if data := parse[envelope](t, second).Data; len(data) > 0 {
				got = slices.Index(all, field(t, data[0], "id"))
			}
			if got != c.first {
				t.Errorf("%s, %+v: the second page begins with item %d", stream, c, got)
			}
		}
	}
}

// The sort key of a record that was Put stays valid after the record is gone.
func TestKeysetOfAPutRecord(t *testing.T) {
	t.Parallel()
	o := tiny()
	o.Transactions = -1
	for _, order := range allOrders() {
		o.Settings = apisim.Settings{PageSize: 1, Order: order, Cursor: apisim.CursorKeyset}
		sim := newSim(t, o)
		for i := range 9 {
			must(t, sim.Put(apisim.StreamTransactions, "acme",
				[]byte(`{"id":"`+uuidText(i)+`","updatedAt":"1965-03-0`+fmt.Sprint(1+i/3)+`T00:00:00Z"}`)))
		}
		var all []string
		for _, r := range collect(sim, apisim.StreamTransactions) {
			all = append(all, field(t, r, "id"))
		}
		cursor := ""
		for i, id := range all {
			_, _, body := page(t, sim, apisim.StreamTransactions, cursor)
			if got := field(t, parse[envelope](t, body).Data[0], "id"); got != id {
				t.Fatalf("%v: page %d has %s, want %s", order, i, got, id)
			}
			cursor = next(t, body)
			must(t, sim.Delete(apisim.StreamTransactions, "acme", id)) // the last item read
			if i%3 == 2 && i+2 < len(all) {
				must(t, sim.Delete(apisim.StreamTransactions, "acme", all[i+1])) // the cursor's item
				all = slices.Delete(all, i+1, i+2)
			}
			if cursor == "" {
				break
			}
		}
	}
}

func TestUnknownCursors(t *testing.T) {
	t.Parallel()
	for _, kind := range cursorKinds() {
		for answer, want := range map[apisim.UnknownCursor]int{
			apisim.UnknownBadRequest: http.StatusBadRequest, apisim.UnknownNotFound: http.StatusNotFound,
			apisim.UnknownFirstPage: http.StatusOK, apisim.UnknownEmpty: http.StatusOK,
		} {
			o := tiny()
			o.Settings = apisim.Settings{PageSize: 10, Cursor: kind, UnknownCursor: answer}
			s := start(t, o)
			first := s.get("/v1/deals/coupons", s.key("acme"), http.StatusOK)
			cursor := next(t, first)
			if opaque(kind) {
				cursor = uuidText(8)
			} else {
				must(t, s.Delete(apisim.StreamCoupons, "", cursor))
				first = s.get("/v1/deals/coupons", s.key("acme"), http.StatusOK)
			}
			body := string(s.get("/v1/deals/coupons?cursor="+cursor, s.key("acme"), want))
			switch {
			case answer == apisim.UnknownFirstPage && body != string(first):
				t.Errorf("%v: not the first page: %s", kind, body)
			case answer == apisim.UnknownEmpty && body != `{"data":[]}`:
				t.Errorf("%v: not empty: %s", kind, body)
			}
			s.get("/v1/deals/coupons?cursor=7", s.key("acme"), http.StatusBadRequest) // not a UUID
		}
	}
}

// A cursor whose item no longer passes the filter means the place that the item would have, or is
// unknown: the settings decide.
func TestCursorOutsideTheFilter(t *testing.T) {
	t.Parallel()
	for _, kind := range []apisim.CursorKind{apisim.CursorNextID, apisim.CursorLastID} {
		o := tiny()
		o.Settings = apisim.Settings{PageSize: 10, Cursor: kind, Order: apisim.ByID}
		s := start(t, o)
		s.Advance(time.Hour)
		window := "/v1/deals/transactions?updatedBefore=" + s.Now().Format(time.RFC3339)
		all := ids(t, s.truth(apisim.StreamTransactions, "acme"))
		cursor := next(t, s.get(window, s.key("acme"), http.StatusOK))
		must(t, s.Touch(apisim.StreamTransactions, "acme", cursor))
		body := s.get(window+"&cursor="+cursor, s.key("acme"), http.StatusOK)
		want := all[10] // after the item that has left
		if kind == apisim.CursorNextID {
			want = all[11]
		}
		if got := field(t, parse[envelope](t, body).Data[0], "id"); got != want {
			t.Errorf("%v: the page begins with %s, want %s", kind, got, want)
		}
		must(t, s.Update(func(set *apisim.Settings) { set.CursorMustMatch = true }))
		s.get(window+"&cursor="+cursor, s.key("acme"), http.StatusBadRequest)
		s.get("/v1/deals/transactions?cursor="+cursor, s.key("acme"), http.StatusOK)
	}
}

// If nextPage counts products, each one that is deleted or comes back shifts the following pages.
func TestFeedOffsets(t *testing.T) {
	t.Parallel()
	for _, kind := range []apisim.NextPageKind{apisim.NextToken, apisim.NextNumber, apisim.NextJSONNumber,
		apisim.NextURL} {
		o := tiny()
		o.Settings = apisim.Settings{PageSize: 10, FeedOffsets: true, NextPage: kind}
		s := start(t, o)
		all := s.truth(apisim.StreamProducts, "")
		got, _ := s.walk(apisim.StreamProducts, "acme", nil)
		same(t, kind.String(), got, all)
		cursor := next(t, s.get("/v2/products", s.key("acme"), http.StatusOK))
		if u, err := url.Parse(cursor); err == nil && u.IsAbs() {
			cursor = u.Query().Get("page")
		}
		second := func(want int) {
			t.Helper()
			_, _, body := page(t, s.Sim, apisim.StreamProducts, cursor)
			if first := parse[envelope](t, body).Data[0]; string(first) != string(all[want]) {
				t.Errorf("%v: the second page does not begin with product %d: %s", kind, want, first)
			}
		}
		gone := field(t, all[3], "url")
		second(10)
		must(t, s.Delete(apisim.StreamProducts, "", gone))
		second(11)
		must(t, s.Restore(apisim.StreamProducts, "", gone))
		second(10)
		must(t, s.Touch(apisim.StreamProducts, "", gone)) // it goes to the end
		second(11)
		must(t, s.Update(func(set *apisim.Settings) { set.FeedOffsets = false }))
		second(10) // positions stay
		for _, r := range all[5:] {
			if address := field(t, r, "url"); address != "" {
				must(t, s.Delete(apisim.StreamProducts, "", address))
			}
		}
		must(t, s.Update(func(set *apisim.Settings) { set.FeedOffsets = true }))
		if _, _, body := page(t, s.Sim, apisim.StreamProducts, cursor); string(body) != `{"data":[]}` {
			t.Errorf("%v: beyond the end: %s", kind, body)
		}
	}
}
