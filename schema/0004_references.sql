-- What transactions name and the service does not give.

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
