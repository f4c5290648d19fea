package syncer

import (
	"fmt"
	"strings"
	"testing"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/warehouse"
)

// TestPrivateNowhere loads transactions whose users are hidden, with a record that cannot be loaded, a value that does
// not fit and unknown fields that name one. No text of any table has the user.
func TestPrivateNowhere(t *testing.T) {
	t.Parallel()
	x, w := serve(t, pastWorld(-1, 50)), open(t)
	const user = "anna@example.test"
	for i, more := range []string{
		`"orderValue":1`, `"orderValue":"much","passback_uid":"` + user + `"`, `"payoutId":"x"`, `"user":{"passbackUid":"` + user + `"}`,
	} {
		record := fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d","status":"PENDING","updatedAt":%q,"passbackUid":%q,"passbackData":"data of %s",%s}`,
			i, x.Now().Format(dealapi.TimeLayout), user, user, more)
		if err := x.Put("transactions", "acme", []byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Put("transactions", "acme", []byte(`{"id":"00000000-0000-4000-8000-000000000009","updatedAt":"never","passbackUid":"`+user+`"}`)); err != nil {
		t.Fatal(err)
	}
	job := x.jobs(t, "acme", "transactions")[0]
	job.MaxRejectedRatio, job.HashPrivate = 1, []byte("key")
	if r := syncAll(t, w, []Job{job})["acme/transactions"]; r.Changes.Inserted != 5 || r.Totals.Rejected == 0 {
		t.Errorf("%+v %+v", r.Changes, r.Totals)
	}
	if n := one(t, w, "SELECT count() FROM transactions WHERE passback_uid = concat('hmac:', lower(hex(HMAC('sha256', '"+user+"', 'key'))))"); n != "5" {
		t.Errorf("%s rows have the hash that a join would look for", n)
	}
	wantNowhere(t, w, user, "anna")
}

// wantNowhere wants no text of any table to have one of the words.
func wantNowhere(t *testing.T, w *warehouse.Warehouse, words ...string) {
	t.Helper()
	for _, c := range strings.Fields(one(t, w, `SELECT arrayStringConcat(groupArray(concat(table, '.', name)), ' ') FROM system.columns
WHERE database = currentDatabase() AND type LIKE '%String%' AND table IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree')`)) {
		table, column, _ := strings.Cut(c, ".")
		for _, word := range words {
			if n := one(t, w, fmt.Sprintf("SELECT count() FROM %s WHERE position(toString(%s), '%s') > 0", table, column, word)); n != "0" {
				t.Errorf("%s has %q in %s rows", c, word, n)
			}
		}
	}
}
