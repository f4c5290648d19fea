-- What the reconciliation of payouts has found so far.

CREATE OR REPLACE VIEW payout_findings
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    kind LowCardinality(String) COMMENT 'missing, mismatched, drifted, altered, mixed_currency, orphan or overdue',
    subject String COMMENT 'Id of the payout; of overdue ones the month of the sales, as 2026-03',
    detail String COMMENT 'What was found, in words',
    first_seen DateTime64(3, 'UTC') COMMENT 'When it was found, by the clock of the warehouse',
    last_seen DateTime64(3, 'UTC') COMMENT 'When it was found last',
    resolved_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was found no more; NULL while it stands'
)
AS SELECT account, kind, subject, detail, first_seen, last_seen, resolved_at FROM payout_findings_log FINAL
COMMENT 'What the reconciliation of payouts found, when, and whether it still stands';
