package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/catalog"
)

// standardAccount is the account that acme results in.
func standardAccount() Account {
	key := NewSecret("k-acme")
	stream := func(name, schedule string) Stream {
		return Stream{Name: name, Enabled: true, Schedule: schedule, Key: key, MaxDeleteRatio: 0.2, MaxRejectedRatio: 0.05,
			RunTimeout: 6 * time.Hour}
	}
	transactions := stream("transactions", "*/5 * * * *")
	transactions.Overlap, transactions.Resync = 10*time.Minute, "0 4 * * 0"
	transactions.ReferenceLimit, transactions.ReferenceRetry = 500, 7*24*time.Hour
	products := stream("products", "30 4 * * *")
	products.ResumeWithin, products.DeleteAfterLists = 24*time.Hour, 2
	streams := []Stream{
		stream("promotions", "7 * * * *"), stream("coupons", "12 * * * *"), stream("cashback_offers", "17 * * * *"),
		transactions, stream("payouts", "0 6 * * *"), products,
	}
	for _, s := range catalog.All()[len(streams):] { // all the others
		streams = append(streams, stream(s.Name, s.Schedule))
	}
	return Account{
		Name: "acme", BaseURL: "https://api.example.com", Key: key,
		Params: Params{UpdatedAfter: "updatedAfter", UpdatedBefore: "updatedBefore", Page: "page",
			Cursor: "cursor", Filters: map[string]string{"hostname": "hostname", "name": "name", "category": "category",
				"country": "country"}},
		Passback: PassbackKeep, RequestsPerSecond: 10, Timeout: 30 * time.Second, MaxBodyBytes: 64 << 20, MaxRetryElapsed: 5 * time.Minute,
		BatchRows: 20_000,
		Streams:   streams,
	}
}

func standardConfig() *Config {
	return &Config{
		File: FileName,
		Warehouse: Warehouse{DSN: NewSecret("embedded:./dealhouse-data"), Database: "dealhouse",
			MaxRetryElapsed: 2 * time.Minute},
		Daemon: Daemon{Listen: "127.0.0.1:9464", TimeZone: "UTC", Jitter: 10 * time.Second, MaxRuns: 32, Grace: 10 * time.Second,
			Retry: []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute}},
		Finance: Finance{OverdueAfter: 121 * 24 * time.Hour,
			Journal: Journal{Pending: "cashback-pending", Confirmed: "cashback-confirmed", AfterPayment: "after-payment",
				Payouts: "payouts-in-transit",
				Revenue: "cashback-revenue", Bank: "bank", Fees: "bank-fees", Conversion: "currency-conversion", Rounding: "rounding"}},
		Retention: Retention{Runs: 400 * 24 * time.Hour, Rejects: 400 * 24 * time.Hour, Findings: 3 * 366 * 24 * time.Hour},
		Accounts:  []Account{standardAccount()},
	}
}

