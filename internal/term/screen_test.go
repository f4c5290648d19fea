package term

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func onScreen(t *testing.T, width int, columns []Column, rows [][]any) string {
	t.Helper()
	var b bytes.Buffer
	if err := Print(Table, Screen{&b, width}, columns, rows); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTablesFitTheTerminal(t *testing.T) {
	columns := []Column{{Name: "account"}, {Name: "stream"}, {Name: "rows", Right: true}, {Name: "watermark", Uncut: true, Minor: true},
		{Name: "outcome"}, {Name: "last error"}}
	rows := [][]any{}
	for _, stream := range []string{"promotions", "coupons", "cashback_offers", "transactions"} {
		rows = append(rows, []any{"a-rather-long-account-name", stream, 1234567, "2026-01-05 10:00:00", "failed",
			"the API refused the key of the account: correct api_key, or ask who runs the API"})
	}
	want := `account                   stream              rows  outcome
------------------------  ---------------  -------  -------
a-rather-long-account-n…  promotions       1234567  failed
    the API refused the key of the account: correct api_key, or ask who
    runs the API
`
	if got := onScreen(t, 72, columns, rows); !strings.HasPrefix(got, want) ||
		!strings.HasSuffix(got, "\n(not shown for lack of room: watermark; --wide shows all)\n") {
		t.Errorf("%s", got)
	}
	want = `account     a-rather-long-account-name
stream      promotions
rows        1234567
watermark   2026-01-05 10:00:00
outcome     failed
last error  the API refused the key of
            the account: correct
            api_key, or ask who runs the
            API
`
	if got := onScreen(t, 40, columns, rows[:1]); got != want {
		t.Errorf("one row:\n%s", got)
	}
	if got := onScreen(t, 0, columns, rows); !strings.Contains(got, "who runs the API\n") || strings.Contains(got, "not shown") {
		t.Errorf("a pipe gets\n%s", got)
	}
}

// TestRandomTablesOnScreens: no line is wider than the screen, no number is cut, and what is missing is named.
func TestRandomTablesOnScreens(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		width := 20 + random.IntN(200)
		columns := make([]Column, 1+random.IntN(30))
		for i := range columns {
			columns[i] = Column{Name: fmt.Sprintf("c%d", i), Right: random.IntN(3) == 0, Minor: random.IntN(4) == 0,
				Uncut: random.IntN(6) == 0, Optional: random.IntN(4) == 0}
		}
		rows := make([][]any, random.IntN(12))
		for r := range rows {
			for _, c := range columns {
				v := strings.Repeat("wörd ", random.IntN(9))
				if c.Right || c.Uncut {
					v = fmt.Sprint(random.IntN(1_000_000_000))
				}
				rows[r] = append(rows[r], v)
			}
		}
		got := onScreen(t, width, columns, rows)
		for line := range strings.Lines(got) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > width {
				t.Fatalf("%d columns, %d rows: a line of %d on a screen of %d:\n%s", len(columns), len(rows),
					utf8.RuneCountInString(line), width, got)
			}
		}
		for r, row := range rows {
			for i, v := range row {
				if c := columns[i]; (c.Right || c.Uncut) && !strings.Contains(got, v.(string)) && !strings.Contains(got, c.Name) {
					t.Fatalf("row %d: %s of %s is neither shown nor named:\n%s", r, v, c.Name, got)
				}
			}
		}
	}
}
