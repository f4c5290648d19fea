SELECT r.account, r.stream, last_success, nullIf(if(loaded_first, greatest(last_look, first_load), last_look), toDateTime64(0, 3, 'UTC')),
    ifNull(last_whole, if(loaded_first, least(first_load, ifNull(first_look, first_load)), first_look)), last_failure,
    last_run, last_run_id, last_outcome, last_error, last_waiting,
    last_ended, ended_outcome, ended_read, ended_rejected, ended_would_delete,
    length(faults), if(empty(faults), NULL, arrayMin(faults)), if(empty(faults), '', fault), if(empty(faults), '', fault_error), if(empty(faults), '', fault_cause),
    parseDateTime64BestEffortOrNull(nullIf(s.watermark, ''), 3, 'UTC'), s.scope, s.clock, now64(3, 'UTC')
FROM
(
    SELECT *, arrayFilter(began -> began > last_good, faults_ever) AS faults
    FROM
    (
        SELECT account, stream, maxIf(finished_at, good) AS last_success,
            minIf(started_at, initial) AS first_load, countIf(good AND initial) > 0 AS loaded_first,
            maxIf(started_at, (good OR /*$held{*/would_delete > 0/*}*/) AND NOT initial) AS last_look, minIf(toNullable(started_at), good AND NOT initial) AS first_look,
            maxIf(toNullable(started_at), good AND whole) AS last_whole, maxIf(started_at, good) AS last_good,
            maxIf(finished_at, faulty) AS last_failure, toNullable(max(started_at)) AS last_run,
            argMax(run_id, started_at) AS last_run_id,
            argMax(outcome, started_at) AS last_outcome, argMax(error, started_at) AS last_error,
            argMaxIf(waiting, started_at, published AND whole) AS last_waiting,
            maxIf(toNullable(started_at), ended) AS last_ended, argMaxIf(outcome, started_at, ended) AS ended_outcome,
            argMaxIf(rows_read, started_at, ended) AS ended_read, argMaxIf(rejected, started_at, ended) AS ended_rejected,
            argMaxIf(would_delete, started_at, ended) AS ended_would_delete,
            groupArrayIf(started_at, faulty) AS faults_ever,
            argMaxIf(outcome, (started_at, version), faulty) AS fault,
            argMaxIf(error, (started_at, version), faulty) AS fault_error,
            argMaxIf(cause, (started_at, version), faulty) AS fault_cause
        FROM
        (
            SELECT account, stream, run_id, started_at, finished_at, outcome, error, cause, waiting, version, rows_read, rejected,
                would_delete, outcome NOT IN (/*$running*/'running', /*$stopped*/'stopped') AS ended, /*$succeeded{*/outcome = 'success'/*}*/ AS good,
                mode = /*$initial*/'initial' AS initial, /*$whole{*/mode = 'full'/*}*/ AS whole, /*$faulty{*/outcome = 'failed'/*}*/ AS faulty, /*$published{*/outcome = 'success'/*}*/ AS published
            FROM sync_runs_log FINAL WHERE /*$fresh{*/mode = 'full'/*}*/
        )
        GROUP BY account, stream
    )
) AS r
LEFT JOIN
(
    SELECT account, stream, anyIf(value, name = /*$watermark*/'watermark') AS watermark, anyIf(value, name = /*$scope*/'scope') AS scope,
        anyIf(value, name = /*$clock*/'clock') AS clock
    FROM sync_state_log FINAL WHERE name IN (/*$watermark*/'watermark', /*$scope*/'scope', /*$clock*/'clock') GROUP BY account, stream
) AS s ON r.account = s.account AND r.stream = s.stream
ORDER BY r.account, indexOf(/*$streams{*/['transactions']/*}*/, r.stream)
