package warehouse

import (
	"fmt"
	"testing"

	"dealhouse/internal/enginetest"
)

// TestOneShardMore adds a shard to a warehouse with one, as deploy/SERVERS.md says. Accounts that have rows stay where
// they are and continue there; new ones go where their names lead. A worker that does not know the new shard has stored
// an account in both: the next start refuses that, and the procedure of the document repairs it.
func TestOneShardMore(t *testing.T) {
	enginetest.OnlyWide(t) // TestClusterOfShards loads into shards too
	t.Parallel()
	first, second := open(t), open(t)
	divided := func(databases ...string) (*Warehouse, error) {
		t.Helper()
		w, err := Open(t.Context(), Options{DSN: enginetest.DSN(), Database: first.database + "_all", Shards: databases})
		must(t, err)
		t.Cleanup(func() { must(t, w.Close()) })
		return w, w.learn(t.Context())
	}
	sync := func(w *Warehouse, account, code string) Changes {
		t.Helper()
		at := w.At(account)
		r := begin(t, at, "coupons")
		r.Account = account
		stage(t, at, r, "["+coupon(idA, code, day1)+"]")
		return publish(t, at, r, Whole)
	}
	var names []string // that lead to the second of two shards
	for i := 0; len(names) < 2; i++ {
		if name := fmt.Sprintf("account-%d", i); homeOf(name, 2) == 1 {
			names = append(names, name)
		}
	}
	old, fresh := names[0], names[1]

	before, err := divided(first.database)
	must(t, err)
	sync(before, old, "a")
	after, err := divided(first.database, second.database)
	must(t, err)
	if c := sync(after, old, "a"); c.Inserted != 0 || c.Unchanged != 1 {
		t.Errorf("an account that has rows was loaded anew: %+v", c)
	}
	sync(after, fresh, "b")
	wantRows(t, first, "SELECT account, code FROM coupons", old+" a")
	wantRows(t, second, "SELECT account, code FROM coupons", fresh+" b")

	sync(before, fresh, "b") // by a worker that was not restarted
	_, err = divided(first.database, second.database)
	if err == nil {
		t.Fatal("an account on two shards is not refused")
	}
	t.Log(err)
	for _, table := range text(t, first, "SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'account' AND table IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree')") {
		must(t, first.exec(t.Context(), "ALTER TABLE "+table+" DELETE WHERE account = '"+fresh+
			"' SETTINGS mutations_sync = 1"))
	}
	mended, err := divided(first.database, second.database)
	must(t, err)
	if mended.At(fresh).database != second.database {
		t.Errorf("%s lives in %s", fresh, mended.At(fresh).database)
	}
	sync(mended, fresh, "c")
	wantRows(t, second, "SELECT account, code FROM coupons", fresh+" c")
	wantRows(t, first, "SELECT account, code FROM coupons", old+" a")
}
