//go:build !noengine

package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
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
	worlds := enginetest.Worlds(2, 40)
	if n, err := strconv.Atoi(os.Getenv("PROBE_WORLDS")); err == nil {
		worlds = n
	}
	engineHere(t)
	for i := range worlds {
		seed := uint64(time.Now().UnixNano()) + uint64(i)
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
