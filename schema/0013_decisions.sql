-- The rows of transaction_decisions are published with those of the run that they follow from.

ALTER TABLE transaction_decisions_log ADD COLUMN IF NOT EXISTS _run_id UUID COMMENT 'Run that loaded the newest version of the transaction' AFTER version;
