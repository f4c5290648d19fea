-- The one clock by which ages are measured: of sales that are pending, unpaid or overdue. It is the service's, like the
-- times of the sales, so that a wrong clock of the warehouse makes nothing older or younger. The newest updatedAt alone
-- would stand still in an account in which nothing happens, and what is overdue there would never be told.

CREATE OR REPLACE VIEW service_clock
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from sync_state.account, sync_runs.account)',
    complete_to Nullable(DateTime64(3, 'UTC')) COMMENT 'Up to which updatedAt the transactions of the account are complete; NULL: none were loaded [UTC] (from sync_state.value)',
    service_time Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the service as far as it is known: the later of complete_to and the start of the last run of transactions that succeeded; NULL: no run has [UTC] (from sync_state.value, sync_runs.server_time)'
)
AS SELECT account, max(mark) AS complete_to, max(known) AS service_time
FROM
(
    SELECT account, parseDateTime64BestEffortOrNull(value, 3, 'UTC') AS mark, mark AS known
    FROM sync_state WHERE stream = 'transactions' AND name = 'watermark'
    UNION ALL
    SELECT account, NULL, argMax(server_time, started_at)
    FROM sync_runs_log FINAL WHERE stream = 'transactions' AND outcome = 'success' AND mode NOT IN ('backfill', 'retry', 'references', 'forget')
    GROUP BY account
)
GROUP BY account
COMMENT 'What time it was at the service when its transactions were read last: the clock by which ages are measured';
