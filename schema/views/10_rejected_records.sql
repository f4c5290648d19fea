-- What could not be loaded as it was sent, and what has become of it. The reading that counts is the last one whose run
-- has published what it read, else the last. A later run that read the whole stream has decided over what came before;
-- so has any later one, of what a failed run was about to load, but for the windows of backfills.

CREATE OR REPLACE VIEW rejected_records
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from sync_runs.account)',
    stream LowCardinality(String) COMMENT 'Stream (from sync_runs.stream)',
    run_id UUID COMMENT 'The run whose reading of it counts: the last that published what it read, else the last (from sync_runs.run_id)',
    page UInt32 COMMENT 'Page of that run, from 1',
    key String COMMENT 'Key of the record; empty when it has none',
    field String COMMENT 'JSON name of the field; empty for a whole record',
    reason LowCardinality(String) COMMENT 'Why it could not be loaded as it was sent',
    raw String COMMENT 'JSON of the value or the record, verbatim',
    first_seen_at DateTime64(3, 'UTC') COMMENT 'When a run first read it, by the clock of the warehouse [UTC]',
    seen_at DateTime64(3, 'UTC') COMMENT 'When a run last read it, by the clock of the warehouse [UTC]',
    times UInt64 COMMENT 'How many runs read it, not counting retries; runs at the same time may count as fewer or more [count]',
    last_run_id UUID COMMENT 'The last run that read it, whether it published anything or not (from sync_runs.run_id)',
    read_at DateTime64(6, 'UTC') COMMENT 'When its page was asked for, in the reading that counts [UTC]',
    record_updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'updatedAt of its record in that reading; NULL: it has none, or is rejected as a whole [UTC]',
    state LowCardinality(String) COMMENT 'open: dealhouse rejects retry tries it; loaded: a retry has loaded it; superseded: what was read later counts; unpublished: its run published nothing, and what it read is read again',
    settled_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When a retry settled it; NULL when none did [UTC]'
)
AS SELECT r.account AS account, r.stream AS stream, tupleElement(r.counts, 'run_id') AS run_id, tupleElement(r.counts, 'page') AS page, r.key AS key, r.field AS field,
    r.reason AS reason, CAST(r.raw AS String) AS raw, CAST(r.first_seen_at AS DateTime64(3, 'UTC')) AS first_seen_at,
    CAST(r.seen_at AS DateTime64(3, 'UTC')) AS seen_at, r.met AS times, r.last_run AS last_run_id,
    tupleElement(r.counts, 'read_at') AS read_at,
    if(tupleElement(r.counts, 'updated') = 0, NULL, fromUnixTimestamp64Milli(tupleElement(r.counts, 'updated'), 'UTC')) AS record_updated_at,
    multiIf(
        r.is_settled, tupleElement(r.settled, 'state'),
        ifNull(w.began_whole, toDateTime64(0, 3, 'UTC')) > read_at, 'superseded',
        r.is_published, 'open',
        NOT r.of_backfill AND ifNull(w.began, toDateTime64(0, 3, 'UTC')) > read_at, 'superseded',
        'unpublished') AS state,
    if(r.is_settled, toNullable(tupleElement(r.settled, 'settled_at')), NULL) AS settled_at
FROM
(
    SELECT account, stream, key, field, reason, raw, first_seen_at, seen_at, settled, tupleElement(last, 'run_id') AS last_run,
        ifNull(run.published, false) AS last_published, last_published OR tupleElement(read.published, 'version') > 0 AS is_published,
        if(last_published OR tupleElement(read.published, 'version') = 0, last, read.published) AS counts,
        tupleElement(settled, 'state') != '' AND tupleElement(settled, 'run_id') = tupleElement(counts, 'run_id') AS is_settled,
        ifNull(run.of_backfill, false) AS of_backfill,
        greatest(times + if(tupleElement(last, 'version') > counted AND NOT ifNull(run.of_retry, false), 1, 0), 1) AS met
    FROM
    (
        SELECT account, stream, key, field, reason, max(raw) AS raw, min(first_seen_at) AS first_seen_at, max(seen_at) AS seen_at, max(last) AS last,
            max(published) AS published, max(counted) AS counted, max(times) AS times, max(settled) AS settled
        FROM rejects_log GROUP BY account, stream, key, field, reason, raw_hash
    ) AS read
    LEFT JOIN
    (
        SELECT run_id, max(outcome IN ('success', 'incomplete')) AS published, max(mode IN ('initial', 'backfill')) AS of_backfill, max(mode = 'retry') AS of_retry
        FROM sync_runs_log FINAL WHERE run_id IN (SELECT last.run_id FROM rejects_log) GROUP BY run_id
    ) AS run ON run.run_id = tupleElement(read.last, 'run_id')
    WHERE tupleElement(last, 'version') > 0
) AS r
LEFT JOIN
(
    SELECT account, stream, maxIf(started_at, mode IN ('snapshot', 'walk', 'full')) AS began_whole, max(started_at) AS began FROM sync_runs_log FINAL
    WHERE outcome = 'success' AND mode IN ('snapshot', 'walk', 'full', 'incremental')
    GROUP BY account, stream
) AS w ON w.account = r.account AND w.stream = r.stream
$own_settings
COMMENT 'What could not be loaded as it was sent, and what became of it: nothing is dropped. A value that many runs read is one row';
