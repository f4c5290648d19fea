SELECT arrayJoin([argMin(run_id, started_at), argMax(run_id, started_at)]) AS run_id
    FROM sync_runs_log FINAL
    GROUP BY account, stream, mode, outcome, isNull(watermark)
    UNION ALL
    SELECT r.run_id FROM sync_runs_log AS r FINAL
    LEFT JOIN (SELECT account, stream, max(started_at) AS began FROM sync_runs_log FINAL WHERE /*$fresh{*/mode = 'full'/*}*/ AND /*$succeeded{*/outcome = 'success'/*}*/ GROUP BY account, stream) AS good
        ON good.account = r.account AND good.stream = r.stream
    WHERE r.started_at > ifNull(good.began, toDateTime64(0, 3, 'UTC')) OR r.outcome = /*$running*/'running'
    UNION ALL
    SELECT toUUIDOrZero(JSONExtractString(value, 'run_id')) FROM sync_state
    UNION ALL
    SELECT arrayJoin([last.run_id, published.run_id]) FROM rejects_log
