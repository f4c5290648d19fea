//go:build !noengine

package main

import (
	"strings"
	"testing"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
)

// A statement that ClickHouse refuses is a mistake of whoever wrote it, whatever its code; a limit names its flag.
func TestQueryMistakes(t *testing.T) {
	enginetest.Long(t)
	engineHere(t)
	b := newBenchOf(t, apisim.Org{Name: "acme", Key: acmeKey})
	b.migrated(t)
	for _, c := range []struct {
		sql   string
		words []string
	}{
		{"SELECT intDiv(1, 0)", []string{"code 153"}},
		{"SELECT * FROM coupons_as_of",
			[]string{"code 51", "needs a time in UTC, such as coupons_as_of(at = '2026-01-31 12:00:00')"}},
		{"SELECT toDecimal32('1', 99)", []string{"code 69"}},
		{"SELECT (SELECT number FROM numbers(2))", []string{"code 125"}},
		{"SELECT throwIf(1)", []string{"code 395"}},
		{"SELECT toUInt8('')", []string{"code 32"}},
		{"SELECT groupArray(number) FROM numbers(50000000)", []string{"code 241", "--max-query-memory"}},
		{"SELECT * FROM numbers(5000)", []string{"code 396", "--max-result-rows"}},
		{"DROP TABLE coupons_latest", []string{"read-only", "send one SELECT, SHOW"}},
	} {
		got := b.call(t, "query", c.sql, "--max-query-memory", "40", "--max-result-rows", "1000")
		got.want(t, 2, append(c.words, "the warehouse refused the statement: ")...)
		if strings.Contains(got.err, "door") || strings.Count(got.err, "read-only") > 1 {
			t.Errorf("%s: %s", c.sql, got.err)
		}
	}
}
