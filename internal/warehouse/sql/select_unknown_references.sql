SELECT n.stream AS stream, toUUIDOrZero(n.key) AS id
FROM /*$named*/transactions_named AS n
WHERE account = {account:String} AND n.stream IN
    (
        SELECT stream FROM sync_runs_log WHERE account = {account:String} AND stream IN (/*$streams*/'coupons') AND outcome = /*$success*/'success' AND /*$whole{*/mode = 'full'/*}*/
    )
    AND (stream, id) NOT IN
    (
        /*$known{*/SELECT 'coupons', id FROM coupons_latest/*}*/
    )
    AND (stream, id) NOT IN
    (
        SELECT stream, id FROM reference_misses_log
        WHERE account = {account:String} AND asked_at > now64(3) - toIntervalMillisecond({retry:Int64})
            AND asked_at <= now64(3) + toIntervalMillisecond(/*$tolerance*/60000)
    )
GROUP BY stream, id
ORDER BY (stream, id) IN (SELECT stream, id FROM reference_misses_log WHERE account = {account:String}), max(n.newest) DESC, id
LIMIT {limit:UInt64}
