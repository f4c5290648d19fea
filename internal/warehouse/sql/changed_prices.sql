SELECT {account:String}, day, /*$key*/product_key, /*$becomes{*/anyIf(r.price, becomes)/*}*/, /*$next*/1, {run:UUID}
FROM
(
    SELECT /*$columns{*/day, product_key, price/*}*/, true AS becomes, toUInt64(0) AS stored FROM (/*$changes{*/SELECT * FROM product_price_changes/*}*/)
    UNION ALL
    SELECT /*$columns{*/day, product_key, price/*}*/, false, version
    FROM /*$table*/price_changes_latest FINAL
    WHERE account = {account:String} AND NOT (/*$nothing{*/price = 0/*}*/) AND /*$altered{*/product_key IN (SELECT product_key FROM run_prices_delta)/*}*/
) AS r
GROUP BY day, /*$key*/product_key
HAVING count() = 1 OR uniqExact(tuple(/*$values*/price)) = 2
