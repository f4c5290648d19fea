-- What complete lists no longer had, and is not deleted yet.

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
