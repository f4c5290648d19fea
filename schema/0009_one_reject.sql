-- One row for what is rejected again and again, and the rows that wait to be deleted.
--
-- Every run that reads a bad value says so anew. Rows of one value merge: what is kept is when it was met first and last,
-- in how many runs, and two readings of it. The last one, and the last that a run has published: the run at hand may fail.
-- Read it with GROUP BY: FINAL does not merge what is read of a part of a tuple, such as last.version.

CREATE TABLE IF NOT EXISTS rejects_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    key String COMMENT 'Key of the record; empty when it has none',
    field String COMMENT 'JSON name of the field; empty for a whole record',
    reason LowCardinality(String) COMMENT 'Why it could not be loaded as it was sent',
    raw_hash FixedString(16) DEFAULT sipHash128(raw) COMMENT 'Tells values apart',
    raw SimpleAggregateFunction(max, String) COMMENT 'JSON of the value or the record, verbatim; empty in a row that settles',
    first_seen_at SimpleAggregateFunction(min, DateTime64(3, 'UTC')) COMMENT 'When it was met first, by the clock of the warehouse',
    seen_at SimpleAggregateFunction(max, DateTime64(3, 'UTC')) COMMENT 'When it was met last, by the clock of the warehouse',
    last SimpleAggregateFunction(max, Tuple(version UInt64, run_id UUID, page UInt32, read_at DateTime64(6, 'UTC'), updated Int64)) COMMENT 'The last reading of it; updated is the updatedAt of its record in milliseconds, 0 without one',
    published SimpleAggregateFunction(max, Tuple(version UInt64, run_id UUID, page UInt32, read_at DateTime64(6, 'UTC'), updated Int64)) COMMENT 'The last reading before that one whose run published what it read; its version is 0 without one',
    counted SimpleAggregateFunction(max, UInt64) COMMENT 'Version of the last reading that times and published take into account',
    times SimpleAggregateFunction(max, UInt64) COMMENT 'How many runs met it, without those that are not counted yet',
    settled SimpleAggregateFunction(max, Tuple(version UInt64, run_id UUID, state String, settled_by UUID, settled_at DateTime64(3, 'UTC'))) COMMENT 'What a retry has decided of the reading of the run run_id',
    written_at SimpleAggregateFunction(max, DateTime('UTC')) DEFAULT now() COMMENT 'By the clock of the warehouse'
)
ENGINE = AggregatingMergeTree
ORDER BY (account, stream, key, field, reason, raw_hash)
COMMENT 'The storage behind rejected_records';

ALTER TABLE rejects_log MODIFY TTL written_at + toIntervalDay(90) DELETE WHERE stream != 'transactions';

-- A migration that broke off begins again, and finds the old tables gone.

CREATE TABLE IF NOT EXISTS rejected_records_log
(
    account LowCardinality(String), stream LowCardinality(String), run_id UUID, page UInt32, key String, field String,
    reason LowCardinality(String), raw String, seen_at DateTime64(3, 'UTC'), read_at DateTime64(6, 'UTC')
)
ENGINE = ReplacingMergeTree
ORDER BY (account, stream, run_id, page, key, field, reason, sipHash64(raw));

