package warehouse

import (
	"dealhouse/internal/enginetest"
	"fmt"
	"slices"
	"testing"
	"time"
)

// A field has vanished if nearly every record of a complete run had it and no record of a later one has it, and in
// no other case.
func TestVanishedFields(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	run := loadRecord(t, w, "coupons", "snapshot", Whole, "["+coupon(idA, "a", day1)+"]")
	for _, step := range []struct {
		when                string
		records, code, logo uint64
		scope               string
		want                []string
	}{
		{"first", 100, 100, 50, "", nil},
		{"one that was optional has none", 100, 90, 0, "", nil},
		{"a stream of a few records", 9, 0, 0, "", nil},
		{"the field is gone", 10, 0, 10, "", []string{"code"}},
		{"it stays gone", 100, 0, 89, "", []string{"code"}},
		{"few records, and it is back in one", 3, 1, 1, "", nil},
		{"gone again", 100, 0, 0, "", []string{"code"}},
		{"back, and optional", 100, 50, 95, "", nil},
		{"the optional one goes", 100, 0, 95, "", nil},
		{"both are usual", 100, 100, 100, "", nil},
		{"both are gone", 100, 0, 0, "", []string{"code", "logo"}},
		{"another scope", 100, 0, 0, "hostname=a.example", nil},
		{"and back", 100, 0, 0, "", nil},
	} {
		run.Scope, run.Carried = step.scope, &Carried{Records: step.records, Counted: step.records,
			Fields: map[string]uint64{"code": step.code, "logo": step.logo}}
		checks, err := w.CheckQuality(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(checks, func(c Check) bool { return c.Name == CheckFields })
		if i < 0 || checks[i].OK != (step.want == nil) || checks[i].Found != uint64(len(step.want)) {
			t.Errorf("%s: %+v", step.when, checks)
		}
		wantRows(t, w, "SELECT field FROM vanished_fields ORDER BY field", step.want...)
	}
	run.Carried = nil // an incomplete run says nothing about it
	checks, err := w.CheckQuality(t.Context(), run)
	if err != nil || slices.ContainsFunc(checks, func(c Check) bool { return c.Name == CheckFields }) {
		t.Errorf("%+v, %v", checks, err)
	}
}

// A vanished field is reported for two weeks, and listed for as long as it is gone. A field that this version does not
// know, since another version recorded it, has not vanished.
func TestVanishedLongAgo(t *testing.T) {
	t.Parallel()
	w := open(t)
	run := loadRecord(t, w, "coupons", "snapshot", Whole, "["+coupon(idA, "a", day1)+"]")
	insert := func(field string, age time.Duration) {
		t.Helper()
		err := w.exec(t.Context(), "INSERT INTO field_presence_log (account, stream, field, scope, usual, missing_since, noted_at) SELECT "+
			quote(run.Account)+", 'coupons', "+quote(field)+", '', true, now64(3) - toIntervalSecond("+
			fmt.Sprint(int(age.Seconds()))+"), now64(6) - toIntervalHour(1)")
		if err != nil {
			t.Fatal(err)
		}
	}
	insert("code", vanishedFor+time.Hour)
	insert("logo", vanishedFor-time.Hour)
	insert("renamed", time.Hour)
	run.Carried = &Carried{Records: 100, Counted: 100, Fields: map[string]uint64{"code": 0, "logo": 0}}
	wantBroken(t, w, run, CheckFields+" 1/0")
	wantRows(t, w, "SELECT field FROM vanished_fields ORDER BY field", "code", "logo")
}
