-- Fields that the service used to send.

CREATE OR REPLACE VIEW vanished_fields
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    field String COMMENT 'Name of the field, as the service had it',
    missing_since DateTime64(3, 'UTC') COMMENT 'When a complete run first had it in no record, by the clock of the warehouse [UTC]'
)
AS SELECT account, stream, field, assumeNotNull(field_presence_log.missing_since) AS missing_since FROM field_presence_log FINAL WHERE isNotNull(field_presence_log.missing_since)
COMMENT 'Fields that nearly every record used to have, and that no record of a complete run has any more';
