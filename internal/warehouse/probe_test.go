package warehouse

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/enginetest"
)

// biSettings change what a query means or how its result looks. They may come from a tool or from the
// profile of its user.
var biSettings = []clickhouse.Settings{
	{},
	{"join_use_nulls": 1, "select_sequential_consistency": 1},
	{"enable_analyzer": 0},
	{"enable_analyzer": 0, "join_use_nulls": 1},
	{"prefer_column_name_to_alias": 1},
	{"union_default_mode": "ALL", "group_by_use_nulls": 1},
	{"optimize_move_to_prewhere": 0, "optimize_move_to_prewhere_if_final": 1, "max_threads": 1},
	{"transform_null_in": 1, "cast_keep_nullable": 1},
	{"final": 1, "date_time_output_format": "iso"},
	{"output_format_json_quote_64bit_integers": 1, "enable_extended_results_for_datetime_functions": 1},
	{"join_use_nulls": 1, "transform_null_in": 1, "join_algorithm": "full_sorting_merge", "data_type_default_nullable": 1},
}

// wholeProbes makes the test query each view under all settings, and with all conditions under the defaults. Without
// it, each is queried under the defaults and another one, or two others in a wide sample, and under the defaults with
// all conditions only in that.
const wholeProbes = "WAREHOUSE_PROBES"

// probesOf returns conditions on a column, as its type allows them: equality first, then those that read only a
// part of a column.
func probesOf(c ViewColumn) []string {
	name := "`" + c.Name + "`"
	null := []string{name + " IS NULL", name + " IS NOT NULL"}
	bare := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(c.Type, "LowCardinality("), ")"),
		"Nullable("), ")")
	equal := func(value string) []string {
		return append([]string{name + " = " + value, name + " != " + value},
			append(null, name+" IN ("+value+", "+value+")", "toString("+name+") LIKE '%x%'")...)
	}
	switch {
	case strings.HasPrefix(c.Type, "Array(Decimal"):
		return append([]string{"empty(" + name + ")", "notEmpty(" + name + ")"},
			append(null, "length("+name+") > 1", "has("+name+", toDecimal64(1, 4))")...)
	case strings.HasPrefix(c.Type, "Array(Int"):
		return append([]string{"empty(" + name + ")", "notEmpty(" + name + ")"},
			append(null, "length("+name+") > 1", "has("+name+", 1)")...)
	case strings.HasPrefix(c.Type, "Array("):
		return append([]string{"empty(" + name + ")", "notEmpty(" + name + ")"},
			append(null, "length("+name+") > 1", "has("+name+", 'x')")...)
	case bare == "String":
		return append(equal("''"), "length("+name+") > 1")
	case bare == "UUID":
		return equal("'" + idA + "'")
	case strings.HasPrefix(bare, "Date"):
		return equal("'2026-01-01'")
	}
	return equal("1")
}

// TestViewsUnderEverySetting queries each column of each view as tools do, under the settings that tools use. For wide
// samples: TestViewsOfRejectsUnderOtherSettings reads some views under others.
func TestViewsUnderEverySetting(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	paid(t, w)
	load(t, w, "coupons", Whole, "["+coupon(idA, "a", day1)+"]")
	load(t, w, "products", Whole, `[{"url":"https://a.test","currencyCode":"EUR","history":[{"yearMonthDay":"2026-01-01","price":10}]}]`)
	views, err := w.Dictionary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(settings clickhouse.Settings, query string) {
		t.Helper()
		rows, err := w.conn.Query(clickhouse.Context(t.Context(), clickhouse.WithSettings(settings)), query)
		if err == nil {
			for rows.Next() {
				continue // its content is tested elsewhere
			}
			err = errors.Join(rows.Err(), rows.Close())
		}
		if err != nil {
			t.Errorf("%v: %s: %.300s", settings, query, err)
		}
	}
	all := os.Getenv(wholeProbes) != ""
	const every = 5
	for at, v := range views {
		from := asked(t, v)
		// One condition on each column is tried at once: conditions are pushed down one by one. Two on the same column
		// would hide errors where a tool reads only a part of a column, its size or its NULLs.
		var names []string
		kinds := make([][]string, 7)
		for _, c := range v.Columns {
			names = append(names, "`"+c.Name+"`")
			for i, p := range probesOf(c) {
				kinds[i] = append(kinds[i], p)
			}
		}
		for i, settings := range biSettings {
			if !all && !enginetest.Wide() && i != at%len(biSettings) || !all && i > 0 && enginetest.Wide() && (i+at)%every != 0 {
				continue
			}
			for kind, conditions := range kinds {
				chosen := (i+at)%len(kinds) == kind
				if all || enginetest.Wide() {
					chosen = i == 0 || i%len(kinds) == kind
				}
				if len(conditions) > 0 && chosen {
					ask(settings, "SELECT count() FROM "+from+" WHERE "+strings.Join(conditions, " AND "))
				}
			}
			ask(settings, "SELECT "+strings.Join(names, ", ")+", count() FROM "+from+" GROUP BY "+strings.Join(names, ", ")+
				" ORDER BY "+strings.Join(names, ", "))
		}
	}
}
