-- The service does not say when a transaction was confirmed or declined. The first version that has the new status does:
-- its updatedAt is the time of that change, provided that an earlier version was loaded in which it was PENDING. One that
-- was first seen confirmed may have been changed again since it was, so it is left out rather than guessed.
--
-- The storage is published with each run of transactions (internal/warehouse/decisions.go).

CREATE OR REPLACE VIEW transaction_decisions
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    id UUID COMMENT 'Transaction identifier (from transactions.id)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction; NULL when the service sent none or no UUID (from transactions.retailer_id)',
    currency_code LowCardinality(String) COMMENT 'Currency of the transaction; empty when absent (from transactions.currency_code)',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time [UTC] (from transactions.clicked_at)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (from transactions.sold_at)',
    confirmed_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it became CONFIRMED after it was PENDING; NULL when that was not seen [UTC] (from transactions_history.updated_at)',
    declined_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it became DECLINED after it was PENDING; NULL when that was not seen [UTC] (from transactions_history.updated_at)',
    days_to_confirm Nullable(Float64) COMMENT 'From the sale to confirmed_at; NULL when one of them is [days] (from sold_at, confirmed_at)',
    days_to_decline Nullable(Float64) COMMENT 'From the sale to declined_at; NULL when one of them is [days] (from sold_at, declined_at)'
)
AS SELECT account, id, retailer_id, currency_code, clicked_at, sold_at, confirmed_at, declined_at,
    dateDiff('millisecond', sold_at, confirmed_at) / 86400000 AS days_to_confirm,
    dateDiff('millisecond', sold_at, declined_at) / 86400000 AS days_to_decline
FROM transactions_decided FINAL
WHERE confirmed_at IS NOT NULL OR declined_at IS NOT NULL
COMMENT 'When transactions were confirmed or declined, one row for each that was seen to be';
