-- What could not be loaded as it was sent, and what has become of it. A later run that read the whole stream has decided
-- over what came before; so has any later one, of what a failed run was about to load, but for the windows of backfills.

CREATE OR REPLACE VIEW rejected_records
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from sync_runs.account)',
    stream LowCardinality(String) COMMENT 'Stream (from sync_runs.stream)',
    run_id UUID COMMENT 'The run that read it (from sync_runs.run_id)',
    page UInt32 COMMENT 'Page of the run, from 1',
    key String COMMENT 'Key of the record; empty when it has none',
    field String COMMENT 'JSON name of the field; empty for a whole record',
    reason LowCardinality(String) COMMENT 'Why it could not be loaded as it was sent',
    raw String COMMENT 'JSON of the value or the record, verbatim',
    seen_at DateTime64(3, 'UTC') COMMENT 'When it was written, by the clock of the warehouse [UTC]',
    read_at DateTime64(6, 'UTC') COMMENT 'When its page was asked for [UTC]',
    state LowCardinality(String) COMMENT 'open: dealhouse rejects retry tries it; loaded: a retry has loaded it; superseded: what was read later counts; unpublished: its run published nothing, and what it read is read again',
    settled_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When a retry settled it; NULL when none did [UTC]'
)
AS SELECT r.account AS account, r.stream AS stream, r.run_id AS run_id, r.page AS page, r.key AS key, r.field AS field,
    r.reason AS reason, r.raw AS raw, r.seen_at AS seen_at,
    if(toUnixTimestamp64Micro(r.read_at) > 0, r.read_at, toDateTime64(ifNull(u.began, r.seen_at), 6, 'UTC')) AS read_at,
    multiIf(
        ifNull(s.state, '') != '', ifNull(s.state, ''),
        ifNull(w.began_whole, toDateTime64(0, 3, 'UTC')) > read_at, 'superseded',
        ifNull(u.outcome, '') = 'success', 'open',
        ifNull(u.mode, '') != 'backfill' AND ifNull(w.began, toDateTime64(0, 3, 'UTC')) > read_at, 'superseded',
        'unpublished') AS state,
    if(ifNull(s.state, '') != '', toNullable(s.settled_at), NULL) AS settled_at
FROM
(
    SELECT *, sipHash64(raw) AS raw_hash FROM rejected_records_log FINAL
) AS r
LEFT JOIN
(
    SELECT account, stream, run_id, page, key, field, reason, raw_hash, state, settled_at FROM settled_rejects_log FINAL
) AS s ON s.account = r.account AND s.stream = r.stream AND s.run_id = r.run_id AND s.page = r.page
    AND s.key = r.key AND s.field = r.field AND s.reason = r.reason AND s.raw_hash = r.raw_hash
LEFT JOIN
(
    SELECT run_id, mode, outcome, started_at AS began FROM sync_runs
) AS u ON u.run_id = r.run_id
LEFT JOIN
(
    SELECT account, stream, maxIf(started_at, mode IN ('snapshot', 'walk', 'full')) AS began_whole, max(started_at) AS began FROM sync_runs
    WHERE outcome = 'success' AND mode IN ('snapshot', 'walk', 'full', 'incremental')
    GROUP BY account, stream
) AS w ON w.account = r.account AND w.stream = r.stream
COMMENT 'What could not be loaded as it was sent, and what became of it: nothing is dropped';
