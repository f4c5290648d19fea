-- How many rows the view of each stream has. Of transactions each run keeps the number (liveOf in internal/warehouse), so
-- that nobody has to read millions of rows to count them; the others are few enough to be counted.

CREATE OR REPLACE VIEW stream_counts
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from the streams)',
    stream LowCardinality(String) COMMENT 'Stream: the name of the view that is counted (from the streams)',
    rows UInt64 COMMENT 'Rows that the view has; an account without any is not here [count] (from the streams)'
)
AS SELECT account, 'transactions' AS stream, toUInt64(live) AS rows FROM transactions_live FINAL WHERE live > 0
UNION ALL
SELECT account, 'promotions' AS stream, count() AS rows FROM promotions_latest FINAL WHERE _deleted = 0 GROUP BY account
UNION ALL
SELECT account, 'coupons' AS stream, count() AS rows FROM coupons_latest FINAL WHERE _deleted = 0 GROUP BY account
UNION ALL
SELECT account, 'cashback_offers' AS stream, count() AS rows FROM cashback_offers_latest FINAL WHERE _deleted = 0 GROUP BY account
UNION ALL
SELECT account, 'payouts' AS stream, count() AS rows FROM payouts_latest FINAL WHERE _deleted = 0 GROUP BY account
UNION ALL
SELECT account, 'products' AS stream, count() AS rows FROM products_latest FINAL WHERE _deleted = 0 GROUP BY account
COMMENT 'How many rows each stream has, by account: the count of transactions without reading them';
