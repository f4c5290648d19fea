package service

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dealhouse/internal/apisim"
)

// A wrong name of a parameter, and a key that one stream refuses, are found before a sync, and the setting is named.
func TestNamesOfParameters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings apisim.Settings
		env      []string
		file     string
		stream   string // the one that is found fault with; "": none
		verdict  string
		words    []string
	}{
		"right": {},
		"a name that is ignored": {
			settings: apisim.Settings{Params: apisim.Params{Page: "p"}}, stream: "products", verdict: Failed,
			words: []string{"loops", "page may have another name", "set account.params.page"},
		},
		"a name that is refused": {
			settings: apisim.Settings{Params: apisim.Params{Page: "p"}, RejectUnknownParams: true}, stream: "products",
			verdict: Failed, words: []string{"HTTP 400", "page may have another name", "set account.params.page", "[GET http"},
		},
		"a cursor that is refused": {
			settings: apisim.Settings{RejectUnknownParams: true}, stream: "coupons", verdict: Failed,
			env:   []string{"DEALHOUSE_ACCOUNT_DEFAULT_PARAMS_CURSOR=after"},
			words: []string{"HTTP 400", "after may have another name", "set account.params.cursor"},
		},
		"a cursor that is ignored": {
			stream: "promotions", verdict: Failed, env: []string{"DEALHOUSE_ACCOUNT_DEFAULT_PARAMS_CURSOR=after"},
			words: []string{"loops", "set account.params.cursor"},
		},
		"a date that is ignored": {
			settings: apisim.Settings{Params: apisim.Params{UpdatedAfter: "since"}}, stream: "transactions", verdict: Warn,
			words: []string{"updatedAfter changes nothing", "set account.params.updated_after"},
		},
		"a date that is refused": {
			settings: apisim.Settings{Params: apisim.Params{UpdatedAfter: "since"}, RejectUnknownParams: true},
			stream:   "transactions", verdict: Failed, words: []string{"HTTP 400", "updatedAfter (set account.params.updated_after)"},
		},
		"the other date is ignored": {
			settings: apisim.Settings{Params: apisim.Params{UpdatedBefore: "until"}}, stream: "transactions", verdict: Warn,
			words: []string{"updatedBefore changes nothing", "set account.params.updated_before"},
		},
		"the other date is refused": {
			settings: apisim.Settings{Params: apisim.Params{UpdatedBefore: "until"}, RejectUnknownParams: true},
			stream:   "transactions", verdict: Failed, words: []string{"updatedBefore (set account.params.updated_before)"},
		},
		"no dates at all": {
			settings: apisim.Settings{IgnoreDateFilters: true}, stream: "transactions", verdict: Warn,
			words: []string{"updatedAfter changes nothing", "updatedBefore changes nothing"},
		},
		"no filter that is known": {
			file: "[account.params]\nupdated_after = \"\"\nupdated_before = \"\"\n", stream: "transactions", verdict: Warn,
			words: []string{"account.params.updated_after is empty", "dealhouse probe"},
		},
		"a filter that is refused": {
			settings: apisim.Settings{RejectUnknownParams: true}, stream: "coupons", verdict: Failed,
			env: []string{"DEALHOUSE_ACCOUNT_DEFAULT_PARAMS_HOSTNAME=shop",
				"DEALHOUSE_ACCOUNT_DEFAULT_STREAMS_COUPONS_HOSTNAMES=a.example"},
			words: []string{"HTTP 400", "shop (set account.params.hostname)"},
		},
		"a key of its own": {
			settings: apisim.Settings{PayoutsKeyRequired: true}, stream: "payouts", verdict: Failed,
			words: []string{"refused the key", "set api_key in [account.streams.payouts]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.settings.PageSize = 20
			sim, err := apisim.New(apisim.Options{Orgs: []apisim.Org{{Name: "acme", Key: "very-secret"}}, Retailers: 20,
				Promotions: 50, Coupons: 50, CashbackOffers: 50, Transactions: 100, Products: 50, Settings: c.settings})
			if err != nil {
				t.Fatal(err)
			}
			// A service that refuses what lies in the future knows its parameters all the same.
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if after := r.URL.Query().Get("updatedAfter"); name == "right" && after > "2030" {
					http.Error(w, "in the future", http.StatusBadRequest)
					return
				}
				sim.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			source := settings(filepath.Join(t.TempDir(), "data"))
			source.Env = append(append(source.Env, "DEALHOUSE_DEFAULTS_REQUESTS_PER_SECOND=1000"), c.env...)
			source.Env[1] = "DEALHOUSE_BASE_URL=" + server.URL
			if c.file != "" {
				source.Env = slices.Delete(source.Env, 1, 3)
				source.Path = filepath.Join(t.TempDir(), "dealhouse.toml")
				if err := os.WriteFile(source.Path, []byte("[[account]]\nname = \"default\"\nbase_url = \""+server.URL+"\"\napi_key = \"very-secret\"\n"+c.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			checkNames(t, of(NewChecker(CheckOptions{Config: source}).All(t.Context()), "API"), c.stream, c.verdict, c.words)
		})
	}
}

func checkNames(t *testing.T, found []Finding, stream, verdict string, words []string) {
	t.Helper()
	if len(found) != 6 {
		t.Fatalf("%+v", found)
	}
	for _, f := range found {
		if !strings.HasSuffix(f.Check, " "+stream) {
			// A wrong name of the cursor is that of every stream with cursors.
			if f.Verdict != OK && !strings.Contains(f.Detail, "account.params.cursor") {
				t.Errorf("%+v", f)
			}
			continue
		}
		if f.Verdict != verdict {
			t.Errorf("%+v, want %s", f, verdict)
		}
		for _, word := range words {
			if !strings.Contains(f.Detail, word) {
				t.Errorf("%q is not said: %s", word, f.Detail)
			}
		}
	}
}
