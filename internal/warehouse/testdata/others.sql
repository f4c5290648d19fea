-- What is sent by functions that write it where they send it, of all streams.

-- Reader.Acknowledgements
SELECT account, payout_id, kind, currency_code, at, id, amount, entries, amounts, tolerance, reason, note, by
FROM payout_acknowledgements
WHERE {account:String} IN ('', account)
ORDER BY at DESC, account, payout_id, kind, currency_code;

-- Reader.Actions
SELECT action_id, at, actor, via, action, account, stream, run_id, deletes, reason FROM operator_actions_log FINAL ORDER BY version DESC LIMIT 5;

-- Reader.ChangesByDay
SELECT toDate32(started_at) AS day, sum(inserted), sum(updated), sum(deleted), count(),
    countIf(outcome IN ('incomplete', 'failed', 'guarded', 'killed'))
FROM (SELECT started_at, outcome, if(outcome IN ('success', 'incomplete'), inserted, 0) AS inserted, if(outcome IN ('success', 'incomplete'), updated, 0) AS updated,
          if(outcome IN ('success', 'incomplete'), deleted, 0) AS deleted
      FROM sync_runs WHERE account = {account:String} AND stream = {stream:String} AND mode NOT IN ('retry', 'references') AND started_at <= now64(3, 'UTC') + toIntervalMinute(1))
WHERE started_at > now64(3, 'UTC') - toIntervalDay({days:UInt32})
GROUP BY day ORDER BY day;

-- Reader.Closes
SELECT account, toDateTime64(month, 3, 'UTC'), closed_at, id, seen_to, statement, hash, by, note
FROM statement_closes WHERE account = {account:String} ORDER BY month;

-- Reader.CountOpenRejects
SELECT count() FROM (SELECT 1 FROM rejects_log LIMIT 1);

-- Reader.CountSettlements
SELECT uniqExact(reference) FROM settlement_revisions WHERE account = {account:String};

-- Reader.EachDueTransaction
SELECT id, currency_code AS currency, any(retailer_name), any(sold_at) AS sold, toDateTime64(addMonths(toStartOfMonth(sold + toIntervalDay(90)), 1), 3, 'UTC') AS due,
    sumIf(cashback, listed AND payout_id IS NULL AND status != 'DECLINED' AND status != 'CONFIRMED') - sumIf(cashback_before, listed_before AND payout_id_before IS NULL AND status_before != 'DECLINED' AND status_before != 'CONFIRMED') AS pending,
    sumIf(cashback, listed AND payout_id IS NULL AND status != 'DECLINED' AND status = 'CONFIRMED') - sumIf(cashback_before, listed_before AND payout_id_before IS NULL AND status_before != 'DECLINED' AND status_before = 'CONFIRMED') AS confirmed
FROM (SELECT *, toUnixTimestamp64Milli(seen_at) > arrayMin([1767225600000]) AS late, toUnixTimestamp64Milli(if(late, seen_at, at)) AS effective FROM transaction_changes WHERE account = {account:String})
WHERE effective < {to:Int64}
GROUP BY id, currency_code
HAVING countIf(listed AND payout_id IS NULL AND status != 'DECLINED') != countIf(listed_before AND payout_id_before IS NULL AND status_before != 'DECLINED')
ORDER BY currency, due, sold, id;

-- Reader.LatestChecks
SELECT account, stream, check, max(checked_at), argMax(run_id, checked_at), argMax(ok, checked_at) AS holds,
    argMax(found, checked_at), argMax(expected, checked_at), argMax(detail, checked_at)
FROM quality_checks_log GROUP BY account, stream, check ORDER BY account, stream, holds, check;

-- Reader.OpenFindings
SELECT account, kind, subject, detail, first_seen FROM payout_findings WHERE resolved_at IS NULL ORDER BY first_seen, account, kind, subject, detail;

-- Reader.PayoutCurrencies
SELECT payout_id, currency_code, sumIf(stamped_cashback, stamped_status != 'DECLINED'), sumIf(now_cashback, now_status != 'DECLINED')
FROM payout_sums
WHERE account = {account:String} AND payout_id IN (1)
GROUP BY payout_id, currency_code ORDER BY payout_id, currency_code;

-- Reader.PayoutsEnded
SELECT id FROM payouts
WHERE account = {account:String} AND end_date >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND end_date < fromUnixTimestamp64Milli({before:Int64}, 'UTC')
ORDER BY id;

-- Reader.PayoutsPaid
SELECT payout_id, currency_code, paid FROM payout_paid WHERE account = {account:String} ORDER BY payout_id, currency_code;

