package warehouse

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/decode"
	"dealhouse/internal/enginetest"
)

const (
	idA = "11111111-1111-4111-8111-111111111111"
	idB = "22222222-2222-4222-8222-222222222222"
	idC = "33333333-3333-4333-8333-333333333333"
)

// begin returns a run of the stream that starts now.
func begin(t testing.TB, w *Warehouse, stream string) Run {
	t.Helper()
	s, err := catalog.Find(stream)
	if err != nil {
		t.Fatal(err)
	}
	now, err := w.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return Run{ID: uuid.New(), Attempt: uuid.New(), Account: "acme", Stream: s, StartedAt: now}
}

// stage decodes pages and stages each as a batch. A page counts as read at the start of the run plus its number in
// microseconds.
func stage(t testing.TB, w *Warehouse, r Run, pages ...string) {
	t.Helper()
	d := decode.New(r.Stream)
	for i, page := range pages {
		b := decode.NewBatch(r.Stream)
		if err := d.Page(b, []byte(page), uint32(i+1), r.StartedAt.UnixMicro()+int64(i)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Writer(r).Stage(t.Context(), i, b); err != nil {
			t.Fatal(err)
		}
	}
}

// anySum compares changes without their sums.
var anySum = cmpopts.IgnoreFields(Changes{}, "Sum")

// staged counts the rows that the run has staged.
func staged(t testing.TB, w *Warehouse, r Run) Set {
	t.Helper()
	rows, err := w.Writer(r).CountStaged(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// publish merges what the run has staged.
func publish(t *testing.T, w *Warehouse, r Run, scope Scope) Changes {
	t.Helper()
	c, _ := publishInspected(t, w, r, scope)
	return c
}

// publishInspected does the same as publish, and returns what the rows say.
func publishInspected(t *testing.T, w *Warehouse, r Run, scope Scope) (Changes, Written) {
	t.Helper()
	c, err := w.Writer(r).Plan(t.Context(), scope, staged(t, w, r))
	if err != nil {
		t.Fatal(err)
	}
	now, err := w.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	prepared, err := w.Writer(r).Prepare(t.Context(), c, now)
	if err != nil {
		t.Fatal(err)
	}
	written, err := w.Writer(r).Inspect(t.Context(), c, prepared)
	if err != nil {
		t.Fatal(err)
	}
	record := RunRecord{Account: r.Account, Stream: r.Stream.Name, RunID: r.ID, StartedAt: r.StartedAt, FinishedAt: now,
		Outcome: OutcomeSuccess, Changes: c}
	lease, err := w.Acquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if err := w.Writer(r).refreshDerived(t.Context(), lease); err != nil { // as Recover does
		t.Fatal(err)
	}
	if err := w.Writer(r).Publish(t.Context(), lease,
		Intent{RunID: r.ID, MergedAt: now, Record: record, Prepared: prepared}); err != nil {
		t.Fatal(err)
	}
	return c, written
}

func load(t *testing.T, w *Warehouse, stream string, scope Scope, pages ...string) Changes {
	t.Helper()
	r := begin(t, w, stream)
	stage(t, w, r, pages...)
	return publish(t, w, r, scope)
}

func coupon(id, code, updatedAt string) string {
	return fmt.Sprintf(`{"id":%q,"code":%q,"updatedAt":%q,"endDate":"2026-05-01T00:00:00Z"}`, id, code, updatedAt)
}

func TestSnapshotMerge(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	const day1, day2 = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
	codes := func() []string { return text(t, w, "SELECT code FROM coupons ORDER BY id") }

	got := load(t, w, "coupons", Whole, "["+coupon(idA, "a1", day1)+","+coupon(idB, "b1", day1)+"]")
	if d := cmp.Diff(Changes{Inserted: 2, Distinct: 2, Staged: 2, First: true}, got, anySum); d != "" {
		t.Errorf("first load: %s", d)
	}
	got = load(t, w, "coupons", Whole, "["+coupon(idA, "a1", day1)+"]", "["+coupon(idB, "b1", day1)+"]")
	if d := cmp.Diff(Changes{Unchanged: 2, Distinct: 2, Live: 2, Staged: 2, Same: true}, got, anySum); d != "" {
		t.Errorf("nothing changed: %s", d)
	}
	// A changed, B gone, C new; A also comes as an older version on a later page, which must lose.
	got = load(t, w, "coupons", Whole, "["+coupon(idA, "a2", day2)+"]",
		"["+coupon(idC, "c1", day1)+","+coupon(idA, "a1", day1)+"]")
	if d := cmp.Diff(Changes{Inserted: 1, Updated: 1, Deleted: 1, Distinct: 2, Live: 2, Staged: 3}, got, anySum); d != "" {
		t.Errorf("changes: %s", d)
	}
	if d := cmp.Diff([]string{"a2", "c1"}, codes()); d != "" {
		t.Error(d)
	}
	// B comes back.
	got = load(t, w, "coupons", Whole, "["+coupon(idA, "a2", day2)+","+coupon(idB, "b1", day1)+","+coupon(idC, "c1", day1)+
		"]")
	if d := cmp.Diff(Changes{Inserted: 1, Unchanged: 2, Distinct: 3, Live: 2, Staged: 3}, got, anySum); d != "" {
		t.Errorf("return: %s", d)
	}
	if d := cmp.Diff([]string{"a2", "b1", "c1"}, codes()); d != "" {
		t.Error(d)
	}
	want := []string{"a1 1 1", "a2 0 1", "b1 1 1", "b1 0 1", "c1 0 1"}
	if d := cmp.Diff(want, text(t, w, "SELECT code, valid_to IS NOT NULL, ifNull(valid_to > valid_from, 1) FROM coupons_history ORDER BY id, valid_from")); d != "" {
		t.Errorf("history: %s", d)
	}
	for _, table := range []string{"coupons_staging"} {
		if n := text(t, w, "SELECT count() FROM "+table); n[0] != "0" {
			t.Errorf("%s rows are left in %s", n[0], table)
		}
	}
	if left := text(t, w, "SELECT name FROM system.tables WHERE database = currentDatabase() AND match(name, '_(delta|changes|changed|moves)_[0-9a-f]{32}')"); len(left) > 0 {
		t.Errorf("tables left behind: %v", left)
	}
}

func TestEqualUpdatedAtLaterReadWins(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	const day = "2026-01-01T00:00:00Z"
	load(t, w, "coupons", Whole, "["+coupon(idA, "first", day)+"]",
		"["+coupon(idA, "second", day)+","+coupon(idA, "third", day)+"]")
	if d := cmp.Diff([]string{"third"}, text(t, w, "SELECT code FROM coupons")); d != "" {
		t.Error(d)
	}
	if got := load(t, w, "coupons", Whole, "["+coupon(idA, "fourth", day)+"]"); got.Updated != 1 {
		t.Errorf("%+v", got)
	}
}

func TestUnusableUpdatedAtDoesNotBlockTheRow(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	load(t, w, "coupons", Whole, "["+coupon(idA, "a", "2026-01-01T00:00:00Z")+"]")
	if got := load(t, w, "coupons", Whole, "["+coupon(idA, "b", "soon")+"]"); got.Updated != 1 {
		t.Errorf("%+v", got)
	}
	if got := load(t, w, "coupons", Whole, "["+coupon(idA, "b", "soon")+"]"); got.Unchanged != 1 {
		t.Errorf("%+v", got)
	}
	if d := cmp.Diff([]string{"b 1"}, text(t, w, "SELECT code, updated_at IS NULL FROM coupons")); d != "" {
		t.Error(d)
	}
	if got := load(t, w, "coupons", Whole, "["+coupon(idA, "c", "2026-01-01T00:00:00.001Z")+"]"); got.Updated != 1 {
		t.Errorf("%+v", got)
	}
}

func TestPartDeletesNothing(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	page := func(id, value string) string {
		return fmt.Sprintf(`[{"id":%q,"orderValue":%s,"updatedAt":"2026-01-01T00:00:00Z","currencyCode":"EUR"}]`, id, value)
	}
	load(t, w, "transactions", Part, page(idA, "1"), page(idB, "99999999999999.9999"))
	got := load(t, w, "transactions", Part, page(idB, "5e-3"))
	if d := cmp.Diff(Changes{Updated: 1, Distinct: 1, Live: 2, Staged: 1}, got, anySum); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"1", "0.005"}, text(t, w, "SELECT order_value FROM transactions ORDER BY id")); d != "" {
		t.Error(d)
	}
}

func TestRowsLoadedMeanwhileAreNotDeleted(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	const day = "2026-01-01T00:00:00Z"
	load(t, w, "coupons", Whole, "["+coupon(idA, "a", day)+"]")
	slow := begin(t, w, "coupons") // it reads before B exists, and publishes after another run has loaded it
	load(t, w, "coupons", Whole, "["+coupon(idA, "a", day)+","+coupon(idB, "b", day)+"]")
	stage(t, w, slow, "["+coupon(idA, "a", day)+"]")
	if got := publish(t, w, slow, Whole); got.Deleted != 0 {
		t.Errorf("%+v", got)
	}
}

func TestAccountsDoNotMix(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	for _, account := range []string{"acme", `o'brien\`} {
		r := begin(t, w, "payouts")
		r.Account = account
		stage(t, w, r, `[{"id":1,"totalGmv":1.5,"aov":0.1234567}]`)
		if got := publish(t, w, r, Whole); got.Inserted != 1 || got.Deleted != 0 {
			t.Errorf("%s: %+v", account, got)
		}
	}
	if d := cmp.Diff([]string{"acme 1.5 0.123457", `o'brien\ 1.5 0.123457`},
		text(t, w, "SELECT account, total_gmv, aov FROM payouts ORDER BY account")); d != "" {
		t.Error(d)
	}
}

func TestProductPrices(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	product := func(history string) string {
		return `[{"url":"https://x/1","currencyCode":"EUR","imageUrls":["a","","ü"],"history":[` + history + `]}]`
	}
	load(t, w, "products", Whole, product(`{"yearMonthDay":"2026-01-01","price":1.5,"views":3},{"yearMonthDay":"2026-01-02","price":2}`))
	load(t, w, "products", Whole, product(`{"yearMonthDay":"2026-01-02","price":2},{"yearMonthDay":"2026-01-03","views":7}`))
	load(t, w, "products", Whole, product(`{"yearMonthDay":"2026-01-02","price":2,"views":9},{"yearMonthDay":"2026-01-03","views":7}`))
	want := []string{"2026-01-01 1.5 3 EUR", "2026-01-02 2 9 EUR", "2026-01-03 \u2400 7 EUR"}
	got := text(t, w, "SELECT day, ifNull(toString(price), '\u2400'), views, currency_code FROM product_prices ORDER BY day")
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if n := text(t, w, "SELECT count() FROM product_prices_latest"); n[0] != "4" {
		t.Errorf("%s price rows are stored: unchanged days were written again", n[0])
	}
	if d := cmp.Diff([]string{"['a','','ü'] url"},
		text(t, w, "SELECT image_urls, product_key_rule FROM products")); d != "" {
		t.Error(d)
	}
}
