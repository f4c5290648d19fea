package service

import (
	"testing"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/warehouse"
)

// Every configured stream has a status, and those that are not loaded any more show no result of their last run.
func TestStatuses(t *testing.T) {
	t.Parallel()
	cfg := &config.Config{Accounts: []config.Account{{Name: "acme", Streams: []config.Stream{
		{Name: "coupons", Enabled: true}, {Name: "payouts"}}}}}
	all := Statuses(cfg, []warehouse.StreamStatus{
		{Account: "acme", Stream: "coupons", LastOutcome: "failed", LastError: "told to"},
		{Account: "acme", Stream: "payouts", LastOutcome: "failed", LastError: "told to"},
		{Account: "former", Stream: "coupons", LastOutcome: "failed", LastError: "told to"},
	})
	outcomes, errors := map[string]string{}, map[string]string{}
	for _, s := range all {
		outcomes[s.Account+" "+s.Stream], errors[s.Account+" "+s.Stream] = s.LastOutcome, s.LastError
	}
	for stream, want := range map[string]string{"acme coupons": "failed", "acme payouts": "disabled",
		"acme products": "never ran", "former coupons": "not configured"} {
		if outcomes[stream] != want || (errors[stream] != "") != (want == "failed") {
			t.Errorf("%s: %s %q, want %s", stream, outcomes[stream], errors[stream], want)
		}
	}
	if len(all) != len(catalog.All())+1 || all[len(all)-1].Account != "former" {
		t.Errorf("%d statuses, the last one of %s", len(all), all[len(all)-1].Account)
	}
}

// A reader, who configures no account, sees how the last runs ended.
func TestStatusesOfAReader(t *testing.T) {
	t.Parallel()
	all := Statuses(&config.Config{}, []warehouse.StreamStatus{
		{Account: "acme", Stream: "coupons", LastOutcome: "success"},
		{Account: "acme", Stream: "payouts", LastOutcome: "failed", LastError: "told to"},
	})
	if len(all) != 2 || all[0].LastOutcome != "success" || all[1].LastOutcome != "failed" || all[1].LastError != "told to" {
		t.Errorf("%+v", all)
	}
}

// A scope that was changed in the configuration holds from the next complete list on.
func TestLoadedScope(t *testing.T) {
	t.Parallel()
	now := time.Now()
	scope := catalog.Scope{{Filter: "country", Values: []string{"DE"}}}
	cfg := &config.Config{Accounts: []config.Account{{Name: "acme", Streams: []config.Stream{
		{Name: "coupons", Enabled: true, Scope: scope}, {Name: "promotions", Enabled: true}}}}}
	for _, test := range []struct {
		status warehouse.StreamStatus
		want   string
	}{
		{warehouse.StreamStatus{Stream: "promotions"}, ""},
		{warehouse.StreamStatus{Stream: "coupons", Scope: scope.Encode(), LastSuccess: &now}, scope.String()},
		{warehouse.StreamStatus{Stream: "coupons"}, scope.String() + ", not loaded yet"},
		{warehouse.StreamStatus{Stream: "coupons", LastSuccess: &now},
			"all rows; from the next complete list on " + scope.String()},
		{warehouse.StreamStatus{Stream: "promotions", Scope: scope.Encode(), LastSuccess: &now},
			scope.String() + "; from the next complete list on all rows"},
	} {
		test.status.Account = "acme"
		if got := LoadedScope(cfg, test.status); got != test.want {
			t.Errorf("%+v: %q, want %q", test.status, got, test.want)
		}
	}
}
