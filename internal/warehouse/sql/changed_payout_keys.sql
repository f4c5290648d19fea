SELECT key FROM
    (
        SELECT cityHash64(id) AS key, payout_id IS NULL AS bare, toUInt64(bitShiftRight(_version, 64)) AS changed_at FROM (/*$versions{*/SELECT * FROM transactions_versions/*}*/)
    )
    GROUP BY key HAVING sum(NOT bare) > 1 OR sum(NOT bare) = 1 AND max(2 * changed_at + bare) % 2 = 1
