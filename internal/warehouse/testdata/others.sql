-- What is sent, of all streams, that no other file has: by functions that write it where they send it,
-- and by those of the other files with other parameters.

-- Reader.EachDueTransaction
SELECT id, currency_code AS currency, any(retailer_name), any(sold_at) AS sold, toDateTime64(addMonths(toStartOfMonth(sold + toIntervalDay(90)), 1), 3, 'UTC') AS due,
    sumIf(cashback, listed AND payout_id IS NULL AND status != 'DECLINED' AND status != 'CONFIRMED') - sumIf(cashback_before, listed_before AND payout_id_before IS NULL AND status_before != 'DECLINED' AND status_before != 'CONFIRMED') AS pending,
    sumIf(cashback, listed AND payout_id IS NULL AND status != 'DECLINED' AND status = 'CONFIRMED') - sumIf(cashback_before, listed_before AND payout_id_before IS NULL AND status_before != 'DECLINED' AND status_before = 'CONFIRMED') AS confirmed
FROM (SELECT *, toUnixTimestamp64Milli(seen_at) > arrayMin([1767225600000]) AS late, toUnixTimestamp64Milli(if(late, seen_at, at)) AS effective FROM transaction_changes WHERE account = {account:String})
WHERE effective < {to:Int64}
GROUP BY id, currency_code
HAVING countIf(listed AND payout_id IS NULL AND status != 'DECLINED') != countIf(listed_before AND payout_id_before IS NULL AND status_before != 'DECLINED')
ORDER BY currency, due, sold, id;

-- Reader.PaidBefore
SELECT assumeNotNull(payout_id) AS payout, toString(currency_code), sum(cashback)
FROM (SELECT *, toUnixTimestamp64Milli(seen_at) > arrayMin([1767225600000]) AS late, toUnixTimestamp64Milli(if(late, seen_at, at)) AS effective FROM transaction_changes WHERE account = {account:String} AND payout_id IN (1))
WHERE effective < {before:Int64} AND sale = 0 AND first_paid = 1 AND ifNull(payout_id != payout_id_before, 1)
    AND status != 'DECLINED' AND (listed = 1 OR listed_before = 1)
GROUP BY payout, currency_code;

-- Reader.PayoutCurrencies
SELECT payout_id, currency_code, sumIf(stamped_cashback, stamped_status != 'DECLINED'), sumIf(now_cashback, now_status != 'DECLINED')
FROM payout_sums
WHERE account = {account:String} AND payout_id IN (1)
GROUP BY payout_id, currency_code ORDER BY payout_id, currency_code;

-- Reader.ReadTextTable
SELECT [ifNull(toString(`account`), ''), ifNull(toString(`reference`), ''), ifNull(toString(`revision`), ''), ifNull(toString(`hash`), ''), ifNull(toString(`received_on`), ''), ifNull(toString(`currency_code`), ''), ifNull(toString(`amount`), ''), ifNull(toString(`fee`), ''), ifNull(toString(`payout_currency`), ''), ifNull(toString(`payout_amount`), ''), ifNull(toString(`unit`), ''), ifNull(toString(arrayStringConcat(arrayMap(x -> toString(x), `payouts`), ' ')), ''), ifNull(toString(`text`), ''), ifNull(toString(`at`), ''), ifNull(toString(`id`), ''), ifNull(toString(`source`), ''), ifNull(toString(`line`), ''), ifNull(toString(`by`), ''), ifNull(toString(`note`), '')] FROM `settlement_revisions` LIMIT 1000001;

-- Warehouse.Acknowledge
INSERT INTO payout_acknowledgements_log (account, payout_id, kind, currency_code, at, id, amount, entries, amounts, tolerance, reason, note, by);

-- Warehouse.AddSettlementMatches
INSERT INTO settlement_matches_log (account, reference, revision, hash, at, matched_by, payouts, shares, fees, rounding);

-- Warehouse.CloseMonth
INSERT INTO statement_closes_log (account, month, closed_at, id, seen_to, statement, hash, by, note);

-- Warehouse.addSettlements
INSERT INTO settlements_log (account, reference, revision, hash, received_on, currency_code, amount, fee, payout_currency, payout_amount, unit, payouts, text, at, id, source, line, by, note);

-- Warehouse.makeDatabase
CREATE DATABASE IF NOT EXISTS `dealhouse`;

-- Warehouse.recordFindings
INSERT INTO payout_findings_log (account, kind, subject, detail, first_seen, last_seen, resolved_at, version);

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
SELECT table, count() AS rows, uniqExact(key) AS keys, toUInt64(uniqExact(part) - uniqExact(partition) + 1) AS parts
FROM
(
SELECT 'transactions_latest' AS table, toString(tuple(account, sold_at, id)) AS key, _part AS part, _partition_id AS partition FROM transactions_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_keys' AS table, toString(tuple(account, id)) AS key, _part AS part, _partition_id AS partition FROM transactions_keys_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_decided' AS table, toString(tuple(account, id)) AS key, _part AS part, _partition_id AS partition FROM transactions_decided_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_named' AS table, toString(tuple(account, stream, key)) AS key, _part AS part, _partition_id AS partition FROM transactions_named_delta_0000000000004000800000000000a11e
)
GROUP BY table;

