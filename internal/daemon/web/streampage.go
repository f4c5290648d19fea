package web

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// page has what every page needs.
type page struct {
	Title   string
	Nav     []navItem
	Refresh int // milliseconds until a live page is loaded again
	State   state
	Summary string
	AsOf    moment
	Problem string  // why the warehouse does not answer
	Refused string  // why the newest configuration is not in force
	Target  string  // where the summary leads; "": nowhere
	Said    *notice // the result of an action; nil: none
	Assets  assets
	Body    any
}

// navItem is an entry of the navigation: a page of its own is one entry, one route and one template.
type navItem struct {
	Path, Name string
	Here       bool
}

var navigation = []navItem{{Path: "/", Name: "Status"}, {Path: timelinePage, Name: "Timeline"},
	{Path: "/payouts", Name: "Payouts"}, {Path: actionsPage, Name: "Actions"}}

// navAt returns the navigation as the page at a path shows it.
func navAt(path string) []navItem {
	var nav []navItem
	for _, item := range navigation {
		item.Here = item.Path == path
		nav = append(nav, item)
	}
	return nav
}

const (
	refreshRunning = 1500 // a run is under way: its progress changes
	refreshIdle    = 5000
)

func (out *replies) newPage(o *overview, path, title string, body any) page {
	p := page{Title: title, Nav: navAt(path), Refresh: refreshIdle, AsOf: o.localMoment(o.local),
		Problem: explain(o.problem), Refused: o.refused, Assets: out.assets, Body: body}
	p.State, p.Summary = o.verdict()
	for _, st := range o.streams {
		if st.Running != nil {
			p.Refresh = refreshRunning
		}
	}
	return p
}

// moment is a time as text for people: how long ago it was, and the exact time.
type moment struct{ Words, Exact, Short, ISO string }

// moment is for a time by the clock of the warehouse, localMoment for one by this machine's.
func (o *overview) moment(t time.Time) moment      { return momentAt(t, o.now) }
func (o *overview) localMoment(t time.Time) moment { return momentAt(t, o.local) }

func momentAt(t, now time.Time) moment {
	m := moment{Exact: exact(t), Short: t.UTC().Format("2006-01-02 15:04"), ISO: rfc3339(t), Words: ago(now.Sub(t))}
	if t.After(now) {
		m.Words = until(t.Sub(now))
	}
	return m
}

func (o *overview) optionalMoment(t *time.Time) *moment {
	if t == nil {
		return nil
	}
	m := o.moment(*t)
	return &m
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

// checkRow is the newest outcome of a check of the loaded data.
type checkRow struct {
	Name, RunID     string
	Failed          bool
	Found, Expected string
	Detail          string
	At              moment
}

// pausedRow says who has paused a stream.
type pausedRow struct {
	By, Reason string
	Since      moment
	OfAccount  bool
}

// progress is how far a run under way is.
type progress struct {
	Words      string
	Value, Max uint64 // Max 0: it is not known how much there is to do
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

func (a *answers) readDetails(ctx context.Context, id warehouse.StreamID) (d details, err error) {
	w := a.o.Warehouse
	if d.runs, err = w.Runs(ctx, warehouse.RunFilter{Account: id.Account, Stream: id.Stream,
		Limit: shownRuns}); err != nil {
		return d, err
	}
	if d.changes, err = w.ChangesByDay(ctx, id, shownDays); err != nil {
		return d, err
	}
	if d.rejects, err = w.RejectGroups(ctx, id, shownRejects); err != nil {
		return d, err
	}
	if warehouse.HasDays(id.Stream) {
		d.rows, err = w.RowsByDay(ctx, id, shownDays)
	}
	return d, err
}

// stream serves the page of one stream.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	runs := s.answers.charts.last(struct{}{})
	o := s.answers.overview(r.Context(), func(ctx context.Context) { runs = s.answers.charts.get(ctx, struct{}{}) })
	o.chart(runs.value)
	id := warehouse.StreamID{Account: r.PathValue("account"), Stream: r.PathValue("stream")}
	st := o.find(id)
	if st == nil {
		http.NotFound(w, r)
		return
	}
	body := streamPage{streamRow: o.row(st), MaxRuns: shownRuns, MaxShown: shownRejects}
	body.Forms = s.formsOf(st, "stream")
	d := s.answers.details.last(id)
	if o.problem == nil { // otherwise it would only wait for the time-out once more
		d = s.answers.details.get(r.Context(), id)
	}
	body.Error = explain(d.err)
	o.fill(&body, d.value)
	p := s.reply.newPage(&o, "/streams", body.Name+" of "+id.Account, body)
	p.Said = s.said.to(r)
	s.reply.render(w, "stream.html", p)
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

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

// assets has the address of each static file by its name. The address contains a hash of the content, so that browsers
// may keep the file forever, and load a new one at once.
type assets map[string]string

// Version returns a text that differs between binaries whose pages need different assets.
func (a assets) Version() string {
	sum := sha256.New()
	for _, name := range []string{"live.js", "style.css", "icon.svg"} {
		_, _ = sum.Write([]byte(a[name])) // writing to a hash cannot fail
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// readAssets returns the addresses of the static files, and their contents by address.
func readAssets() (assets, map[string][]byte, error) {
	names, files := assets{}, map[string][]byte{}
	entries, err := fs.ReadDir(staticFiles, "static")
	if err != nil {
		return nil, nil, fmt.Errorf("reading the static files: %w", err)
	}
	for _, e := range entries {
		content, err := staticFiles.ReadFile("static/" + e.Name())
		if err != nil {
			return nil, nil, fmt.Errorf("reading the static files: %w", err)
		}
		sum := sha256.Sum256(content)
		ext := path.Ext(e.Name())
		address := "/static/" + strings.TrimSuffix(e.Name(), ext) + "." + hex.EncodeToString(sum[:6]) + ext
		names[e.Name()], files[address] = address, content
	}
	return names, files, nil
}

// contentTypes are fixed here, because browsers are told not to guess, and the system's table of types may lack them.
var contentTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml"}

// parsePages parses the template of each page together with the parts that all pages have.
func parsePages() (map[string]*template.Template, error) {
	pages := map[string]*template.Template{}
	for _, name := range []string{"status.html", "stream.html", "payouts.html", "payout.html", "statement.html",
		"figure.html", "actions.html", "timeline.html"} {
		t, err := template.ParseFS(templateFiles, "templates/layout.html", "templates/parts.html", "templates/"+name)
		if err != nil {
			return nil, fmt.Errorf("parsing the page %s: %w", name, err)
		}
		pages[name] = t
	}
	return pages, nil
}
