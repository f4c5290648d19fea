-- Where each stream stands.

CREATE OR REPLACE VIEW sync_state
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    name LowCardinality(String) COMMENT 'watermark, clock (of the service), origin and loaded_from (which service it was), live (how many rows readers see), derived, behaviour (what a probe found the API to do), checkpoint, lease, intent:<run> or backfill:<range>',
    value String COMMENT 'The state itself: a timestamp for a watermark, JSON for the others',
    updated_at DateTime64(6, 'UTC') COMMENT 'When it was written, by the clock of the warehouse'
)
AS SELECT account, stream, name, value, updated_at FROM sync_state_log FINAL WHERE value != ''
COMMENT 'Where each stream stands: watermarks, checkpoints, merge intents and leases';