-- Reader.ReadTextTable
SELECT [ifNull(toString(`account`), ''), ifNull(toString(`reference`), ''), ifNull(toString(`revision`), ''), ifNull(toString(`hash`), ''), ifNull(toString(`received_on`), ''), ifNull(toString(`currency_code`), ''), ifNull(toString(`amount`), ''), ifNull(toString(`fee`), ''), ifNull(toString(`payout_currency`), ''), ifNull(toString(`payout_amount`), ''), ifNull(toString(`unit`), ''), ifNull(toString(arrayStringConcat(arrayMap(x -> toString(x), `payouts`), ' ')), ''), ifNull(toString(`text`), ''), ifNull(toString(`at`), ''), ifNull(toString(`id`), ''), ifNull(toString(`source`), ''), ifNull(toString(`line`), ''), ifNull(toString(`by`), ''), ifNull(toString(`note`), '')] FROM `settlement_revisions` LIMIT 1000001;

-- Reader.ReadTextTable
SELECT name, type FROM system.columns
WHERE database = if({database:String} = '', currentDatabase(), {database:String}) AND table = {table:String} ORDER BY position;

-- Reader.RejectGroups
SELECT key, field, reason, substringUTF8(raw, 1, 4000), toUInt64(length(raw)), page, toString(run_id), first_seen_at, seen_at, times
FROM rejected_records WHERE account = {account:String} AND stream = {stream:String} AND state IN ('open', 'unpublished')
ORDER BY seen_at DESC, key, field, raw LIMIT {limit:UInt32};

-- Reader.RowsByDay
SELECT assumeNotNull(toDate32(day)) AS on_day, count() AS live
FROM product_prices WHERE account = {account:String} AND isNotNull(toDate32(day)) AND toDate32(day) <= toDate32(now64(3, 'UTC'))
GROUP BY on_day ORDER BY on_day DESC LIMIT {days:UInt32};

-- Reader.RowsByDay
SELECT assumeNotNull(toDate32(sold_at)) AS on_day, count() AS live
FROM transactions WHERE account = {account:String} AND isNotNull(toDate32(sold_at)) AND toDate32(sold_at) <= toDate32(now64(3, 'UTC'))
GROUP BY on_day ORDER BY on_day DESC LIMIT {days:UInt32};

-- Reader.SeenTo
SELECT (SELECT max(finished_at) FROM sync_runs WHERE account = {account:String} AND stream = 'transactions' AND outcome = 'success'),
    (SELECT max(complete_to) FROM service_clock WHERE account = {account:String});

-- Reader.UnknownFields
SELECT account, stream, field, first_seen FROM unknown_fields ORDER BY account, stream, field;

-- Reader.VanishedFields
SELECT account, stream, field, missing_since FROM vanished_fields ORDER BY account, stream, field;

-- Reader.anySettlement
SELECT count() FROM (SELECT 1 FROM settlements_log WHERE {account:String} IN ('', account) LIMIT 1);

-- Reader.loadedMark
SELECT count(), ifNull(toUnixTimestamp64Milli(max(synced_at)), 0), (SELECT ifNull(toUnixTimestamp64Milli(max(synced_at)), 0) FROM transactions_latest WHERE account = {account:String}),
    (SELECT countIf(startsWith(name, 'intent:')) = 0 AND countIf(name = 'derived' AND hasAll(splitByChar(' ', value), ['payout_transactions_latest', 'payout_moves_latest'])) = 1
        FROM sync_state WHERE account = {account:String} AND stream = 'transactions')
FROM transactions_versions WHERE account = {account:String};

-- Reader.settlementRevisions
SELECT account, reference, revision, hash, received_on, currency_code, amount, fee, payout_currency, payout_amount, unit, payouts, text, at, id, source, line, by, note
FROM settlement_revisions
WHERE {account:String} IN ('', account) AND has(JSONExtract({references:String}, 'Array(String)'), reference)
ORDER BY at, account, reference, revision, hash;

-- Reader.settlementRevisions
SELECT account, reference, revision, hash, received_on, currency_code, amount, fee, payout_currency, payout_amount, unit, payouts, text, at, id, source, line, by, note
FROM settlement_revisions
WHERE {account:String} IN ('', account)
ORDER BY at, account, reference, revision, hash;

-- Reader.settlements
SELECT account, reference, revision, received_on, currency_code, amount, fee, payout_currency, payout_amount, text, matched_by, payouts, shares, not_loaded, at, by
FROM settlements
WHERE {account:String} IN ('', account) AND has(payouts, {payout:Int64})
ORDER BY account, received_on DESC, reference;

