package web

import (
	"fmt"
	"strings"
	"time"

	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// A lane is as wide as a day has minutes. Its marks are as high as what they say is bad.
const laneWidth, laneHeight, plainHeight = 24 * 60, 12, 8

// lane has the runs of a stream.
type lane struct {
	Account, Stream, Name, Key, Path string
	Width, Height                    int
	Marks                            []mark // one for each kind of outcome
	Text                             string
	Runs, Bad                        int
	Busy, Longest                    string
	LongestAt, Beside                string

	busy time.Duration
}

// mark has the runs of one kind in a lane, as one SVG path, because a page may have many thousands of runs.
type mark struct{ Class, Path string }

// minute returns the minute of the day at a time, from 0 to laneWidth.
func (d daySpan) minute(t time.Time) float64 {
	return min(max(t.Sub(d.from).Minutes(), 0), laneWidth)
}

// bounds returns when a run began and ended, in minutes of the day.
func (d daySpan) bounds(r warehouse.RunSpan, now time.Time) (from, to float64) {
	end := r.To
	if end.IsZero() {
		end = now
	}
	return d.minute(r.From), d.minute(end)
}

// laneOrder is the order in which the kinds of runs are drawn: bad ones are drawn last, above the rest.
var laneOrder = []string{"good", "other", "running", "late", "guard", "bad"}

func newLane(d daySpan, now time.Time, st *streamState, runs []warehouse.RunSpan, slots []int) lane {
	l := lane{Account: st.id.Account, Stream: st.id.Stream, Name: capitalized(term.Spaced(st.id.Stream)),
		Key:  st.id.Account + "/" + st.id.Stream,
		Path: streamPath(st.id), Width: laneWidth, Height: laneHeight, Runs: len(runs)}
	paths := map[string]*strings.Builder{}
	var longest time.Duration
	beside := 0
	for _, r := range runs {
		tone := toneOf(r.Outcome)
		path := paths[tone.class]
		if path == nil {
			path = &strings.Builder{}
			paths[tone.class] = path
		}
		from, to := d.bounds(r, now)
		x, y := int(from), laneHeight-plainHeight
		if tone.marked {
			l.Bad++
			y = 0
		}
		width := max(2, int(to)-x)
		fmt.Fprintf(path, "M%d %dh%dV%dh-%dz", x, y, width, laneHeight, width)
		l.busy += time.Duration((to - from) * float64(time.Minute))
		end := r.To
		if end.IsZero() {
			end = now
		}
		if took := end.Sub(r.From); took >= longest {
			longest, l.LongestAt = took, clock(r.From, d)
		}
		for i := slot(from); i <= slot(to); i++ {
			beside = max(beside, slots[i]-1)
		}
	}
	for _, class := range laneOrder {
		if path := paths[class]; path != nil {
			l.Marks = append(l.Marks, mark{class, path.String()})
		}
	}
	l.Busy, l.Longest, l.Beside = term.Span(l.busy), term.Span(longest), term.Count(uint64(beside))
	l.Text = fmt.Sprintf("%s of %s: %s", l.Name, l.Account, term.Plural(uint64(l.Runs), "run"))
	if l.Bad > 0 {
		l.Text += fmt.Sprintf(", %d not successful", l.Bad)
	}
	l.Text += fmt.Sprintf("; %s in all, the longest %s, at %s", l.Busy, l.Longest, l.LongestAt)
	return l
}

// clock returns the time of day, with the date if that differs from the date of the last moment.
func clock(t time.Time, d daySpan) string {
	if t = t.UTC(); t.YearDay() == d.to.Add(-time.Second).YearDay() {
		return t.Format("15:04")
	}
	return t.Format("2 Jan 15:04")
}
