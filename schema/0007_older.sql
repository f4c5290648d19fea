-- Rows that a run of a part left as they were, though what it read later had other content.

ALTER TABLE sync_runs_log ADD COLUMN IF NOT EXISTS older UInt64 COMMENT 'Rows read with other content but an older updatedAt than what is loaded, which stays: the next full read loads them' AFTER unchanged;

CREATE OR REPLACE VIEW sync_runs
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    run_id UUID COMMENT 'Identifies the run, also in rejected_records',
    mode LowCardinality(String) COMMENT 'snapshot, walk, incremental, full, backfill, or references (rows that transactions name, by their own addresses)',
    started_at DateTime64(3, 'UTC') COMMENT 'By the clock of the warehouse',
    finished_at Nullable(DateTime64(3, 'UTC')) COMMENT 'By the clock of the warehouse; NULL while the run is under way',
    outcome LowCardinality(String) COMMENT 'running, success, incomplete (the list moved while it was read, and rows may be missing), failed, stopped (by a signal), guarded (a person must look) or killed',
    requested_after Nullable(DateTime64(3, 'UTC')) COMMENT 'The updatedAt after which rows were asked for; NULL: all',
    watermark Nullable(DateTime64(3, 'UTC')) COMMENT 'The watermark after the run; NULL for streams without one',
    pages UInt64 COMMENT 'Pages read; of references, addresses that answered',
    rows_read UInt64 COMMENT 'Records read, loaded or rejected',
    inserted UInt64 COMMENT 'Rows that were not there, or were deleted, before',
    updated UInt64 COMMENT 'Rows whose content changed',
    deleted UInt64 COMMENT 'Rows that a complete snapshot no longer had',
    unchanged UInt64 COMMENT 'Rows read that were already there with the same content',
    older UInt64 COMMENT 'Rows read with other content but an older updatedAt than what is loaded, which stays: the next full read loads them',
    rejected UInt64 COMMENT 'Entries made in rejected_records',
    duplicates UInt64 COMMENT 'Records whose key came more than once in the run; the newest counted',
    bytes UInt64 COMMENT 'JSON read, in bytes, after decompression',
    retries UInt64 COMMENT 'Requests that had to be repeated',
    warnings Array(String) COMMENT 'What the run noticed and carried on with',
    error String COMMENT 'Why the run failed; empty otherwise'
)
AS SELECT * EXCEPT version FROM sync_runs_log FINAL
COMMENT 'One row a run of a stream';

ALTER TABLE sync_state_log COMMENT COLUMN name 'watermark, origin (of the service that the watermark is of), decisions, checkpoint, lease, intent:<run> or backfill:<range>';

ALTER TABLE sync_state COMMENT COLUMN name 'watermark, origin (of the service that the watermark is of), decisions, checkpoint, lease, intent:<run> or backfill:<range>';

ALTER TABLE sync_state_log COMMENT COLUMN version 'The highest wins: the time of writing in microseconds, or a little more than all that the stream has; for a watermark the watermark itself, so that it can never move back';
