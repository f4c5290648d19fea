-- What becomes of rejected records. The view over both tables is in views/.

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
