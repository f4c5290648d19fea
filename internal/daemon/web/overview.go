package web

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/panics"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// chartRuns is how many runs of a stream the chart on the status page shows.
const chartRuns = 30

// mostChartRuns bounds how many runs of all streams are read for charts.
const mostChartRuns = 100_000

// bookkeeping is what the warehouse knows about all streams.
type bookkeeping struct {
	now       time.Time // by the clock of the warehouse; zero if nothing ever ran
	standings []warehouse.StreamStatus
	guarded   []warehouse.GuardedRun
}

// charts has the last runs of each stream, the newest first.
type charts map[warehouse.StreamID][]warehouse.RunRecord

// overview is the state of everything: what the daemon knows, joined with what the warehouse knows.
type overview struct {
	local   time.Time          // this machine's clock
	now     time.Time          // the warehouse's clock, carried forward since it was asked; for all times from there
	known   time.Time          // when the warehouse last answered, by this machine's clock; zero: never
	problem error              // why it does not answer now
	room    *warehouse.Storage // of an embedded warehouse; nil: not known, or a server
	refused string             // why the daemon did not accept the newest configuration; "": it did
	streams []streamState
	// findings counts what is open about the payouts of an account.
	findings map[string]uint64
}

// streamState is the state of one stream. It may have run once and be no longer configured.
type streamState struct {
	Stream
	id         warehouse.StreamID
	configured bool
	state      state
	standing   warehouse.StreamStatus // zero if it never ran, or nothing is known
	rows       *uint64                // nil: not known
	runs       []warehouse.RunRecord  // of its chart, the newest first; nil if no chart is shown
	checks     []warehouse.Check      // the newest of each kind, those that failed first
	guarded    *warehouse.GuardedRun  // a run that waits for consent; nil: none
	rejects    uint64                 // records that could not be loaded, and are open
}

// failedChecks returns the checks of the loaded data that failed. They do not change the state of the
// stream (quality_checks).
func (st *streamState) failedChecks() []warehouse.Check {
	for i, c := range st.checks {
		if c.OK {
			return st.checks[:i]
		}
	}
	return st.checks
}

// chart sets the runs that each stream's chart shows.
func (o *overview) chart(c charts) {
	for i := range o.streams {
		o.streams[i].runs = c[o.streams[i].id]
	}
}

// find returns the stream with this id, or nil.
func (o *overview) find(id warehouse.StreamID) *streamState {
	for i := range o.streams {
		if o.streams[i].id == id {
			return &o.streams[i]
		}
	}
	return nil
}

// age returns how long ago the stream last succeeded, nil if it never did.
func (o *overview) age(st *streamState) *time.Duration {
	if st.standing.LastSuccess == nil {
		return nil
	}
	age := max(0, o.now.Sub(*st.standing.LastSuccess))
	return &age
}

// lag is how old the visible data is.
func (o *overview) lag(st *streamState) *time.Duration { return st.standing.Lag(o.now) }

// explain says in a few words why the warehouse does not answer.
func explain(err error) string {
	var refused *clickhouse.Exception
	var request *url.Error // its text has the whole statement
	switch {
	case err == nil:
		return ""
	case warehouse.IsAuth(err):
		return "it refuses the credentials"
	case errors.As(err, &refused):
		return refused.Error()
	case errors.As(err, &request):
		return request.Err.Error()
	}
	return err.Error()
}

// state is the state of a stream, whether it runs or not. The words are part of the JSON API.
type state string

const (
	stateFine    state = "fine"
	stateWaiting state = "waiting" // it has not succeeded yet, and nothing is wrong
	stateLate    state = "late"    // the last success is older than the schedule allows
	stateFailing state = "failing" // runs have failed since the last success
	// stateIncomplete: the last run may have missed rows of a list that moved; the next one reads them.
	stateIncomplete state = "incomplete"
	stateGuarded    state = "guarded" // a guard stopped the last run: a person must look
	stateDisabled   state = "disabled"
	statePaused     state = "paused"  // by an operator: no run starts
	stateRemoved    state = "removed" // it ran once and is no longer configured
	stateUnknown    state = "unknown" // the warehouse has never answered
	// These two states are only for all streams together.
	stateCut      state = "unreachable" // the warehouse does not answer
	stateDoubtful state = "doubtful"    // all is loaded, but a check of it failed or the disk is nearly full
)

// labels are the names of the states for people, as shown at a stream.
var labels = map[state]string{
	stateFine: "Up to date", stateWaiting: "Not run yet", stateLate: "Late", stateFailing: "Failing",
	stateIncomplete: "Incomplete",
	stateGuarded:    "Needs a person", stateDisabled: "Disabled", statePaused: "Paused", stateRemoved: "Not configured",
	stateUnknown: "Unknown",
	stateCut:     "Unknown", stateDoubtful: "Unknown",
}

func (s state) label() string { return labels[s] }

// Known reports whether the state of the stream was ever read from the warehouse.
func (s state) Known() bool { return s != stateUnknown }

