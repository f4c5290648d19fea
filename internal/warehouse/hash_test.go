package warehouse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
)

// hashPage returns a page of a stream: a record with all fields, one with only its key, one with each field null, and
// one with the most extreme values.
func hashPage(s *catalog.Stream) string {
	extreme := map[catalog.Type]string{
		catalog.UUID: `"ffffffff-ffff-ffff-ffff-ffffffffffff"`, catalog.Text: `"\u0000 ' \\ \" ü \n"`, catalog.Label: `"ü'\\"`,
		catalog.Time: `"1900-01-01T00:00:00.001Z"`, catalog.Day: `"2149-06-06"`, catalog.Money: "-99999999999999.9999",
		catalog.Share: "-999999999.999999999", catalog.Quotient: "-999999999999.999999", catalog.Int: "-9223372036854775808",
		catalog.Bool: "false", catalog.TextList: `["", "a,b", "ü"]`, catalog.LabelList: `["", "DE"]`,
	}
	usual := map[catalog.Type]string{
		catalog.UUID: `"` + idC + `"`, catalog.Text: `"text"`, catalog.Label: `"EUR"`, catalog.Time: `"2026-01-02T03:04:05.678Z"`,
		catalog.Day: `"2026-01-02"`, catalog.Money: "112.45", catalog.Share: "0.05", catalog.Quotient: "1.5",
		catalog.Int: "7", catalog.Bool: "true", catalog.TextList: `["a", "b"]`, catalog.LabelList: `["DE", "FR"]`,
	}
	null := map[catalog.Type]string{}
	for t := range usual {
		null[t] = "null"
	}
	var records []string
	for i, values := range []map[catalog.Type]string{usual, {}, null, extreme} {
		fields := []string{fmt.Sprintf(`"unknown": %d`, i)}
		if s.DerivedKey {
			fields = append(fields, fmt.Sprintf(`"url":"https://shop.test/%d"`, i))
		}
		for _, f := range s.Fields {
			switch value := values[f.Type]; {
			case f.Key && f.Type == catalog.UUID:
				fields = append(fields, fmt.Sprintf(`"%s":"%d1111111-1111-4111-8111-111111111111"`, f.JSON, i))
			case f.Key:
				fields = append(fields, fmt.Sprintf(`"%s":%d`, f.JSON, i+1))
			case value != "" && f.JSON != "url":
				fields = append(fields, `"`+f.JSON+`":`+value)
			}
		}
		records = append(records, "{"+strings.Join(fields, ",")+"}")
	}
	return "[" + strings.Join(records, ",") + "]"
}

// TestStoredHash checks that the hash of a stored row can be computed from what is stored, whatever its fields hold.
func TestStoredHash(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	for _, s := range catalog.All() {
		load(t, w, s.Name, Whole, hashPage(s))
		for _, table := range tablesWithHash(s) {
			if got := text(t, w, "SELECT count(), countIf(_hash != "+storedHash(s)+"), uniqExact(_hash) FROM "+table); got[0] != "4 0 4" {
				t.Errorf("%s: rows, hashes that do not follow from the row, different hashes: %s", table, got[0])
			}
		}
	}
}

// tablesWithHash returns the tables that store the rows of a stream.
func tablesWithHash(s *catalog.Stream) []string {
	tables := []string{s.Name + "_latest"}
	if s.History {
		tables = append(tables, s.Name+"_versions")
	}
	return tables
}

// TestHashIsStable compares the hash of a row with the value that it has always had: if the engine computed it in
// another way, every row would look changed once.
func TestHashIsStable(t *testing.T) {
	t.Parallel()
	w := open(t)
	got := text(t, w, "SELECT hex("+hashOf([]string{"toUInt64(5)", "'text'", "toInt64(-7)", "''",
		"toUUID('" + idA + "')", "toUInt8(1)", "toUInt16(9)"})+")")
	if d := cmp.Diff([]string{"9E4178F4894AF5740BA5AB76003923FD"}, got); d != "" {
		t.Error(d)
	}
}

// earlierHash gives the tables of a stream the form of an earlier version: rows have another hash, and no
// table says which.
func earlierHash(t *testing.T, w *Warehouse, s *catalog.Stream) {
	t.Helper()
	const synced = " SETTINGS mutations_sync = 1"
	old := "sipHash128(" + strings.Join([]string{"_extra", keyNames(s)}, ", ") + ")"
	must(t, w.exec(t.Context(), "ALTER TABLE "+stagingTable(s)+" MODIFY COLUMN _hash FixedString(16) DEFAULT "+old))
	must(t, w.exec(t.Context(), "ALTER TABLE "+stagingTable(s)+" MATERIALIZE COLUMN _hash"+synced))
	for _, table := range append(tablesWithHash(s), stagingTable(s)) {
		must(t, w.exec(t.Context(), "ALTER TABLE "+table+" COMMENT COLUMN _hash "+quote("Hash of the content")))
		if table != stagingTable(s) {
			must(t, w.exec(t.Context(), "ALTER TABLE "+table+" UPDATE _hash = "+old+" WHERE true"+synced))
		}
	}
	if keys := keysTable(s); keys != "" {
		must(t, w.RebuildDerived(t.Context(), StreamID{"acme", s.Name}))
	}
}

