package web

import (
	"context"
	"maps"
	"slices"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/payouts"
	"dealhouse/internal/warehouse"
)

// answers has what the pages and the JSON API show of the warehouse: each kind of question is asked in one place, and
// its answer is kept for a moment (web-3). What the daemon itself knows is added here too.
type answers struct {
	o     *Options
	clock func() time.Time
	reads *reads

	ready     *kept[struct{}, struct{}]
	books     *kept[struct{}, bookkeeping]
	charts    *kept[struct{}, charts]
	counts    *kept[struct{}, map[warehouse.StreamID]uint64]
	openings  *kept[struct{}, warehouse.Openings]
	storage   *kept[struct{}, warehouse.Storage]
	receivers *kept[struct{}, map[string]warehouse.ReceiverState]
	checks    *kept[struct{}, map[warehouse.StreamID][]warehouse.Check]
	payouts   *kept[struct{}, reconciliation]
	// onePayout, statements and figures have what the pages of a payout and of a month show.
	onePayout  *kept[payoutKey, payoutDetails]
	statements *kept[statementKey, statementDetails]
	figures    *kept[figureKey, figureRows]
	actions    *kept[int, []warehouse.Action]
	runs       *kept[warehouse.RunFilter, []warehouse.RunRecord]
	details    *kept[warehouse.StreamID, details]
	spans      *kept[daySpan, spans]
}

// newAnswers prepares the caches of the answers. It asks nothing yet.
func newAnswers(o *Options) *answers {
	reads := newReads(o.Clock, o.Waits.Read)
	a := &answers{o: o, clock: o.Clock, reads: reads}
	a.ready = keep(reads, readyFor, func(ctx context.Context, _ struct{}) (struct{}, error) {
		return struct{}{}, o.Ready(ctx)
	})
	a.books = keep(reads, freshFor, a.readBookkeeping)
	a.charts = keep(reads, freshFor, a.readCharts)
	a.counts = keep(reads, countsFor, a.readCounts)
	a.openings = keep(reads, countsFor, a.readOpenings)
	a.receivers = keep(reads, freshFor, a.readReceivers)
	a.storage = keep(reads, storageFor, a.readStorage)
	a.checks = keep(reads, countsFor, a.readChecks)
	a.payouts = keep(reads, payoutsFor, a.readPayouts)
	a.payouts.timeout = o.Waits.Compare
	a.onePayout = keep(reads, countsFor, a.readPayout)
	a.statements = keep(reads, countsFor, a.readStatement)
	a.figures = keep(reads, countsFor, a.readFigure)
	a.onePayout.timeout, a.statements.timeout, a.figures.timeout = o.Waits.Detail, o.Waits.Detail, o.Waits.Detail
	a.actions = keep(reads, freshFor, a.readActions)
	a.runs = keep(reads, freshFor, a.readRuns)
	a.details = keep(reads, freshFor, a.readDetails)
	a.spans = keep(reads, timelineFor, a.readSpans)
	return a
}

func (a *answers) readActions(ctx context.Context, limit int) ([]warehouse.Action, error) {
	return a.o.Warehouse.Actions(ctx, limit)
}

// rules returns the rules of the reconciliation from the configuration in force.
func (a *answers) rules() payouts.Filter {
	return payouts.Filter{OverdueAfter: a.o.OverdueAfter(), Tolerances: a.o.Tolerances()}
}

func (a *answers) readSpans(ctx context.Context, d daySpan) (x spans, err error) {
	x.runs, x.more, err = a.o.Warehouse.RunSpans(ctx, d.from, d.to, mostSpans)
	return x, err
}

// configured reports whether an account is configured. "", which means all accounts, always is.
func (a *answers) configured(account string) bool {
	return account == "" || slices.ContainsFunc(a.o.Streams(), func(st Stream) bool { return st.Account == account })
}

func (a *answers) readRuns(ctx context.Context, f warehouse.RunFilter) ([]warehouse.RunRecord, error) {
	return a.o.Warehouse.Runs(ctx, f)
}

// receiverStates returns the receivers of the configuration, with what the warehouse knows about them, and their forms.
func (a *answers) receiverStates(ctx context.Context) (all []warehouse.ReceiverState, forms []string, err error) {
	if a.o.Receivers == nil {
		return nil, nil, nil
	}
	names, forms := a.o.Receivers()
	if len(names) == 0 {
		return nil, nil, nil
	}
	known := a.receivers.get(ctx, struct{}{})
	for _, name := range names {
		state := known.value[name]
		state.Receiver = name
		all = append(all, state)
	}
	return all, forms, known.err
}

