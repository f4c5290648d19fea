-- Sales by day. Amounts stand beside their currency and are never added up over two.

CREATE OR REPLACE VIEW daily_cashback
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    day Nullable(Date32) COMMENT 'Day of the sale; NULL when the service sent no usable time [UTC] (from transactions.sold_at)',
    currency_code LowCardinality(String) COMMENT 'Currency of the amounts; empty when absent (from transactions.currency_code)',
    status LowCardinality(String) COMMENT 'PENDING, CONFIRMED or DECLINED, as of now; the service may add values; empty when absent (from transactions.status)',
    transactions UInt64 COMMENT 'Transactions [count] (from transactions)',
    order_value Decimal(38, 4) COMMENT 'Sum of the values of the orders [currency_code] (from transactions.order_value)',
    cashback Decimal(38, 4) COMMENT 'Sum of the cashback [currency_code] (from transactions.cashback)',
    paid_transactions UInt64 COMMENT 'Those of them that a payout includes [count] (from transactions.payout_id)',
    paid_cashback Decimal(38, 4) COMMENT 'Cashback of those that a payout includes [currency_code] (from transactions.cashback)'
)
AS SELECT account, toDate32(sold_at) AS day, currency_code, status, count() AS transactions,
    ifNull(sum(t.order_value), 0) AS order_value, ifNull(sum(t.cashback), 0) AS cashback,
    countIf(payout_id IS NOT NULL) AS paid_transactions, ifNull(sumIf(t.cashback, payout_id IS NOT NULL), 0) AS paid_cashback
FROM transactions AS t
GROUP BY account, day, currency_code, status
COMMENT 'Sales and cashback by account, day of sale, currency and status as of now';
