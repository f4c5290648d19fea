-- What the worker knows about itself. People and dashboards query the views; the tables end in _log.

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
