SELECT /*$columns*/account
FROM /*$latest*/transactions_latest FINAL
WHERE _deleted = 0 AND synced_at <= /*$at{*/now64(3)/*}*/
UNION ALL
SELECT /*$columns*/account
FROM
(
    SELECT /*$columns*/account, _deleted
    FROM /*$versions*/transactions_versions
    WHERE synced_at <= /*$at{*/now64(3)/*}*/ AND (account, /*$key*/id) GLOBAL IN
    (
        SELECT account, /*$key*/id FROM /*$latest*/transactions_latest FINAL WHERE synced_at > /*$at{*/now64(3)/*}*//*$marks*/
    )
    ORDER BY _version DESC, _deleted DESC
    LIMIT 1 BY account, /*$key*/id
)
WHERE _deleted = 0
