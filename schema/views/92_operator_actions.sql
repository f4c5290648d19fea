-- Who did what and when. Rows are only ever added.

CREATE OR REPLACE VIEW operator_actions
(
    action_id UUID COMMENT 'Identifies the action',
    at DateTime64(3, 'UTC') COMMENT 'When it was done, by the clock of the warehouse [UTC]',
    actor String COMMENT 'Who: the user of the page and the API, or of the machine for a command; empty for a run',
    via LowCardinality(String) COMMENT 'page, api or command; run for a run that used a consent',
    action LowCardinality(String) COMMENT 'run, run_full, pause, resume, consent, consent_used, cancel, reload, forget, acknowledge or close_month; the last two only if they came from the page or the API',
    account LowCardinality(String) COMMENT 'Account of the configuration; empty for reload',
    stream LowCardinality(String) COMMENT 'Stream; empty for an action on a whole account, and for reload',
    run_id Nullable(UUID) COMMENT 'For consent: the run that the guard stopped; for consent_used: the run that used it; NULL for others (from sync_runs.run_id)',
    deletes UInt64 COMMENT 'For consent: how many rows one run may delete; for consent_used: how many the run wanted to delete [count]',
    reason String COMMENT 'What the operator wrote; empty when nothing'
)
AS SELECT action_id, at, actor, via, action, account, stream, nullIf(run_id, toUUID('00000000-0000-0000-0000-000000000000')) AS run_id, deletes, reason FROM operator_actions_log FINAL
COMMENT 'What operators did: one row for each action';
