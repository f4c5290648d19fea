CREATE TABLE IF NOT EXISTS schema_turns_log
(
    id UUID COMMENT 'Identifies the upgrade',
    owner String COMMENT 'Process that makes it: host/process/nonce',
    over UInt8 COMMENT '1 when it has ended, or stepped back',
    said_at DateTime64(6, 'UTC') DEFAULT now64(6) COMMENT 'When the process last said so, by the clock of the warehouse',
    version UInt64 COMMENT 'The highest wins'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY id
TTL toDateTime(said_at) + toIntervalDay(30)
COMMENT 'Processes that upgrade the schema: one at a time'
