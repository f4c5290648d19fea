package term

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// screen returns what a terminal of the given width shows after the text was written to it.
func screen(text string, width int) []string {
	sequence := regexp.MustCompile(`^\x1b\[(\d*)([A-Z])`)
	lines, row, col := []string{""}, 0, 0
	for text != "" {
		if m := sequence.FindStringSubmatch(text); m != nil {
			text = text[len(m[0]):]
			n, _ := strconv.Atoi(m[1])
			switch m[2] {
			case "A":
				row = max(0, row-max(1, n))
			case "K":
				lines[row] = string([]rune(lines[row])[:min(col, len([]rune(lines[row])))])
			case "J":
				lines = append(lines[:row], string([]rune(lines[row])[:min(col, len([]rune(lines[row])))]))
			}
			continue
		}
		r := []rune(text)[0]
		text = text[len(string(r)):]
		switch {
		case r == '\r':
			col = 0
			continue
		case r == '\n' || col == width:
			row, col = row+1, 0
			if row == len(lines) {
				lines = append(lines, "")
			}
			if r == '\n' {
				continue
			}
		}
		line := []rune(lines[row])
		for len(line) <= col {
			line = append(line, ' ')
		}
		line[col] = r
		lines[row] = string(line)
		col++
	}
	return lines
}

// live returns a console on a simulated terminal.
func live(width, height int) (*Console, *bytes.Buffer) {
	var out bytes.Buffer
	return &Console{live: true, out: &out, size: func() (int, int) { return width, height }}, &out
}

func TestFrameStaysBelowWhatIsWritten(t *testing.T) {
	c, out := live(20, 10)
	c.Show([]string{"one long", "two"})
	fmt.Fprintln(c, "a log line")
	c.Show([]string{"one", "two, which is much longer than the terminal"})
	fmt.Fprintln(c, "another")
	want := []string{"a log line", "another", "one", "two, which is much…", ""}
	if diff := cmp.Diff(want, screen(out.String(), 20)); diff != "" {
		t.Error(diff)
	}
	c.Show(nil)
	if diff := cmp.Diff([]string{"a log line", "another", ""}, screen(out.String(), 20)); diff != "" {
		t.Error(diff)
	}
}

func TestFrameThatHasNoRoom(t *testing.T) {
	c, out := live(40, 4)
	c.Show([]string{"1", "2", "3", "4", "5"})
	if diff := cmp.Diff([]string{"1", "2", "... and 3 more", ""}, screen(out.String(), 40)); diff != "" {
		t.Error(diff)
	}
}

func TestNoFrameWithoutTerminal(t *testing.T) {
	var out bytes.Buffer
	c := NewConsole(&out)
	c.Show([]string{"one"})
	if out.Len() > 0 {
		t.Errorf("drawn: %q", out.String())
	}
}

func TestProgressOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no second passes while it works
		c, out := live(100, 24)
		promotions, coupons := Run{"acme", "promotions"}, Run{"acme", "coupons"}
		p := NewProgress(ProgressOptions{Console: c, Logger: slog.New(slog.NewTextHandler(c, nil)),
			Runs: []Run{promotions, coupons}, Keep: true})
		p.Update(State{Run: coupons, Phase: "reading", Reading: true, Rows: 12345, Pages: 13})
		p.Finish(promotions, "done           1,000 rows  7 inserted, 2 deleted")
		p.Stop()
		want := []string{
			"acme promotions  done           1,000 rows  7 inserted, 2 deleted",
			"acme coupons     reading       12,345 rows     13 pages",
			"",
		}
		if diff := cmp.Diff(want, screen(out.String(), 100)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestProgressAsLogLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no second passes while it works
		var out bytes.Buffer
		c := NewConsole(&out)
		promotions := Run{"acme", "promotions"}
		p := NewProgress(ProgressOptions{Console: c, Logger: slog.New(slog.NewTextHandler(c, nil)),
			Runs: []Run{promotions}})
		p.Update(State{Run: promotions, Phase: "reading", Reading: true, Rows: 50})
		p.logLines()
		p.Finish(promotions, "failed", "outcome", "failed")
		p.logLines()
		p.Stop()
		for _, want := range []string{"under way", "rows=50", "outcome=failed"} {
			if strings.Count(out.String(), want) != 1 {
				t.Errorf("%q is not there once:\n%s", want, out.String())
			}
		}
	})
}

// What holds up all runs is shown once for the account, and as soon as there is something to say.
func TestProgressOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no second passes while it works
		c, out := live(100, 24)
		var log bytes.Buffer
		runs := []Run{{"acme", "promotions"}, {"acme", "coupons"}, {"globex", "coupons"}}
		p := NewProgress(ProgressOptions{Console: c, Logger: slog.New(slog.NewTextHandler(&log, nil)), Runs: runs,
			Keep: true, LimitedTo: func(account string) float64 {
				return map[string]float64{"acme": 10, "initech": 2}[account]
			}})
		for _, r := range runs {
			p.Update(State{Run: r, Phase: "reading", Reading: true})
		}
		p.begun = p.begun.Add(-72 * time.Second)
		p.measure()
		p.drawLines()
		lines := screen(out.String(), 100)
		if want := "1m12s elapsed, acme limited to 10 requests/s"; len(lines) != 5 || lines[3] != want {
			t.Errorf("%q, want %q", lines, want)
		}
		p.logLines()
		for want, n := range map[string]int{"seconds=72": 3, `limited_to="10 requests/s"`: 2} {
			if strings.Count(log.String(), want) != n {
				t.Errorf("%q is not there %d times:\n%s", want, n, log.String())
			}
		}
		for _, r := range runs {
			p.Finish(r, "done")
		}
		p.Stop()
		if lines := screen(out.String(), 100); lines[3] != "1m12s elapsed" {
			t.Errorf("at the end: %q", lines)
		}
	})
}

// The share of a backfill is shown, and how long the rest takes as soon as that can be computed.
func TestBackfillProgress(t *testing.T) {
	l := progressLine{reading: 10 * time.Second}
	if l.windowWords() != "" || l.windowAttrs() != nil {
		t.Errorf("a sync has no windows: %q", l.windowWords())
	}
	l.Windows = Windows{Total: 100, Done: 40, Earlier: 40}
	if got := l.windowWords(); got != "  40 %" {
		t.Errorf("%q", got)
	}
	l.Windows.Done = 60
	if got := l.windowWords(); got != "  60 %, 20.0 s left" {
		t.Errorf("%q", got)
	}
	if got := fmt.Sprint(l.windowAttrs()...); !strings.Contains(got, "seconds_left") {
		t.Error(got)
	}
}
