-- What is sent by functions that write it where they send it, of all streams.

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

-- Reader.LatestChecks
SELECT account, stream, check, max(checked_at), argMax(run_id, checked_at), argMax(ok, checked_at) AS holds,
    argMax(found, checked_at), argMax(expected, checked_at), argMax(detail, checked_at)
FROM quality_checks_log GROUP BY account, stream, check ORDER BY account, stream, holds, check;

-- Reader.Openings
SELECT account, count() FROM payout_findings WHERE resolved_at IS NULL GROUP BY account;

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

-- Reader.Storage
SELECT (SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase()), (SELECT min(free_space) FROM system.disks);

-- Warehouse.HasFindings
SELECT count() FROM (SELECT 1 FROM payout_findings_log WHERE account = {account:String} LIMIT 1);

-- Warehouse.KeepDecisions
INSERT INTO transaction_decisions_log (account, id, retailer_id, currency_code, clicked_at, sold_at, confirmed_at, declined_at, version)
SELECT account, v.id, retailer, currency, clicked, sold, if(confirmed > pending AND NOT gone, confirmed, NULL), if(declined > pending AND NOT gone, declined, NULL), newest
FROM
(
    SELECT account, id, argMax((retailer_id, currency_code, clicked_at, sold_at), _version) AS row,
        row.1 AS retailer, row.2 AS currency, row.3 AS clicked, row.4 AS sold,
        max(_version) AS newest, argMax(_deleted, _version) AS gone,
        minIf(updated_at, status = 'PENDING') AS pending, minIf(updated_at, status = 'CONFIRMED') AS confirmed, minIf(updated_at, status = 'DECLINED') AS declined
    FROM transactions_versions
    WHERE account = {account:String} AND id IN (SELECT id FROM transactions_versions WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND (status != 'PENDING' OR _deleted))
    GROUP BY account, id
) AS v
INNER JOIN (SELECT id, _version FROM transactions_latest FINAL WHERE account = {account:String} AND id IN (SELECT id FROM transactions_versions WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND (status != 'PENDING' OR _deleted))) AS l ON v.id = l.id
WHERE newest = l._version AND (confirmed > pending OR declined > pending);

-- Warehouse.KeepDecisions
INSERT INTO transaction_decisions_log (account, id, retailer_id, currency_code, clicked_at, sold_at, confirmed_at, declined_at, version)
SELECT account, v.id, retailer, currency, clicked, sold, if(confirmed > pending AND NOT gone, confirmed, NULL), if(declined > pending AND NOT gone, declined, NULL), newest
FROM
(
    SELECT account, id, argMax((retailer_id, currency_code, clicked_at, sold_at), _version) AS row,
        row.1 AS retailer, row.2 AS currency, row.3 AS clicked, row.4 AS sold,
        max(_version) AS newest, argMax(_deleted, _version) AS gone,
        minIf(updated_at, status = 'PENDING') AS pending, minIf(updated_at, status = 'CONFIRMED') AS confirmed, minIf(updated_at, status = 'DECLINED') AS declined
    FROM transactions_versions
    WHERE account = {account:String}
    GROUP BY account, id
) AS v
INNER JOIN (SELECT id, _version FROM transactions_latest FINAL WHERE account = {account:String}) AS l ON v.id = l.id
WHERE newest = l._version AND (confirmed > pending OR declined > pending);

-- Warehouse.KeepDecisions
SELECT toUnixTimestamp64Milli(maxIf(synced_at, synced_at <= now64(3) + toIntervalMillisecond(60000))) FROM transactions_latest WHERE account = {account:String};

-- Warehouse.recordFindings
INSERT INTO payout_findings_log (account, kind, subject, detail, first_seen, last_seen, resolved_at, version);

-- Warehouse.recordFindings
SELECT account, kind, subject, detail, first_seen FROM payout_findings WHERE account = {account:String} AND resolved_at IS NULL;

-- Warehouse.saveChecks
INSERT INTO quality_checks_log (account, stream, run_id, check, ok, found, expected, detail, checked_at);

-- migrator.Migrate
ALTER TABLE products_staging ADD COLUMN IF NOT EXISTS brand_name String AFTER currency_code;

-- migrator.Migrate
CREATE DATABASE IF NOT EXISTS `dealhouse`;

-- pool.EarlierAction
SELECT action_id, at, actor, via, action, account, stream, run_id, deletes, reason, request FROM operator_actions_log WHERE key = {key:String} ORDER BY version LIMIT 1;

