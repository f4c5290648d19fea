package engine

import (
	"maps"
	"testing"
	"time"

	"dealhouse/internal/chdb/contract"
)

// TestSettingsAreLifted: the SETTINGS clause of a whole query goes beside its text, and every other one stays.
func TestSettingsAreLifted(t *testing.T) {
	t.Parallel()
	one := map[string]string{"a": "1"}
	for sql, want := range map[string]struct {
		sql   string
		given map[string]string
	}{
		"SELECT 1 SETTINGS a=1":                              {"SELECT 1             ", one},
		"SELECT 1\nSETTINGS a = 1,\nb='x y' FORMAT CSV":      {"SELECT 1\n               \n        FORMAT CSV", map[string]string{"a": "1", "b": "x y"}},
		"select 1 format CSV settings a=1;":                  {"select 1 format CSV             ;", one},
		"(SELECT 1) SETTINGS /* , */ a = 0.5e3":              {"(SELECT 1)                           ", map[string]string{"a": "0.5e3"}},
		"EXPLAIN SELECT 1 SETTINGS a=true":                   {"EXPLAIN SELECT 1                ", map[string]string{"a": "true"}},
		"INSERT INTO t SETTINGS a=1 VALUES (1)":              {"INSERT INTO t              VALUES (1)", one},
		"INSERT INTO t SETTINGS a=1 SELECT 1":                {"INSERT INTO t              SELECT 1", one},
		"INSERT INTO t FORMAT CSV SETTINGS a=1":              {"INSERT INTO t FORMAT CSV SETTINGS a=1", nil},
		"INSERT INTO t VALUES ('SETTINGS a=1')":              {"INSERT INTO t VALUES ('SETTINGS a=1')", nil},
		"SELECT 1 SETTINGS a=1 UNION ALL SELECT 2":           {"SELECT 1 SETTINGS a=1 UNION ALL SELECT 2", nil},
		"SELECT 1 UNION ALL SELECT 2 SETTINGS a=1":           {"SELECT 1 UNION ALL SELECT 2             ", one},
		"SELECT * FROM (SELECT 1 SETTINGS a=1)":              {"SELECT * FROM (SELECT 1 SETTINGS a=1)", nil},
		"SELECT 'SETTINGS a=1' -- SETTINGS a=1":              {"SELECT 'SETTINGS a=1' -- SETTINGS a=1", nil},
		"SELECT 1 SETTINGS a=DEFAULT":                        {"SELECT 1 SETTINGS a=DEFAULT", nil},
		"SELECT 1 SETTINGS a={x:UInt8}":                      {"SELECT 1 SETTINGS a={x:UInt8}", nil},
		`SELECT 1 SETTINGS a='it\'s'`:                        {`SELECT 1 SETTINGS a='it\'s'`, nil},
		"SELECT 1 SETTINGS a='it''s'":                        {"SELECT 1 SETTINGS a='it''s'", nil},
		"SELECT 1 SETTINGS a=1, b=[2]":                       {"SELECT 1 SETTINGS a=1, b=[2]", nil},
		"SELECT 1 SETTINGS":                                  {"SELECT 1 SETTINGS", nil},
		"SELECT 1 SETTINGS a":                                {"SELECT 1 SETTINGS a", nil},
		"CREATE TABLE t (a Int8) ENGINE=Memory SETTINGS a=1": {"CREATE TABLE t (a Int8) ENGINE=Memory SETTINGS a=1", nil},
		"SET a = 1": {"SET a = 1", nil},
		"SELECT settings FROM s WHERE a=1 SETTINGS a=1": {"SELECT settings FROM s WHERE a=1             ", one},
		"SELECT a AS settings, b=1 FROM t":              {"SELECT a AS settings, b=1 FROM t", nil},
		"":                                              {"", nil},
	} {
		q := Query{SQL: sql}
		q.liftSettings()
		if q.SQL != want.sql || !maps.Equal(q.Settings, want.given) {
			t.Errorf("%q: %q %v", sql, q.SQL, q.Settings)
		}
	}
}

// TestLimitsAreLowered: of the limit that a client asks for and the engine's own, the lower one holds.
func TestLimitsAreLowered(t *testing.T) {
	t.Parallel()
	own := bounds(contract.Limits{QueryMemory: 1 << 30, Time: 5 * time.Minute, ResultRows: 1000, Threads: 2})
	for _, c := range []struct {
		name, value string
		kept        bool
	}{
		{"max_execution_time", "300", true}, {"max_execution_time", "0.5", true}, {"max_execution_time", "305", false},
		{"max_execution_time", "0", false}, {"max_execution_time", "18446744073709551615", false},
		{"max_threads", "1", true}, {"max_threads", "8", false}, {"max_threads", "0", false}, {"max_threads", "auto", false},
		{"max_memory_usage", "1000000", true}, {"max_memory_usage", "10G", false}, {"max_memory_usage", "2Gi", false},
		{"max_memory_usage", "500M", true}, {"max_memory_usage", "1e6", true}, {"max_memory_usage", "1e12", false},
		{"max_result_bytes", "0", true}, // the engine has no such limit here
		{"max_result_rows", "9223372036854775807", false}, {"max_result_rows", "x", true}, {"max_result_rows", "-1", true},
		{"max_subquery_depth", "50", true}, {"max_subquery_depth", "1000", false}, {"max_block_size", "0", true},
	} {
		q := Query{Settings: map[string]string{c.name: c.value, "result_overflow_mode": "break"}}
		lowered := q.lower(own)
		if _, kept := q.Settings[c.name]; kept != c.kept || kept != (len(lowered) == 0) {
			t.Errorf("%s=%s: %v %v", c.name, c.value, q.Settings, lowered)
		}
		if breaks := q.Settings["result_overflow_mode"] == "break"; breaks == (!c.kept && c.name == "max_result_rows") {
			t.Errorf("%s=%s: %v", c.name, c.value, q.Settings)
		}
	}
}
