package apisim_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"dealhouse/internal/apisim"
)

// The answers, the refusals and the effects of calls by hand stay the same, byte for byte, in worlds with other seeds,
// sizes and settings. The digests are from the time before each list of the simulator was described in one place.
func TestServedAsEver(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
	t.Parallel()
	for name, c := range map[string]struct {
		seed   uint64
		change func(*apisim.Options)
		want   string
	}{
		"plain": {1, func(*apisim.Options) {}, "c261bfbe9d17a63df103e30e1b3e0e40782ec54377e35dc6b24fc76337643991"},
		"odd manners": {2, func(o *apisim.Options) {
			o.MixedCurrencies, o.DecidedInTime, o.Products = 0.3, true, 40
			s := &o.Settings
			s.Order, s.Cursor, s.UnknownCursor = apisim.ByUpdatedDesc, apisim.CursorKeyset, apisim.UnknownEmpty
			s.Timestamps, s.NextPage, s.LastPage = apisim.TimeOffset, apisim.NextURL, apisim.LastNull
			s.ExtraFields, s.RejectUnknownParams, s.PayoutsKeyRequired = true, true, true
			s.KeepExpired, s.CompactDays, s.Params = true, true, apisim.LiveParams()
		}, "824192cafab9e95c09ffcd94f8b52bf4cbec5494e4e58b8929b8b250d0d7f29a"},
		"moving": {1 << 60, func(o *apisim.Options) {
			o.Orgs = []apisim.Org{{Name: "solo", Currency: "CHF"}, {Name: "acme"}}
			o.Rates = apisim.Rates{DealTurnover: 0.2, DealEdits: 0.1, ProductTurnover: 0.1, NewTransactions: -1}
			o.Settings.Cursor, o.Settings.Order = apisim.CursorOffset, apisim.Drifting
			o.Settings.FeedOffsets, o.Settings.NextPage = true, apisim.NextNumber
			o.Settings.UnknownCursor = apisim.UnknownFirstPage
			o.Settings.Movement = apisim.Movement{Seed: 3, PerPage: 3, Aim: 0.3, Step: time.Minute, MaxEvents: 900}
		}, "e2aba87e4a2f197ca5f49f88f9f5bc5caef458c619acaaaaeca7bfa39da81d21"},
		"few": {7, func(o *apisim.Options) {
			o.Retailers, o.Promotions, o.Coupons, o.CashbackOffers, o.Transactions, o.Products = 1, -1, 1, 2, 3, -1
			o.Settings.Order, o.Settings.Cursor = apisim.Shuffled, apisim.CursorLastID
		}, "a28113bfb958576d52a04e09a56ac2cb1e8255c58b1f8175560760874249cbe5"},
	} {
		t.Run(name, func(t *testing.T) {
			o := small()
			o.Seed, o.Settings.PageSize = c.seed, 23
			c.change(&o)
			sum := sha256.New()
			live(t, newSim(t, o), sum)
			if got := hex.EncodeToString(sum.Sum(nil)); got != c.want {
				t.Errorf("digest %s, want %s", got, c.want)
			}
		})
	}
}

// live reads a world in every way, changes it by hand and by its clock, and writes all answers to out.
func live(t *testing.T, sim *apisim.Sim, out io.Writer) {
	t.Helper()
	full, payouts := sim.Keys("acme")
	ask := func(target, key string) []byte {
		r := httptest.NewRequest(http.MethodGet, target, nil)
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		sim.ServeHTTP(w, r)
		fmt.Fprintln(out, target, w.Code, w.Header(), w.Body)
		return w.Body.Bytes()
	}
	for round := range 3 {
		for _, stream := range documented() {
			path := paths()[stream]
			for _, query := range []string{"", "?hostname=x.test", "?country=de&category=Toys&name=y", "?country=Germany",
				"?cursor=" + uuidText(3), "?cursor=x", "?page=12", "?updatedAfter=2026-01-01&updatedBefore=2026-03-01",
				"?updatedAtGreaterThan=2026-02-01", "?%zz"} {
				ask(path+query, full)
			}
			ask(path, payouts)
			ask(path, "nobody's")
			walkOn(t, path, ask, full)
			var some []string
			for record := range sim.Truth(stream, "acme") {
				fmt.Fprintf(out, "%s", record)
				if id := field(t, record, "id"); id != "" && len(some) < 40 {
					some = append(some, id)
				} else if address := field(t, record, "url"); len(some) < 40 {
					some = append(some, address)
				}
			}
			fmt.Fprintln(out, stream, sim.Count(stream, "acme"), sim.Count(stream, "nobody"))
			for i, id := range some {
				if i < 10 {
					ask(path+"/"+url.PathEscape(id), full)
				}
				record := []byte(`{"id":"` + id + `","url":"` + id + `","updatedAt":"2026-03-02T00:00:00Z","hostname":"x.test"}`)
				var err error
				switch i % 8 {
				case 0:
					err = sim.Put(stream, "acme", record)
				case 1:
					err = sim.Delete(stream, "acme", id)
				case 2:
					err = sim.Append(stream, "acme", record)
				case 3:
					err = sim.Touch(stream, "acme", id)
				case 4:
					err = sim.Touch(stream, "nobody", id)
				case 5:
					err = sim.Restore(stream, "acme", some[i-4])
				case 6:
					err = sim.Put(stream, "nobody", record)
				}
				fmt.Fprintln(out, err)
			}
		}
		fmt.Fprintln(out, sim.Put("nonsense", "acme", []byte("{}")), sim.Touch("nonsense", "acme", "1"),
			sim.Put("nonsense", "acme", []byte("{")), sim.Delete("nonsense", "", "1"), sim.Count("nonsense", ""))
		fmt.Fprintln(out, sim.TouchTransactions("acme", 0.2), sim.Moves(), sim.Now(), sim.Requests(""), sim.Rows(""))
		sim.Advance(time.Duration(round+1) * 19 * 24 * time.Hour)
	}
}

// walkOn reads a list page by page, as long as each page names a next one.
func walkOn(t *testing.T, path string, ask func(target, key string) []byte, key string) {
	t.Helper()
	body := ask(path, key)
	for range 60 {
		if len(body) == 0 || body[0] != '{' {
			return
		}
		next := parse[envelope](t, body)
		switch {
		case next.Cursor != nil:
			body = ask(path+"?cursor="+url.QueryEscape(*next.Cursor), key)
		case len(next.NextPage) > 0 && text(next.NextPage) != "null":
			page := text(next.NextPage)
			if u, err := url.Parse(page); err == nil && u.IsAbs() {
				body = ask(u.RequestURI(), key)
				continue
			}
			body = ask(path+"?page="+url.QueryEscape(page), key)
		default:
			return
		}
	}
}
