package apisim_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"dealhouse/internal/apisim"
)

func TestTextFilters(t *testing.T) {
	t.Parallel()
	s := start(t, small())
	must(t, s.SetPageSize(2))
	must(t, s.Put(apisim.StreamCashbackOffers, "", []byte(
		`{"id":"`+uuidText(1)+`","hostname":"odd.test","name":"Odd","category":"Odd & Co","countries":["ZZ"]}`)))
	must(t, s.Put(apisim.StreamCoupons, "", []byte(`{"id":"`+uuidText(2)+`","hostname":"odd.test"}`)))
	params := map[string][]string{
		apisim.StreamPromotions:     {"hostname"},
		apisim.StreamCoupons:        {"hostname"},
		apisim.StreamCashbackOffers: {"hostname", "name", "category", "country"},
	}
	for _, order := range orders() {
		must(t, s.SetOrder(order))
		for stream, names := range params {
			all := s.truth(stream, "")
			parsed := make([]map[string]json.RawMessage, len(all))
			for i, r := range all {
				parsed[i] = parse[map[string]json.RawMessage](t, r)
			}
			for _, name := range names {
				for _, like := range []json.RawMessage{all[0], all[len(all)/2], all[len(all)-1]} {
					values := []string{field(t, like, name)}
					if name == "country" {
						values = parse[struct{ Countries []string }](t, like).Countries
					}
					if values[0] == "null" {
						continue
					}
					var want []json.RawMessage
					for i, r := range all {
						if name == "country" {
							if slices.Contains(parse[[]string](t, parsed[i]["countries"]), values[0]) {
								want = append(want, r)
							}
						} else if text(parsed[i][name]) == values[0] {
							want = append(want, r)
						}
					}
					got, _ := s.walk(stream, "acme", url.Values{name: {values[0]}})
					same(t, stream+" by "+name+" "+values[0], got, want)
				}
			}
			if got, _ := s.walk(stream, "acme", url.Values{"hostname": {"nobody.test"}}); len(got) != 0 {
				t.Errorf("%s: %d records of nobody", stream, len(got))
			}
		}
	}
}

func TestDateFilters(t *testing.T) {
	t.Parallel()
	o := small()
	o.Transactions = 300
	s := start(t, o)
	must(t, s.SetPageSize(125))
	s.TouchTransactions("acme", 0.1)
	must(t, s.Put(apisim.StreamTransactions, "acme", []byte(`{"id":"`+uuidText(1)+`","updatedAt":"2026-03-01T00:00:00"}`)))
	live := apisim.LiveParams()
	for _, order := range orders() {
		must(t, s.SetOrder(order))
		all := s.truth(apisim.StreamTransactions, "acme")
		stamps := make([]time.Time, len(all))
		for i, r := range all {
			text := field(t, r, "updatedAt")
			at, err := time.Parse("2006-01-02T15:04:05.999Z07:00", text)
			if err != nil {
				at, err = time.Parse("2006-01-02T15:04:05", text)
			}
			must(t, err)
			stamps[i] = at
		}
		want := func(after, before time.Time) (out []json.RawMessage) {
			for i, r := range all {
				if at := stamps[i]; (after.IsZero() || at.After(after)) && (before.IsZero() || at.Before(before)) {
					out = append(out, r)
				}
			}
			return out
		}
		check := func(what string, q url.Values, want []json.RawMessage) {
			t.Helper()
			got, _ := s.walk(apisim.StreamTransactions, "acme", q)
			same(t, order.String()+" "+what, got, want)
		}
		// Exact borders: times that records have, now, and one inside a millisecond.
		lo, hi := stamps[100], stamps[200]
		if lo.After(hi) {
			lo, hi = hi, lo
		}
		check("after", url.Values{"updatedAfter": {lo.Format(time.RFC3339Nano)}}, want(lo, time.Time{}))
		check("before", url.Values{"updatedBefore": {hi.Format(time.RFC3339Nano)}}, want(time.Time{}, hi))
		check("window", url.Values{"updatedAfter": {lo.Format(time.RFC3339Nano)},
			"updatedBefore": {hi.Format(time.RFC3339Nano)}}, want(lo, hi))
		check("empty window", url.Values{"updatedAfter": {hi.Format(time.RFC3339Nano)},
			"updatedBefore": {lo.Format(time.RFC3339Nano)}}, nil)
		check("after now", url.Values{"updatedAfter": {s.Now().Format(time.RFC3339)}}, nil)
		within := lo.Add(300 * time.Microsecond)
		check("inside", url.Values{"updatedAfter": {within.Format(time.RFC3339Nano)}}, want(within, time.Time{}))
		check("up to inside", url.Values{"updatedBefore": {within.Format(time.RFC3339Nano)}}, want(time.Time{}, within))
		zone := time.FixedZone("", 5*3600+1800)
		check("zone", url.Values{"updatedAfter": {lo.In(zone).Format(time.RFC3339Nano)}}, want(lo, time.Time{}))
		check("no zone", url.Values{"updatedAfter": {lo.Format("2006-01-02T15:04:05.999")}}, want(lo, time.Time{}))
		check("a day", url.Values{"updatedAfter": {"2026-01-01"}},
			want(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Time{}))
		check("name of another service", url.Values{live.UpdatedAfter: {lo.Format(time.RFC3339Nano)}}, all)

		must(t, s.Update(func(set *apisim.Settings) { set.Params = live }))
		check("live name", url.Values{live.UpdatedAfter: {lo.Format(time.RFC3339Nano)}}, want(lo, time.Time{}))
		must(t, s.Update(func(set *apisim.Settings) { set.IgnoreDateFilters = true }))
		check("ignored", url.Values{live.UpdatedAfter: {lo.Format(time.RFC3339Nano)}}, all)
		s.get("/v1/deals/transactions?updatedAtGreaterThan=soon", s.key("acme"), http.StatusBadRequest)
		must(t, s.Update(func(set *apisim.Settings) { set.IgnoreDateFilters, set.Params = false, apisim.Params{} }))
	}
}

func TestTouchTransactions(t *testing.T) {
	s := start(t, small())
	changed := s.TouchTransactions("acme", 0.1)
	now := s.Now().Format("2006-01-02T15:04:05.000Z")
	n := 0
	for _, r := range s.truth(apisim.StreamTransactions, "acme") {
		if field(t, r, "updatedAt") == now {
			n++
		}
	}
	if n != changed || n < 30 || n > 100 {
		t.Errorf("%d touched, %d reported, want about 60", n, changed)
	}
	if s.TouchTransactions("globex", 1) != 600 || s.TouchTransactions("nobody", 1) != 0 ||
		s.TouchTransactions("acme", 0) != 0 {
		t.Error("all, nobody or none are counted wrong")
	}
}