// State returns the state of a paused stream.
func (pausedRow) State() state { return statePaused }

// State returns the state of a failed check.
func (checkRow) State() state { return stateDoubtful }

// tone is how a run is drawn: the CSS class that gives it its colour, and whether a cross marks it, for people
// who cannot see the colour.
type tone struct {
	class  string
	marked bool
}

// tones has the tone of a run by its outcome.
var tones = map[string]tone{
	warehouse.OutcomeSuccess: {class: "good"}, warehouse.OutcomeRunning: {class: "running"},
	warehouse.OutcomeFailed: {"bad", true}, warehouse.OutcomeKilled: {"bad", true},
	warehouse.OutcomeGuarded: {"guard", true}, warehouse.OutcomeIncomplete: {"late", true},
}

// toneOf returns the tone of a run. A run with an outcome that is not in tones is drawn plainly.
func toneOf(outcome string) tone {
	if t, ok := tones[outcome]; ok {
		return t
	}
	return tone{class: "other"}
}

// together asks several things at the same time. If one of them panics, together panics too, once all have ended,
// because the server recovers only from a panic in the goroutine that answers a request. The server logs the value of
// the panic, so that contains the stack.
func together(ctx context.Context, all []func(context.Context)) {
	asked := make([]func(), len(all))
	for i, ask := range all {
		asked[i] = func() { ask(ctx) }
	}
	if p, panicked := errors.AsType[*panics.Error](panics.AtOnce(asked...)); panicked {
		panic(fmt.Sprintf("%v\n%s", p.Value, p.Stack))
	}
}

// moment is a time as text for people: how long ago it was, and the exact time.
type moment struct{ Words, Exact, Short, ISO string }

// moment is for a time by the clock of the warehouse, localMoment for one by this machine's.
func (o *overview) moment(t time.Time) moment { return momentAt(t, o.now) }

func (o *overview) localMoment(t time.Time) moment { return momentAt(t, o.local) }

func (o *overview) optionalMoment(t *time.Time) *moment {
	if t == nil {
		return nil
	}
	m := o.moment(*t)
	return &m
}

func momentAt(t, now time.Time) moment {
	m := moment{Exact: exact(t), Short: t.UTC().Format("2006-01-02 15:04"), ISO: rfc3339(t), Words: ago(now.Sub(t))}
	if t.After(now) {
		m.Words = until(t.Sub(now))
	}
	return m
}

// pausedRow says who has paused a stream.
type pausedRow struct {
	By, Reason string
	Since      moment
	OfAccount  bool
}

// checkRow is the newest outcome of a check of the loaded data.
type checkRow struct {
	Name, RunID     string
	Failed          bool
	Found, Expected string
	Detail          string
	At              moment
}

// mark has the runs of one kind in a lane, as one SVG path, because a page may have many thousands of runs.
type mark struct{ Class, Path string }

func capitalized(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// exact returns a time in full, for people.
func exact(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }

// ago says how long ago something was.
func ago(d time.Duration) string { return term.Ago(d, term.Long) }

// until says how long it is until something.
func until(d time.Duration) string {
	if d < time.Second {
		return "now"
	}
	return "in " + term.Long(d)
}

// rfc3339 returns a time as it is written in JSON and in markup.
func rfc3339(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func accountPath(account string) string { return "/?account=" + url.QueryEscape(account) }

func streamPath(id warehouse.StreamID) string {
	return "/streams/" + url.PathEscape(id.Account) + "/" + url.PathEscape(id.Stream)
}

// need returns the state of a stream by which it is ordered: what a person must know first.
func (st *streamState) need() state {
	if st.state == stateFine && (len(st.failedChecks()) > 0 || st.rejects > 0) {
		return stateDoubtful
	}
	return st.state
}

type pill struct {
	State state
	Label string
}

// attemptFailed reports that the last attempt of this process failed, and that nothing has succeeded since, as another
// process may have loaded the stream. Each age is measured by the clock that dated it.
func (o *overview) attemptFailed(st *streamState) bool {
	age := o.age(st)
	return st.LastError != "" && (age == nil || *age > o.local.Sub(st.FailedAt))
}

var (
	operation = regexp.MustCompile(`\b(list|get) /\S*: `)
	requested = regexp.MustCompile(` \[GET [^\]]*\]`)
	count     = regexp.MustCompile(`\d+`)
)

// plain returns an error without the parts that differ between the streams of an account.
func plain(text, account string) string {
	text = strings.TrimPrefix(text, "account "+account+": ")
	return requested.ReplaceAllString(operation.ReplaceAllString(text, ""), "")
}

// essence returns the part of an error by which two errors count as equal.
func essence(text, account, stream string) string {
	text = plain(text, account)
	for _, name := range []string{stream, term.Spaced(stream), strings.ReplaceAll(stream, "_", "-")} {
		text = strings.ReplaceAll(text, name, "")
	}
	return count.ReplaceAllString(text, "0")
}
