package web

import (
	"context"
	"time"

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
