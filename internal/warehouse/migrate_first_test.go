package warehouse

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
)

// openFirst opens a warehouse of the first version, with what that version loaded.
func openFirst(t *testing.T) *Warehouse {
	t.Helper()
	w := open(t)
	restore(t, w, "first")
	return w
}

// TestMigrateFromTheFirstVersion upgrades a warehouse of the first version, rows included. Every view that it had shows
// the same rows in the same columns, every newer view can be read, and runs continue where the first version stopped.
// For wide samples: TestUpgrade migrates an older schema.
func TestMigrateFromTheFirstVersion(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := openFirst(t)
	views := func() []string {
		t.Helper()
		return text(t, w, "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'View' AND name != 'schema_migrations' ORDER BY name")
	}
	queries, shown := map[string]string{}, map[string][]string{}
	for _, view := range views() {
		columns := text(t, w, "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {view:String} ORDER BY position", named("view", view))
		only := ""
		if view == "sync_state" {
			only = " WHERE name = 'watermark'" // the upgrade may note there what it has done
		}
		queries[view] = "SELECT " + strings.Join(columns, ", ") + " FROM " + view + only + " ORDER BY ALL"
		shown[view] = text(t, w, queries[view])
	}
	for _, full := range []string{"transactions", "transactions_history", "coupons", "payouts", "products",
		"product_prices", "sync_runs", "sync_state"} {
		if len(shown[full]) == 0 {
			t.Fatalf("the first version has no rows in %s", full)
		}
	}
	if _, err := w.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	must(t, w.CheckSchema(t.Context()))
	for view, before := range shown {
		if d := cmp.Diff(before, text(t, w, queries[view])); d != "" {
			t.Errorf("%s shows something else after the upgrade: %s", view, d)
		}
	}
	for _, view := range views() {
		if _, had := queries[view]; !had && parameters[view] == "" {
			text(t, w, "SELECT * FROM "+view)
		}
	}
	for _, same := range [][2]string{{"transactions_enriched", "transactions"}, {"payout_reconciliation", "payouts"},
		{"coupons_all WHERE listed", "coupons"}} {
		if got := text(t, w, "SELECT (SELECT count() FROM "+same[0]+") = (SELECT count() FROM "+same[1]+")"); got[0] != "1" {
			t.Errorf("%s has not as many rows as %s", same[0], same[1])
		}
	}
	first := strings.Fields(text(t, w, "SELECT id, code FROM coupons ORDER BY id LIMIT 1")[0])
	if got := load(t, w, "coupons", Part, "["+coupon(first[0], "after", "2027-01-01T00:00:00Z")+"]"); got.Updated != 1 {
		t.Errorf("a run after the upgrade: %+v", got)
	}
	if got := text(t, w, "SELECT code FROM coupons_history WHERE id = {id:UUID} ORDER BY valid_from",
		named("id", first[0])); !slices.Equal(got, []string{first[1], "after"}) {
		t.Errorf("the coupon was %v", got)
	}
	if again, err := w.Migrate(t.Context()); err != nil || len(again) > 0 {
		t.Errorf("a second upgrade: %d statements, %v", len(again), err)
	}
}

// What PlanMigration prints can be run by another user. Then nothing is left to do, so the worker needs no right to
// change the schema: it asks, and changes nothing. For wide samples: TestMigrateTwice migrates again.
func TestPlanIsRunBySomebodyElse(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := openFirst(t)
	plan, err := w.PlanMigration(t.Context())
	must(t, err)
	for _, statement := range plan {
		must(t, w.conn.Exec(t.Context(), statement))
	}
	for _, s := range catalog.All() {
		for _, table := range tablesWithHash(s) {
			if got := text(t, w, "SELECT countIf(_hash != "+storedHash(s)+") FROM "+table); got[0] != "0" {
				t.Errorf("%s: %s rows have the hash of the first version", table, got[0])
			}
		}
	}
	loader := openVersion(t, w, 0, unchanged)
	loader.migrator.wanted = nil
	if commands := loader.migrate(t); len(commands) > 0 {
		t.Errorf("%d statements are left, the first: %s", len(commands), commands[0])
	}
}

// A user who may not change the schema is told what to do.
func TestMigrateWithoutTheRight(t *testing.T) {
	t.Parallel()
	err := mayNot(fmt.Errorf("migrating: %w", &clickhouse.Exception{Code: 497, Message: "Not enough privileges"}))
	if !errors.Is(err, ErrSchemaOld) || !IsAuth(err) || !strings.Contains(err.Error(), "dealhouse migrate") {
		t.Errorf("%v", err)
	}
	if other := errors.New("other"); !errors.Is(mayNot(other), other) || errors.Is(mayNot(other), ErrSchemaOld) ||
		mayNot(nil) != nil {
		t.Error("other errors are changed")
	}
}
