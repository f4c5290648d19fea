INSERT INTO /*$child_delta*/run_prices_delta (account, /*$child_key{*/product_key, day/*}*/, /*$stored{*/price, views/*}*/, synced_at, _version, _run_id)
SELECT {account:String}, s./*$key*/id, /*$day_read*/day_read, /*$read{*/price_read, views_read/*}*/, /*$merged_at{*/now64(3)/*}*/, greatest(s.read, l._version + 1), {run:UUID}
FROM
(
    SELECT /*$key*/id, /*$staged_day{*/toDate(day)/*}*/ AS /*$day_read*/day_read, /*$staged{*/price AS price_read/*}*/, read
    FROM
    (
        /*$unpacked{*/SELECT 1/*}*/
    )
) AS s
LEFT JOIN
(
    SELECT /*$child_key{*/product_key, day/*}*/, /*$stored{*/price, views/*}*/, _version
    FROM /*$child_latest*/product_prices_latest FINAL
    WHERE account = {account:String} AND /*$key*/id IN (/*$lists{*/SELECT product_key FROM run_hashes_delta/*}*/)
) AS l
ON s./*$key*/id = l./*$key*/id AND s./*$day_read*/day_read = l./*$day*/day
WHERE l._version = 0 OR (s.read > l._version OR l._version > {latest:UInt64}) AND (/*$differ{*/s.price_read != l.price/*}*/)
