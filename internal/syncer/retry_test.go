package syncer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/decode"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/warehouse"
	"dealhouse/internal/warehouse/warehousetest"
)

// These tests play a newer version that reads what an older one rejected: their rejects say that a value could not
// be read, although it can.

// kept is a stream, with what a run of it has rejected.
type kept struct {
	w      *warehouse.Warehouse
	syncer *Syncer
	job    Job
	bodies map[string]string
}

// keep makes an API of one stream, whose answer is set with answer.
func keep(t *testing.T, stream string) *kept {
	t.Helper()
	s, err := catalog.Find(stream)
	if err != nil {
		t.Fatal(err)
	}
	k := &kept{w: open(t), bodies: map[string]string{}}
	k.job = NewJob("acme", s, newClient(t, "acme", respond(t, k.bodies), "key"))
	k.job.MaxDeleteRatio = 0.9
	k.syncer, err = New(Options{Warehouse: k.w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// load answers with the records and syncs.
func (k *kept) load(t *testing.T, records ...string) warehouse.RunRecord {
	t.Helper()
	k.bodies[k.job.Stream.Path] = `{"data":[` + strings.Join(records, ",") + `]}`
	r, err := k.syncer.Run(t.Context(), k.job)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// reject adds rejects to a run, with the time at which its rows were read.
func (k *kept) reject(t *testing.T, r warehouse.RunRecord, rejects ...decode.Reject) {
	t.Helper()
	read := r.StartedAt.UnixMicro() + 1
	if rows := one(t, k.w, "SELECT toUInt64(max(bitAnd(_version, toUInt128(18446744073709551615)))) FROM "+
		k.job.Stream.Name+"_latest WHERE _deleted = 0 AND _run_id = '"+r.RunID.String()+"'"); rows != "0" {
		if _, err := fmt.Sscan(rows, &read); err != nil {
			t.Fatal(err)
		}
	}
	for i := range rejects {
		rejects[i].Page, rejects[i].Fetched = 1, read
		if rejects[i].Reason == "" {
			rejects[i].Reason = decode.ReasonWrongType
		}
	}
	if err := k.w.Writer(warehouse.Run{ID: r.RunID, Account: k.job.Account, Stream: k.job.Stream}).Reject(t.Context(),
		rejects); err != nil {
		t.Fatal(err)
	}
}

// retry wants a retry to end with these counts.
func (k *kept) retry(t *testing.T, loaded, rejected, superseded int) RetryRecord {
	t.Helper()
	r, err := k.syncer.Retry(t.Context(), k.job, warehouse.RejectFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Loaded != loaded || r.Rejected != rejected || r.Superseded != superseded ||
		r.Tried != loaded+rejected+superseded || r.Outcome != warehouse.OutcomeSuccess {
		t.Errorf("%+v, want %d loaded, %d rejected, %d superseded", r, loaded, rejected, superseded)
	}
	return r
}

func (k *kept) wantRows(t *testing.T, columns string, want ...string) {
	t.Helper()
	got := one(t, k.w, "SELECT arrayStringConcat(arraySort(groupArray(concat("+columns+"))), '|') FROM "+k.job.Stream.Name)
	if d := cmp.Diff(strings.Join(want, "|"), got); d != "" {
		t.Error(d)
	}
}

func recordID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

func sale(n int, status, updatedAt, more string) string {
	return fmt.Sprintf(`{"id":%q,"status":%q,"updatedAt":%q%s}`, recordID(n), status, updatedAt, more)
}

const (
	day1 = "2026-01-01T00:00:00.000Z"
	day2 = "2026-01-02T00:00:00.000Z"
	day3 = "2026-01-03T00:00:00.000Z"
)

const statusOf = "substring(toString(id), -1), ' ', status, ' ', ifNull(toString(order_value), '-')"

func TestRetryTransactions(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	k := keep(t, "transactions")
	k.job.BatchRows = 1 // so that rows are staged while candidates are still read
	r := k.load(t,
		sale(1, "NEW", day2, ""), sale(2, "NEW", day1,
			`,"passbackData":"a\"}{,\u00e9","cashback":1.5,"soldAt":"`+day1+`","later":{"x":[1]}`),
		sale(3, "NEW", day1, `,"orderValue":12.34567`), sale(4, "NEW", day1, ""))
	k.reject(t, r,
		decode.Reject{Reason: decode.ReasonUnusableKey, Raw: sale(5, "LATE", day1, `,"orderValue":7`)}, // can be read now
		decode.Reject{Reason: decode.ReasonUnusableKey, Raw: sale(6, "LATE", day1, `,"orderValue":{}`)},
		decode.Reject{Reason: decode.ReasonMissingKey, Raw: `{"status":"still without a key"}`},
		decode.Reject{Reason: decode.ReasonUnusableKey, Raw: `not even JSON`},
		decode.Reject{Reason: decode.ReasonUnusableKey, Raw: sale(1, "OLD", day1, "")}, // older than what is there
		decode.Reject{Key: recordID(2), Field: "orderValue", Raw: `"19.99"`},           // can be read now
		decode.Reject{Key: recordID(2), Field: "couponId", Raw: `"still no UUID"`},
		decode.Reject{Key: recordID(2), Field: "noSuchField", Raw: `1`},
		decode.Reject{Key: recordID(4), Field: "orderValue", Raw: `1`}, // sent with two values: which is right?
		decode.Reject{Key: recordID(4), Field: "orderValue", Raw: `2`},
		decode.Reject{Key: recordID(9), Field: "orderValue", Raw: `1`}) // of a row that does not exist
	k.wantRows(t, statusOf, "1 NEW -", "2 NEW -", "3 NEW 12.3457", "4 NEW -")
	before := one(t, k.w, "SELECT tuple(* EXCEPT (order_value, synced_at)) FROM transactions WHERE id = '"+recordID(2)+"'")

	// A dry run counts the same and changes nothing.
	dry := k.job
	dry.DryRun = true
	if d, err := k.syncer.Retry(t.Context(), dry, warehouse.RejectFilter{}); err != nil || d.Loaded != 3 ||
		d.Tried != 12 || d.Outcome != warehouse.OutcomeDryRun {
		t.Errorf("%+v, %v", d, err)
	}
	k.wantRows(t, statusOf, "1 NEW -", "2 NEW -", "3 NEW 12.3457", "4 NEW -")
	if n := one(t, k.w, "SELECT (SELECT count() FROM transactions_staging) + (SELECT countIf(settled.state != '') FROM rejects_log) + (SELECT count() FROM sync_runs WHERE mode = 'retry')"); n != "0" {
		t.Errorf("a dry run left %s rows", n)
	}

	watermark := one(t, k.w, "SELECT value FROM sync_state WHERE name = 'watermark'")
	k.retry(t, 3, 7, 2)
	want := []string{"1 NEW -", "2 NEW 19.99", "3 NEW 12.3457", "4 NEW -", "5 LATE 7", "6 LATE -"}
	k.wantRows(t, statusOf, want...)
	if after := one(t, k.w, "SELECT tuple(* EXCEPT (order_value, synced_at)) FROM transactions WHERE id = '"+recordID(2)+
		"'"); after != before {
		t.Errorf("the row came back as\n%s\nit was\n%s", after, before)
	}
	history := one(t, k.w, "SELECT count() FROM transactions_versions")
	// What is still unreadable stays open: record 6's value and the other fields of 2 with their new versions.
	for range enginetest.Sample(1, 2) {
		r := k.retry(t, 0, 8, 0)
		if r.Changes.Any() {
			t.Errorf("%+v", r.Changes)
		}
	}
	k.wantRows(t, statusOf, want...)
	if n := one(t, k.w, "SELECT count() FROM transactions_versions"); n != history {
		t.Errorf("retrying again made %s versions of %s", n, history)
	}
	if got := one(t, k.w, "SELECT value FROM sync_state WHERE name = 'watermark'"); got != watermark {
		t.Errorf("the watermark went from %s to %s", watermark, got)
	}
	if got := one(t, k.w, "SELECT groupArray((mode, outcome, inserted, updated, rejected)) FROM (SELECT * FROM sync_runs WHERE mode = 'retry' ORDER BY started_at LIMIT 1)"); got != "[('retry','success',2,1,3)]" {
		t.Errorf("sync_runs: %s", got)
	}
	if got := one(t, k.w, "SELECT count() FROM stream_freshness WHERE last_success > (SELECT min(started_at) FROM sync_runs WHERE mode = 'retry')"); got != "0" {
		t.Error("a retry counts as a success of the stream")
	}
	// The service sends what it always had: the versions that the retry made have the same content.
	if r := k.load(t, sale(5, "LATE", day1, `,"orderValue":7`), sale(3, "NEW", day3, "")); r.Changes.Updated != 1 ||
		r.Changes.Inserted != 0 {
		t.Errorf("%+v", r.Changes)
	}
}

// What was read after a reject counts, whether it changed the record or no longer has it. For wide samples:
// TestUpstreamTimes of the warehouse has older answers.
func TestRetryNeverBringsBackTheOld(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	k := keep(t, "transactions")
	r := k.load(t, sale(1, "NEW", day1, ""), sale(2, "NEW", day1, ""))
	whole := decode.Reject{Reason: decode.ReasonUnusableKey, Raw: sale(3, "OLD", day1, "")}
	k.reject(t, r, whole, decode.Reject{Key: recordID(1), Field: "orderValue", Raw: `1`})
	k.load(t, sale(1, "PAID", day2, ""), sale(3, "PAID", day2, ""))
	k.retry(t, 0, 0, 2)
	k.wantRows(t, statusOf, "1 PAID -", "2 NEW -", "3 PAID -")

	// A later read of the whole stream that does not list it says that it is gone.
	r = k.load(t, sale(2, "PAID", day3, ""), sale(1, "PAID", day2, ""))
	k.reject(t, r, decode.Reject{Reason: decode.ReasonUnusableKey, Raw: sale(4, "GONE", day3, "")})
	k.job.Full = true
	k.load(t, sale(2, "PAID", day3, ""), sale(1, "PAID", day2, ""))
	k.retry(t, 0, 0, 0)
	k.wantRows(t, statusOf, "1 PAID -", "2 PAID -")
	if got := one(t, k.w, "SELECT groupArray(state) FROM rejected_records WHERE raw LIKE '%GONE%'"); got != "['superseded']" {
		t.Errorf("it is %s", got)
	}
}

const couponOf = "substring(toString(id), -1), ' ', code"

// For wide samples: TestRetryTransactions is the same for the stream that keeps state.
func TestRetrySnapshot(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	k := keep(t, "coupons")
	coupon := func(n int, code string) string {
		return fmt.Sprintf(`{"id":%q,"code":%q,"updatedAt":%q}`, recordID(n), code, day1)
	}
	first := k.load(t, coupon(1, "a"), coupon(2, "b"))
	k.reject(t, first, decode.Reject{Reason: decode.ReasonUnusableKey, Raw: coupon(3, "gone")})
	second := k.load(t, coupon(1, "a"))
	// What the last run rejected is listed: 2, which it therefore took for gone, and 4. What only an earlier run
	// rejected is not.
	k.reject(t, second,
		decode.Reject{Reason: decode.ReasonUnusableKey, Raw: coupon(2, "b")},
		decode.Reject{Reason: decode.ReasonUnusableKey, Raw: coupon(4, "d")},
		// The run found the row unchanged: it is still what the run made of the record.
		decode.Reject{Key: recordID(1), Field: "startDate", Raw: `"` + day2 + `"`})
	k.retry(t, 3, 0, 0)
	k.wantRows(t, couponOf, "1 a", "2 b", "4 d")
	if got := one(t, k.w, "SELECT start_date FROM coupons WHERE code = 'a'"); got != "2026-01-02 00:00:00.000" {
		t.Errorf("start_date %s", got)
	}
	k.retry(t, 0, 0, 0)

	// A run that was stopped by a guard has published nothing, nor has a retry of it.
	k.bodies[k.job.Stream.Path] = `{"data":[]}`
	var guard *GuardError
	third, err := k.syncer.Run(t.Context(), k.job)
	if !errors.As(err, &guard) {
		t.Fatal(err)
	}
	k.reject(t, third, decode.Reject{Reason: decode.ReasonUnusableKey, Raw: coupon(5, "e")})
	k.retry(t, 0, 0, 0)
	if got := one(t, k.w, "SELECT arraySort(groupArray((key, state))) FROM (SELECT if(key = '', extract(raw, 'code\":\"([^\"]*)'), key) AS key, state FROM rejected_records)"); got !=
		"[('"+recordID(1)+"','loaded'),('b','loaded'),('d','loaded'),('e','unpublished'),('gone','superseded')]" {
		t.Errorf("states %s", got)
	}
	k.load(t, coupon(1, "a"), coupon(2, "b"), coupon(4, "d"))
	if got := one(t, k.w, "SELECT groupUniqArray(state) FROM rejected_records WHERE run_id = '"+third.RunID.String()+
		"'"); got != "['superseded']" {
		t.Errorf("what the next run read again is %s", got)
	}
}

// Wherever a retry breaks off, the next one makes up for it. For wide samples: TestRetryTransactions retries,
// TestFaultMatrix has the faults.
func TestRetryAfterFaults(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	k := keep(t, "transactions")
	s := &seam{}
	w := warehousetest.Again(t, k.w, warehouse.Options{Wrap: s.wrap})
	breaking, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	faults := []struct {
		step  string
		after bool
	}{
		{"INSERT transactions_staging", true},
		{"INSERT sync_state_log intent", false}, {"INSERT sync_state_log intent", true},
		{"ALTER TABLE transactions_latest ATTACH", false},
		{"INSERT sync_state_log intent cleared", false},
		{"INSERT rejects_log settled", false},
	}
	if !enginetest.Wide() {
		faults = append(faults[2:3], faults[5:]...) // nothing is published, or all of it
	}
	var sales, want []string
	for n := range faults {
		sales = append(sales, sale(n+100, "NEW", day1, ""))
	}
	r := k.load(t, sales...)
	for n, fault := range faults {
		k.reject(t, r, decode.Reject{Reason: decode.ReasonUnusableKey, Raw: sale(n, "LATE", day1, "")},
			decode.Reject{Key: recordID(n + 100), Field: "orderValue", Raw: `5`})
		s.set(func(_ context.Context, at string, after bool) error {
			if at == fault.step && after == fault.after {
				return errInjected
			}
			return nil
		})
		if _, err := breaking.Retry(t.Context(), k.job, warehouse.RejectFilter{}); !errors.Is(err, errInjected) {
			t.Fatalf("%+v: %v", fault, err)
		}
		s.set(nil)
		if _, err := breaking.Retry(t.Context(), k.job, warehouse.RejectFilter{}); err != nil {
			t.Fatalf("after %+v: %v", fault, err)
		}
		want = append(want, fmt.Sprintf("%03d LATE -", n), fmt.Sprintf("%03d NEW 5", n+100))
		if open := one(t, k.w, "SELECT count() FROM rejected_records WHERE state = 'open'"); open != "0" {
			t.Errorf("after %+v: %s are open", fault, open)
		}
	}
	got := one(t, k.w, "SELECT arraySort(groupArray(concat(substring(toString(id), -3), ' ', status, ' ', ifNull(toString(order_value), '-')))) FROM transactions")
	for i, row := range want {
		want[i] = "'" + row + "'"
	}
	if d := cmp.Diff(want, strings.Split(strings.Trim(got, "[]"), ","),
		cmpopts.SortSlices(func(a, b string) bool { return a < b })); d != "" {
		t.Error(d)
	}
	if n := one(t, k.w, "SELECT count() FROM transactions_versions"); n != fmt.Sprint(len(want)+len(want)/2) {
		t.Errorf("%s versions", n)
	}
}

// A walk that is to be continued keeps its place beside a retry. For wide samples: it is about products alone.
func TestRetryBesideWalk(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	options := smallWorld()
	options.Settings.PageSize = 10
	x, w := serve(t, options), open(t)
	job := x.jobs(t, "acme", "products")[0]
	job.BatchRows = 20
	first := syncAll(t, w, []Job{job})["acme/products"]
	run := warehouse.Run{ID: first.RunID, Account: "acme", Stream: job.Stream}
	raw := `{"url":"https://x/rejected","price":3,"history":[{"yearMonthDay":"2026-01-01","price":3}]}`
	if err := w.Writer(run).Reject(t.Context(),
		[]decode.Reject{{Page: 1, Fetched: first.StartedAt.UnixMicro() + 1, Reason: decode.ReasonMissingKey,
			Raw: raw}}); err != nil {
		t.Fatal(err)
	}
	x.failAfter("/v2/products", 6)
	syncer, err := New(Options{Warehouse: w, Grace: patience})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := syncer.Run(t.Context(), job); err == nil {
		t.Fatal("the walk did not break")
	}
	if r, err := syncer.Retry(t.Context(), job, warehouse.RejectFilter{}); err != nil || r.Loaded != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if n := one(t, w, "SELECT count() FROM product_prices WHERE day = '2026-01-01' AND product_key = (SELECT product_key FROM products WHERE url = 'https://x/rejected')"); n != "1" {
		t.Errorf("%s prices", n)
	}
	x.SetFault(nil)
	x.ResetLog()
	last := syncAll(t, w, []Job{job})["acme/products"]
	if n := x.Requests("/v2/products"); n > 9 || last.Changes.Deleted != 1 {
		t.Errorf("%d of 11 pages were read again, %+v", n, last.Changes)
	}
}

// A field that is part of a product's key would make another product of it: that is left to the next walk. For wide
// samples: it is about products alone.
func TestRetryKeepsTheKey(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	k := keep(t, "products")
	r := k.load(t, `{"asin":"A","url":"https://x/1","price":1}`, `{"asin":"B"}`)
	key := one(t, k.w, "SELECT product_key FROM products WHERE asin = 'B'")
	k.reject(t, r, decode.Reject{Key: key, Field: "url", Raw: `"https://x/2"`})
	k.retry(t, 0, 1, 0)
	k.reject(t, r, decode.Reject{Key: key, Field: "price", Raw: `2`},
		decode.Reject{Key: key, Field: "history[0]", Raw: `{"yearMonthDay":"2026-01-01"}`})
	k.retry(t, 0, 3, 0)
	k.wantRows(t, "asin, ' ', url, ' ', ifNull(toString(price), '-')", "A https://x/1 1", "B  -")
}

// The filter chooses records, not fields of them. For wide samples: TestRetryTransactions loads what was kept.
func TestRetryFilter(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	k := keep(t, "transactions")
	r := k.load(t, sale(1, "NEW", day1, ""), sale(2, "NEW", day1, ""))
	k.reject(t, r,
		decode.Reject{Key: recordID(1), Field: "orderValue", Raw: `1`},
		decode.Reject{Key: recordID(1), Field: "cashback", Raw: `2`},
		decode.Reject{Key: recordID(2), Field: "cashback", Raw: `3`},
		decode.Reject{Reason: decode.ReasonUnusableKey, Raw: sale(3, "LATE", day1, "")})
	for _, test := range []struct {
		filter warehouse.RejectFilter
		loaded int
	}{
		{warehouse.RejectFilter{RunID: uuid.New()}, 0},
		{warehouse.RejectFilter{Since: time.Now().Add(time.Hour)}, 0},
		{warehouse.RejectFilter{Field: "orderValue"}, 2},
		{warehouse.RejectFilter{Reason: decode.ReasonUnusableKey, RunID: r.RunID}, 1},
		{warehouse.RejectFilter{}, 1},
	} {
		if got, err := k.syncer.Retry(t.Context(), k.job, test.filter); err != nil || got.Loaded != test.loaded ||
			got.Tried != test.loaded {
			t.Errorf("%+v: %+v, %v", test.filter, got, err)
		}
	}
}
