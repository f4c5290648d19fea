-- What is known about the quality of the data, and when transactions were decided.

CREATE TABLE IF NOT EXISTS quality_checks_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    run_id UUID COMMENT 'Run after which it was checked, as in sync_runs',
    check LowCardinality(String) COMMENT 'What was checked',
    ok Bool COMMENT 'Whether it holds',
    found UInt64 COMMENT 'What was counted',
    expected UInt64 COMMENT 'What should have been counted',
    detail String COMMENT 'What was found and what to look at; empty when it holds',
    checked_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'By the clock of the warehouse'
)
ENGINE = ReplacingMergeTree(checked_at)
ORDER BY (account, stream, run_id, check)
COMMENT 'The storage behind quality_checks';

CREATE TABLE IF NOT EXISTS transaction_decisions_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    id UUID COMMENT 'Transaction identifier',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction',
    currency_code LowCardinality(String) COMMENT 'Currency of the transaction',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale',
    confirmed_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was seen to become CONFIRMED',
    declined_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was seen to become DECLINED',
    version UInt128 COMMENT 'Newest version of the transaction that this takes into account: the highest wins'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (account, id)
COMMENT 'The storage behind transaction_decisions: what would have to be computed from all versions';
