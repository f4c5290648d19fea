-- Sales by day. Amounts stand beside their currency and are never added up over two. The view groups the rows as they are
-- read: whoever asks for sums over months or statuses alone gets them in less time from the view transactions.

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
AS SELECT account, toDate32(sold_at) AS day, currency_code, retailer_id, retailer_name, country, status,
    $sale_sums
GROUP BY account, day, currency_code, retailer_id, retailer_name, country, status
$own_settings
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
AS SELECT account, toDate32(sold_at) AS day, currency_code, status,
    $sale_sums
GROUP BY account, day, currency_code, status
$own_settings
COMMENT 'Sales and cashback by account, day of sale, currency and status as of now';
