package warehouse

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
	"dealhouse/schema"
)

// openPublic gives the test a migrated database, and a database with its views.
func openPublic(t *testing.T) (w *Warehouse, views string) {
	t.Helper()
	w = open(t)
	views = w.database + "_public"
	w.given.ViewsDatabase = views
	if err := w.CheckSchema(t.Context()); !errors.Is(err, ErrSchemaOld) {
		t.Fatalf("the views are not there, and the check says %v", err)
	}
	t.Cleanup(func() {
		for _, database := range []string{views, withParameters(views)} {
			must(t, w.admin.Exec(context.Background(), "DROP DATABASE IF EXISTS "+database+" SYNC"))
		}
	})
	migratePublic(t, w)
	return w, views
}

// migratePublic runs what is planned, and checks that nothing is left to do afterwards.
func migratePublic(t *testing.T, w *Warehouse) {
	t.Helper()
	planned, err := w.PlanMigration(t.Context())
	must(t, err)
	done, err := w.Migrate(t.Context())
	must(t, err)
	if d := cmp.Diff(planned, done); d != "" || len(done) == 0 {
		t.Errorf("%d statements were planned, others were run: %s", len(planned), d)
	}
	must(t, w.CheckSchema(t.Context()))
	if again, err := w.Migrate(t.Context()); err != nil || len(again) > 0 {
		t.Errorf("a second migration runs %q: %v", again, err)
	}
}

// TestPublicViews queries the database of views: it has each view for people and nothing else, with its columns and
// comments, returns the rows of the warehouse whatever the current database is, and reads no more rows than the views
// of the warehouse.
func TestPublicViews(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w, views := openPublic(t)
	described := func(database, more string) []string {
		return text(t, w, "SELECT t.name, t.comment, t.engine, groupArray((c.name, c.type, c.comment)) FROM system.tables AS t LEFT JOIN "+
			"(SELECT * FROM system.columns WHERE database = {database:String} ORDER BY position) AS c ON c.table = t.name "+
			"WHERE t.database = {database:String} AND t.engine = 'View' AND t.name NOT IN ("+more+
			") GROUP BY ALL ORDER BY t.name", named("database", database))
	}
	listed := append(described(views, quote(publicMark)), described(withParameters(views), "''")...)
	slices.Sort(listed)
	if d := cmp.Diff(described(w.database, words(innerViews)), listed); d != "" {
		t.Errorf("the views are not those of the warehouse: %s", d)
	}
	wantRows(t, w, "SELECT count(), countIf(engine != 'View') FROM system.tables WHERE database = '"+views+"'", "50 0")
	wantRows(t, w, "SELECT name FROM system.tables WHERE database = '"+withParameters(views)+"' ORDER BY name", "cashback_offers_as_of",
		"coupons_as_of", "deals_active", "payouts_as_of", "promotions_as_of", "transactions_as_of", "transactions_by_passback_uid")
	// What tools ask of each view that they list: its columns, and whether it can be read.
	for _, name := range text(t, w, "SELECT name FROM system.tables WHERE database = '"+views+"'") {
		if n := text(t, w, "SELECT count() FROM system.columns WHERE database = '"+views+"' AND table = '"+name+"'"); n[0] == "0" {
			t.Errorf("%s has no columns that a tool can list", name)
		}
		must(t, w.exec(t.Context(), "SELECT TRUE AS _ FROM `"+views+"`.`"+name+"` WHERE 1 <> 1 LIMIT 0"))
	}

	load(t, w, "transactions", Whole, `[{"id":"00000000-0000-4000-8000-000000000001","soldAt":"2026-01-01T10:00:00Z","cashback":1.25,"status":"CONFIRMED","payoutId":1},`+
		`{"id":"00000000-0000-4000-8000-000000000002","soldAt":"2026-03-01T10:00:00Z","cashback":2}]`)
	load(t, w, "promotions", Whole, `[{"id":"00000000-0000-4000-8000-000000000003","startDate":"2026-01-01T00:00:00Z"}]`)
	elsewhere, err := Open(t.Context(), Options{DSN: w.given.DSN, Database: "default"})
	must(t, err)
	defer elsewhere.Close() //nolint:errcheck // the engine stays open
	wantRows(t, elsewhere, "SELECT id, cashback, status FROM "+views+".transactions WHERE sold_at < '2026-02-01'",
		"00000000-0000-4000-8000-000000000001 1.25 CONFIRMED")
	wantRows(t, elsewhere, "SELECT kind, id FROM "+withParameters(views)+".deals_active(at = '2100-01-01 00:00:00')",
		"promotion 00000000-0000-4000-8000-000000000003")
	wantRows(t, elsewhere, "SELECT count() FROM "+withParameters(views)+".deals_active(at = '2000-01-01 00:00:00')", "0")
	wantRows(t, elsewhere, "SELECT payout_id, id, state FROM "+views+".payout_transactions WHERE payout_id = 1",
		"1 00000000-0000-4000-8000-000000000001 same")

	for _, filter := range []string{"sold_at >= '2026-06-01'", "toDate(sold_at) = '2025-01-01'", "account = 'globex'"} {
		for _, view := range []string{"transactions", "transactions_enriched"} {
			read := func(database string) []string {
				return text(t, w, "SELECT sum(rows) FROM (EXPLAIN ESTIMATE SELECT sum(cashback) FROM "+database+"."+view+" WHERE "+
					filter+")")
			}
			if want, got := read(w.database), read(views); want[0] != got[0] {
				t.Errorf("%s where %s: %s rows are read, and %s without the database of views", view, filter, got, want)
			}
		}
	}
	wantRows(t, w, "SELECT sum(rows) FROM (EXPLAIN ESTIMATE SELECT sum(cashback) FROM "+views+".transactions)", "2")
	wantRows(t, w, "SELECT sum(rows) FROM (EXPLAIN ESTIMATE SELECT sum(cashback) FROM "+views+
		".transactions WHERE sold_at >= '2026-06-01')", "0")
	if err := w.exec(t.Context(), "SELECT * FROM "+views+
		".transactions FORMAT Null SETTINGS max_rows_to_read = 1"); err == nil {
		t.Error("a limit of who asks does not hold for what the view reads")
	}
}