CREATE TABLE IF NOT EXISTS settled_rejects_log
(
    account LowCardinality(String), stream LowCardinality(String), run_id UUID, page UInt32, key String, field String,
    reason LowCardinality(String), raw_hash UInt64, state LowCardinality(String), settled_by UUID, settled_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree
ORDER BY (account, stream, run_id, page, key, field, reason, raw_hash);

-- Of the readings that a retry would still try, the oldest is the one that its row was made of, as far as can be told;
-- else the last reading counts.

INSERT INTO rejects_log (account, stream, key, field, reason, raw, first_seen_at, seen_at, last, counted, times, settled, written_at)
SELECT account, stream, key, field, reason, value, first_at, last_at, chosen.1 AS reading, reading.1, runs,
    (reading.1, reading.2, chosen.2, chosen.3, chosen.4), toDateTime(last_at, 'UTC')
FROM
(
SELECT account, stream, key, field, reason, any(raw) AS value, min(seen_at) AS first_at, max(seen_at) AS last_at, uniqExact(run_id) AS runs,
    if(countIf(is_open) > 0, argMinIf(entry, at, is_open), argMax(entry, at)) AS chosen
FROM
(
    SELECT r.account AS account, r.stream AS stream, r.key AS key, r.field AS field, r.reason AS reason, r.raw AS raw, r.run_id AS run_id,
        r.seen_at AS seen_at,
        if(toUnixTimestamp64Micro(r.read_at) > 0, r.read_at, toDateTime64(if(u.known = 1, u.began, r.seen_at), 6, 'UTC')) AS at,
        ((toUInt64(greatest(toUnixTimestamp64Micro(at), 1)), r.run_id, r.page, at, toInt64(0)), s.state, s.settled_by, s.settled_at) AS entry,
        s.state = '' AND u.outcome = 'success' AND w.began_whole <= at AS is_open
    FROM (SELECT *, sipHash64(raw) AS raw_hash FROM rejected_records_log FINAL) AS r
    LEFT JOIN (SELECT account, stream, run_id, page, key, field, reason, raw_hash, state, settled_by, settled_at FROM settled_rejects_log FINAL) AS s
        ON s.account = r.account AND s.stream = r.stream AND s.run_id = r.run_id AND s.page = r.page
        AND s.key = r.key AND s.field = r.field AND s.reason = r.reason AND s.raw_hash = r.raw_hash
    LEFT JOIN (SELECT run_id, 1 AS known, outcome, started_at AS began FROM sync_runs_log FINAL) AS u ON u.run_id = r.run_id
    LEFT JOIN
    (
        SELECT account, stream, max(started_at) AS began_whole FROM sync_runs_log FINAL
        WHERE outcome = 'success' AND mode IN ('snapshot', 'walk', 'full') GROUP BY account, stream
    ) AS w ON w.account = r.account AND w.stream = r.stream
)
GROUP BY account, stream, key, field, reason, sipHash128(raw)
)
SETTINGS join_use_nulls = 0;

-- The tables stay, empty: another process may be at this very migration.

TRUNCATE TABLE IF EXISTS rejected_records_log;

TRUNCATE TABLE IF EXISTS settled_rejects_log;

ALTER TABLE sync_runs_log ADD COLUMN IF NOT EXISTS waiting UInt64 DEFAULT 0 COMMENT 'Rows that the list no longer had and that wait for a confirmation' AFTER older;

ALTER TABLE sync_runs_log COMMENT COLUMN outcome 'running, success, incomplete (the list moved, and rows of it may be missing), failed, stopped (by a signal), guarded (a person must look) or killed';

CREATE OR REPLACE VIEW sync_runs
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    run_id UUID COMMENT 'Identifies the run, also in rejected_records',
    mode LowCardinality(String) COMMENT 'snapshot, walk, incremental, full, initial (the first sync, in windows), backfill (of a range that was asked for), retry (of rejected records), or references (rows that transactions name, by their own addresses)',
    started_at DateTime64(3, 'UTC') COMMENT 'By the clock of the warehouse',
    finished_at Nullable(DateTime64(3, 'UTC')) COMMENT 'By the clock of the warehouse; NULL while the run is under way',
    outcome LowCardinality(String) COMMENT 'running, success, incomplete (the list moved, and rows of it may be missing), failed, stopped (by a signal), guarded (a person must look) or killed',
    requested_after Nullable(DateTime64(3, 'UTC')) COMMENT 'The updatedAt after which rows were asked for; NULL: all',
    watermark Nullable(DateTime64(3, 'UTC')) COMMENT 'The watermark after the run; NULL for streams without one',
    server_time Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the service when the run began, as its first answer said; NULL: not known',
    pages UInt64 COMMENT 'Pages read; of references, addresses that answered',
    rows_read UInt64 COMMENT 'Records read, loaded or rejected',
    inserted UInt64 COMMENT 'Rows that were not there, or were deleted, before',
    updated UInt64 COMMENT 'Rows whose content changed',
    deleted UInt64 COMMENT 'Rows that a complete snapshot no longer had',
    unchanged UInt64 COMMENT 'Rows read that were already there with the same content',
    older UInt64 COMMENT 'Rows read with other content but an older updatedAt than what is loaded, which stays: the next full read loads them',
    waiting UInt64 COMMENT 'Rows that the list no longer had and that wait for a confirmation before they are deleted',
    rejected UInt64 COMMENT 'Values and records of the run that could not be loaded as they were sent',
    duplicates UInt64 COMMENT 'Records whose key came more than once in the run; the newest counted',
    bytes UInt64 COMMENT 'JSON read, in bytes, after decompression',
    retries UInt64 COMMENT 'Requests that had to be repeated',
    warnings Array(String) COMMENT 'What the run noticed and carried on with',
    error String COMMENT 'Why the run failed; empty otherwise'
)
AS SELECT account, stream, run_id, mode, started_at, finished_at, outcome, requested_after, watermark, server_time, pages, rows_read, inserted, updated,
    deleted, unchanged, older, waiting, rejected, duplicates, bytes, retries, warnings, error
FROM sync_runs_log FINAL
COMMENT 'One row a run of a stream';
