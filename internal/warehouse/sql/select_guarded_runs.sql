SELECT account, stream, last.1, last.2, last.3, last.5 FROM
(
    SELECT account, stream, argMax((run_id, started_at, mode, outcome, would_delete), (started_at, run_id)) AS last FROM sync_runs
    WHERE ({account:String} = '' OR account = {account:String} AND stream = {stream:String})
        AND (account, stream) IN (SELECT account, stream FROM sync_runs_log WHERE outcome = /*$guarded*/'guarded')
        AND (outcome = /*$success*/'success' OR outcome = /*$guarded*/'guarded' AND would_delete > 0) AND /*$whole{*/mode = 'full'/*}*/ AND /*$not_ahead{*/started_at <= now64(3)/*}*/
    GROUP BY account, stream
)
WHERE last.4 = /*$guarded*/'guarded'
ORDER BY account, stream