// TestPublicViewsKeepUp changes the database of views, and checks what the next migration does: missing or older views
// are made, unwanted ones are dropped, and those of somebody else stay.
func TestPublicViewsKeepUp(t *testing.T) {
	enginetest.OnlyWide(t) // TestPublicViews makes the same views
	t.Parallel()
	w, views := openPublic(t)
	do := func(statements ...string) {
		t.Helper()
		for _, s := range statements {
			must(t, w.exec(t.Context(), s))
		}
	}
	files, generation, err := madeFor(w.dialect)
	must(t, err)
	names := func() []string {
		return text(t, w, "SELECT name FROM system.tables WHERE database = {views:String} ORDER BY name",
			named("views", views))
	}
	whole := names()

	do("DROP DATABASE "+views+" SYNC", "DROP DATABASE "+withParameters(views)+" SYNC") // as after a backup of the warehouse alone was restored
	migratePublic(t, w)

	do("CREATE VIEW "+views+".sync_state AS SELECT name FROM "+w.database+".sync_state",
		"CREATE VIEW "+views+".deals_active AS SELECT id FROM "+w.database+".deals_active(at = {at:DateTime64(3, 'UTC')})", // as it was
		"CREATE VIEW "+views+".mine AS SELECT id FROM "+w.database+".transactions",
		"DROP VIEW "+views+".coupons", createPublicMark(w.database, views, files, generation-1))
	migratePublic(t, w)
	want := append(slices.Clone(whole), "mine")
	slices.Sort(want)
	if d := cmp.Diff(want, names()); d != "" {
		t.Errorf("after an older version: %s", d)
	}

	do("DROP VIEW "+views+".coupons", createPublicMark(w.database, views, files, generation+1))
	if done, err := w.Migrate(t.Context()); err != nil || len(done) > 0 {
		t.Errorf("the views of a newer version are replaced: %q, %v", done, err)
	}

	do("CREATE TABLE "+views+".coupons (kept UInt8) ENGINE = MergeTree ORDER BY kept",
		createPublicMark(w.database, views, files-1, generation))
	_, err = w.Migrate(t.Context())
	if refused, ok := errors.AsType[*ServerError](err); !ok || !strings.Contains(refused.Problem, views+".coupons") {
		t.Errorf("a table that has the name of a view: %v", err)
	}
	wantRows(t, w, "SELECT count() FROM system.tables WHERE database = '"+views+
		"' AND name = 'coupons' AND engine = 'MergeTree'", "1")
	do("DROP TABLE " + views + ".coupons")
	migratePublic(t, w)

	w.given.ViewsDatabase, w.database = views, "another" // two warehouses cannot share one
	if _, err := (viewsDatabase{w}).pending(t.Context()); !isServerError(err) {
		t.Errorf("the views of another warehouse are replaced: %v", err)
	}
	w.database = strings.TrimSuffix(views, "_public")
}

func isServerError(err error) bool {
	_, ok := errors.AsType[*ServerError](err)
	return ok
}

// TestEveryViewIsPublic checks that each view of the files and of the catalog is found where people look, or is named
// among those that are not for them.
func TestEveryViewIsPublic(t *testing.T) {
	t.Parallel()
	public, err := publicViews()
	must(t, err)
	texts, err := schema.Views()
	must(t, err)
	for _, s := range splitStatements(strings.Join(texts, "\n")) {
		made := madeOrChanged.FindStringSubmatch(s)
		if made == nil || slices.Contains(innerViews, made[2]) {
			continue
		}
		if !slices.ContainsFunc(public, func(v publicView) bool { return v.name == made[2] }) {
			t.Errorf("%s is not made for people", made[2])
		}
	}
}
