-- Versions of transactions that are dated before the start of a run that did not get them, and after the time from which on
-- runs had asked for changes (initial_from).
SELECT v.account AS account, v.id AS id, assumeNotNull(v.updated_at) AS updated_at, v.synced_at AS synced_at, v._run_id AS run, v._version AS version, assumeNotNull(r.before) AS before,
        r.requested_after AS requested_after
    FROM transactions_versions AS v
    INNER JOIN
    (
        SELECT account, run_id, requested_after, before, asked_from
        FROM
        (
            SELECT account, run_id, mode, requested_after,
                maxIf(server_time, outcome = 'success' AND isNotNull(watermark)) OVER earlier AS before,
                minIf(ifNull(requested_after, toDateTime64(0, 3, 'UTC')), outcome = 'success') OVER earlier AS asked_from
            FROM sync_runs_log FINAL
            WHERE stream = 'transactions' AND mode NOT IN ('retry', 'references', 'forget', 'backfill')
            WINDOW earlier AS (PARTITION BY account ORDER BY started_at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        )
        WHERE mode != 'initial' AND isNotNull(before)
    ) AS r ON v.account = r.account AND v._run_id = r.run_id
    WHERE v._deleted = 0 AND v.updated_at < r.before AND v.updated_at > r.asked_from
