package warehouse

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/catalog"
)

// stateDecisions is up to which synced_at the versions of transactions are taken into account in transaction_decisions,
// in milliseconds since 1970.
const stateDecisions = "decisions"

// decisionsOverlap is how far back KeepDecisions begins: versions become visible in another order than that of their
// synced_at when runs end side by side.
const decisionsOverlap = time.Hour

// KeepDecisions brings transaction_decisions up to date with the versions of the account's transactions. It is what
// takes seconds and a gigabyte over all versions of 5 million transactions, and milliseconds over those of a run. A
// materialized view could not do it: what is attached to a table passes none by. It can be repeated, and left out: the
// next call makes up for it.
//
// A transaction whose newest version is not the current one is left for later: it belongs to a run that is about to be
// published, and confirmation_funnel shows decisions beside current rows (warehouse-12).
func (w *Warehouse) KeepDecisions(ctx context.Context, account string) error {
	stream := catalog.Transactions().Name
	kept, err := w.state(ctx, account, stream, stateDecisions)
	if err != nil {
		return err
	}
	from := int64(0) // all of them
	if kept.value != "" {
		if from, err = strconv.ParseInt(kept.value, 10, 64); err != nil {
			return fmt.Errorf("reading up to when the decisions of account %s are kept: %w", account, err)
		}
	}
	// What lies ahead was loaded while the clock was wrong. It is old, but looks new each time until then.
	var to int64
	err = w.conn.QueryRow(ctx, fmt.Sprintf("SELECT toUnixTimestamp64Milli(maxIf(synced_at, synced_at <= now64(3) + toIntervalMillisecond(%d))) FROM %s_latest WHERE account = {account:String}",
		clockTolerance.Milliseconds(), stream), named("account", account)).Scan(&to)
	if err != nil {
		return fmt.Errorf("reading how new the transactions of account %s are: %w", account, err)
	}
	switch {
	case to == from:
		return nil
	case to < from:
		from = 0 // what was kept up to then was kept by that clock
	}
	news := ""
	if from > 0 {
		news = " AND id IN (SELECT id FROM " + stream + "_versions WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')" +
			" AND (status != " + quote(catalog.StatusPending) + " OR _deleted))"
	}
	// In the order of the key, so that memory does not grow with the transactions.
	settings := clickhouse.Settings{"optimize_aggregation_in_order": 1, "join_algorithm": "full_sorting_merge"}
	err = w.conn.Exec(w.write(ctx, settings), insertDecisions(stream, news),
		named("account", account), named("from", fmt.Sprint(from-decisionsOverlap.Milliseconds())))
	if err != nil {
		return fmt.Errorf("keeping when the transactions of account %s were decided: %w", account, err)
	}
	return w.saveStates(ctx, account, stream, stateRow{stateDecisions, fmt.Sprint(to), 0})
}

// insertDecisions computes the decisions of transactions anew, from all versions of those that news leaves. What vanished
// upstream has none. Parameters: account, and those of news.
func insertDecisions(stream, news string) string {
	return strings.NewReplacer("{stream}", stream, "{news}", news,
		"{pending}", quote(catalog.StatusPending), "{confirmed}", quote(catalog.StatusConfirmed), "{declined}", quote(catalog.StatusDeclined)).Replace(
		`INSERT INTO transaction_decisions_log (account, id, retailer_id, currency_code, clicked_at, sold_at, confirmed_at, declined_at, version)
SELECT account, v.id, retailer, currency, clicked, sold, if(confirmed > pending AND NOT gone, confirmed, NULL), if(declined > pending AND NOT gone, declined, NULL), newest
FROM
(
    SELECT account, id, argMax((retailer_id, currency_code, clicked_at, sold_at), _version) AS row,
        row.1 AS retailer, row.2 AS currency, row.3 AS clicked, row.4 AS sold,
        max(_version) AS newest, argMax(_deleted, _version) AS gone,
        minIf(updated_at, status = {pending}) AS pending, minIf(updated_at, status = {confirmed}) AS confirmed, minIf(updated_at, status = {declined}) AS declined
    FROM {stream}_versions
    WHERE account = {account:String}{news}
    GROUP BY account, id
) AS v
INNER JOIN (SELECT id, _version FROM {stream}_latest FINAL WHERE account = {account:String}{news}) AS l ON v.id = l.id
WHERE newest = l._version AND (confirmed > pending OR declined > pending)`)
}