-- Reader.settlements
SELECT account, reference, revision, received_on, currency_code, amount, fee, payout_currency, payout_amount, text, matched_by, payouts, shares, not_loaded, at, by
FROM settlements
WHERE {account:String} IN ('', account)
ORDER BY account, received_on DESC, reference;

-- Reader.threeWays
SELECT account, payout_id, currency_code, earned, paid_out, received, fees, converted, rounding, outstanding, state, settlements, last_received_on
FROM payout_three_way
WHERE {account:String} IN ('', account) AND payout_id = {payout:Int64}
ORDER BY account, payout_id DESC, currency_code;

-- Reader.threeWays
SELECT account, payout_id, currency_code, earned, paid_out, received, fees, converted, rounding, outstanding, state, settlements, last_received_on
FROM payout_three_way
WHERE {account:String} IN ('', account)
ORDER BY account, payout_id DESC, currency_code;

-- Warehouse.Acknowledge
INSERT INTO payout_acknowledgements_log (account, payout_id, kind, currency_code, at, id, amount, entries, amounts, tolerance, reason, note, by);

-- Warehouse.CloseMonth
INSERT INTO statement_closes_log (account, month, closed_at, id, seen_to, statement, hash, by, note);

-- Warehouse.HasFindings
SELECT count() FROM (SELECT 1 FROM payout_findings_log WHERE account = {account:String} LIMIT 1);

-- Warehouse.NoteUnknownFields
SELECT field FROM unknown_fields WHERE account = {account:String} AND stream = {stream:String};

-- Warehouse.accountsOf
SELECT DISTINCT account FROM
(
    SELECT toString(account) AS account FROM sync_state_log WHERE stream = {stream:String}
    UNION ALL
    SELECT DISTINCT toString(account) FROM products_latest
)
ORDER BY account;

-- Warehouse.accountsOf
SELECT DISTINCT account FROM
(
    SELECT toString(account) AS account FROM sync_state_log WHERE stream = {stream:String}
    UNION ALL
    SELECT DISTINCT toString(account) FROM transactions_latest
)
ORDER BY account;

-- Warehouse.addSettlements
INSERT INTO settlements_log (account, reference, revision, hash, received_on, currency_code, amount, fee, payout_currency, payout_amount, unit, payouts, text, at, id, source, line, by, note);

-- Warehouse.makeDatabase
CREATE DATABASE IF NOT EXISTS `dealhouse`;

-- Warehouse.recordFindings
INSERT INTO payout_findings_log (account, kind, subject, detail, first_seen, last_seen, resolved_at, version);

-- Warehouse.recordFindings
SELECT account, kind, subject, detail, first_seen FROM payout_findings WHERE account = {account:String} AND resolved_at IS NULL;

-- Writer.countDeltas
SELECT 'product_prices_latest' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, product_key, day) AS this, lagInFrame(this) OVER (ORDER BY account, product_key, day ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM product_prices_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'product_prices_hashes' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, product_key) AS this, lagInFrame(this) OVER (ORDER BY account, product_key ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM product_prices_hashes_delta_0000000000004000800000000000a11e);

-- Writer.countDeltas
SELECT 'products_latest' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, product_key) AS this, lagInFrame(this) OVER (ORDER BY account, product_key ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM products_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'product_prices_latest' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, product_key, day) AS this, lagInFrame(this) OVER (ORDER BY account, product_key, day ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM product_prices_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'product_prices_hashes' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, product_key) AS this, lagInFrame(this) OVER (ORDER BY account, product_key ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM product_prices_hashes_delta_0000000000004000800000000000a11e);

-- Writer.countDeltas
SELECT table, count() AS rows, uniqExact(key) AS keys, uniqExact(part) AS parts
FROM
(
SELECT 'transactions_latest' AS table, toString(tuple(account, sold_at, id)) AS key, _part AS part FROM transactions_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_keys' AS table, toString(tuple(account, id)) AS key, _part AS part FROM transactions_keys_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_live' AS table, toString(tuple(account)) AS key, _part AS part FROM transactions_live_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_decided' AS table, toString(tuple(account, id)) AS key, _part AS part FROM transactions_decided_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_named' AS table, toString(tuple(account, stream, key)) AS key, _part AS part FROM transactions_named_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'sales_latest' AS table, toString(tuple(account, dated, day, currency_code, retailer_name, identified, retailer_id, country, status)) AS key, _part AS part FROM sales_latest_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'sale_retailers_latest' AS table, toString(tuple(account, retailer_name, retailer_id)) AS key, _part AS part FROM sale_retailers_latest_delta_0000000000004000800000000000a11e
)
GROUP BY table;

