-- What the service's clock said when a run began: ages of what it holds are measured by it (views/15_service_clock.sql).

ALTER TABLE sync_runs_log ADD COLUMN IF NOT EXISTS server_time Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the service when the run began, as its first answer said; NULL: not known' AFTER watermark;

CREATE OR REPLACE VIEW sync_runs
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    run_id UUID COMMENT 'Identifies the run, also in rejected_records',
    mode LowCardinality(String) COMMENT 'snapshot, walk, incremental, full, backfill, retry (of rejected records) or references (rows that transactions name, by their own addresses)',
    started_at DateTime64(3, 'UTC') COMMENT 'By the clock of the warehouse',
    finished_at Nullable(DateTime64(3, 'UTC')) COMMENT 'By the clock of the warehouse; NULL while the run is under way',
    outcome LowCardinality(String) COMMENT 'running, success, failed, stopped (by a signal), guarded (a person must look), incomplete (the list moved while it was read) or killed',
    requested_after Nullable(DateTime64(3, 'UTC')) COMMENT 'The updatedAt after which rows were asked for; NULL: all',
    watermark Nullable(DateTime64(3, 'UTC')) COMMENT 'The watermark after the run; NULL for streams without one',
    server_time Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the service when the run began, as its first answer said; NULL: not known',
    pages UInt64 COMMENT 'Pages read; of references, addresses that answered',
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
AS SELECT account, stream, run_id, mode, started_at, finished_at, outcome, requested_after, watermark, server_time, pages, rows_read, inserted, updated,
    deleted, unchanged, rejected, duplicates, bytes, retries, warnings, error
FROM sync_runs_log FINAL
COMMENT 'One row a run of a stream';
