-- Sales by day. Amounts stand beside their currency and are never added up over two. Each run keeps the storage in step
-- (salesTable in internal/warehouse). Days that are known stand apart in it, so that a condition on the day reads them alone.
-- The setting lets conditions on the columns of its key (all but the sums) choose rows before FINAL puts them together:
-- it takes only such conditions, and the rows that replace each other are equal in these columns.

CREATE OR REPLACE VIEW daily_sales
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    day Nullable(Date32) COMMENT 'Day of the sale; NULL when the service sent no usable time [UTC] (from transactions.sold_at)',
    currency_code LowCardinality(String) COMMENT 'Currency of the amounts; empty when absent (from transactions.currency_code)',
    retailer_id Nullable(UUID) COMMENT 'Retailer; NULL when the service sent none or no UUID (from transactions.retailer_id)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (from transactions.retailer_name)',
    country LowCardinality(String) COMMENT 'Country code; empty when absent (from transactions.country)',
    status LowCardinality(String) COMMENT 'PENDING, CONFIRMED or DECLINED, as of now; the service may add values; empty when absent (from transactions.status)',
    transactions UInt64 COMMENT 'Transactions [count] (from transactions)',
    order_value Decimal(38, 4) COMMENT 'Sum of the values of the orders [currency_code] (from transactions.order_value)',
    cashback Decimal(38, 4) COMMENT 'Sum of the cashback [currency_code] (from transactions.cashback)',
    paid_transactions UInt64 COMMENT 'Those of them that a payout includes and that are not declined [count] (from transactions.payout_id, status)',
    paid_cashback Decimal(38, 4) COMMENT 'Cashback of those that a payout includes and that are not declined, as of now; payout_paid has what was paid when it was paid [currency_code] (from transactions.cashback)'
)
AS SELECT account, toNullable(s.day) AS day, currency_code, if(identified, s.retailer_id, NULL) AS retailer_id, retailer_name, country, status,
    toUInt64(s.sales) AS transactions, order_value, cashback, toUInt64(s.paid_transactions) AS paid_transactions, paid_cashback
FROM sales_latest AS s FINAL
WHERE dated = 1 AND s.sales != 0
SETTINGS optimize_move_to_prewhere_if_final = 1
UNION ALL
SELECT account, CAST(NULL, 'Nullable(Date32)') AS day, currency_code, if(identified, s.retailer_id, NULL) AS retailer_id, retailer_name, country, status,
    toUInt64(s.sales) AS transactions, order_value, cashback, toUInt64(s.paid_transactions) AS paid_transactions, paid_cashback
FROM sales_latest AS s FINAL
WHERE dated = 0 AND s.sales != 0
SETTINGS optimize_move_to_prewhere_if_final = 1
COMMENT 'Sales and cashback by account, day of sale, currency, retailer, country and status as of now';

CREATE OR REPLACE VIEW daily_cashback
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    day Nullable(Date32) COMMENT 'Day of the sale; NULL when the service sent no usable time [UTC] (from transactions.sold_at)',
    currency_code LowCardinality(String) COMMENT 'Currency of the amounts; empty when absent (from transactions.currency_code)',
    status LowCardinality(String) COMMENT 'PENDING, CONFIRMED or DECLINED, as of now; the service may add values; empty when absent (from transactions.status)',
    transactions UInt64 COMMENT 'Transactions [count] (from transactions)',
    order_value Decimal(38, 4) COMMENT 'Sum of the values of the orders [currency_code] (from transactions.order_value)',
    cashback Decimal(38, 4) COMMENT 'Sum of the cashback [currency_code] (from transactions.cashback)',
    paid_transactions UInt64 COMMENT 'Those of them that a payout includes and that are not declined [count] (from transactions.payout_id, status)',
    paid_cashback Decimal(38, 4) COMMENT 'Cashback of those that a payout includes and that are not declined, as of now; payout_paid has what was paid when it was paid [currency_code] (from transactions.cashback)'
)
AS SELECT account, day, currency_code, status, sum(s.transactions) AS transactions, sum(s.order_value) AS order_value, sum(s.cashback) AS cashback,
    sum(s.paid_transactions) AS paid_transactions, sum(s.paid_cashback) AS paid_cashback
FROM daily_sales AS s
GROUP BY account, day, currency_code, status
COMMENT 'Sales and cashback by account, day of sale, currency and status as of now';
