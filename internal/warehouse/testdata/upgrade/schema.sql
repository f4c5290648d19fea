-- All that a new database got before transactions were stored by the time of their sale: the files up to 0010, and the
-- tables and views of the streams. It stays as it is. TestUpgrade upgrades it.

CREATE TABLE IF NOT EXISTS schema_migrations_log
(
    version UInt32 COMMENT 'Number of the file in schema/; 0 stands for the tables of the streams and all views',
    name String COMMENT 'Name of the file',
    checksum String COMMENT 'SHA-256 of what was applied',
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'By the clock of the warehouse'
)
ENGINE = ReplacingMergeTree(applied_at)
ORDER BY version
COMMENT 'The storage behind schema_migrations';

CREATE OR REPLACE VIEW schema_migrations
(
    version UInt32 COMMENT 'Number of the file in schema/; 0 stands for the tables of the streams and all views',
    name String COMMENT 'Name of the file',
    checksum String COMMENT 'SHA-256 of what was applied',
    applied_at DateTime64(3, 'UTC') COMMENT 'By the clock of the warehouse'
)
AS SELECT version, name, checksum, applied_at FROM schema_migrations_log FINAL
COMMENT 'What has been applied to this database';

CREATE TABLE IF NOT EXISTS sync_state_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    name LowCardinality(String) COMMENT 'watermark, checkpoint, lease, intent:<run> or backfill:<range>',
    value String COMMENT 'The state itself: a timestamp for a watermark, JSON for the others; empty when it is cleared',
    version UInt64 COMMENT 'The highest wins: for a watermark the watermark itself, so that it can never move back',
    updated_at DateTime64(6, 'UTC') DEFAULT now64(6) COMMENT 'When it was written, by the clock of the warehouse'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (account, stream, name)
COMMENT 'Watermarks, checkpoints, merge intents and leases: the storage behind sync_state';

CREATE OR REPLACE VIEW sync_state
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    name LowCardinality(String) COMMENT 'watermark, checkpoint, lease, intent:<run> or backfill:<range>',
    value String COMMENT 'The state itself: a timestamp for a watermark, JSON for the others',
    updated_at DateTime64(6, 'UTC') COMMENT 'When it was written, by the clock of the warehouse'
)
AS SELECT account, stream, name, value, updated_at FROM sync_state_log FINAL WHERE value != ''
COMMENT 'Where each stream stands: watermarks, checkpoints, merge intents and leases';

CREATE TABLE IF NOT EXISTS sync_runs_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    run_id UUID COMMENT 'Identifies the run, also in rejected_records',
    mode LowCardinality(String) COMMENT 'snapshot, walk, incremental, full or backfill',
    started_at DateTime64(3, 'UTC') COMMENT 'By the clock of the warehouse',
    finished_at Nullable(DateTime64(3, 'UTC')) COMMENT 'By the clock of the warehouse; NULL while the run is under way',
    outcome LowCardinality(String) COMMENT 'running, success, failed, stopped (by a signal), guarded (a person must look) or killed',
    requested_after Nullable(DateTime64(3, 'UTC')) COMMENT 'The updatedAt after which rows were asked for; NULL: all',
    watermark Nullable(DateTime64(3, 'UTC')) COMMENT 'The watermark after the run; NULL for streams without one',
    pages UInt64 COMMENT 'Pages read',
    rows_read UInt64 COMMENT 'Records read, loaded or rejected',
    inserted UInt64 COMMENT 'Rows that were not there, or were deleted, before',
    updated UInt64 COMMENT 'Rows whose content changed',
    deleted UInt64 COMMENT 'Rows that a complete snapshot no longer had',
    unchanged UInt64 COMMENT 'Rows read that were already there with the same content',
    rejected UInt64 COMMENT 'Entries made in rejected_records',
    duplicates UInt64 COMMENT 'Records whose key came more than once in the run; the newest counted',
    bytes UInt64 COMMENT 'JSON read, in bytes, after decompression',
    retries UInt64 COMMENT 'Requests that had to be repeated',
    warnings Array(String) COMMENT 'What the run noticed and carried on with',
    error String COMMENT 'Why the run failed; empty otherwise',
    version UInt64 COMMENT 'The highest wins'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (account, stream, run_id)
COMMENT 'The storage behind sync_runs';

CREATE OR REPLACE VIEW sync_runs
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    run_id UUID COMMENT 'Identifies the run, also in rejected_records',
    mode LowCardinality(String) COMMENT 'snapshot, walk, incremental, full or backfill',
    started_at DateTime64(3, 'UTC') COMMENT 'By the clock of the warehouse',
    finished_at Nullable(DateTime64(3, 'UTC')) COMMENT 'By the clock of the warehouse; NULL while the run is under way',
    outcome LowCardinality(String) COMMENT 'running, success, failed, stopped (by a signal), guarded (a person must look) or killed',
    requested_after Nullable(DateTime64(3, 'UTC')) COMMENT 'The updatedAt after which rows were asked for; NULL: all',
    watermark Nullable(DateTime64(3, 'UTC')) COMMENT 'The watermark after the run; NULL for streams without one',
    pages UInt64 COMMENT 'Pages read',
    rows_read UInt64 COMMENT 'Records read, loaded or rejected',
    inserted UInt64 COMMENT 'Rows that were not there, or were deleted, before',
    updated UInt64 COMMENT 'Rows whose content changed',
    deleted UInt64 COMMENT 'Rows that a complete snapshot no longer had',
    unchanged UInt64 COMMENT 'Rows read that were already there with the same content',
    rejected UInt64 COMMENT 'Entries made in rejected_records',
    duplicates UInt64 COMMENT 'Records whose key came more than once in the run; the newest counted',
    bytes UInt64 COMMENT 'JSON read, in bytes, after decompression',
    retries UInt64 COMMENT 'Requests that had to be repeated',
    warnings Array(String) COMMENT 'What the run noticed and carried on with',
    error String COMMENT 'Why the run failed; empty otherwise'
)
AS SELECT * EXCEPT version FROM sync_runs_log FINAL
COMMENT 'One row a run of a stream';

CREATE TABLE IF NOT EXISTS rejected_records_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    run_id UUID COMMENT 'The run that read it',
    page UInt32 COMMENT 'Page of the run, from 1',
    key String COMMENT 'Key of the record; empty when it has none',
    field String COMMENT 'JSON name of the field; empty for a whole record',
    reason LowCardinality(String) COMMENT 'Why it could not be loaded as it was sent',
    raw String COMMENT 'JSON of the value or the record, verbatim',
    seen_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When it was written, by the clock of the warehouse'
)
ENGINE = ReplacingMergeTree
ORDER BY (account, stream, run_id, page, key, field, reason, sipHash64(raw))
COMMENT 'The storage behind rejected_records';

ALTER TABLE rejected_records_log ADD COLUMN IF NOT EXISTS read_at DateTime64(6, 'UTC') DEFAULT toDateTime64(0, 6, 'UTC') COMMENT 'When the page was asked for, by the clock of the run; 1970: not recorded';

CREATE TABLE IF NOT EXISTS settled_rejects_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    run_id UUID COMMENT 'As in rejected_records',
    page UInt32 COMMENT 'As in rejected_records',
    key String COMMENT 'As in rejected_records',
    field String COMMENT 'As in rejected_records',
    reason LowCardinality(String) COMMENT 'As in rejected_records',
    raw_hash UInt64 COMMENT 'sipHash64 of raw',
    state LowCardinality(String) COMMENT 'loaded or superseded',
    settled_by UUID COMMENT 'The retry that decided it, as in sync_runs',
    settled_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'By the clock of the warehouse'
)
ENGINE = ReplacingMergeTree
ORDER BY (account, stream, run_id, page, key, field, reason, raw_hash)
COMMENT 'Rejected records that a retry has settled: part of the storage behind rejected_records';

ALTER TABLE sync_runs_log COMMENT COLUMN mode 'snapshot, walk, incremental, full, backfill or retry (of rejected records)';

ALTER TABLE sync_runs COMMENT COLUMN mode 'snapshot, walk, incremental, full, backfill or retry (of rejected records)';

CREATE TABLE IF NOT EXISTS payout_findings_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    kind LowCardinality(String) COMMENT 'missing, mismatched, drifted, altered, mixed_currency, orphan or overdue',
    subject String COMMENT 'Id of the payout; of overdue ones the month of the sales, as 2026-03',
    detail String COMMENT 'What was found, in words',
    detail_hash UInt64 MATERIALIZED sipHash64(detail) COMMENT 'A finding with other words is another one',
    first_seen DateTime64(3, 'UTC') COMMENT 'When it was found, by the clock of the warehouse',
    last_seen DateTime64(3, 'UTC') COMMENT 'When it was found last',
    resolved_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was found no more; NULL while it stands',
    version UInt64 DEFAULT toUnixTimestamp64Micro(now64(6)) COMMENT 'The highest wins'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (account, kind, subject, detail_hash)
COMMENT 'The storage behind payout_findings';

CREATE OR REPLACE VIEW payout_findings
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    kind LowCardinality(String) COMMENT 'missing, mismatched, drifted, altered, mixed_currency, orphan or overdue',
    subject String COMMENT 'Id of the payout; of overdue ones the month of the sales, as 2026-03',
    detail String COMMENT 'What was found, in words',
    first_seen DateTime64(3, 'UTC') COMMENT 'When it was found, by the clock of the warehouse',
    last_seen DateTime64(3, 'UTC') COMMENT 'When it was found last',
    resolved_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was found no more; NULL while it stands'
)
AS SELECT account, kind, subject, detail, first_seen, last_seen, resolved_at FROM payout_findings_log FINAL
COMMENT 'What the reconciliation of payouts found, when, and whether it still stands';

CREATE TABLE IF NOT EXISTS reference_misses_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream of the record that was asked for',
    id UUID COMMENT 'Key that a transaction names',
    reason LowCardinality(String) COMMENT 'not_found: the service does not know it; refused: it refused the request; unusable: what it gave is no record with this key',
    asked_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When it was asked for last, by the clock of the warehouse'
)
ENGINE = ReplacingMergeTree(asked_at)
ORDER BY (account, stream, id)
COMMENT 'The storage behind reference_misses';

ALTER TABLE sync_runs_log COMMENT COLUMN mode 'snapshot, walk, incremental, full, backfill, or references (rows that transactions name, by their own addresses)';

ALTER TABLE sync_runs COMMENT COLUMN mode 'snapshot, walk, incremental, full, backfill, or references (rows that transactions name, by their own addresses)';

ALTER TABLE sync_runs_log COMMENT COLUMN pages 'Pages read; of references, addresses that answered';

ALTER TABLE sync_runs COMMENT COLUMN pages 'Pages read; of references, addresses that answered';

CREATE TABLE IF NOT EXISTS quality_checks_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    run_id UUID COMMENT 'Run after which it was checked, as in sync_runs',
    check LowCardinality(String) COMMENT 'What was checked',
    ok Bool COMMENT 'Whether it holds',
    found UInt64 COMMENT 'What was counted',
    expected UInt64 COMMENT 'What should have been counted',
    detail String COMMENT 'What was found and what to look at; empty when it holds',
    checked_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'By the clock of the warehouse'
)
ENGINE = ReplacingMergeTree(checked_at)
ORDER BY (account, stream, run_id, check)
COMMENT 'The storage behind quality_checks';

CREATE TABLE IF NOT EXISTS transaction_decisions_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    id UUID COMMENT 'Transaction identifier',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction',
    currency_code LowCardinality(String) COMMENT 'Currency of the transaction',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale',
    confirmed_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was seen to become CONFIRMED',
    declined_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was seen to become DECLINED',
    version UInt128 COMMENT 'Newest version of the transaction that this takes into account: the highest wins'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (account, id)
COMMENT 'The storage behind transaction_decisions: what would have to be computed from all versions';

ALTER TABLE rejected_records_log MODIFY TTL toDateTime(seen_at) + toIntervalDay(90) DELETE WHERE stream != 'transactions';

ALTER TABLE quality_checks_log MODIFY TTL toDateTime(checked_at) + toIntervalDay(400);

ALTER TABLE sync_runs_log ADD COLUMN IF NOT EXISTS older UInt64 COMMENT 'Rows read with other content but an older updatedAt than what is loaded, which stays: the next full read loads them' AFTER unchanged;

ALTER TABLE sync_state_log COMMENT COLUMN name 'watermark, origin (of the service that the watermark is of), decisions, checkpoint, lease, intent:<run> or backfill:<range>';

ALTER TABLE sync_state COMMENT COLUMN name 'watermark, origin (of the service that the watermark is of), decisions, checkpoint, lease, intent:<run> or backfill:<range>';

ALTER TABLE sync_state_log COMMENT COLUMN version 'The highest wins: the time of writing in microseconds, or a little more than all that the stream has; for a watermark the watermark itself, so that it can never move back';

ALTER TABLE sync_runs_log ADD COLUMN IF NOT EXISTS server_time Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the service when the run began, as its first answer said; NULL: not known' AFTER watermark;

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

CREATE TABLE IF NOT EXISTS absent_rows_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    key String COMMENT 'Key of the row',
    lists UInt16 COMMENT 'Complete lists in a row that did not have it; 0: the last one had it, or it is deleted',
    run_id UUID COMMENT 'The run that read the last of them',
    since DateTime64(3, 'UTC') COMMENT 'When the first of them was read, by the clock of the warehouse',
    version UInt64 COMMENT 'The highest wins'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (account, stream, key)
TTL toDateTime(since) + toIntervalDay(400) DELETE WHERE lists = 0
COMMENT 'Rows that complete lists no longer had: deleted once enough lists in a row did not have them';

CREATE TABLE IF NOT EXISTS promotions_latest
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Promotion identifier (API: id)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion becomes active [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion expires [UTC] (API: endDate)',
    description String COMMENT 'Description of the promotion; empty when absent (API: description)',
    retailer_id Nullable(UUID) COMMENT 'Retailer the promotion belongs to; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'URL of the retailer\'s website where the promotion can be used; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    deep_link String COMMENT 'Deep link for the promotion; empty when absent (API: deepLink)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, id)
COMMENT 'Storage behind the view promotions';

CREATE TABLE IF NOT EXISTS promotions_staging
(
    run_id UUID,
    id UUID,
    start_date Int64,
    end_date Int64,
    description String,
    retailer_id UUID,
    url String,
    retailer_name String,
    hostname String,
    retailer_logo String,
    deep_link String,
    updated_at Int64,
    _nulls UInt64,
    _extra String,
    _page UInt32,
    _fetched Int64,
    _version UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(if(bitTest(_nulls, 3), 0, greatest(updated_at, 0))), 64), toUInt128(_fetched)),
    _hash FixedString(16) MATERIALIZED sipHash128(_nulls, _extra, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at)
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, id)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

CREATE TABLE IF NOT EXISTS promotions_versions
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Promotion identifier (API: id)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion becomes active [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion expires [UTC] (API: endDate)',
    description String COMMENT 'Description of the promotion; empty when absent (API: description)',
    retailer_id Nullable(UUID) COMMENT 'Retailer the promotion belongs to; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'URL of the retailer\'s website where the promotion can be used; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    deep_link String COMMENT 'Deep link for the promotion; empty when absent (API: deepLink)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = MergeTree
ORDER BY (account, id)
COMMENT 'Storage behind the view promotions_history';

CREATE TABLE IF NOT EXISTS coupons_latest
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Coupon identifier (API: id)',
    code String COMMENT 'The coupon code value; empty when absent (API: code)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon becomes active [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon expires [UTC] (API: endDate)',
    description String COMMENT 'Description of the coupon; empty when absent (API: description)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the coupon; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'URL of the retailer\'s website where the coupon can be used; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, id)
COMMENT 'Storage behind the view coupons';

CREATE TABLE IF NOT EXISTS coupons_staging
(
    run_id UUID,
    id UUID,
    code String,
    start_date Int64,
    end_date Int64,
    description String,
    retailer_id UUID,
    url String,
    retailer_name String,
    hostname String,
    updated_at Int64,
    retailer_logo String,
    _nulls UInt64,
    _extra String,
    _page UInt32,
    _fetched Int64,
    _version UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(if(bitTest(_nulls, 3), 0, greatest(updated_at, 0))), 64), toUInt128(_fetched)),
    _hash FixedString(16) MATERIALIZED sipHash128(_nulls, _extra, code, start_date, end_date, description, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo)
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, id)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

CREATE TABLE IF NOT EXISTS coupons_versions
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Coupon identifier (API: id)',
    code String COMMENT 'The coupon code value; empty when absent (API: code)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon becomes active [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon expires [UTC] (API: endDate)',
    description String COMMENT 'Description of the coupon; empty when absent (API: description)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the coupon; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'URL of the retailer\'s website where the coupon can be used; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = MergeTree
