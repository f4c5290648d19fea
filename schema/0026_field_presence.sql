-- What the service used to send of the fields that the interface names, so that one that it stops to send is noticed. A row
-- is written only when something about its field changes.

CREATE TABLE IF NOT EXISTS field_presence_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    field String COMMENT 'Name of the field, as the service has it',
    scope String COMMENT 'What was read of the stream; empty: all of it',
    usual Bool COMMENT 'Whether nearly every record of the last complete run that had it carried a value',
    missing_since Nullable(DateTime64(3, 'UTC')) COMMENT 'When a complete run first had it in no record; NULL: it has it',
    noted_at DateTime64(6, 'UTC') COMMENT 'When this was noted, by the clock of the warehouse: the latest wins'
)
ENGINE = ReplacingMergeTree(noted_at)
ORDER BY (account, stream, field)
COMMENT 'The storage behind vanished_fields';

CREATE OR REPLACE VIEW vanished_fields
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    field String COMMENT 'Name of the field, as the service had it',
    missing_since DateTime64(3, 'UTC') COMMENT 'When a complete run first had it in no record, by the clock of the warehouse [UTC]'
)
AS SELECT account, stream, field, assumeNotNull(field_presence_log.missing_since) AS missing_since FROM field_presence_log FINAL WHERE isNotNull(field_presence_log.missing_since)
COMMENT 'Fields that nearly every record used to have, and that no record of a complete run has any more';
