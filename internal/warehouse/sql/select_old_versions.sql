SELECT /*$id*/_version AS id FROM
(
    SELECT *, max(if(/*$old{*/synced_at < now()/*}*/, _nth, 0)) OVER (PARTITION BY account, /*$key*/id) AS _in_force FROM
    (
        SELECT account, /*$key*/id, _version, synced_at, sum(_starts) OVER (/*$versions{*/PARTITION BY account, id ORDER BY _version/*}*/) AS _nth FROM
        (
            SELECT account, /*$key*/id, _version, synced_at,
                row_number() OVER w = 1 OR _hash != lagInFrame(_hash) OVER w OR _deleted != lagInFrame(_deleted) OVER w AS _starts
            FROM /*$table*/transactions_versions
            WHERE (account, /*$key*/id) IN (SELECT account, /*$key*/id FROM /*$table*/transactions_versions WHERE /*$old{*/synced_at < now()/*}*/ GROUP BY account, /*$key*/id HAVING count() > 1)
                AND account NOT IN (SELECT account FROM sync_state WHERE stream = /*$stream*/'transactions' AND startsWith(name, /*$intent*/'intent:'))
            WINDOW w AS (/*$versions{*/PARTITION BY account, id ORDER BY _version/*}*/)
        )
    )
)
WHERE /*$old{*/synced_at < now()/*}*/ AND _nth < _in_force
ORDER BY _nth, id LIMIT {limit:UInt64}
