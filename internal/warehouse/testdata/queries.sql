-- What reports, checks, pages and commands ask for.

-- selectRateSums
SELECT currency_code, verdict, retailer_name, toInt64(count()), sum(ifNull(promised, 0)),
    sumIf(toDecimal128(ifNull(cashback, 0), 4), isNotNull(difference)), sum(ifNull(difference, 0)) FROM rate_audit
WHERE account = {account:String} AND sold_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND sold_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND status != 'DECLINED'
GROUP BY currency_code, verdict, retailer_name
ORDER BY currency_code, verdict, retailer_name;

-- selectRates
SELECT id, retailer_name, status, currency_code, verdict, clicked_at, sold_at, payout_id, cashback_offer_id, order_value, cashback,
    percentage_at_click, fixed_at_click, percentage_at_sale, fixed_at_sale, promised, difference, paid_as_from, known_from, first_loaded_at FROM rate_audit
WHERE account = {account:String} AND sold_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND sold_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
ORDER BY sold_at, id;

-- selectCloses
SELECT account, toDateTime64(month, 3, 'UTC'), closed_at, id, seen_to, statement, hash, by, note
FROM statement_closes WHERE account = {account:String} ORDER BY month;

-- selectSeenTo
SELECT (SELECT max(finished_at) FROM sync_runs WHERE account = {account:String} AND stream = 'transactions' AND outcome = 'success'),
    (SELECT max(complete_to) FROM service_clock WHERE account = {account:String});

-- selectLoadedMark
SELECT count(), ifNull(toUnixTimestamp64Milli(max(synced_at)), 0),
    (SELECT ifNull(toUnixTimestamp64Milli(max(synced_at)), 0) FROM transactions_latest WHERE account = {account:String}),
    (SELECT countIf(startsWith(name, 'intent:')) = 0 AND countIf(name = 'derived' AND hasAll(splitByChar(' ', value), ['payout_transactions_latest', 'payout_moves_latest'])) = 1
        FROM sync_state WHERE account = {account:String} AND stream = 'transactions')
FROM transactions_versions WHERE account = {account:String};

-- selectChangesByDay
SELECT toDate32(started_at) AS day, sum(inserted), sum(updated), sum(deleted), count(),
    countIf(outcome IN ('incomplete', 'failed', 'guarded', 'killed'))
FROM (SELECT started_at, outcome, if((outcome IN ('success', 'incomplete') OR (outcome = 'guarded' AND waiting > 0)), inserted, 0) AS inserted, if((outcome IN ('success', 'incomplete') OR (outcome = 'guarded' AND waiting > 0)), updated, 0) AS updated,
          if((outcome IN ('success', 'incomplete') OR (outcome = 'guarded' AND waiting > 0)), deleted, 0) AS deleted
      FROM sync_runs WHERE account = {account:String} AND stream = {stream:String} AND mode NOT IN ('retry', 'references', 'forget') AND started_at <= now64(3, 'UTC') + toIntervalMinute(1))
WHERE started_at > now64(3, 'UTC') - toIntervalDay({days:UInt32})
GROUP BY day ORDER BY day;

-- selectRejectGroups
SELECT key, field, reason, substringUTF8(raw, 1, 4000), toUInt64(length(raw)), page,
    toString(run_id), first_seen_at, seen_at, times
FROM rejected_records WHERE account = {account:String} AND stream = {stream:String} AND state IN ('open', 'unpublished')
ORDER BY seen_at DESC, key, field, raw LIMIT {limit:UInt32};

-- selectAnyReject
SELECT count() FROM (SELECT 1 FROM rejects_log LIMIT 1);

-- selectUnknownFields
SELECT account, stream, field, first_seen FROM unknown_fields ORDER BY account, stream, field;

-- selectNotedFields
SELECT field FROM unknown_fields WHERE account = {account:String} AND stream = {stream:String};

-- selectVanishedFields
SELECT account, stream, field, missing_since FROM vanished_fields ORDER BY account, stream, field;

-- selectOpenFindings
SELECT account, kind, subject, detail, first_seen
FROM payout_findings
WHERE resolved_at IS NULL
ORDER BY first_seen, account, kind, subject, detail;

-- selectOpenFindingsOf
SELECT account, kind, subject, detail, first_seen FROM payout_findings WHERE account = {account:String} AND resolved_at IS NULL;

-- selectAnyFinding
SELECT count() FROM (SELECT 1 FROM payout_findings_log WHERE account = {account:String} LIMIT 1);

-- selectEarlierAction
SELECT action_id, at, actor, via, action, account, stream, run_id, deletes, reason, request FROM operator_actions_log WHERE key = {key:String} ORDER BY version LIMIT 1;

