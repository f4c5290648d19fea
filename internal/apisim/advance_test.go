package apisim_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"dealhouse/internal/apisim"
)

func TestDealsComeAndGo(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{apisim.StreamPromotions, apisim.StreamCoupons, apisim.StreamCashbackOffers} {
		s := newSim(t, apisim.Options{Promotions: 800, Coupons: 800, CashbackOffers: 800, Transactions: -1, Products: -1})
		type deal struct {
			ID, EndDate, UpdatedAt string
			record                 []byte
		}
		index := func() map[string]deal {
			out := map[string]deal{}
			for r := range s.Truth(stream, "") {
				d := parse[deal](t, r)
				d.record = r
				out[d.ID] = d
			}
			return out
		}
		before := index()
		s.Advance(10 * day)
		after := index()
		gone, changed, expired := 0, 0, 0
		for id, old := range before {
			now, there := after[id]
			switch end := old.EndDate; {
			case !there:
				gone++
				if end != "" && clock(t, end).After(s.Now()) {
					t.Errorf("%s %s left before %s", stream, id, end)
				}
			case end != "" && clock(t, end).Before(s.Now()):
				expired++
			case !bytes.Equal(old.record, now.record):
				changed++
				if now.UpdatedAt <= old.UpdatedAt {
					t.Errorf("%s %s changed, updatedAt did not", stream, id)
				}
			}
		}
		fresh := len(after) + gone - len(before)
		if expired > 0 || gone == 0 || fresh == 0 || changed == 0 {
			t.Errorf("%s: %d gone, %d new, %d changed, %d expired but listed", stream, gone, fresh, changed, expired)
		}
		// About 1 % a day.
		if moved := float64(gone+fresh+changed) / float64(len(before)) / 10; moved < 0.003 || moved > 0.04 {
			t.Errorf("%s: %.2f%% moved a day", stream, 100*moved)
		}
	}
	o := small()
	o.Rates, o.Transactions, o.Products = noRates(), -1, -1
	s := newSim(t, o)
	still := digest(s)
	s.Advance(300 * day)
	if digest(s) != still {
		t.Error("rates of none, and yet deals move")
	}
}

func TestExpiredDealsKeepTheirAddress(t *testing.T) {
	t.Parallel()
	o := small()
	o.Rates.DealTurnover = 0.2
	s := start(t, o)
	before := s.truth(apisim.StreamCoupons, "")
	deleted := field(t, before[0], "id")
	must(t, s.Delete(apisim.StreamCoupons, "", deleted))
	s.Advance(30 * day)
	listed := ids(t, s.truth(apisim.StreamCoupons, ""))
	expired := 0
	for _, record := range before {
		id := field(t, record, "id")
		address := "/v1/deals/coupons/" + id
		if slices.Contains(listed, id) {
			continue
		}
		s.get(address, s.key("acme"), http.StatusNotFound)
		must(t, s.Update(func(set *apisim.Settings) { set.KeepExpired = true }))
		if id == deleted {
			s.get(address, s.key("acme"), http.StatusNotFound)
		} else {
			expired++
			last := s.get(address, s.key("acme"), http.StatusOK)
			for _, name := range []string{"id", "hostname", "endDate"} {
				if got, want := field(t, last, name), field(t, record, name); got != want {
					t.Errorf("%s of the expired coupon is %s, was %s", name, got, want)
				}
			}
		}
		must(t, s.Update(func(set *apisim.Settings) { set.KeepExpired = false }))
	}
	must(t, s.Update(func(set *apisim.Settings) { set.KeepExpired = true }))
	s.get("/v1/deals/coupons/"+uuidText(1), s.key("acme"), http.StatusNotFound)
	if expired < 50 {
		t.Errorf("only %d of %d coupons expired", expired, len(before))
	}
}

func noRates() apisim.Rates {
	return apisim.Rates{DealTurnover: -1, DealEdits: -1, NewTransactions: -1, ProductTurnover: -1, ProductPrices: -1}
}

func TestTransactionsArriveAndAreDecided(t *testing.T) {
	t.Parallel()
	s := newSim(t, apisim.Options{Promotions: 10, Coupons: 10, CashbackOffers: 10, Transactions: 4000, Products: -1})
	known := reading{}
	before := known.transactions(t, s, "acme")
	s.Advance(10 * day)
	after := known.transactions(t, s, "acme")
	decided := 0
	for id, old := range before {
		now, there := after[id]
		if !there {
			t.Fatalf("%s is gone", id)
		}
		if old.Status == "PENDING" && now.Status != "PENDING" {
			decided++
			if now.UpdatedAt <= old.UpdatedAt {
				t.Errorf("%s was decided without a new updatedAt", id)
			}
		}
	}
	if n := len(after) - len(before); n < 80 || n > 110 || decided < 50 || decided > 150 {
		t.Errorf("%d new and %d decided in ten days", n, decided)
	}
	none := newSim(t, apisim.Options{Rates: noRates(), Products: -1})
	none.Advance(100 * day)
	if n := none.Count(apisim.StreamTransactions, "acme"); n != 40000 {
		t.Errorf("%d transactions at a rate of none", n)
	}
}

func TestProductsMove(t *testing.T) {
	t.Parallel()
	s := newSim(t, apisim.Options{Transactions: -1, Products: 2000, HistoryDays: 7})
	type product struct {
		URL     string
		Price   json.Number
		History []struct {
			YearMonthDay string
			Price        json.Number
		}
	}
	index := func() map[string]product {
		out := map[string]product{}
		for r := range s.Truth(apisim.StreamProducts, "") {
			if p := parse[product](t, r); p.URL != "" {
				out[p.URL] = p
			}
		}
		return out
	}
	before := index()
	s.Advance(3 * day)
	after := index()
	gone, priced, slid := 0, 0, 0
	for url, old := range before {
		now, there := after[url]
		if !there {
			gone++
			continue
		}
		if now.Price != old.Price {
			priced++
		}
		if len(old.History) == 7 && len(now.History) == 7 {
			slid++
			for i := range 4 {
				if old.History[i+3] != now.History[i] {
					t.Fatalf("the past changed: %v, %v", old.History, now.History)
				}
			}
			if now.History[6].YearMonthDay != "2026-03-17" {
				t.Fatalf("history ends on %s", now.History[6].YearMonthDay)
			}
		}
	}
	if gone == 0 || priced < 20 || priced > 120 || slid < 1000 {
		t.Errorf("%d gone, %d with a new price, %d with a full history", gone, priced, slid)
	}
}
