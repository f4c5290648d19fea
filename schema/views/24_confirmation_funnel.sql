-- From click to sale to decision. The counts are of all transactions as they stand now; the times to a decision are of
-- those whose change was seen (transaction_decisions). Times are whole milliseconds until the end, so that a median is
-- exactly the middle: of an even number, the mean of the two in the middle.

CREATE OR REPLACE VIEW confirmation_funnel
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    month Nullable(Date32) COMMENT 'First day of the month of the sale; NULL when the service sent no usable time [UTC] (from transactions.sold_at)',
    retailer_id Nullable(UUID) COMMENT 'Retailer; NULL when the service sent none or no UUID (from transactions.retailer_id)',
    currency_code LowCardinality(String) COMMENT 'Currency of the transactions; empty when absent (from transactions.currency_code)',
    transactions UInt64 COMMENT 'Sales [count] (from transactions)',
    pending UInt64 COMMENT 'Those that are PENDING now [count] (from transactions.status)',
    confirmed UInt64 COMMENT 'Those that are CONFIRMED now [count] (from transactions.status)',
    declined UInt64 COMMENT 'Those that are DECLINED now [count] (from transactions.status)',
    median_hours_to_sale Nullable(Float64) COMMENT 'From click to sale, the middle one; NULL when none has both times [hours] (from transactions.clicked_at, sold_at)',
    p90_hours_to_sale Nullable(Float64) COMMENT 'From click to sale, 90 % took no longer; NULL when none has both times [hours] (from transactions.clicked_at, sold_at)',
    confirmed_seen UInt64 COMMENT 'Transactions that were seen to become CONFIRMED [count] (from transaction_decisions)',
    median_days_to_confirm Nullable(Float64) COMMENT 'From sale to confirmation, the middle one of confirmed_seen; NULL when there are none [days] (from transaction_decisions)',
    p90_days_to_confirm Nullable(Float64) COMMENT 'From sale to confirmation, 90 % of confirmed_seen took no longer; NULL when there are none [days] (from transaction_decisions)',
    declined_seen UInt64 COMMENT 'Transactions that were seen to become DECLINED [count] (from transaction_decisions)',
    median_days_to_decline Nullable(Float64) COMMENT 'From sale to decline, the middle one of declined_seen; NULL when there are none [days] (from transaction_decisions)',
    p90_days_to_decline Nullable(Float64) COMMENT 'From sale to decline, 90 % of declined_seen took no longer; NULL when there are none [days] (from transaction_decisions)',
    median_days_pending Nullable(Float64) COMMENT 'Age of what is pending now, from the sale to service_time and never below 0: the middle one; NULL when nothing is [days] (from transactions.sold_at, service_clock.service_time)',
    max_days_pending Nullable(Float64) COMMENT 'Age of the oldest sale that is pending now, at service_time and never below 0; NULL when nothing is [days] (from transactions.sold_at, service_clock.service_time)'
)
AS SELECT account, month, retailer_id, currency_code, transactions, pending, confirmed, declined,
    if(to_sale_known = 0, NULL, to_sale / 3600000) AS median_hours_to_sale, if(to_sale_known = 0, NULL, to_sale_9 / 3600000) AS p90_hours_to_sale,
    confirmed_seen, if(confirmed_seen = 0, NULL, to_confirm / 86400000) AS median_days_to_confirm, if(confirmed_seen = 0, NULL, to_confirm_9 / 86400000) AS p90_days_to_confirm,
    declined_seen, if(declined_seen = 0, NULL, to_decline / 86400000) AS median_days_to_decline, if(declined_seen = 0, NULL, to_decline_9 / 86400000) AS p90_days_to_decline,
    if(aged = 0, NULL, age / 86400000) AS median_days_pending, if(aged = 0, NULL, oldest / 86400000) AS max_days_pending
FROM
(
    SELECT account, month, retailer_id, currency_code,
        countIf(now) AS transactions, countIf(status = 'PENDING') AS pending, countIf(status = 'CONFIRMED') AS confirmed, countIf(status = 'DECLINED') AS declined,
        count(ms_to_sale) AS to_sale_known, quantileExactInclusive(0.5)(ms_to_sale) AS to_sale, quantileExact(0.9)(ms_to_sale) AS to_sale_9,
        count(ms_to_confirm) AS confirmed_seen, quantileExactInclusive(0.5)(ms_to_confirm) AS to_confirm, quantileExact(0.9)(ms_to_confirm) AS to_confirm_9,
        count(ms_to_decline) AS declined_seen, quantileExactInclusive(0.5)(ms_to_decline) AS to_decline, quantileExact(0.9)(ms_to_decline) AS to_decline_9,
        count(ms_pending) AS aged, quantileExactInclusive(0.5)(ms_pending) AS age, max(ms_pending) AS oldest
    FROM
    (
        SELECT true AS now, account, makeDate32(toYear(sold_at), toMonth(sold_at), 1) AS month, retailer_id, currency_code, status,
            dateDiff('millisecond', clicked_at, sold_at) AS ms_to_sale,
            CAST(NULL, 'Nullable(Int64)') AS ms_to_confirm, CAST(NULL, 'Nullable(Int64)') AS ms_to_decline,
            multiIf(status != 'PENDING', NULL, c.service_time < sold_at, 0, dateDiff('millisecond', sold_at, c.service_time)) AS ms_pending
        FROM transactions AS t
        LEFT JOIN (SELECT account, service_time FROM service_clock) AS c USING (account)
        UNION ALL
        SELECT false, account, makeDate32(toYear(sold_at), toMonth(sold_at), 1), retailer_id, currency_code, '', NULL,
            dateDiff('millisecond', sold_at, confirmed_at), dateDiff('millisecond', sold_at, declined_at), NULL
        FROM transaction_decisions
    )
    GROUP BY account, month, retailer_id, currency_code
)
WHERE transactions > 0
$own_settings
COMMENT 'How sales become cashback: counts and times from click to sale to decision, by account, month of sale, retailer and currency';
