package warehouse

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/enginetest"
)

// sale returns a page with one transaction. Its updatedAt is now plus from.
func sale(status string, from time.Duration) string {
	at := time.Now().UTC().Add(from).Format(time.RFC3339Nano)
	return fmt.Sprintf(`[{"id":%q,"status":%q,"updatedAt":%q,"currencyCode":"EUR"}]`, idA, status, at)
}

const days = 24 * time.Hour

// TestUpstreamTimes reads a transaction repeatedly, while the service sets its updatedAt to various times. after is
// what readers see after each read. Without a wide sample, two of the histories are tried: with a date ahead, and with
// one that is set back.
func TestUpstreamTimes(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	type read struct {
		scope  Scope
		from   time.Duration // updatedAt of what is read, from now
		status string
		after  string
	}
	for name, reads := range map[string][]read{
		"dated ahead, corrected": {{Part, 30 * days, "PENDING", "PENDING"},
			{Part, -time.Hour, "CONFIRMED", "CONFIRMED"}, {Part, -time.Minute, "DECLINED", "DECLINED"}},
		"dated ahead, corrected in a full": {{Part, 30 * days, "PENDING", "PENDING"},
			{Whole, -time.Hour, "CONFIRMED", "CONFIRMED"}, {Part, -time.Minute, "DECLINED", "DECLINED"}},
		"dated ahead twice": {{Part, 30 * days, "PENDING", "PENDING"},
			{Part, 40 * days, "CONFIRMED", "CONFIRMED"}, {Part, 20 * days, "DECLINED", "DECLINED"}},
		"set back, repaired, changed": {{Part, -time.Hour, "PENDING", "PENDING"},
			{Part, -9 * time.Hour, "CONFIRMED", "PENDING"}, {Whole, -9 * time.Hour, "CONFIRMED", "CONFIRMED"},
			{Part, -8 * time.Hour, "DECLINED", "DECLINED"}},
		"set back, repaired, an older answer": {{Part, -time.Hour, "PENDING", "PENDING"},
			{Whole, -9 * time.Hour, "CONFIRMED", "CONFIRMED"}, {Part, -10 * time.Hour, "PENDING", "CONFIRMED"}},
		"an older answer": {{Part, -time.Hour, "CONFIRMED", "CONFIRMED"},
			{Part, -2 * time.Hour, "PENDING", "CONFIRMED"}, {Part, -time.Minute, "DECLINED", "DECLINED"}},
	} {
		if name != "set back, repaired, changed" && !enginetest.Wide() { // TestStaleReads has one that was dated ahead
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			for i, r := range reads {
				load(t, w, "transactions", r.scope, sale(r.status, r.from))
				if got := strings.Join(text(t, w, "SELECT status FROM transactions"), ","); got != r.after {
					t.Errorf("read %d, %s: readers see %s, want %s", i+1, r.status, got, r.after)
				}
			}
			if bad := text(t, w, "SELECT id FROM transactions_versions GROUP BY id, _version HAVING count() > 1"); len(bad) > 0 {
				t.Error("two versions of one row are equal")
			}
			current := text(t, w, "SELECT status FROM transactions_history WHERE valid_to IS NULL")
			if len(current) != 1 || current[0] != reads[len(reads)-1].after {
				t.Errorf("the history shows %v as current", current)
			}
		})
	}
}

// TestVersionsOfTheFuture heals rows that were stored before versions were capped. For wide samples: TestUpstreamTimes
// has rows that are dated ahead.
func TestVersionsOfTheFuture(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	load(t, w, "transactions", Part, sale("PENDING", -time.Hour))
	far := fmt.Sprint(time.Now().Add(30 * days).UnixMilli())
	must(t, w.exec(t.Context(), "INSERT INTO transactions_latest SELECT * REPLACE (bitOr(bitShiftLeft(toUInt128("+far+
		"), 64), bitAnd(_version, "+readPart+")) AS _version) FROM transactions_latest"))
	must(t, w.RebuildDerived(t.Context(), StreamID{"acme", "transactions"})) // as its migration does
	load(t, w, "transactions", Part, sale("CONFIRMED", -time.Minute))
	if got := text(t, w, "SELECT status FROM transactions"); got[0] != "CONFIRMED" {
		t.Error(got)
	}
}

// TestDatedAheadAndCorrectedInOneRun reads a row twice in one run, first with a date in the future. For wide samples:
// TestUpstreamTimes corrects dates in another run.
func TestDatedAheadAndCorrectedInOneRun(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	for _, statuses := range [][2]string{{"PENDING", "CONFIRMED"},
		{"CONFIRMED", "DECLINED"}} { // in the first load, and over a stored row
		load(t, w, "transactions", Part, sale(statuses[0], 30*days), sale(statuses[1], -time.Minute))
		if got := text(t, w, "SELECT status FROM transactions"); len(got) != 1 || got[0] != statuses[1] {
			t.Error(got)
		}
	}
}

// TestOlderIsCounted counts the rows of a partial read that are older than the stored ones, and only those. For wide
// samples: TestStaleReads has reads that are older.
func TestOlderIsCounted(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	w := open(t)
	load(t, w, "transactions", Part, sale("CONFIRMED", -time.Hour))
	got := load(t, w, "transactions", Part, sale("PENDING", -2*time.Hour))
	if got.Older != 1 || got.Unchanged != 0 || got.Any() {
		t.Errorf("%+v", got)
	}
	if n := text(t, w, "SELECT sum(older) FROM sync_runs"); n[0] != "1" {
		t.Errorf("sync_runs has %s", n[0])
	}
	if got := load(t, w, "coupons", Unlisted, "["+coupon(idA, "a", "2026-01-01T00:00:00Z")+"]"); got.Older != 0 {
		t.Errorf("%+v", got)
	}
	if got := load(t, w, "transactions", Whole, sale("PENDING", -2*time.Hour)); got.Older != 0 || got.Updated != 1 {
		t.Errorf("the full read: %+v", got)
	}
}
