package warehouse

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
)

// TestUnlisted leads a row that is in no list through its life: read by its address, listed, gone, and read again.
func TestUnlisted(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	const day1, day2 = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
	for name, first := range map[string]bool{"into an empty warehouse": true, "beside rows of a list": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			live, rows := uint64(0), ""
			if !first {
				load(t, w, "coupons", Whole, "["+coupon(idC, "c1", day1)+"]")
				live, rows = 1, "c1"
			}
			known := func(want ...string) {
				t.Helper()
				if d := cmp.Diff(want, text(t, w, "SELECT code, listed FROM coupons_all WHERE code != 'c1' ORDER BY id")); d != "" {
					t.Errorf("coupons_all: %s", d)
				}
			}
			views := func(want string) {
				t.Helper()
				for _, view := range []string{"coupons", "coupons_history"} {
					if got := text(t, w, "SELECT arrayStringConcat(arraySort(groupArray(code)), ' ') FROM "+view); got[0] != want {
						t.Errorf("%s shows %s, want %s", view, got[0], want)
					}
				}
			}
			got := load(t, w, "coupons", Unlisted, "["+coupon(idA, "a1", day2)+","+coupon(idB, "b1", day1)+"]")
			if d := cmp.Diff(Changes{Inserted: 2, Distinct: 2, Staged: 2, Live: live, First: first, Unlisted: true},
				got, anySum); d != "" {
				t.Errorf("read by address: %s", d)
			}
			known("a1 false", "b1 false")
			views(rows)
			if first && !enginetest.Wide() {
				return // from here on it is the same as with rows of a list
			}

			// A known row does not change, whatever its own address says later, whether it is live or gone.
			got = load(t, w, "coupons", Unlisted, "["+coupon(idA, "a9", "2027-01-01T00:00:00Z")+"]")
			if d := cmp.Diff(Changes{Unchanged: 1, Distinct: 1, Staged: 1, Ahead: 1, Live: live, Unlisted: true}, got, anySum); d != "" {
				t.Errorf("read by address again: %s", d)
			}
			known("a1 false", "b1 false")

			// A list has one of them, unchanged: it is live.
			page := "[" + coupon(idA, "a1", day1) + "," + coupon(idC, "c1", day1) + "]"
			got = load(t, w, "coupons", Whole, page)
			inserted := 2 - live
			if d := cmp.Diff(Changes{Inserted: inserted, Unchanged: live, Distinct: 2, Staged: 2, Live: live}, got, anySum); d != "" {
				t.Errorf("listed: %s", d)
			}
			known("a1 true", "b1 false")
			views("a1 c1")
			if got = load(t, w, "coupons", Unlisted, "["+coupon(idA, "a9", "2027-01-01T00:00:00Z")+"]"); got.Any() {
				t.Errorf("a live row was changed by its own address: %+v", got)
			}

			// The list drops it: the row stays among all rows, and the history ends.
			if got = load(t, w, "coupons", Whole, "["+coupon(idC, "c1", day1)+"]"); got.Deleted != 1 || got.Live != 2 {
				t.Errorf("dropped: %+v", got)
			}
			known("a1 false", "b1 false")
			if got := text(t, w, "SELECT code, valid_to IS NULL FROM coupons_history ORDER BY code"); !slices.Equal(got,
				[]string{"a1 0", "c1 1"}) {
				t.Errorf("history: %q", got)
			}
		})
	}
}

