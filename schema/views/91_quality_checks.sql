-- What was checked after each run. A check that fails never stops the loading: it tells a person where to look.

CREATE OR REPLACE VIEW quality_checks
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from sync_runs.account)',
    stream LowCardinality(String) COMMENT 'Stream (from sync_runs.stream)',
    run_id UUID COMMENT 'Run after which it was checked (from sync_runs.run_id); of api_unchanged the probe',
    check LowCardinality(String) COMMENT 'rows_match, keys_unique, keys_tell_apart, updates_not_in_future, payouts_known, amounts_not_negative, statuses_known, prices_agree, fields_kept or api_unchanged',
    ok Bool COMMENT 'Whether it holds',
    found UInt64 COMMENT 'Rows that were counted: for rows_match all, for fields_kept fields that have vanished, for api_unchanged answers that have changed, for the others those that break the rule [count]',
    expected UInt64 COMMENT 'Rows that should have been counted [count]',
    detail String COMMENT 'What was found and what to look at; empty when it holds',
    checked_at DateTime64(3, 'UTC') COMMENT 'When it was checked, by the clock of the warehouse [UTC]'
)
AS SELECT account, stream, run_id, check, ok, found, expected, detail, checked_at FROM quality_checks_log FINAL
COMMENT 'What was checked after each run: one row for each run and check';
