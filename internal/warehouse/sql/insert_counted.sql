INSERT INTO rejects_log (account, stream, key, field, reason, raw_hash, raw, first_seen_at,
    seen_at, last, published, counted, times, settled)
SELECT account, stream, key, field, reason, raw_hash, raw, first_seen_at, seen_at, last,
    if(last.run_id IN (SELECT run_id FROM sync_runs_log FINAL WHERE /*$mine{*/account = {account:String} AND stream = {stream:String}/*}*/ AND /*$published{*/outcome = 'success'/*}*/), last, published),
    last.version,
    times + if(last.run_id IN (SELECT run_id FROM sync_runs_log FINAL WHERE /*$mine{*/account = {account:String} AND stream = {stream:String}/*}*/ AND mode = /*$retry*/'retry'), 0, 1),
    settled
FROM
(
    SELECT account, stream, key, field, reason, raw_hash, max(raw) AS raw, min(first_seen_at) AS first_seen_at, max(seen_at) AS seen_at,
        max(last) AS last, max(published) AS published, max(counted) AS counted, max(times) AS times, max(settled) AS settled
    FROM rejects_log
    WHERE /*$mine{*/account = {account:String} AND stream = {stream:String}/*}*/
    GROUP BY account, stream, key, field, reason, raw_hash
)
WHERE last.version > counted AND last.run_id != {run:UUID}
