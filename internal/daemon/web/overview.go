package web

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/panics"
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

func (a *answers) readBookkeeping(ctx context.Context, _ struct{}) (b bookkeeping, err error) {
	if b.standings, err = a.o.Warehouse.Standings(ctx); err != nil {
		return b, err
	}
	if len(b.standings) > 0 {
		b.now = b.standings[0].Now
	}
	b.guarded, err = a.o.Warehouse.GuardedRuns(ctx)
	return b, err
}

// charts has the last runs of each stream, the newest first.
type charts map[warehouse.StreamID][]warehouse.RunRecord

func (a *answers) readCharts(ctx context.Context, _ struct{}) (charts, error) {
	runs, err := a.o.Warehouse.Runs(ctx, warehouse.RunFilter{WholeLooks: true, Brief: true, PerStream: chartRuns,
		Limit: mostChartRuns})
	if err != nil {
		return nil, err
	}
	of := charts{}
	for _, r := range runs {
		id := warehouse.StreamID{Account: r.Account, Stream: r.Stream}
		of[id] = append(of[id], r)
	}
	return of, nil
}

func (a *answers) readCounts(ctx context.Context, _ struct{}) (map[warehouse.StreamID]uint64, error) {
	return a.o.Warehouse.LiveRows(ctx)
}

func (a *answers) readChecks(ctx context.Context, _ struct{}) (map[warehouse.StreamID][]warehouse.Check, error) {
	return a.o.Warehouse.LatestChecks(ctx)
}

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

// overview asks for the state of everything. Then, if the warehouse answers, it calls besides, which asks what else a
// page needs. All that is asked at the same time, because most of a query's time is its planning.
func (a *answers) overview(ctx context.Context, besides ...func(context.Context)) overview {
	books := a.books.get(ctx, struct{}{})
	counts, checks, room := a.counts.last(struct{}{}), a.checks.last(struct{}{}), answer[warehouse.Storage]{}
	openings := a.openings.last(struct{}{})
	besides = append(besides,
		func(ctx context.Context) { counts = a.counts.get(ctx, struct{}{}) },
		func(ctx context.Context) { checks = a.checks.get(ctx, struct{}{}) },
		func(ctx context.Context) { openings = a.openings.get(ctx, struct{}{}) })
	if a.o.Warehouse.Embedded() {
		besides = append(besides, func(ctx context.Context) { room = a.storage.get(ctx, struct{}{}) })
	}
	if books.err == nil { // the warehouse would not answer these questions either: the last answers are shown
		together(ctx, besides)
	}
	o := overview{local: a.clock(), known: books.at, problem: books.err, findings: a.findings(openings.value)}
	if a.o.Refused != nil {
		o.refused = a.o.Refused()
	}
	o.now = o.local
	if !books.value.now.IsZero() { // warehouse-5: ages are by the clock that dated the runs
		o.now = books.value.now.Add(o.local.Sub(books.at))
	}
	if room.err == nil && !room.at.IsZero() {
		o.room = &room.value
	}
	place := map[warehouse.StreamID]int{}
	add := func(configured Stream, known bool) {
		id := warehouse.StreamID{Account: configured.Account, Stream: configured.Stream}
		place[id] = len(o.streams)
		st := streamState{Stream: configured, id: id, configured: known, checks: checks.value[id],
			rejects: openings.value.Rejects[id]}
		if n, ok := counts.value[id]; ok || !counts.at.IsZero() {
			st.rows = &n
		}
		o.streams = append(o.streams, st)
	}
	for _, configured := range a.o.Streams() {
		add(configured, true)
	}
	for _, standing := range books.value.standings {
		id := warehouse.StreamID{Account: standing.Account, Stream: standing.Stream}
		if _, ok := place[id]; !ok {
			add(Stream{Account: id.Account, Stream: id.Stream}, false)
		}
		o.streams[place[id]].standing = standing
	}
	for i, g := range books.value.guarded {
		if at, ok := place[g.StreamID]; ok {
			o.streams[at].guarded = &books.value.guarded[i]
		}
	}
	for i := range o.streams {
		o.streams[i].state = o.judge(&o.streams[i])
	}
	return o
}

// findings returns what is open about payouts. What was recorded after the last run counts, except for accounts whose
// payouts were compared for a page since, and need nothing: somebody has acknowledged it.
func (a *answers) findings(o warehouse.Openings) map[string]uint64 {
	open := maps.Clone(o.Findings)
	if last, fresh := a.payouts.entry(struct{}{}).read(a.clock(), a.payouts.fresh); fresh && last.err == nil {
		for _, account := range last.value.accounts {
			if !account.NeedsWork {
				delete(open, account.Account)
			}
		}
	}
	return open
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
