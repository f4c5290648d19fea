WITH (SELECT ifNull(maxIf(server_time, outcome = /*$success*/'success'), toDateTime64(0, 3, 'UTC')) FROM sync_runs_log FINAL
    WHERE account = {account:String} AND stream = {stream:String} AND /*$fresh{*/mode != ''/*}*/) AS loaded,
    (SELECT toUnixTimestamp64Milli(parseDateTime64BestEffortOrZero(argMax(value, version), 3, 'UTC')) FROM sync_state_log
    WHERE account = {account:String} AND stream = {stream:String} AND name = /*$from*/'loaded_from') AS loaded_from
SELECT which, kind, fields, was, is, countIf(kind IN (/*$wrong*/'wrong', /*$missing*/'missing')) OVER () AS faults, count() OVER () AS differences
FROM
(
    SELECT toString(if(s.here = 1, s./*$key*/id, l./*$key*/id)) AS which,
        multiIf(s.here = 0, /*$gone*/'gone', l.here = 0, if(/*$since*/1, /*$new*/'new', /*$missing*/'missing'), l.own = 1 AND /*$later*/1, /*$changed*/'changed', /*$wrong*/'wrong') AS kind,
        if(s.here = 1 AND l.here = 1, arrayFilter(f -> f != '', [/*$differ*/'']), []) AS fields, /*$was{*/toInt64(0)/*}*/ AS was, /*$is{*/toInt64(0)/*}*/ AS is
    FROM
    (
        SELECT /*$key*/id, 1 AS here, /*$read*/code FROM (/*$rows{*/SELECT * FROM coupons_staging/*}*/)
    ) AS s
    FULL JOIN
    (
        SELECT /*$key*/id, 1 AS here, _hash = /*$hash*/'' AS own, /*$stored*/code FROM /*$latest*/coupons_latest FINAL WHERE account = {account:String} AND _deleted = 0
    ) AS l ON s./*$key*/id = l./*$key*/id
    WHERE s.here = 0 OR l.here = 0 AND /*$asked*/1 OR l.here = 1 AND notEmpty(fields)
)
ORDER BY kind IN (/*$wrong*/'wrong', /*$missing*/'missing') DESC, kind, which
LIMIT /*$limit*/10