-- Writer.countDeltas
SELECT table, count() AS rows, uniqExact(key) AS keys, toUInt64(uniqExact(part) - uniqExact(partition) + 1) AS parts
FROM
(
SELECT 'transactions_latest' AS table, toString(tuple(account, sold_at, id)) AS key, _part AS part, _partition_id AS partition FROM transactions_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_keys' AS table, toString(tuple(account, id)) AS key, _part AS part, _partition_id AS partition FROM transactions_keys_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_decided' AS table, toString(tuple(account, id)) AS key, _part AS part, _partition_id AS partition FROM transactions_decided_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_named' AS table, toString(tuple(account, stream, key)) AS key, _part AS part, _partition_id AS partition FROM transactions_named_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'payout_transactions_latest' AS table, toString(tuple(account, payout_id, id)) AS key, _part AS part, _partition_id AS partition FROM payout_transactions_latest_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'payout_sums_latest' AS table, toString(tuple(account, payout_id, quarters, currency_code, state, stamped_status, now_status)) AS key, _part AS part, _partition_id AS partition FROM payout_sums_latest_delta_0000000000004000800000000000a11e
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
DROP TABLE IF EXISTS transactions_delta_0000000000004000800000000000a11e, transactions_moves_0000000000004000800000000000a11e, transactions_changed_0000000000004000800000000000a11e, transactions_keys_delta_0000000000004000800000000000a11e, transactions_decided_delta_0000000000004000800000000000a11e, transactions_named_delta_0000000000004000800000000000a11e, payout_transactions_latest_delta_0000000000004000800000000000a11e, payout_moves_latest_delta_0000000000004000800000000000a11e, payout_sums_latest_delta_0000000000004000800000000000a11e, transactions_changes_0000000000004000800000000000a11e SYNC;

-- Writer.live
SELECT count() FROM transactions_keys FINAL WHERE account = {account:String} AND _deleted = 0;

-- Writer.sendColumns
INSERT INTO cashback_offers_staging (run_id, id, featured, countries, maximum_fixed_commission_fee, description, category, terms_and_exclusions, cashback_percentage, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo, _nulls, _extra, _page, _fetched, _hash);

-- Writer.sendColumns
INSERT INTO coupons_staging (run_id, id, code, start_date, end_date, description, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo, _nulls, _extra, _page, _fetched, _hash);

-- Writer.sendColumns
INSERT INTO payouts_staging (run_id, id, total_transactions, total_gmv, aov, total_cashback, confirmed_transactions, declined_transactions, pending_transactions, confirmed_gmv, declined_gmv, pending_gmv, confirmed_cashback, declined_cashback, pending_cashback, start_date, end_date, _nulls, _extra, _page, _fetched, _hash);

-- Writer.sendColumns
INSERT INTO products_staging (run_id, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _nulls, _extra, _page, _fetched, _entries, _hash);

-- Writer.sendColumns
INSERT INTO promotions_staging (run_id, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _nulls, _extra, _page, _fetched, _hash);

-- Writer.sendColumns
INSERT INTO transactions_staging (run_id, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _nulls, _extra, _page, _fetched, _hash);

-- migrator.apply
ALTER TABLE products_staging ADD COLUMN IF NOT EXISTS brand_name String AFTER currency_code;

-- pool.insertRun
INSERT INTO sync_runs_log (account, stream, run_id, mode, started_at, finished_at, outcome, requested_after, watermark, server_time, pages, rows_read, inserted, updated, deleted, would_delete, out_of_scope, scope, unchanged, older, waiting, rejected, duplicates, bytes, retries, warnings, error, cause, certificate, signature, version);

-- pool.recordAction
INSERT INTO operator_actions_log (action_id, at, actor, via, action, account, stream, run_id, deletes, reason, key, request, version);

-- pool.saveChecks
INSERT INTO quality_checks_log (account, stream, run_id, check, ok, found, expected, detail, checked_at);

-- pool.timeAfter
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(greatest(0, toUnixTimestamp64Micro(toDateTime64(max(at), 6, 'UTC')))) FROM payout_acknowledgements_log WHERE account = {account:String};

-- pool.timeAfter
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(greatest(0, toUnixTimestamp64Micro(toDateTime64(max(at), 6, 'UTC')))) FROM settlement_matches_log;

-- pool.timeAfter
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(greatest(0, toUnixTimestamp64Micro(toDateTime64(max(at), 6, 'UTC')))) FROM settlements_log;

-- pool.timeAfter
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(max(version)) FROM operator_actions_log;

-- pool.timeAfter
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(max(version)) FROM payout_findings_log WHERE account = {account:String};

-- pool.timeAfter
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(max(version)) FROM sync_runs_log WHERE account = {account:String} AND stream = {stream:String} AND run_id = {run:UUID};

-- quality.payouts
SELECT count(), ifNull(any(payout_id), 0)
FROM transactions
WHERE account = {account:String} AND payout_id IN (7) AND synced_at < fromUnixTimestamp64Milli({loaded:Int64}, 'UTC');
