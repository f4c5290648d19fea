-- Rows that a run of a part left as they were, though what it read later had other content.

ALTER TABLE sync_runs_log ADD COLUMN IF NOT EXISTS older UInt64 COMMENT 'Rows read with other content but an older updatedAt than what is loaded, which stays: the next full read loads them' AFTER unchanged;

ALTER TABLE sync_state_log COMMENT COLUMN name 'watermark, origin (of the service that the watermark is of), decisions, checkpoint, lease, intent:<run> or backfill:<range>';

ALTER TABLE sync_state COMMENT COLUMN name 'watermark, origin (of the service that the watermark is of), decisions, checkpoint, lease, intent:<run> or backfill:<range>';

ALTER TABLE sync_state_log COMMENT COLUMN version 'The highest wins: the time of writing in microseconds, or a little more than all that the stream has; for a watermark the watermark itself, so that it can never move back';