-- Writer.countDeltas
SELECT table, count() AS rows, uniqExact(key) AS keys, uniqExact(part) AS parts
FROM
(
SELECT 'transactions_latest' AS table, toString(tuple(account, sold_at, id)) AS key, _part AS part FROM transactions_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_keys' AS table, toString(tuple(account, id)) AS key, _part AS part FROM transactions_keys_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_live' AS table, toString(tuple(account)) AS key, _part AS part FROM transactions_live_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_decided' AS table, toString(tuple(account, id)) AS key, _part AS part FROM transactions_decided_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_named' AS table, toString(tuple(account, stream, key)) AS key, _part AS part FROM transactions_named_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'sales_latest' AS table, toString(tuple(account, dated, day, currency_code, retailer_name, identified, retailer_id, country, status)) AS key, _part AS part FROM sales_latest_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'sale_retailers_latest' AS table, toString(tuple(account, retailer_name, retailer_id)) AS key, _part AS part FROM sale_retailers_latest_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'payout_transactions_latest' AS table, toString(tuple(account, payout_id, id)) AS key, _part AS part FROM payout_transactions_latest_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'payout_sums_latest' AS table, toString(tuple(account, payout_id, quarters, currency_code, state, stamped_status, now_status)) AS key, _part AS part FROM payout_sums_latest_delta_0000000000004000800000000000a11e
)
GROUP BY table;

-- Writer.drop
DROP TABLE IF EXISTS cashback_offers_delta_0000000000004000800000000000a11e, cashback_offers_changes_0000000000004000800000000000a11e SYNC;

-- Writer.drop
DROP TABLE IF EXISTS coupons_delta_0000000000004000800000000000a11e, coupons_changes_0000000000004000800000000000a11e SYNC;

-- Writer.drop
DROP TABLE IF EXISTS payouts_delta_0000000000004000800000000000a11e, payouts_changes_0000000000004000800000000000a11e SYNC;

-- Writer.drop
DROP TABLE IF EXISTS products_delta_0000000000004000800000000000a11e, product_price_changes_latest_delta_0000000000004000800000000000a11e, product_prices_delta_0000000000004000800000000000a11e, product_prices_hashes_delta_0000000000004000800000000000a11e, products_changes_0000000000004000800000000000a11e SYNC;

-- Writer.drop
DROP TABLE IF EXISTS promotions_delta_0000000000004000800000000000a11e, promotions_changes_0000000000004000800000000000a11e SYNC;

-- Writer.drop
DROP TABLE IF EXISTS transactions_delta_0000000000004000800000000000a11e, transactions_moves_0000000000004000800000000000a11e, transactions_changed_0000000000004000800000000000a11e, transactions_keys_delta_0000000000004000800000000000a11e, transactions_live_delta_0000000000004000800000000000a11e, transactions_decided_delta_0000000000004000800000000000a11e, transactions_named_delta_0000000000004000800000000000a11e, sales_latest_delta_0000000000004000800000000000a11e, sale_retailers_latest_delta_0000000000004000800000000000a11e, payout_transactions_latest_delta_0000000000004000800000000000a11e, payout_moves_latest_delta_0000000000004000800000000000a11e, payout_sums_latest_delta_0000000000004000800000000000a11e, transactions_changes_0000000000004000800000000000a11e SYNC;

-- Writer.singlePart
OPTIMIZE TABLE sale_retailers_latest_delta_0000000000004000800000000000a11e FINAL;

-- Writer.touched
SELECT count(),
    countIf(sign = -1),
    countIf(payout_id IS NOT NULL),
    countIf(sign = -1 AND payout_id IS NOT NULL AND (id, assumeNotNull(payout_id)) NOT IN
        (SELECT id, assumeNotNull(payout_id) FROM transactions_changed_0000000000004000800000000000a11e WHERE sign = 1 AND payout_id IS NOT NULL)),
    (SELECT count() FROM payout_moves_latest FINAL WHERE account = {account:String} AND id IN (SELECT id FROM transactions_delta_0000000000004000800000000000a11e))
FROM transactions_changed_0000000000004000800000000000a11e;

-- migrator.apply
ALTER TABLE products_2_staging ADD COLUMN IF NOT EXISTS brand_name String AFTER currency_code;

-- pool.EarlierAction
SELECT action_id, at, actor, via, action, account, stream, run_id, deletes, reason, request FROM operator_actions_log WHERE key = {key:String} ORDER BY version LIMIT 1;

