-- Fields of the service that a newer version of dealhouse may load. Their values are in _extra.

CREATE OR REPLACE VIEW unknown_fields
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    field String COMMENT 'Name of the field, as the service has it; its values are in the column _extra of the stream',
    first_seen DateTime64(3, 'UTC') COMMENT 'When a run first met it, by the clock of the warehouse [UTC]'
)
AS SELECT account, stream, field, min(unknown_fields_log.first_seen) AS first_seen FROM unknown_fields_log GROUP BY account, stream, field
COMMENT 'Fields that the service sends and dealhouse does not know, and since when';
