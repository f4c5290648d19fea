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

// TestBankCSV wants what is said of a bank's CSV to be whole.
func TestBankCSV(t *testing.T) {
	const whole = `"received_on = Date", "currency = EUR", "text = Details"`
	for lines, want := range map[string]string{
		whole + `, "amount = Sum", "delimiter = \\t", "decimal = ,", "date = DD.MM.YY", "encoding = windows-1252", "skip = 4", "side = Kind = D"`: "",
		whole + `, "credit = In", "debit = Out", "reference = Ref"`:                                                                               "",
		whole: "needs either amount, or credit and debit",
		whole + `, "amount = Sum", "credit = In", "debit = Out"`:    "needs either amount, or credit and debit",
		whole + `, "credit = In"`:                                   "needs either amount, or credit and debit",
		`"received_on = Date", "currency = EUR", "amount = Sum"`:    "needs received_on, currency and text",
		whole + `, "amount = Sum", "side = D"`:                      "side goes with amount",
		whole + `, "credit = In", "debit = Out", "side = Kind = D"`: "side goes with amount",
		whole + `, "amount = Sum", "delimiter = ;;"`:                "delimiter must be one character",
		whole + `, "amount = Sum", "decimal = ;"`:                   "decimal must be a comma or a point",
		whole + `, "amount = Sum", "skip = -1"`:                     "skip must be a number of lines",
		whole + `, "amount = Sum", "encoding = klingon"`:            "encoding \"klingon\" is not known",
		whole + `, "amount = Sum", "date = D.M.Y"`:                  "date must have DD, MM and YYYY",
		whole + `, "amount = Sum", "amount = Other"`:                "has amount twice",
		whole + `, "amount"`:                                        `must have lines such as "amount = Betrag"`,
		whole + `, "amount = "`:                                     `must have lines such as "amount = Betrag"`,
		whole + `, "iban = X"`:                                      `"iban" is none of delimiter`,
	} {
		text := acme + "[finance]\nbank_csv = [" + lines + "]\n"
		if want == "" {
			if c := mustLoad(t, source(text, acmeKey)); c.Finance.BankCSV["received_on"] != "Date" {
				t.Errorf("%s: %v", lines, c.Finance.BankCSV)
			}
			continue
		}
		if found := problems(t, source(text, acmeKey)); len(found) != 1 || !strings.Contains(found[0], want) {
			t.Errorf("%s: found %q, want %q", lines, found, want)
		}
	}
	for text, want := range map[string]string{`["ab"]`: "at least 3 letters", `["Acme Deals", "  "]`: "at least 3 letters", `[]`: "to import no statements of banks"} {
		if found := problems(t, source(strings.Replace(acme, "[[account]]", "[[account]]\nbank_senders = "+text, 1), acmeKey)); len(found) != 1 || !strings.Contains(found[0], want) {
			t.Errorf("%s: found %q, want %q", text, found, want)
		}
	}
}
