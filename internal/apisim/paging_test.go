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

func orders() []apisim.Order {
	return []apisim.Order{apisim.ByID, apisim.ByUpdatedAsc, apisim.ByUpdatedDesc}
}

func TestPagesServeTheTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
	t.Parallel()
	o := small()
	o.Transactions = 100 // so that each list has one page
	s := start(t, o)
	for _, order := range orders() {
		must(t, s.SetOrder(order))
		for _, size := range []int{1, 7, 1000} {
			must(t, s.SetPageSize(size))
			for _, stream := range apisim.Streams() {
				t.Run(fmt.Sprintf("%s/%v/%d", stream, order, size), func(t *testing.T) {
					want := s.truth(stream, "acme")
					got, pages := s.walk(stream, "acme", nil)
					same(t, stream, got, want)
					if len(want) != s.Count(stream, "acme") {
						t.Errorf("Count is %d, Truth has %d", s.Count(stream, "acme"), len(want))
					}
					if stream == apisim.StreamPayouts {
						return
					}
					for i, n := range pages {
						if i < len(pages)-1 && n != size || n > size || n == 0 {
							t.Fatalf("page %d of %d has %d items, want %d", i, len(pages), n, size)
						}
					}
				})
			}
		}
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	s := start(t, small())
	s.Advance(40 * 24 * time.Hour)
	s.TouchTransactions("acme", 0.2) // so that many have the same time
	for _, stream := range cursorStreams() {
		for _, order := range orders() {
			must(t, s.SetOrder(order))
			records := s.truth(stream, "acme")
			var keys, got []string
			for _, r := range records {
				one := parse[struct{ ID, UpdatedAt string }](t, r)
				key := one.UpdatedAt
				if order == apisim.ByID {
					key = one.ID
				}
				keys, got = append(keys, key), append(got, one.ID)
			}
			if order == apisim.ByUpdatedDesc {
				slices.Reverse(keys)
			}
			if !slices.IsSorted(keys) {
				t.Errorf("%s is not ordered by %v", stream, order)
			}
			if len(got) != len(slices.Compact(slices.Sorted(slices.Values(got)))) {
				t.Errorf("%s by %v has an id twice", stream, order)
			}
		}
	}
}

func TestExactlyFullLastPageHasNoCursor(t *testing.T) {
	s := start(t, small())
	must(t, s.SetPageSize(600))
	page := parse[map[string]json.RawMessage](t, s.get("/v1/deals/transactions", s.key("acme"), http.StatusOK))
	if _, there := page["cursor"]; there || len(page) != 1 {
		t.Errorf("the only page has %d fields, want data alone", len(page))
	}
	empty := start(t, apisim.Options{Promotions: -1, Coupons: -1, CashbackOffers: -1, Transactions: -1, Products: -1})
	for _, stream := range documented() {
		want := `{"data":[]}`
		if stream == apisim.StreamPayouts {
			want = `[]`
		}
		if got := empty.get(paths()[stream], empty.key("acme"), http.StatusOK); string(got) != want {
			t.Errorf("empty %s is %s", stream, got)
		}
	}
}

func TestCursorOfAVanishedItem(t *testing.T) {
	s := start(t, small())
	must(t, s.SetPageSize(3))
	first := parse[envelope](t, s.get("/v1/deals/coupons", s.key("acme"), http.StatusOK))
	must(t, s.Delete(apisim.StreamCoupons, "", *first.Cursor))
	next := "/v1/deals/coupons?cursor=" + *first.Cursor
	if body := s.get(next, s.key("acme"), http.StatusBadRequest); !strings.Contains(string(body),
		`"errors":[{"field":"cursor"`) {
		t.Errorf("the body holds no errors: %s", body)
	}
	must(t, s.Update(func(set *apisim.Settings) { set.VanishedCursorNotFound = true }))
	s.get(next, s.key("acme"), http.StatusNotFound)
	must(t, s.Restore(apisim.StreamCoupons, "", *first.Cursor))
	s.get(next, s.key("acme"), http.StatusOK)
}

