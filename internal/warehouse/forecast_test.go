package warehouse

import (
	"dealhouse/internal/enginetest"
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestCohortsInParts checks that the unpaid sums of the past are the same whether all months are read together or a
// few at a time.
func TestCohortsInParts(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	must(t, w.conn.Exec(t.Context(), `INSERT INTO transactions_versions (account, id, sold_at, updated_at, currency_code, order_value, cashback, status, payout_id, synced_at, _hash, _version, _deleted, _run_id)
WITH toDateTime64('2025-01-15 00:00:00', 3, 'UTC') + toIntervalDay(number) AS sold,
    arrayJoin([(1, 'PENDING', NULL), (30, 'CONFIRMED', NULL), (100, 'CONFIRMED', toInt64(intDiv(number, 30)))]) AS v, sold + toIntervalDay(v.1) AS changed
SELECT 'acme', reinterpretAsUUID(sipHash128(number)), sold, changed, if(number % 7 = 0, 'USD', 'EUR'), 100, number, v.2, v.3, changed, sipHash128(number, v.1),
    bitOr(bitShiftLeft(toUInt128(toUnixTimestamp64Milli(changed)), 64), toUInt128(number)), 0, generateUUIDv4()
FROM numbers(400)`))
	from, to := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	sums := func(all []UnpaidCohort) (lines []string) {
		byCohort := map[string]UnpaidCohort{}
		for _, c := range all {
			key := fmt.Sprint(c.Currency, c.Due, c.ToGo, c.Confirmed)
			sum := byCohort[key]
			byCohort[key] = UnpaidCohort{Count: sum.Count + c.Count, Unpaid: sum.Unpaid.Add(c.Unpaid),
				Paid: sum.Paid.Add(c.Paid)}
		}
		for key, c := range byCohort {
			lines = append(lines, fmt.Sprint(key, c.Count, c.Unpaid, c.Paid))
		}
		slices.Sort(lines)
		return lines
	}
	together, err := w.UnpaidCohorts(t.Context(), "acme", from, to, goldenHorizon)
	must(t, err)
	parts, err := w.unpaidCohorts(t.Context(), "acme", from, to, goldenHorizon, cohortMonths)
	must(t, err)
	if len(parts) <= len(together) {
		t.Errorf("%d cohorts in parts, %d together", len(parts), len(together))
	}
	if got, want := sums(together), sums(parts); len(want) < 30 || !slices.Equal(got, want) {
		t.Errorf("together: %q\nin parts: %q", got, want)
	}
}
