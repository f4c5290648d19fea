-- From click to sale to decision. The counts are of all transactions as they stand now; the times to a decision are of
-- those whose change was seen (transaction_decisions).

CREATE OR REPLACE VIEW confirmation_funnel
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    month Nullable(Date) COMMENT 'First day of the month of the sale; NULL when the service sent no usable time [UTC] (from transactions.sold_at)',
    retailer_id Nullable(UUID) COMMENT 'Retailer; NULL when the service sent none or no UUID (from transactions.retailer_id)',
    currency_code LowCardinality(String) COMMENT 'Currency of the transactions; empty when absent (from transactions.currency_code)',
    transactions UInt64 COMMENT 'Sales [count] (from transactions)',
    pending UInt64 COMMENT 'Those that are PENDING now [count] (from transactions.status)',
    confirmed UInt64 COMMENT 'Those that are CONFIRMED now [count] (from transactions.status)',
    declined UInt64 COMMENT 'Those that are DECLINED now [count] (from transactions.status)',
    median_hours_to_sale Nullable(Float64) COMMENT 'From click to sale, half took no longer; NULL when none has both times [hours] (from transactions.clicked_at, sold_at)',
    p90_hours_to_sale Nullable(Float64) COMMENT 'From click to sale, 90 % took no longer; NULL when none has both times [hours] (from transactions.clicked_at, sold_at)',
    confirmed_seen UInt64 COMMENT 'Transactions that were seen to become CONFIRMED [count] (from transaction_decisions)',
    median_days_to_confirm Nullable(Float64) COMMENT 'From sale to confirmation, half of confirmed_seen took no longer; NULL when there are none [days] (from transaction_decisions)',
    p90_days_to_confirm Nullable(Float64) COMMENT 'From sale to confirmation, 90 % of confirmed_seen took no longer; NULL when there are none [days] (from transaction_decisions)',
    declined_seen UInt64 COMMENT 'Transactions that were seen to become DECLINED [count] (from transaction_decisions)',
    median_days_to_decline Nullable(Float64) COMMENT 'From sale to decline, half of declined_seen took no longer; NULL when there are none [days] (from transaction_decisions)',
    p90_days_to_decline Nullable(Float64) COMMENT 'From sale to decline, 90 % of declined_seen took no longer; NULL when there are none [days] (from transaction_decisions)',
    median_days_pending Nullable(Float64) COMMENT 'Age of what is pending now, since the sale: half is no older; NULL when nothing is [days] (from transactions.sold_at)',
    max_days_pending Nullable(Float64) COMMENT 'Age of the oldest sale that is pending now; NULL when nothing is [days] (from transactions.sold_at)'
)
AS SELECT account, month, retailer_id, currency_code, transactions, pending, confirmed, declined,
    if(to_sale_known = 0, NULL, to_sale[1]) AS median_hours_to_sale, if(to_sale_known = 0, NULL, to_sale[2]) AS p90_hours_to_sale,
    confirmed_seen, if(confirmed_seen = 0, NULL, to_confirm[1]) AS median_days_to_confirm, if(confirmed_seen = 0, NULL, to_confirm[2]) AS p90_days_to_confirm,
    declined_seen, if(declined_seen = 0, NULL, to_decline[1]) AS median_days_to_decline, if(declined_seen = 0, NULL, to_decline[2]) AS p90_days_to_decline,
    if(aged = 0, NULL, age[1]) AS median_days_pending, if(aged = 0, NULL, age[2]) AS max_days_pending
FROM
(
    SELECT account, month, retailer_id, currency_code,
        countIf(now) AS transactions, countIf(status = 'PENDING') AS pending, countIf(status = 'CONFIRMED') AS confirmed, countIf(status = 'DECLINED') AS declined,
        count(hours_to_sale) AS to_sale_known, quantilesExact(0.5, 0.9)(hours_to_sale) AS to_sale,
        count(days_to_confirm) AS confirmed_seen, quantilesExact(0.5, 0.9)(days_to_confirm) AS to_confirm,
        count(days_to_decline) AS declined_seen, quantilesExact(0.5, 0.9)(days_to_decline) AS to_decline,
        count(days_pending) AS aged, quantilesExact(0.5, 1)(days_pending) AS age
    FROM
    (
        SELECT true AS now, account, toStartOfMonth(toDate(sold_at)) AS month, retailer_id, currency_code, status,
            dateDiff('millisecond', clicked_at, sold_at) / 3600000 AS hours_to_sale,
            CAST(NULL, 'Nullable(Float64)') AS days_to_confirm, CAST(NULL, 'Nullable(Float64)') AS days_to_decline,
            if(status = 'PENDING', dateDiff('millisecond', sold_at, now64(3, 'UTC')) / 86400000, NULL) AS days_pending
        FROM transactions
        UNION ALL
        SELECT false, account, toStartOfMonth(toDate(sold_at)), retailer_id, currency_code, '', NULL, days_to_confirm, days_to_decline, NULL
        FROM transaction_decisions
    )
    GROUP BY account, month, retailer_id, currency_code
)
WHERE transactions > 0
COMMENT 'How sales become cashback: counts and times from click to sale to decision, by account, month of sale, retailer and currency';
