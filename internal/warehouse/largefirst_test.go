package warehouse

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
)

// paidSale is a transaction that a payout may include.
func paidSale(n int, status string, updatedAt string) string {
	payout := "null"
	if n%3 == 0 {
		payout = fmt.Sprint(1 + n%7)
	}
	return fmt.Sprintf(`{"id":"aaaaaaaa-0000-4000-8000-%012d","soldAt":"2026-01-%02dT00:00:00Z","status":%q,"updatedAt":%q,"cashback":1.5,"orderValue":10,"currencyCode":"EUR","retailerName":"Shop %d","payoutId":%s}`,
		n, 1+n%28, status, updatedAt, n%50, payout)
}

// TestLargeFirstLoad loads many transactions at once, so that their parts are not merged, stages some of them
// twice, and then changes some. The result must be the same as after small loads: each key once, and derived tables
// as if rebuilt.
func TestLargeFirstLoad(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	const twice, page = 500, 20_000
	var pages []string
	for from := 0; from < largeFirst; from += page {
		var rows []string
		for n := from; n < from+page; n++ {
			rows = append(rows, paidSale(n, "PENDING", day1))
		}
		pages = append(pages, sales(rows...))
	}
	var again []string
	for n := range twice {
		again = append(again, paidSale(n, "CONFIRMED", day2))
	}
	r := begin(t, w, "transactions")
	stage(t, w, r, append(pages, sales(again...))...)
	c, err := w.Writer(r).Plan(t.Context(), Whole, staged(t, w, r))
	must(t, err)
	var now int64
	var rows, distinct, ahead, other, sum, content, live uint64
	var none bool
	must(t, w.conn.QueryRow(t.Context(), w.Writer(r).script.countBefore(Part, keysInSet+1), w.Writer(r).args(time.Now())...).
		Scan(&now, &rows, &distinct, &ahead, &other, &sum, &content, &live, &none))
	if rows != c.Staged || distinct != c.Distinct || !none {
		t.Errorf("of more rows: %d of %d keys, the first: %v", rows, distinct, none)
	}
	keys, err := w.Writer(r).PlannedKeys(t.Context(), c)
	must(t, err)
	if n := text(t, w, "SELECT count() FROM "+r.changes()); n[0] != "0" || len(keys) != largeFirst {
		t.Errorf("%s keys were compared, %d are planned", n[0], len(keys))
	}
	first := publish(t, w, r, Part) // it plans again
	if d := cmp.Diff(first, c); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Changes{Inserted: largeFirst, Staged: largeFirst + twice, Distinct: largeFirst, First: true},
		first, anySum); d != "" {
		t.Error(d)
	}
	unmerged := "SELECT count() FROM system.parts WHERE active AND database = currentDatabase() AND level = 0 AND rows >= 30_000 AND table IN ('transactions_latest', 'transactions_versions', 'transactions_keys', 'payout_transactions_latest')"
	if n := text(t, w, unmerged); n[0] != "4" {
		t.Errorf("%s parts were not merged", n[0])
	}
	sums := func(when string, confirmed, versions int) {
		t.Helper()
		want := fmt.Sprintf("(%d,%d,%d,%d)", largeFirst, largeFirst, confirmed, versions)
		got := text(t, w, `SELECT (count(), uniqExact(id), countIf(status = 'CONFIRMED'), (SELECT count() FROM transactions_versions)) FROM transactions`)
		if got[0] != want {
			t.Errorf("%s: %s, want %s", when, got[0], want)
		}
		if when == "after the load" && !enginetest.Wide() {
			return // merges must change nothing: what is wrong before them is wrong after them
		}
		wrong, err := w.CheckDerived(t.Context(), StreamID{"acme", "transactions"})
		must(t, err)
		if len(wrong) > 0 {
			t.Errorf("%s: %v are not what the rows say", when, wrong)
		}
	}
	sums("after the load", twice, largeFirst)
	var changed []string
	for n := range 10 {
		changed = append(changed, paidSale(twice+n, "CONFIRMED", day2))
	}
	second := load(t, w, "transactions", Part, sales(append(changed, again[0])...))
	if d := cmp.Diff(Changes{Updated: 10, Unchanged: 1, Staged: 11, Distinct: 11, Live: largeFirst}, second, anySum); d != "" {
		t.Error(d)
	}
	if enginetest.Wide() { // merges must change nothing: what is wrong before them is wrong after them
		sums("after a change", twice+10, largeFirst+10)
	}
	for _, table := range []string{"transactions_latest", "transactions_keys", "payout_transactions_latest"} {
		must(t, w.exec(t.Context(), "OPTIMIZE TABLE "+table+" FINAL"))
	}
	sums("after merges", twice+10, largeFirst+10)
}
