-- Transactions that no payout accounts for.

CREATE OR REPLACE VIEW payout_orphans
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    payout_id Int64 COMMENT 'Payout that the transaction says it is in (from transactions.payout_id)',
    id UUID COMMENT 'Transaction identifier (from transactions.id)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (from transactions.sold_at)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (from transactions.updated_at)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (from transactions.retailer_name)',
    status LowCardinality(String) COMMENT 'Status as of now; empty when absent (from transactions.status)',
    currency_code LowCardinality(String) COMMENT 'Currency of the amounts; empty when absent (from transactions.currency_code)',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Order value [currency_code] (from transactions.order_value)',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback [currency_code] (from transactions.cashback)',
    was_listed UInt8 COMMENT '1 when the service listed the payout before, and does so no more (from payouts_history.id)',
    certain UInt8 COMMENT '1 when the payouts were read after the transaction was loaded; 0: the next sync of payouts may bring it (from sync_runs.started_at, transactions.synced_at)'
)
AS SELECT account, assumeNotNull(t.payout_id) AS payout_id, id, sold_at, updated_at, retailer_name, status, currency_code, order_value, cashback,
    (account, payout_id) IN (SELECT account, id FROM payouts_versions) AS was_listed,
    ifNull(synced_at < r.last_read, 0) AS certain
FROM
(
    -- What is listed is read from the versions as well: one table of each stream (warehouse-12).
    SELECT * FROM transactions
    WHERE payout_id IS NOT NULL AND (account, assumeNotNull(payout_id)) NOT IN (SELECT account, id FROM payouts_versions GROUP BY account, id HAVING argMax(_deleted, _version) = 0)
) AS t
LEFT JOIN (SELECT account, toNullable(max(started_at)) AS last_read FROM sync_runs_log FINAL WHERE stream = 'payouts' AND outcome = 'success' AND mode NOT IN ('retry', 'references', 'forget') GROUP BY account) AS r USING (account)
$own_settings
COMMENT 'Transactions that carry the payoutId of a payout which is not there';

CREATE OR REPLACE VIEW payout_unpaid
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    id UUID COMMENT 'Transaction identifier (from transactions.id)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (from transactions.sold_at)',
    age_seconds Nullable(Int64) COMMENT 'Time from the sale to service_time, never below 0 [seconds] (from sold_at, service_time)',
    service_time Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the service as far as it is known [UTC] (from service_clock.service_time)',
    complete_to Nullable(DateTime64(3, 'UTC')) COMMENT 'Up to which updatedAt the transactions of the account are complete [UTC] (from service_clock.complete_to)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (from transactions.retailer_name)',
    status LowCardinality(String) COMMENT 'Status as of now; empty when absent; never DECLINED, for which nothing is paid (from transactions.status)',
    currency_code LowCardinality(String) COMMENT 'Currency of the amounts; empty when absent (from transactions.currency_code)',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Order value [currency_code] (from transactions.order_value)',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback [currency_code] (from transactions.cashback)'
)
AS SELECT account, id, sold_at, if(w.service_time < sold_at, 0, dateDiff('second', sold_at, w.service_time)) AS age_seconds, w.service_time AS service_time, w.complete_to AS complete_to,
    retailer_name, status, currency_code, order_value, cashback
FROM (SELECT * FROM transactions WHERE payout_id IS NULL AND status != 'DECLINED') AS t
LEFT JOIN service_clock AS w USING (account)
$own_settings
COMMENT 'Transactions that are in no payout and not declined, with their age by the clock of the service';

CREATE OR REPLACE VIEW payout_overdue
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    id UUID COMMENT 'Transaction identifier (from transactions.id)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (from transactions.sold_at)',
    age_seconds Nullable(Int64) COMMENT 'Time from the sale to service_time, never below 0 [seconds] (from sold_at, service_time)',
    service_time Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the service as far as it is known [UTC] (from service_clock.service_time)',
    complete_to Nullable(DateTime64(3, 'UTC')) COMMENT 'Up to which updatedAt the transactions of the account are complete [UTC] (from service_clock.complete_to)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (from transactions.retailer_name)',
    status LowCardinality(String) COMMENT 'Status as of now; empty when absent; never DECLINED, for which nothing is paid (from transactions.status)',
    currency_code LowCardinality(String) COMMENT 'Currency of the amounts; empty when absent (from transactions.currency_code)',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Order value [currency_code] (from transactions.order_value)',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback [currency_code] (from transactions.cashback)'
)
AS SELECT * FROM payout_unpaid WHERE age_seconds > 121 * 86400
$own_settings
COMMENT 'Transactions old enough to have been paid that no payout includes: sold over 121 days ago, 90 days and a month. For another age, ask payout_unpaid';
