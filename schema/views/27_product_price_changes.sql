-- A price is compared with the last one known before it in the same currency; a change of the currency is no price move.

CREATE OR REPLACE VIEW product_price_changes
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from product_prices.account)',
    product_key UUID COMMENT 'Product, as in products (from product_prices.product_key)',
    currency_code LowCardinality(String) COMMENT 'Currency of the prices; empty when absent (from product_prices.currency_code)',
    day Date COMMENT 'First day of the new price (from product_prices.day)',
    price Decimal(18, 4) COMMENT 'New price [currency_code] (from product_prices.price)',
    previous_day Date COMMENT 'Last day of the old price of which there is a record (from product_prices.day)',
    previous_price Decimal(18, 4) COMMENT 'Old price [currency_code] (from product_prices.price)',
    change Decimal(18, 4) COMMENT 'price minus previous_price: above zero if it became dearer [currency_code] (from product_prices.price)',
    change_percent Nullable(Float64) COMMENT 'change in proportion to previous_price; NULL when that was 0 [percent] (from product_prices.price)',
    views Nullable(Int64) COMMENT 'Views of the product on the first day of the new price [count] (from product_prices.views)',
    previous_views Nullable(Int64) COMMENT 'Views of the product on previous_day [count] (from product_prices.views)'
)
AS SELECT account, product_key, currency_code, day, price, previous_day, previous_price,
    price - previous_price AS change, if(previous_price = 0, NULL, 100 * toFloat64(change) / toFloat64(previous_price)) AS change_percent,
    views, previous_views
FROM product_price_changes_latest FINAL
WHERE price != previous_price
COMMENT 'Days on which the price of a product moved: one row for each product, currency and day';
