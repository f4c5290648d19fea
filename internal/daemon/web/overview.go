package web

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/warehouse"
)

// chartRuns is how many runs of a stream the chart of the overview has.
const chartRuns = 30

// mostChartRuns bounds how many runs of all streams are read for charts.
const mostChartRuns = 100_000

// bookkeeping is what the warehouse knows about all streams.
type bookkeeping struct {
	now       time.Time // by the clock of the warehouse; zero when nothing ever ran
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

// charts are the last runs of each stream, the newest first.
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
	now     time.Time          // the warehouse's, carried forward since it was asked; it dates all that comes from there
	known   time.Time          // when the warehouse last answered, by this machine's clock; zero: never
	problem error              // why it does not answer now
	room    *warehouse.Storage // of an embedded warehouse; nil: not known, or a server's
	streams []streamState
}

// streamState is where one stream stands. Streams that ran once and are no longer configured are among them.
type streamState struct {
	Stream
	id         warehouse.StreamID
	configured bool
	state      state
	standing   warehouse.StreamStatus // zero when it never ran, or nothing is known
	rows       *uint64                // nil: not known
	runs       []warehouse.RunRecord  // of its chart, the newest first; nil where none is shown
	checks     []warehouse.Check      // the newest of each kind, those that failed first
	guarded    *warehouse.GuardedRun  // waits for consent; nil: none does
}

// failedChecks are the checks of what is loaded that do not hold. They do not change the state of the stream
// (quality_checks).
func (st *streamState) failedChecks() []warehouse.Check {
	for i, c := range st.checks {
		if c.OK {
			return st.checks[:i]
		}
	}
	return st.checks
}

// overview asks where everything stands, and then, if the warehouse answers, what a page asks besides: at the same time,
// since most of a question's time is its planning.
func (a *answers) overview(ctx context.Context, besides ...func(context.Context)) overview {
	books := a.books.get(ctx, struct{}{})
	counts, checks, room := a.counts.last(struct{}{}), a.checks.last(struct{}{}), answer[warehouse.Storage]{}
	besides = append(besides,
		func(ctx context.Context) { counts = a.counts.get(ctx, struct{}{}) },
		func(ctx context.Context) { checks = a.checks.get(ctx, struct{}{}) })
	if a.o.Warehouse.Embedded() {
		besides = append(besides, func(ctx context.Context) { room = a.storage.get(ctx, struct{}{}) })
	}
	if books.err == nil { // the warehouse would not answer these questions either: the last answers are shown
		together(ctx, besides)
	}
	o := overview{local: a.clock(), known: books.at, problem: books.err}
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
		st := streamState{Stream: configured, id: id, configured: known, checks: checks.value[id]}
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

// chart gives each stream the runs that its chart shows.
func (o *overview) chart(c charts) {
	for i := range o.streams {
		o.streams[i].runs = c[o.streams[i].id]
	}
}

// find is the stream of that name, or nil.
func (o *overview) find(id warehouse.StreamID) *streamState {
	for i := range o.streams {
		if o.streams[i].id == id {
			return &o.streams[i]
		}
	}
	return nil
}

// age is how long ago the stream last succeeded, nil when it never did.
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
