SELECT r.run_id, r.page, r.key, r.field, r.reason, r.raw, r.read, r.updated, r.hash, l.record, l.read,
    l.record != '' AND (l.run = r.run_id AND l.read = r.read OR l.read < r.read AND /*$same{*/l.updated = r.updated/*}*/ OR u.whole AND l.run != r.run_id AND l.read < u.began)
FROM
(
    SELECT run_id, page, key, field, reason, raw, toUnixTimestamp64Micro(read_at) AS read,
        ifNull(toUnixTimestamp64Milli(record_updated_at), 0) AS updated, sipHash128(raw) AS hash
    /*$open{*/FROM rejected_records/*}*//*$chosen*/
) AS r
LEFT JOIN
(
    SELECT toString(/*$key*/id) AS key, /*$record*/'' AS record, _run_id AS run, toInt64(bitAnd(_version, /*$read_part{*/toUInt128(18446744073709551615)/*}*/)) AS read, /*$updated*/0 AS updated
    FROM /*$latest*/transactions_latest FINAL
    WHERE account = {account:String} AND _deleted = 0 AND /*$key*/id IN (SELECT /*$cast{*/toUUIDOrZero(key)/*}*/ FROM (/*$matching{*/SELECT key FROM rejected_records/*}*/))
) AS l ON l.key = r.key AND r.field != ''
LEFT JOIN
(
    SELECT run_id, /*$whole{*/mode = 'full'/*}*/ AS whole, toUnixTimestamp64Micro(toDateTime64(started_at, 6, 'UTC')) AS began FROM sync_runs_log FINAL
) AS u ON u.run_id = r.run_id
ORDER BY r.field != '', r.key, r.read, r.run_id, r.page, r.field
SETTINGS join_use_nulls = 0