-- pool.RecordAction
INSERT INTO operator_actions_log (action_id, at, actor, via, action, account, stream, run_id, deletes, reason, key, request, version);

-- pool.insertRun
INSERT INTO sync_runs_log (account, stream, run_id, mode, started_at, finished_at, outcome, requested_after, watermark, server_time, pages, rows_read, inserted, updated, deleted, would_delete, out_of_scope, scope, unchanged, older, waiting, rejected, duplicates, bytes, retries, warnings, error, version);

-- pool.markDeadRuns
INSERT INTO sync_runs_log
SELECT * REPLACE ('killed' AS outcome, fromUnixTimestamp64Milli(intDiv({now:Int64}, 1000), 'UTC') AS finished_at, 'the process ended before the run did' AS error,
    greatest(toUInt64({now:Int64}), version + 1) AS version)
FROM
(
    SELECT * FROM sync_runs_log FINAL
    WHERE account = {account:String} AND stream = {stream:String} AND outcome = 'running' AND run_id != {alive:UUID}
);

-- pool.timeAfter
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(greatest(0, toUnixTimestamp64Micro(toDateTime64(max(at), 6, 'UTC')))) FROM payout_acknowledgements_log WHERE account = {account:String};

-- pool.timeAfter
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(greatest(0, toUnixTimestamp64Micro(toDateTime64(max(at), 6, 'UTC')))) FROM settlements_log;

-- pool.timeAfter
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(max(version)) FROM operator_actions_log;

-- pool.timeAfter
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(max(version)) FROM payout_findings_log WHERE account = {account:String};

-- pool.timeAfter
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(max(version)) FROM sync_runs_log WHERE account = {account:String} AND stream = {stream:String} AND run_id = {run:UUID};

-- quality.payouts
SELECT count(), ifNull(any(payout_id), 0) FROM transactions WHERE account = {account:String} AND payout_id IN (7) AND synced_at < fromUnixTimestamp64Milli({loaded:Int64}, 'UTC');

-- quality.prices
SELECT count(), any(toString(p.product_key)) FROM (SELECT product_key, price FROM products_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND _deleted = 0) AS p
INNER JOIN (SELECT product_key, argMax(price, _version) AS price FROM product_prices_latest WHERE account = {account:String} AND day = toDate32(fromUnixTimestamp64Milli({server:Int64}, 'UTC')) GROUP BY product_key) AS h ON p.product_key = h.product_key
WHERE p.price != h.price;

-- quality.prices
SELECT count(), any(toString(p.product_key)) FROM (SELECT product_key, price FROM products_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND _deleted = 0) AS p
INNER JOIN (SELECT product_key, argMax(price, _version) AS price FROM product_prices_latest WHERE account = {account:String} AND day = toDate32(now64(3, 'UTC')) GROUP BY product_key) AS h ON p.product_key = h.product_key
WHERE p.price != h.price;

-- quality.rows
SELECT (SELECT count() FROM cashback_offers WHERE account = {account:String}), (SELECT countIf(synced_at > fromUnixTimestamp64Milli({to:Int64}, 'UTC')) FROM cashback_offers_latest WHERE account = {account:String});

-- quality.rows
SELECT (SELECT count() FROM coupons WHERE account = {account:String}), (SELECT countIf(synced_at > fromUnixTimestamp64Milli({to:Int64}, 'UTC')) FROM coupons_latest WHERE account = {account:String});

-- quality.rows
SELECT (SELECT count() FROM payouts WHERE account = {account:String}), (SELECT countIf(synced_at > fromUnixTimestamp64Milli({to:Int64}, 'UTC')) FROM payouts_latest WHERE account = {account:String});

-- quality.rows
SELECT (SELECT count() FROM products WHERE account = {account:String}), (SELECT countIf(synced_at > fromUnixTimestamp64Milli({to:Int64}, 'UTC')) FROM products_latest WHERE account = {account:String});

-- quality.rows
SELECT (SELECT count() FROM promotions WHERE account = {account:String}), (SELECT countIf(synced_at > fromUnixTimestamp64Milli({to:Int64}, 'UTC')) FROM promotions_latest WHERE account = {account:String});

-- quality.rows
SELECT (SELECT count() FROM transactions WHERE account = {account:String}), (SELECT countIf(synced_at > fromUnixTimestamp64Milli({to:Int64}, 'UTC')) FROM transactions_latest WHERE account = {account:String});

-- quality.save
INSERT INTO quality_checks_log (account, stream, run_id, check, ok, found, expected, detail, checked_at);
