CREATE TABLE IF NOT EXISTS /*$table*/transactions_named
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream of the record that is named',
    key String COMMENT 'Key of the record that is named',
    newest SimpleAggregateFunction(max, Nullable(DateTime64(3, 'UTC'))) COMMENT 'Latest updatedAt of what names it',
    named_at SimpleAggregateFunction(min, DateTime64(3, 'UTC')) COMMENT 'When the first that names it was loaded',
    _run_id SimpleAggregateFunction(anyLast, UUID) COMMENT 'A run that loaded such a row'
)
ENGINE = AggregatingMergeTree
ORDER BY (account, stream, key)
COMMENT 'Which records of other streams are named by /*$stream*/transactions, in any of their versions'