ORDER BY (account, id)
COMMENT 'Storage behind the view coupons_history';

CREATE TABLE IF NOT EXISTS cashback_offers_latest
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Offer identifier (API: id)',
    featured Nullable(Bool) COMMENT 'Whether the service features the offer as an outstanding deal (API: featured)',
    countries Array(LowCardinality(String)) COMMENT 'Countries where the offer is available, ISO 3166-1 alpha-2; empty when absent (API: countries)',
    maximum_fixed_commission_fee Nullable(Decimal(18, 4)) COMMENT 'Fixed cashback amount; NULL when the retailer offers a percentage instead [currency not stated] (API: maximumFixedCommissionFee)',
    description String COMMENT 'Description of the fixed cashback offer; empty when absent (API: description)',
    category LowCardinality(String) COMMENT 'Category of the offer; empty when absent (API: category)',
    terms_and_exclusions String COMMENT 'Terms and exclusions; empty when absent (API: termsAndExclusions)',
    cashback_percentage Nullable(Decimal(18, 9)) COMMENT 'Cashback in proportion to the order [fraction: 0.05 is 5 %] (API: cashbackPercentage)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the offer; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'Retailer website URL; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, id)
COMMENT 'Storage behind the view cashback_offers';

CREATE TABLE IF NOT EXISTS cashback_offers_staging
(
    run_id UUID,
    id UUID,
    featured UInt8,
    countries String,
    maximum_fixed_commission_fee Int64,
    description String,
    category String,
    terms_and_exclusions String,
    cashback_percentage Int64,
    retailer_id UUID,
    url String,
    retailer_name String,
    hostname String,
    updated_at Int64,
    retailer_logo String,
    _nulls UInt64,
    _extra String,
    _page UInt32,
    _fetched Int64,
    _version UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(if(bitTest(_nulls, 4), 0, greatest(updated_at, 0))), 64), toUInt128(_fetched)),
    _hash FixedString(16) MATERIALIZED sipHash128(_nulls, _extra, featured, countries, maximum_fixed_commission_fee, description, category, terms_and_exclusions, cashback_percentage, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo)
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, id)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

CREATE TABLE IF NOT EXISTS cashback_offers_versions
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Offer identifier (API: id)',
    featured Nullable(Bool) COMMENT 'Whether the service features the offer as an outstanding deal (API: featured)',
    countries Array(LowCardinality(String)) COMMENT 'Countries where the offer is available, ISO 3166-1 alpha-2; empty when absent (API: countries)',
    maximum_fixed_commission_fee Nullable(Decimal(18, 4)) COMMENT 'Fixed cashback amount; NULL when the retailer offers a percentage instead [currency not stated] (API: maximumFixedCommissionFee)',
    description String COMMENT 'Description of the fixed cashback offer; empty when absent (API: description)',
    category LowCardinality(String) COMMENT 'Category of the offer; empty when absent (API: category)',
    terms_and_exclusions String COMMENT 'Terms and exclusions; empty when absent (API: termsAndExclusions)',
    cashback_percentage Nullable(Decimal(18, 9)) COMMENT 'Cashback in proportion to the order [fraction: 0.05 is 5 %] (API: cashbackPercentage)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the offer; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'Retailer website URL; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = MergeTree
ORDER BY (account, id)
COMMENT 'Storage behind the view cashback_offers_history';

CREATE TABLE IF NOT EXISTS transactions_latest
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier (API: id)',
    country LowCardinality(String) COMMENT 'Country code; empty when absent (API: country)',
    activated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Activation time [UTC] (API: activatedAt)',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time [UTC] (API: clickedAt)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (API: soldAt)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    currency_code LowCardinality(String) COMMENT 'Currency of order_value and cashback; empty when absent (API: currencyCode)',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Value of the order [currency_code] (API: orderValue)',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback amount [currency_code] (API: cashback)',
    status LowCardinality(String) COMMENT 'PENDING, CONFIRMED or DECLINED; the service may add values; empty when absent (API: status)',
    passback_uid String COMMENT 'Caller\'s own user identifier, as passed back; empty when absent (API: passbackUid)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction; NULL when the service sent none or no UUID (API: retailerId)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: retailerName)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: retailerLogo)',
    payout_id Nullable(Int64) COMMENT 'Payout that includes the transaction; NULL while in none (API: payoutId)',
    passback_data String COMMENT 'Caller\'s own data, as passed back; empty when absent (API: passbackData)',
    cashback_offer_id Nullable(UUID) COMMENT 'Cashback offer behind the transaction; NULL when there is none (API: cashbackOfferId)',
    coupon_id Nullable(UUID) COMMENT 'Coupon behind the transaction; NULL when there is none (API: couponId)',
    promotion_id Nullable(UUID) COMMENT 'Promotion behind the transaction; NULL when there is none (API: promotionId)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, id)
COMMENT 'Storage behind the view transactions';

CREATE TABLE IF NOT EXISTS transactions_staging
(
    run_id UUID,
    id UUID,
    country String,
    activated_at Int64,
    clicked_at Int64,
    sold_at Int64,
    updated_at Int64,
    currency_code String,
    order_value Int64,
    cashback Int64,
    status String,
    passback_uid String,
    retailer_id UUID,
    retailer_name String,
    retailer_logo String,
    payout_id Int64,
    passback_data String,
    cashback_offer_id UUID,
    coupon_id UUID,
    promotion_id UUID,
    _nulls UInt64,
    _extra String,
    _page UInt32,
    _fetched Int64,
    _version UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(if(bitTest(_nulls, 3), 0, greatest(updated_at, 0))), 64), toUInt128(_fetched)),
    _hash FixedString(16) MATERIALIZED sipHash128(_nulls, _extra, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id)
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, id)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

CREATE TABLE IF NOT EXISTS transactions_versions
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier (API: id)',
    country LowCardinality(String) COMMENT 'Country code; empty when absent (API: country)',
    activated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Activation time [UTC] (API: activatedAt)',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time [UTC] (API: clickedAt)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (API: soldAt)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    currency_code LowCardinality(String) COMMENT 'Currency of order_value and cashback; empty when absent (API: currencyCode)',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Value of the order [currency_code] (API: orderValue)',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback amount [currency_code] (API: cashback)',
    status LowCardinality(String) COMMENT 'PENDING, CONFIRMED or DECLINED; the service may add values; empty when absent (API: status)',
    passback_uid String COMMENT 'Caller\'s own user identifier, as passed back; empty when absent (API: passbackUid)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction; NULL when the service sent none or no UUID (API: retailerId)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: retailerName)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: retailerLogo)',
    payout_id Nullable(Int64) COMMENT 'Payout that includes the transaction; NULL while in none (API: payoutId)',
    passback_data String COMMENT 'Caller\'s own data, as passed back; empty when absent (API: passbackData)',
    cashback_offer_id Nullable(UUID) COMMENT 'Cashback offer behind the transaction; NULL when there is none (API: cashbackOfferId)',
    coupon_id Nullable(UUID) COMMENT 'Coupon behind the transaction; NULL when there is none (API: couponId)',
    promotion_id Nullable(UUID) COMMENT 'Promotion behind the transaction; NULL when there is none (API: promotionId)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = MergeTree
ORDER BY (account, id)
COMMENT 'Storage behind the view transactions_history';

