-- Changes of transactions that the service showed later than it dated them: a run that asked for everything up to its
-- start did not get them, and a later one did. How late is counted up to that earlier run, so the schedule makes nothing
-- late. What came within the overlap is found by the next run, and the rest by the next full one only. A change of which
-- an earlier version has the same updatedAt is left out, since its date says nothing of it.

CREATE OR REPLACE VIEW late_changes
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    stream LowCardinality(String) COMMENT 'Stream: always transactions, since the other streams are read whole (from sync_runs.stream)',
    id UUID COMMENT 'Transaction identifier (from transactions.id)',
    updated_at DateTime64(3, 'UTC') COMMENT 'When the service says that it changed [UTC] (from transactions.updated_at)',
    missed_at DateTime64(3, 'UTC') COMMENT 'When the last run before it was found began: it should have had the change [UTC] (from sync_runs.server_time)',
    first_seen_at DateTime64(3, 'UTC') COMMENT 'When it was loaded [UTC] (from transactions.synced_at)',
    late_seconds Float64 COMMENT 'How late the service showed it at least: from updated_at to missed_at [seconds] (from updated_at, missed_at)',
    found_by LowCardinality(String) COMMENT 'overlap: a run that asked again for the time before the watermark; full: a run that read everything (from sync_runs.requested_after)',
    run_id UUID COMMENT 'Run that loaded it (from sync_runs.run_id)'
)
AS SELECT c.account AS account, 'transactions' AS stream, c.id AS id, c.updated_at AS updated_at, c.before AS missed_at, c.synced_at AS first_seen_at,
    dateDiff('millisecond', c.updated_at, c.before) / 1000 AS late_seconds, if(isNull(c.requested_after), 'full', 'overlap') AS found_by, c.run AS run_id
FROM
(
    $late_candidates
) AS c
INNER JOIN
(
    SELECT account, id, updated_at, min(_version) AS first
    FROM transactions_versions
    WHERE id IN (SELECT id FROM ($late_candidates))
    GROUP BY account, id, updated_at
) AS f ON c.account = f.account AND c.id = f.id AND c.updated_at = f.updated_at AND c.version = f.first
$own_settings
COMMENT 'Changes of transactions that came later than their updatedAt says, beyond what the schedule explains';
