package warehouse

import (
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
)

// TestViewsKeepTheirMeaning reads the views under settings that change what an aggregation or a JOIN means: they show
// the same as without.
func TestViewsKeepTheirMeaning(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	paid(t, w)
	load(t, w, "coupons", Whole, "["+coupon(idA, "a", day1)+"]")
	views, err := w.Dictionary(t.Context())
	must(t, err)
	read := func(settings clickhouse.Settings, from string) []string {
		t.Helper()
		rows, err := w.conn.Query(clickhouse.Context(t.Context(), clickhouse.WithSettings(settings)),
			"SELECT toString(tuple(* EXCEPT '^age_seconds$')) AS row FROM "+from+" ORDER BY row") // an age grows meanwhile
		all, err := scanned(rows, err, only[string])
		if err != nil {
			t.Errorf("%v: %s: %v", settings, from, err)
		}
		return all
	}
	affected := map[string]bool{"payout_reconciliation": true, "payout_three_way": true, "rejected_records": true, "retailers": true,
		"settlements": true, "stream_freshness": true}
	for _, v := range views {
		from := asked(t, v)
		if !affected[v.Name] && !enginetest.Wide() {
			continue
		}
		want := read(nil, from)
		for _, settings := range []clickhouse.Settings{{"aggregate_functions_null_for_empty": 1},
			{"empty_result_for_aggregation_by_empty_set": 1}, {"join_default_strictness": ""}, {"join_use_nulls": 1},
			{"aggregate_functions_null_for_empty": 1, "join_use_nulls": 1, "transform_null_in": 1, "group_by_use_nulls": 1}} {
			if d := cmp.Diff(want, read(settings, from)); d != "" {
				t.Errorf("%v: %s: %s", settings, v.Name, d)
			}
		}
	}
}