-- selectActions
SELECT action_id, at, actor, via, action, account, stream, run_id, deletes, reason FROM operator_actions_log FINAL ORDER BY version DESC LIMIT 5;

-- selectPayoutCurrencies
SELECT payout_id, currency_code, sumIf(stamped_cashback, stamped_status != 'DECLINED'), sumIf(now_cashback, now_status != 'DECLINED')
FROM payout_sums
WHERE account = {account:String} AND payout_id IN (1, 2)
GROUP BY payout_id, currency_code ORDER BY payout_id, currency_code;

-- selectAcknowledgements
SELECT account, payout_id, kind, currency_code, at, id, amount, entries, amounts, tolerance, reason, note, by
FROM payout_acknowledgements
WHERE {account:String} IN ('', account)
ORDER BY at DESC, account, payout_id, kind, currency_code;

-- selectPayoutsDue
SELECT payout_id, toString(currency_code), paid, stamped, end_date
FROM payout_paid
LEFT JOIN (SELECT account, id AS payout_id, end_date FROM payouts_latest FINAL) AS p USING (account, payout_id)
WHERE account = {account:String}
ORDER BY payout_id, currency_code;

-- selectPayoutsReadAt
SELECT if(count() = 0 OR toDate(max(started_at)) >= toDate(now('UTC')), toDateTime64('2200-01-01 00:00:00', 3, 'UTC'), max(started_at))
FROM sync_runs WHERE account = {account:String} AND stream = 'payouts' AND outcome = 'success';

-- selectSettlementMatches
SELECT account, reference, revision, hash, at, toString(matched_by), payouts, shares, fees, rounding
FROM settlement_matches_log FINAL WHERE account = {account:String} ORDER BY at, reference;

-- selectAnyOfAccount
SELECT count() FROM
(
    SELECT 1 FROM sync_runs_log WHERE account = {account:String}
    UNION ALL
    SELECT 1 FROM settlements_log WHERE account = {account:String}
    LIMIT 1
);

-- countSettlements
SELECT uniqExact(reference) FROM settlement_revisions WHERE account = {account:String};

-- selectLatestChecks
SELECT account, stream, check, max(checked_at), argMax(run_id, checked_at), argMax(ok, checked_at) AS holds,
    argMax(found, checked_at), argMax(expected, checked_at), argMax(detail, checked_at)
FROM quality_checks_log GROUP BY account, stream, check ORDER BY account, stream, holds, check;

-- countNaming
SELECT count(), ifNull(any(payout_id), 0)
FROM transactions
WHERE account = {account:String} AND payout_id IN (1, 2) AND synced_at < fromUnixTimestamp64Milli({loaded:Int64}, 'UTC');

-- insertKilled
INSERT INTO sync_runs_log
SELECT * REPLACE ('killed' AS outcome, fromUnixTimestamp64Milli(intDiv({now:Int64}, 1000), 'UTC') AS finished_at,
    'the process ended before the run did' AS error,
    greatest(toUInt64({now:Int64}), version + 1) AS version)
FROM
(
    SELECT * FROM sync_runs_log FINAL
    WHERE account = {account:String} AND stream = {stream:String} AND outcome = 'running' AND run_id != {alive:UUID}
);

-- selectLeases
SELECT account, stream, value FROM sync_state_log FINAL WHERE name = 'lease' AND value != '';

-- selectStillRunning
SELECT account, stream, run_id FROM sync_runs_log FINAL WHERE outcome = 'running' AND has({runs:Array(String)}, toString(run_id));

-- selectLoadedFrom
SELECT account, stream, value FROM sync_state_log FINAL WHERE name = 'loaded_from';

-- selectCertificateStates
SELECT account, stream, anyIf(value, name = 'certificate'), countIf(startsWith(name, 'intent:') AND value != '')
FROM sync_state_log FINAL
GROUP BY account, stream HAVING countIf(name = 'certificate' AND value != '') > 0;

-- selectCertificates
SELECT toString(run_id), certificate, signature, started_at, rows_read, inserted, updated, deleted FROM sync_runs_log FINAL
WHERE account = {account:String} AND stream = {stream:String} AND certificate != '';

-- selectRunsCut
SELECT max(older_than) FROM retention_log WHERE what = 'runs' AND removed > 0;

-- selectPublished
SELECT count() > 0 FROM sync_runs_log FINAL
WHERE account = {account:String} AND stream = {stream:String} AND run_id = {run:UUID} AND certificate != '';

-- selectColumnsOf
SELECT name, type FROM system.columns
WHERE database = if({database:String} = '', currentDatabase(), {database:String}) AND table = {table:String} ORDER BY position;

