package warehouse

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// Retention says how long the bookkeeping is kept. Zero keeps it forever.
type Retention struct {
	Runs     time.Duration // after they began
	Rejects  time.Duration // settled ones of transactions, after they were last met; others have a TTL
	Findings time.Duration // about payouts, after they were resolved

	// DealVersions are earlier versions of deals, after they were replaced. Those of transactions and payouts always
	// stay: reconciliation, decisions and closed months are made of them.
	DealVersions time.Duration
}

// Removed is how much was removed of one thing.
type Removed struct {
	What      string
	OlderThan time.Time // by the clock of the warehouse
	Rows      uint64
}

// retentionPause is the shortest time between two removals of what is too old, whichever process does them. To remove
// rows, the server writes their parts again.
const retentionPause = 20 * time.Hour

// Retire removes what is older than r allows, except for what other rows still need. It does nothing if a process did
// so less than retentionPause ago. It works in steps, and after each of them the tables are consistent: a row that
// replaces an older one is removed last, so that the older one does not come back (warehouse-19). If it is killed in
// between, the next call continues. It never removes what is loaded, its history except for that of deals,
// acknowledgements, closed months and what operators did.
func (w *Warehouse) Retire(ctx context.Context, r Retention) (removed []Removed, err error) {
	if r == (Retention{}) {
		return nil, nil
	}
	for _, shard := range w.each() {
		here, err := retirement{shard.pool}.removeOld(ctx, r)
		if removed = append(removed, here...); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// retirement removes what is too old from one warehouse.
type retirement struct{ *pool }

func (x retirement) removeOld(ctx context.Context, r Retention) (removed []Removed, err error) {
	var last, now time.Time
	if err := x.conn.QueryRow(ctx, selectRetired).Scan(&last, &now); err != nil {
		return nil, fmt.Errorf("asking when old rows were removed last: %w", err)
	}
	if age := now.Sub(last); age >= 0 && age < retentionPause {
		return nil, nil
	}
	for _, kind := range []struct {
		what string
		keep time.Duration
		do   func(ctx context.Context, before time.Time) (uint64, error)
	}{{"runs", r.Runs, x.runs}, {"rejects", r.Rejects, x.rejects}, {"findings", r.Findings, x.findings},
		{"deal versions", r.DealVersions, x.dealVersions}} {
		if kind.keep == 0 {
			continue
		}
		old := Removed{What: kind.what, OlderThan: now.Add(-kind.keep)}
		if old.Rows, err = kind.do(ctx, old.OlderThan); err != nil {
			return removed, fmt.Errorf("removing old %s: %w", kind.what, err)
		}
		removed = append(removed, old)
	}
	err = insertEach(ctx, x.pool, "retention_log", retiredColumns, removed, func(old Removed) []any {
		return []any{now, old.What, old.OlderThan, old.Rows}
	})
	if err != nil {
		return removed, fmt.Errorf("recording what was removed: %w", err)
	}
	return removed, nil
}

var retiredColumns = columns("at DateTime64(3), what String, older_than DateTime64(3), removed UInt64")

// keptAtOnce is how many runs one statement names at most as those to keep. The length of a statement is limited by
// max_query_size, whose default has room for 6000 runs. streamsAtOnce is how many streams it names at most.
const (
	keptAtOnce    = 4000
	streamsAtOnce = 500
)

// runs removes runs that began before a time, of streams of which no run is being published.
func (x retirement) runs(ctx context.Context, before time.Time) (removed uint64, err error) {
	cut := named("before", fmt.Sprint(before.UnixMilli()))
	rows, err := x.conn.Query(ctx, selectOldRuns, cut)
	type old struct {
		StreamID
		runs uint64
		kept []string
	}
	all, err := scanned(rows, err, func(o *old) []any { return []any{&o.Account, &o.Stream, &o.runs, &o.kept} })
	if err != nil {
		return 0, err
	}
	for len(all) > 0 {
		var streams, kept []string
		for len(all) > 0 && len(streams) < streamsAtOnce && len(kept)+len(all[0].kept) <= keptAtOnce {
			o := all[0]
			streams = append(streams, "("+quote(o.Account)+", "+quote(o.Stream)+")")
			kept = append(kept, o.kept...)
			removed += o.runs
			all = all[1:]
		}
		if len(streams) == 0 { // it has failed for so long that more of its runs are needed than a statement can name
			all = all[1:]
			continue
		}
		for _, last := range []bool{false, true} {
			if err := x.mutate(ctx, deleteRuns(before, streams, kept, last)); err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}

// rowsAtOnce is how many rows one statement names and removes. statementsAtMost is how many such statements are run in
// a day: what is left then is for the next one.
const (
	rowsAtOnce       = 2000
	versionsAtOnce   = 6000 // max_query_size has room for 7000
	statementsAtMost = 10
)

// rejects removes rejects of transactions that are settled, and were met last before a time.
func (x retirement) rejects(ctx context.Context, before time.Time) (uint64, error) {
	return x.byID(ctx, before, selectOldRejects, rowsAtOnce, func(ids []string) []string {
		return []string{deleteRejects(before, ids)}
	})
}

// findings removes findings that were resolved before a time: first the rows in which they are still open.
func (x retirement) findings(ctx context.Context, before time.Time) (uint64, error) {
	return x.byID(ctx, before, selectOldFindings, rowsAtOnce, func(ids []string) []string {
		return []string{deleteFindings(before, ids, false), deleteFindings(before, ids, true)}
	})
}

// dealVersions removes versions of deals that a later one had replaced before a time. What was listed at any moment
// since then does not change.
func (x retirement) dealVersions(ctx context.Context, before time.Time) (removed uint64, err error) {
	for _, s := range dealHistories() {
		n, err := x.byID(ctx, before, selectOldVersions(s), versionsAtOnce, func(ids []string) []string {
			return []string{deleteVersions(s, before, ids)}
		})
		if removed += n; err != nil {
			return removed, fmt.Errorf("of %s: %w", s.Name, err)
		}
	}
	return removed, nil
}

// byID removes the rows that a query finds, atOnce with each statement.
func (x retirement) byID(ctx context.Context, before time.Time, query string, atOnce int,
	statements func(ids []string) []string) (removed uint64, err error) {
	rows, err := x.conn.Query(ctx, query, named("before", fmt.Sprint(before.UnixMilli())),
		named("limit", fmt.Sprint(atOnce*statementsAtMost)))
	ids, err := scanned(rows, err, only[string])
	if err != nil {
		return 0, err
	}
	for some := range slices.Chunk(ids, atOnce) {
		for _, statement := range statements(some) {
			if err := x.mutate(ctx, statement); err != nil {
				return removed, err
			}
		}
		removed += uint64(len(some))
	}
	return removed, nil
}

// mutate changes rows that are stored, and returns when that is done.
func (x retirement) mutate(ctx context.Context, statement string) error {
	return x.conn.Exec(clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"mutations_sync": 1})),
		statement)
}
