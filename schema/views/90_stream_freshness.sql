-- How old what people see is. A backfill of a range that was asked for says nothing of it; of the loads of a first sync the
-- last one has a watermark, and with it all is loaded.

CREATE OR REPLACE VIEW stream_freshness
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from sync_runs.account)',
    stream LowCardinality(String) COMMENT 'Stream (from sync_runs.stream)',
    last_success Nullable(DateTime64(3, 'UTC')) COMMENT 'When the last run that succeeded ended; NULL: none did [UTC] (from sync_runs.finished_at)',
    last_attempt Nullable(DateTime64(3, 'UTC')) COMMENT 'When the last run began [UTC] (from sync_runs.started_at)',
    last_outcome LowCardinality(String) COMMENT 'Outcome of that run (from sync_runs.outcome)',
    complete_to Nullable(DateTime64(3, 'UTC')) COMMENT 'Up to which updatedAt every change is loaded; NULL for streams that are read whole [UTC] (from sync_state.value)',
    age_seconds Nullable(Float64) COMMENT 'Time since last_success, by the clock of the warehouse; NULL: no run succeeded [seconds] (from last_success)'
)
AS SELECT r.account, r.stream, r.last_success, r.last_attempt, r.last_outcome,
    parseDateTime64BestEffortOrNull(nullIf(w.value, ''), 3, 'UTC') AS complete_to,
    if(isNull(r.last_success), NULL, dateDiff('millisecond', r.last_success, now64(3, 'UTC')) / 1000) AS age_seconds
FROM
(
    SELECT account, stream, maxIf(finished_at, outcome = 'success' AND (mode != 'initial' OR isNotNull(watermark))) AS last_success, toNullable(max(started_at)) AS last_attempt,
        argMax(outcome, started_at) AS last_outcome
    FROM sync_runs_log FINAL WHERE mode NOT IN ('retry', 'references', 'forget', 'backfill') GROUP BY account, stream
) AS r
LEFT JOIN (SELECT account, stream, value FROM sync_state WHERE name = 'watermark') AS w ON r.account = w.account AND r.stream = w.stream
$own_settings
COMMENT 'When each stream was last in step with the API';