CREATE TABLE IF NOT EXISTS payouts_latest
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id Int64 COMMENT 'Payout identifier (API: id)',
    total_transactions Nullable(Int64) COMMENT 'Number of transactions in the payout [count] (API: totalTransactions)',
    total_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of the transactions in the payout [the currency of the payout\'s transactions] (API: totalGmv)',
    aov Nullable(Decimal(18, 6)) COMMENT 'Average order value: total_gmv / total_transactions, as the service computed it [the currency of the payout\'s transactions] (API: aov)',
    total_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of the transactions in the payout [the currency of the payout\'s transactions] (API: totalCashback)',
    confirmed_transactions Nullable(Int64) COMMENT 'Count of transactions with status CONFIRMED [count] (API: confirmedTransactions)',
    declined_transactions Nullable(Int64) COMMENT 'Count of transactions with status DECLINED [count] (API: declinedTransactions)',
    pending_transactions Nullable(Int64) COMMENT 'Count of transactions with status PENDING [count] (API: pendingTransactions)',
    confirmed_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of CONFIRMED transactions [the currency of the payout\'s transactions] (API: confirmedGmv)',
    declined_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of DECLINED transactions [the currency of the payout\'s transactions] (API: declinedGmv)',
    pending_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of PENDING transactions [the currency of the payout\'s transactions] (API: pendingGmv)',
    confirmed_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of CONFIRMED transactions [the currency of the payout\'s transactions] (API: confirmedCashback)',
    declined_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of DECLINED transactions [the currency of the payout\'s transactions] (API: declinedCashback)',
    pending_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of PENDING transactions [the currency of the payout\'s transactions] (API: pendingCashback)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the first transaction included [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the last transaction included [UTC] (API: endDate)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, id)
COMMENT 'Storage behind the view payouts';

CREATE TABLE IF NOT EXISTS payouts_staging
(
    run_id UUID,
    id Int64,
    total_transactions Int64,
    total_gmv Int64,
    aov Int64,
    total_cashback Int64,
    confirmed_transactions Int64,
    declined_transactions Int64,
    pending_transactions Int64,
    confirmed_gmv Int64,
    declined_gmv Int64,
    pending_gmv Int64,
    confirmed_cashback Int64,
    declined_cashback Int64,
    pending_cashback Int64,
    start_date Int64,
    end_date Int64,
    _nulls UInt64,
    _extra String,
    _page UInt32,
    _fetched Int64,
    _version UInt128 MATERIALIZED toUInt128(_fetched),
    _hash FixedString(16) MATERIALIZED sipHash128(_nulls, _extra, total_transactions, total_gmv, aov, total_cashback, confirmed_transactions, declined_transactions, pending_transactions, confirmed_gmv, declined_gmv, pending_gmv, confirmed_cashback, declined_cashback, pending_cashback, start_date, end_date)
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, id)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

CREATE TABLE IF NOT EXISTS payouts_versions
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id Int64 COMMENT 'Payout identifier (API: id)',
    total_transactions Nullable(Int64) COMMENT 'Number of transactions in the payout [count] (API: totalTransactions)',
    total_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of the transactions in the payout [the currency of the payout\'s transactions] (API: totalGmv)',
    aov Nullable(Decimal(18, 6)) COMMENT 'Average order value: total_gmv / total_transactions, as the service computed it [the currency of the payout\'s transactions] (API: aov)',
    total_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of the transactions in the payout [the currency of the payout\'s transactions] (API: totalCashback)',
    confirmed_transactions Nullable(Int64) COMMENT 'Count of transactions with status CONFIRMED [count] (API: confirmedTransactions)',
    declined_transactions Nullable(Int64) COMMENT 'Count of transactions with status DECLINED [count] (API: declinedTransactions)',
    pending_transactions Nullable(Int64) COMMENT 'Count of transactions with status PENDING [count] (API: pendingTransactions)',
    confirmed_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of CONFIRMED transactions [the currency of the payout\'s transactions] (API: confirmedGmv)',
    declined_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of DECLINED transactions [the currency of the payout\'s transactions] (API: declinedGmv)',
    pending_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of PENDING transactions [the currency of the payout\'s transactions] (API: pendingGmv)',
    confirmed_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of CONFIRMED transactions [the currency of the payout\'s transactions] (API: confirmedCashback)',
    declined_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of DECLINED transactions [the currency of the payout\'s transactions] (API: declinedCashback)',
    pending_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of PENDING transactions [the currency of the payout\'s transactions] (API: pendingCashback)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the first transaction included [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the last transaction included [UTC] (API: endDate)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = MergeTree
ORDER BY (account, id)
COMMENT 'Storage behind the view payouts_history';

CREATE TABLE IF NOT EXISTS products_latest
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    product_key UUID COMMENT 'Key derived from the fields that product_key_rule names',
    product_key_rule LowCardinality(String) COMMENT 'Rule that gave the key: url, asin, gtin, brand_mpn or brand_sku',
    last_viewed_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When the product was last viewed; NULL when the format is not understood [UTC] (API: lastViewedAt)',
    url String COMMENT 'Product page; empty when absent (API: url)',
    name String COMMENT 'Product name; empty when absent (API: name)',
    price Nullable(Decimal(18, 4)) COMMENT 'Current price [currency_code] (API: price)',
    currency_code LowCardinality(String) COMMENT 'Currency of price; empty when absent (API: currencyCode)',
    brand_name String COMMENT 'Brand; empty when absent (API: brandName)',
    description String COMMENT 'Description; empty when absent (API: description)',
    image_urls Array(String) COMMENT 'Image URLs; empty when absent (API: imageUrls)',
    category_id LowCardinality(String) COMMENT 'Category identifier; empty when absent (API: categoryId)',
    category_version LowCardinality(String) COMMENT 'Version of the category tree; empty when absent (API: categoryVersion)',
    category_breadcrumb LowCardinality(String) COMMENT 'Path of the category; empty when absent (API: categoryBreadcrumb)',
    asin String COMMENT 'Amazon Standard Identification Number; empty when absent (API: asin)',
    sku String COMMENT 'Stock keeping unit; empty when absent (API: sku)',
    gtin String COMMENT 'Global Trade Item Number; empty when absent (API: gtin)',
    mpn String COMMENT 'Manufacturer part number; empty when absent (API: mpn)',
    rating_value Nullable(Decimal(18, 6)) COMMENT 'Average rating (API: ratingValue)',
    rating_count Nullable(Int64) COMMENT 'Number of ratings [count] (API: ratingCount)',
    best_rating Nullable(Decimal(18, 6)) COMMENT 'Best rating possible (API: bestRating)',
    worst_rating Nullable(Decimal(18, 6)) COMMENT 'Worst rating possible (API: worstRating)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, product_key)
COMMENT 'Storage behind the view products';

CREATE TABLE IF NOT EXISTS products_staging
(
    run_id UUID,
    product_key UUID,
    product_key_rule String,
    last_viewed_at Int64,
    url String,
    name String,
    price Int64,
    currency_code String,
    brand_name String,
    description String,
    image_urls String,
    category_id String,
    category_version String,
    category_breadcrumb String,
    asin String,
    sku String,
    gtin String,
    mpn String,
    rating_value Int64,
    rating_count Int64,
    best_rating Int64,
    worst_rating Int64,
    _nulls UInt64,
    _extra String,
    _page UInt32,
    _fetched Int64,
    _version UInt128 MATERIALIZED toUInt128(_fetched),
    _hash FixedString(16) MATERIALIZED sipHash128(_nulls, _extra, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating)
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, product_key)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

CREATE TABLE IF NOT EXISTS product_prices_latest
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    product_key UUID COMMENT 'Key derived from the fields that product_key_rule names',
    day Date COMMENT 'Day of the price (API: yearMonthDay)',
    price Nullable(Decimal(18, 4)) COMMENT 'Price on that day [currency_code] (API: price)',
    views Nullable(Int64) COMMENT 'Views on that day [count] (API: views)',
    currency_code LowCardinality(String) COMMENT 'Currency of the product when the day was read; empty when absent (API: currencyCode)',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _version UInt64 COMMENT 'Time of reading in microseconds since 1970: the highest wins',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, product_key, day)
COMMENT 'Storage behind the view product_prices';

CREATE TABLE IF NOT EXISTS product_prices_staging
(
    run_id UUID,
    product_key UUID,
    day UInt16,
    price Int64,
    views Int64,
    currency_code String,
    _nulls UInt64,
    _fetched UInt64
)
ENGINE = ReplacingMergeTree(_fetched)
PARTITION BY run_id
ORDER BY (run_id, product_key, day)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

CREATE OR REPLACE VIEW promotions
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Promotion identifier (API: id)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion becomes active [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion expires [UTC] (API: endDate)',
    description String COMMENT 'Description of the promotion; empty when absent (API: description)',
    retailer_id Nullable(UUID) COMMENT 'Retailer the promotion belongs to; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'URL of the retailer\'s website where the promotion can be used; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    deep_link String COMMENT 'Deep link for the promotion; empty when absent (API: deepLink)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]'
)
AS SELECT account, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at
FROM promotions_latest FINAL
WHERE _deleted = 0
COMMENT 'Promotions that the service lists now, one row each';

CREATE OR REPLACE VIEW promotions_all
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Promotion identifier (API: id)',
    listed Bool COMMENT 'Whether the list had the row when it was last loaded; where not, the row is as it was last seen',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion becomes active [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion expires [UTC] (API: endDate)',
    description String COMMENT 'Description of the promotion; empty when absent (API: description)',
    retailer_id Nullable(UUID) COMMENT 'Retailer the promotion belongs to; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'URL of the retailer\'s website where the promotion can be used; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    deep_link String COMMENT 'Deep link for the promotion; empty when absent (API: deepLink)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]'
)
AS SELECT account, id, toBool(_deleted = 0) AS listed, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at
FROM promotions_latest FINAL
COMMENT 'All promotions that are known: listed now, listed once, or named by a transaction and read by their own address';

CREATE OR REPLACE VIEW promotions_history
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Promotion identifier (API: id)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion becomes active [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion expires [UTC] (API: endDate)',
    description String COMMENT 'Description of the promotion; empty when absent (API: description)',
    retailer_id Nullable(UUID) COMMENT 'Retailer the promotion belongs to; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'URL of the retailer\'s website where the promotion can be used; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    deep_link String COMMENT 'Deep link for the promotion; empty when absent (API: deepLink)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    valid_from DateTime64(3, 'UTC') COMMENT 'When this version became visible [UTC]',
    valid_to Nullable(DateTime64(3, 'UTC')) COMMENT 'When the next version, or the row\'s deletion, became visible; NULL while it is current [UTC]'
)
AS SELECT account, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at, synced_at AS valid_from, valid_to
FROM
(
    SELECT *, leadInFrame(toNullable(synced_at)) OVER (PARTITION BY account, id ORDER BY _version ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS valid_to
    FROM
    (
        SELECT account, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at, _hash, _version, _deleted,
            row_number() OVER w AS _n, lagInFrame(_hash) OVER w AS _hash_before, lagInFrame(_deleted) OVER w AS _deleted_before
        FROM promotions_versions
        WINDOW w AS (PARTITION BY account, id ORDER BY _version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    )
    WHERE _n = 1 OR _hash != _hash_before OR _deleted != _deleted_before
)
WHERE _deleted = 0
COMMENT 'Every version of promotions that was ever loaded';

CREATE OR REPLACE VIEW coupons
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Coupon identifier (API: id)',
    code String COMMENT 'The coupon code value; empty when absent (API: code)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon becomes active [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon expires [UTC] (API: endDate)',
    description String COMMENT 'Description of the coupon; empty when absent (API: description)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the coupon; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'URL of the retailer\'s website where the coupon can be used; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]'
)
AS SELECT account, id, code, start_date, end_date, description, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo, _extra, synced_at
FROM coupons_latest FINAL
WHERE _deleted = 0
COMMENT 'Coupons that the service lists now, one row each';

CREATE OR REPLACE VIEW coupons_all
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Coupon identifier (API: id)',
    listed Bool COMMENT 'Whether the list had the row when it was last loaded; where not, the row is as it was last seen',
    code String COMMENT 'The coupon code value; empty when absent (API: code)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon becomes active [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon expires [UTC] (API: endDate)',
    description String COMMENT 'Description of the coupon; empty when absent (API: description)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the coupon; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'URL of the retailer\'s website where the coupon can be used; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]'
)
AS SELECT account, id, toBool(_deleted = 0) AS listed, code, start_date, end_date, description, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo, _extra, synced_at
FROM coupons_latest FINAL
COMMENT 'All coupons that are known: listed now, listed once, or named by a transaction and read by their own address';

CREATE OR REPLACE VIEW coupons_history
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Coupon identifier (API: id)',
    code String COMMENT 'The coupon code value; empty when absent (API: code)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon becomes active [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon expires [UTC] (API: endDate)',
    description String COMMENT 'Description of the coupon; empty when absent (API: description)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the coupon; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'URL of the retailer\'s website where the coupon can be used; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    valid_from DateTime64(3, 'UTC') COMMENT 'When this version became visible [UTC]',
    valid_to Nullable(DateTime64(3, 'UTC')) COMMENT 'When the next version, or the row\'s deletion, became visible; NULL while it is current [UTC]'
)
AS SELECT account, id, code, start_date, end_date, description, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo, _extra, synced_at, synced_at AS valid_from, valid_to
FROM
(
    SELECT *, leadInFrame(toNullable(synced_at)) OVER (PARTITION BY account, id ORDER BY _version ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS valid_to
    FROM
    (
        SELECT account, id, code, start_date, end_date, description, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo, _extra, synced_at, _hash, _version, _deleted,
            row_number() OVER w AS _n, lagInFrame(_hash) OVER w AS _hash_before, lagInFrame(_deleted) OVER w AS _deleted_before
        FROM coupons_versions
        WINDOW w AS (PARTITION BY account, id ORDER BY _version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    )
    WHERE _n = 1 OR _hash != _hash_before OR _deleted != _deleted_before
)
WHERE _deleted = 0
COMMENT 'Every version of coupons that was ever loaded';

CREATE OR REPLACE VIEW cashback_offers
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Offer identifier (API: id)',
    featured Nullable(Bool) COMMENT 'Whether the service features the offer as an outstanding deal (API: featured)',
    countries Array(LowCardinality(String)) COMMENT 'Countries where the offer is available, ISO 3166-1 alpha-2; empty when absent (API: countries)',
    maximum_fixed_commission_fee Nullable(Decimal(18, 4)) COMMENT 'Fixed cashback amount; NULL when the retailer offers a percentage instead [currency not stated] (API: maximumFixedCommissionFee)',
    description String COMMENT 'Description of the fixed cashback offer; empty when absent (API: description)',
    category LowCardinality(String) COMMENT 'Category of the offer; empty when absent (API: category)',
    terms_and_exclusions String COMMENT 'Terms and exclusions; empty when absent (API: termsAndExclusions)',
    cashback_percentage Nullable(Decimal(18, 9)) COMMENT 'Cashback in proportion to the order [fraction: 0.05 is 5 %] (API: cashbackPercentage)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the offer; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'Retailer website URL; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]'
)
AS SELECT account, id, featured, countries, maximum_fixed_commission_fee, description, category, terms_and_exclusions, cashback_percentage, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo, _extra, synced_at
FROM cashback_offers_latest FINAL
WHERE _deleted = 0
COMMENT 'Cashback offers that the service lists now, one row each';

CREATE OR REPLACE VIEW offers_all
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Offer identifier (API: id)',
    listed Bool COMMENT 'Whether the list had the row when it was last loaded; where not, the row is as it was last seen',
    featured Nullable(Bool) COMMENT 'Whether the service features the offer as an outstanding deal (API: featured)',
    countries Array(LowCardinality(String)) COMMENT 'Countries where the offer is available, ISO 3166-1 alpha-2; empty when absent (API: countries)',
    maximum_fixed_commission_fee Nullable(Decimal(18, 4)) COMMENT 'Fixed cashback amount; NULL when the retailer offers a percentage instead [currency not stated] (API: maximumFixedCommissionFee)',
    description String COMMENT 'Description of the fixed cashback offer; empty when absent (API: description)',
    category LowCardinality(String) COMMENT 'Category of the offer; empty when absent (API: category)',
    terms_and_exclusions String COMMENT 'Terms and exclusions; empty when absent (API: termsAndExclusions)',
    cashback_percentage Nullable(Decimal(18, 9)) COMMENT 'Cashback in proportion to the order [fraction: 0.05 is 5 %] (API: cashbackPercentage)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the offer; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'Retailer website URL; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]'
)
AS SELECT account, id, toBool(_deleted = 0) AS listed, featured, countries, maximum_fixed_commission_fee, description, category, terms_and_exclusions, cashback_percentage, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo, _extra, synced_at
FROM cashback_offers_latest FINAL
COMMENT 'All cashback_offers that are known: listed now, listed once, or named by a transaction and read by their own address';

CREATE OR REPLACE VIEW cashback_offers_history
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Offer identifier (API: id)',
    featured Nullable(Bool) COMMENT 'Whether the service features the offer as an outstanding deal (API: featured)',
    countries Array(LowCardinality(String)) COMMENT 'Countries where the offer is available, ISO 3166-1 alpha-2; empty when absent (API: countries)',
    maximum_fixed_commission_fee Nullable(Decimal(18, 4)) COMMENT 'Fixed cashback amount; NULL when the retailer offers a percentage instead [currency not stated] (API: maximumFixedCommissionFee)',
    description String COMMENT 'Description of the fixed cashback offer; empty when absent (API: description)',
    category LowCardinality(String) COMMENT 'Category of the offer; empty when absent (API: category)',
    terms_and_exclusions String COMMENT 'Terms and exclusions; empty when absent (API: termsAndExclusions)',
    cashback_percentage Nullable(Decimal(18, 9)) COMMENT 'Cashback in proportion to the order [fraction: 0.05 is 5 %] (API: cashbackPercentage)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the offer; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'Retailer website URL; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    valid_from DateTime64(3, 'UTC') COMMENT 'When this version became visible [UTC]',
    valid_to Nullable(DateTime64(3, 'UTC')) COMMENT 'When the next version, or the row\'s deletion, became visible; NULL while it is current [UTC]'
)
AS SELECT account, id, featured, countries, maximum_fixed_commission_fee, description, category, terms_and_exclusions, cashback_percentage, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo, _extra, synced_at, synced_at AS valid_from, valid_to
FROM
(
    SELECT *, leadInFrame(toNullable(synced_at)) OVER (PARTITION BY account, id ORDER BY _version ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS valid_to
    FROM
    (
        SELECT account, id, featured, countries, maximum_fixed_commission_fee, description, category, terms_and_exclusions, cashback_percentage, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo, _extra, synced_at, _hash, _version, _deleted,
            row_number() OVER w AS _n, lagInFrame(_hash) OVER w AS _hash_before, lagInFrame(_deleted) OVER w AS _deleted_before
        FROM cashback_offers_versions
        WINDOW w AS (PARTITION BY account, id ORDER BY _version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    )
    WHERE _n = 1 OR _hash != _hash_before OR _deleted != _deleted_before
)
WHERE _deleted = 0
COMMENT 'Every version of cashback_offers that was ever loaded';

CREATE OR REPLACE VIEW transactions
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier (API: id)',
    country LowCardinality(String) COMMENT 'Country code; empty when absent (API: country)',
    activated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Activation time [UTC] (API: activatedAt)',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time [UTC] (API: clickedAt)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (API: soldAt)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    currency_code LowCardinality(String) COMMENT 'Currency of order_value and cashback; empty when absent (API: currencyCode)',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Value of the order [currency_code] (API: orderValue)',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback amount [currency_code] (API: cashback)',
    status LowCardinality(String) COMMENT 'PENDING, CONFIRMED or DECLINED; the service may add values; empty when absent (API: status)',
    passback_uid String COMMENT 'Caller\'s own user identifier, as passed back; empty when absent (API: passbackUid)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction; NULL when the service sent none or no UUID (API: retailerId)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: retailerName)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: retailerLogo)',
    payout_id Nullable(Int64) COMMENT 'Payout that includes the transaction; NULL while in none (API: payoutId)',
    passback_data String COMMENT 'Caller\'s own data, as passed back; empty when absent (API: passbackData)',
    cashback_offer_id Nullable(UUID) COMMENT 'Cashback offer behind the transaction; NULL when there is none (API: cashbackOfferId)',
    coupon_id Nullable(UUID) COMMENT 'Coupon behind the transaction; NULL when there is none (API: couponId)',
    promotion_id Nullable(UUID) COMMENT 'Promotion behind the transaction; NULL when there is none (API: promotionId)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]'
)
AS SELECT account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at
FROM transactions_latest FINAL
WHERE _deleted = 0
COMMENT 'Affiliate transactions of the organization, one row each, as they stand now';

CREATE OR REPLACE VIEW transactions_history
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier (API: id)',
    country LowCardinality(String) COMMENT 'Country code; empty when absent (API: country)',
    activated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Activation time [UTC] (API: activatedAt)',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time [UTC] (API: clickedAt)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (API: soldAt)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    currency_code LowCardinality(String) COMMENT 'Currency of order_value and cashback; empty when absent (API: currencyCode)',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Value of the order [currency_code] (API: orderValue)',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback amount [currency_code] (API: cashback)',
    status LowCardinality(String) COMMENT 'PENDING, CONFIRMED or DECLINED; the service may add values; empty when absent (API: status)',
    passback_uid String COMMENT 'Caller\'s own user identifier, as passed back; empty when absent (API: passbackUid)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction; NULL when the service sent none or no UUID (API: retailerId)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: retailerName)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: retailerLogo)',
    payout_id Nullable(Int64) COMMENT 'Payout that includes the transaction; NULL while in none (API: payoutId)',
    passback_data String COMMENT 'Caller\'s own data, as passed back; empty when absent (API: passbackData)',
    cashback_offer_id Nullable(UUID) COMMENT 'Cashback offer behind the transaction; NULL when there is none (API: cashbackOfferId)',
    coupon_id Nullable(UUID) COMMENT 'Coupon behind the transaction; NULL when there is none (API: couponId)',
    promotion_id Nullable(UUID) COMMENT 'Promotion behind the transaction; NULL when there is none (API: promotionId)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    valid_from DateTime64(3, 'UTC') COMMENT 'When this version became visible [UTC]',
    valid_to Nullable(DateTime64(3, 'UTC')) COMMENT 'When the next version, or the row\'s deletion, became visible; NULL while it is current [UTC]'
)
AS SELECT account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, synced_at AS valid_from, valid_to
FROM
(
    SELECT *, leadInFrame(toNullable(synced_at)) OVER (PARTITION BY account, id ORDER BY _version ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS valid_to
    FROM
    (
        SELECT account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted,
            row_number() OVER w AS _n, lagInFrame(_hash) OVER w AS _hash_before, lagInFrame(_deleted) OVER w AS _deleted_before
        FROM transactions_versions
        WINDOW w AS (PARTITION BY account, id ORDER BY _version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    )
    WHERE _n = 1 OR _hash != _hash_before OR _deleted != _deleted_before
)
WHERE _deleted = 0
COMMENT 'Every version of transactions that was ever loaded';

CREATE OR REPLACE VIEW payouts
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id Int64 COMMENT 'Payout identifier (API: id)',
    total_transactions Nullable(Int64) COMMENT 'Number of transactions in the payout [count] (API: totalTransactions)',
    total_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of the transactions in the payout [the currency of the payout\'s transactions] (API: totalGmv)',
    aov Nullable(Decimal(18, 6)) COMMENT 'Average order value: total_gmv / total_transactions, as the service computed it [the currency of the payout\'s transactions] (API: aov)',
    total_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of the transactions in the payout [the currency of the payout\'s transactions] (API: totalCashback)',
    confirmed_transactions Nullable(Int64) COMMENT 'Count of transactions with status CONFIRMED [count] (API: confirmedTransactions)',
    declined_transactions Nullable(Int64) COMMENT 'Count of transactions with status DECLINED [count] (API: declinedTransactions)',
    pending_transactions Nullable(Int64) COMMENT 'Count of transactions with status PENDING [count] (API: pendingTransactions)',
    confirmed_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of CONFIRMED transactions [the currency of the payout\'s transactions] (API: confirmedGmv)',
    declined_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of DECLINED transactions [the currency of the payout\'s transactions] (API: declinedGmv)',
    pending_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of PENDING transactions [the currency of the payout\'s transactions] (API: pendingGmv)',
    confirmed_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of CONFIRMED transactions [the currency of the payout\'s transactions] (API: confirmedCashback)',
    declined_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of DECLINED transactions [the currency of the payout\'s transactions] (API: declinedCashback)',
    pending_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of PENDING transactions [the currency of the payout\'s transactions] (API: pendingCashback)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the first transaction included [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the last transaction included [UTC] (API: endDate)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]'
)
AS SELECT account, id, total_transactions, total_gmv, aov, total_cashback, confirmed_transactions, declined_transactions, pending_transactions, confirmed_gmv, declined_gmv, pending_gmv, confirmed_cashback, declined_cashback, pending_cashback, start_date, end_date, _extra, synced_at
FROM payouts_latest FINAL
WHERE _deleted = 0
COMMENT 'Payouts of the organization, one row each';

CREATE OR REPLACE VIEW payouts_history
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id Int64 COMMENT 'Payout identifier (API: id)',
    total_transactions Nullable(Int64) COMMENT 'Number of transactions in the payout [count] (API: totalTransactions)',
    total_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of the transactions in the payout [the currency of the payout\'s transactions] (API: totalGmv)',
    aov Nullable(Decimal(18, 6)) COMMENT 'Average order value: total_gmv / total_transactions, as the service computed it [the currency of the payout\'s transactions] (API: aov)',
    total_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of the transactions in the payout [the currency of the payout\'s transactions] (API: totalCashback)',
    confirmed_transactions Nullable(Int64) COMMENT 'Count of transactions with status CONFIRMED [count] (API: confirmedTransactions)',
    declined_transactions Nullable(Int64) COMMENT 'Count of transactions with status DECLINED [count] (API: declinedTransactions)',
    pending_transactions Nullable(Int64) COMMENT 'Count of transactions with status PENDING [count] (API: pendingTransactions)',
    confirmed_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of CONFIRMED transactions [the currency of the payout\'s transactions] (API: confirmedGmv)',
    declined_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of DECLINED transactions [the currency of the payout\'s transactions] (API: declinedGmv)',
    pending_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of PENDING transactions [the currency of the payout\'s transactions] (API: pendingGmv)',
    confirmed_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of CONFIRMED transactions [the currency of the payout\'s transactions] (API: confirmedCashback)',
    declined_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of DECLINED transactions [the currency of the payout\'s transactions] (API: declinedCashback)',
    pending_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of PENDING transactions [the currency of the payout\'s transactions] (API: pendingCashback)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the first transaction included [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the last transaction included [UTC] (API: endDate)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    valid_from DateTime64(3, 'UTC') COMMENT 'When this version became visible [UTC]',
    valid_to Nullable(DateTime64(3, 'UTC')) COMMENT 'When the next version, or the row\'s deletion, became visible; NULL while it is current [UTC]'
)
AS SELECT account, id, total_transactions, total_gmv, aov, total_cashback, confirmed_transactions, declined_transactions, pending_transactions, confirmed_gmv, declined_gmv, pending_gmv, confirmed_cashback, declined_cashback, pending_cashback, start_date, end_date, _extra, synced_at, synced_at AS valid_from, valid_to
FROM
(
    SELECT *, leadInFrame(toNullable(synced_at)) OVER (PARTITION BY account, id ORDER BY _version ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS valid_to
    FROM
    (
        SELECT account, id, total_transactions, total_gmv, aov, total_cashback, confirmed_transactions, declined_transactions, pending_transactions, confirmed_gmv, declined_gmv, pending_gmv, confirmed_cashback, declined_cashback, pending_cashback, start_date, end_date, _extra, synced_at, _hash, _version, _deleted,
            row_number() OVER w AS _n, lagInFrame(_hash) OVER w AS _hash_before, lagInFrame(_deleted) OVER w AS _deleted_before
        FROM payouts_versions
        WINDOW w AS (PARTITION BY account, id ORDER BY _version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    )
    WHERE _n = 1 OR _hash != _hash_before OR _deleted != _deleted_before
)
WHERE _deleted = 0
COMMENT 'Every version of payouts that was ever loaded';

CREATE OR REPLACE VIEW products
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    product_key UUID COMMENT 'Key derived from the fields that product_key_rule names',
    product_key_rule LowCardinality(String) COMMENT 'Rule that gave the key: url, asin, gtin, brand_mpn or brand_sku',
    last_viewed_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When the product was last viewed; NULL when the format is not understood [UTC] (API: lastViewedAt)',
    url String COMMENT 'Product page; empty when absent (API: url)',
    name String COMMENT 'Product name; empty when absent (API: name)',
    price Nullable(Decimal(18, 4)) COMMENT 'Current price [currency_code] (API: price)',
    currency_code LowCardinality(String) COMMENT 'Currency of price; empty when absent (API: currencyCode)',
    brand_name String COMMENT 'Brand; empty when absent (API: brandName)',
    description String COMMENT 'Description; empty when absent (API: description)',
    image_urls Array(String) COMMENT 'Image URLs; empty when absent (API: imageUrls)',
    category_id LowCardinality(String) COMMENT 'Category identifier; empty when absent (API: categoryId)',
    category_version LowCardinality(String) COMMENT 'Version of the category tree; empty when absent (API: categoryVersion)',
    category_breadcrumb LowCardinality(String) COMMENT 'Path of the category; empty when absent (API: categoryBreadcrumb)',
    asin String COMMENT 'Amazon Standard Identification Number; empty when absent (API: asin)',
    sku String COMMENT 'Stock keeping unit; empty when absent (API: sku)',
    gtin String COMMENT 'Global Trade Item Number; empty when absent (API: gtin)',
    mpn String COMMENT 'Manufacturer part number; empty when absent (API: mpn)',
    rating_value Nullable(Decimal(18, 6)) COMMENT 'Average rating (API: ratingValue)',
    rating_count Nullable(Int64) COMMENT 'Number of ratings [count] (API: ratingCount)',
    best_rating Nullable(Decimal(18, 6)) COMMENT 'Best rating possible (API: bestRating)',
    worst_rating Nullable(Decimal(18, 6)) COMMENT 'Worst rating possible (API: worstRating)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]'
)
AS SELECT account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at
FROM products_latest FINAL
WHERE _deleted = 0
COMMENT 'Products of the feed, one row each';

CREATE OR REPLACE VIEW product_prices
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    product_key UUID COMMENT 'Key derived from the fields that product_key_rule names',
    day Date COMMENT 'Day of the price (API: yearMonthDay)',
    price Nullable(Decimal(18, 4)) COMMENT 'Price on that day [currency_code] (API: price)',
    views Nullable(Int64) COMMENT 'Views on that day [count] (API: views)',
    currency_code LowCardinality(String) COMMENT 'Currency of the product when the day was read; empty when absent (API: currencyCode)',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]'
)
AS SELECT account, product_key, day, price, views, currency_code, synced_at
FROM product_prices_latest FINAL
COMMENT 'Price and views of a product by day, one row a day, kept after the day has left the feed';

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
        tupleElement(last, 'run_id') IN
        (
            SELECT run_id FROM sync_runs WHERE outcome IN ('success', 'incomplete') AND run_id IN (SELECT last.run_id FROM rejects_log)
        ) AS last_published,
        last_published OR tupleElement(published, 'version') > 0 AS is_published,
        if(last_published OR tupleElement(published, 'version') = 0, last, published) AS counts,
        tupleElement(settled, 'state') != '' AND tupleElement(settled, 'run_id') = tupleElement(counts, 'run_id') AS is_settled,
        tupleElement(last, 'run_id') IN (SELECT run_id FROM sync_runs WHERE mode IN ('initial', 'backfill') AND run_id IN (SELECT last.run_id FROM rejects_log)) AS of_backfill,
        tupleElement(last, 'run_id') IN (SELECT run_id FROM sync_runs WHERE mode = 'retry' AND run_id IN (SELECT last.run_id FROM rejects_log)) AS of_retry,
        greatest(times + if(tupleElement(last, 'version') > counted AND NOT of_retry, 1, 0), 1) AS met
    FROM
    (
        SELECT account, stream, key, field, reason, max(raw) AS raw, min(first_seen_at) AS first_seen_at, max(seen_at) AS seen_at, max(last) AS last,
            max(published) AS published, max(counted) AS counted, max(times) AS times, max(settled) AS settled
        FROM rejects_log GROUP BY account, stream, key, field, reason, raw_hash
    )
    WHERE tupleElement(last, 'version') > 0
) AS r
LEFT JOIN
(
    SELECT account, stream, maxIf(started_at, mode IN ('snapshot', 'walk', 'full')) AS began_whole, max(started_at) AS began FROM sync_runs
    WHERE outcome = 'success' AND mode IN ('snapshot', 'walk', 'full', 'incremental')
    GROUP BY account, stream
) AS w ON w.account = r.account AND w.stream = r.stream
COMMENT 'What could not be loaded as it was sent, and what became of it: nothing is dropped. A value that many runs read is one row';

CREATE OR REPLACE VIEW service_clock
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from sync_state.account, sync_runs.account)',
    complete_to Nullable(DateTime64(3, 'UTC')) COMMENT 'Up to which updatedAt the transactions of the account are complete; NULL: none were loaded [UTC] (from sync_state.value)',
    service_time Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the service as far as it is known: the later of complete_to and the start of the last run of transactions that succeeded; NULL: no run has [UTC] (from sync_state.value, sync_runs.server_time)'
)
AS SELECT account, max(mark) AS complete_to, max(known) AS service_time
FROM
(
    SELECT account, parseDateTime64BestEffortOrNull(value, 3, 'UTC') AS mark, mark AS known
    FROM sync_state WHERE stream = 'transactions' AND name = 'watermark'
    UNION ALL
    SELECT account, NULL, argMax(server_time, started_at)
    FROM sync_runs_log FINAL WHERE stream = 'transactions' AND outcome = 'success' AND mode NOT IN ('backfill', 'retry', 'references')
    GROUP BY account
)
GROUP BY account
COMMENT 'What time it was at the service when its transactions were read last: the clock by which ages are measured';

CREATE OR REPLACE VIEW payout_changed_keys
(
    key UInt64 COMMENT 'cityHash64(account, id) of a transaction (from transactions_history)'
)
AS SELECT key FROM
(
    SELECT cityHash64(account, id) AS key, payout_id IS NULL AS bare, toUInt64(bitShiftRight(_version, 64)) AS changed_at FROM transactions_versions
)
GROUP BY key HAVING sum(NOT bare) > 1 OR sum(NOT bare) = 1 AND max(2 * changed_at + bare) % 2 = 1
COMMENT 'Transactions that may have changed since they got their payoutId: the part of payout_transactions that takes a look at every version';

CREATE OR REPLACE VIEW payout_changed_transactions
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    payout_id Int64 COMMENT 'Payout that the transaction carries or carried (from transactions_history.payout_id)',
    id UUID COMMENT 'Transaction identifier (from transactions.id)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (from transactions.sold_at)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (from transactions.retailer_name)',
    currency_code LowCardinality(String) COMMENT 'Currency of the amounts; empty when absent (from transactions_history.currency_code)',
    state LowCardinality(String) COMMENT 'same: stands as it was stamped; changed: status or an amount moved; moved: carries another payoutId, or none; gone: the service no longer lists it (from transactions_history, transactions)',
    stamped_status LowCardinality(String) COMMENT 'Status as stamped: in the first version that carries this payoutId; empty when absent (from transactions_history.status)',
    stamped_order_value Nullable(Decimal(18, 4)) COMMENT 'Order value as stamped [currency_code] (from transactions_history.order_value)',
    stamped_cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback as stamped [currency_code] (from transactions_history.cashback)',
    stamped_at Nullable(DateTime64(3, 'UTC')) COMMENT 'updatedAt of that version: when it was stamped, unless it changed again before it was first read [UTC] (from transactions_history.updated_at)',
    stamped_seen_at DateTime64(3, 'UTC') COMMENT 'When that version was loaded [UTC] (from transactions_history.synced_at)',
    stamped_is_first_known UInt8 COMMENT '1 when no earlier version of the transaction is known: as stamped is then as first seen (from transactions_history.payout_id)',
    status LowCardinality(String) COMMENT 'Status as of now; of a transaction that is gone, the last one known; empty when absent (from transactions.status)',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Order value as of now [currency_code] (from transactions.order_value)',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback as of now [currency_code] (from transactions.cashback)',
    payout_id_now Nullable(Int64) COMMENT 'Payout that the transaction carries as of now; NULL: none (from transactions.payout_id)',
    changed_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Since when it stands as it does now: updatedAt of that version, or when it was found gone; NULL while it stands as stamped [UTC] (from transactions_history.updated_at, valid_to)',
    at_stake Decimal(18, 4) COMMENT 'Cashback as stamped less cashback as of now; that of DECLINED, moved and gone transactions counts as 0 [currency_code] (from stamped_cashback, stamped_status, cashback, status, state)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'updatedAt as of now [UTC] (from transactions.updated_at)',
    currency_code_now LowCardinality(String) COMMENT 'Currency as of now; empty when absent (from transactions.currency_code)'
)
AS SELECT account, assumeNotNull(payout) AS payout_id, id, sold_at, retailer_name, tupleElement(stamped, 'currency_code') AS currency_code,
    multiIf(tupleElement(last, 'deleted') = 1, 'gone', ifNull(tupleElement(last, 'payout_id') != payout, 1), 'moved',
        tupleElement(stamped, 'status') != tupleElement(last, 'status') OR ifNull(tupleElement(stamped, 'order_value'), 0) != ifNull(tupleElement(last, 'order_value'), 0) OR ifNull(tupleElement(stamped, 'cashback'), 0) != ifNull(tupleElement(last, 'cashback'), 0), 'changed',
        'same') AS state,
    tupleElement(stamped, 'status') AS stamped_status, tupleElement(stamped, 'order_value') AS stamped_order_value, tupleElement(stamped, 'cashback') AS stamped_cashback,
    tupleElement(stamped, 'updated_at') AS stamped_at, tupleElement(stamped, 'synced_at') AS stamped_seen_at, tupleElement(stamped, 'version') = tupleElement(versions[1], 'version') AS stamped_is_first_known,
    tupleElement(last, 'status') AS status, tupleElement(last, 'order_value') AS order_value, tupleElement(last, 'cashback') AS cashback, tupleElement(last, 'payout_id') AS payout_id_now,
    multiIf(state = 'same', NULL, state = 'gone', toNullable(tupleElement(turn, 'synced_at')), tupleElement(turn, 'updated_at')) AS changed_at,
    if(tupleElement(stamped, 'status') = 'DECLINED', 0, ifNull(tupleElement(stamped, 'cashback'), 0)) - if(tupleElement(last, 'status') = 'DECLINED' OR state IN ('moved', 'gone'), 0, ifNull(tupleElement(last, 'cashback'), 0)) AS at_stake,
    tupleElement(last, 'updated_at') AS updated_at, tupleElement(last, 'currency_code') AS currency_code_now
FROM
(
    -- An amount that was not readable at first, and was read later from the same updatedAt, was there when it was stamped.
    SELECT account, id, payout, sold_at, retailer_name, versions, last, turn, arrayFirst(v -> tupleElement(v, 'payout_id') = payout, carrying) AS first,
        arrayFilter(v -> ifNull(tupleElement(v, 'payout_id') = payout AND tupleElement(v, 'updated_at') = tupleElement(first, 'updated_at'), 0) AND tupleElement(v, 'order_value') IS NOT NULL AND tupleElement(v, 'cashback') IS NOT NULL, carrying) AS complete,
        if(empty(complete), first, complete[1]) AS stamped
    FROM
    (
        SELECT account, id, argMax(sold_at, _version) AS sold_at, argMax(retailer_name, _version) AS retailer_name,
            arraySort(v -> tupleElement(v, 'version'), groupArray(CAST((_version, payout_id, status, order_value, cashback, currency_code, updated_at, synced_at, _deleted),
                'Tuple(version UInt128, payout_id Nullable(Int64), status String, order_value Nullable(Decimal(18, 4)), cashback Nullable(Decimal(18, 4)),
                currency_code String, updated_at Nullable(DateTime64(3, ''UTC'')), synced_at DateTime64(3, ''UTC''), deleted UInt8)'))) AS versions,
            versions[-1] AS last,
            versions[arrayLastIndex(v -> tupleElement(v, 'deleted') != tupleElement(last, 'deleted') OR tupleElement(v, 'status') != tupleElement(last, 'status') OR (tupleElement(v, 'payout_id') IS DISTINCT FROM tupleElement(last, 'payout_id'))
                OR ifNull(tupleElement(v, 'order_value'), 0) != ifNull(tupleElement(last, 'order_value'), 0) OR ifNull(tupleElement(v, 'cashback'), 0) != ifNull(tupleElement(last, 'cashback'), 0), versions) + 1] AS turn,
            arrayFilter(v -> tupleElement(v, 'payout_id') IS NOT NULL AND tupleElement(v, 'deleted') = 0, versions) AS carrying
        FROM transactions_versions
        WHERE cityHash64(account, id) IN (SELECT key FROM payout_changed_keys)
        GROUP BY account, id
    )
    ARRAY JOIN arrayDistinct(arrayMap(v -> tupleElement(v, 'payout_id'), carrying)) AS payout
)
COMMENT 'Rows of payout_transactions whose transaction may have changed since it was stamped';

CREATE OR REPLACE VIEW payout_transactions
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    payout_id Int64 COMMENT 'Payout that the transaction carries or carried (from transactions_history.payout_id)',
    id UUID COMMENT 'Transaction identifier (from transactions.id)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (from transactions.sold_at)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (from transactions.retailer_name)',
    currency_code LowCardinality(String) COMMENT 'Currency of the amounts; empty when absent (from transactions_history.currency_code)',
    state LowCardinality(String) COMMENT 'same: stands as it was stamped; changed: status or an amount moved; moved: carries another payoutId, or none; gone: the service no longer lists it (from transactions_history, transactions)',
    stamped_status LowCardinality(String) COMMENT 'Status as stamped: in the first version that carries this payoutId; empty when absent (from transactions_history.status)',
    stamped_order_value Nullable(Decimal(18, 4)) COMMENT 'Order value as stamped [currency_code] (from transactions_history.order_value)',
    stamped_cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback as stamped [currency_code] (from transactions_history.cashback)',
    stamped_at Nullable(DateTime64(3, 'UTC')) COMMENT 'updatedAt of that version: when it was stamped, unless it changed again before it was first read [UTC] (from transactions_history.updated_at)',
    stamped_seen_at DateTime64(3, 'UTC') COMMENT 'When that version was loaded [UTC] (from transactions_history.synced_at)',
    stamped_is_first_known UInt8 COMMENT '1 when no earlier version of the transaction is known: as stamped is then as first seen (from transactions_history.payout_id)',
    status LowCardinality(String) COMMENT 'Status as of now; of a transaction that is gone, the last one known; empty when absent (from transactions.status)',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Order value as of now [currency_code] (from transactions.order_value)',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback as of now [currency_code] (from transactions.cashback)',
    payout_id_now Nullable(Int64) COMMENT 'Payout that the transaction carries as of now; NULL: none (from transactions.payout_id)',
    changed_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Since when it stands as it does now: updatedAt of that version, or when it was found gone; NULL while it stands as stamped [UTC] (from transactions_history.updated_at, valid_to)',
    at_stake Decimal(18, 4) COMMENT 'Cashback as stamped less cashback as of now; that of DECLINED, moved and gone transactions counts as 0 [currency_code] (from stamped_cashback, stamped_status, cashback, status, state)'
)
AS SELECT account, assumeNotNull(payout_id) AS payout_id, id, sold_at, retailer_name, currency_code, 'same' AS state,
    status AS stamped_status, order_value AS stamped_order_value, cashback AS stamped_cashback, updated_at AS stamped_at, synced_at AS stamped_seen_at,
    cityHash64(account, id) NOT IN (SELECT cityHash64(account, id) FROM transactions_versions WHERE payout_id IS NULL) AS stamped_is_first_known,
    status, order_value, cashback, transactions_versions.payout_id AS payout_id_now, NULL AS changed_at, 0 AS at_stake
FROM transactions_versions
WHERE transactions_versions.payout_id IS NOT NULL AND _deleted = 0 AND cityHash64(account, id) NOT IN (SELECT key FROM payout_changed_keys)
UNION ALL
SELECT account, payout_id, id, sold_at, retailer_name, currency_code, state, stamped_status, stamped_order_value, stamped_cashback, stamped_at, stamped_seen_at, stamped_is_first_known, status, order_value, cashback, payout_id_now, changed_at, at_stake
FROM payout_changed_transactions
COMMENT 'Every transaction of a payout, one row for each payout that it ever carried: as stamped and as of now';

CREATE OR REPLACE VIEW payout_sums
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from payout_transactions.account)',
    payout_id Int64 COMMENT 'Payout (from payout_transactions.payout_id)',
    quarter Nullable(DateTime64(3, 'UTC')) COMMENT 'Quarter of an hour of stamped_at [UTC] (from payout_transactions.stamped_at)',
    currency_code LowCardinality(String) COMMENT 'Currency; empty when absent (from payout_transactions.currency_code)',
    state LowCardinality(String) COMMENT 'As in payout_transactions (from payout_transactions.state)',
    stamped_status LowCardinality(String) COMMENT 'Status as stamped; empty when absent (from payout_transactions.stamped_status)',
    now_status LowCardinality(String) COMMENT 'Status as of now; empty when absent (from payout_transactions.status)',
    stamped_n Int64 COMMENT 'Number of transactions, as stamped [count] (from payout_transactions)',
    stamped_gmv Decimal(38, 4) COMMENT 'Sum of their order_value as stamped [currency_code] (from payout_transactions.stamped_order_value)',
    stamped_cashback Decimal(38, 4) COMMENT 'Sum of their cashback as stamped [currency_code] (from payout_transactions.stamped_cashback)',
    now_n Int64 COMMENT 'Number of those that carry the payoutId as of now [count] (from payout_transactions.state)',
    now_gmv Decimal(38, 4) COMMENT 'Sum of their order_value as of now [currency_code] (from payout_transactions.order_value)',
    now_cashback Decimal(38, 4) COMMENT 'Sum of their cashback as of now [currency_code] (from payout_transactions.cashback)',
    at_stake Decimal(38, 4) COMMENT 'Sum of at_stake [currency_code] (from payout_transactions.at_stake)'
)
AS SELECT account, payout_id, fromUnixTimestamp64Milli(900000 * quarters, 'UTC') AS quarter, currency_code, state, stamped_status, now_status,
    toInt64(n) AS stamped_n, ifNull(gmv, 0) AS stamped_gmv, ifNull(sum_cashback, 0) AS stamped_cashback,
    if(here, stamped_n, 0) AS now_n, if(here, ifNull(gmv_now, 0), 0) AS now_gmv, if(here, ifNull(cashback_now, 0), 0) AS now_cashback, stake AS at_stake
FROM
(
    SELECT account, payout_id, toInt64(floor(toUnixTimestamp64Milli(stamped_at) / 900000)) AS quarters, currency_code, state, stamped_status, status AS now_status,
        state IN ('same', 'changed') AS here, count() AS n, sum(stamped_order_value) AS gmv, sum(stamped_cashback) AS sum_cashback,
        sum(order_value) AS gmv_now, sum(cashback) AS cashback_now, sum(at_stake) AS stake
    FROM payout_transactions
    GROUP BY account, payout_id, quarters, currency_code, state, stamped_status, now_status
)
COMMENT 'Sums over payout_transactions, of transactions that were stamped in the same quarter of an hour and stand alike';

CREATE OR REPLACE VIEW payout_alterations
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from payouts.account)',
    payout_id Int64 COMMENT 'Payout (from payouts.id)',
    first_seen_at DateTime64(3, 'UTC') COMMENT 'When the payout was first loaded [UTC] (from payouts_history.synced_at)',
    altered UInt8 COMMENT '1 when the payout changed after it was first seen (from payouts_history)',
    altered_columns Array(String) COMMENT 'Columns in which it differs from when it was first seen; empty when it changed back (from payouts_history)',
    altered_before Array(String) COMMENT 'Their values when it was first seen (from payouts_history)',
    altered_after Array(String) COMMENT 'Their values now (from payouts_history)',
    altered_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was first seen changed [UTC] (from payouts_history.synced_at)'
)
AS WITH ['total_transactions', 'total_gmv', 'total_cashback', 'confirmed_transactions', 'declined_transactions', 'pending_transactions', 'confirmed_gmv', 'declined_gmv', 'pending_gmv', 'confirmed_cashback', 'declined_cashback', 'pending_cashback', 'aov', 'start_date', 'end_date'] AS names,
    arrayFilter(i -> before[i] != after[i], arrayEnumerate(names)) AS differ
SELECT account, payout_id, first_seen_at, length(contents) > 1 AS altered,
    arrayMap(i -> names[i], differ) AS altered_columns, arrayMap(i -> before[i], differ) AS altered_before, arrayMap(i -> after[i], differ) AS altered_after,
    if(altered, toNullable(arrayMin(v -> if(v.1 = before, toDateTime64('2299-01-01 00:00:00', 3, 'UTC'), v.2), versions)), NULL) AS altered_at
FROM
(
    SELECT account, id AS payout_id, min(synced_at) AS first_seen_at, argMin(content, _version) AS before, argMax(content, _version) AS after,
        groupArray((content, synced_at)) AS versions, arrayDistinct(arrayMap(v -> v.1, versions)) AS contents
    FROM
    (
        SELECT account, id, synced_at, _version, [ifNull(toString(total_transactions), ''),
            ifNull(toString(total_gmv), ''),
            ifNull(toString(total_cashback), ''),
            ifNull(toString(confirmed_transactions), ''),
            ifNull(toString(declined_transactions), ''),
            ifNull(toString(pending_transactions), ''),
            ifNull(toString(confirmed_gmv), ''),
            ifNull(toString(declined_gmv), ''),
            ifNull(toString(pending_gmv), ''),
            ifNull(toString(confirmed_cashback), ''),
            ifNull(toString(declined_cashback), ''),
            ifNull(toString(pending_cashback), ''),
            ifNull(toString(aov), ''),
            ifNull(toString(start_date), ''),
            ifNull(toString(end_date), '')] AS content
        FROM payouts_versions WHERE _deleted = 0
    )
    GROUP BY account, id
)
COMMENT 'Whether a payout changed after it was first seen: payouts are immutable, so that each change is worth a question';

CREATE OR REPLACE VIEW payout_reconciliation
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from payouts.account)',
    payout_id Int64 COMMENT 'Payout identifier (from payouts.id)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the first transaction included, as reported [UTC] (from payouts.start_date)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the last transaction included, as reported [UTC] (from payouts.end_date)',
    verdict LowCardinality(String) COMMENT 'matched: its transactions add up to it, and stand as they did; drifted: some have changed since they were paid, which explains the difference, if there is one; missing: fewer are loaded than it counts; mismatched: they do not add up to it; no_transactions: none is loaded, see complete_to (from mismatches and the counts of transactions)',
    mismatches Array(String) COMMENT 'Columns in which reported and as stamped differ (from the columns that end in _difference)',
    currencies Array(String) COMMENT 'Currencies of its transactions, sorted (from payout_transactions.currency_code)',
    mixed_currency UInt8 COMMENT '1 when its transactions have more than one currency: its totals then add up amounts that cannot be added (from payout_transactions.currency_code)',
    altered UInt8 COMMENT '1 when the payout itself changed after it was first seen, which a payout never should (from payouts_history)',
    altered_columns Array(String) COMMENT 'Columns in which it differs from when it was first seen; empty when it changed back (from payouts_history)',
    altered_before Array(String) COMMENT 'Their values when it was first seen (from payouts_history)',
    altered_after Array(String) COMMENT 'Their values now (from payouts_history)',
    altered_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was first seen changed [UTC] (from payouts_history.synced_at)',
    first_seen_at DateTime64(3, 'UTC') COMMENT 'When the payout was first loaded [UTC] (from payouts_history.synced_at)',
    complete_to Nullable(DateTime64(3, 'UTC')) COMMENT 'Up to which updatedAt the transactions of the account are complete; NULL: none were loaded [UTC] (from sync_state.value)',
    transactions_reported Nullable(Int64) COMMENT 'Transactions that the payout counts [count] (from payouts.total_transactions)',
    transactions_loaded UInt64 COMMENT 'Of its transactions, those that are loaded and still listed by the service [count] (from payout_transactions.state)',
    transactions_changed UInt64 COMMENT 'Of those, how many have changed status or amount since they were stamped [count] (from payout_transactions.state)',
    transactions_moved UInt64 COMMENT 'Of those, how many now carry another payoutId, or none [count] (from payout_transactions.state)',
    transactions_gone UInt64 COMMENT 'Transactions that carried its id and that the service no longer lists [count] (from payout_transactions.state)',
    transactions_late UInt64 COMMENT 'Transactions whose first version with its id came over a quarter of an hour after that of the first one: how they stood when they were paid is not known [count] (from payout_transactions.stamped_at)',
    at_stake Decimal(38, 4) COMMENT 'Cashback reported less cashback as of now, each without DECLINED; the sum of the seven columns that follow. 0 for no_transactions [currencies] (from the columns that begin with at_stake_)',
    at_stake_confirmed Decimal(38, 4) COMMENT 'Part of at_stake in transactions that are CONFIRMED now [currencies] (from payout_transactions.at_stake, status)',
    at_stake_declined Decimal(38, 4) COMMENT 'Part of at_stake in transactions that are DECLINED now: paid and then lost [currencies] (from payout_transactions.at_stake, status)',
    at_stake_pending Decimal(38, 4) COMMENT 'Part of at_stake in transactions that are PENDING now [currencies] (from payout_transactions.at_stake, status)',
    at_stake_other Decimal(38, 4) COMMENT 'Part of at_stake in transactions of any other status now [currencies] (from payout_transactions.at_stake, status)',
    at_stake_moved Decimal(38, 4) COMMENT 'Part of at_stake in transactions that now carry another payoutId, or none [currencies] (from payout_transactions.at_stake, state)',
    at_stake_gone Decimal(38, 4) COMMENT 'Part of at_stake in transactions that the service no longer lists [currencies] (from payout_transactions.at_stake, state)',
    at_stake_unexplained Decimal(38, 4) COMMENT 'Part of at_stake that no loaded transaction explains: reported less as stamped [currencies] (from total_cashback, declined_cashback, stamped_total_cashback, stamped_declined_cashback)',
    total_transactions Nullable(Int64) COMMENT 'Number of all transactions, as reported [count] (from payouts.total_transactions)',
    total_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of all transactions, as reported [currencies] (from payouts.total_gmv)',
    total_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of all transactions, as reported [currencies] (from payouts.total_cashback)',
    confirmed_transactions Nullable(Int64) COMMENT 'Number of CONFIRMED transactions, as reported [count] (from payouts.confirmed_transactions)',
    declined_transactions Nullable(Int64) COMMENT 'Number of DECLINED transactions, as reported [count] (from payouts.declined_transactions)',
    pending_transactions Nullable(Int64) COMMENT 'Number of PENDING transactions, as reported [count] (from payouts.pending_transactions)',
    confirmed_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of CONFIRMED transactions, as reported [currencies] (from payouts.confirmed_gmv)',
    declined_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of DECLINED transactions, as reported [currencies] (from payouts.declined_gmv)',
    pending_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of PENDING transactions, as reported [currencies] (from payouts.pending_gmv)',
    confirmed_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of CONFIRMED transactions, as reported [currencies] (from payouts.confirmed_cashback)',
    declined_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of DECLINED transactions, as reported [currencies] (from payouts.declined_cashback)',
    pending_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of PENDING transactions, as reported [currencies] (from payouts.pending_cashback)',
    aov Nullable(Decimal(18, 6)) COMMENT 'Average order value, as reported [currencies] (from payouts.aov)',
    stamped_total_transactions UInt64 COMMENT 'Number of all transactions, as stamped [count] (from payout_transactions)',
    stamped_total_gmv Decimal(38, 4) COMMENT 'Sum of order_value of all transactions, as stamped [currencies] (from payout_transactions.stamped_order_value)',
    stamped_total_cashback Decimal(38, 4) COMMENT 'Sum of cashback of all transactions, as stamped [currencies] (from payout_transactions.stamped_cashback)',
    stamped_confirmed_transactions UInt64 COMMENT 'Number of CONFIRMED transactions, as stamped [count] (from payout_transactions.stamped_status)',
    stamped_declined_transactions UInt64 COMMENT 'Number of DECLINED transactions, as stamped [count] (from payout_transactions.stamped_status)',
    stamped_pending_transactions UInt64 COMMENT 'Number of PENDING transactions, as stamped [count] (from payout_transactions.stamped_status)',
    stamped_confirmed_gmv Decimal(38, 4) COMMENT 'Sum of order_value of CONFIRMED transactions, as stamped [currencies] (from payout_transactions.stamped_order_value, stamped_status)',
    stamped_declined_gmv Decimal(38, 4) COMMENT 'Sum of order_value of DECLINED transactions, as stamped [currencies] (from payout_transactions.stamped_order_value, stamped_status)',
    stamped_pending_gmv Decimal(38, 4) COMMENT 'Sum of order_value of PENDING transactions, as stamped [currencies] (from payout_transactions.stamped_order_value, stamped_status)',
    stamped_confirmed_cashback Decimal(38, 4) COMMENT 'Sum of cashback of CONFIRMED transactions, as stamped [currencies] (from payout_transactions.stamped_cashback, stamped_status)',
    stamped_declined_cashback Decimal(38, 4) COMMENT 'Sum of cashback of DECLINED transactions, as stamped [currencies] (from payout_transactions.stamped_cashback, stamped_status)',
    stamped_pending_cashback Decimal(38, 4) COMMENT 'Sum of cashback of PENDING transactions, as stamped [currencies] (from payout_transactions.stamped_cashback, stamped_status)',
    stamped_aov Nullable(Decimal(38, 6)) COMMENT 'stamped_total_gmv / stamped_total_transactions; NULL when there are none [currencies] (from stamped_total_gmv, stamped_total_transactions)',
    now_total_transactions UInt64 COMMENT 'Number of all transactions, as of now [count] (from payout_transactions)',
    now_total_gmv Decimal(38, 4) COMMENT 'Sum of order_value of all transactions, as of now [currencies] (from payout_transactions.order_value)',
    now_total_cashback Decimal(38, 4) COMMENT 'Sum of cashback of all transactions, as of now [currencies] (from payout_transactions.cashback)',
    now_confirmed_transactions UInt64 COMMENT 'Number of CONFIRMED transactions, as of now [count] (from payout_transactions.status)',
    now_declined_transactions UInt64 COMMENT 'Number of DECLINED transactions, as of now [count] (from payout_transactions.status)',
    now_pending_transactions UInt64 COMMENT 'Number of PENDING transactions, as of now [count] (from payout_transactions.status)',
    now_confirmed_gmv Decimal(38, 4) COMMENT 'Sum of order_value of CONFIRMED transactions, as of now [currencies] (from payout_transactions.order_value, status)',
    now_declined_gmv Decimal(38, 4) COMMENT 'Sum of order_value of DECLINED transactions, as of now [currencies] (from payout_transactions.order_value, status)',
    now_pending_gmv Decimal(38, 4) COMMENT 'Sum of order_value of PENDING transactions, as of now [currencies] (from payout_transactions.order_value, status)',
    now_confirmed_cashback Decimal(38, 4) COMMENT 'Sum of cashback of CONFIRMED transactions, as of now [currencies] (from payout_transactions.cashback, status)',
    now_declined_cashback Decimal(38, 4) COMMENT 'Sum of cashback of DECLINED transactions, as of now [currencies] (from payout_transactions.cashback, status)',
    now_pending_cashback Decimal(38, 4) COMMENT 'Sum of cashback of PENDING transactions, as of now [currencies] (from payout_transactions.cashback, status)',
    now_aov Nullable(Decimal(38, 6)) COMMENT 'now_total_gmv / now_total_transactions; NULL when there are none [currencies] (from now_total_gmv, now_total_transactions)',
    total_transactions_difference Nullable(Int64) COMMENT 'total_transactions less stamped_total_transactions: what the payout has more than its transactions [count] (from total_transactions, stamped_total_transactions)',
    total_gmv_difference Nullable(Decimal(38, 4)) COMMENT 'total_gmv less stamped_total_gmv: what the payout has more than its transactions [currencies] (from total_gmv, stamped_total_gmv)',
    total_cashback_difference Nullable(Decimal(38, 4)) COMMENT 'total_cashback less stamped_total_cashback: what the payout has more than its transactions [currencies] (from total_cashback, stamped_total_cashback)',
    confirmed_transactions_difference Nullable(Int64) COMMENT 'confirmed_transactions less stamped_confirmed_transactions: what the payout has more than its transactions [count] (from confirmed_transactions, stamped_confirmed_transactions)',
    declined_transactions_difference Nullable(Int64) COMMENT 'declined_transactions less stamped_declined_transactions: what the payout has more than its transactions [count] (from declined_transactions, stamped_declined_transactions)',
    pending_transactions_difference Nullable(Int64) COMMENT 'pending_transactions less stamped_pending_transactions: what the payout has more than its transactions [count] (from pending_transactions, stamped_pending_transactions)',
    confirmed_gmv_difference Nullable(Decimal(38, 4)) COMMENT 'confirmed_gmv less stamped_confirmed_gmv: what the payout has more than its transactions [currencies] (from confirmed_gmv, stamped_confirmed_gmv)',
    declined_gmv_difference Nullable(Decimal(38, 4)) COMMENT 'declined_gmv less stamped_declined_gmv: what the payout has more than its transactions [currencies] (from declined_gmv, stamped_declined_gmv)',
    pending_gmv_difference Nullable(Decimal(38, 4)) COMMENT 'pending_gmv less stamped_pending_gmv: what the payout has more than its transactions [currencies] (from pending_gmv, stamped_pending_gmv)',
    confirmed_cashback_difference Nullable(Decimal(38, 4)) COMMENT 'confirmed_cashback less stamped_confirmed_cashback: what the payout has more than its transactions [currencies] (from confirmed_cashback, stamped_confirmed_cashback)',
    declined_cashback_difference Nullable(Decimal(38, 4)) COMMENT 'declined_cashback less stamped_declined_cashback: what the payout has more than its transactions [currencies] (from declined_cashback, stamped_declined_cashback)',
    pending_cashback_difference Nullable(Decimal(38, 4)) COMMENT 'pending_cashback less stamped_pending_cashback: what the payout has more than its transactions [currencies] (from pending_cashback, stamped_pending_cashback)',
    aov_difference Nullable(Decimal(38, 6)) COMMENT 'aov less stamped_aov; 0 when they agree in the decimals that the service gives [currencies] (from aov, stamped_aov)'
)
AS SELECT
    account, payout_id, start_date, end_date, verdict, mismatches,
    currencies, mixed_currency, altered, altered_columns, altered_before, altered_after,
    altered_at, first_seen_at, complete_to, transactions_reported, transactions_loaded, transactions_changed,
    transactions_moved, transactions_gone, transactions_late, at_stake, at_stake_confirmed, at_stake_declined,
    at_stake_pending, at_stake_other, at_stake_moved, at_stake_gone, at_stake_unexplained, total_transactions,
    total_gmv, total_cashback, confirmed_transactions, declined_transactions, pending_transactions, confirmed_gmv,
    declined_gmv, pending_gmv, confirmed_cashback, declined_cashback, pending_cashback, aov,
    stamped_total_transactions, stamped_total_gmv, stamped_total_cashback, stamped_confirmed_transactions, stamped_declined_transactions, stamped_pending_transactions,
    stamped_confirmed_gmv, stamped_declined_gmv, stamped_pending_gmv, stamped_confirmed_cashback, stamped_declined_cashback, stamped_pending_cashback,
    stamped_aov, now_total_transactions, now_total_gmv, now_total_cashback, now_confirmed_transactions, now_declined_transactions,
    now_pending_transactions, now_confirmed_gmv, now_declined_gmv, now_pending_gmv, now_confirmed_cashback, now_declined_cashback,
    now_pending_cashback, now_aov, total_transactions_difference, total_gmv_difference, total_cashback_difference, confirmed_transactions_difference,
    declined_transactions_difference, pending_transactions_difference, confirmed_gmv_difference, declined_gmv_difference, pending_gmv_difference, confirmed_cashback_difference,
    declined_cashback_difference, pending_cashback_difference, aov_difference
FROM
(
    SELECT *,
        if(loaded = 0, 0, unexplained) AS at_stake_unexplained,
        at_stake_confirmed + at_stake_declined + at_stake_pending + at_stake_other + at_stake_moved + at_stake_gone + at_stake_unexplained AS at_stake,
        arrayFilter((name, differs) -> differs, ['total_transactions', 'total_gmv', 'total_cashback', 'confirmed_transactions', 'declined_transactions', 'pending_transactions', 'confirmed_gmv', 'declined_gmv', 'pending_gmv', 'confirmed_cashback', 'declined_cashback', 'pending_cashback', 'aov'],
        [ifNull(total_transactions_difference != 0, 0), ifNull(total_gmv_difference != 0, 0), ifNull(total_cashback_difference != 0, 0), ifNull(confirmed_transactions_difference != 0, 0), ifNull(declined_transactions_difference != 0, 0), ifNull(pending_transactions_difference != 0, 0), ifNull(confirmed_gmv_difference != 0, 0), ifNull(declined_gmv_difference != 0, 0), ifNull(pending_gmv_difference != 0, 0), ifNull(confirmed_cashback_difference != 0, 0), ifNull(declined_cashback_difference != 0, 0), ifNull(pending_cashback_difference != 0, 0), ifNull(aov_difference != 0, 0)]) AS mismatches,
        -- What the late ones were when they were paid is not known, but it must have been possible.
        transactions_late > 0 AND total_transactions_difference = 0 AND ifNull(total_transactions = confirmed_transactions + declined_transactions + pending_transactions, 0)
            AND ifNull(total_gmv = confirmed_gmv + declined_gmv + pending_gmv, 0)
            AND ifNull(total_cashback = confirmed_cashback + declined_cashback + pending_cashback, 0)
            AND ifNull(confirmed_transactions >= early_confirmed_transactions, 0)
            AND ifNull(declined_transactions >= early_declined_transactions, 0)
            AND ifNull(pending_transactions >= early_pending_transactions, 0)
            AND ifNull(confirmed_transactions > early_confirmed_transactions OR confirmed_gmv = early_confirmed_gmv, 1)
            AND ifNull(confirmed_transactions > early_confirmed_transactions OR confirmed_cashback = early_confirmed_cashback, 1)
            AND ifNull(declined_transactions > early_declined_transactions OR declined_gmv = early_declined_gmv, 1)
            AND ifNull(declined_transactions > early_declined_transactions OR declined_cashback = early_declined_cashback, 1)
            AND ifNull(pending_transactions > early_pending_transactions OR pending_gmv = early_pending_gmv, 1)
            AND ifNull(pending_transactions > early_pending_transactions OR pending_cashback = early_pending_cashback, 1) AS possible,
        multiIf(
            loaded = 0 AND ifNull(total_transactions != 0, 1), 'no_transactions',
            ifNull(transactions_loaded < total_transactions, 0), 'missing',
            empty(mismatches) AND transactions_changed + transactions_moved + transactions_gone = 0, 'matched',
            empty(mismatches) OR ifNull(possible, 0), 'drifted',
            'mismatched') AS verdict
    FROM
    (
        SELECT *,
            total_transactions AS transactions_reported,
            total_transactions - toInt64(stamped_total_transactions) AS total_transactions_difference, total_gmv - stamped_total_gmv AS total_gmv_difference,
            total_cashback - stamped_total_cashback AS total_cashback_difference, confirmed_transactions - toInt64(stamped_confirmed_transactions) AS confirmed_transactions_difference,
            declined_transactions - toInt64(stamped_declined_transactions) AS declined_transactions_difference, pending_transactions - toInt64(stamped_pending_transactions) AS pending_transactions_difference,
            confirmed_gmv - stamped_confirmed_gmv AS confirmed_gmv_difference, declined_gmv - stamped_declined_gmv AS declined_gmv_difference,
            pending_gmv - stamped_pending_gmv AS pending_gmv_difference, confirmed_cashback - stamped_confirmed_cashback AS confirmed_cashback_difference,
            declined_cashback - stamped_declined_cashback AS declined_cashback_difference, pending_cashback - stamped_pending_cashback AS pending_cashback_difference,
            if(stamped_total_transactions = 0, NULL, round(toDecimal128(stamped_total_gmv, 10) / stamped_total_transactions, 6)) AS stamped_aov,
            if(now_total_transactions = 0, NULL, round(toDecimal128(now_total_gmv, 10) / now_total_transactions, 6)) AS now_aov,
            -- An average is rounded, so that it agrees when it is less than one unit of its last decimal away.
            if(abs(toDecimal128(aov, 6) * stamped_total_transactions - stamped_total_gmv) < aov_unit * stamped_total_transactions, 0, aov - stamped_aov) AS aov_difference,
            ifNull((total_cashback - declined_cashback) - (stamped_total_cashback - stamped_declined_cashback), 0) AS unexplained,
            length(currencies) > 1 AS mixed_currency
        FROM
        (
            -- Joins one within the other: the old analyzer knows USING only once in a FROM.
            SELECT * FROM
            (
                SELECT * FROM
                (
                    SELECT account, id AS payout_id, * EXCEPT (account, id, _extra, synced_at, _hash, _version, _deleted, _run_id),
                        arrayElement([toDecimal64('1', 6), toDecimal64('0.1', 6), toDecimal64('0.01', 6), toDecimal64('0.001', 6), toDecimal64('0.0001', 6), toDecimal64('0.00001', 6), toDecimal64('0.000001', 6)],
                            1 + max(length(splitByChar('.', ifNull(toString(aov), '0'))[2])) OVER (PARTITION BY account)) AS aov_unit
                    FROM (SELECT * FROM payouts_versions ORDER BY _version DESC LIMIT 1 BY account, id)
                    WHERE _deleted = 0
                ) AS p
                INNER JOIN
                (
                    SELECT account, payout_id,
                        toUInt64(sum(stamped_n)) AS loaded,
                        toUInt64(sumIf(stamped_n, state != 'gone')) AS transactions_loaded,
                        toUInt64(sumIf(stamped_n, state = 'changed')) AS transactions_changed,
                        toUInt64(sumIf(stamped_n, state = 'moved')) AS transactions_moved,
                        toUInt64(sumIf(stamped_n, state = 'gone')) AS transactions_gone,
                        toUInt64(sumIf(stamped_n, late)) AS transactions_late,
                        arraySort(groupUniqArrayIf(toString(currency_code), n_of_currency > 0 AND currency_code != '')) AS currencies,
                        sumIf(at_stake, here AND now_status = 'CONFIRMED') AS at_stake_confirmed,
                        sumIf(at_stake, here AND now_status = 'DECLINED') AS at_stake_declined,
                        sumIf(at_stake, here AND now_status = 'PENDING') AS at_stake_pending,
                        sumIf(at_stake, here AND now_status NOT IN ('CONFIRMED', 'DECLINED', 'PENDING')) AS at_stake_other,
                        sumIf(at_stake, state = 'moved') AS at_stake_moved,
                        sumIf(at_stake, state = 'gone') AS at_stake_gone,
                        sumIf(stamped_n, NOT late AND stamped_status = 'CONFIRMED') AS early_confirmed_transactions, sumIf(stamped_n, NOT late AND stamped_status = 'DECLINED') AS early_declined_transactions,
                        sumIf(stamped_n, NOT late AND stamped_status = 'PENDING') AS early_pending_transactions, sumIf(stamped_gmv, NOT late AND stamped_status = 'CONFIRMED') AS early_confirmed_gmv,
                        sumIf(stamped_gmv, NOT late AND stamped_status = 'DECLINED') AS early_declined_gmv, sumIf(stamped_gmv, NOT late AND stamped_status = 'PENDING') AS early_pending_gmv,
                        sumIf(stamped_cashback, NOT late AND stamped_status = 'CONFIRMED') AS early_confirmed_cashback, sumIf(stamped_cashback, NOT late AND stamped_status = 'DECLINED') AS early_declined_cashback,
                        sumIf(stamped_cashback, NOT late AND stamped_status = 'PENDING') AS early_pending_cashback,
                        sum(stamped_n) AS stamped_total_transactions, sum(stamped_gmv) AS stamped_total_gmv,
                        sum(stamped_cashback) AS stamped_total_cashback, sumIf(stamped_n, stamped_status = 'CONFIRMED') AS stamped_confirmed_transactions,
                        sumIf(stamped_n, stamped_status = 'DECLINED') AS stamped_declined_transactions, sumIf(stamped_n, stamped_status = 'PENDING') AS stamped_pending_transactions,
                        sumIf(stamped_gmv, stamped_status = 'CONFIRMED') AS stamped_confirmed_gmv, sumIf(stamped_gmv, stamped_status = 'DECLINED') AS stamped_declined_gmv,
                        sumIf(stamped_gmv, stamped_status = 'PENDING') AS stamped_pending_gmv, sumIf(stamped_cashback, stamped_status = 'CONFIRMED') AS stamped_confirmed_cashback,
                        sumIf(stamped_cashback, stamped_status = 'DECLINED') AS stamped_declined_cashback, sumIf(stamped_cashback, stamped_status = 'PENDING') AS stamped_pending_cashback,
                        sum(now_n) AS now_total_transactions, sum(now_gmv) AS now_total_gmv,
                        sum(now_cashback) AS now_total_cashback, sumIf(now_n, now_status = 'CONFIRMED') AS now_confirmed_transactions,
                        sumIf(now_n, now_status = 'DECLINED') AS now_declined_transactions, sumIf(now_n, now_status = 'PENDING') AS now_pending_transactions,
                        sumIf(now_gmv, now_status = 'CONFIRMED') AS now_confirmed_gmv, sumIf(now_gmv, now_status = 'DECLINED') AS now_declined_gmv,
                        sumIf(now_gmv, now_status = 'PENDING') AS now_pending_gmv, sumIf(now_cashback, now_status = 'CONFIRMED') AS now_confirmed_cashback,
                        sumIf(now_cashback, now_status = 'DECLINED') AS now_declined_cashback, sumIf(now_cashback, now_status = 'PENDING') AS now_pending_cashback
                    FROM
                    (
                        SELECT *, state IN ('same', 'changed') AS here, sum(stamped_n) OVER (PARTITION BY account, payout_id, currency_code) AS n_of_currency,
                            ifNull(quarter > minIf(quarter, n_of_quarter > 0) OVER (PARTITION BY account, payout_id) + toIntervalMinute(15), 0) AS late
                        FROM
                        (
                            SELECT *, sum(stamped_n) OVER (PARTITION BY account, payout_id, quarter) AS n_of_quarter
                            FROM
                            (
                                SELECT * FROM payout_sums
                                UNION ALL
                                SELECT account, id, NULL, '', 'same', '', '', 0, 0, 0, 0, 0, 0, 0 FROM payouts_versions
                            )
                        )
                    )
                    GROUP BY account, payout_id
                ) AS s USING (account, payout_id)
            ) AS ps
            INNER JOIN payout_alterations AS a USING (account, payout_id)
        ) AS psa
        LEFT JOIN (SELECT account, complete_to FROM service_clock) AS w USING (account)
    )
)
COMMENT 'Every payout against its transactions: reported, as stamped, as of now, the differences, and a verdict';

CREATE OR REPLACE VIEW payout_orphans
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    payout_id Int64 COMMENT 'Payout that the transaction says it is in (from transactions.payout_id)',
    id UUID COMMENT 'Transaction identifier (from transactions.id)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (from transactions.sold_at)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (from transactions.updated_at)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (from transactions.retailer_name)',
    status LowCardinality(String) COMMENT 'Status as of now; empty when absent (from transactions.status)',
    currency_code LowCardinality(String) COMMENT 'Currency of the amounts; empty when absent (from transactions.currency_code)',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Order value [currency_code] (from transactions.order_value)',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback [currency_code] (from transactions.cashback)',
    was_listed UInt8 COMMENT '1 when the service listed the payout before, and does so no more (from payouts_history.id)',
    certain UInt8 COMMENT '1 when the payouts were read after the transaction was loaded; 0: the next sync of payouts may bring it (from sync_runs.started_at, transactions.synced_at)'
)
AS SELECT account, assumeNotNull(t.payout_id) AS payout_id, id, sold_at, updated_at, retailer_name, status, currency_code, order_value, cashback,
    (account, payout_id) IN (SELECT account, id FROM payouts_versions) AS was_listed,
    ifNull(synced_at < r.last_read, 0) AS certain
FROM
(
    -- What is listed is read from the versions as well: one table of each stream (warehouse-12).
    SELECT * FROM transactions
    WHERE payout_id IS NOT NULL AND (account, assumeNotNull(payout_id)) NOT IN (SELECT account, id FROM payouts_versions GROUP BY account, id HAVING argMax(_deleted, _version) = 0)
) AS t
LEFT JOIN (SELECT account, toNullable(max(started_at)) AS last_read FROM sync_runs WHERE stream = 'payouts' AND outcome = 'success' AND mode NOT IN ('retry', 'references') GROUP BY account) AS r USING (account)
COMMENT 'Transactions that carry the payoutId of a payout which is not there';

CREATE OR REPLACE VIEW payout_unpaid
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    id UUID COMMENT 'Transaction identifier (from transactions.id)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (from transactions.sold_at)',
    age_seconds Nullable(Int64) COMMENT 'Time from the sale to service_time, never below 0 [seconds] (from sold_at, service_time)',
    service_time Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the service as far as it is known [UTC] (from service_clock.service_time)',
    complete_to Nullable(DateTime64(3, 'UTC')) COMMENT 'Up to which updatedAt the transactions of the account are complete [UTC] (from service_clock.complete_to)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (from transactions.retailer_name)',
    status LowCardinality(String) COMMENT 'Status as of now; empty when absent; never DECLINED, for which nothing is paid (from transactions.status)',
    currency_code LowCardinality(String) COMMENT 'Currency of the amounts; empty when absent (from transactions.currency_code)',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Order value [currency_code] (from transactions.order_value)',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback [currency_code] (from transactions.cashback)'
)
AS SELECT account, id, sold_at, if(w.service_time < sold_at, 0, dateDiff('second', sold_at, w.service_time)) AS age_seconds, w.service_time AS service_time, w.complete_to AS complete_to,
    retailer_name, status, currency_code, order_value, cashback
FROM (SELECT * FROM transactions WHERE payout_id IS NULL AND status != 'DECLINED') AS t
LEFT JOIN service_clock AS w USING (account)
COMMENT 'Transactions that are in no payout and not declined, with their age by the clock of the service';

CREATE OR REPLACE VIEW payout_overdue
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    id UUID COMMENT 'Transaction identifier (from transactions.id)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (from transactions.sold_at)',
    age_seconds Nullable(Int64) COMMENT 'Time from the sale to service_time, never below 0 [seconds] (from sold_at, service_time)',
    service_time Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the service as far as it is known [UTC] (from service_clock.service_time)',
    complete_to Nullable(DateTime64(3, 'UTC')) COMMENT 'Up to which updatedAt the transactions of the account are complete [UTC] (from service_clock.complete_to)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (from transactions.retailer_name)',
    status LowCardinality(String) COMMENT 'Status as of now; empty when absent; never DECLINED, for which nothing is paid (from transactions.status)',
    currency_code LowCardinality(String) COMMENT 'Currency of the amounts; empty when absent (from transactions.currency_code)',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Order value [currency_code] (from transactions.order_value)',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback [currency_code] (from transactions.cashback)'
)
AS SELECT * FROM payout_unpaid WHERE age_seconds > 121 * 86400
COMMENT 'Transactions old enough to have been paid that no payout includes: sold over 121 days ago, 90 days and a month. For another age, ask payout_unpaid';

CREATE OR REPLACE VIEW transactions_enriched
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    id UUID COMMENT 'Transaction identifier (from transactions.id)',
    status LowCardinality(String) COMMENT 'PENDING, CONFIRMED or DECLINED; the service may add values; empty when absent (from transactions.status)',
    country LowCardinality(String) COMMENT 'Country code; empty when absent (from transactions.country)',
    activated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Activation time [UTC] (from transactions.activated_at)',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time [UTC] (from transactions.clicked_at)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (from transactions.sold_at)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (from transactions.updated_at)',
    currency_code LowCardinality(String) COMMENT 'Currency of order_value and cashback; empty when absent (from transactions.currency_code)',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Value of the order [currency_code] (from transactions.order_value)',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback amount [currency_code] (from transactions.cashback)',
    payout_id Nullable(Int64) COMMENT 'Payout that includes the transaction; NULL while in none (from transactions.payout_id)',
    passback_uid String COMMENT 'Caller''s own user identifier, as passed back; empty when absent (from transactions.passback_uid)',
    passback_data String COMMENT 'Caller''s own data, as passed back; empty when absent (from transactions.passback_data)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction; NULL when the service sent none or no UUID (from transactions.retailer_id)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (from transactions.retailer_name)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (from transactions.retailer_logo)',
    hostname String COMMENT 'Hostname of the retailer''s website, as the deals behind the transaction have it; empty when none is known (from cashback_offers.hostname, coupons.hostname, promotions.hostname)',
    cashback_offer_id Nullable(UUID) COMMENT 'Cashback offer behind the transaction; NULL when there is none (from transactions.cashback_offer_id)',
    offer_category String COMMENT 'Category of the cashback offer; empty when there is none or it is not known (from cashback_offers.category)',
    offer_description String COMMENT 'Description of the cashback offer; empty when there is none or it is not known (from cashback_offers.description)',
    offer_cashback_percentage Nullable(Decimal(18, 9)) COMMENT 'What the cashback offer gives now, or gave when it was last listed [fraction: 0.05 is 5 %] (from cashback_offers.cashback_percentage)',
    offer_listed Nullable(Bool) COMMENT 'Whether the cashback offer is still listed; NULL when there is none or it is not known (from cashback_offers)',
    coupon_id Nullable(UUID) COMMENT 'Coupon behind the transaction; NULL when there is none (from transactions.coupon_id)',
    coupon_code String COMMENT 'Code of the coupon; empty when there is none or it is not known (from coupons.code)',
    coupon_description String COMMENT 'Description of the coupon; empty when there is none or it is not known (from coupons.description)',
    coupon_listed Nullable(Bool) COMMENT 'Whether the coupon is still listed; NULL when there is none or it is not known (from coupons)',
    promotion_id Nullable(UUID) COMMENT 'Promotion behind the transaction; NULL when there is none (from transactions.promotion_id)',
    promotion_description String COMMENT 'Description of the promotion; empty when there is none or it is not known (from promotions.description)',
    promotion_listed Nullable(Bool) COMMENT 'Whether the promotion is still listed; NULL when there is none or it is not known (from promotions)',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version of the transaction was loaded [UTC] (from transactions.synced_at)'
)
AS SELECT t.account AS account, t.id AS id, t.status AS status, t.country AS country, t.activated_at AS activated_at, t.clicked_at AS clicked_at,
    t.sold_at AS sold_at, t.updated_at AS updated_at, t.currency_code AS currency_code, t.order_value AS order_value, t.cashback AS cashback,
    t.payout_id AS payout_id, t.passback_uid AS passback_uid, t.passback_data AS passback_data, t.retailer_id AS retailer_id,
    t.retailer_name AS retailer_name, t.retailer_logo AS retailer_logo,
    coalesce(nullIf(o.hostname, ''), nullIf(c.hostname, ''), nullIf(p.hostname, ''), '') AS hostname,
    t.cashback_offer_id AS cashback_offer_id, ifNull(o.category, '') AS offer_category, ifNull(o.description, '') AS offer_description,
    o.cashback_percentage AS offer_cashback_percentage, o.listed AS offer_listed,
    t.coupon_id AS coupon_id, ifNull(c.code, '') AS coupon_code, ifNull(c.description, '') AS coupon_description, c.listed AS coupon_listed,
    t.promotion_id AS promotion_id, ifNull(p.description, '') AS promotion_description, p.listed AS promotion_listed,
    t.synced_at AS synced_at
FROM transactions AS t
LEFT JOIN
(
    SELECT account, id, CAST(hostname, 'String') AS hostname, CAST(category, 'String') AS category, description, cashback_percentage, CAST(_deleted = 0, 'Nullable(Bool)') AS listed
    FROM cashback_offers_latest FINAL
) AS o ON t.account = o.account AND t.cashback_offer_id = o.id
LEFT JOIN
(
    SELECT account, id, CAST(hostname, 'String') AS hostname, code, description, CAST(_deleted = 0, 'Nullable(Bool)') AS listed FROM coupons_latest FINAL
) AS c ON t.account = c.account AND t.coupon_id = c.id
LEFT JOIN
(
    SELECT account, id, CAST(hostname, 'String') AS hostname, description, CAST(_deleted = 0, 'Nullable(Bool)') AS listed FROM promotions_latest FINAL
) AS p ON t.account = p.account AND t.promotion_id = p.id
COMMENT 'Transactions as they stand now, one row each, with the retailer and the deals behind them, listed or not';

CREATE OR REPLACE VIEW retailers
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from the streams)',
    retailer_id Nullable(UUID) COMMENT 'Retailer identifier; NULL when the service sent none or no UUID: such rows are distinguished by name (API: retailerId)',
    name String COMMENT 'Retailer name, the newest one by updatedAt; empty when absent (API: name, retailerName)',
    hostname String COMMENT 'Hostname of the retailer''s website, the newest one by updatedAt that is not empty; empty when no deal has one (API: hostname)',
    logo String COMMENT 'Logo URL, the newest one by updatedAt that is not empty; empty when absent (API: logo, retailerLogo)',
    live_promotions UInt64 COMMENT 'Promotions that are listed, have begun and have not ended [count] (from promotions)',
    live_coupons UInt64 COMMENT 'Coupons that are listed, have begun and have not ended [count] (from coupons)',
    live_cashback_offers UInt64 COMMENT 'Cashback offers that are listed [count] (from cashback_offers)',
    transactions UInt64 COMMENT 'Transactions of all times and states [count] (from transactions)',
    last_sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the last sale; NULL when there was none [UTC] (from transactions.sold_at)',
    last_changed_at DateTime64(3, 'UTC') COMMENT 'When a record of the retailer was last loaded new or changed [UTC] (from the streams'' synced_at)'
)
AS SELECT account, retailer_id,
    argMaxIf(named, named_version, named != '') AS name,
    argMaxIf(host, host_version, host != '') AS hostname,
    argMaxIf(image, image_version, image != '') AS logo,
    sum(promotions_live) AS live_promotions, sum(coupons_live) AS live_coupons, sum(offers_live) AS live_cashback_offers,
    sum(sales) AS transactions, max(last_sale) AS last_sold_at, max(newest) AS last_changed_at
FROM
(
    SELECT account, retailer_id, toString(retailer_name) AS named, max(_version) AS named_version,
        toString(argMaxIf(p.hostname, _version, p.hostname != '')) AS host, maxIf(_version, p.hostname != '') AS host_version,
        argMaxIf(retailer_logo, _version, retailer_logo != '') AS image, maxIf(_version, retailer_logo != '') AS image_version,
        countIf(_deleted = 0 AND ifNull(start_date <= now64(3), 1) AND ifNull(end_date > now64(3), 1)) AS promotions_live, 0 AS coupons_live, 0 AS offers_live,
        0 AS sales, CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS last_sale, max(synced_at) AS newest
    FROM promotions_latest AS p FINAL GROUP BY account, retailer_id, named
    UNION ALL
    SELECT account, retailer_id, toString(retailer_name) AS named, max(_version),
        toString(argMaxIf(c.hostname, _version, c.hostname != '')), maxIf(_version, c.hostname != ''),
        argMaxIf(retailer_logo, _version, retailer_logo != ''), maxIf(_version, retailer_logo != ''),
        0, countIf(_deleted = 0 AND ifNull(start_date <= now64(3), 1) AND ifNull(end_date > now64(3), 1)), 0, 0, NULL, max(synced_at)
    FROM coupons_latest AS c FINAL GROUP BY account, retailer_id, named
    UNION ALL
    SELECT account, retailer_id, toString(retailer_name) AS named, max(_version),
        toString(argMaxIf(o.hostname, _version, o.hostname != '')), maxIf(_version, o.hostname != ''),
        argMaxIf(retailer_logo, _version, retailer_logo != ''), maxIf(_version, retailer_logo != ''),
        0, 0, countIf(_deleted = 0), 0, NULL, max(synced_at)
    FROM cashback_offers_latest AS o FINAL GROUP BY account, retailer_id, named
    UNION ALL
    SELECT account, retailer_id, toString(retailer_name) AS named, max(_version), '', 0,
        argMaxIf(retailer_logo, _version, retailer_logo != ''), maxIf(_version, retailer_logo != ''),
        0, 0, 0, count(), max(sold_at), max(synced_at)
    FROM transactions_latest FINAL WHERE _deleted = 0 GROUP BY account, retailer_id, named
)
GROUP BY account, retailer_id, if(isNull(retailer_id), named, '')
COMMENT 'Retailers, one row each and account, from all streams that name one';

CREATE OR REPLACE VIEW daily_cashback
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    day Nullable(Date32) COMMENT 'Day of the sale; NULL when the service sent no usable time [UTC] (from transactions.sold_at)',
    currency_code LowCardinality(String) COMMENT 'Currency of the amounts; empty when absent (from transactions.currency_code)',
    status LowCardinality(String) COMMENT 'PENDING, CONFIRMED or DECLINED, as of now; the service may add values; empty when absent (from transactions.status)',
    transactions UInt64 COMMENT 'Transactions [count] (from transactions)',
    order_value Decimal(38, 4) COMMENT 'Sum of the values of the orders [currency_code] (from transactions.order_value)',
    cashback Decimal(38, 4) COMMENT 'Sum of the cashback [currency_code] (from transactions.cashback)',
    paid_transactions UInt64 COMMENT 'Those of them that a payout includes [count] (from transactions.payout_id)',
    paid_cashback Decimal(38, 4) COMMENT 'Cashback of those that a payout includes [currency_code] (from transactions.cashback)'
)
AS SELECT account, toDate32(sold_at) AS day, currency_code, status, count() AS transactions,
    ifNull(sum(t.order_value), 0) AS order_value, ifNull(sum(t.cashback), 0) AS cashback,
    countIf(payout_id IS NOT NULL) AS paid_transactions, ifNull(sumIf(t.cashback, payout_id IS NOT NULL), 0) AS paid_cashback
FROM transactions AS t
GROUP BY account, day, currency_code, status
COMMENT 'Sales and cashback by account, day of sale, currency and status as of now';

CREATE OR REPLACE VIEW transaction_decisions
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    id UUID COMMENT 'Transaction identifier (from transactions.id)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction; NULL when the service sent none or no UUID (from transactions.retailer_id)',
    currency_code LowCardinality(String) COMMENT 'Currency of the transaction; empty when absent (from transactions.currency_code)',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time [UTC] (from transactions.clicked_at)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (from transactions.sold_at)',
    confirmed_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it became CONFIRMED after it was PENDING; NULL when that was not seen [UTC] (from transactions_history.updated_at)',
    declined_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it became DECLINED after it was PENDING; NULL when that was not seen [UTC] (from transactions_history.updated_at)',
    days_to_confirm Nullable(Float64) COMMENT 'From the sale to confirmed_at; NULL when one of them is [days] (from sold_at, confirmed_at)',
    days_to_decline Nullable(Float64) COMMENT 'From the sale to declined_at; NULL when one of them is [days] (from sold_at, declined_at)'
)
AS SELECT account, id, retailer_id, currency_code, clicked_at, sold_at, confirmed_at, declined_at,
    dateDiff('millisecond', sold_at, confirmed_at) / 86400000 AS days_to_confirm,
    dateDiff('millisecond', sold_at, declined_at) / 86400000 AS days_to_decline
FROM transaction_decisions_log FINAL
WHERE confirmed_at IS NOT NULL OR declined_at IS NOT NULL
COMMENT 'When transactions were confirmed or declined, one row for each that was seen to be';

CREATE OR REPLACE VIEW confirmation_funnel
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    month Nullable(Date32) COMMENT 'First day of the month of the sale; NULL when the service sent no usable time [UTC] (from transactions.sold_at)',
    retailer_id Nullable(UUID) COMMENT 'Retailer; NULL when the service sent none or no UUID (from transactions.retailer_id)',
    currency_code LowCardinality(String) COMMENT 'Currency of the transactions; empty when absent (from transactions.currency_code)',
    transactions UInt64 COMMENT 'Sales [count] (from transactions)',
    pending UInt64 COMMENT 'Those that are PENDING now [count] (from transactions.status)',
    confirmed UInt64 COMMENT 'Those that are CONFIRMED now [count] (from transactions.status)',
    declined UInt64 COMMENT 'Those that are DECLINED now [count] (from transactions.status)',
    median_hours_to_sale Nullable(Float64) COMMENT 'From click to sale, the middle one; NULL when none has both times [hours] (from transactions.clicked_at, sold_at)',
    p90_hours_to_sale Nullable(Float64) COMMENT 'From click to sale, 90 % took no longer; NULL when none has both times [hours] (from transactions.clicked_at, sold_at)',
    confirmed_seen UInt64 COMMENT 'Transactions that were seen to become CONFIRMED [count] (from transaction_decisions)',
    median_days_to_confirm Nullable(Float64) COMMENT 'From sale to confirmation, the middle one of confirmed_seen; NULL when there are none [days] (from transaction_decisions)',
    p90_days_to_confirm Nullable(Float64) COMMENT 'From sale to confirmation, 90 % of confirmed_seen took no longer; NULL when there are none [days] (from transaction_decisions)',
    declined_seen UInt64 COMMENT 'Transactions that were seen to become DECLINED [count] (from transaction_decisions)',
    median_days_to_decline Nullable(Float64) COMMENT 'From sale to decline, the middle one of declined_seen; NULL when there are none [days] (from transaction_decisions)',
    p90_days_to_decline Nullable(Float64) COMMENT 'From sale to decline, 90 % of declined_seen took no longer; NULL when there are none [days] (from transaction_decisions)',
    median_days_pending Nullable(Float64) COMMENT 'Age of what is pending now, from the sale to service_time and never below 0: the middle one; NULL when nothing is [days] (from transactions.sold_at, service_clock.service_time)',
    max_days_pending Nullable(Float64) COMMENT 'Age of the oldest sale that is pending now, at service_time and never below 0; NULL when nothing is [days] (from transactions.sold_at, service_clock.service_time)'
)
AS SELECT account, month, retailer_id, currency_code, transactions, pending, confirmed, declined,
    if(to_sale_known = 0, NULL, to_sale / 3600000) AS median_hours_to_sale, if(to_sale_known = 0, NULL, to_sale_9 / 3600000) AS p90_hours_to_sale,
    confirmed_seen, if(confirmed_seen = 0, NULL, to_confirm / 86400000) AS median_days_to_confirm, if(confirmed_seen = 0, NULL, to_confirm_9 / 86400000) AS p90_days_to_confirm,
    declined_seen, if(declined_seen = 0, NULL, to_decline / 86400000) AS median_days_to_decline, if(declined_seen = 0, NULL, to_decline_9 / 86400000) AS p90_days_to_decline,
    if(aged = 0, NULL, age / 86400000) AS median_days_pending, if(aged = 0, NULL, oldest / 86400000) AS max_days_pending
FROM
(
    SELECT account, month, retailer_id, currency_code,
        countIf(now) AS transactions, countIf(status = 'PENDING') AS pending, countIf(status = 'CONFIRMED') AS confirmed, countIf(status = 'DECLINED') AS declined,
        count(ms_to_sale) AS to_sale_known, quantileExactInclusive(0.5)(ms_to_sale) AS to_sale, quantileExact(0.9)(ms_to_sale) AS to_sale_9,
        count(ms_to_confirm) AS confirmed_seen, quantileExactInclusive(0.5)(ms_to_confirm) AS to_confirm, quantileExact(0.9)(ms_to_confirm) AS to_confirm_9,
        count(ms_to_decline) AS declined_seen, quantileExactInclusive(0.5)(ms_to_decline) AS to_decline, quantileExact(0.9)(ms_to_decline) AS to_decline_9,
        count(ms_pending) AS aged, quantileExactInclusive(0.5)(ms_pending) AS age, max(ms_pending) AS oldest
    FROM
    (
        SELECT true AS now, account, makeDate32(toYear(sold_at), toMonth(sold_at), 1) AS month, retailer_id, currency_code, status,
            dateDiff('millisecond', clicked_at, sold_at) AS ms_to_sale,
            CAST(NULL, 'Nullable(Int64)') AS ms_to_confirm, CAST(NULL, 'Nullable(Int64)') AS ms_to_decline,
            multiIf(status != 'PENDING', NULL, c.service_time < sold_at, 0, dateDiff('millisecond', sold_at, c.service_time)) AS ms_pending
        FROM transactions AS t
        LEFT JOIN (SELECT account, service_time FROM service_clock) AS c USING (account)
        UNION ALL
        SELECT false, account, makeDate32(toYear(sold_at), toMonth(sold_at), 1), retailer_id, currency_code, '', NULL,
            dateDiff('millisecond', sold_at, confirmed_at), dateDiff('millisecond', sold_at, declined_at), NULL
        FROM transaction_decisions
    )
    GROUP BY account, month, retailer_id, currency_code
)
WHERE transactions > 0
COMMENT 'How sales become cashback: counts and times from click to sale to decision, by account, month of sale, retailer and currency';

CREATE OR REPLACE VIEW deals_active
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from the streams)',
    kind String COMMENT 'promotion, coupon or cashback_offer',
    id UUID COMMENT 'Identifier of the deal (API: id)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the deal; NULL when the service sent none or no UUID (API: retailerId)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer''s website; empty when absent (API: hostname)',
    description String COMMENT 'Description of the deal; empty when absent (API: description)',
    code String COMMENT 'The coupon code; empty for other deals (API: code)',
    category String COMMENT 'Category of the cashback offer; empty for other deals (API: category)',
    countries Array(LowCardinality(String)) COMMENT 'Countries of the cashback offer, ISO 3166-1 alpha-2; empty for other deals (API: countries)',
    cashback_percentage Nullable(Decimal(18, 9)) COMMENT 'Cashback of the cashback offer; NULL for other deals [fraction: 0.05 is 5 %] (API: cashbackPercentage)',
    maximum_fixed_commission_fee Nullable(Decimal(18, 4)) COMMENT 'Fixed cashback amount; NULL when the offer gives a percentage, and for other deals [currency not stated] (API: maximumFixedCommissionFee)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the deal becomes active; NULL when it says no such time, as cashback offers never do [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the deal expires; NULL when it says no such time, as cashback offers never do [UTC] (API: endDate)',
    url String COMMENT 'URL of the retailer''s website; empty when absent (API: url)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded [UTC] (from the streams'' synced_at)'
)
AS SELECT account, 'promotion' AS kind, id, retailer_id, retailer_name, hostname, description, '' AS code, '' AS category, [] AS countries,
    CAST(NULL, 'Nullable(Decimal(18, 9))') AS cashback_percentage, CAST(NULL, 'Nullable(Decimal(18, 4))') AS maximum_fixed_commission_fee,
    start_date AS start_date, end_date AS end_date, url, updated_at, synced_at
FROM (
    SELECT * FROM promotions_versions WHERE synced_at <= {at:DateTime64(3, 'UTC')}
    ORDER BY _version DESC, _deleted DESC LIMIT 1 BY account, id
)
WHERE _deleted = 0 AND ifNull(start_date <= {at:DateTime64(3, 'UTC')}, true) AND ifNull(end_date > {at:DateTime64(3, 'UTC')}, true)
UNION ALL
SELECT account, 'coupon' AS kind, id, retailer_id, retailer_name, hostname, description, code AS code, '' AS category, [] AS countries,
    CAST(NULL, 'Nullable(Decimal(18, 9))') AS cashback_percentage, CAST(NULL, 'Nullable(Decimal(18, 4))') AS maximum_fixed_commission_fee,
    start_date AS start_date, end_date AS end_date, url, updated_at, synced_at
FROM (
    SELECT * FROM coupons_versions WHERE synced_at <= {at:DateTime64(3, 'UTC')}
    ORDER BY _version DESC, _deleted DESC LIMIT 1 BY account, id
)
WHERE _deleted = 0 AND ifNull(start_date <= {at:DateTime64(3, 'UTC')}, true) AND ifNull(end_date > {at:DateTime64(3, 'UTC')}, true)
UNION ALL
SELECT account, 'cashback_offer' AS kind, id, retailer_id, retailer_name, hostname, description, '' AS code, category AS category, countries AS countries,
    cashback_percentage AS cashback_percentage, maximum_fixed_commission_fee AS maximum_fixed_commission_fee,
    CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS start_date, CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS end_date, url, updated_at, synced_at
FROM (
    SELECT * FROM cashback_offers_versions WHERE synced_at <= {at:DateTime64(3, 'UTC')}
    ORDER BY _version DESC, _deleted DESC LIMIT 1 BY account, id
)
WHERE _deleted = 0
COMMENT 'Deals that were listed at the time that the parameter at gives, had begun and had not ended; no border means an open one';

CREATE OR REPLACE VIEW deals_active_now
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from the streams)',
    kind String COMMENT 'promotion, coupon or cashback_offer',
    id UUID COMMENT 'Identifier of the deal (API: id)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the deal; NULL when the service sent none or no UUID (API: retailerId)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer''s website; empty when absent (API: hostname)',
    description String COMMENT 'Description of the deal; empty when absent (API: description)',
    code String COMMENT 'The coupon code; empty for other deals (API: code)',
    category String COMMENT 'Category of the cashback offer; empty for other deals (API: category)',
    countries Array(LowCardinality(String)) COMMENT 'Countries of the cashback offer, ISO 3166-1 alpha-2; empty for other deals (API: countries)',
    cashback_percentage Nullable(Decimal(18, 9)) COMMENT 'Cashback of the cashback offer; NULL for other deals [fraction: 0.05 is 5 %] (API: cashbackPercentage)',
    maximum_fixed_commission_fee Nullable(Decimal(18, 4)) COMMENT 'Fixed cashback amount; NULL when the offer gives a percentage, and for other deals [currency not stated] (API: maximumFixedCommissionFee)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the deal becomes active; NULL when it says no such time, as cashback offers never do [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the deal expires; NULL when it says no such time, as cashback offers never do [UTC] (API: endDate)',
    url String COMMENT 'URL of the retailer''s website; empty when absent (API: url)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded [UTC] (from the streams'' synced_at)'
)
AS SELECT account, 'promotion' AS kind, id, retailer_id, retailer_name, hostname, description, '' AS code, '' AS category, [] AS countries,
    CAST(NULL, 'Nullable(Decimal(18, 9))') AS cashback_percentage, CAST(NULL, 'Nullable(Decimal(18, 4))') AS maximum_fixed_commission_fee,
    start_date AS start_date, end_date AS end_date, url, updated_at, synced_at
FROM promotions
WHERE ifNull(start_date <= now64(3, 'UTC'), true) AND ifNull(end_date > now64(3, 'UTC'), true)
UNION ALL
SELECT account, 'coupon' AS kind, id, retailer_id, retailer_name, hostname, description, code AS code, '' AS category, [] AS countries,
    CAST(NULL, 'Nullable(Decimal(18, 9))') AS cashback_percentage, CAST(NULL, 'Nullable(Decimal(18, 4))') AS maximum_fixed_commission_fee,
    start_date AS start_date, end_date AS end_date, url, updated_at, synced_at
FROM coupons
WHERE ifNull(start_date <= now64(3, 'UTC'), true) AND ifNull(end_date > now64(3, 'UTC'), true)
UNION ALL
SELECT account, 'cashback_offer' AS kind, id, retailer_id, retailer_name, hostname, description, '' AS code, category AS category, countries AS countries,
    cashback_percentage AS cashback_percentage, maximum_fixed_commission_fee AS maximum_fixed_commission_fee,
    CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS start_date, CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS end_date, url, updated_at, synced_at
FROM cashback_offers
COMMENT 'Deals that are listed, have begun and have not ended, by the clock of the warehouse; no border means an open one';

CREATE OR REPLACE VIEW product_price_changes
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from product_prices.account)',
    product_key UUID COMMENT 'Product, as in products (from product_prices.product_key)',
    currency_code LowCardinality(String) COMMENT 'Currency of the prices; empty when absent (from product_prices.currency_code)',
    day Date COMMENT 'First day of the new price (from product_prices.day)',
    price Decimal(18, 4) COMMENT 'New price [currency_code] (from product_prices.price)',
    previous_day Date COMMENT 'Last day of the old price of which there is a record (from product_prices.day)',
    previous_price Decimal(18, 4) COMMENT 'Old price [currency_code] (from product_prices.price)',
    change Decimal(18, 4) COMMENT 'price less previous_price: above 0 it became dearer [currency_code] (from product_prices.price)',
    change_percent Nullable(Float64) COMMENT 'change in proportion to previous_price; NULL when that was 0 [percent] (from product_prices.price)',
    views Nullable(Int64) COMMENT 'Views of the product on the first day of the new price [count] (from product_prices.views)',
    previous_views Nullable(Int64) COMMENT 'Views of the product on previous_day [count] (from product_prices.views)'
)
AS SELECT account, product_key, currency_code, day, assumeNotNull(price) AS price, assumeNotNull(before.1) AS previous_day, assumeNotNull(before.2) AS previous_price,
    price - previous_price AS change, if(previous_price = 0, NULL, 100 * toFloat64(change) / toFloat64(previous_price)) AS change_percent,
    views, before.3 AS previous_views
