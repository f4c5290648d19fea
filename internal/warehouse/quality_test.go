package warehouse

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/enginetest"
)

// loadRecord loads pages and returns the record of the run, as a syncer makes it.
func loadRecord(t *testing.T, w *Warehouse, stream, mode string, scope Scope, pages ...string) RunRecord {
	t.Helper()
	return loadRecordAt(t, w, time.Time{}, stream, mode, scope, pages...)
}

// loadRecordAt does the same as loadRecord, at the given time of the service's clock.
func loadRecordAt(t *testing.T, w *Warehouse, serverTime time.Time, stream, mode string, scope Scope,
	pages ...string) RunRecord {
	t.Helper()
	r := begin(t, w, stream)
	r.ServerTime = serverTime
	stage(t, w, r, pages...)
	c, written := publishInspected(t, w, r, scope)
	now, err := w.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	record := RunRecord{Account: r.Account, Stream: stream, RunID: r.ID, Mode: mode, StartedAt: r.StartedAt,
		FinishedAt: now, Outcome: OutcomeSuccess,
		ServerTime: serverTime, Changes: c, Written: written}
	if err := w.SaveRun(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	return record
}

// oneOfMany matches what no detail may say: a 1 with a plural.
var oneOfMany = regexp.MustCompile(`\b1 [a-z]+s\b`)

// broken returns the checks that fail after the run, each with what it counted.
func broken(t *testing.T, w *Warehouse, run RunRecord) []string {
	t.Helper()
	checks, err := w.CheckQuality(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if len(checks) == 0 {
		t.Error("nothing was checked")
	}
	found := []string{}
	for _, c := range checks {
		if c.OK != (c.Detail == "") {
			t.Errorf("%+v", c)
		}
		if oneOfMany.MatchString(c.Detail) {
			t.Errorf("a plural of one: %s", c.Detail)
		}
		if !c.OK {
			found = append(found, fmt.Sprintf("%s %d/%d", c.Name, c.Found, c.Expected))
		}
	}
	recorded := text(t, w, "SELECT check || ' ' || toString(found) || '/' || toString(expected) FROM quality_checks WHERE run_id = {run:UUID} AND NOT ok ORDER BY indexOf("+
		stringArray([]string{CheckRowsMatch, CheckKeysUnique, CheckUpdatesNotFuture, CheckAmounts, CheckStatuses,
			CheckPayoutsKnown, CheckPrices, CheckFields})+", check)", named("run", run.RunID.String()))
	if d := cmp.Diff(found, append([]string{}, recorded...)); d != "" {
		t.Errorf("quality_checks has something else: %s", d)
	}
	return found
}

func wantBroken(t *testing.T, w *Warehouse, run RunRecord, want ...string) {
	t.Helper()
	if d := cmp.Diff(append([]string{}, want...), broken(t, w, run)); d != "" {
		t.Error(d)
	}
}

const day1, day2 = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"

// TestQualityOfRows damages what readers see without the worker: the checks must notice.
func TestQualityOfRows(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	wantBroken(t, w, loadRecord(t, w, "coupons", "snapshot", Whole,
		"["+coupon(idA, "a", day1)+","+coupon(idB, "b", day1)+"]"))
	run := loadRecord(t, w, "coupons", "snapshot", Whole, "["+coupon(idA, "a2", day2)+","+coupon(idB, "b", day1)+"]")
	wantBroken(t, w, run)

	// Someone replaces the view by one without FINAL: the changed row is there twice.
	definition := createView(begin(t, w, "coupons").Stream)
	if err := w.exec(t.Context(), strings.Replace(definition, " FINAL", "", 1)); err != nil {
		t.Fatal(err)
	}
	wantBroken(t, w, run, "rows_match 3/2", "keys_unique 1/0")
	if err := w.exec(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	wantBroken(t, w, run)

	// Rows get lost.
	if err := w.exec(t.Context(), "ALTER TABLE coupons_latest DELETE WHERE id = '"+idB+
		"' SETTINGS mutations_sync = 2"); err != nil {
		t.Fatal(err)
	}
	wantBroken(t, w, run, "rows_match 1/2")

	// What another run has published since does not count against this one.
	loadRecord(t, w, "coupons", "snapshot", Whole, "["+coupon(idC, "c", day1)+"]")
	checks, err := w.CheckQuality(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if c.Name == CheckRowsMatch {
			t.Errorf("%+v", c)
		}
	}
}

// TestQualityOfKeptRows checks that rows that a list leaves out and that are kept on purpose are not errors.
func TestQualityOfKeptRows(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	loadRecord(t, w, "coupons", "snapshot", Whole, "["+coupon(idA, "a", day1)+","+coupon(idB, "b", day1)+"]")
	run := loadRecord(t, w, "coupons", "snapshot", Part,
		"["+coupon(idA, "a", day1)+"]") // as if the delete of B was taken back
	run.Changes.Kept = 1
	wantBroken(t, w, run)
	run.Changes.Kept = 0
	wantBroken(t, w, run, "rows_match 2/1")
}

func transaction(id, status, cashback, updatedAt, more string) string {
	return fmt.Sprintf(`{"id":%q,"status":%q,"cashback":%s,"orderValue":10,"currencyCode":"EUR","clickedAt":"2026-01-01T00:00:00Z","soldAt":"2026-01-01T02:00:00Z","updatedAt":%q%s}`,
		id, status, cashback, updatedAt, more)
}

func TestQualityOfValues(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	now, err := w.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	soon := now.Add(30 * time.Minute).Format(time.RFC3339)
	wantBroken(t, w, loadRecord(t, w, "transactions", "incremental", Part, "["+
		transaction(idA, "PENDING", "0", soon, "")+","+transaction(idB, "DECLINED", "-3.5", day1, "")+"]"))

	late := now.Add(2 * time.Hour).Format(time.RFC3339)
	wrong := "[" + transaction(idA, "PENDING", "-0.0001", late, "") + "," + transaction(idB, "REVERSED", "1", day2, "") +
		"," + transaction(idC, "", "1", day2, "") + "]"
	wantBroken(t, w, loadRecord(t, w, "transactions", "incremental", Part, wrong), "updates_not_in_future 1/0",
		"amounts_not_negative 1/0", "statuses_known 2/0")
	// The next run writes nothing that is wrong.
	wantBroken(t, w, loadRecord(t, w, "transactions", "incremental", Part, wrong))
	if !enginetest.Wide() {
		return // the others are very similar
	}
	// The API's own time decides if it is known: 2026-01-01 was in the future once.
	for at, broken := range map[time.Time][]string{
		time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC): {"updates_not_in_future 3/0", "amounts_not_negative 1/0",
			"statuses_known 2/0"},
		now.Add(2 * time.Hour): {"amounts_not_negative 1/0", "statuses_known 2/0"},
	} {
		w := open(t)
		wantBroken(t, w, loadRecordAt(t, w, at, "transactions", "incremental", Part, wrong), broken...)
	}

	wantBroken(t, w, loadRecord(t, w, "payouts", "snapshot", Whole, `[{"id":1,"declinedCashback":-5,"totalCashback":5}]`))
	wantBroken(t, w, loadRecord(t, w, "payouts", "snapshot", Whole,
		`[{"id":1,"declinedCashback":-5,"totalCashback":5,"confirmedGmv":-1}]`), "amounts_not_negative 1/0")
}

// TestQualityOfPayoutReferences is for wide samples: TestQualityOfRows and TestQualityOfValues have other checks.
func TestQualityOfPayoutReferences(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	orphan := "[" + transaction(idA, "CONFIRMED", "1", day1, `,"payoutId":7`) + "," +
		transaction(idB, "CONFIRMED", "1", day1, `,"payoutId":8`) + "]"
	// Payouts are not loaded yet: the check cannot say anything.
	run := loadRecord(t, w, "transactions", "incremental", Part, orphan)
	wantBroken(t, w, run)
	payouts := loadRecord(t, w, "payouts", "snapshot", Whole, `[{"id":7}]`)
	wantBroken(t, w, payouts, "payouts_known 1/0")
	wantBroken(t, w, run, "payouts_known 1/0")
	// A sale that was put into a payout after the payouts were read is given time.
	wantBroken(t, w, loadRecord(t, w, "transactions", "incremental", Part,
		"["+transaction(idB, "CONFIRMED", "1", day2, `,"payoutId":9`)+"]"))
	wantBroken(t, w, loadRecord(t, w, "payouts", "snapshot", Whole, `[{"id":7},{"id":9}]`))
}

// TestQualityOfPrices is for wide samples: TestQualityOfRows and TestQualityOfValues have other checks.
func TestQualityOfPrices(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	now, err := w.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	product := func(price string) string {
		return fmt.Sprintf(`[{"url":"https://a.test","price":%s,"currencyCode":"EUR","history":[{"yearMonthDay":%q,"price":9.99,"views":1},{"yearMonthDay":"2026-01-01","price":5,"views":2}]}]`,
			price, now.Format(time.DateOnly))
	}
	run := loadRecord(t, w, "products", "walk", Whole, product("9.99"))
	run.ServerTime = now
	wantBroken(t, w, run)
	run = loadRecord(t, w, "products", "walk", Whole, product("9.98"))
	run.ServerTime = now
	wantBroken(t, w, run, "prices_agree 1/0")
	run.ServerTime = now.AddDate(0, 0, -3) // the history says nothing about this day
	wantBroken(t, w, run)
}