func TestBadParameters(t *testing.T) {
	s := start(t, small())
	for _, target := range []string{
		"/v1/deals/coupons?cursor=7", "/v1/deals/coupons?cursor=", "/v1/deals/promotions?cursor=" + uuidText(5),
		"/v1/deals/transactions?updatedAfter=yesterday", "/v1/deals/transactions?updatedBefore=",
		"/v1/deals/transactions?updatedBefore=2026-13-01T00:00:00Z", "/v1/deals/cashback-offers?country=Germany",
		"/v2/products?page=nonsense", "/v2/products?page=12", "/v2/products?page=" + url.QueryEscape("AAAAAAAAAAA="),
		"/v1/deals/coupons?cursor=%zz",
	} {
		body := s.get(target, s.key("acme"), http.StatusBadRequest)
		e := parse[struct{ Errors []struct{ Message string } }](t, body)
		if len(e.Errors) != 1 || e.Errors[0].Message == "" {
			t.Errorf("%s: no errors in %s", target, body)
		}
	}
	// Unknown parameters have no effect, unless the settings refuse them.
	s.get("/v1/deals/coupons?name=x&page=9&country=Germany", s.key("acme"), http.StatusOK)
	must(t, s.Update(func(set *apisim.Settings) { set.RejectUnknownParams = true }))
	s.get("/v1/deals/coupons?name=x", s.key("acme"), http.StatusBadRequest)
	s.get("/v1/deals/coupons?hostname=x", s.key("acme"), http.StatusOK)
	s.get("/v1/deals/payouts?cursor=x", s.key("acme"), http.StatusBadRequest)
	s.get("/v2/products?cursor=x", s.key("acme"), http.StatusBadRequest)
}

func TestNextPageKinds(t *testing.T) {
	s := start(t, small())
	must(t, s.SetPageSize(10))
	for kind, want := range map[apisim.NextPageKind]string{
		apisim.NextToken: `"`, apisim.NextNumber: `"1`, apisim.NextJSONNumber: `1`, apisim.NextURL: `"http://127.0.0.1:`,
	} {
		must(t, s.Update(func(set *apisim.Settings) { set.NextPage = kind }))
		page := parse[envelope](t, s.get("/v2/products", s.key("acme"), http.StatusOK))
		if !strings.HasPrefix(string(page.NextPage), want) {
			t.Errorf("%v: nextPage is %s", kind, page.NextPage)
		}
		got, _ := s.walk(apisim.StreamProducts, "acme", nil)
		same(t, kind.String(), got, s.truth(apisim.StreamProducts, ""))
	}
	must(t, s.SetPageSize(1000))
	for kind, want := range map[apisim.LastPageKind]string{
		apisim.LastAbsent: "", apisim.LastNull: "null", apisim.LastEmpty: `""`,
	} {
		must(t, s.Update(func(set *apisim.Settings) { set.LastPage = kind }))
		fields := parse[map[string]json.RawMessage](t, s.get("/v2/products", s.key("acme"), http.StatusOK))
		if string(fields["nextPage"]) != want {
			t.Errorf("%v: nextPage is %q", kind, fields["nextPage"])
		}
	}
}

// The world changes between pages. A record that exists all the time and does not change is served
// exactly once, in every order.
func TestWalkThroughAChangingWorld(t *testing.T) {
	for _, order := range orders() {
		s := start(t, small())
		must(t, s.SetPageSize(9))
		must(t, s.SetOrder(order))
		before := s.truth(apisim.StreamProducts, "")
		n := 0
		s.SetBefore(func(*http.Request) {
			if n++; n%3 == 0 {
				s.Advance(time.Hour)
			}
		})
		got, _ := s.walk(apisim.StreamProducts, "acme", nil)
		s.SetBefore(nil)
		after := s.truth(apisim.StreamProducts, "")
		seen := map[string]int{}
		for _, r := range got {
			seen[field(t, r, "asin")+field(t, r, "sku")]++
		}
		stays := map[string]bool{}
		for _, r := range before {
			stays[field(t, r, "asin")+field(t, r, "sku")] = true
		}
		for _, r := range after {
			if key := field(t, r, "asin") + field(t, r, "sku"); stays[key] && seen[key] != 1 {
				t.Errorf("%v: product %s was served %d times", order, key, seen[key])
			}
		}
	}
}
