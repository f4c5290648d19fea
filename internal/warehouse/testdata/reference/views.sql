-- What views showed before their rows were kept by runs: read from the rows of the stream alone. Tests compare. Of a
-- transaction that changed, sold_at is that of the current version.

CREATE VIEW reference_payout_changed_keys
-- One number says of the newest change upstream whether a version of it carries no payoutId.
AS SELECT key FROM
(
    SELECT cityHash64(account, id) AS key, payout_id IS NULL AS bare, toUInt64(bitShiftRight(_version, 64)) AS changed_at FROM transactions_versions WHERE _deleted < 2
)
GROUP BY key HAVING sum(NOT bare) > 1 OR sum(NOT bare) = 1 AND max(2 * changed_at + bare) % 2 = 1;

CREATE VIEW reference_payout_changed_transactions
AS SELECT account, assumeNotNull(payout) AS payout_id, id, sold_at, retailer_name, tupleElement(stamped, 'currency_code') AS currency_code,
    multiIf(tupleElement(last, 'deleted') = 1, 'gone', ifNull(tupleElement(last, 'payout_id') != payout, 1), 'moved',
        tupleElement(stamped, 'status') != tupleElement(last, 'status') OR ifNull(tupleElement(stamped, 'order_value'), 0) != ifNull(tupleElement(last, 'order_value'), 0) OR ifNull(tupleElement(stamped, 'cashback'), 0) != ifNull(tupleElement(last, 'cashback'), 0), 'changed',
        'same') AS state,
    tupleElement(stamped, 'status') AS stamped_status, tupleElement(stamped, 'order_value') AS stamped_order_value, tupleElement(stamped, 'cashback') AS stamped_cashback,
    tupleElement(stamped, 'updated_at') AS stamped_at, tupleElement(stamped, 'synced_at') AS stamped_seen_at, tupleElement(stamped, 'version') = tupleElement(versions[1], 'version') AS stamped_is_first_known,
    tupleElement(last, 'status') AS status, tupleElement(last, 'order_value') AS order_value, tupleElement(last, 'cashback') AS cashback, tupleElement(last, 'payout_id') AS payout_id_now,
    multiIf(state = 'same', NULL, state = 'gone', toNullable(tupleElement(turn, 'synced_at')), tupleElement(turn, 'updated_at')) AS changed_at,
    if(tupleElement(stamped, 'status') = 'DECLINED', 0, ifNull(tupleElement(stamped, 'cashback'), 0)) - if(tupleElement(last, 'status') = 'DECLINED' OR state IN ('moved', 'gone'), 0, ifNull(tupleElement(last, 'cashback'), 0)) AS at_stake,
    tupleElement(last, 'updated_at') AS updated_at, tupleElement(last, 'currency_code') AS currency_code_now
