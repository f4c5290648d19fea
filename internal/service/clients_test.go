package service

import (
	"testing"
	"time"

	"dealhouse/internal/config"
	"dealhouse/internal/dealapi"
)

// A limit is told only while requests leave as fast as it allows, and wait for it.
func TestLimitIsWhatHoldsUp(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	for what, test := range map[string]struct {
		before float64 // the limit that was told before
		rate   float64
		after  time.Duration
		made   uint64
		waited time.Duration
		want   float64
	}{
		"as fast as it allows":           {0, 10, 2 * time.Second, 20, time.Second, 10},
		"a little less":                  {0, 10, 3 * time.Second, 27, time.Second, 10},
		"a slow service":                 {10, 10, 2 * time.Second, 9, 0, 0},
		"some that came at once":         {10, 10, 2 * time.Second, 10, time.Second, 0},
		"as fast, by chance, unhindered": {10, 10, 2 * time.Second, 20, 0, 0},
		"too early to tell":              {0, 10, time.Second, 10, time.Second, 0},
		"too early to tell otherwise":    {10, 10, time.Second, 0, 0, 10},
		"a slow limit, between two":      {0.1, 0.1, 9 * time.Second, 0, 0, 0.1},
		"a slow limit, after one":        {0, 0.1, 10 * time.Second, 1, 10 * time.Second, 0.1},
		"a service that has stopped":     {10, 10, 5 * time.Second, 0, 0, 0},
		"a service stopped, slow limit":  {0.1, 0.1, 30 * time.Second, 0, 0, 0},
	} {
		before := pulse{at: begun, requests: 100, waited: time.Minute, limitedTo: test.before}
		now := pulse{at: begun.Add(test.after), requests: 100 + test.made, waited: time.Minute + test.waited}
		if got := before.next(now, test.rate).limitedTo; got != test.want {
			t.Errorf("%s: limited to %g, want %g", what, got, test.want)
		}
	}
}

// All keys of an account share one limit (one limit for an account).
func TestLimitOfAnAccount(t *testing.T) {
	t.Parallel()
	cfg := configured(t)
	targets, err := Selection{}.Targets(cfg)
	if err != nil {
		t.Fatal(err)
	}
	clients := New(Options{}).Clients(nil)
	defer clients.Close()
	for _, target := range targets {
		if target.Stream.Name == "payouts" {
			target.Setting.Key = config.NewSecret("payouts-secret")
		}
		if _, err := clients.Get(target); err != nil {
			t.Fatal(err)
		}
	}
	if len(clients.limiters) != 2 || len(clients.clients) != 4 {
		t.Errorf("%d limits and %d clients of two accounts", len(clients.limiters), len(clients.clients))
	}
	if clients.LimitedTo("acme") != 0 || clients.LimitedTo("nobody") != 0 {
		t.Error("a limit is told before any request")
	}
}

// A max_retry_elapsed of 0 means no retry, and not the client's default.
func TestConfiguredNotToRetry(t *testing.T) {
	t.Parallel()
	for _, elapsed := range []time.Duration{0, time.Minute} {
		targets, err := Selection{}.Targets(configured(t))
		if err != nil {
			t.Fatal(err)
		}
		var got dealapi.Options
		clients := New(Options{}).Clients(func(o *dealapi.Options) { got = *o })
		defer clients.Close()
		targets[0].Account.MaxRetryElapsed = elapsed
		if _, err := clients.Get(targets[0]); err != nil {
			t.Fatal(err)
		}
		if got.MaxElapsed != elapsed || got.NoRetry != (elapsed == 0) {
			t.Errorf("max_retry_elapsed %s: a client with %s, no retry %v", elapsed, got.MaxElapsed, got.NoRetry)
		}
	}
}
