-- Months that were closed.

CREATE OR REPLACE VIEW statement_closes
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    month Date COMMENT 'First day of the month',
    closed_at DateTime64(3, 'UTC') COMMENT 'When it was closed, by the clock of the warehouse [UTC]',
    id UUID COMMENT 'Identifies the close',
    seen_to DateTime64(3, 'UTC') COMMENT 'What was loaded until then is in the statement; what was loaded later is an adjustment of the month in which it was loaded [UTC]',
    statement String COMMENT 'The rows of the statement, as CSV',
    hash String COMMENT 'SHA-256 of statement, in hexadecimal digits',
    by String COMMENT 'Who closed it',
    note String COMMENT 'In the words of who closed it'
)
AS SELECT account, month, closed_at, id, seen_to, statement, hash, by, note FROM statement_closes_log FINAL ORDER BY closed_at LIMIT 1 BY account, month
COMMENT 'Months that were closed, with their statements; of two closes of a month the first counts';