func (a *answers) readReceivers(ctx context.Context, _ struct{}) (map[string]warehouse.ReceiverState, error) {
	return a.o.Warehouse.At("").Receivers(ctx)
}

func (a *answers) readStatement(ctx context.Context, k statementKey) (d statementDetails, err error) {
	if d.Statement, err = payouts.NewStatement(ctx, a.o.Warehouse, k.account, k.month); err != nil {
		return d, err
	}
	d.threeWay, err = payouts.MonthThreeWay(ctx, a.o.Warehouse, k.account, k.month)
	return d, err
}

// knowsAccount reports whether an account is configured, or was.
func (a *answers) knowsAccount(ctx context.Context, account string) bool {
	o := a.overview(ctx)
	for i := range o.streams {
		if o.streams[i].id.Account == account {
			return true
		}
	}
	return false
}

func (a *answers) readFigure(ctx context.Context, k figureKey) (all figureRows, err error) {
	err = payouts.EachBehind(ctx, a.o.Warehouse, k.account, k.month, k.figure, func(b payouts.Behind) error {
		if all.n < shownTransactions {
			all.rows = append(all.rows, b)
		}
		all.n, all.sum = all.n+1, all.sum.Add(b.Balance)
		return nil
	})
	return all, err
}

func (a *answers) readOpenings(ctx context.Context, _ struct{}) (warehouse.Openings, error) {
	return a.o.Warehouse.Openings(ctx)
}

func (a *answers) readStorage(ctx context.Context, _ struct{}) (warehouse.Storage, error) {
	return a.o.Warehouse.Storage(ctx)
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

func (a *answers) readPayouts(ctx context.Context, _ struct{}) (out reconciliation, err error) {
	r, err := payouts.Reconcile(ctx, a.o.Warehouse, a.rules())
	if err != nil {
		return out, err
	}
	for _, account := range r.Accounts() {
		out.accounts = append(out.accounts, newAccountPayouts(r.Of(account)))
	}
	return out, nil
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

func (a *answers) readPayout(ctx context.Context, k payoutKey) (d payoutDetails, err error) {
	f := a.rules()
	f.Account, f.Payout = k.account, &k.id
	r, err := payouts.Reconcile(ctx, a.o.Warehouse, f)
	if err != nil || len(r.Payouts) != 1 {
		return d, err
	}
	p := r.Payouts[0]
	acknowledged, err := a.o.Warehouse.Acknowledgements(ctx, k.account)
	if err != nil {
		return d, err
	}
	acknowledged = slices.DeleteFunc(acknowledged, func(a warehouse.Acknowledgement) bool { return a.Payout != k.id })
	three, err := payouts.PayoutThreeWay(ctx, a.o.Warehouse, k.account, k.id)
	if err != nil {
		return d, err
	}
	d.there, d.body = true, newPayoutBody(r, p)
	d.body.ThreeWay = newThreeWayTable(three, d.body.Path)
	d.body.History = historyOf(r, p, acknowledged)
	return d, nil
}

// forms has what an operator can do with a stream, or an account, from a page.
type forms struct {
	Token, Account, Stream string
	Back                   string // the page to return to, as backTo knows it
	Name                   string // for people
	Running, Stopping      bool
	Paused                 bool // the stream or account itself is paused
	OfAccount              bool // its account is paused
	Full                   bool // it can be told to read everything
	RunID, Deletes         string
}

// storageFor is how long the measured disk use of the warehouse is reused.
const storageFor = time.Minute

// withPayouts returns all accounts, the configured ones first, even those that have no payouts.
func (o *overview) withPayouts(known []accountPayouts) []accountPayouts {
	var all []accountPayouts
	add := func(account string) {
		if slices.ContainsFunc(all, func(a accountPayouts) bool { return a.Account == account }) {
			return
		}
		a := accountPayouts{Account: account, State: stateWaiting, Summary: payouts.Reconciliation{}.Summary()}
		if i := slices.IndexFunc(known, func(a accountPayouts) bool { return a.Account == account }); i >= 0 {
			a = known[i]
		}
		if st := o.find(warehouse.StreamID{Account: account, Stream: catalog.Payouts().Name}); st != nil {
			a.Loaded = st.standing.LastSuccess != nil
		}
		all = append(all, a)
	}
	for i := range o.streams {
		if o.streams[i].configured {
			add(o.streams[i].id.Account)
		}
	}
	for _, a := range known {
		add(a.Account)
	}
	return all
}