func TestLoad(t *testing.T) {
	tests := []struct {
		name string
		src  Source
		want func(c *Config) // changes standardConfig
	}{
		{"defaults", source(acme, acmeKey), func(*Config) {}},
		{
			"account overrides defaults and stream overrides account",
			source("[defaults]\nmax_delete_ratio = 0.5\noverlap = \"1m\"\nrequests_per_second = 3\n"+acme+
				"timeout = \"5s\"\noverlap = \"2m\"\nmax_delete_ratio = 1\n"+
				"[account.streams.coupons]\nmax_delete_ratio = 0\nrun_timeout = \"0s\"\nenabled = false\nschedule = \"\"\n"+
				"[account.streams.transactions]\noverlap = \"3m\"\ninitial_from = 2024-01-01T02:00:00+02:00\nresync = \"\"\n",
				acmeKey),
			func(c *Config) {
				a := &c.Accounts[0]
				a.RequestsPerSecond, a.Timeout = 3, 5*time.Second
				for i := range a.Streams {
					a.Streams[i].MaxDeleteRatio = 1
				}
				a.Streams[1].MaxDeleteRatio, a.Streams[1].Enabled, a.Streams[1].Schedule, a.Streams[1].RunTimeout = 0, false, "", 0
				a.Streams[3].Overlap, a.Streams[3].Resync = 3*time.Minute, ""
				a.Streams[3].InitialFrom = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
			},
		},
		{
			"a table after the account does not matter",
			source(acme+"[defaults]\ntimeout = \"5s\"\n", acmeKey),
			func(c *Config) { c.Accounts[0].Timeout = 5 * time.Second },
		},
		{
			"dotted keys and inline tables",
			source(`warehouse.database = "w"
account = [{name = "acme", base_url = "https://api.example.com/", api_key = "env:DEALS_API_KEY", params.page = "p", streams = {payouts = {enabled = false}}}]
`, acmeKey),
			func(c *Config) {
				c.Warehouse.Database = "w"
				c.Accounts[0].Params.Page = "p"
				c.Accounts[0].Streams[4].Enabled = false
			},
		},
		{
			"two keys of one name",
			source("[warehouse]\nmax_retry_elapsed = \"7s\"\n[defaults]\nmax_retry_elapsed = \"8s\"\n"+acme, acmeKey),
			func(c *Config) {
				c.Warehouse.MaxRetryElapsed, c.Accounts[0].MaxRetryElapsed = 7*time.Second, 8*time.Second
			},
		},
		{
			"every form of a number",
			source("[defaults]\nmax_body_size = 1_024\nrequests_per_second = 1e1\nbatch_rows = 0x4e20\nmax_delete_ratio = 0.2\n"+
				acme, acmeKey),
			func(c *Config) { c.Accounts[0].MaxBodyBytes = 1024 },
		},
		{
			"environment over file",
			source(acme+"timeout = \"5s\"\n[account.streams.payouts]\nenabled = true\n", acmeKey,
				"DEALHOUSE_WAREHOUSE_DSN=clickhouse://u:p@h:9000/deals", "DEALHOUSE_DAEMON_LISTEN=:1",
				"DEALHOUSE_DEFAULTS_BATCH_ROWS=7", "DEALHOUSE_ACCOUNT_ACME_TIMEOUT=9s", "DEALHOUSE_ACCOUNT_ACME_PARAMS_PAGE=p",
				"DEALHOUSE_ACCOUNT_ACME_STREAMS_PAYOUTS_API_KEY=k-payouts", "DEALHOUSE_DEFAULTS_MAX_BODY_SIZE=1MiB",
				"DEALHOUSE_ACCOUNT_ACME_STREAMS_COUPONS_ENABLED=false", "DEALHOUSE_ACCOUNT_ACME_OVERLAP=",
				"DEALHOUSE_ACCOUNT_ACME_STREAMS_TRANSACTIONS_INITIAL_FROM=2024-01-01T00:00:00Z"),
			func(c *Config) {
				c.Warehouse = Warehouse{DSN: NewSecret("clickhouse://u:p@h:9000/deals"), Database: "deals",
					MaxRetryElapsed: 2 * time.Minute}
				c.Daemon.Listen = ":1"
				a := &c.Accounts[0]
				a.BatchRows, a.Timeout, a.MaxBodyBytes, a.Params.Page = 7, 9*time.Second, 1<<20, "p"
				a.Streams[1].Enabled = false
				a.Streams[3].InitialFrom = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
				a.Streams[4].Key = NewSecret("k-payouts")
			},
		},
		{
			"environment alone",
			Source{
				Env: []string{
					"DEALHOUSE_BASE_URL=http://127.0.0.1:8080", "DEALHOUSE_API_KEY=k-acme",
					"DEALHOUSE_ACCOUNT_DEFAULT_BATCH_ROWS=5", "PATH=/bin", "DEALHOUSE_CHDB_LIBRARY=/x",
					// Kubernetes makes these for a service called dealhouse.
					"DEALHOUSE_SERVICE_HOST=10.0.0.1", "DEALHOUSE_SERVICE_PORT=9464", "DEALHOUSE_SERVICE_PORT_HTTP=9464",
					"DEALHOUSE_PORT=tcp://10.0.0.1:9464", "DEALHOUSE_PORT_9464_TCP=tcp://10.0.0.1:9464",
					"DEALHOUSE_PORT_9464_TCP_ADDR=10.0.0.1", "DEALHOUSE_METRICS_PORT=tcp://10.0.0.2:9464",
				},
				NeedAccounts: true, ReadFile: files{}.read,
			},
			func(c *Config) {
				c.File = ""
				a := &c.Accounts[0]
				a.Name, a.BaseURL, a.BatchRows = "default", "http://127.0.0.1:8080", 5
			},
		},
		{
			"environment alone, named",
			Source{
				Env: []string{"DEALHOUSE_ACCOUNT=acme", "DEALHOUSE_BASE_URL=https://api.example.com",
					"DEALHOUSE_API_KEY=env:DEALHOUSE_KEY_OF_ACME", "DEALHOUSE_KEY_OF_ACME=k-acme"},
				NeedAccounts: true, ReadFile: files{}.read,
			},
			func(c *Config) { c.File = "" },
		},
		{
			"variables that were made of files, which end with a line break",
			Source{
				Env: []string{"DEALHOUSE_ACCOUNT=acme\n", "DEALHOUSE_BASE_URL=https://api.example.com\r\n",
					"DEALHOUSE_API_KEY=k-acme\n", "DEALHOUSE_WAREHOUSE_DSN=\n"},
				NeedAccounts: true, ReadFile: files{}.read,
			},
			func(c *Config) { c.File = "" },
		},
		{
			"a key variable of the plain name may serve an account of the file",
			source(acme+"[account.streams.payouts]\napi_key = \"env:DEALHOUSE_API_KEY\"\n", acmeKey,
				"DEALHOUSE_API_KEY=k-payouts"),
			func(c *Config) { c.Accounts[0].Streams[4].Key = NewSecret("k-payouts") },
		},
		{
			"a disabled stream needs no key",
			source(acme+"[account.streams.payouts]\nenabled = false\napi_key = \"env:UNSET\"\n", acmeKey),
			func(c *Config) {
				c.Accounts[0].Streams[4].Enabled = false
				c.Accounts[0].Streams[4].Key = Secret{}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := standardConfig()
			tt.want(want)
			if diff := cmp.Diff(want, mustLoad(t, tt.src)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadWithoutAccounts(t *testing.T) {
	src := source("[warehouse]\ndatabase = \"w\"\n")
	src.NeedAccounts = false
	if c := mustLoad(t, src); c.Warehouse.Database != "w" || len(c.Accounts) != 0 {
		t.Errorf("got %+v", c)
	}
	src = source(acme) // and no key in the environment
	src.NeedAccounts = false
	c := mustLoad(t, src)
	if a, ok := c.Account("acme"); !ok || a.Key.Resolved() {
		t.Errorf("got %+v, %v; want acme with an unresolved key", a, ok)
	}
	if _, ok := c.Account("other"); ok {
		t.Error("found an account that is none")
	}
}

func TestStreamNames(t *testing.T) {
	a := mustLoad(t, source(acme, acmeKey)).Accounts[0]
	for i, name := range catalog.Names() {
		if s, ok := a.Stream(name); !ok || a.Streams[i].Name != name || s.Name != name {
			t.Errorf("stream %d is %q, want %q", i, a.Streams[i].Name, name)
		}
	}
	if _, ok := a.Stream("other"); ok || len(a.Streams) != len(catalog.Names()) {
		t.Error("there is a stream without a name of its own")
	}
}

func TestFileLookup(t *testing.T) {
	named := func(database string) testFile {
		return testFile{"[warehouse]\ndatabase = \"" + database + "\"\n", 0o600}
	}
	all := files{FileName: named("here"), "/etc/env.toml": named("env"), "/etc/flag.toml": named("flag"),
		"/etc/secret.toml": {"", 0}}
	tests := []struct {
		name, path, env, want, problem string
		files                          files
	}{
		{"flag first", "/etc/flag.toml", "/etc/env.toml", "flag", "", all},
		{"then the variable", "", "/etc/env.toml", "env", "", all},
		{"then the directory", "", "", "here", "", all},
		{"then none", "", "", "dealhouse", "", files{}},
		{"missing, by flag", "gone.toml", "", "",
			"gone.toml: cannot read the configuration that --config names: file does not exist", all},
		{"missing, by variable", "", "gone.toml", "",
			"gone.toml: cannot read the configuration that DEALHOUSE_CONFIG names: file does not exist", all},
		{"unreadable", "/etc/secret.toml", "", "",
			"/etc/secret.toml: cannot read the configuration that --config names: permission denied", all},
		{"unreadable, by default", "", "", "", "dealhouse.toml: cannot read the configuration: permission denied",
			files{FileName: {"", 0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := Source{Path: tt.path, Env: []string{"DEALHOUSE_CONFIG=" + tt.env}, ReadFile: tt.files.read}
			if tt.problem != "" {
				if diff := cmp.Diff([]string{tt.problem}, problems(t, src)); diff != "" {
					t.Error(diff)
				}
				return
			}
			if got := mustLoad(t, src).Warehouse.Database; got != tt.want {
				t.Errorf("read the file of %q, want %q", got, tt.want)
			}
		})
	}
}