-- pool.RecordAction
INSERT INTO operator_actions_log (action_id, at, actor, via, action, account, stream, run_id, deletes, reason, key, request, version);

-- pool.SaveRun
INSERT INTO sync_runs_log (account, stream, run_id, mode, started_at, finished_at, outcome, requested_after, watermark, server_time, pages, rows_read, inserted, updated, deleted, would_delete, unchanged, older, waiting, rejected, duplicates, bytes, retries, warnings, error, version);

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
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(greatest(0, toUnixTimestamp64Micro(toDateTime64(max(checked_at), 6, 'UTC')))) FROM quality_checks_log WHERE account = {account:String} AND stream = {stream:String};

-- pool.timeAfter
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(max(version)) FROM operator_actions_log;

-- pool.timeAfter
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(max(version)) FROM payout_findings_log WHERE account = {account:String};

-- pool.timeAfter
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(max(version)) FROM sync_runs_log WHERE account = {account:String} AND stream = {stream:String} AND run_id = {run:UUID};

-- quality.keys
SELECT toUInt64(count() - uniqExact(id)) FROM cashback_offers WHERE account = {account:String};

-- quality.keys
SELECT toUInt64(count() - uniqExact(id)) FROM cashback_offers WHERE account = {account:String} AND id IN (SELECT id FROM cashback_offers_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC'));

-- quality.keys
SELECT toUInt64(count() - uniqExact(id)) FROM coupons WHERE account = {account:String};

-- quality.keys
SELECT toUInt64(count() - uniqExact(id)) FROM coupons WHERE account = {account:String} AND id IN (SELECT id FROM coupons_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC'));

-- quality.keys
SELECT toUInt64(count() - uniqExact(id)) FROM payouts WHERE account = {account:String};

-- quality.keys
SELECT toUInt64(count() - uniqExact(id)) FROM payouts WHERE account = {account:String} AND id IN (SELECT id FROM payouts_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC'));

-- quality.keys
SELECT toUInt64(count() - uniqExact(id)) FROM promotions WHERE account = {account:String};

-- quality.keys
SELECT toUInt64(count() - uniqExact(id)) FROM promotions WHERE account = {account:String} AND id IN (SELECT id FROM promotions_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC'));

-- quality.keys
SELECT toUInt64(count() - uniqExact(id)) FROM transactions WHERE account = {account:String};

-- quality.keys
SELECT toUInt64(count() - uniqExact(id)) FROM transactions WHERE account = {account:String} AND id IN (SELECT id FROM transactions_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC'));

-- quality.keys
SELECT toUInt64(count() - uniqExact(product_key)) FROM products WHERE account = {account:String};

-- quality.keys
SELECT toUInt64(count() - uniqExact(product_key)) FROM products WHERE account = {account:String} AND product_key IN (SELECT product_key FROM products_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC'));

-- quality.payouts
SELECT count(), ifNull(any(payout_id), 0) FROM transactions WHERE account = {account:String} AND payout_id NOT IN (SELECT id FROM payouts WHERE account = {account:String}) AND synced_at < fromUnixTimestamp64Milli({loaded:Int64}, 'UTC');

-- quality.payouts
SELECT count(), ifNull(any(payout_id), 0) FROM transactions_latest WHERE account = {account:String} AND payout_id NOT IN (SELECT id FROM payouts WHERE account = {account:String}) AND synced_at < fromUnixTimestamp64Milli({loaded:Int64}, 'UTC');

-- quality.payouts
SELECT max(started_at) FROM sync_runs WHERE account = {account:String} AND stream = 'payouts' AND outcome = 'success' AND mode NOT IN ('retry', 'references') AND started_at <= now64(3, 'UTC') + toIntervalMinute(1);

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

-- quality.values
SELECT countIf(ifNull((ifNull(price < 0, false)), false)), anyIf(toString(product_key), ifNull((ifNull(price < 0, false)), false)) FROM products_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND _deleted = 0;

-- quality.values
SELECT countIf(ifNull((ifNull(total_gmv < 0, false) OR ifNull(total_cashback < 0, false) OR ifNull(confirmed_gmv < 0, false) OR ifNull(pending_gmv < 0, false) OR ifNull(confirmed_cashback < 0, false) OR ifNull(pending_cashback < 0, false)), false)), anyIf(toString(id), ifNull((ifNull(total_gmv < 0, false) OR ifNull(total_cashback < 0, false) OR ifNull(confirmed_gmv < 0, false) OR ifNull(pending_gmv < 0, false) OR ifNull(confirmed_cashback < 0, false) OR ifNull(pending_cashback < 0, false)), false)) FROM payouts_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND _deleted = 0;

-- quality.values
SELECT countIf(ifNull(updated_at > fromUnixTimestamp64Milli({server:Int64}, 'UTC') + toIntervalSecond(3600), false)), anyIf(toString(id), ifNull(updated_at > fromUnixTimestamp64Milli({server:Int64}, 'UTC') + toIntervalSecond(3600), false)) FROM coupons_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND _deleted = 0;

-- quality.values
SELECT countIf(ifNull(updated_at > fromUnixTimestamp64Milli({server:Int64}, 'UTC') + toIntervalSecond(3600), false)), anyIf(toString(id), ifNull(updated_at > fromUnixTimestamp64Milli({server:Int64}, 'UTC') + toIntervalSecond(3600), false)) FROM promotions_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND _deleted = 0;

-- quality.values
SELECT countIf(ifNull(updated_at > fromUnixTimestamp64Milli({server:Int64}, 'UTC') + toIntervalSecond(3600), false)), anyIf(toString(id), ifNull(updated_at > fromUnixTimestamp64Milli({server:Int64}, 'UTC') + toIntervalSecond(3600), false)), countIf(ifNull((ifNull(maximum_fixed_commission_fee < 0, false)), false)), anyIf(toString(id), ifNull((ifNull(maximum_fixed_commission_fee < 0, false)), false)) FROM cashback_offers_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND _deleted = 0;

-- quality.values
SELECT countIf(ifNull(updated_at > fromUnixTimestamp64Milli({server:Int64}, 'UTC') + toIntervalSecond(3600), false)), anyIf(toString(id), ifNull(updated_at > fromUnixTimestamp64Milli({server:Int64}, 'UTC') + toIntervalSecond(3600), false)), countIf(ifNull((ifNull(order_value < 0, false) OR ifNull(cashback < 0, false)) AND status != 'DECLINED', false)), anyIf(toString(id), ifNull((ifNull(order_value < 0, false) OR ifNull(cashback < 0, false)) AND status != 'DECLINED', false)), countIf(ifNull(status NOT IN ('', 'a', 'b') OR status = '', false)), anyIf(toString(id), ifNull(status NOT IN ('', 'a', 'b') OR status = '', false)) FROM transactions_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND _deleted = 0;

-- quality.values
SELECT countIf(ifNull(updated_at > now64(3, 'UTC') + toIntervalSecond(3600), false)), anyIf(toString(id), ifNull(updated_at > now64(3, 'UTC') + toIntervalSecond(3600), false)) FROM coupons_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND _deleted = 0;

-- quality.values
SELECT countIf(ifNull(updated_at > now64(3, 'UTC') + toIntervalSecond(3600), false)), anyIf(toString(id), ifNull(updated_at > now64(3, 'UTC') + toIntervalSecond(3600), false)) FROM promotions_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND _deleted = 0;

-- quality.values
SELECT countIf(ifNull(updated_at > now64(3, 'UTC') + toIntervalSecond(3600), false)), anyIf(toString(id), ifNull(updated_at > now64(3, 'UTC') + toIntervalSecond(3600), false)), countIf(ifNull((ifNull(maximum_fixed_commission_fee < 0, false)), false)), anyIf(toString(id), ifNull((ifNull(maximum_fixed_commission_fee < 0, false)), false)) FROM cashback_offers_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND _deleted = 0;

-- quality.values
SELECT countIf(ifNull(updated_at > now64(3, 'UTC') + toIntervalSecond(3600), false)), anyIf(toString(id), ifNull(updated_at > now64(3, 'UTC') + toIntervalSecond(3600), false)), countIf(ifNull((ifNull(order_value < 0, false) OR ifNull(cashback < 0, false)) AND status != 'DECLINED', false)), anyIf(toString(id), ifNull((ifNull(order_value < 0, false) OR ifNull(cashback < 0, false)) AND status != 'DECLINED', false)), countIf(ifNull(status NOT IN ('', 'a', 'b') OR status = '', false)), anyIf(toString(id), ifNull(status NOT IN ('', 'a', 'b') OR status = '', false)) FROM transactions_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND _deleted = 0;
