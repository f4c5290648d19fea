package config

import (
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
)

func TestDSN(t *testing.T) {
	tests := []struct {
		dsn, driver, shown string // driver: what the driver gets, if not dsn
		database           string
		bad                bool
	}{
		{dsn: "embedded:./data", shown: "embedded:./data"},
		{dsn: "embedded:/var/lib/deal house", shown: "embedded:/var/lib/deal house"},
		{dsn: "clickhouse://h:9000", shown: "clickhouse://h:9000"},
		{dsn: "clickhouse://u:p@h:9000/deals?x=1", shown: "clickhouse://u:***@h:9000/deals?...", database: "deals"},
		{dsn: "clickhouse://u@h1:9000,h2:9000/deals", shown: "clickhouse://***@h1:9000,h2:9000/deals", database: "deals"},
		{dsn: "clickhouse://h/?database=deals&password=p", shown: "clickhouse://h/?...", database: "deals"},
		{dsn: "clickhouses://u:p@h:9440/d", driver: "clickhouse://u:p@h:9440/d?secure=true",
			shown: "clickhouse://u:***@h:9440/d?...", database: "d"},
		{dsn: "CLICKHOUSES://h/?a=1", driver: "clickhouse://h/?a=1&secure=true", shown: "clickhouse://h/?..."},
		{dsn: "https://u:p%40@h:8443", driver: "https://u:p%40@h:8443?secure=true", shown: "https://u:***@h:8443?..."},
		{dsn: "https://h?secure=true", shown: "https://h?..."},
		{dsn: "https://h?", driver: "https://h?secure=true", shown: "https://h?..."},
		{dsn: "http://[::1]:8123", shown: "http://[::1]:8123"},
		{dsn: "", bad: true},
		{dsn: "embedded:", bad: true},
		{dsn: "embedded: ", bad: true},
		{dsn: "embedded://data", bad: true},
		{dsn: "localhost:9000", bad: true},
		{dsn: "tcp://h:9000", bad: true},
		{dsn: "https://h?secure=false", bad: true},
		{dsn: "clickhouse://", bad: true},
		{dsn: "clickhouse://u:p@h:9000/d#x", bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.dsn, func(t *testing.T) {
			source, err := parseDSN(tt.dsn)
			if tt.bad {
				if err == nil {
					t.Error("accepted")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tt.driver == "" {
				tt.driver = tt.dsn
			}
			w := Warehouse{DSN: NewSecret(source.text)}
			if w.DSN.Reveal() != tt.driver || w.RedactedDSN() != tt.shown || source.database != tt.database {
				t.Errorf("driver %q, shown %q, database %q", w.DSN.Reveal(), w.RedactedDSN(), source.database)
			}
			if _, embedded := w.EmbeddedDir(); embedded {
				return
			}
			if _, err := clickhouse.ParseDSN(w.DSN.Reveal()); err != nil {
				t.Errorf("the driver refuses it: %s", err)
			}
		})
	}
}

// TestDSNInAFile reads the URL, and its password, from a file.
func TestDSNInAFile(t *testing.T) {
	all := files{
		"/run/dsn": {"clickhouses://u:hunter2@h:9440/deals\n", 0o600}, "/run/loose": {"clickhouse://u:hunter2@h", 0o644},
		"/run/empty": {"\n", 0o600},
		"/run/wrong": {"hunter2", 0o600}, "/run/again": {"file:/run/dsn", 0o600},
	}
	const at = "dealhouse.toml:2:7: dsn: "
	for _, tt := range []struct{ path, dsn, problem, warning string }{
		{"/run/dsn", "clickhouse://u:hunter2@h:9440/deals?secure=true", "", ""},
		{"/run/loose", "clickhouse://u:hunter2@h", "", at + `every user of this machine can read "/run/loose" (chmod 600)`},
		{"/run/gone", "", at + `cannot read the file "/run/gone": file does not exist`, ""},
		{"/run/empty", "", at + `what the file "/run/empty" has ` + errDSN.Error(), ""},
		{"/run/wrong", "", at + `what the file "/run/wrong" has ` + errDSN.Error(), ""},
		{"/run/again", "", at + `what the file "/run/again" has ` + errDSN.Error(), ""},
		{"", "", at + "file: needs the path of a file, such as file:/run/secrets/warehouse", ""},
	} {
		all[FileName] = testFile{"[warehouse]\ndsn = \"file:" + tt.path + "\"\n", 0o644}
		c, warnings, err := Read(Source{ReadFile: all.read})
		problem, warning := "", ""
		if err != nil {
			problem = err.Error()
		}
		for _, w := range warnings {
			warning += w.String()
		}
		if problem != tt.problem || warning != tt.warning {
			t.Errorf("%s: problem %q, warning %q", tt.path, problem, warning)
		}
		if err == nil && (c.Warehouse.DSN.Reveal() != tt.dsn || strings.Contains(c.Warehouse.RedactedDSN(), "hunter2")) {
			t.Errorf("%s: %s", tt.path, c.Warehouse.DSN.Reveal())
		}
	}
}
