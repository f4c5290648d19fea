package warehouse

import (
	"context"
	"testing"

	"dealhouse/internal/enginetest"
)

// TestTablesOfRunsInTheirOwnDatabase loads streams with the tables of runs in another database, as on replicas, and the
// same into a warehouse that has all tables in one.
func TestTablesOfRunsInTheirOwnDatabase(t *testing.T) {
	enginetest.OnlyWide(t) // the golden files show where each statement of a run has its tables
	t.Parallel()
	for i := range 2 {
		w := open(t)
		if i == 0 {
			w.dialect.localDatabase = "`" + w.database + "_runs`."
			for _, create := range w.dialect.createLocal() {
				must(t, w.exec(t.Context(), create))
			}
			t.Cleanup(func() { must(t, w.exec(context.Background(), "DROP DATABASE IF EXISTS `"+w.dialect.local()+"`")) })
		}
		const day1, day2 = "2026-01-01T10:00:00Z", "2026-01-02T10:00:00Z"
		load(t, w, "transactions", Part, sales(saleAt(idA, day1, "PENDING", day1), saleAt(idB, day1, "CONFIRMED", day1)))
		load(t, w, "transactions", Part, sales(saleAt(idA, day2, "CONFIRMED", day2))) // which moves
		load(t, w, "coupons", Whole, "["+coupon(idA, "a1", day1)+","+coupon(idB, "b1", day1)+"]")
		load(t, w, "coupons", Whole, "["+coupon(idA, "a2", day2)+"]")
		load(t, w, "products", Whole, `[{"url":"https://a.test/p","history":[{"yearMonthDay":"2026-01-01","price":1}]}]`)
		must(t, w.RebuildDerived(t.Context(), StreamID{"acme", "transactions"}))
		derivedHold(t, w)
		wantRows(t, w, "SELECT id, status, sold_at FROM transactions ORDER BY id", idA+" CONFIRMED 2026-01-02 10:00:00.000",
			idB+" CONFIRMED 2026-01-01 10:00:00.000")
		wantRows(t, w, "SELECT id, status FROM transactions_history ORDER BY id, valid_from", idA+" PENDING",
			idA+" CONFIRMED", idB+" CONFIRMED")
		wantRows(t, w, "SELECT code FROM coupons", "a2")
		wantRows(t, w, "SELECT count() FROM coupons_history", "3")
		wantRows(t, w, "SELECT url FROM products", "https://a.test/p")
		wantRows(t, w, "SELECT day, price FROM product_prices", "2026-01-01 1")
		wantRows(t, w, "SELECT count() FROM daily_cashback", "2")
		left := "SELECT database, name FROM system.tables WHERE database = '" + w.dialect.local() + "'"
		if tables := text(t, w, left); len(tables) > 0 {
			t.Errorf("left behind: %v", tables)
		}
	}
}
