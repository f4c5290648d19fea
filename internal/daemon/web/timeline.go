package web

import (
	"cmp"
	"context"
	"fmt"
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

func (a *answers) readSpans(ctx context.Context, d daySpan) (x spans, err error) {
	x.runs, x.more, err = a.o.Warehouse.RunSpans(ctx, d.from, d.to, mostSpans)
	return x, err
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

// timeline serves the page of the timeline.
func (s *Server) timeline(w http.ResponseWriter, r *http.Request) {
	o := s.answers.overview(r.Context())
	d, day, err := chosenDay(r, o.now)
	if err != nil {
		s.reply.refuse(w, http.StatusBadRequest, err)
		return
	}
	account := r.URL.Query().Get("account")
	names, of := o.byAccount()
	if account != "" && of[account] == nil {
		http.NotFound(w, r)
		return
	}
	read := s.answers.spans.last(d)
	if o.problem == nil {
		read = s.answers.spans.get(r.Context(), d)
	}
	body := newTimeline(d, o.now, &o, read.value, account)
	body.Error = explain(read.err)
	body.link(d, day, account, o.now)
	if len(names) > 1 {
		body.Filter = filterLinks(names, of, account)
		for i := range body.Filter {
			body.Filter[i].Path = timelinePath(day, body.Filter[i].Account)
		}
	}
	s.reply.render(w, "timeline.html", s.reply.newPage(&o, timelinePage, "Timeline of "+body.Title, body))
}

const (
	timelinePage = "/timeline"
	dayLayout    = "2006-01-02"
)

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
