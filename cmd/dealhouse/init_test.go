//go:build !noengine

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/enginetest"
)

// drawnBench is an API whose behaviour is drawn at random, and nothing that reads it. Its lists stand still, so that
// what is true of them does not change, and it sets no limit.
func drawnBench(t *testing.T, seed uint64) *bench {
	t.Helper()
	settings := apisim.RandomSettings(seed)
	settings.Movement, settings.RateLimit = apisim.Movement{}, apisim.RateLimit{}
	sim, err := apisim.New(apisim.Options{
		Seed: seed, Now: time.Now(), Orgs: []apisim.Org{{Name: "acme", Key: acmeKey, PayoutsKey: "the-payouts-key"}},
		Retailers: 20, Promotions: 20, Coupons: 30, CashbackOffers: 30, Transactions: 200, Products: 30, HistoryDays: 2,
		Settings: settings,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	return &bench{
		sim: sim, url: server.URL, dir: filepath.Join(dir, "data"), config: filepath.Join(dir, "dealhouse.toml"),
		env: []string{"ACME_KEY=" + acmeKey, "PAYOUTS_KEY=the-payouts-key", "DEALHOUSE_DEFAULTS_REQUESTS_PER_SECOND=10000"},
	}
}

// init writes the configuration of the bench.
func (b *bench) init(t *testing.T, more ...string) outcome {
	t.Helper()
	return b.call(t, append([]string{"init", b.url, "--key", "env:ACME_KEY", "--payouts-key", "env:PAYOUTS_KEY", "--account",
		"acme", "--warehouse", "embedded:" + b.dir}, more...)...)
}

// comparePlain compares a view with what is true, whatever the API writes times like.
func (b *bench) comparePlain(t *testing.T, s *catalog.Stream) {
	t.Helper()
	style := b.sim.Settings().Timestamps
	defer func() { _ = b.sim.SetTimestamps(style) }() // it was valid before
	if err := b.sim.SetTimestamps(apisim.TimeZulu); err != nil {
		t.Fatal(err)
	}
	compare(t, b, b.env, "acme", s)
}

// TestInitLoadsTheTruth goes from an address and a key to the rows, whatever the API is like.
func TestInitLoadsTheTruth(t *testing.T) {
	enginetest.Long(t)
	worlds, begin := enginetest.Worlds(1, 15), uint64(1)
	if n, err := strconv.Atoi(os.Getenv("PROBE_WORLDS")); err == nil { // a search, with seeds that nobody has tried
		worlds, begin = n, uint64(time.Now().UnixNano())
	}
	engineHere(t)
	for i := range worlds {
		seed := begin + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			b := drawnBench(t, seed)
			b.migrated(t)
			defer hold(t, b.dir)()
			b.init(t).want(t, 0, "asked", "written")
			b.call(t, "sync").want(t, 0)
			cfg, _, err := config.Read(config.Source{Path: b.config, Env: b.env})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range cfg.Accounts[0].Streams {
				stream, err := catalog.Find(s.Name)
				if err != nil {
					t.Fatal(err)
				}
				if s.Enabled {
					b.comparePlain(t, stream)
				} else if b.sim.Settings().Params.Page != "seite" {
					t.Errorf("%s is switched off: %+v", s.Name, b.sim.Settings())
				}
			}
			// A small run finds what has changed since, with the filters that were found.
			b.sim.Advance(6 * time.Hour)
			b.call(t, "sync", "transactions").want(t, 0)
			b.comparePlain(t, catalog.Transactions())
		})
	}
}

// TestInitOfAnotherService has an API that shares no code with the simulator: what a reader of the interface would
// write in an evening.
func TestInitOfAnotherService(t *testing.T) {
	enginetest.Long(t)
	engineHere(t)
	const sales = 37
	envelope := "nextCursor"
	at := func(i int) time.Time { return time.Date(2026, 5, 1, 8, 0, i*7, 0, time.UTC) }
	id := func(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }
	served := map[string]func(url.Values) any{
		"/v1/deals/promotions": func(url.Values) any {
			return map[string]any{"data": []any{map[string]any{"id": id(900), "title": "Ten off", "updatedAt": at(1)}}}
		},
		"/v1/deals/transactions": func(q url.Values) any {
			from, to := 0, sales
			if text := q.Get("modifiedSince"); text != "" {
				since, err := time.Parse(time.RFC3339, text)
				if err != nil {
					return nil
				}
				for from < sales && at(from).Before(since) {
					from++
				}
			}
			if text := q.Get("modifiedBefore"); text != "" {
				before, err := time.Parse(time.RFC3339, text)
				if err != nil {
					return nil
				}
				for to > 0 && !at(to-1).Before(before) {
					to--
				}
			}
			begin, _ := strconv.Atoi(q.Get("cursor"))
			begin = max(begin, from)
			rows := []any{}
			end := begin
			for ; end < to && end < begin+10; end++ {
				rows = append(rows, map[string]any{"id": id(end), "updatedAt": at(end), "soldAt": at(end).Add(-time.Hour),
					"cashback": json.Number("1.25"), "currencyCode": "EUR", "status": "PENDING"})
			}
			if end < to {
				return map[string]any{"data": rows, envelope: strconv.Itoa(end)}
			}
			return map[string]any{"data": rows}
		},
		"/v1/deals/payouts": func(url.Values) any { return []any{} },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list, known := served[r.URL.Path]
		switch {
		case r.Header.Get("Authorization") != "Bearer the-key":
			w.WriteHeader(http.StatusUnauthorized)
		case !known:
			w.WriteHeader(http.StatusNotFound)
		default:
			answer := list(r.URL.Query())
			if answer == nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(answer)
		}
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	b := &bench{url: server.URL, dir: filepath.Join(dir, "data"), config: filepath.Join(dir, "dealhouse.toml"), env: []string{"THE_KEY=the-key"}}
	b.migrated(t)
	defer hold(t, b.dir)()
	call(t, b.env, "init", b.url, "--key", "env:THE_KEY", "--config", filepath.Join(dir, "other.toml")).shows(t,
		"transactions say that they are not whole in words that dealhouse does not know", `"nextCursor": "10"`)
	envelope = "cursor" // as the interface has it
	b.call(t, "init", b.url+"/v1/deals/transactions", "--key", "env:THE_KEY", "--account", "acme", "--warehouse", "embedded:"+b.dir).want(t, 0, "written")
	text, err := os.ReadFile(b.config)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`updated_after = "modifiedSince"`, `updated_before = "modifiedBefore"`, "[account.streams.coupons]",
		"does the first filter take a row of exactly its time: yes", "does the second filter take a row of exactly its time: no"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
	b.call(t, "sync").want(t, 0)
	b.call(t, "query", "SELECT count(), sum(cashback), uniqExact(id) FROM transactions", "-o", "csv").shows(t, "37,46.2500,37")
}
