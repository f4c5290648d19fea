package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dealhouse/internal/catalog"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// screen is what a terminal of so many columns shows after the text was written to it.
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

// live is a console on a made-up terminal.
func live(width, height int) (*console, *bytes.Buffer) {
	var out bytes.Buffer
	return &console{live: true, out: &out, size: func() (int, int) { return width, height }}, &out
}

func TestFrameStaysBelowWhatIsWritten(t *testing.T) {
	c, out := live(20, 10)
	c.show([]string{"one long", "two"})
	fmt.Fprintln(c, "a log line")
	c.show([]string{"one", "two, which is much longer than the terminal"})
	fmt.Fprintln(c, "another")
	want := []string{"a log line", "another", "one", "two, which is much…", ""}
	if diff := cmp.Diff(want, screen(out.String(), 20)); diff != "" {
		t.Error(diff)
	}
	c.show(nil)
	if diff := cmp.Diff([]string{"a log line", "another", ""}, screen(out.String(), 20)); diff != "" {
		t.Error(diff)
	}
}

func TestFrameThatHasNoRoom(t *testing.T) {
	c, out := live(40, 4)
	c.show([]string{"1", "2", "3", "4", "5"})
	if diff := cmp.Diff([]string{"1", "2", "... and 3 more", ""}, screen(out.String(), 40)); diff != "" {
		t.Error(diff)
	}
}

func TestNoFrameWithoutTerminal(t *testing.T) {
	var out bytes.Buffer
	c := newConsole(&out)
	c.show([]string{"one"})
	if out.Len() > 0 {
		t.Errorf("drawn: %q", out.String())
	}
}

func TestProgressOnATerminal(t *testing.T) {
	c, out := live(100, 24)
	jobs := []syncer.Job{{Account: "acme", Stream: catalog.All()[0]}, {Account: "acme", Stream: catalog.All()[1]}}
	p := newProgress(c, slog.New(slog.NewTextHandler(c, nil)), jobs, true)
	p.update(syncer.Progress{Account: "acme", Stream: "coupons", Phase: syncer.PhaseReading, Totals: warehouse.Totals{Read: 12345, Pages: 13}})
	p.finish(syncer.Result{Job: jobs[0], Record: warehouse.RunRecord{
		Account: "acme", Stream: "promotions", Outcome: warehouse.OutcomeSuccess,
		Totals: warehouse.Totals{Read: 1000}, Changes: warehouse.Changes{Inserted: 7, Deleted: 2},
	}})
	p.stop()
	want := []string{
		"acme promotions  done           1,000 rows  7 inserted, 2 deleted",
		"acme coupons     reading       12,345 rows     13 pages",
		"",
	}
	if diff := cmp.Diff(want, screen(out.String(), 100)); diff != "" {
		t.Error(diff)
	}
}

func TestProgressAsLogLines(t *testing.T) {
	var out bytes.Buffer
	c := newConsole(&out)
	jobs := []syncer.Job{{Account: "acme", Stream: catalog.All()[0]}}
	p := newProgress(c, slog.New(slog.NewTextHandler(c, nil)), jobs, false)
	p.update(syncer.Progress{Account: "acme", Stream: "promotions", Phase: syncer.PhaseReading, Totals: warehouse.Totals{Read: 50}})
	p.logLines()
	p.finish(syncer.Result{Record: warehouse.RunRecord{Account: "acme", Stream: "promotions", Outcome: warehouse.OutcomeFailed}, Err: errors.New("broken")})
	p.logLines()
	p.stop()
	for _, want := range []string{"under way", "rows=50", "outcome=failed"} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "broken") {
		t.Errorf("the error was printed before the end:\n%s", out.String())
	}
}
