package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// The timeline shows the runs of a day, with a lane for each stream: what ran when, for how long, and
// what ran at the same time.

const (
	// timelineFor is how long an answer for the timeline is shown again.
	timelineFor = 5 * time.Second
	// mostSpans bounds the runs of a day, and mostLanes the streams that are drawn.
	mostSpans = 50_000
	mostLanes = 48
)

// daySpan is a day of the timeline, or the 24 hours up to now.
type daySpan struct{ from, to time.Time }

// spans has the runs of a day.
type spans struct {
	runs []warehouse.RunSpan // the oldest first
	more bool
}

// timelineBody is the page of the timeline.
type timelineBody struct {
	Title          string
	Chosen         string // the account; "": all
	Filter         []filterLink
	Before, After  string // links to the days beside; "": none
	Today          bool   // it ends now
	Hours          []hour
	Crowd          atOnce
	Lanes          []lane
	Rest           string // what is not shown
	Error          string
	Running, Total int
}

// hour is a label of the axis, at a share of the width.
type hour struct {
	Text string
	At   int // percent
}

// chosenDay returns the day that a request names, and its name. If the request names none, it is the 24 hours up to the
// next full hour, and the name is "".
func chosenDay(r *http.Request, now time.Time) (d daySpan, day string, err error) {
	query, err := parameters(r, "day", "account")
	if err != nil {
		return d, "", err
	}
	if day = query.Get("day"); day == "" {
		end := now.UTC().Truncate(time.Hour).Add(time.Hour)
		return daySpan{end.Add(-24 * time.Hour), end}, "", nil
	}
	from, err := time.Parse(dayLayout, day)
	if err != nil || from.Year() < 2000 || from.Year() > 2200 {
		return d, "", fmt.Errorf("day: want a day such as %s", now.UTC().Format(dayLayout))
	}
	return daySpan{from, from.Add(24 * time.Hour)}, day, nil
}

func timelinePath(day, account string) string {
	path := timelinePage
	if account != "" {
		path += strings.TrimPrefix(accountPath(account), "/")
	}
	switch {
	case day == "":
		return path
	case account == "":
		return path + "?day=" + day
	}
	return path + "&day=" + day
}

// link sets the title, and the links to the previous and the next day.
func (b *timelineBody) link(d daySpan, day, account string, now time.Time) {
	if day == "" {
		b.Title, b.Today = "the last 24 hours", true
		b.Before = timelinePath(now.UTC().AddDate(0, 0, -1).Format(dayLayout), account)
		return
	}
	b.Title = date(d.from)
	b.Before = timelinePath(d.from.AddDate(0, 0, -1).Format(dayLayout), account)
	if next := d.to; next.Before(now) {
		b.After = timelinePath(next.Format(dayLayout), account)
	}
	b.Today = !now.Before(d.from) && now.Before(d.to)
}

// newTimeline draws the runs of a day, of one account or of all. If there are too many streams, those with trouble come
// first, and then those that ran longest.
func newTimeline(d daySpan, now time.Time, o *overview, read spans, account string) timelineBody {
	b := timelineBody{Chosen: account, Total: len(read.runs)}
	for h := 0; h <= 24; h += 6 {
		b.Hours = append(b.Hours, hour{d.from.Add(time.Duration(h) * time.Hour).Format("15:04"), h * 100 / 24})
	}
	slots := crowding(d, now, read.runs)
	b.Crowd = newCrowd(d, now, slots, read.runs)
	of := map[warehouse.StreamID][]warehouse.RunSpan{}
	for _, run := range read.runs {
		if run.To.IsZero() {
			b.Running++
		}
		of[run.StreamID] = append(of[run.StreamID], run)
	}
	var idle int
	for i := range o.streams {
		st := &o.streams[i]
		switch {
		case account != "" && st.id.Account != account:
		case len(of[st.id]) == 0:
			idle++
		default:
			b.Lanes = append(b.Lanes, newLane(d, now, st, of[st.id], slots))
		}
	}
	b.choose(idle, read)
	return b
}

// choose leaves out lanes if there are too many, and says what is not shown.
func (b *timelineBody) choose(idle int, read spans) {
	var parts []string
	if n := len(b.Lanes) - mostLanes; n > 0 {
		worst := slices.Clone(b.Lanes)
		slices.SortStableFunc(worst, func(x, y lane) int {
			return cmp.Or(cmp.Compare(min(1, y.Bad), min(1, x.Bad)), cmp.Compare(y.busy, x.busy))
		})
		keep := map[string]bool{}
		for _, l := range worst[:mostLanes] {
			keep[l.Key] = true
		}
		b.Lanes = slices.DeleteFunc(b.Lanes, func(l lane) bool { return !keep[l.Key] })
		parts = append(parts, term.Plural(uint64(n), "stream")+
			" that ran without trouble and shorter than these: choose an account to see them")
	}
	if idle > 0 {
		parts = append(parts, term.Plural(uint64(idle), "stream")+" without a run")
	}
	if read.more {
		parts = append(parts, fmt.Sprintf("the oldest runs, since there were more than %s", term.Count(mostSpans)))
	}
	if len(parts) > 0 {
		b.Rest = "Not shown: " + strings.Join(parts, "; ") + "."
	}
}

