-- What a warehouse of that schema may hold: sales with one version or several, some at another time than before, some
-- without one, some gone; payouts that count them; deals; and a run that died between its two attachments.

INSERT INTO schema_migrations_log (version, name, checksum)
SELECT number, if(number = 0, 'streams', leftPad(toString(number), 4, '0') || '_file.sql'), 'as it was' FROM numbers(11);

INSERT INTO transactions_versions (account, id, country, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid,
    retailer_id, retailer_name, payout_id, passback_data, cashback_offer_id, coupon_id, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT account, reinterpretAsUUID(sipHash128(account, number)), 'DE', sold_at - toIntervalHour(1), if(number % 50 = 0, NULL, sold_at), at,
    ['EUR', 'USD', ''][1 + number % 3], if(number % 40 = 0, NULL, toDecimal64(number * 7.25, 4)), toDecimal64(number * 0.5 + v, 4), ['PENDING', 'CONFIRMED', 'DECLINED'][least(v, 2) + if(number % 11 = 0, 1, 0)],
    'user' || toString(number % 37), reinterpretAsUUID(sipHash128(number % 9)), 'shop ' || toString(number % 9), if(v > 1 AND number % 2 = 0, number % 4 + 1, NULL), '',
    reinterpretAsUUID(sipHash128('o', number % 5)), if(number % 4 = 0, reinterpretAsUUID(sipHash128('c', number % 5)), NULL), if(number % 60 = 1, '{"new":1}', ''),
    at + toIntervalMinute(3), sipHash128(account, number, if(deleted, 1, v)), bitOr(bitShiftLeft(toUInt128(toUnixTimestamp64Milli(at)), 64), toUInt128(toUnixTimestamp64Micro(toDateTime64(at, 6)))),
    deleted, reinterpretAsUUID(sipHash128(v))
FROM
(
    SELECT arrayJoin(['acme', 'globex']) AS account, number, arrayJoin([1, 2, 3, 4]) AS v, v = 4 AS deleted,
        toDateTime64('2026-01-01 00:00:00', 3, 'UTC') + toIntervalHour(number) + toIntervalDay(if(number % 7 = 0 AND v = 2, 2, 0)) AS sold_at,
        toDateTime64('2026-02-01 00:00:00', 3, 'UTC') + toIntervalDay(v) + toIntervalSecond(number) AS at
    FROM numbers(600)
    WHERE v = 1 OR v = 2 AND number % 3 = 0 OR v = 3 AND number % 21 = 0 OR v = 4 AND number % 29 = 0
);

INSERT INTO transactions_latest SELECT * FROM transactions_versions WHERE _run_id = reinterpretAsUUID(sipHash128(toUInt8(1)));

INSERT INTO transactions_latest SELECT * FROM transactions_versions WHERE _run_id != reinterpretAsUUID(sipHash128(toUInt8(1)));

INSERT INTO payouts_versions (account, id, total_transactions, total_gmv, total_cashback, confirmed_transactions, start_date, end_date, synced_at, _hash, _version, _deleted, _run_id)
SELECT account, payout_id, count(), sum(order_value), sum(cashback), countIf(status = 'CONFIRMED'), min(sold_at), max(sold_at), toDateTime64('2026-02-20 00:00:00', 3, 'UTC'), sipHash128(payout_id), 1000, 0, generateUUIDv4()
FROM transactions_versions WHERE payout_id IS NOT NULL AND payout_id != 4 GROUP BY account, payout_id;

INSERT INTO payouts_latest SELECT * FROM payouts_versions;

INSERT INTO coupons_versions (account, id, retailer_id, retailer_name, code, updated_at, synced_at, _hash, _version, _deleted, _run_id)
SELECT 'acme', reinterpretAsUUID(sipHash128('c', number)), reinterpretAsUUID(sipHash128(number)), 'shop ' || toString(number), 'code', toDateTime64('2026-02-01 00:00:00', 3, 'UTC'), toDateTime64('2026-02-02 00:00:00', 3, 'UTC'), sipHash128(number), 1000, number = 2, generateUUIDv4()
FROM numbers(5);

INSERT INTO coupons_latest SELECT * FROM coupons_versions;

INSERT INTO cashback_offers_versions (account, id, retailer_id, retailer_name, hostname, category, updated_at, synced_at, _hash, _version, _deleted, _run_id)
SELECT 'acme', reinterpretAsUUID(sipHash128('o', number)), reinterpretAsUUID(sipHash128(number)), 'shop ' || toString(number), 'shop.example', 'shoes', toDateTime64('2026-02-01 00:00:00', 3, 'UTC'), toDateTime64('2026-02-02 00:00:00', 3, 'UTC'), sipHash128(number), 1000, number = 3, generateUUIDv4()
FROM numbers(5);

INSERT INTO cashback_offers_latest SELECT * FROM cashback_offers_versions;

INSERT INTO products_latest (account, product_key, product_key_rule, url, price, currency_code, synced_at, _hash, _version, _deleted, _run_id)
SELECT arrayJoin(['acme', 'globex']), reinterpretAsUUID(sipHash128('p', number)), 'url', 'https://shop.example/' || toString(number), 10, 'EUR', toDateTime64('2026-02-02 00:00:00', 3, 'UTC'), sipHash128(number), 1000, number = 1, generateUUIDv4()
FROM numbers(12);

INSERT INTO product_prices_latest (account, product_key, day, price, views, currency_code, synced_at, _version, _run_id)
SELECT arrayJoin(['acme', 'globex']), reinterpretAsUUID(sipHash128('p', number % 12)), toDate('2026-01-20') + intDiv(number, 12), if(number % 23 = 0, NULL, toDecimal64(10 + intDiv(number * (number % 5), 60), 4)), number,
    if(number % 12 = 3 AND number > 100, 'USD', 'EUR'), toDateTime64('2026-02-02 00:00:00', 3, 'UTC'), 1000, generateUUIDv4()
FROM numbers(240);

INSERT INTO product_prices_latest (account, product_key, day, price, views, currency_code, synced_at, _version, _run_id)
SELECT 'acme', product_key, day, if(price IS NULL, 5, price + 1), views, currency_code, synced_at, 2000, generateUUIDv4() FROM product_prices_latest WHERE account = 'acme' AND views % 7 = 0;

INSERT INTO transaction_decisions_log (account, id, retailer_id, currency_code, clicked_at, sold_at, confirmed_at, declined_at, version)
SELECT account, id, row.1, row.2, row.3, row.4, if(confirmed > pending AND NOT gone, confirmed, NULL), if(declined > pending AND NOT gone, declined, NULL), newest
FROM
(
    SELECT account, id, argMax((retailer_id, currency_code, clicked_at, sold_at), _version) AS row, max(_version) AS newest, argMax(_deleted, _version) AS gone,
        minIf(updated_at, status = 'PENDING') AS pending, minIf(updated_at, status = 'CONFIRMED') AS confirmed, minIf(updated_at, status = 'DECLINED') AS declined
    FROM transactions_versions GROUP BY account, id
)
WHERE confirmed > pending OR declined > pending;

INSERT INTO sync_state_log (account, stream, name, value, version)
SELECT arrayJoin(['acme', 'globex']), 'transactions', 'watermark', '2026-02-05T00:00:00Z', 1770249600000;

INSERT INTO sync_runs_log (account, stream, run_id, mode, started_at, finished_at, outcome, server_time, version)
SELECT arrayJoin(['acme', 'globex']), arrayJoin(['transactions', 'payouts', 'coupons', 'cashback_offers']), generateUUIDv4(), 'full', toDateTime64('2026-02-20 10:00:00', 3, 'UTC'), toDateTime64('2026-02-20 10:01:00', 3, 'UTC'), 'success',
    toDateTime64('2026-02-20 10:00:00', 3, 'UTC'), 1;

INSERT INTO sync_runs_log (account, stream, run_id, mode, started_at, outcome, version)
VALUES ('dead', 'transactions', 'dddddddd-dddd-4ddd-8ddd-dddddddddddd', 'incremental', '2026-02-20 10:00:00', 'running', 1);

INSERT INTO transactions_staging (run_id, id, _fetched) VALUES ('dddddddd-dddd-4ddd-8ddd-dddddddddddd', 'dddddddd-dddd-4ddd-8ddd-000000000001', 1);

CREATE TABLE transactions_delta_dddddddddddd4ddd8ddddddddddddddd AS transactions_latest;

INSERT INTO transactions_delta_dddddddddddd4ddd8ddddddddddddddd (account, id, sold_at, updated_at, status, synced_at, _hash, _version, _run_id)
SELECT 'dead', toUUID('dddddddd-dddd-4ddd-8ddd-' || leftPad(toString(number), 12, '0')), toDateTime64('2026-02-20 09:00:00', 3, 'UTC'), toDateTime64('2026-02-20 09:00:00', 3, 'UTC'), 'PENDING',
    toDateTime64('2026-02-20 10:00:05', 3, 'UTC'), sipHash128(number), bitShiftLeft(toUInt128(1771578000000), 64) + 1, 'dddddddd-dddd-4ddd-8ddd-dddddddddddd'
FROM numbers(3);

ALTER TABLE transactions_versions ATTACH PARTITION tuple() FROM transactions_delta_dddddddddddd4ddd8ddddddddddddddd;

INSERT INTO sync_state_log (account, stream, name, value, version)
SELECT 'dead', 'transactions', 'lease', '{"owner":"elsewhere/1/dead","attempt":"dddddddd-dddd-4ddd-8ddd-dddddddddddd","run_id":"dddddddd-dddd-4ddd-8ddd-dddddddddddd","expires":1}', 1
UNION ALL SELECT 'dead', 'transactions', 'intent:dddddddd-dddd-4ddd-8ddd-dddddddddddd', '{"run_id":"dddddddd-dddd-4ddd-8ddd-dddddddddddd","merged_at":"2026-02-20T10:00:05Z","watermark":"2026-02-20T09:50:00Z","record":'
    || '{"account":"dead","stream":"transactions","run_id":"dddddddd-dddd-4ddd-8ddd-dddddddddddd","mode":"incremental","started_at":"2026-02-20T10:00:00Z","finished_at":"2026-02-20T10:00:05Z","outcome":"success",'
    || '"changes":{"inserted":3,"updated":0,"deleted":0,"unchanged":0,"staged":3,"distinct":3,"first":true,"live":0}}}', 2;
