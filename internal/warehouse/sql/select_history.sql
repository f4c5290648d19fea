SELECT /*$columns*/account, synced_at AS valid_from, valid_to
FROM
(
    SELECT *, leadInFrame(toNullable(synced_at)) OVER (/*$versions{*/PARTITION BY account, id ORDER BY _version/*}*/ ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS valid_to
    FROM
    (
        SELECT /*$columns*/account, _hash, _version, _deleted,
            row_number() OVER w AS _n, lagInFrame(_hash) OVER w AS _hash_before, lagInFrame(_deleted) OVER w AS _deleted_before
        FROM /*$table*/transactions_versions
        WINDOW w AS (/*$versions{*/PARTITION BY account, id ORDER BY _version/*}*/ ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    )
    WHERE _n = 1 OR _hash != _hash_before OR _deleted != _deleted_before
)
WHERE _deleted = 0