// hashSteps returns the beginnings of the statements that give the rows of a stream another hash, in their order.
func hashSteps(s *catalog.Stream) []string {
	staging, latest, versions := "ALTER TABLE "+stagingTable(s)+" ", "ALTER TABLE "+s.Name+"_latest ", "ALTER TABLE "+s.Name+"_versions "
	steps := []string{staging + "MODIFY COLUMN _hash", staging + "MATERIALIZE COLUMN _hash", staging + "COMMENT COLUMN _hash"}
	if keysTable(s) != "" {
		steps = append(steps, strings.Split(forgetDerived(s), "\n")[0]+"\nSELECT account, stream, 'derived'")
	}
	return append(steps, versions+"UPDATE _hash", versions+"COMMENT COLUMN _hash", latest+"UPDATE _hash", latest+"COMMENT COLUMN _hash")
}

// TestMigrateHashes upgrades a warehouse whose rows have the hash of an earlier version, and that dies before and after
// each step. A run that had staged its rows continues, and nothing looks changed. In narrow samples it never dies, and
// migrates one stream.
func TestMigrateHashes(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	coupons, err := catalog.Find("coupons")
	must(t, err)
	streams := catalog.All()
	if !enginetest.Wide() {
		streams = []*catalog.Stream{catalog.Payouts()}
	}
	walks := map[string]Run{}
	for _, s := range streams {
		load(t, w, s.Name, Whole, hashPage(s))
		earlierHash(t, w, s)
		walks[s.Name] = begin(t, w, s.Name)
		stage(t, w, walks[s.Name], hashPage(s)) // with the earlier hash
		must(t, w.exec(t.Context(), "ALTER TABLE "+stagingTable(s)+" MATERIALIZE COLUMN _hash SETTINGS mutations_sync = 1"))
		must(t, w.Writer(walks[s.Name]).SaveCheckpoint(t.Context(), Checkpoint{RunID: walks[s.Name].ID})) // it goes on
	}
	if plan, err := w.PlanMigration(t.Context()); err != nil || len(plan) == 0 {
		t.Fatalf("nothing to do: %v", err)
	}
	views := oldViews(t, w)
	before := viewHashes(t, w, views)
	if enginetest.Wide() {
		for _, s := range []*catalog.Stream{coupons, catalog.Transactions()} {
			for _, at := range hashSteps(s) {
				dieMigrating(t, w, nil, at, false, views, before)
				dieMigrating(t, w, nil, at, true, views, before)
			}
		}
	}
	_, err = w.Migrate(t.Context())
	must(t, err)
	must(t, w.CheckSchema(t.Context()))
	if again, err := w.PlanMigration(t.Context()); err != nil || len(again) > 0 {
		t.Errorf("left to do: %q %v", again, err)
	}
	if d := cmp.Diff(before, viewHashes(t, w, views)); d != "" {
		t.Errorf("what the views show differs: %s", d)
	}
	for _, s := range streams {
		for _, table := range tablesWithHash(s) {
			if got := text(t, w, "SELECT countIf(_hash != "+storedHash(s)+") FROM "+table); got[0] != "0" {
				t.Errorf("%s: %s rows have another hash", table, got[0])
			}
		}
		if c := publish(t, w, walks[s.Name], Whole); c.Any() || c.Distinct != 4 {
			t.Errorf("%s: what was staged before the upgrade looks changed: %+v", s.Name, c)
		}
		if c := load(t, w, s.Name, Whole, hashPage(s)); c.Any() {
			t.Errorf("%s: the same page looks changed after the upgrade: %+v", s.Name, c)
		}
		if len(derivedTables(s)) > 0 {
			if wrong, err := w.CheckDerived(t.Context(), StreamID{"acme", s.Name}); err != nil || len(wrong) > 0 {
				t.Errorf("%s: not as if they were made anew: %v %v", s.Name, wrong, err)
			}
		}
	}
}

// TestMigrateHashesOfShards upgrades two shards, each of which has rows with the hash of an earlier version. For wide
// samples: TestMigrateHashes upgrades one database.
func TestMigrateHashesOfShards(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	coupons, err := catalog.Find("coupons")
	must(t, err)
	shards := []*Warehouse{open(t), open(t)}
	var databases []string
	for _, w := range shards {
		load(t, w, coupons.Name, Whole, hashPage(coupons))
		earlierHash(t, w, coupons)
		databases = append(databases, w.database)
	}
	must(t, shards[1].exec(t.Context(), "ALTER TABLE coupons_latest COMMENT COLUMN _hash "+quote(hashComment(coupons))+
		", UPDATE _hash = "+storedHash(coupons)+" WHERE true SETTINGS mutations_sync = 1")) // it died in the middle there
	w, err := Open(t.Context(), Options{DSN: enginetest.DSN(), Database: databases[0] + "_all", Shards: databases})
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	_, err = w.Migrate(t.Context())
	must(t, err, w.CheckSchema(t.Context()))
	for _, shard := range shards {
		for _, table := range tablesWithHash(coupons) {
			if got := text(t, shard, "SELECT count(), countIf(_hash != "+storedHash(coupons)+") FROM "+table); got[0] != "4 0" {
				t.Errorf("%s.%s: rows, and those with another hash: %s", shard.database, table, got[0])
			}
		}
	}
}
