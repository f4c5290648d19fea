-- Each change of a transaction, with how it stood before: what a monthly statement adds up.

CREATE OR REPLACE VIEW transaction_changes
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    id UUID COMMENT 'Transaction identifier (from transactions.id)',
    at DateTime64(3, 'UTC') COMMENT 'When it changed: updatedAt of the version, or when it was found gone; of the sale itself, sold_at of the first version [UTC] (from transactions_history.updated_at, sold_at, valid_from)',
    seen_at DateTime64(3, 'UTC') COMMENT 'When the version was loaded [UTC] (from transactions_history.synced_at)',
    sale UInt8 COMMENT '1 for the sale itself, from which on it is taken for PENDING; its first version is a change of its own (from transactions_history)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale, as of now [UTC] (from transactions.sold_at)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name, as of now; empty when absent (from transactions.retailer_name)',
    currency_code LowCardinality(String) COMMENT 'Currency of the amounts; empty when absent. A version with another one has two changes: it is no longer listed in the old one, and listed in the new one (from transactions_history.currency_code)',
    status_before LowCardinality(String) COMMENT 'Status before; PENDING before its first version (from transactions_history.status)',
    status LowCardinality(String) COMMENT 'Status after; empty when absent (from transactions_history.status)',
    cashback_before Decimal(18, 4) COMMENT 'Cashback before; 0 when absent [currency_code] (from transactions_history.cashback)',
    cashback Decimal(18, 4) COMMENT 'Cashback after; 0 when absent [currency_code] (from transactions_history.cashback)',
    payout_id_before Nullable(Int64) COMMENT 'Payout before; NULL: none (from transactions_history.payout_id)',
    payout_id Nullable(Int64) COMMENT 'Payout after; NULL: none (from transactions_history.payout_id)',
    first_paid UInt8 COMMENT '1 when it is in this payout for the first time (from transactions_history.payout_id)',
    listed_before UInt8 COMMENT '1 when the service listed it before (from transactions_history)',
    listed UInt8 COMMENT '1 when the service lists it after (from transactions_history)'
)
AS SELECT account, id, if(sale, least(ifNull(sold_is, changed_at), changed_at), changed_at) AS at, seen_at, part = 'sale' AS sale, sold_at, retailer_name, if(part = 'out', currency_was, currency_is) AS currency_code,
    multiIf(nth = 1, 'PENDING', part = 'in', status_is, status_was) AS status_before, multiIf(sale, 'PENDING', part = 'out', status_was, status_is) AS status,
    if(nth = 1 OR part = 'in', cashback_is, cashback_was) AS cashback_before, if(part = 'out', cashback_was, cashback_is) AS cashback,
    multiIf(nth = 1, NULL, part = 'in' AND NOT first_paid, payout_is, payout_was) AS payout_id_before, multiIf(sale, NULL, part = 'out', payout_was, payout_is) AS payout_id,
    part IN ('change', 'in') AND payout_is IS NOT NULL AND nth_of_payout = 1 AS first_paid,
    multiIf(nth = 1, NOT sale, part = 'in', 0, NOT deleted_was) AS listed_before, sale OR part != 'out' AND NOT deleted_is AS listed
FROM
(
    SELECT account, id, synced_at AS seen_at, last_value(transactions_versions.sold_at) OVER whole AS sold_at, last_value(transactions_versions.retailer_name) OVER whole AS retailer_name,
        transactions_versions.sold_at AS sold_is, toString(transactions_versions.currency_code) AS currency_is, lagInFrame(toString(transactions_versions.currency_code)) OVER w AS currency_was,
        _deleted AS deleted_is, toString(status) AS status_is,
        if(_deleted = 1, synced_at, ifNull(updated_at, synced_at)) AS changed_at, ifNull(transactions_versions.cashback, 0) AS cashback_is, transactions_versions.payout_id AS payout_is,
        row_number() OVER (PARTITION BY account, id ORDER BY _version) AS nth, lagInFrame(toString(status)) OVER w AS status_was, lagInFrame(ifNull(transactions_versions.cashback, 0)) OVER w AS cashback_was,
        lagInFrame(transactions_versions.payout_id) OVER w AS payout_was, lagInFrame(_deleted) OVER w AS deleted_was,
        row_number() OVER (PARTITION BY account, id, transactions_versions.payout_id ORDER BY _version) AS nth_of_payout
    FROM transactions_versions
    WINDOW w AS (PARTITION BY account, id ORDER BY _version ROWS BETWEEN 1 PRECEDING AND CURRENT ROW),
        whole AS (PARTITION BY account, id ORDER BY _version ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
)
-- What is in another currency from then on leaves the one, and enters the other: months before stay as they were.
ARRAY JOIN multiIf(nth = 1, ['sale', 'change'], currency_is != currency_was, ['out', 'in'], ['change']) AS part
WHERE sale OR status != status_before OR cashback != cashback_before OR listed != listed_before OR payout_id IS DISTINCT FROM payout_id_before
COMMENT 'Each change of a transaction, with how it stood before; versions that change neither status, cashback, currency, payout nor whether it is listed are left out';