-- countReplaced
SELECT count() FROM system.parts WHERE NOT active AND database = currentDatabase();

-- selectTraces
SELECT toString(id), toString(_version), toString(_run_id),
    if((ifNull(passback_uid, '') IN ('jo@example.com', '7')) AS is, 'passback_uid passback_data _extra', arrayStringConcat(arrayFilter(c -> c != '', [if(match(ifNull(passback_data, ''), '(^|[^0-9A-Za-z])(jo@example\\.com)([^0-9A-Za-z]|$)'), 'passback_data', ''), if(arrayExists(t -> match(t, '(^|[^0-9A-Za-z])(jo@example\\.com)([^0-9A-Za-z]|$)'), extractAll(_extra, '"(?:[^"\\\\]|\\\\.)*"')), '_extra', '')]), ' ')) AS emptied, [if(match(ifNull(passback_data, ''), '(^|[^0-9A-Za-z])(jo@example\\.com)([^0-9A-Za-z]|$)'), ifNull(passback_data, ''), '')]
FROM transactions_versions
WHERE account = {account:String} AND emptied != '';

-- emptying.update
ALTER TABLE transactions_latest UPDATE passback_uid = '', _extra = '', _hash = reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), '', country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, '', ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000')))), 64), toUInt128(xxHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), '', country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, '', ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000'))))), 'FixedString(16)')
WHERE account = 'it\'s' AND (toString(id), toString(_version)) IN (('01890000-0000-7000-8000-000000000001', '77'));

-- emptying.insertKeys
INSERT INTO transactions_keys (account, id, sold_at, _hash, _version, _deleted, _ahead)
SELECT account, id, sold_at, reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), '', country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, '', ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000')))), 64), toUInt128(xxHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), '', country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, '', ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000'))))), 'FixedString(16)'), _version, _deleted, ifNull(greatest(toUnixTimestamp64Milli(updated_at), 0) - toInt64(bitShiftRight(_version, 64)), 0)
FROM transactions_latest FINAL
WHERE _deleted != 2 AND account = 'it\'s' AND (toString(id), toString(_version)) IN (('01890000-0000-7000-8000-000000000001', '77'));

-- selectTracedRejects
SELECT DISTINCT hex(raw_hash) FROM rejects_log WHERE account = {account:String} AND stream = {stream:String} AND field IN ('', 'passbackUid', 'passbackData') AND (if(field = '', JSONExtractRaw(raw, 'passbackUid'), if(field = 'passbackUid', raw, '')) IN ('jo@example.com', '"jo@example.com"', '"7', '"\\"7"') OR arrayExists(t -> match(t, '(^|[^0-9A-Za-z])(jo@example\\.com)([^0-9A-Za-z]|$)'), extractAll(raw, '"(?:[^"\\\\]|\\\\.)*"')));

-- emptyRejects
ALTER TABLE rejects_log UPDATE raw = '"forgotten"' WHERE account = 'it\'s' AND stream = 'transactions' AND hex(raw_hash) IN ('00FF');

-- selectRunsBegun
SELECT toString(run_id), started_at FROM sync_runs_log FINAL;

-- selectPermanentTables
SELECT t.name, any(t.engine), any(t.sorting_key), any(t.engine_full LIKE '% TTL %') AS ages,
    arrayMap(c -> c.2, arraySort(groupArray((c.position, c.name, c.type))) AS ordered), arrayMap(c -> c.3, ordered)
FROM system.tables AS t
INNER JOIN system.columns AS c ON c.database = t.database AND c.table = t.name
WHERE t.database = currentDatabase() AND t.engine LIKE '%MergeTree' AND t.name NOT IN ('schema_migrations_log', 'schema_turns_log', 'notification_edges_log', 'notification_sending_log') AND NOT endsWith(t.name, '_staging')
    AND c.default_kind NOT IN ('MATERIALIZED', 'ALIAS')
GROUP BY t.name
ORDER BY t.name = 'sync_state_log', t.name;

-- selectPieces
SELECT toString(account) AS of_account, toYYYYMM(least(greatest(ifNull(sold_at, toDateTime64(0, 3, 'UTC')), toDateTime64('1999-12-01', 3, 'UTC')), toDateTime64('2040-01-01', 3, 'UTC'))) AS of_month, count(), sum(cityHash64(tuple(account, id)))
FROM transactions_latest FINAL
WHERE 1
GROUP BY of_account, of_month;