FROM
(
    SELECT account, product_key, currency_code, day, price, views,
        lagInFrame((toNullable(day), price, views)) OVER (PARTITION BY account, product_key, currency_code ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS before
    FROM product_prices
    WHERE price IS NOT NULL
)
WHERE before.2 IS NOT NULL AND before.2 != price
COMMENT 'Days on which the price of a product moved, one row a product, currency and day';

CREATE OR REPLACE VIEW reference_misses
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream of the record that was asked for',
    id UUID COMMENT 'Key that a transaction names (from transactions.promotion_id, coupon_id, cashback_offer_id)',
    reason LowCardinality(String) COMMENT 'not_found: the service does not know it; refused: it refused the request; unusable: what it gave is no record with this key',
    asked_at DateTime64(3, 'UTC') COMMENT 'When it was asked for last, by the clock of the warehouse; it is asked for again after reference_retry [UTC]'
)
AS SELECT account, stream, id, reason, asked_at FROM reference_misses_log FINAL
COMMENT 'Deals that transactions name and the service did not give when they were last asked for; one that became known since stays here';

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
    FROM sync_runs WHERE mode NOT IN ('retry', 'references', 'backfill') GROUP BY account, stream
) AS r
LEFT JOIN (SELECT account, stream, value FROM sync_state WHERE name = 'watermark') AS w ON r.account = w.account AND r.stream = w.stream
COMMENT 'When each stream was last in step with the API';

CREATE OR REPLACE VIEW quality_checks
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from sync_runs.account)',
    stream LowCardinality(String) COMMENT 'Stream (from sync_runs.stream)',
    run_id UUID COMMENT 'Run after which it was checked (from sync_runs.run_id)',
    check LowCardinality(String) COMMENT 'rows_match, keys_unique, updates_not_in_future, payouts_known, amounts_not_negative, statuses_known or prices_agree',
    ok Bool COMMENT 'Whether it holds',
    found UInt64 COMMENT 'Rows that were counted: for rows_match all, for the others those that break the rule [count]',
    expected UInt64 COMMENT 'Rows that should have been counted [count]',
    detail String COMMENT 'What was found and what to look at; empty when it holds',
    checked_at DateTime64(3, 'UTC') COMMENT 'When it was checked, by the clock of the warehouse [UTC]'
)
AS SELECT account, stream, run_id, check, ok, found, expected, detail, checked_at FROM quality_checks_log FINAL
COMMENT 'What was checked after each run, one row a run and check';
