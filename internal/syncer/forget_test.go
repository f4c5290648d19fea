package syncer

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
	"dealhouse/internal/warehouse/warehousetest"
)

const forgottenUser = "anna.b@example.test"

// sold puts a transaction of a user upstream.
func (x *world) sold(t *testing.T, n int, user, data, more string) {
	t.Helper()
	record := fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d","status":"PENDING","updatedAt":%q,"soldAt":%[2]q,"cashback":1.5,"currencyCode":"EUR","passbackUid":%[3]q,"passbackData":%[4]q%[5]s}`,
		n, x.Now().Format(dealapi.TimeLayout), user, data, more)
	if err := x.Put("transactions", "acme", []byte(record)); err != nil {
		t.Fatal(err)
	}
}

func forget(t *testing.T, w *warehouse.Warehouse, job Job, user string) ForgetRecord {
	t.Helper()
	s, err := New(Options{Warehouse: w})
	if err != nil {
		t.Fatal(err)
	}
	record, err := s.Forget(t.Context(), job, user)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// TestForget removes a user from rows, versions, unknown fields, rejects and what other users' sales say of it. Nothing
// else changes, the certificates hold, and no later run, incremental, full or a retry, brings the user back.
func TestForget(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x, w := serve(t, pastWorld(-1, 50)), open(t)
	job := x.jobs(t, "acme", "transactions")[0]
	job.MaxRejectedRatio = 1
	load := func() warehouse.RunRecord { return syncAll(t, w, []Job{job})["acme/transactions"] }
	x.sold(t, 1, forgottenUser, "click 77 of "+forgottenUser, `,"newField":{"mail":"`+forgottenUser+`"}`)
	x.sold(t, 2, forgottenUser, "", `,"orderValue":"much"`)
	x.sold(t, 3, "bob", `{"friend":"`+forgottenUser+`"}`, "")
	x.sold(t, 4, "bob", "x"+forgottenUser, `,"other":1`)
	x.sold(t, 5, "joanna.b@example.test", "click 78", "") // as the user has, too
	if err := x.Put("transactions", "acme", []byte(`{"id":"no id","passbackUid":"`+forgottenUser+`"}`)); err != nil {
		t.Fatal(err)
	}
	load()
	x.Advance(time.Hour)
	x.sold(t, 1, forgottenUser, "click 78", "") // a version more
	load()
	const sums = "SELECT (count(), sum(cashback), groupBitXor(cityHash64(id, status, order_value, synced_at)), (SELECT count() FROM transactions_history)) FROM transactions"
	before, fresh := one(t, w, sums), one(t, w, "SELECT max(last_success) FROM stream_freshness WHERE stream = 'transactions'")

	dry := job
	dry.DryRun = true
	counted := forget(t, w, dry, forgottenUser).Traces
	if got := one(t, w, "SELECT count() FROM transactions WHERE passback_uid = '"+forgottenUser+"'"); got != "2" {
		t.Errorf("a dry run, and %s rows have the user", got)
	}
	done := forget(t, w, job, forgottenUser)
	if done.Traces != counted || done.Rows != 3 || done.Versions != 4 || done.Rejects == 0 || done.Mode != warehouse.ModeForget {
		t.Errorf("%+v, and the dry run %+v", done.Traces, counted)
	}
	if got := one(t, w, "SELECT groupArray(concat(passback_uid, '/', passback_data, '/', _extra)) FROM (SELECT * FROM transactions WHERE startsWith(toString(id), '00000000') ORDER BY id)"); got != `['//','//','bob//','bob/x`+forgottenUser+`/{"other":1}','joanna.b@example.test/click 78/']` {
		t.Errorf("the rows have %s", got)
	}
	if got := one(t, w, sums); got != before {
		t.Errorf("before %s, after %s", before, got)
	}
	if got := one(t, w, "SELECT max(last_success) FROM stream_freshness WHERE stream = 'transactions'"); got != fresh {
		t.Errorf("the stream looks fresher: %s, %s", got, fresh)
	}
	certified := func() {
		t.Helper()
		audits, err := w.AuditCertificates(t.Context(), func(warehouse.StreamID) bool { return true }, 5, nil)
		if err != nil || len(audits) != 1 || len(audits[0].Findings) > 0 || audits[0].Certificates < 3 {
			t.Errorf("%+v, %v", audits, err)
		}
	}
	certified()

	x.Advance(time.Hour)
	x.sold(t, 4, "bob", "", "")                                       // what only looks like the user goes, so that the search below finds nothing
	x.sold(t, 7, forgottenUser, "new", `,"more":"`+forgottenUser+`"`) // a new sale of the user
	load()
	full := job
	full.Full = true
	if r := syncAll(t, w, []Job{full})["acme/transactions"]; r.Changes.Any() || r.Changes.Unchanged != 6 {
		t.Errorf("a full run after that: %+v", r.Changes)
	}
	s, err := New(Options{Warehouse: w})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Retry(t.Context(), job, warehouse.RejectFilter{Account: "acme"}); err != nil {
		t.Error(err)
	}
	certified()
	for _, other := range []string{"x" + forgottenUser, "joanna.b@example.test"} {
		if again := forget(t, w, job, other); again.Rows != 1 || again.Versions != 1 {
			t.Errorf("%s: %+v", other, again.Traces)
		}
	}
	certified()
	wantNowhere(t, w, forgottenUser)
}

// TestForgetKilled ends a process after each statement with which it forgets. The next one does the rest, and the
// certificates hold.
func TestForgetKilled(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x, w := serve(t, pastWorld(-1, 20)), open(t)
	job := x.jobs(t, "acme", "transactions")[0]
	for n := range enginetest.Sample(3, 9) {
		user := fmt.Sprintf("user%d@example.test", n)
		x.sold(t, n, user, "", "")
		syncAll(t, w, []Job{job})
		x.Advance(time.Hour)
		x.sold(t, n, user, "again", "")
		syncAll(t, w, []Job{job})
		seam, writes := &seam{}, 0
		seam.set(func(_ context.Context, step string, after bool) error {
			if strings.HasPrefix(step, "SELECT") || strings.Contains(step, "lease") { // the stream is free at once
				return nil
			}
			if !after && writes > n {
				return errInjected
			}
			writes++
			return nil
		})
		dying := warehousetest.Again(t, w, warehouse.Options{NoRetry: true, Wrap: seam.wrap})
		s, err := New(Options{Warehouse: dying})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Forget(t.Context(), job, user)
		if n == 0 && err == nil {
			t.Error("nothing was interrupted")
		}
		forget(t, w, job, user)
		syncAll(t, w, []Job{job})
		audits, err := w.AuditCertificates(t.Context(), func(warehouse.StreamID) bool { return true }, 5, nil)
		if err != nil || len(audits) != 1 {
			t.Fatalf("%+v, %v", audits, err)
		}
		for _, f := range audits[0].Findings {
			if f.Kind != warehouse.FoundRestated {
				t.Errorf("ended at %d: %+v", n, f)
			}
		}
		wantNowhere(t, w, strings.TrimSuffix(user, ".test"))
	}
}

// TestForgetHashed forgets a user whose hash is stored, and whom a run would hash again.
func TestForgetHashed(t *testing.T) {
	t.Parallel()
	x, w := serve(t, pastWorld(-1, 20)), open(t)
	job := x.jobs(t, "acme", "transactions")[0]
	job.HashPrivate = []byte("key")
	x.sold(t, 1, forgottenUser, "", "")
	x.sold(t, 2, "bob", "", "")
	syncAll(t, w, []Job{job})
	if done := forget(t, w, job, forgottenUser); done.Rows != 1 || done.Versions != 1 {
		t.Errorf("%+v", done.Traces)
	}
	x.sold(t, 3, forgottenUser, "", "")
	job.Full = true
	if r := syncAll(t, w, []Job{job})["acme/transactions"]; r.Changes.Inserted != 1 || r.Changes.Updated != 0 {
		t.Errorf("%+v", r.Changes)
	}
	if got := one(t, w, "SELECT groupArray(passback_uid != '') FROM (SELECT passback_uid FROM transactions ORDER BY id)"); got != "[0,1,0]" {
		t.Errorf("who has a user: %s", got)
	}
}

// TestForgetNumber forgets a user whose name is a number: amounts that are equal to it are nobody's name, in what is
// not known and in what was rejected.
func TestForgetNumber(t *testing.T) {
	t.Parallel()
	for _, user := range []string{"4711", "7"} {
		x, w := serve(t, pastWorld(-1, 20)), open(t)
		job := x.jobs(t, "acme", "transactions")[0]
		job.MaxRejectedRatio = 1
		x.sold(t, 1, user, "x", "")
		x.sold(t, 2, "bob", "y", `,"points":`+user)
		for key, record := range map[string]string{
			"a": `"passbackUid":` + user, "b": `"passbackUid":"` + user + `"`, "c": `"passbackUid":"bob","cashback":` + user,
		} {
			if err := x.Put("transactions", "acme", []byte(`{"id":"no id `+key+`",`+record+`}`)); err != nil {
				t.Fatal(err)
			}
		}
		syncAll(t, w, []Job{job})
		if done := forget(t, w, job, user); done.Rows != 1 || done.Versions != 1 || done.Rejects != 2 {
			t.Errorf("%s: %+v", user, done.Traces)
		}
		if got := one(t, w, "SELECT (groupArray(concat(passback_uid, passback_data, _extra)), (SELECT groupArray(raw) FROM rejects_log WHERE position(raw, 'bob') > 0)) FROM (SELECT * FROM transactions ORDER BY id)"); got != `(['','boby{"points":`+user+`}'],['{"id":"no id c","passbackUid":"bob","cashback":`+user+`}'])` {
			t.Errorf("%s: what is left: %s", user, got)
		}
	}
}
