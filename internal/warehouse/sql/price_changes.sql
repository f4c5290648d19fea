    SELECT day, /*$key*/product_key, currency_code, assumeNotNull(price) AS price, assumeNotNull(before.1) AS previous_day,
        assumeNotNull(before.2) AS previous_price, views, before.3 AS previous_views
    FROM
    (
        SELECT day, /*$key*/product_key, currency_code, price, views,
            lagInFrame((toNullable(day), price, views)) OVER
                (PARTITION BY account, /*$key*/product_key, currency_code ORDER BY day ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before
        FROM /*$entries*/product_prices
    )
    WHERE before.2 IS NOT NULL AND before.2 != price
