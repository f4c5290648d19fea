-- What the service's clock said when a run began: ages of what it holds are measured by it (views/15_service_clock.sql).

ALTER TABLE sync_runs_log ADD COLUMN IF NOT EXISTS server_time Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the service when the run began, as its first answer said; NULL: not known' AFTER watermark;
