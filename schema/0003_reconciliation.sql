-- What the reconciliation has found so far, so that each finding is told once.

CREATE TABLE IF NOT EXISTS payout_findings_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    kind LowCardinality(String) COMMENT 'missing, mismatched, drifted, altered, mixed_currency, orphan or overdue',
    subject String COMMENT 'Id of the payout; of overdue ones the month of the sales, as 2026-03',
    detail String COMMENT 'What was found, in words',
    detail_hash UInt64 MATERIALIZED sipHash64(detail) COMMENT 'A finding with other words is another one',
    first_seen DateTime64(3, 'UTC') COMMENT 'When it was found, by the clock of the warehouse',
    last_seen DateTime64(3, 'UTC') COMMENT 'When it was found last',
    resolved_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was found no more; NULL while it stands',
    version UInt64 DEFAULT toUnixTimestamp64Micro(now64(6)) COMMENT 'The highest wins'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (account, kind, subject, detail_hash)
COMMENT 'The storage behind payout_findings';

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
