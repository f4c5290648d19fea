package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEverythingWrong checks config-2: one call reports all problems, in the order of the file.
func TestEverythingWrong(t *testing.T) {
	input := filepath.Join("testdata", "everything-wrong.toml")
	golden := filepath.Join("testdata", "everything-wrong.golden")
	text, err := os.ReadFile(input)
	if err != nil {
		t.Fatal(err)
	}
	src := source(string(text), "DEALHOUSE_WAREHOUSE_DATABSE=x", "DEALHOUSE_DEFAULTS_MAX_DELETE_RATIO=2",
		"DEALHOUSE_API_KEY=hunter2", "DEALHOUSE_ACCOUNT_NOBODY_TIMEOUT=3s", "DEALHOUSE_ACCOUNT_OK_TIMEOUT=3s")
	got := strings.Join(problems(t, src), "\n") + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.Contains(got, "hunter2") {
		t.Error("a secret is shown")
	}
}

func TestProblems(t *testing.T) {
	tests := []struct {
		name string
		text string
		env  []string
		want []string
	}{
		{"no TOML: only the first", "[warehouse\nx = \n", nil,
			[]string{"dealhouse.toml:1:11: invalid TOML: expected ']' to close table name"}},
		{"text without quotes", "[[account]]\napi_key = hunter2\n", nil,
			[]string{"dealhouse.toml:2:11: invalid TOML: this is not a TOML value: put text in double quotes"}},
		{"a string that does not end", "[[account]]\napi_key = \"hunter2\n", nil,
			[]string{"dealhouse.toml:2:19: invalid TOML: basic strings cannot have new lines"}},
		{"a float out of range", "[[account]]\napi_key = 1.5e999\n", nil,
			[]string{"dealhouse.toml:2:11: invalid TOML: number out of range"}},
		{"a column counts characters", "\"é\" = 1 = 2\n", nil,
			[]string{"dealhouse.toml:1:9: invalid TOML: expected newline but got U+003D '='"}},
		{"twice", "[daemon]\nlisten = \":1\"\nlisten = \":2\"\n", nil,
			[]string{"dealhouse.toml:3:1: invalid TOML: key listen is already defined"}},
		{"a door of a server, for everyone", "[warehouse]\ndsn = \"clickhouse://h:9000/d\"\n[door]\nlisten = \":8123\"\n", nil, []string{
			"dealhouse.toml:4:10: [door] serves an embedded warehouse, and this one is a server: ask it directly",
			"dealhouse.toml:4:10: [door] lets other machines in with a password only: set user and password, or listen on 127.0.0.1",
		}},
		{"a door with half a login", "[door]\nlisten = \"127.0.0.1:8123\"\nuser = \"bi\"\n", nil,
			[]string{"dealhouse.toml:3:8: user and password go together: one is set and the other is not"}},
		{"a beginning without filters", "[[account]]\nname = \"a\"\nbase_url = \"https://a.example\"\napi_key = \"k\"\n[account.params]\nupdated_before = \"\"\n" +
			"[account.streams.transactions]\ninitial_from = 2024-01-01T00:00:00Z\n", nil,
			[]string{"dealhouse.toml:8:16: initial_from needs the filters updated_after and updated_before, and one of them is empty"}},
		{"twice, tables", "[daemon]\n[daemon]\n", nil,
			[]string{"dealhouse.toml:2:2: invalid TOML: table daemon already exists"}},
		{"hashed without a key", acme + "passback = \"hash\"\n", []string{acmeKey}, []string{`dealhouse.toml:5:12: account "acme": passback = "hash" needs passback_key`}},
		{"hashed, with a key that is not there", acme + "passback = \"hash\"\npassback_key = \"env:GONE\"\n", []string{acmeKey},
			[]string{`dealhouse.toml:6:16: account "acme": passback_key: environment variable GONE is not set`}},
		{"another word", acme + "passback = \"hide\"\n", []string{acmeKey}, []string{`dealhouse.toml:5:12: passback: must be "keep", "hash" or "drop"; "hide" is not`}},
		{"no account", "[warehouse]\n", nil, []string{"dealhouse.toml: no account is configured: add an [[account]] table with name, base_url and api_key"}},
		{"nothing in an account", "[[account]]\n", nil, []string{
			`dealhouse.toml:1:3: account lacks name, such as name = "acme"`,
			`dealhouse.toml:1:3: account lacks base_url, such as base_url = "https://api.example.com"`,
			`dealhouse.toml:1:3: account lacks api_key, such as api_key = "env:DEALS_API_KEY"`,
		}},
		{"one bracket too few", strings.Replace(acme, "[[account]]", "[account]", 1), nil,
			[]string{`dealhouse.toml:1:2: "account" may stand several times: write [[account]], with two brackets`}},
		{"one bracket too many", "[[warehouse]]\n" + acme, nil,
			[]string{`dealhouse.toml:1:3: "warehouse" stands once only: write [warehouse], with one bracket`}},
		{"accounts that are none", "account = [1]\n", nil,
			[]string{`dealhouse.toml:1:12: "account" must hold tables only, not an integer: write [[account]]`}},
		{"an account that is none", "account = true\n", nil,
			[]string{`dealhouse.toml:1:11: "account" must be a table, not true or false: write [[account]]`}},
		{"a table for a key", acme + "[account.timeout]\n", nil,
			[]string{`dealhouse.toml:5:10: timeout must be a duration with its unit, in quotes, such as "30s", "10m" or "24h", not a table`}},
		{"a key of another table", "overlaps = 1\n" + acme, nil,
			[]string{`dealhouse.toml:1:1: unknown key "overlaps" at the top level; did you mean "overlap" in [defaults], [[account]] or [account.streams.transactions]?`}},
		{"a word that is part of a key", acme + "url = 1\n", nil,
			[]string{`dealhouse.toml:5:1: unknown key "url" in [[account]]; did you mean "base_url"?`}},
		{"a dash for an underscore", acme + "[account.streams.cashback-offers]\n", nil,
			[]string{`dealhouse.toml:5:18: unknown table "cashback-offers" in [account.streams]; did you mean "cashback_offers"?`}},
		{"a cluster of the embedded engine", "[warehouse]\ncluster = \"c\"\n" + acme, nil,
			[]string{"dealhouse.toml:2:11: cluster is for servers, but dsn names the embedded ClickHouse: leave it empty"}},
		{"a certificate without its key", "[warehouse]\ndsn = \"clickhouses://h:9440\"\ncert_file = \"c.crt\"\n" + acme, nil,
			[]string{"dealhouse.toml:3:13: cert_file and key_file go together: one is set and the other is not"}},
		{"a key without its certificate", "[warehouse]\ndsn = \"clickhouses://h:9440\"\nkey_file = \"c.key\"\n" + acme, nil,
			[]string{"dealhouse.toml:3:12: cert_file and key_file go together: one is set and the other is not"}},
		{"two databases", "[warehouse]\ndsn = \"clickhouse://h/a\"\ndatabase = \"b\"\n" + acme, nil,
			[]string{`dealhouse.toml:3:12: database is "b" and the dsn names another: leave one of them out`}},
		{"views where the tables are", "[warehouse]\nviews_database = \"dealhouse_runs\"\n" + acme, nil,
			[]string{`dealhouse.toml:2:18: views_database is "dealhouse_runs", which has the tables: give the views a database of their own`}},
		{"views in the database of the dsn", "[warehouse]\ndsn = \"clickhouse://h/a\"\nviews_database = \"a\"\n" + acme, nil,
			[]string{`dealhouse.toml:3:18: views_database is "a", which has the tables: give the views a database of their own`}},
		{"views in the server's own database", "[warehouse]\nviews_database = \"System\"\n" + acme, nil,
			[]string{`dealhouse.toml:2:18: views_database: must be a database of your own; "System" is the server's`}},
		{"views in no database", "[warehouse]\nviews_database = \"a-b\"\n" + acme, nil,
			[]string{`dealhouse.toml:2:18: views_database: must be a name of letters, digits and _ that begins with no digit; "a-b" is not`}},
		{"parameters alike", acme + "[account.params]\nupdated_before = \"updatedAfter\"\n", nil,
			[]string{`dealhouse.toml:6:18: updated_after and updated_before must differ: both are "updatedAfter"`}},
		{"http", acme, []string{"DEALHOUSE_ACCOUNT_ACME_BASE_URL=http://10.0.0.1"},
			[]string{"environment variable DEALHOUSE_ACCOUNT_ACME_BASE_URL: base_url must be https:// unless the API is on this machine, since http:// sends the key unencrypted; allow_insecure = true permits it"}},
		{"a version in base_url", strings.Replace(acme, "api.example.com", "api.example.com/v1/", 1), nil,
			[]string{`dealhouse.toml:3:12: base_url: must end before /v1, which dealhouse adds itself`}},
		{"another version in base_url", acme, []string{"DEALHOUSE_ACCOUNT_ACME_BASE_URL=https://h/proxy/v2"},
			[]string{"environment variable DEALHOUSE_ACCOUNT_ACME_BASE_URL: base_url: must end before /v2, which dealhouse adds itself"}},
		{"a schedule of a time zone alone", acme + "[account.streams.payouts]\nschedule = \"TZ=UTC\"\n", nil,
			[]string{`dealhouse.toml:6:12: schedule: "TZ=UTC" names a time zone and no schedule: write five cron fields such as "30 4 * * *", or "@every 10m"; "" for never`}},
		{"variables of one account, with a file that has another", acme,
			[]string{"DEALHOUSE_API_KEY=x", "DEALHOUSE_ACCOUNT=y"}, []string{
				"environment variable DEALHOUSE_ACCOUNT: is for a configuration without accounts, but the file has some",
				"environment variable DEALHOUSE_API_KEY: is for a configuration without accounts, but the file has some; use DEALHOUSE_ACCOUNT_ACME_API_KEY",
			}},
		{"an incomplete account of the environment", "", []string{"DEALHOUSE_ACCOUNT=y"}, []string{
			`environment variable DEALHOUSE_ACCOUNT: account "y" lacks base_url: set DEALHOUSE_BASE_URL`,
			`environment variable DEALHOUSE_ACCOUNT: account "y" lacks api_key: set DEALHOUSE_API_KEY`,
		}},
		{"a variable of an account that is none", "[warehouse]\n", []string{"DEALHOUSE_ACCOUNT_ACME_API_KEY=x"}, []string{
			"environment variable DEALHOUSE_ACCOUNT_ACME_API_KEY: is unknown; no account is configured",
		}},
		{"ambiguous names", acme + strings.Replace(acme, "acme", "a-b", 1) + strings.Replace(acme, "acme", "a_b", 1),
			[]string{"DEALHOUSE_ACCOUNT_A_B_TIMEOUT=3s"}, []string{
				"environment variable DEALHOUSE_ACCOUNT_A_B_TIMEOUT: is ambiguous: it could set account.a-b.timeout or account.a_b.timeout",
			}},
		{"ambiguous ways", acme + strings.Replace(acme, "acme", "acme_streams_payouts", 1),
			[]string{"DEALHOUSE_ACCOUNT_ACME_STREAMS_PAYOUTS_API_KEY=x"}, []string{
				"environment variable DEALHOUSE_ACCOUNT_ACME_STREAMS_PAYOUTS_API_KEY: is ambiguous: it could set account.acme.streams.payouts.api_key or account.acme_streams_payouts.api_key",
			}},
		{"half a variable", acme, []string{"DEALHOUSE_DSN=x"}, []string{
			`environment variable DEALHOUSE_DSN: is unknown; did you mean "DEALHOUSE_WAREHOUSE_DSN"?`,
		}},
		{"a name cannot be set", acme, []string{"DEALHOUSE_ACCOUNT_ACME_NAME=x"}, []string{
			`environment variable DEALHOUSE_ACCOUNT_ACME_NAME: is unknown; no account has such a key`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := problems(t, source(tt.text, append(tt.env, acmeKey)...))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNothingConfigured(t *testing.T) {
	want := []string{
		"no configuration: there is no dealhouse.toml here and no account in the environment.",
		"To start: `dealhouse init URL --key env:NAME` writes dealhouse.toml, or set DEALHOUSE_BASE_URL and DEALHOUSE_API_KEY.",
		"To look around first: `dealhouse demo` needs no configuration.",
	}
	if diff := cmp.Diff(want, problems(t, Source{NeedAccounts: true, ReadFile: files{}.read})); diff != "" {
		t.Error(diff)
	}
	if got := problems(t, Source{ReadFile: files{}.read}); got != nil {
		t.Errorf("a command that needs the warehouse only got %q", got)
	}
}

func TestProblemsAreTyped(t *testing.T) {
	_, _, err := Read(source("[daemon]\nlisten = 1\n" + acme))
	var found *Problems
	if !errors.As(err, &found) {
		t.Fatalf("error is %v (%T)", err, err)
	}
	all := found.All()
	want := []Problem{
		{File: FileName, Line: 2, Column: 10, Message: "listen must be a string: host:port, not an integer"},
		{File: FileName, Line: 6, Column: 11, Message: `account "acme": api_key: environment variable DEALS_API_KEY is not set`},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
