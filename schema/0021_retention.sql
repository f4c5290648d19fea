-- What was removed since it is older than the configuration wants it to be kept. Its last row says when that was looked
-- at last.

CREATE TABLE IF NOT EXISTS retention_log
(
    at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When it was removed, by the clock of the warehouse [UTC]',
    what LowCardinality(String) COMMENT 'runs, rejects (of transactions, settled) or findings (resolved)',
    older_than DateTime64(3, 'UTC') COMMENT 'What was older than that was removed, but for what is still needed [UTC]',
    removed UInt64 COMMENT 'How many'
)
ENGINE = ReplacingMergeTree
ORDER BY (at, what)
TTL toDateTime(at) + toIntervalDay(400)
COMMENT 'What was removed because of its age';