const (
	crowdHeight = 40
	slotMinutes = 5 // the drawing shows the most runs at once in each
	busiest     = 5 // moments in the table
)

// atOnce shows how many runs were under way at once.
type atOnce struct {
	Width, Height int
	Path, Text    string
	Busiest       []busyMoment
}

// busyMoment is a time at which many streams ran.
type busyMoment struct {
	At, Streams string
	Runs        int
}

// slot returns the slot of a minute.
func slot(minute float64) int { return min(int(minute)/slotMinutes, laneWidth/slotMinutes-1) }

// crowding returns the most runs that were under way at once, for each slot of the day.
func crowding(d daySpan, now time.Time, runs []warehouse.RunSpan) []int {
	type edge struct {
		at    float64
		begin bool
	}
	var edges []edge
	for _, r := range runs {
		from, to := d.bounds(r, now)
		edges = append(edges, edge{from, true}, edge{to, false})
	}
	// If a run ends at the moment another one begins, the two were not under way at once.
	slices.SortFunc(edges, func(a, b edge) int {
		if a.at != b.at || a.begin == b.begin {
			return cmp.Compare(a.at, b.at)
		}
		if b.begin {
			return -1
		}
		return 1
	})
	slots := make([]int, laneWidth/slotMinutes)
	under, at := 0, 0
	for _, e := range edges {
		for ; at < slot(e.at); at++ {
			slots[at+1] = max(slots[at+1], under)
		}
		if !e.begin {
			under--
			continue
		}
		under++
		slots[at] = max(slots[at], under)
	}
	return slots
}

// newCrowd draws how many runs were under way at once, and says when there were the most.
func newCrowd(d daySpan, now time.Time, slots []int, runs []warehouse.RunSpan) atOnce {
	c := atOnce{Width: laneWidth, Height: crowdHeight, Text: "No run"}
	most := slices.Max(slots)
	if most == 0 {
		return c
	}
	var path strings.Builder
	fmt.Fprintf(&path, "M0 %d", crowdHeight)
	last := 0
	for i, n := range slots {
		height := n * crowdHeight / most
		if n > 0 {
			height = max(1, height)
		}
		if height != last || i == 0 {
			fmt.Fprintf(&path, "H%dV%d", i*slotMinutes, crowdHeight-height)
			last = height
		}
	}
	fmt.Fprintf(&path, "H%dV%dz", laneWidth, crowdHeight)
	c.Path = path.String()
	c.Busiest = busyMoments(d, now, slots, runs)
	c.Text = fmt.Sprintf("Runs under way at once: at most %d, at %s", most, c.Busiest[0].At)
	return c
}

// busyMoments returns the slots with the most runs at once, without neighbours of each other, and
// which streams ran in them.
func busyMoments(d daySpan, now time.Time, slots []int, runs []warehouse.RunSpan) (moments []busyMoment) {
	order := make([]int, len(slots))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return slots[b] - slots[a] })
	taken := map[int]bool{}
	for _, i := range order {
		if len(moments) == busiest || slots[i] < 2 && len(moments) > 0 {
			break
		}
		if taken[i-1] || taken[i+1] {
			continue
		}
		taken[i] = true
		counts := map[string]int{}
		for _, r := range runs {
			if from, to := d.bounds(r, now); slot(from) <= i && i <= slot(to) {
				counts[term.Spaced(r.Stream)]++
			}
		}
		var who []string
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			text := name
			if n := counts[name]; n > 1 {
				text = fmt.Sprintf("%d × %s", n, name)
			}
			who = append(who, text)
		}
		moments = append(moments, busyMoment{At: clock(d.from.Add(time.Duration(i*slotMinutes)*time.Minute), d),
			Runs: slots[i], Streams: strings.Join(who, ", ")})
	}
	return moments
}

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

// filterLink leads to one account.
type filterLink struct {
	Account string // "": all
	Path    string
	Here    bool
	Trouble int // streams that need a person
	State   state
}

func filterLinks(names []string, of map[string][]*streamState, chosen string) []filterLink {
	links := []filterLink{{Path: "/", Here: chosen == ""}}
	for _, account := range names {
		l := filterLink{Account: account, Path: accountPath(account), Here: account == chosen, State: of[account][0].need()}
		for _, st := range of[account] {
			if st.troubled() {
				l.Trouble++
			}
		}
		links = append(links, l)
	}
	return links
}