-- selectPiece
SELECT account, id FROM transactions_latest FINAL WHERE 1 AND (toString(account) = 'acme' AND toYYYYMM(least(greatest(ifNull(sold_at, toDateTime64(0, 3, 'UTC')), toDateTime64('1999-12-01', 3, 'UTC')), toDateTime64('2040-01-01', 3, 'UTC'))) = 202601);

-- deletePieces
ALTER TABLE transactions_latest DELETE WHERE 1 AND ((toString(account) = 'acme' AND toYYYYMM(least(greatest(ifNull(sold_at, toDateTime64(0, 3, 'UTC')), toDateTime64('1999-12-01', 3, 'UTC')), toDateTime64('2040-01-01', 3, 'UTC'))) = 202601) OR (toString(account) = 'it\'s' AND toYYYYMM(least(greatest(ifNull(sold_at, toDateTime64(0, 3, 'UTC')), toDateTime64('1999-12-01', 3, 'UTC')), toDateTime64('2040-01-01', 3, 'UTC'))) = 0));

-- removeOld
OPTIMIZE TABLE transactions_latest FINAL;

-- selectAsText
SELECT [ifNull(toString(`id`), ''), ifNull(toString(arrayStringConcat(arrayMap(x -> toString(x), `names`), ' ')), '')] FROM table LIMIT 1000001;

-- countSeen of promotions
SELECT (SELECT count() FROM promotions WHERE account = {account:String}),
    (SELECT countIf(synced_at > fromUnixTimestamp64Milli({to:Int64}, 'UTC')) FROM promotions_latest WHERE account = {account:String});

-- countTwice of promotions
SELECT toUInt64(count() - uniqExact(id)) FROM promotions WHERE account = {account:String} AND id IN ('a', 'b');

-- selectAccountsOf of promotions
SELECT DISTINCT account FROM
(
    SELECT toString(account) AS account FROM sync_state_log WHERE stream = {stream:String}
    UNION ALL
    SELECT DISTINCT toString(account) FROM promotions_latest
)
ORDER BY account;

-- countSeen of coupons
SELECT (SELECT count() FROM coupons WHERE account = {account:String}),
    (SELECT countIf(synced_at > fromUnixTimestamp64Milli({to:Int64}, 'UTC')) FROM coupons_latest WHERE account = {account:String});

-- countTwice of coupons
SELECT toUInt64(count() - uniqExact(id)) FROM coupons WHERE account = {account:String} AND id IN ('a', 'b');

-- selectAccountsOf of coupons
SELECT DISTINCT account FROM
(
    SELECT toString(account) AS account FROM sync_state_log WHERE stream = {stream:String}
    UNION ALL
    SELECT DISTINCT toString(account) FROM coupons_latest
)
ORDER BY account;

-- countSeen of cashback_offers
SELECT (SELECT count() FROM cashback_offers WHERE account = {account:String}),
    (SELECT countIf(synced_at > fromUnixTimestamp64Milli({to:Int64}, 'UTC')) FROM cashback_offers_latest WHERE account = {account:String});

-- countTwice of cashback_offers
SELECT toUInt64(count() - uniqExact(id)) FROM cashback_offers WHERE account = {account:String} AND id IN ('a', 'b');

-- selectAccountsOf of cashback_offers
SELECT DISTINCT account FROM
(
    SELECT toString(account) AS account FROM sync_state_log WHERE stream = {stream:String}
    UNION ALL
    SELECT DISTINCT toString(account) FROM cashback_offers_latest
)
ORDER BY account;

-- countSeen of transactions
SELECT (SELECT count() FROM transactions WHERE account = {account:String}),
    (SELECT countIf(synced_at > fromUnixTimestamp64Milli({to:Int64}, 'UTC')) FROM transactions_latest WHERE account = {account:String});

-- countTwice of transactions
SELECT toUInt64(count() - uniqExact(id)) FROM transactions WHERE account = {account:String} AND id IN ('a', 'b');

-- selectAccountsOf of transactions
SELECT DISTINCT account FROM
(
    SELECT toString(account) AS account FROM sync_state_log WHERE stream = {stream:String}
    UNION ALL
    SELECT DISTINCT toString(account) FROM transactions_latest
)
ORDER BY account;

-- selectRowsByDay of transactions
SELECT assumeNotNull(toDate32(sold_at)) AS on_day, count() AS live
FROM transactions WHERE account = {account:String} AND isNotNull(toDate32(sold_at)) AND toDate32(sold_at) <= toDate32(now64(3, 'UTC'))
GROUP BY on_day ORDER BY on_day DESC LIMIT {days:UInt32};

-- countSeen of payouts
SELECT (SELECT count() FROM payouts WHERE account = {account:String}),
    (SELECT countIf(synced_at > fromUnixTimestamp64Milli({to:Int64}, 'UTC')) FROM payouts_latest WHERE account = {account:String});