FROM
(
    -- An amount that was not readable at first, and was read later from the same updatedAt, was there when it was stamped.
    SELECT account, id, payout, sold_at, retailer_name, versions, last, turn, arrayFirst(v -> tupleElement(v, 'payout_id') = payout, carrying) AS first,
        arrayFilter(v -> ifNull(tupleElement(v, 'payout_id') = payout AND tupleElement(v, 'updated_at') = tupleElement(first, 'updated_at'), 0) AND tupleElement(v, 'order_value') IS NOT NULL AND tupleElement(v, 'cashback') IS NOT NULL, carrying) AS complete,
        if(empty(complete), first, complete[1]) AS stamped
    FROM
    (
        SELECT account, id, tupleElement(argMax(tuple(sold_at), _version), 1) AS sold_at, argMax(retailer_name, _version) AS retailer_name,
            arraySort(v -> tupleElement(v, 'version'), groupArray(CAST((_version, payout_id, status, order_value, cashback, currency_code, updated_at, synced_at, _deleted),
                'Tuple(version UInt128, payout_id Nullable(Int64), status String, order_value Nullable(Decimal(18, 4)), cashback Nullable(Decimal(18, 4)),
                currency_code String, updated_at Nullable(DateTime64(3, ''UTC'')), synced_at DateTime64(3, ''UTC''), deleted UInt8)'))) AS versions,
            versions[-1] AS last,
            versions[arrayLastIndex(v -> tupleElement(v, 'deleted') != tupleElement(last, 'deleted') OR tupleElement(v, 'status') != tupleElement(last, 'status') OR (tupleElement(v, 'payout_id') IS DISTINCT FROM tupleElement(last, 'payout_id'))
                OR ifNull(tupleElement(v, 'order_value'), 0) != ifNull(tupleElement(last, 'order_value'), 0) OR ifNull(tupleElement(v, 'cashback'), 0) != ifNull(tupleElement(last, 'cashback'), 0), versions) + 1] AS turn,
            arrayFilter(v -> tupleElement(v, 'payout_id') IS NOT NULL AND tupleElement(v, 'deleted') = 0, versions) AS carrying
        FROM transactions_versions
        WHERE _deleted < 2 AND cityHash64(account, id) IN (SELECT key FROM reference_payout_changed_keys)
        GROUP BY account, id
    )
    ARRAY JOIN arrayDistinct(arrayMap(v -> tupleElement(v, 'payout_id'), carrying)) AS payout
);

CREATE VIEW reference_payout_transactions
AS SELECT account, assumeNotNull(payout_id) AS payout_id, id, sold_at, retailer_name, currency_code, 'same' AS state,
    status AS stamped_status, order_value AS stamped_order_value, cashback AS stamped_cashback, updated_at AS stamped_at, synced_at AS stamped_seen_at,
    cityHash64(account, id) NOT IN (SELECT cityHash64(account, id) FROM transactions_versions WHERE _deleted < 2 AND payout_id IS NULL) AS stamped_is_first_known,
    status, order_value, cashback, v.payout_id AS payout_id_now, NULL AS changed_at, 0 AS at_stake
FROM transactions_versions AS v
WHERE v.payout_id IS NOT NULL AND _deleted = 0 AND cityHash64(account, id) NOT IN (SELECT key FROM reference_payout_changed_keys)
UNION ALL
SELECT account, payout_id, id, sold_at, retailer_name, currency_code, state, stamped_status, stamped_order_value, stamped_cashback, stamped_at, stamped_seen_at, stamped_is_first_known, status, order_value, cashback, payout_id_now, changed_at, at_stake
FROM reference_payout_changed_transactions;

CREATE VIEW reference_payout_sums
AS SELECT account, payout_id, fromUnixTimestamp64Milli(900000 * quarters, 'UTC') AS quarter, currency_code, state, stamped_status, now_status,
    toInt64(n) AS stamped_n, ifNull(gmv, 0) AS stamped_gmv, ifNull(sum_cashback, 0) AS stamped_cashback,
    if(here, stamped_n, 0) AS now_n, if(here, ifNull(gmv_now, 0), 0) AS now_gmv, if(here, ifNull(cashback_now, 0), 0) AS now_cashback, stake AS at_stake
FROM
(
    SELECT account, payout_id, toInt64(floor(toUnixTimestamp64Milli(stamped_at) / 900000)) AS quarters, currency_code, state, stamped_status, status AS now_status,
        state IN ('same', 'changed') AS here, count() AS n, sum(stamped_order_value) AS gmv, sum(stamped_cashback) AS sum_cashback,
        sum(order_value) AS gmv_now, sum(cashback) AS cashback_now, sum(at_stake) AS stake
    FROM reference_payout_transactions
    GROUP BY account, payout_id, quarters, currency_code, state, stamped_status, now_status
);

CREATE VIEW reference_daily_cashback
AS SELECT account, toDate32(sold_at) AS day, currency_code, status, count() AS transactions,
    ifNull(sum(t.order_value), 0) AS order_value, ifNull(sum(t.cashback), 0) AS cashback,
    countIf(payout_id IS NOT NULL AND status != 'DECLINED') AS paid_transactions, ifNull(sumIf(t.cashback, payout_id IS NOT NULL AND status != 'DECLINED'), 0) AS paid_cashback
FROM transactions AS t
GROUP BY account, day, currency_code, status;

CREATE VIEW reference_retailers
AS SELECT account, retailer_id,
    argMaxIf(named, named_version, named != '') AS name,
    argMaxIf(host, host_version, host != '') AS hostname,
    argMaxIf(image, image_version, image != '') AS logo,
    sum(promotions_live) AS live_promotions, sum(coupons_live) AS live_coupons, sum(offers_live) AS live_cashback_offers,
    sum(sales) AS transactions, fromUnixTimestamp64Milli(max(toUnixTimestamp64Milli(last_sale)), 'UTC') AS last_sold_at, max(newest) AS last_changed_at
FROM
(
    SELECT account, retailer_id, toString(retailer_name) AS named, max(_version) AS named_version,
        toString(argMaxIf(p.hostname, _version, p.hostname != '')) AS host, maxIf(_version, p.hostname != '') AS host_version,
        argMaxIf(retailer_logo, _version, retailer_logo != '') AS image, maxIf(_version, retailer_logo != '') AS image_version,
        countIf(_deleted = 0 AND ifNull(start_date <= now64(3), 1) AND ifNull(end_date > now64(3), 1)) AS promotions_live, 0 AS coupons_live, 0 AS offers_live,
        0 AS sales, CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS last_sale, max(synced_at) AS newest
    FROM promotions_latest AS p FINAL GROUP BY account, retailer_id, named
    UNION ALL
    SELECT account, retailer_id, toString(retailer_name) AS named, max(_version),
        toString(argMaxIf(c.hostname, _version, c.hostname != '')), maxIf(_version, c.hostname != ''),
        argMaxIf(retailer_logo, _version, retailer_logo != ''), maxIf(_version, retailer_logo != ''),
        0, countIf(_deleted = 0 AND ifNull(start_date <= now64(3), 1) AND ifNull(end_date > now64(3), 1)), 0, 0, NULL, max(synced_at)
    FROM coupons_latest AS c FINAL GROUP BY account, retailer_id, named
    UNION ALL
    SELECT account, retailer_id, toString(retailer_name) AS named, max(_version),
        toString(argMaxIf(o.hostname, _version, o.hostname != '')), maxIf(_version, o.hostname != ''),
        argMaxIf(retailer_logo, _version, retailer_logo != ''), maxIf(_version, retailer_logo != ''),
        0, 0, countIf(_deleted = 0), 0, NULL, max(synced_at)
    FROM cashback_offers_latest AS o FINAL GROUP BY account, retailer_id, named
    UNION ALL
    SELECT account, retailer_id, toString(retailer_name) AS named, max(_version), '', 0,
        argMaxIf(retailer_logo, _version, retailer_logo != ''), maxIf(_version, retailer_logo != ''),
        0, 0, 0, count(), fromUnixTimestamp64Milli(max(toUnixTimestamp64Milli(sold_at)), 'UTC'), max(synced_at)
    FROM transactions_latest FINAL WHERE _deleted = 0 GROUP BY account, retailer_id, named
)
GROUP BY account, retailer_id, if(isNull(retailer_id), named, '');

CREATE VIEW reference_daily_sales
AS SELECT account, toDate32(sold_at) AS day, currency_code, retailer_id, retailer_name, country, status, count() AS transactions,
    ifNull(sum(t.order_value), 0) AS order_value, ifNull(sum(t.cashback), 0) AS cashback,
    countIf(payout_id IS NOT NULL AND status != 'DECLINED') AS paid_transactions, ifNull(sumIf(t.cashback, payout_id IS NOT NULL AND status != 'DECLINED'), 0) AS paid_cashback
FROM transactions AS t
GROUP BY account, day, currency_code, retailer_id, retailer_name, country, status;

-- What product_price_changes read before its table was there.
CREATE VIEW reference_product_price_changes
AS SELECT account, product_key, currency_code, day, assumeNotNull(price) AS price, assumeNotNull(before.1) AS previous_day, assumeNotNull(before.2) AS previous_price,
    price - previous_price AS change, if(previous_price = 0, NULL, 100 * toFloat64(change) / toFloat64(previous_price)) AS change_percent,
    views, before.3 AS previous_views
FROM
(
    SELECT account, product_key, currency_code, day, price, views,
        lagInFrame((toNullable(day), price, views)) OVER (PARTITION BY account, product_key, currency_code ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS before
    FROM product_prices
    WHERE price IS NOT NULL
)
WHERE before.2 IS NOT NULL AND before.2 != price;

CREATE VIEW reference_stream_counts
AS SELECT account, 'transactions' AS stream, count() AS rows FROM transactions GROUP BY account
UNION ALL
SELECT account, 'promotions', count() FROM promotions GROUP BY account
UNION ALL
SELECT account, 'coupons', count() FROM coupons GROUP BY account
UNION ALL
SELECT account, 'cashback_offers', count() FROM cashback_offers GROUP BY account
UNION ALL
SELECT account, 'payouts', count() FROM payouts GROUP BY account
UNION ALL
SELECT account, 'products', count() FROM products GROUP BY account;
