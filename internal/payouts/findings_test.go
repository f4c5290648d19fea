package payouts

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"dealhouse/internal/enginetest"
)

// TestFirstFindingsAreOneLine lets an account begin with several findings: they are one line, and later ones a line
// each. For wide samples: TestFindingsAreToldOnce logs findings.
func TestFirstFindingsAreOneLine(t *testing.T) {
	enginetest.OnlyWide(t)
	x := newWorld(t, scripted())
	sale := func(n string) string { return strings.Replace(saleOne, "1", n, 1) }
	x.put(t, sale("1"), "PENDING", "1", 7)
	x.put(t, sale("2"), "PENDING", "2", 8)
	x.put(t, sale("3"), "PENDING", "3", 0)
	x.Advance(200 * 24 * time.Hour)
	x.sync(false, "transactions", "payouts")
	after := func() (int, string) {
		t.Helper()
		var out bytes.Buffer
		_, fresh, err := AfterSync(t.Context(), x.w, slog.New(slog.NewTextHandler(&out, nil)), Filter{Account: "acme"})
		if err != nil {
			t.Fatal(err)
		}
		return len(fresh), out.String()
	}
	if n, out := after(); n != 3 || strings.Count(out, "\n") != 1 ||
		!strings.Contains(out, "3 findings: 2 orphan and 1 overdue; `dealhouse reconcile --account acme` lists them") {
		t.Errorf("%d findings:\n%s", n, out)
	}
	x.put(t, sale("4"), "PENDING", "4", 9)
	x.put(t, sale("5"), "PENDING", "5", 10)
	x.sync(false, "transactions", "payouts")
	if n, out := after(); n != 2 || strings.Count(out, "\n") != 2 || strings.Contains(out, "lists them") {
		t.Errorf("%d new findings:\n%s", n, out)
	}
}
