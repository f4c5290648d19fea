-- What each run did. The newest row of a run is the one that counts.

CREATE OR REPLACE VIEW sync_runs
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    run_id UUID COMMENT 'Identifies the run, also in rejected_records',
    mode LowCardinality(String) COMMENT 'snapshot, walk, incremental, full, initial (the first sync, in windows), backfill (of a range that was asked for), retry (of rejected records), references (rows that transactions name, by their own addresses), or forget (a user was removed)',
    started_at DateTime64(3, 'UTC') COMMENT 'By the clock of the warehouse',
    finished_at Nullable(DateTime64(3, 'UTC')) COMMENT 'By the clock of the warehouse; NULL while the run is under way',
    outcome LowCardinality(String) COMMENT 'running, success, incomplete (rows of the list may be missing: it moved, or says that it is not whole), failed, stopped (by a signal or an operator), guarded (a person must look) or killed',
    requested_after Nullable(DateTime64(3, 'UTC')) COMMENT 'The updatedAt after which rows were asked for; NULL: all',
    watermark Nullable(DateTime64(3, 'UTC')) COMMENT 'The watermark after the run; NULL for streams without one',
    server_time Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the service when the run began, as its first answer said; NULL: not known',
    pages UInt64 COMMENT 'Pages read; of references, addresses that answered',
    rows_read UInt64 COMMENT 'Records read, loaded or rejected',
    inserted UInt64 COMMENT 'Rows that were not there, or were deleted, before',
    updated UInt64 COMMENT 'Rows whose content changed',
    deleted UInt64 COMMENT 'Rows that a complete snapshot no longer had, and those that are out of scope',
    would_delete UInt64 COMMENT 'Rows that a run would have deleted, had a guard not stopped it',
    out_of_scope UInt64 COMMENT 'Deleted rows that are outside the present scope of the stream; they may still exist at the service',
    scope String COMMENT 'The filters of the list that was read, as JSON; empty: none, all of the stream',
    unchanged UInt64 COMMENT 'Rows read that were already there with the same content',
    older UInt64 COMMENT 'Rows read with other content but an older updatedAt than what is loaded, which stays: the next full read loads them',
    waiting UInt64 COMMENT 'Rows that the list no longer had and that wait for a confirmation, or for consent, before they are deleted',
    rejected UInt64 COMMENT 'Values and records of the run that could not be loaded as they were sent',
    duplicates UInt64 COMMENT 'Records whose key came more than once in the run; the newest counted',
    bytes UInt64 COMMENT 'JSON read, in bytes, after decompression',
    retries UInt64 COMMENT 'Requests that had to be repeated',
    warnings Array(String) COMMENT 'What the run noticed and carried on with',
    error String COMMENT 'Why the run failed; empty otherwise',
    cause LowCardinality(String) COMMENT 'What kept the run from its end: service and its address (no answer, or none now), key, request, answer (not what the API promises), time, list, guard, warehouse or program; empty: nothing, or not known',
    certificate String COMMENT 'What the run proves of its rows, as JSON: counts, sums of hashes, and the hash of the certificate before it; empty: it was not published',
    signature String COMMENT 'Ed25519 signature of the text of the certificate, in base64; empty: it is not signed'
)
AS SELECT account, stream, run_id, mode, started_at, finished_at, outcome, requested_after, watermark, server_time, pages, rows_read, inserted, updated,
    deleted, would_delete, out_of_scope, scope, unchanged, older, waiting, rejected, duplicates, bytes, retries, warnings, error, cause, certificate, signature
FROM sync_runs_log FINAL
COMMENT 'Runs: one row for each run of a stream';
