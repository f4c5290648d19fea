package config

import (
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
)

func TestDSN(t *testing.T) {
	tests := []struct {
		dsn, driver, shown string // driver: what the driver is given, when not dsn
		database           string
		bad                bool
	}{
		{dsn: "embedded:./data", shown: "embedded:./data"},
		{dsn: "embedded:/var/lib/deal house", shown: "embedded:/var/lib/deal house"},
		{dsn: "clickhouse://h:9000", shown: "clickhouse://h:9000"},
		{dsn: "clickhouse://u:p@h:9000/deals?x=1", shown: "clickhouse://u:***@h:9000/deals?...", database: "deals"},
		{dsn: "clickhouse://u@h1:9000,h2:9000/deals", shown: "clickhouse://***@h1:9000,h2:9000/deals", database: "deals"},
		{dsn: "clickhouse://h/?database=deals&password=p", shown: "clickhouse://h/?...", database: "deals"},
		{dsn: "clickhouses://u:p@h:9440/d", driver: "clickhouse://u:p@h:9440/d?secure=true", shown: "clickhouse://u:***@h:9440/d?...", database: "d"},
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
