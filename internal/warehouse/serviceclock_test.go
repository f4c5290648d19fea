package warehouse

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/enginetest"
)

// lookedAt records a run of transactions that succeeded, with the service's time at its start.
func lookedAt(t *testing.T, w *Warehouse, mode string, server time.Time) {
	t.Helper()
	now, err := w.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run := RunRecord{Account: "acme", Stream: "transactions", RunID: uuid.New(), Mode: mode, StartedAt: now,
		FinishedAt: now, Outcome: OutcomeSuccess, ServerTime: server}
	if err := w.SaveRun(t.Context(), run); err != nil {
		t.Fatal(err)
	}
}

// TestServiceClock measures ages in an account in which nothing has happened for long: runs that found nothing still
// tell the time of the service.
func TestServiceClock(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	w := open(t)
	sale := time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC) // as transaction has it
	load(t, w, "transactions", Part, "["+transaction(idA, "PENDING", "1", day1, "")+","+
		transaction(idB, "PENDING", "1", day1, `,"soldAt":"2200-01-01T00:00:00Z"`)+"]")
	const ages = "SELECT ifNull(toString(age_seconds / 86400), '-') FROM payout_unpaid ORDER BY id"
	wantRows(t, w, ages, "-", "-") // no successful run is known
	if err := w.saveStates(t.Context(), "acme", "transactions", watermarkRow(sale.AddDate(0, 0, 2))); err != nil {
		t.Fatal(err)
	}
	wantRows(t, w, ages, "2", "0")
	for day := 10; day <= 130; day += 60 {
		lookedAt(t, w, "incremental", sale.AddDate(0, 0, day))
		wantRows(t, w, ages, fmt.Sprint(day), "0")
	}
	// A backfill of old sales says nothing about later changes, nor does a retry.
	lookedAt(t, w, "backfill", sale.AddDate(0, 0, 500))
	lookedAt(t, w, ModeRetry, sale.AddDate(0, 0, 500))
	wantRows(t, w, ages, "130", "0")
	wantRows(t, w, "SELECT id FROM payout_overdue", idA)
	wantRows(t, w, "SELECT month, median_days_pending, max_days_pending FROM confirmation_funnel ORDER BY month",
		"2026-01-01 130 130", "2200-01-01 0 0")
	overdue, err := w.PayoutOverdue(t.Context(), PayoutFilter{}, 100*24*time.Hour)
	if err != nil || len(overdue) != 1 || overdue[0].Transactions != 1 {
		t.Errorf("%+v, %v", overdue, err)
	}
	// A watermark that is newer counts.
	if err := w.saveStates(t.Context(), "acme", "transactions", watermarkRow(sale.AddDate(0, 0, 140))); err != nil {
		t.Fatal(err)
	}
	wantRows(t, w, ages, "140", "0")
}

// TestAgesWithASkewedClock sets the clock of the warehouse a half month before or after that of the service. The ages
// must not show that. Without a wide sample, it is only before it. For wide samples: TestServiceClock measures ages,
// TestClockIsSet sets the clock.
func TestAgesWithASkewedClock(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	var groups []string
	for _, skew := range []int{0, -15, 15}[:enginetest.Sample(2, 3)] {
		w := open(t)
		now, err := w.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		service := now.Truncate(time.Second).AddDate(0, 0, skew)
		page := ""
		for i := range 40 {
			sold := service.Add(-time.Duration(i) * 6 * time.Hour).Format(time.RFC3339)
			page += fmt.Sprintf(`,{"id":"%08d-0000-4000-8000-000000000000","status":"PENDING","currencyCode":"C%d","soldAt":%q,"updatedAt":%q}`, i, i/4, sold, sold)
		}
		load(t, w, "transactions", Part, "["+page[1:]+"]")
		lookedAt(t, w, "incremental", service)
		groups = append(groups, fmt.Sprint(
			text(t, w, "SELECT max(age_seconds), min(age_seconds), avg(age_seconds), uniqExact(age_seconds) FROM payout_unpaid GROUP BY currency_code ORDER BY currency_code"),
			text(t, w, "SELECT currency_code, max(max_days_pending), min(median_days_pending) >= 0 FROM confirmation_funnel GROUP BY currency_code ORDER BY currency_code")))
	}
	if len(slices.Compact(slices.Clone(groups))) != 1 {
		t.Errorf("ages by the warehouse's clock:\n%s", strings.Join(groups, "\n"))
	}
}
