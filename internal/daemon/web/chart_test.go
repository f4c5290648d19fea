package web

import (
	"strings"
	"testing"
	"time"

	"dealhouse/internal/warehouse"
)

// TestIncompleteRuns: incomplete runs are neither a success nor a failure, and not only their colour shows it.
func TestIncompleteRuns(t *testing.T) {
	t.Parallel()
	run := warehouse.RunRecord{Outcome: warehouse.OutcomeIncomplete, StartedAt: noon, FinishedAt: noon.Add(time.Second),
		Totals: warehouse.Totals{Read: 7}, Changes: warehouse.Changes{Kept: 1234}}
	b := newRunChart("x", []warehouse.RunRecord{run}, noon).Bars[0]
	if b.Kind != "late" || !b.Marked || !strings.Contains(b.Text, "incomplete, 7 rows") {
		t.Errorf("%+v", b)
	}
	if row := (&overview{now: noon}).runRow(run, false); row.Kind != "late" || row.Counts[4] != "1,234" {
		t.Errorf("%+v", row)
	}
	if j := newRunJSON(run); j.Waiting != 1234 || j.Outcome != "incomplete" {
		t.Errorf("%+v", j)
	}
	st := stands("coupons", time.Hour, faults("incomplete", time.Minute))
	var row streamRow
	row.note(&overview{now: noon}, &st)
	if row.Faults != "2 runs did not load everything, the first" {
		t.Errorf("%q", row.Faults)
	}
}

// A run that was killed, of which nobody knows when, has no length.
func TestKilledRuns(t *testing.T) {
	t.Parallel()
	killed := warehouse.RunRecord{Outcome: warehouse.OutcomeKilled, StartedAt: noon, Totals: warehouse.Totals{Read: 7}}
	later := noon.Add(72 * time.Hour)
	if b := newRunChart("x", []warehouse.RunRecord{killed}, later).Bars[0]; !strings.Contains(b.Text, "killed, 7 rows") ||
		strings.Contains(b.Text, " in ") {
		t.Errorf("%+v", b)
	}
	if row := (&overview{now: later}).runRow(killed, false); row.Took != "" || row.Kind != "bad" {
		t.Errorf("%+v", row)
	}
}

func TestRunChart(t *testing.T) {
	t.Parallel()
	if newRunChart("x", nil, noon) != nil {
		t.Error("no runs have a chart")
	}
	run := func(outcome string, rows uint64, took time.Duration) warehouse.RunRecord {
		r := warehouse.RunRecord{Outcome: outcome, StartedAt: noon, Totals: warehouse.Totals{Read: rows}}
		if outcome != warehouse.OutcomeRunning {
			r.FinishedAt = noon.Add(took)
		}
		return r
	}
	c := newRunChart("x", []warehouse.RunRecord{run("running", 0, 0), run("success", 10_000, time.Minute),
		run("failed", 0, time.Second), run("guarded", 2500, time.Second), run("stopped", 1, 0)}, noon.Add(time.Second))
	kinds, marks := "", 0
	for i, b := range c.Bars {
		kinds += b.Kind + " "
		if b.Marked {
			marks++
		}
		if b.X != (chartRuns-5+i)*slotWidth || b.RowsTop < 0 || b.RowsTop+b.Rows > c.Base || c.Base+b.Took > c.Height ||
			b.Rows < 1 || b.Took < 1 || b.Marked && b.MarkY < 0 {
			t.Errorf("bar %d: %+v", i, b)
		}
	}
	if kinds != "other guard bad good running " || marks != 2 {
		t.Errorf("from the oldest: %s, %d marked", kinds, marks)
	}
	if full, half := c.Bars[3], c.Bars[1]; full.Rows != rowsHeight || half.Rows != rowsHeight/2 ||
		full.Took != tookHeight {
		t.Errorf("%+v and %+v: the square root of a quarter is a half", full, half)
	}
	if want := "The last 5 runs: 1 running, 1 success, 1 failed, 1 guarded, 1 stopped. The newest: running for 1.0 s."; c.Text != want {
		t.Errorf("%q", c.Text)
	}
	if want := "2026-03-15 12:00:00 UTC: success, 10,000 rows in 1 min 0 s"; c.Bars[3].Text != want {
		t.Errorf("%q", c.Bars[3].Text)
	}
	if c := newRunChart("x", make([]warehouse.RunRecord, 40), noon); len(c.Bars) != chartRuns || c.Bars[0].X != 0 {
		t.Errorf("of 40 runs %d are drawn", len(c.Bars))
	}
}

func TestDayChart(t *testing.T) {
	t.Parallel()
	layers := []layer{{"inserted", "inserted"}, {"updated", "updated"}}
	if newDayChart("x", "X", layers, nil, true) != nil {
		t.Error("no days have a chart")
	}
	at := func(day int) time.Time { return time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC) }
	c := newDayChart("x", "X", layers, []day{{at(1), []uint64{50, 50}}, {at(3), []uint64{0, 0}}, {at(5), []uint64{0, 25}}},
		true)
	if c.First != "4 Feb 2026" || c.Last != "5 Mar 2026" || c.Width != leastDays*dayWidth || len(c.Bars) != 3 {
		t.Fatalf("%+v", c)
	}
	lower, upper, half := c.Bars[0], c.Bars[1], c.Bars[2]
	if lower.Y+lower.Height != dayHeight || lower.Height != dayHeight/2 || upper.Y != 0 ||
		upper.Y+upper.Height != lower.Y || upper.X != lower.X {
		t.Errorf("the layers of a day: %+v, %+v", lower, upper)
	}
	if half.Height != dayHeight/2 || half.X != lower.X+4*dayWidth {
		t.Errorf("a quarter of the most, by the square root: %+v", half)
	}
	if !strings.Contains(c.Text, "the most on 1 Mar 2026: 100") || c.Scale != "at most 100 a day, √ scale" ||
		half.Text != "5 Mar 2026: 25 updated" {
		t.Errorf("%q %q %q", c.Text, c.Scale, half.Text)
	}
	if c.Days[0].Date != at(5) || len(c.Days) != 3 {
		t.Errorf("the table is %v", c.Days)
	}
	long := newDayChart("x", "X", layers[:1], []day{{at(1).AddDate(0, 0, -99), []uint64{4}}, {at(1), []uint64{1}}}, false)
	if long.Width != 100*dayWidth || long.Bars[1].Height != dayHeight/4 {
		t.Errorf("in proportion: %+v", long)
	}
}
