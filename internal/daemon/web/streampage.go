package web

import (
	"slices"

	"dealhouse/internal/catalog"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// streamPage is the page of one stream.
type streamPage struct {
	streamRow
	Error    string // why the details cannot be shown
	Runs     []runRow
	Guarded  bool // a guard has stopped one of the runs from deleting
	Changes  *dayChart
	ByDay    *dayChart
	Rejects  []rejectRow
	MaxRuns  int
	MaxShown int
}

type runRow struct {
	Started  moment
	Exact    string
	Mode     string
	Outcome  string
	Kind     string
	Took     string
	Counts   []string // in the order of the table's columns
	Error    string
	Warnings []string
}

type rejectRow struct {
	Key, Field, Reason, Raw string
	Cut                     string // the full length, if the text is cut
	Seen                    moment
	Times                   string // if it is more than one
	First                   moment // the first time
	Page                    uint32
	RunID                   string
}

const (
	shownRuns    = 50
	shownRejects = 50
	shownDays    = 60
)

// details has what the page of a stream shows in addition to the status page.
type details struct {
	runs    []warehouse.RunRecord
	changes []warehouse.DayChanges
	rows    []warehouse.DayRows
	rejects []warehouse.RejectGroup
}

func (o *overview) fill(body *streamPage, d details) {
	body.Guarded = slices.ContainsFunc(d.runs, func(r warehouse.RunRecord) bool { return r.WouldDelete > 0 })
	for _, r := range d.runs {
		body.Runs = append(body.Runs, o.runRow(r, body.Guarded))
	}
	for _, x := range d.rejects {
		row := rejectRow{Key: x.Key, Field: x.Field, Reason: x.Reason, Raw: x.Raw, Seen: o.moment(x.SeenAt), Page: x.Page,
			RunID: x.RunID}
		if uint64(len(x.Raw)) < x.Size {
			row.Cut = term.Size(x.Size)
		}
		if x.Times > 1 {
			row.Times, row.First = term.Count(x.Times), o.moment(x.FirstSeen)
		}
		body.Rejects = append(body.Rejects, row)
	}
	var changes, rows []day
	for _, c := range d.changes {
		changes = append(changes, day{c.Day, []uint64{c.Inserted, c.Updated, c.Deleted}})
	}
	for _, n := range d.rows {
		rows = append(rows, day{n.Day, []uint64{n.Rows}})
	}
	body.Changes = newDayChart("changes", "Changes by day",
		[]layer{{"inserted", "inserted"}, {"updated", "updated"}, {"deleted", "deleted"}}, changes, true)
	if s, err := catalog.Find(body.Stream); err == nil && s.ByDay != nil {
		body.ByDay = newDayChart("days", s.ByDay.Title, []layer{{"rows", "rows"}}, rows, false)
	}
}

func (o *overview) runRow(r warehouse.RunRecord, guarded bool) runRow {
	row := runRow{Started: o.moment(r.StartedAt), Exact: r.StartedAt.UTC().Format("2006-01-02 15:04:05"), Mode: r.Mode,
		Outcome: r.Outcome, Kind: toneOf(r.Outcome).class,
		Took: term.Span(took(r, o.now)), Error: r.Error, Warnings: r.Warnings}
	if r.FinishedAt.IsZero() && r.Outcome != warehouse.OutcomeRunning {
		row.Took = "" // nobody knows when it was killed
	}
	counts := []uint64{r.Totals.Read, r.Changes.Inserted, r.Changes.Updated, r.Changes.Deleted}
	if guarded {
		counts = append(counts, r.WouldDelete)
	}
	for _, n := range append(counts, r.Changes.Kept, r.Changes.Unchanged, r.Totals.Rejected, r.Totals.Retries) {
		row.Counts = append(row.Counts, term.Count(n))
	}
	return row
}

// streamRow is a stream on the status page, and at the top of its own page.
type streamRow struct {
	Account, Stream string
	Name            string // for people
	Key             string // names the live parts of the row
	State           state
	Pill            pill // what is up to date, and has rejects or a check that failed, is not green
	Success         *moment
	Watermark       *moment
	Lag, Rows       string // empty: not known
	Next            *moment
	Schedule        string
	Note            string // what is wrong
	NoteSince       *moment
	WouldDelete     string // rows that the guarded run would have deleted; "" if no guard has stopped it
	Faults          string // how many runs failed; NoteSince is shown after it
	Checks          []checkRow
	Shared          bool       // other streams have the same note, which is shown once for all
	Rejects         *badgeLink // open ones
	Scope           *scopeRow  // nil: all of the stream is loaded
	Paused          *pausedRow
	Forms           *forms // nil: there is nothing to do
	Chart           *runChart
	Progress        *progress
}

func (o *overview) row(st *streamState) streamRow {
	row := streamRow{
		Account: st.id.Account, Stream: st.id.Stream, Name: capitalized(term.Spaced(st.id.Stream)),
		Key:   st.id.Account + "/" + st.id.Stream,
		State: st.state, Pill: pill{st.need(), st.state.label()}, Schedule: st.Schedule,
		Success: o.optionalMoment(st.standing.LastSuccess), Watermark: o.optionalMoment(st.standing.Watermark),
		Scope: st.scope(), Chart: newRunChart("runs-"+st.id.Account+"-"+st.id.Stream, st.runs, o.now),
		Progress: o.progress(st),
	}
	if lag := o.lag(st); lag != nil {
		row.Lag = term.Long(*lag)
	}
	if st.rows != nil {
		row.Rows = term.Count(*st.rows)
	}
	if !st.Next.IsZero() {
		m := o.localMoment(st.Next)
		if st.Queued {
			m.Words = "when others have ended"
		}
		row.Next = &m
	}
	for _, c := range st.checks {
		row.Checks = append(row.Checks, checkRow{Name: c.Name, RunID: c.RunID.String(), Failed: !c.OK,
			Found: term.Count(c.Found), Expected: term.Count(c.Expected),
			Detail: c.Detail, At: o.moment(c.CheckedAt)})
	}
	if p := st.Paused; p != nil {
		row.Paused = &pausedRow{By: p.Actor, Reason: p.Reason, Since: o.moment(p.At), OfAccount: p.Stream == ""}
	}
	row.note(o, st)
	return row
}

// note says what is wrong with a stream: what the warehouse has recorded, else what this process has seen.
func (row *streamRow) note(o *overview, st *streamState) {
	if f := st.standing.Faults; f.Count > 0 && st.configured {
		row.Note, row.NoteSince = f.Error, o.optionalMoment(f.Since)
		if g := st.guarded; g != nil && f.Outcome == warehouse.OutcomeGuarded {
			row.WouldDelete = term.Count(g.Deletes)
		}
		how := "failed"
		if f.Outcome == warehouse.OutcomeIncomplete {
			how = "did not load everything"
		}
		row.Faults = "1 run " + how
		if f.Count > 1 {
			row.Faults = term.Plural(f.Count, "run") + " " + how + ", the first"
		}
		return
	}
	if o.attemptFailed(st) {
		row.Note = st.LastError
	}
}

// progress is how far a run under way is.
type progress struct {
	Words      string
	Value, Max uint64 // Max 0: it is not known how much there is to do
}

func (o *overview) progress(st *streamState) *progress {
	p := st.Running
	if p == nil {
		return nil
	}
	out := &progress{Words: "Running"}
	if p.Phase != "" {
		out.Words = capitalized(string(p.Phase))
	}
	if p.Totals.Pages > 0 {
		out.Words += ": " + term.Plural(p.Totals.Read, "row") + ", " + term.Plural(p.Totals.Pages, "page") + ", " +
			term.Size(p.Totals.Bytes)
	}
	if !st.Since.IsZero() {
		out.Words += ", for " + term.Span(o.local.Sub(st.Since))
	}
	if n := p.Windows.Total; n > 0 {
		out.Value, out.Max = uint64(p.Windows.Done), uint64(n)
		out.Words += ", " + term.Plural(uint64(p.Windows.Done), "window") + " of " + term.Count(uint64(n))
		return out
	}
	// A stream that is read as a whole probably has about as many rows as the last time.
	for _, r := range st.runs {
		if r.Outcome == warehouse.OutcomeSuccess && r.RequestedAfter.IsZero() && r.Mode != warehouse.ModeFull &&
			r.Mode != warehouse.ModeBackfill && r.Totals.Read > 0 {
			out.Value, out.Max = min(p.Totals.Read, r.Totals.Read), r.Totals.Read
			break
		}
	}
	return out
}