func TestUnknownReferences(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	transactions, err := catalog.Find("transactions")
	if err != nil {
		t.Fatal(err)
	}
	const retry = time.Hour
	unknown := func(limit int, streams ...string) []string {
		t.Helper()
		var to []*catalog.Stream
		for _, name := range streams {
			s, err := catalog.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			to = append(to, s)
		}
		found, err := w.UnknownReferences(t.Context(), "acme", transactions, to, retry, limit)
		if err != nil {
			t.Fatal(err)
		}
		keys := []string{}
		for _, r := range found {
			keys = append(keys, r.Stream[:1]+r.Key.String()[35:])
		}
		return keys
	}
	same := func(want string, got []string) {
		t.Helper()
		if d := cmp.Diff(want, fmt.Sprint(got)); d != "" {
			t.Error(d)
		}
	}
	id := func(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }
	sale := func(n int, member string, key int) string {
		return fmt.Sprintf(`{"id":%q,%q:%q,"updatedAt":"2026-01-01T00:00:%02dZ"}`, id(100+n), member, id(key), n)
	}
	load(t, w, "transactions", Part, "["+sale(1, "couponId", 1)+","+sale(2, "couponId", 2)+","+sale(3, "promotionId", 3)+
		","+sale(4, "couponId", 4)+
		","+sale(5, "cashbackOfferId", 5)+","+sale(6, "couponId", 4)+`,{"id":"`+id(107)+
		`","couponId":"none","updatedAt":"2026-01-01T00:00:07Z"}]`)
	all := []string{"promotions", "coupons", "cashback_offers"}
	same("[]", unknown(9, all...)) // no list was loaded yet

	for _, name := range all[:2] {
		r := begin(t, w, name)
		if err := w.SaveRun(t.Context(), RunRecord{Account: "acme", Stream: name, RunID: r.ID, Mode: "snapshot",
			StartedAt: r.StartedAt, Outcome: OutcomeSuccess}); err != nil {
			t.Fatal(err)
		}
	}
	same("[c4 p3 c2 c1]", unknown(9, all...))
	same("[c4 p3]", unknown(2, all...))
	same("[p3]", unknown(9, "promotions", "payouts"))
	same("[]", unknown(9))
	same("[]", unknown(0, all...))

	load(t, w, "coupons", Whole, "["+coupon(id(1), "c1", "2026-01-01T00:00:00Z")+"]")
	load(t, w, "coupons", Unlisted, "["+coupon(id(2), "c2", "2026-01-01T00:00:00Z")+"]")
	same("[c4 p3]", unknown(9, all...))

	// Keys that were not found are returned again, after all others, once that is long ago.
	coupons := begin(t, w, "coupons")
	if err := w.Writer(coupons).SaveMisses(t.Context(),
		[]Miss{{Key: uuid.MustParse(id(4)), Reason: MissNotFound}}); err != nil {
		t.Fatal(err)
	}
	same("[p3]", unknown(9, all...))
	ago := func(when string) {
		t.Helper()
		if err := w.exec(t.Context(), "TRUNCATE TABLE reference_misses_log"); err != nil {
			t.Fatal(err)
		}
		if err := w.exec(t.Context(), "INSERT INTO reference_misses_log SELECT 'acme', 'coupons', toUUID('"+id(4)+
			"'), 'not_found', now64(3) - INTERVAL "+when); err != nil {
			t.Fatal(err)
		}
	}
	ago("59 MINUTE")
	same("[p3]", unknown(9, all...))
	ago("61 MINUTE")
	same("[p3 c4]", unknown(9, all...))
	if got := text(t, w, "SELECT account, stream, reason FROM reference_misses"); !slices.Equal(got,
		[]string{"acme coupons not_found"}) {
		t.Errorf("%q", got)
	}
}

// TestReferencesAreNoSuccess checks that a run that read rows by their addresses does not count as one that
// read the list.
func TestReferencesAreNoSuccess(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	r := begin(t, w, "coupons")
	record := RunRecord{Account: "acme", Stream: "coupons", RunID: r.ID, Mode: "snapshot", StartedAt: r.StartedAt,
		FinishedAt: r.StartedAt, Outcome: OutcomeFailed, Error: "list"}
	if err := w.SaveRun(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	record.RunID, record.Mode, record.Outcome, record.Error = uuid.New(), ModeReferences, OutcomeSuccess, ""
	record.StartedAt = record.StartedAt.Add(time.Second)
	if err := w.SaveRun(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	if got := text(t, w, "SELECT last_success IS NULL, last_outcome FROM stream_freshness"); !slices.Equal(got,
		[]string{"1 failed"}) {
		t.Errorf("stream_freshness: %q", got)
	}
	days, err := w.ChangesByDay(t.Context(), StreamID{"acme", "coupons"}, 2)
	if err != nil || len(days) != 1 || days[0].Runs != 1 || days[0].Faults != 1 {
		t.Errorf("by day: %+v, %v", days, err)
	}
	status, err := w.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(status) != 1 || status[0].LastSuccess != nil && status[0].LastSuccess.Unix() > 0 ||
		status[0].LastError != "list" || status[0].Faults.Count != 1 {
		t.Errorf("%+v", status)
	}
}
