package warehouse

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
)

// Versions of deals that were replaced long ago are removed, and no moment since then looks different: not the list of
// that moment, not a version that was valid then, and not the time since which it was. Other histories stay complete.
// For wide samples: TestRetire lets versions go, TestDealsActive reads the past.
func TestRetireDealVersions(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	fillVersions(t, w, 60, 30)
	const days, keep = 100, 40
	moments := func() (all [][]string) {
		for _, age := range []int{0, 1, 20, keep - 1} {
			all = append(all, text(t, w, fmt.Sprintf("SELECT concat(toString(id), ' ', code) AS listed FROM deals_active(at = '%s') ORDER BY listed", text(t, w, fmt.Sprintf("SELECT toString(now64(3) - toIntervalDay(%d))", age))[0])))
		}
		return append(all,
			text(t, w, fmt.Sprintf("SELECT toString((account, id, code, valid_from, valid_to)) AS v FROM coupons_history WHERE ifNull(valid_to > now64(3) - toIntervalDay(%d), true) ORDER BY v", keep-1)),
			text(t, w, "SELECT toString((account, id, argMax(tuple(code, _deleted), _version))) AS v FROM coupons_versions GROUP BY account, id ORDER BY v"),
			text(t, w, "SELECT toString((account, id, code, _version)) AS v FROM coupons_versions WHERE account = 'publishing' ORDER BY v"),
			text(t, w, "SELECT toString(id) FROM payouts_versions ORDER BY id"))
	}
	before := moments()
	for _, m := range before {
		if len(m) == 0 {
			t.Fatal("there is nothing to keep")
		}
	}
	count := func(where string) string {
		t.Helper()
		return text(t, w, "SELECT toString(count()) FROM coupons_versions WHERE "+where)[0]
	}
	all := count("true")
	removed, err := w.Retire(t.Context(), Retention{DealVersions: keep * 24 * time.Hour})
	must(t, err)
	if d := cmp.Diff(before, moments()); d != "" {
		t.Error(d)
	}
	if len(removed) != 1 || removed[0].Rows == 0 || all != fmt.Sprint(removed[0].Rows+uint64(atoi(t, count("true")))) {
		t.Errorf("removed %+v of %s, and %s are left", removed, all, count("true"))
	}
	// Of the old ones only those are left that are valid: equal ones, which are shown as one.
	left := text(t, w, fmt.Sprintf(`SELECT toString(id) FROM coupons_versions WHERE account = 'acme' AND synced_at < now64(3) - toIntervalDay(%d) GROUP BY id HAVING uniqExact(_hash, _deleted) > 1`, keep))
	if len(left) > 0 {
		t.Errorf("old versions are left that others had replaced: %q", left)
	}
	if names := dealHistories(); slices.ContainsFunc(names,
		func(s *catalog.Stream) bool { return s.Name == "transactions" || s.Name == "payouts" }) || len(names) != 3 {
		t.Errorf("these lose their past: %v", names)
	}
}

func atoi(t *testing.T, s string) (n int) {
	t.Helper()
	_, err := fmt.Sscan(s, &n)
	must(t, err)
	return n
}

// fillVersions writes versions of coupons over 100 days: some equal to those before them, some deletions. A stream that
// is being published has some, and so have payouts.
func fillVersions(t testing.TB, w *Warehouse, keys, versions int) {
	t.Helper()
	const insert = `INSERT INTO %s_versions (account, id, %s _version, _hash, _deleted, synced_at) SELECT '%s', %s, %s number + 1, sipHash128(cityHash64(number %% %[7]d, %[8]d + intDiv(number, %[7]d)) %% 3),
    cityHash64(number, 'x') %% 6 = 0, now64(3) - toIntervalHour(2400 - intDiv(2390 * intDiv(number, %[7]d), %[6]d)) FROM numbers(%[9]d)`
	for _, s := range []struct{ stream, account, columns, key, values string }{
		{"coupons", "acme", "code,", "toUUID(concat('00000000-0000-4000-8000-', leftPad(toString(number % " +
			fmt.Sprint(keys) + "), 12, '0')))", "toString(cityHash64(number % " + fmt.Sprint(keys) + ", 7 + intDiv(number, " +
			fmt.Sprint(keys) + ")) % 3),"},
		{"coupons", "publishing", "code,", "toUUID(concat('00000000-0000-4000-8000-', leftPad(toString(number % " +
			fmt.Sprint(keys) + "), 12, '0')))", "'x',"},
		{"payouts", "acme", "", "number % " + fmt.Sprint(keys), ""},
	} {
		must(t, w.conn.Exec(t.Context(), fmt.Sprintf(insert, s.stream, s.columns, s.account, s.key, s.values, versions, keys,
			7, keys*versions)))
	}
	must(t, w.conn.Exec(t.Context(), "INSERT INTO sync_state_log (account, stream, name, value, version) VALUES ('publishing', 'coupons', 'intent:x', '{}', 1)"))
}

// BenchmarkRetireDealVersions removes what may be removed in a day from a million versions.
func BenchmarkRetireDealVersions(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		w := open(b)
		fillVersions(b, w, 20_000, 25)
		before := cpu(b)
		b.StartTimer()
		removed, err := w.Retire(b.Context(), Retention{DealVersions: 30 * 24 * time.Hour})
		must(b, err)
		b.ReportMetric(float64((cpu(b) - before).Milliseconds()), "cpu-ms")
		b.ReportMetric(float64(removed[0].Rows), "versions")
	}
}
