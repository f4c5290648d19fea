package config

import (
	"slices"
	"strings"
	"testing"

	"dealhouse/internal/catalog"
)

// TestScope checks that the filters of a stream become its scope, in whichever way they are given.
func TestScope(t *testing.T) {
	stream := func(name, keys string) string { return acme + "[account.streams." + name + "]\n" + keys + "\n" }
	for _, test := range []struct{ name, file, env, stream, want string }{
		{"none", acme, "", "coupons", ""},
		{"one", stream("coupons", `hostnames = ["shop.example"]`), "", "coupons", "hostname shop.example"},
		{"in any order and case, twice", stream("promotions", `hostnames = ["b.example", "A.example", "a.EXAMPLE"]`), "",
			"promotions", "hostname a.example or b.example"},
		{"a port, and letters beyond ASCII", stream("promotions", `hostnames = ["Bücher.example", "shop.example:8443"]`), "",
			"promotions", "hostname bücher.example or shop.example:8443"},
		{"several filters", stream("cashback_offers",
			"countries = [\"de\", \"FR\"]\nretailer_names = [\"Smith, Sons & Co\"]\ncategories = [\"Travel\"]"), "",
			"cashback_offers",
			"name Smith, Sons & Co, category Travel, country DE or FR"},
		{"over several lines", stream("coupons", "hostnames = [\n  \"a.example\", # the first\n  \"b.example\",\n]"), "",
			"coupons", "hostname a.example or b.example"},
		{"by the environment", acme, "DEALHOUSE_ACCOUNT_ACME_STREAMS_COUPONS_HOSTNAMES=a.example, b.example", "coupons",
			"hostname a.example or b.example"},
		{"by the environment, as JSON", acme, `DEALHOUSE_ACCOUNT_ACME_STREAMS_CASHBACK_OFFERS_RETAILER_NAMES=["Smith, Sons"]`,
			"cashback_offers", "name Smith, Sons"},
		{"the environment wins", stream("coupons", `hostnames = ["a.example"]`),
			"DEALHOUSE_ACCOUNT_ACME_STREAMS_COUPONS_HOSTNAMES=b.example", "coupons", "hostname b.example"},
	} {
		c := mustLoad(t, source(test.file, acmeKey, test.env))
		s, _ := c.Accounts[0].Stream(test.stream)
		if got := s.Scope.String(); got != test.want {
			t.Errorf("%s: the scope is %q, want %q", test.name, got, test.want)
		}
		for _, other := range c.Accounts[0].Streams {
			if other.Name != test.stream && other.Scope != nil {
				t.Errorf("%s: %s has the scope %s", test.name, other.Name, other.Scope)
			}
		}
	}
}

func TestScopeProblems(t *testing.T) {
	for keys, want := range map[string]string{
		"[account.streams.coupons]\nhostnames = \"a.example\"":                                   `hostnames must be an array of strings such as ["shop.example", "www.other.example"], not a string`,
		"[account.streams.coupons]\nhostnames = [1]":                                             "hostnames must be an array of strings",
		"[account.streams.coupons]\nhostnames = [[\"a.example\"]]":                               "hostnames must be an array of strings",
		"[account.streams.coupons]\nhostnames = []":                                              "hostnames: has no value: leave the key out to load everything",
		"[account.streams.coupons]\nhostnames = [\"\"]":                                          "is empty",
		"[account.streams.coupons]\nhostnames = [\"https://a.example\"]":                         "is not a hostname: write it as the service does",
		"[account.streams.coupons]\nhostnames = [\"a.example/deals\"]":                           "is not a hostname",
		"[account.streams.coupons]\nhostnames = [\"a b.example\"]":                               "is not a hostname",
		"[account.streams.coupons]\ncountries = [\"DE\"]":                                        `"countries" has no meaning in [account.streams.coupons]; it belongs in [account.streams.cashback_offers]`,
		"[account.streams.transactions]\nhostnames = [\"a.example\"]":                            `"hostnames" has no meaning`,
		"[account.streams.cashback_offers]\ncountries = [\"Germany\"]":                           "is not a country: write its two letters, such as DE",
		"[account.streams.cashback_offers]\ncategories = [\"" + strings.Repeat("x", 301) + "\"]": "is not a category",
		"[account.params]\nhostname = \"cursor\"":                                                "cursor and hostname must differ",
		"[account.params]\nhostname = \"country\"":                                               "hostname and country must differ",
		"[account.streams.cashback_offers]\ncountries = [\"DE\", \"FR\"]\nretailer_names = [" +
			strings.TrimSuffix(strings.Repeat("%,", 501), ",") + "]": "make 1002 lists",
	} {
		n := 0
		for strings.Contains(keys, "%") {
			keys = strings.Replace(keys, "%", `"r`+strings.Repeat("i", n%250)+strings.Repeat("j", n/250)+`"`, 1)
			n++
		}
		found := problems(t, source(acme+keys+"\n", acmeKey))
		if !slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, want) }) {
			t.Errorf("%.80s: found %q, want %q", keys, found, want)
		}
	}
}

// TestConfigsShareNoScope checks config-1 for the filters of two accounts of one file.
func TestConfigsShareNoScope(t *testing.T) {
	file := strings.ReplaceAll(acme, "acme", "first") + "[account.streams.coupons]\nhostnames = [\"a.example\"]\n" +
		acme + "[account.params]\nhostname = \"host\"\n[account.streams.coupons]\nhostnames = [\"b.example\"]\n"
	c := mustLoad(t, source(file, acmeKey))
	for i, want := range []string{"hostname a.example", "hostname b.example"} {
		s, _ := c.Accounts[i].Stream(catalog.Names()[1])
		if s.Scope.String() != want || c.Accounts[i].Params.Filters["hostname"] != []string{"hostname", "host"}[i] {
			t.Errorf("account %d: %s, %v", i, s.Scope, c.Accounts[i].Params.Filters)
		}
	}
}
