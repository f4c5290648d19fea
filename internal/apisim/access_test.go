package apisim_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/apisim"
)

func TestAccess(t *testing.T) {
	s := start(t, small())
	full, payouts := s.Keys("globex")
	for _, required := range []bool{false, true} {
		must(t, s.Update(func(set *apisim.Settings) { set.PayoutsKeyRequired = required }))
		for stream, path := range paths() {
			targets := []string{path}
			if slices.Contains(addressed(), stream) {
				targets = append(targets, path+"/"+field(t, s.truth(stream, "")[0], "id"))
			}
			for _, target := range targets {
				s.get(target, "", http.StatusUnauthorized)
				s.get(target, "nobody's", http.StatusForbidden)
				wantFull, wantPayouts := http.StatusOK, http.StatusForbidden
				if stream == apisim.StreamPayouts {
					wantPayouts = http.StatusOK
					if required {
						wantFull = http.StatusForbidden
					}
				}
				s.get(target, full, wantFull)
				s.get(target, payouts, wantPayouts)
			}
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodHead} {
				resp, _, err := s.do(method, path, full)
				must(t, err)
				if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "GET" {
					t.Errorf("%s %s: %d", method, path, resp.StatusCode)
				}
			}
		}
	}
}

func TestSchemesOfAuthorization(t *testing.T) {
	s := start(t, small())
	for header, want := range map[string]int{
		"Bearer " + s.key("acme"): 200, "bearer " + s.key("acme"): 200, "Basic " + s.key("acme"): 401,
		s.key("acme"): 401, "Bearer": 401, "Bearer ": 401, "Bearer x": 403,
	} {
		req, err := http.NewRequest(http.MethodGet, s.base+"/v1/deals/payouts", nil)
		must(t, err)
		req.Header.Set("Authorization", header)
		resp, err := s.http.Do(req)
		must(t, err)
		must(t, resp.Body.Close())
		if resp.StatusCode != want {
			t.Errorf("%.8s...: %d, want %d", header, resp.StatusCode, want)
		}
	}
}

func TestOrganizationsAreApart(t *testing.T) {
	s := start(t, small())
	for _, stream := range []string{apisim.StreamTransactions, apisim.StreamPayouts} {
		acme, _ := s.walk(stream, "acme", nil)
		globex, _ := s.walk(stream, "globex", nil)
		mine := map[string]bool{}
		for _, id := range ids(t, acme) {
			mine[id] = true
		}
		for _, id := range ids(t, globex) {
			if mine[id] {
				t.Errorf("%s %s belongs to both", stream, id)
			}
		}
		sameSet(t, "globex", globex, s.truth(stream, "globex"))
	}
	page := parse[envelope](t, s.get("/v1/deals/transactions", s.key("acme"), http.StatusOK))
	s.get("/v1/deals/transactions?cursor="+*page.Cursor, s.key("globex"), http.StatusBadRequest)
}

func TestGivenKeys(t *testing.T) {
	o := small()
	o.Orgs = []apisim.Org{{Name: "solo", Key: "k1", PayoutsKey: "k2", Currency: "CHF"}}
	s := start(t, o)
	if full, payouts := s.Keys("solo"); full != "k1" || payouts != "k2" {
		t.Errorf("keys are %q and %q", full, payouts)
	}
	if full, payouts := s.Keys("acme"); full != "" || payouts != "" {
		t.Error("an unknown organization has keys")
	}
	s.get("/v1/deals/payouts", "k2", http.StatusOK)
	if got := field(t, s.truth(apisim.StreamTransactions, "solo")[0], "currencyCode"); got != "CHF" {
		t.Errorf("currency %s", got)
	}
}

func TestRateLimit(t *testing.T) {
	wall := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	o := small()
	o.Wall = func() time.Time { return wall }
	o.Settings.RateLimit = apisim.RateLimit{PerSecond: 0.5, Burst: 3}
	s := start(t, o)
	for range 3 {
		s.get("/v1/deals/payouts", s.key("acme"), http.StatusOK)
	}
	resp, body, err := s.do(http.MethodGet, "/v1/deals/payouts", s.key("acme"))
	must(t, err)
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "2" ||
		!strings.Contains(string(body), "errors") {
		t.Errorf("%d, Retry-After %q: %s", resp.StatusCode, resp.Header.Get("Retry-After"), body)
	}
	s.get("/v1/deals/payouts", s.key("globex"), http.StatusOK) // each key has its own bucket
	after, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	must(t, err)
	wall = wall.Add(time.Duration(after) * time.Second)
	s.get("/v1/deals/payouts", s.key("acme"), http.StatusOK)

	must(t, s.SetRateLimit(apisim.RateLimit{PerSecond: 1, RetryAfterDate: true}))
	s.get("/v1/deals/payouts", s.key("acme"), http.StatusOK)
	resp, _, err = s.do(http.MethodGet, "/v1/deals/payouts", s.key("acme"))
	must(t, err)
	retry, err := http.ParseTime(resp.Header.Get("Retry-After"))
	must(t, err)
	date, err := http.ParseTime(resp.Header.Get("Date"))
	must(t, err)
	if d := retry.Sub(date); resp.StatusCode != http.StatusTooManyRequests || d != time.Second {
		t.Errorf("%d, Retry-After %v after Date", resp.StatusCode, d)
	}
	must(t, s.SetRateLimit(apisim.RateLimit{}))
	for range 20 {
		s.get("/v1/deals/payouts", s.key("acme"), http.StatusOK)
	}
}