-- countTwice of payouts
SELECT toUInt64(count() - uniqExact(id)) FROM payouts WHERE account = {account:String} AND id IN ('a', 'b');

-- selectAccountsOf of payouts
SELECT DISTINCT account FROM
(
    SELECT toString(account) AS account FROM sync_state_log WHERE stream = {stream:String}
    UNION ALL
    SELECT DISTINCT toString(account) FROM payouts_latest
)
ORDER BY account;

-- countSeen of products
SELECT (SELECT count() FROM products WHERE account = {account:String}),
    (SELECT countIf(synced_at > fromUnixTimestamp64Milli({to:Int64}, 'UTC')) FROM products_latest WHERE account = {account:String});

-- countTwice of products
SELECT toUInt64(count() - uniqExact(product_key)) FROM products WHERE account = {account:String} AND product_key IN ('a', 'b');

-- selectAccountsOf of products
SELECT DISTINCT account FROM
(
    SELECT toString(account) AS account FROM sync_state_log WHERE stream = {stream:String}
    UNION ALL
    SELECT DISTINCT toString(account) FROM products_latest
)
ORDER BY account;

-- countOtherPrices of products
SELECT count(), any(toString(p.product_key)) FROM (SELECT product_key, price FROM products_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
    AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND _deleted = 0) AS p
INNER JOIN (SELECT product_key, argMax(price, _version) AS price FROM product_prices_latest WHERE account = {account:String} AND day = toDate32(now64(3, 'UTC')) GROUP BY product_key) AS h ON p.product_key = h.product_key
WHERE p.price != h.price;

-- countOtherPrices on a known day of products
SELECT count(), any(toString(p.product_key)) FROM (SELECT product_key, price FROM products_latest WHERE account = {account:String} AND synced_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
    AND synced_at <= fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND _deleted = 0) AS p
INNER JOIN (SELECT product_key, argMax(price, _version) AS price FROM product_prices_latest WHERE account = {account:String} AND day = toDate32(fromUnixTimestamp64Milli({server:Int64}, 'UTC')) GROUP BY product_key) AS h ON p.product_key = h.product_key
WHERE p.price != h.price;

-- selectRowsByDay of products
SELECT assumeNotNull(toDate32(day)) AS on_day, count() AS live
FROM product_prices WHERE account = {account:String} AND isNotNull(toDate32(day)) AND toDate32(day) <= toDate32(now64(3, 'UTC'))
GROUP BY on_day ORDER BY on_day DESC LIMIT {days:UInt32};

-- selectSettlementRevisions, chosen: false
SELECT account, reference, revision, hash, received_on, currency_code, amount, fee, payout_currency,
    payout_amount, unit, payouts, text, at, id, source, line, by, note
FROM settlement_revisions
WHERE {account:String} IN ('', account)
ORDER BY at, account, reference, revision, hash;

-- selectSettlements, of a payout: false
SELECT account, reference, revision, received_on, currency_code, amount, fee, payout_currency,
    payout_amount, text, matched_by, payouts, shares, fees, not_loaded, at, by
FROM settlements
WHERE {account:String} IN ('', account)
ORDER BY account, received_on DESC, reference;

-- selectThreeWays, of a payout: false
SELECT account, payout_id, currency_code, earned, paid_out, received, fees, converted, rounding,
    outstanding, state, settlements, last_received_on
FROM payout_three_way
WHERE {account:String} IN ('', account)
ORDER BY account, payout_id DESC, currency_code;

-- selectSettlementRevisions, chosen: true
SELECT account, reference, revision, hash, received_on, currency_code, amount, fee, payout_currency,
    payout_amount, unit, payouts, text, at, id, source, line, by, note
FROM settlement_revisions
WHERE {account:String} IN ('', account) AND has(JSONExtract({references:String}, 'Array(String)'), reference)
ORDER BY at, account, reference, revision, hash;

-- selectSettlements, of a payout: true
SELECT account, reference, revision, received_on, currency_code, amount, fee, payout_currency,
    payout_amount, text, matched_by, payouts, shares, fees, not_loaded, at, by
FROM settlements
WHERE {account:String} IN ('', account) AND has(payouts, {payout:Int64})
ORDER BY account, received_on DESC, reference;

-- selectThreeWays, of a payout: true
SELECT account, payout_id, currency_code, earned, paid_out, received, fees, converted, rounding,
    outstanding, state, settlements, last_received_on
FROM payout_three_way
WHERE {account:String} IN ('', account) AND payout_id = {payout:Int64}
ORDER BY account, payout_id DESC, currency_code;
