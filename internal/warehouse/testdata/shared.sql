-- What is sent that belongs to no stream.

-- createMigrations
CREATE TABLE IF NOT EXISTS schema_migrations_log
(
    version UInt32 COMMENT 'Number of the file in schema/; 0 stands for the tables of the streams and all views',
    name String COMMENT 'Name of the file',
    checksum String COMMENT 'SHA-256 of what was applied',
    generation UInt32 COMMENT 'Of the tables of the streams and all views: the higher is the newer; 0 for files',
    tables String COMMENT 'SHA-256 of the definitions of the tables of the streams, without their comments; empty for files',
    views String COMMENT 'SHA-256 of the definitions that the views then had in the warehouse; empty: not known',
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'By the clock of the warehouse'
)
ENGINE = ReplacingMergeTree(applied_at)
ORDER BY version
COMMENT 'The storage behind schema_migrations';

-- createMigrationsView
CREATE OR REPLACE VIEW schema_migrations
(
    version UInt32 COMMENT 'Number of the file in schema/; 0 stands for the tables of the streams and all views',
    name String COMMENT 'Name of the file',
    checksum String COMMENT 'SHA-256 of what was applied',
    generation UInt32 COMMENT 'Of the tables of the streams and all views: the higher is the newer; 0 for files',
    applied_at DateTime64(3, 'UTC') COMMENT 'By the clock of the warehouse'
)
AS SELECT version, name, checksum, generation, applied_at FROM schema_migrations_log FINAL
COMMENT 'What has been applied to this database';

-- selectApplied
SELECT version, name, checksum, generation, tables, views FROM schema_migrations_log FINAL;

-- selectColumns
SELECT table, name, type, if(name = '_hash', comment, '') FROM system.columns WHERE database = {database:String};

-- recordOf
INSERT INTO schema_migrations_log (version, name, checksum, generation, tables)
SELECT * FROM VALUES('version UInt32, name String, checksum String, generation UInt32, tables String',
    (1, '0001_first.sql', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 0, ''),
    (0, 'streams', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 1, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'));

-- createTurns
CREATE TABLE IF NOT EXISTS schema_turns_log
(
    id UUID COMMENT 'Identifies the upgrade',
    owner String COMMENT 'Process that makes it: host/process/nonce',
    over UInt8 COMMENT '1 when it has ended, or stepped back',
    said_at DateTime64(6, 'UTC') DEFAULT now64(6) COMMENT 'When the process last said so, by the clock of the warehouse',
    version UInt64 COMMENT 'The highest wins'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY id
TTL toDateTime(said_at) + toIntervalDay(30)
COMMENT 'Processes that upgrade the schema: one at a time';

-- selectPublic
SELECT name, engine = 'View' AND (name = {mark:String} OR position(replaceAll(as_select, '`', ''), concat(' FROM ', {database:String}, '.', name)) > 0)
        OR engine = 'Distributed' AND position(engine_full, concat('\'', {shard:String}, '\', \'', name, '\'')) > 0 AS made
FROM system.tables
WHERE database = {views:String}
ORDER BY name;

-- selectPublicMark
SELECT database = {database:String} AND (files, generation) = ({files:UInt32}, {generation:UInt32}), database = {database:String} AND (files, generation) > ({files:UInt32}, {generation:UInt32}) FROM dealhouse_views.dealhouse_views;

-- selectTurns
SELECT toString(id), owner, version, greatest(0, toUnixTimestamp64Micro(now64(6)) - toUnixTimestamp64Micro(said_at))
FROM schema_turns_log FINAL WHERE over = 0 AND id != {id:UUID};

-- selectTold
SELECT receiver, substring(said, 2) AS subject
FROM notifications_log ARRAY JOIN subjects AS said
GROUP BY receiver, subject
HAVING NOT max(startsWith(said, '-'));

-- selectWaiting
SELECT receiver, id, queued, at, event, account, streams, subjects, title, text, state, attempts, next_at, error, ended_at FROM notifications_log FINAL
WHERE state = 'waiting' AND {receiver:String} IN ('', receiver)
ORDER BY receiver, queued, id LIMIT {limit:UInt64} BY receiver;

-- selectNotifications
SELECT receiver, id, queued, at, event, account, streams, subjects, title, text, state, attempts, next_at, error, ended_at FROM notifications_log FINAL
WHERE event != '' AND {receiver:String} IN ('', receiver)
ORDER BY queued DESC, receiver LIMIT {limit:UInt64};

-- selectReceivers
SELECT receiver, countIf(state = 'waiting'), minOrNullIf(at, state = 'waiting'),
    maxIf(ended_at, state = 'sent'), countIf(state = 'sent'), countIf(state = 'dropped'),
    argMinIf(attempts, (queued, id), state = 'waiting'), argMinIf(error, (queued, id), state = 'waiting')
FROM notifications_log FINAL WHERE event != '' GROUP BY receiver;

-- selectOrders
SELECT name, sorting_key, engine, if(engine = 'View', hex(SHA256(create_table_query)), '') FROM system.tables WHERE database = {database:String};

-- selectVersion
SELECT version();

-- selectTime
SELECT toUnixTimestamp64Micro(now64(6));

-- selectUnfolded
SELECT table, partition_id,
    parts >= 8 OR (age + 1) * 800000 >= rows * 100 AS due
FROM
(
    SELECT table, partition_id, count() AS parts, min(p.level) AS level, sum(p.rows) AS rows,
        dateDiff('second', argMax(p.modification_time, p.rows), now()) AS age
    FROM system.parts AS p
    WHERE active AND database = currentDatabase() AND table IN ('transactions_latest') AND partition_id != 'all'
    GROUP BY table, partition_id
    HAVING parts > 1 OR level = 0
)
ORDER BY partition_id DESC, table;

-- countMonths
SELECT (SELECT uniqExact(table, partition_id) FROM system.parts
    WHERE active AND database = currentDatabase() AND table IN ('transactions_latest') AND partition_id != 'all'),
    (SELECT count() FROM
(
    SELECT table, partition_id, count() AS parts, min(p.level) AS level, sum(p.rows) AS rows,
        dateDiff('second', argMax(p.modification_time, p.rows), now()) AS age
    FROM system.parts AS p
    WHERE active AND database = currentDatabase() AND table IN ('transactions_latest') AND partition_id != 'all'
    GROUP BY table, partition_id
    HAVING parts > 1 OR level = 0
));

-- selectLateness
SELECT account, stream, count(), countIf(found_by = 'full'), quantileExactLow(0.5)(ns), quantileExactLow(0.99)(ns), max(ns)
FROM (SELECT *, toInt64(late_seconds * 1000000000) AS ns FROM late_changes)
WHERE first_seen_at > now() - toIntervalSecond(2592000)
GROUP BY account, stream
ORDER BY account, stream;

-- foldMonth
OPTIMIZE TABLE transactions_latest PARTITION ID '202601' FINAL;

-- selectInParts
SELECT table FROM system.parts
WHERE active AND database = currentDatabase() AND table IN ({deltas:Array(String)})
GROUP BY table HAVING count() > uniqExact(partition_id) ORDER BY table;

-- selectState
SELECT value, version FROM sync_state_log FINAL
WHERE account = {account:String} AND stream = {stream:String} AND name = {name:String};

-- selectStates
SELECT name, value, version FROM sync_state_log FINAL
WHERE account = {account:String} AND stream = {stream:String} ORDER BY version;

-- selectLease
SELECT toUnixTimestamp64Micro(now64(6)), max(version), argMaxIf(value, (version, value), name = 'lease'), maxIf(version, name = 'lease'), toUInt64(0),
    (
        SELECT uniqExact(JSONExtractString(held, 'owner')) FROM (SELECT argMax(value, (version, value)) AS held FROM sync_state_log WHERE account = {account:String} AND name = 'lease' GROUP BY stream)
        WHERE held != '' AND JSONExtractString(held, 'owner') != {owner:String} AND JSONExtractInt(held, 'expires') > toUnixTimestamp64Micro(now64(6))
    )
FROM sync_state_log WHERE account = {account:String} AND stream = {stream:String};

-- selectLease with the row of a run
SELECT toUnixTimestamp64Micro(now64(6)), max(version), argMaxIf(value, (version, value), name = 'lease'), maxIf(version, name = 'lease'), (SELECT max(version) FROM sync_runs_log WHERE account = {account:String} AND stream = {stream:String} AND run_id = {run:UUID}),
    (
        SELECT uniqExact(JSONExtractString(held, 'owner')) FROM (SELECT argMax(value, (version, value)) AS held FROM sync_state_log WHERE account = {account:String} AND name = 'lease' GROUP BY stream)
        WHERE held != '' AND JSONExtractString(held, 'owner') != {owner:String} AND JSONExtractInt(held, 'expires') > toUnixTimestamp64Micro(now64(6))
    )
FROM sync_state_log WHERE account = {account:String} AND stream = {stream:String};

-- selectInterrupted
SELECT DISTINCT account, stream FROM sync_state WHERE startsWith(name, 'intent:') ORDER BY account, stream;

-- countInterrupted
SELECT count() FROM (SELECT DISTINCT account, stream FROM sync_state WHERE startsWith(name, 'intent:') ORDER BY account, stream);

-- selectOutcome
SELECT outcome FROM sync_runs_log FINAL
WHERE account = {account:String} AND stream = {stream:String} AND run_id = {run:UUID};

-- selectAliveRuns by row
SELECT toString(run_id) FROM sync_runs_log FINAL
WHERE stream = {stream:String} AND account != {account:String} AND outcome = 'running';

-- selectAliveRuns by state
SELECT JSONExtractString(value, 'run_id') FROM sync_state
WHERE stream = {stream:String} AND name NOT IN ('watermark', 'certificate')
    AND (name != 'lease' OR abs(dateDiff('second', updated_at, now())) < 86400)
    AND (NOT startsWith(name, 'backfill:') OR updated_at > now() - toIntervalSecond(2592000));

-- selectStagedRuns
SELECT DISTINCT id FROM
(
    SELECT toString(toUUIDOrZero(partition)) AS id
    FROM system.parts
    WHERE active AND database = currentDatabase() AND table = {staging:String}
    UNION ALL
    SELECT toString(toUUIDOrZero(replaceRegexpOne(extract(name, '_([0-9a-f]{32})$'), '^(.{8})(.{4})(.{4})(.{4})(.{12})$', '\\1-\\2-\\3-\\4-\\5')))
    FROM system.tables
    WHERE database = currentDatabase() AND arrayExists(prefix -> startsWith(name, prefix), {prefixes:Array(String)})
) WHERE id != '00000000-0000-0000-0000-000000000000';

-- selectRejectVersion
SELECT greatest(toUInt64(toUnixTimestamp64Micro(now64(6))), max(greatest(last.version, settled.version)) + 1), now64(3, 'UTC')
FROM rejects_log WHERE account = {account:String} AND stream = {stream:String};

-- insertCounted
INSERT INTO rejects_log (account, stream, key, field, reason, raw_hash, raw, first_seen_at,
    seen_at, last, published, counted, times, settled)
SELECT account, stream, key, field, reason, raw_hash, raw, first_seen_at, seen_at, last,
    if(last.run_id IN (SELECT run_id FROM sync_runs_log FINAL WHERE account = {account:String} AND stream = {stream:String} AND (outcome IN ('success', 'incomplete') OR (outcome = 'guarded' AND waiting > 0))), last, published),
    last.version,
    times + if(last.run_id IN (SELECT run_id FROM sync_runs_log FINAL WHERE account = {account:String} AND stream = {stream:String} AND mode = 'retry'), 0, 1),
    settled
FROM
(
    SELECT account, stream, key, field, reason, raw_hash, max(raw) AS raw, min(first_seen_at) AS first_seen_at, max(seen_at) AS seen_at,
        max(last) AS last, max(published) AS published, max(counted) AS counted, max(times) AS times, max(settled) AS settled
    FROM rejects_log
    WHERE account = {account:String} AND stream = {stream:String}
    GROUP BY account, stream, key, field, reason, raw_hash
)
WHERE last.version > counted AND last.run_id != {run:UUID};

-- countOpenRejects
SELECT account, stream, count() FROM rejected_records
WHERE state = 'open' AND ({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String})
    AND ({run:UUID} = '00000000-0000-0000-0000-000000000000' OR run_id = {run:UUID} OR last_run_id = {run:UUID})
    AND ({reason:String} = '' OR reason = {reason:String}) AND ({field:String} = '' OR field = {field:String})
    AND (toUnixTimestamp64Micro(read_at) >= {since:Int64} OR toUnixTimestamp64Milli(seen_at) * 1000 >= {since:Int64})
GROUP BY account, stream ORDER BY account, stream;

-- selectRejected
SELECT account, stream, run_id, page, key, field, reason, raw, first_seen_at, seen_at, times, last_run_id, read_at, state, settled_at
FROM rejected_records
WHERE ({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String})
    AND ({run:UUID} = '00000000-0000-0000-0000-000000000000' OR run_id = {run:UUID} OR last_run_id = {run:UUID})
    AND ({reason:String} = '' OR reason = {reason:String}) AND ({field:String} = '' OR field = {field:String})
    AND (toUnixTimestamp64Micro(read_at) >= {since:Int64} OR toUnixTimestamp64Milli(seen_at) * 1000 >= {since:Int64})
ORDER BY read_at DESC, account, stream, run_id, page, key, field, reason, raw LIMIT 50;

-- selectRejected, unsettled
SELECT account, stream, run_id, page, key, field, reason, raw, first_seen_at, seen_at, times, last_run_id, read_at, state, settled_at
FROM rejected_records
WHERE ({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String})
    AND ({run:UUID} = '00000000-0000-0000-0000-000000000000' OR run_id = {run:UUID} OR last_run_id = {run:UUID})
    AND ({reason:String} = '' OR reason = {reason:String}) AND ({field:String} = '' OR field = {field:String})
    AND (toUnixTimestamp64Micro(read_at) >= {since:Int64} OR toUnixTimestamp64Milli(seen_at) * 1000 >= {since:Int64}) AND state IN ('open', 'unpublished')
ORDER BY read_at DESC, account, stream, run_id, page, key, field, reason, raw LIMIT 50;

-- selectServer
SELECT version(), timezone(),
    toBool((SELECT count() FROM system.settings WHERE name = 'cloud_mode' AND value = '1')),
    (SELECT any(engine) FROM system.databases WHERE name = {database:String}),
    (SELECT count() FROM system.tables
    WHERE database = {database:String} AND match(name, '_(latest|versions|log)$')
        AND NOT startsWith(engine, 'Replicated') AND match(engine, 'MergeTree')),
    (SELECT count() FROM system.tables WHERE database = {database:String} AND match(name, '_(latest|versions|log)$') AND startsWith(engine, 'Replicated'));

-- selectServerID
SELECT toString(serverUUID());

-- selectCluster
SELECT (SELECT uniqExact(shard_num) FROM system.clusters WHERE cluster = {cluster:String}),
    (SELECT arraySort(groupUniqArray(cluster)) FROM system.clusters), (SELECT groupArray(macro) FROM system.macros),
    (SELECT count() FROM system.clusters
    WHERE cluster = {cluster:String}
        AND shard_num IN (SELECT shard_num FROM system.clusters WHERE cluster = {cluster:String} AND is_local));

-- checkGrant
CHECK GRANT ALTER DELETE ON `dealhouse`.*;

-- giveRights
GRANT SELECT, ALTER DELETE ON `dealhouse`.* TO CURRENT_USER;

-- syncReplica
SYSTEM SYNC REPLICA coupons_latest LIGHTWEIGHT;

-- trySettings
SELECT 1;

-- deleteLaterMisses
ALTER TABLE reference_misses_log DELETE
WHERE account = {account:String} AND stream = {stream:String} AND asked_at > fromUnixTimestamp64Milli(1767225600000);

-- selectStandings
SELECT r.account, r.stream, last_success, nullIf(if(loaded_first, greatest(last_look, first_load), last_look), toDateTime64(0, 3, 'UTC')),
    ifNull(last_whole, if(loaded_first, least(first_load, ifNull(first_look, first_load)), first_look)), last_failure,
    last_run, last_run_id, last_outcome, last_error, last_waiting,
    last_ended, ended_outcome, ended_read, ended_rejected, ended_would_delete,
    length(faults), if(empty(faults), NULL, arrayMin(faults)), if(empty(faults), '', fault), if(empty(faults), '', fault_error), if(empty(faults), '', fault_cause),
    parseDateTime64BestEffortOrNull(nullIf(s.watermark, ''), 3, 'UTC'), s.scope, s.clock, now64(3, 'UTC')
FROM
(
    SELECT *, arrayFilter(began -> began > last_good, faults_ever) AS faults
    FROM
    (
        SELECT account, stream, maxIf(finished_at, good) AS last_success,
            minIf(started_at, initial) AS first_load, countIf(good AND initial) > 0 AS loaded_first,
            maxIf(started_at, (good OR (outcome = 'guarded' AND waiting > 0)) AND NOT initial) AS last_look, minIf(toNullable(started_at), good AND NOT initial) AS first_look,
            maxIf(toNullable(started_at), good AND whole) AS last_whole, maxIf(started_at, good) AS last_good,
            maxIf(finished_at, faulty) AS last_failure, toNullable(max(started_at)) AS last_run,
            argMax(run_id, started_at) AS last_run_id,
            argMax(outcome, started_at) AS last_outcome, argMax(error, started_at) AS last_error,
            argMaxIf(waiting, started_at, published AND whole) AS last_waiting,
            maxIf(toNullable(started_at), ended) AS last_ended, argMaxIf(outcome, started_at, ended) AS ended_outcome,
            argMaxIf(rows_read, started_at, ended) AS ended_read, argMaxIf(rejected, started_at, ended) AS ended_rejected,
            argMaxIf(would_delete, started_at, ended) AS ended_would_delete,
            groupArrayIf(started_at, faulty) AS faults_ever,
            argMaxIf(outcome, (started_at, version), faulty) AS fault,
            argMaxIf(error, (started_at, version), faulty) AS fault_error,
            argMaxIf(cause, (started_at, version), faulty) AS fault_cause
        FROM
        (
            SELECT account, stream, run_id, started_at, finished_at, outcome, error, cause, waiting, version, rows_read, rejected,
                would_delete, outcome NOT IN ('running', 'stopped') AS ended, (outcome = 'success' AND (mode != 'initial' OR isNotNull(watermark))) AS good,
                mode = 'initial' AS initial, mode IN ('snapshot', 'walk', 'full') AS whole, outcome IN ('incomplete', 'failed', 'guarded', 'killed') AS faulty, (outcome IN ('success', 'incomplete') OR (outcome = 'guarded' AND waiting > 0)) AS published
            FROM sync_runs_log FINAL WHERE mode NOT IN ('backfill', 'retry', 'references', 'forget') AND started_at <= now64(3, 'UTC') + toIntervalMinute(1)
        )
        GROUP BY account, stream
    )
) AS r
LEFT JOIN
(
    SELECT account, stream, anyIf(value, name = 'watermark') AS watermark, anyIf(value, name = 'scope') AS scope,
        anyIf(value, name = 'clock') AS clock
    FROM sync_state_log FINAL WHERE name IN ('watermark', 'scope', 'clock') GROUP BY account, stream
) AS s ON r.account = s.account AND r.stream = s.stream
ORDER BY r.account, indexOf(['promotions', 'coupons', 'cashback_offers', 'transactions', 'payouts', 'products'], r.stream);

-- selectRunSpans
SELECT account, stream, mode, outcome, started_at, finished_at, run_id FROM sync_runs
WHERE started_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC') AND started_at > fromUnixTimestamp64Milli({from:Int64}, 'UTC') - toIntervalDay(31)
    AND (isNull(finished_at) AND outcome = 'running' OR finished_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC'))
ORDER BY started_at DESC, account, stream LIMIT 6;

-- selectDirectives
SELECT action_id, at, actor, via, action, account, stream, run_id, deletes, reason, at > now64(3, 'UTC') - toIntervalSecond(86400) AND at < now64(3, 'UTC') + toIntervalMinute(1) AS fresh
FROM operator_actions_log
WHERE action IN ('pause', 'resume', 'consent', 'consent_used')
ORDER BY version DESC
LIMIT 1 BY account, stream, action IN ('pause', 'resume');

-- selectGuardedRuns
SELECT account, stream, last.1, last.2, last.3, last.5 FROM
(
    SELECT account, stream, argMax((run_id, started_at, mode, outcome, would_delete), (started_at, run_id)) AS last FROM sync_runs
    WHERE ({account:String} = '' OR account = {account:String} AND stream = {stream:String})
        AND (account, stream) IN (SELECT account, stream FROM sync_runs_log WHERE outcome = 'guarded')
        AND (outcome = 'success' OR outcome = 'guarded' AND would_delete > 0) AND mode IN ('snapshot', 'walk', 'full') AND started_at <= now64(3, 'UTC') + toIntervalMinute(1)
    GROUP BY account, stream
)
WHERE last.4 = 'guarded'
ORDER BY account, stream;

-- countOpenFindings
SELECT account, count() FROM payout_findings WHERE resolved_at IS NULL GROUP BY account;

-- selectStorage
SELECT
    (SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase()),
    (SELECT min(free_space) FROM system.disks);

-- selectLiveRows
SELECT account, 'promotions' AS stream, count() AS live FROM promotions GROUP BY account
UNION ALL
SELECT account, 'coupons' AS stream, count() AS live FROM coupons GROUP BY account
UNION ALL
SELECT account, 'cashback_offers' AS stream, count() AS live FROM cashback_offers GROUP BY account
UNION ALL
SELECT account, 'transactions' AS stream, count() AS live FROM transactions GROUP BY account
UNION ALL
SELECT account, 'payouts' AS stream, count() AS live FROM payouts GROUP BY account
UNION ALL
SELECT account, 'products' AS stream, count() AS live FROM products GROUP BY account;

-- selectViews
SELECT t.name, t.comment, if(empty(c.columns), formatQuery(t.create_table_query), ''), c.columns
FROM system.tables AS t
LEFT JOIN
(
    SELECT table, groupArray((name, type, comment)) AS columns
    FROM (SELECT table, name, type, comment FROM system.columns WHERE database = currentDatabase() ORDER BY table, position)
    GROUP BY table
) AS c ON t.name = c.table
WHERE t.database = currentDatabase() AND t.engine = 'View'
ORDER BY t.name;

-- createStreamCounts
CREATE OR REPLACE VIEW stream_counts
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from the streams)',
    stream LowCardinality(String) COMMENT 'Stream: the name of the view that is counted (from the streams)',
    rows UInt64 COMMENT 'Rows that the view has; an account without any is not here [count] (from the streams)'
)
AS SELECT account, 'promotions' AS stream, count() AS rows FROM promotions_latest FINAL WHERE _deleted = 0 GROUP BY account
UNION ALL
SELECT account, 'coupons' AS stream, count() AS rows FROM coupons_latest FINAL WHERE _deleted = 0 GROUP BY account
UNION ALL
SELECT account, 'cashback_offers' AS stream, count() AS rows FROM cashback_offers_latest FINAL WHERE _deleted = 0 GROUP BY account
UNION ALL
SELECT account, 'transactions' AS stream, toUInt64(value) AS rows FROM sync_state_log FINAL WHERE stream = 'transactions' AND name = 'live' AND value NOT IN ('', '0')
UNION ALL
SELECT account, 'payouts' AS stream, count() AS rows FROM payouts_latest FINAL WHERE _deleted = 0 GROUP BY account
UNION ALL
SELECT account, 'products' AS stream, count() AS rows FROM products_latest FINAL WHERE _deleted = 0 GROUP BY account
COMMENT 'How many rows each stream has, by account: the count of transactions without reading them';

-- selectChecksBefore
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(greatest(0, toUnixTimestamp64Micro(toDateTime64(max(checked_at), 6, 'UTC')))),
    toInt64(ifNull(maxIf(toUnixTimestamp64Micro(toDateTime64(checked_at, 6, 'UTC')), check = 'rows_match'), 0)),
    countIf(NOT holds AND check != 'api_unchanged'), (SELECT groupArray((field, scope, usual, ifNull(toUnixTimestamp64Milli(missing_since), 0)))
    FROM field_presence_log FINAL WHERE account = {account:String} AND stream = {stream:String})
FROM (SELECT check, max(checked_at) AS checked_at, argMax(ok, quality_checks_log.checked_at) AS holds
    FROM quality_checks_log WHERE account = {account:String} AND stream = {stream:String} GROUP BY check);

-- selectPresence
SELECT groupArray((field, scope, usual, ifNull(toUnixTimestamp64Milli(missing_since), 0)))
    FROM field_presence_log FINAL WHERE account = {account:String} AND stream = {stream:String};

-- selectUnknownPayouts
WITH
    (SELECT max(started_at) FROM sync_runs
    WHERE account = {account:String} AND stream = 'payouts' AND outcome = 'success' AND mode NOT IN ('retry', 'references', 'forget') AND started_at <= now64(3, 'UTC') + toIntervalMinute(1)) AS loaded
SELECT loaded, groupArray(1000)(key) FROM
(
    SELECT n.key AS key FROM transactions_named AS n
    WHERE account = {account:String} AND n.stream = 'payouts' AND n.key NOT IN (SELECT toString(id) FROM payouts WHERE account = {account:String})
    GROUP BY n.key HAVING min(n.named_at) < loaded
);

-- selectRuns, by stream: false, whole looks: false
SELECT account, stream, run_id, mode, started_at, finished_at, outcome, requested_after, watermark, server_time, pages, rows_read,
    inserted, updated, deleted, would_delete, out_of_scope, scope, unchanged, older, waiting, rejected, duplicates, bytes, retries, warnings, error, cause, certificate, signature
FROM sync_runs_log AS r FINAL
WHERE ({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String})
ORDER BY started_at DESC, account, stream LIMIT 20;

-- selectRuns, by stream: true, whole looks: false
SELECT account, stream, run_id, mode, started_at, finished_at, outcome, requested_after, watermark, server_time, pages, rows_read,
    inserted, updated, deleted, would_delete, out_of_scope, scope, unchanged, older, waiting, rejected, duplicates, bytes, retries, warnings, error, cause, certificate, signature
FROM sync_runs_log AS r FINAL
INNER JOIN
(
    SELECT account, stream, -groupArraySorted(4)(-toUnixTimestamp64Milli(started_at))[-1] AS since FROM sync_runs_log
    WHERE ({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String}) GROUP BY account, stream
) AS recent ON recent.account = r.account AND recent.stream = r.stream
WHERE ({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String}) AND toUnixTimestamp64Milli(started_at) >= recent.since
ORDER BY started_at DESC, account, stream LIMIT 1 BY account, stream LIMIT 20;

-- selectRuns, by stream: false, whole looks: true
SELECT account, stream, run_id, mode, started_at, finished_at, outcome, requested_after, watermark, server_time, pages, rows_read,
    inserted, updated, deleted, would_delete, out_of_scope, scope, unchanged, older, waiting, rejected, duplicates, bytes, retries, warnings, error, cause, certificate, signature
FROM sync_runs_log AS r FINAL
WHERE ({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String}) AND mode NOT IN ('retry', 'references', 'forget') AND started_at <= now64(3, 'UTC') + toIntervalMinute(1)
ORDER BY started_at DESC, account, stream LIMIT 20;

-- selectRuns, by stream: true, whole looks: true
SELECT account, stream, run_id, mode, started_at, finished_at, outcome, requested_after, watermark, server_time, pages, rows_read,
    inserted, updated, deleted, would_delete, out_of_scope, scope, unchanged, older, waiting, rejected, duplicates, bytes, retries, warnings, error, cause, certificate, signature
FROM sync_runs_log AS r FINAL
INNER JOIN
(
    SELECT account, stream, -groupArraySorted(4)(-toUnixTimestamp64Milli(started_at))[-1] AS since FROM sync_runs_log
    WHERE ({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String}) AND mode NOT IN ('retry', 'references', 'forget') AND started_at <= now64(3, 'UTC') + toIntervalMinute(1) GROUP BY account, stream
) AS recent ON recent.account = r.account AND recent.stream = r.stream
WHERE ({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String}) AND mode NOT IN ('retry', 'references', 'forget') AND started_at <= now64(3, 'UTC') + toIntervalMinute(1) AND toUnixTimestamp64Milli(started_at) >= recent.since
ORDER BY started_at DESC, account, stream LIMIT 1 BY account, stream LIMIT 20;

-- selectRuns, by stream: true, whole looks: true, brief
SELECT account, stream, run_id, mode, started_at, finished_at, outcome, requested_after, rows_read
FROM sync_runs_log AS r FINAL
INNER JOIN
(
    SELECT account, stream, -groupArraySorted(4)(-toUnixTimestamp64Milli(started_at))[-1] AS since FROM sync_runs_log
    WHERE ({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String}) AND mode NOT IN ('retry', 'references', 'forget') AND started_at <= now64(3, 'UTC') + toIntervalMinute(1) GROUP BY account, stream
) AS recent ON recent.account = r.account AND recent.stream = r.stream
WHERE ({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String}) AND mode NOT IN ('retry', 'references', 'forget') AND started_at <= now64(3, 'UTC') + toIntervalMinute(1) AND toUnixTimestamp64Milli(started_at) >= recent.since
ORDER BY started_at DESC, account, stream LIMIT 1 BY account, stream LIMIT 20;

-- selectPayouts
SELECT account, payout_id, start_date, end_date, verdict, mismatches, currencies, mixed_currency = 1,
    altered = 1, altered_columns, altered_before, altered_after,
    altered_at, first_seen_at, complete_to, transactions_reported, transactions_loaded, transactions_changed, transactions_moved, transactions_gone,
    transactions_late, at_stake, at_stake_confirmed, at_stake_declined, at_stake_pending, at_stake_other, at_stake_moved, at_stake_gone, at_stake_unexplained,
    CAST(total_transactions AS Nullable(Decimal(38, 6))), CAST(total_gmv AS Nullable(Decimal(38, 6))), CAST(aov AS Nullable(Decimal(38, 6))), CAST(total_cashback AS Nullable(Decimal(38, 6))), CAST(confirmed_transactions AS Nullable(Decimal(38, 6))), CAST(declined_transactions AS Nullable(Decimal(38, 6))), CAST(pending_transactions AS Nullable(Decimal(38, 6))), CAST(confirmed_gmv AS Nullable(Decimal(38, 6))), CAST(declined_gmv AS Nullable(Decimal(38, 6))), CAST(pending_gmv AS Nullable(Decimal(38, 6))), CAST(confirmed_cashback AS Nullable(Decimal(38, 6))), CAST(declined_cashback AS Nullable(Decimal(38, 6))), CAST(pending_cashback AS Nullable(Decimal(38, 6))),
    CAST(stamped_total_transactions AS Nullable(Decimal(38, 6))), CAST(stamped_total_gmv AS Nullable(Decimal(38, 6))), CAST(stamped_aov AS Nullable(Decimal(38, 6))), CAST(stamped_total_cashback AS Nullable(Decimal(38, 6))), CAST(stamped_confirmed_transactions AS Nullable(Decimal(38, 6))), CAST(stamped_declined_transactions AS Nullable(Decimal(38, 6))), CAST(stamped_pending_transactions AS Nullable(Decimal(38, 6))), CAST(stamped_confirmed_gmv AS Nullable(Decimal(38, 6))), CAST(stamped_declined_gmv AS Nullable(Decimal(38, 6))), CAST(stamped_pending_gmv AS Nullable(Decimal(38, 6))), CAST(stamped_confirmed_cashback AS Nullable(Decimal(38, 6))), CAST(stamped_declined_cashback AS Nullable(Decimal(38, 6))), CAST(stamped_pending_cashback AS Nullable(Decimal(38, 6))),
    CAST(now_total_transactions AS Nullable(Decimal(38, 6))), CAST(now_total_gmv AS Nullable(Decimal(38, 6))), CAST(now_aov AS Nullable(Decimal(38, 6))), CAST(now_total_cashback AS Nullable(Decimal(38, 6))), CAST(now_confirmed_transactions AS Nullable(Decimal(38, 6))), CAST(now_declined_transactions AS Nullable(Decimal(38, 6))), CAST(now_pending_transactions AS Nullable(Decimal(38, 6))), CAST(now_confirmed_gmv AS Nullable(Decimal(38, 6))), CAST(now_declined_gmv AS Nullable(Decimal(38, 6))), CAST(now_pending_gmv AS Nullable(Decimal(38, 6))), CAST(now_confirmed_cashback AS Nullable(Decimal(38, 6))), CAST(now_declined_cashback AS Nullable(Decimal(38, 6))), CAST(now_pending_cashback AS Nullable(Decimal(38, 6))),
    CAST(total_transactions_difference AS Nullable(Decimal(38, 6))), CAST(total_gmv_difference AS Nullable(Decimal(38, 6))), CAST(aov_difference AS Nullable(Decimal(38, 6))), CAST(total_cashback_difference AS Nullable(Decimal(38, 6))), CAST(confirmed_transactions_difference AS Nullable(Decimal(38, 6))), CAST(declined_transactions_difference AS Nullable(Decimal(38, 6))), CAST(pending_transactions_difference AS Nullable(Decimal(38, 6))), CAST(confirmed_gmv_difference AS Nullable(Decimal(38, 6))), CAST(declined_gmv_difference AS Nullable(Decimal(38, 6))), CAST(pending_gmv_difference AS Nullable(Decimal(38, 6))), CAST(confirmed_cashback_difference AS Nullable(Decimal(38, 6))), CAST(declined_cashback_difference AS Nullable(Decimal(38, 6))), CAST(pending_cashback_difference AS Nullable(Decimal(38, 6)))
FROM payout_reconciliation
WHERE 1
ORDER BY account, payout_id DESC;

-- selectPayoutTransactions
SELECT account, payout_id, id, sold_at, retailer_name, currency_code, state,
    stamped_status, stamped_order_value, stamped_cashback, stamped_at,
    stamped_is_first_known = 1, status, order_value, cashback, payout_id_now, changed_at, at_stake
FROM payout_transactions
WHERE 1
ORDER BY account, payout_id, sold_at, id;

-- selectPayoutOrphans
SELECT account, payout_id, currency_code, count(), ifNull(sumIf(cashback, status != 'DECLINED'), 0), max(was_listed) = 1, max(certain) = 1
FROM payout_orphans
WHERE 1
GROUP BY account, payout_id, currency_code ORDER BY account, payout_id, currency_code;

-- selectPayoutOverdue
SELECT account, formatDateTime(assumeNotNull(sold_at), '%Y-%m') AS month, currency_code, count(),
    ifNull(sum(cashback), 0), min(assumeNotNull(sold_at))
FROM payout_unpaid
WHERE 1 AND age_seconds > {after:Int64}
GROUP BY account, month, currency_code ORDER BY account, month, currency_code;

-- selectPayouts, filtered
SELECT account, payout_id, start_date, end_date, verdict, mismatches, currencies, mixed_currency = 1,
    altered = 1, altered_columns, altered_before, altered_after,
    altered_at, first_seen_at, complete_to, transactions_reported, transactions_loaded, transactions_changed, transactions_moved, transactions_gone,
    transactions_late, at_stake, at_stake_confirmed, at_stake_declined, at_stake_pending, at_stake_other, at_stake_moved, at_stake_gone, at_stake_unexplained,
    CAST(total_transactions AS Nullable(Decimal(38, 6))), CAST(total_gmv AS Nullable(Decimal(38, 6))), CAST(aov AS Nullable(Decimal(38, 6))), CAST(total_cashback AS Nullable(Decimal(38, 6))), CAST(confirmed_transactions AS Nullable(Decimal(38, 6))), CAST(declined_transactions AS Nullable(Decimal(38, 6))), CAST(pending_transactions AS Nullable(Decimal(38, 6))), CAST(confirmed_gmv AS Nullable(Decimal(38, 6))), CAST(declined_gmv AS Nullable(Decimal(38, 6))), CAST(pending_gmv AS Nullable(Decimal(38, 6))), CAST(confirmed_cashback AS Nullable(Decimal(38, 6))), CAST(declined_cashback AS Nullable(Decimal(38, 6))), CAST(pending_cashback AS Nullable(Decimal(38, 6))),
    CAST(stamped_total_transactions AS Nullable(Decimal(38, 6))), CAST(stamped_total_gmv AS Nullable(Decimal(38, 6))), CAST(stamped_aov AS Nullable(Decimal(38, 6))), CAST(stamped_total_cashback AS Nullable(Decimal(38, 6))), CAST(stamped_confirmed_transactions AS Nullable(Decimal(38, 6))), CAST(stamped_declined_transactions AS Nullable(Decimal(38, 6))), CAST(stamped_pending_transactions AS Nullable(Decimal(38, 6))), CAST(stamped_confirmed_gmv AS Nullable(Decimal(38, 6))), CAST(stamped_declined_gmv AS Nullable(Decimal(38, 6))), CAST(stamped_pending_gmv AS Nullable(Decimal(38, 6))), CAST(stamped_confirmed_cashback AS Nullable(Decimal(38, 6))), CAST(stamped_declined_cashback AS Nullable(Decimal(38, 6))), CAST(stamped_pending_cashback AS Nullable(Decimal(38, 6))),
    CAST(now_total_transactions AS Nullable(Decimal(38, 6))), CAST(now_total_gmv AS Nullable(Decimal(38, 6))), CAST(now_aov AS Nullable(Decimal(38, 6))), CAST(now_total_cashback AS Nullable(Decimal(38, 6))), CAST(now_confirmed_transactions AS Nullable(Decimal(38, 6))), CAST(now_declined_transactions AS Nullable(Decimal(38, 6))), CAST(now_pending_transactions AS Nullable(Decimal(38, 6))), CAST(now_confirmed_gmv AS Nullable(Decimal(38, 6))), CAST(now_declined_gmv AS Nullable(Decimal(38, 6))), CAST(now_pending_gmv AS Nullable(Decimal(38, 6))), CAST(now_confirmed_cashback AS Nullable(Decimal(38, 6))), CAST(now_declined_cashback AS Nullable(Decimal(38, 6))), CAST(now_pending_cashback AS Nullable(Decimal(38, 6))),
    CAST(total_transactions_difference AS Nullable(Decimal(38, 6))), CAST(total_gmv_difference AS Nullable(Decimal(38, 6))), CAST(aov_difference AS Nullable(Decimal(38, 6))), CAST(total_cashback_difference AS Nullable(Decimal(38, 6))), CAST(confirmed_transactions_difference AS Nullable(Decimal(38, 6))), CAST(declined_transactions_difference AS Nullable(Decimal(38, 6))), CAST(pending_transactions_difference AS Nullable(Decimal(38, 6))), CAST(confirmed_gmv_difference AS Nullable(Decimal(38, 6))), CAST(declined_gmv_difference AS Nullable(Decimal(38, 6))), CAST(pending_gmv_difference AS Nullable(Decimal(38, 6))), CAST(confirmed_cashback_difference AS Nullable(Decimal(38, 6))), CAST(declined_cashback_difference AS Nullable(Decimal(38, 6))), CAST(pending_cashback_difference AS Nullable(Decimal(38, 6)))
FROM payout_reconciliation
WHERE 1 AND account = {account:String} AND ifNull(end_date >= fromUnixTimestamp64Milli({since:Int64}, 'UTC'), true) AND payout_id = {payout:Int64}
ORDER BY account, payout_id DESC;

-- selectPayoutTransactions, filtered
SELECT account, payout_id, id, sold_at, retailer_name, currency_code, state,
    stamped_status, stamped_order_value, stamped_cashback, stamped_at,
    stamped_is_first_known = 1, status, order_value, cashback, payout_id_now, changed_at, at_stake
FROM payout_transactions
WHERE 1 AND account = {account:String} AND ifNull(sold_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC'), true) AND payout_id = {payout:Int64}
ORDER BY account, payout_id, sold_at, id;

-- selectPayoutOrphans, filtered
SELECT account, payout_id, currency_code, count(), ifNull(sumIf(cashback, status != 'DECLINED'), 0), max(was_listed) = 1, max(certain) = 1
FROM payout_orphans
WHERE 1 AND account = {account:String} AND ifNull(sold_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC'), true) AND payout_id = {payout:Int64}
GROUP BY account, payout_id, currency_code ORDER BY account, payout_id, currency_code;

-- selectPayoutOverdue, filtered
SELECT account, formatDateTime(assumeNotNull(sold_at), '%Y-%m') AS month, currency_code, count(),
    ifNull(sum(cashback), 0), min(assumeNotNull(sold_at))
FROM payout_unpaid
WHERE 1 AND account = {account:String} AND ifNull(sold_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC'), true) AND age_seconds > {after:Int64}
GROUP BY account, month, currency_code ORDER BY account, month, currency_code;

-- selectPayoutExceptions
SELECT account, payout_id, id, sold_at, retailer_name, currency_code, state,
    stamped_status, stamped_order_value, stamped_cashback, stamped_at,
    stamped_is_first_known = 1, status, order_value, cashback, payout_id_now, changed_at, at_stake, unseen = 1
FROM
(
    SELECT *, ifNull(intDiv(toUnixTimestamp64Milli(stamped_at), 900000) > first_quarter + 1, 0) OR NOT made_known AND stamped_is_first_known = 1 AS unseen
    FROM payout_transactions
    INNER JOIN
    (
        SELECT payout_id, min(intDiv(toUnixTimestamp64Milli(stamped_at), 900000)) AS first_quarter, ifNull(quantileExactLow(0.5)(intDiv(toUnixTimestamp64Milli(stamped_at), 900000)) <= min(intDiv(toUnixTimestamp64Milli(stamped_at), 900000)) + 1, 0) AS made_known
        FROM payout_transactions WHERE account = {account:String} AND payout_id IN (1, 2, 3) GROUP BY payout_id
    ) AS q USING (payout_id)
    WHERE account = {account:String} AND payout_id IN (1, 2, 3)
)
WHERE at_stake != 0 OR unseen AND payout_id IN (2, 3) OR payout_id IN (NULL) AND stamped_is_first_known = 1
ORDER BY payout_id, abs(at_stake) DESC, id;

-- selectChangeSums
SELECT currency_code, effective < {from:Int64}, late AND effective >= {from:Int64}, multiIf(isNull(days), 5, days <= 30, 0, days <= 60, 1, days <= 90, 2, days <= 120, 3, 4) AS age,
    toInt8(ifNull(greatest(-1, least(dateDiff('month', fromUnixTimestamp64Milli({to:Int64}, 'UTC'), addMonths(toStartOfMonth(sold_at + toIntervalDay(90)), 1)), 99)), 100)) AS due,
    sale = 1, status_before, status,
    payout_id_before IS NOT NULL, payout_id IS NOT NULL, ifNull(payout_id = payout_id_before, 0) = 1, first_paid = 1, listed_before = 1, listed = 1,
    toInt64(count()), sum(cashback_before), sum(cashback)
FROM (
    SELECT currency_code, effective, late, days, sold_at, sale, status_before, status, payout_id_before,
    payout_id, first_paid, listed_before, listed, cashback_before, cashback
    FROM (SELECT *, toUnixTimestamp64Milli(seen_at) > arrayMin([9999999999999, if(at < fromUnixTimestamp64Milli(2678400000, 'UTC'), 1, 9999999999999)]) AS late, toUnixTimestamp64Milli(if(late, seen_at, at)) AS effective, dateDiff('day', sold_at, fromUnixTimestamp64Milli({to:Int64}, 'UTC')) AS days FROM transaction_changes WHERE account = {account:String} AND cityHash64(id) IN
    (
        SELECT cityHash64(id) FROM transactions_versions
WHERE account = {account:String} AND least(toUnixTimestamp64Milli(if(_deleted = 1, synced_at, ifNull(updated_at, synced_at))), ifNull(toUnixTimestamp64Milli(sold_at), toUnixTimestamp64Milli(if(_deleted = 1, synced_at, ifNull(updated_at, synced_at)))), if(toUnixTimestamp64Milli(synced_at) > 1, toUnixTimestamp64Milli(synced_at), toUnixTimestamp64Milli(if(_deleted = 1, synced_at, ifNull(updated_at, synced_at))))) < {to:Int64} AND cityHash64(id) IN (SELECT cityHash64(id) FROM transactions_versions WHERE account = {account:String} AND greatest(toUnixTimestamp64Milli(if(_deleted = 1, synced_at, ifNull(updated_at, synced_at))), if(toUnixTimestamp64Milli(synced_at) > 1, toUnixTimestamp64Milli(synced_at), toUnixTimestamp64Milli(if(_deleted = 1, synced_at, ifNull(updated_at, synced_at))))) >= {from:Int64})
        UNION ALL
        SELECT cityHash64(id) FROM payout_transactions_latest FINAL WHERE account = {account:String} AND state != '' AND (state IN ('moved', 'gone') OR currency_code != currency_code_now
    OR stamped_cashback IS NOT NULL AND stamped_order_value IS NOT NULL AND cityHash64(id) IN
        (SELECT cityHash64(id) FROM transactions_versions
        WHERE account = {account:String} AND payout_id IS NOT NULL AND (cashback IS NULL OR order_value IS NULL)))
        UNION ALL
        SELECT cityHash64(id) FROM payout_moves_latest FINAL WHERE account = {account:String} AND notEmpty(payout_ids)
    ))
    UNION ALL
    SELECT currency_code, {from:Int64} - 1 AS effective, 0 AS late, dateDiff('day', sold_at, fromUnixTimestamp64Milli({to:Int64}, 'UTC')) AS days, sold_at, payout_id IS NULL AS sale,
        status_before, status, payout_id AS payout_id_before, payout_id,
        0 AS first_paid, payout_id IS NOT NULL AS listed_before, 1 AS listed, cashback_before, cashback
    FROM
    (
        SELECT id, currency_code, sold_at, payout_id, 'PENDING' AS status_before,
            if(t.status = 'CONFIRMED', 'CONFIRMED', 'PENDING') AS status, ifNull(t.cashback, 0) AS cashback_before,
            cashback_before AS cashback
        FROM transactions AS t
        WHERE account = {account:String} AND payout_id IS NULL AND t.status != 'DECLINED' AND cityHash64(id) NOT IN
            (SELECT cityHash64(id) FROM payout_moves_latest FINAL WHERE account = {account:String} AND notEmpty(payout_ids))
        UNION ALL
        SELECT id, currency_code, sold_at, toNullable(payout_id), toString(stamped_status), toString(status), ifNull(stamped_cashback, 0), ifNull(m.cashback, 0)
        FROM payout_transactions_latest AS m FINAL
        WHERE account = {account:String} AND state = 'changed' AND NOT (state IN ('moved', 'gone') OR currency_code != currency_code_now
    OR stamped_cashback IS NOT NULL AND stamped_order_value IS NOT NULL AND cityHash64(id) IN
        (SELECT cityHash64(id) FROM transactions_versions
        WHERE account = {account:String} AND payout_id IS NOT NULL AND (cashback IS NULL OR order_value IS NULL))) AND cityHash64(id) NOT IN
            (SELECT cityHash64(id) FROM payout_moves_latest FINAL WHERE account = {account:String} AND notEmpty(payout_ids))
    )
    WHERE cityHash64(id) NOT IN (SELECT cityHash64(id) FROM transactions_versions WHERE account = {account:String} AND greatest(toUnixTimestamp64Milli(if(_deleted = 1, synced_at, ifNull(updated_at, synced_at))), if(toUnixTimestamp64Milli(synced_at) > 1, toUnixTimestamp64Milli(synced_at), toUnixTimestamp64Milli(if(_deleted = 1, synced_at, ifNull(updated_at, synced_at))))) >= {from:Int64}))
WHERE effective < {to:Int64}
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, sign(cashback - cashback_before), cashback_before = 0, cashback = 0
ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14;

-- selectAllChangeSums
SELECT currency_code, effective < {from:Int64}, late AND effective >= {from:Int64}, multiIf(isNull(days), 5, days <= 30, 0, days <= 60, 1, days <= 90, 2, days <= 120, 3, 4) AS age,
    toInt8(ifNull(greatest(-1, least(dateDiff('month', fromUnixTimestamp64Milli({to:Int64}, 'UTC'), addMonths(toStartOfMonth(sold_at + toIntervalDay(90)), 1)), 99)), 100)) AS due,
    sale = 1, status_before, status,
    payout_id_before IS NOT NULL, payout_id IS NOT NULL, ifNull(payout_id = payout_id_before, 0) = 1, first_paid = 1, listed_before = 1, listed = 1,
    toInt64(count()), sum(cashback_before), sum(cashback)
FROM (SELECT *, toUnixTimestamp64Milli(seen_at) > arrayMin([9999999999999, if(at < fromUnixTimestamp64Milli(2678400000, 'UTC'), 1, 9999999999999)]) AS late, toUnixTimestamp64Milli(if(late, seen_at, at)) AS effective, dateDiff('day', sold_at, fromUnixTimestamp64Milli({to:Int64}, 'UTC')) AS days FROM transaction_changes WHERE account = {account:String})
WHERE effective < {to:Int64}
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, sign(cashback - cashback_before), cashback_before = 0, cashback = 0
ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14;

-- selectChanges
SELECT currency_code, late, sale = 1, status_before, status, payout_id_before IS NOT NULL,
    payout_id IS NOT NULL, ifNull(payout_id = payout_id_before, 0) = 1, first_paid = 1,
    listed_before = 1, listed = 1, cashback_before, cashback, id, at, seen_at, sold_at, retailer_name, payout_id
FROM (SELECT *, toUnixTimestamp64Milli(seen_at) > arrayMin([9999999999999]) AS late, toUnixTimestamp64Milli(if(late, seen_at, at)) AS effective FROM transaction_changes WHERE account = {account:String} AND cityHash64(id) IN (SELECT cityHash64(id) FROM transactions_versions WHERE account = {account:String} AND greatest(toUnixTimestamp64Milli(if(_deleted = 1, synced_at, ifNull(updated_at, synced_at))), toUnixTimestamp64Milli(if(_deleted = 1, synced_at, ifNull(updated_at, synced_at)))) >= {from:Int64}))
WHERE effective >= {from:Int64} AND effective < {to:Int64}
ORDER BY effective, id, sale DESC;

-- selectEachChange
SELECT currency_code, late, multiIf(isNull(days), 5, days <= 30, 0, days <= 60, 1, days <= 90, 2, days <= 120, 3, 4) AS age, sale = 1, status_before, status,
    payout_id_before IS NOT NULL, payout_id IS NOT NULL, ifNull(payout_id = payout_id_before, 0) = 1, first_paid = 1,
    listed_before = 1, listed = 1, cashback_before, cashback, id, at, seen_at, sold_at, retailer_name, payout_id
FROM (SELECT *, toUnixTimestamp64Milli(seen_at) > arrayMin([9999999999999]) AS late, toUnixTimestamp64Milli(if(late, seen_at, at)) AS effective, dateDiff('day', sold_at, fromUnixTimestamp64Milli({to:Int64}, 'UTC')) AS days
    FROM transaction_changes WHERE account = {account:String})
WHERE effective >= {from:Int64} AND effective < {to:Int64}
ORDER BY id, currency_code, effective, sale DESC;

-- selectPayoutsOf
SELECT DISTINCT assumeNotNull(payout_id) AS payout
FROM (SELECT *, toUnixTimestamp64Milli(seen_at) > arrayMin([9999999999999]) AS late, toUnixTimestamp64Milli(if(late, seen_at, at)) AS effective FROM transaction_changes WHERE account = {account:String} AND cityHash64(id) IN (SELECT cityHash64(id) FROM transactions_versions WHERE account = {account:String} AND greatest(toUnixTimestamp64Milli(if(_deleted = 1, synced_at, ifNull(updated_at, synced_at))), toUnixTimestamp64Milli(if(_deleted = 1, synced_at, ifNull(updated_at, synced_at)))) >= {from:Int64}))
WHERE effective >= {from:Int64} AND effective < {to:Int64} AND sale = 0 AND late = 0 AND payout_id_before IS NULL AND payout_id IS NOT NULL
    AND status != 'DECLINED' AND cashback != 0 AND (listed = 1 OR listed_before = 1)
ORDER BY payout;

-- selectPaidBefore
SELECT assumeNotNull(payout_id) AS payout, toString(currency_code), sum(cashback)
FROM (SELECT *, toUnixTimestamp64Milli(seen_at) > arrayMin([9999999999999]) AS late, toUnixTimestamp64Milli(if(late, seen_at, at)) AS effective FROM transaction_changes WHERE account = {account:String} AND payout_id IN (1, 2))
WHERE effective < {before:Int64} AND sale = 0 AND first_paid = 1 AND ifNull(payout_id != payout_id_before, 1)
    AND status != 'DECLINED' AND (listed = 1 OR listed_before = 1)
GROUP BY payout, currency_code;

-- selectUnpaidCohorts
SELECT currency, toDateTime64(cell.1, 3, 'UTC') AS month, cell.2 AS togo, cell.3 = 1 AS confirmed,
    toInt64(count()), sum(cell.4), sum(cell.5)
FROM
(
    SELECT currency, arrayJoin(arrayConcat(
        arrayMap(c -> (due, toInt8(c.1), toUInt8(bitTest(c.2, 1)), reinterpret(bitShiftRight(c.2, 3), 'Decimal(18, 4)'),
            if(stamped != 0 AND stamped_at < toUnixTimestamp(toDateTime(addMonths(due, 1), 'UTC')) * 1000, paid, 0)), arrayFilter(c -> bitTest(c.2, 0), [(0, seen_0), (1, seen_1), (2, seen_2), (3, seen_3)])),
        if(stamped != 0, [(toDate(toStartOfMonth(fromUnixTimestamp64Milli(stamped_at, 'UTC'))), toInt8(-1), toUInt8(0), toDecimal64(0, 4), paid)], []))) AS cell
    FROM
    (
        SELECT argMax(currency_code, _version) AS currency, argMax(month_due, _version) AS due,
            argMinIf(packed, _version, paid_out) AS stamped, argMinIf(changed, _version, paid_out) AS stamped_at,
            reinterpret(bitShiftRight(stamped, 3), 'Decimal(18, 4)') AS paid, argMaxIf(packed, _version, changed < toUnixTimestamp(toDateTime(addMonths(month_due, -0), 'UTC')) * 1000) AS seen_0,
            argMaxIf(packed, _version, changed < toUnixTimestamp(toDateTime(addMonths(month_due, -1), 'UTC')) * 1000) AS seen_1,
            argMaxIf(packed, _version, changed < toUnixTimestamp(toDateTime(addMonths(month_due, -2), 'UTC')) * 1000) AS seen_2,
            argMaxIf(packed, _version, changed < toUnixTimestamp(toDateTime(addMonths(month_due, -3), 'UTC')) * 1000) AS seen_3
        FROM
        (
            SELECT id, currency_code, _version, addMonths(toStartOfMonth(assumeNotNull(sold_at) + toIntervalDay(90)), 1) AS month_due, toUnixTimestamp64Milli(if(_deleted = 1, synced_at, ifNull(updated_at, synced_at))) AS changed,
                payout_id IS NOT NULL AS paid_out, _deleted = 0 AND status != 'DECLINED' AS worth,
                reinterpretAsInt64(if(worth, ifNull(cashback, 0), 0)) * 8 + 4 + (status = 'CONFIRMED') * 2 + (worth AND NOT paid_out) AS packed
            FROM transactions_versions
            WHERE account = {account:String} AND sold_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
                AND sold_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        )
        GROUP BY id
    )
)
GROUP BY currency, month, togo, confirmed
ORDER BY currency, month, togo, confirmed;

-- selectSomeVersions
SELECT count() FROM
(
    SELECT 1 FROM transactions_versions
    WHERE account = {account:String} AND sold_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND sold_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
    LIMIT {limit:UInt64}
);

-- selectLoadedDays
SELECT DISTINCT toStartOfDay(ifNull(server_time, started_at)) AS day
FROM sync_runs WHERE account = {account:String} AND stream = 'transactions' AND outcome = 'success' AND mode NOT IN ('backfill', 'retry', 'references', 'forget')
ORDER BY day;

-- selectDueTransactions
SELECT id, currency_code AS currency, any(retailer_name), any(sold_at) AS sold, toDateTime64(addMonths(toStartOfMonth(sold + toIntervalDay(90)), 1), 3, 'UTC') AS due,
    sumIf(cashback, listed AND payout_id IS NULL AND status != 'DECLINED' AND status != 'CONFIRMED') - sumIf(cashback_before, listed_before AND payout_id_before IS NULL AND status_before != 'DECLINED' AND status_before != 'CONFIRMED') AS pending,
    sumIf(cashback, listed AND payout_id IS NULL AND status != 'DECLINED' AND status = 'CONFIRMED') - sumIf(cashback_before, listed_before AND payout_id_before IS NULL AND status_before != 'DECLINED' AND status_before = 'CONFIRMED') AS confirmed
FROM (SELECT *, toUnixTimestamp64Milli(seen_at) > arrayMin([9999999999999, if(at < fromUnixTimestamp64Milli(2678400000, 'UTC'), 1, 9999999999999)]) AS late, toUnixTimestamp64Milli(if(late, seen_at, at)) AS effective FROM transaction_changes WHERE account = {account:String})
WHERE effective < {to:Int64}
GROUP BY id, currency_code
HAVING countIf(listed AND payout_id IS NULL AND status != 'DECLINED') != countIf(listed_before AND payout_id_before IS NULL AND status_before != 'DECLINED')
ORDER BY currency, due, sold, id;

-- selectRecordVersions
SELECT toString(id), synced_at, CAST(NULL AS Nullable(DateTime64(3, 'UTC'))), _deleted = 1, lower(hex(_hash)), toString(_run_id),
    toJSONString(CAST(tuple(id, total_transactions, total_gmv, aov, total_cashback, confirmed_transactions, declined_transactions, pending_transactions, confirmed_gmv, declined_gmv, pending_gmv, confirmed_cashback, declined_cashback, pending_cashback, start_date, end_date, _extra) AS Tuple(id Int64, total_transactions Nullable(Int64), total_gmv Nullable(Decimal(18, 4)), aov Nullable(Decimal(18, 6)), total_cashback Nullable(Decimal(18, 4)), confirmed_transactions Nullable(Int64), declined_transactions Nullable(Int64), pending_transactions Nullable(Int64), confirmed_gmv Nullable(Decimal(18, 4)), declined_gmv Nullable(Decimal(18, 4)), pending_gmv Nullable(Decimal(18, 4)), confirmed_cashback Nullable(Decimal(18, 4)), declined_cashback Nullable(Decimal(18, 4)), pending_cashback Nullable(Decimal(18, 4)), start_date Nullable(DateTime64(3, 'UTC')), end_date Nullable(DateTime64(3, 'UTC')), _extra String)))
FROM payouts_versions
WHERE account = {account:String} AND id IN (SELECT CAST(arrayJoin({keys:Array(String)}) AS Int64))
ORDER BY indexOf({keys:Array(String)}, toString(id)), _version, synced_at
SETTINGS output_format_json_named_tuples_as_objects = 1, output_format_json_quote_64bit_integers = 0,
    output_format_json_quote_decimals = 0, output_format_json_escape_forward_slashes = 0;

-- selectRetired
SELECT max(at), now64(3, 'UTC') FROM retention_log;

-- neededRuns
SELECT arrayJoin([argMin(run_id, started_at), argMax(run_id, started_at)]) AS run_id
    FROM sync_runs_log FINAL
    GROUP BY account, stream, mode, outcome, isNull(watermark)
    UNION ALL
    SELECT r.run_id FROM sync_runs_log AS r FINAL
    LEFT JOIN (SELECT account, stream, max(started_at) AS began FROM sync_runs_log FINAL WHERE mode NOT IN ('backfill', 'retry', 'references', 'forget') AND started_at <= now64(3, 'UTC') + toIntervalMinute(1) AND (outcome = 'success' AND (mode != 'initial' OR isNotNull(watermark))) GROUP BY account, stream) AS good
        ON good.account = r.account AND good.stream = r.stream
    WHERE r.started_at > ifNull(good.began, toDateTime64(0, 3, 'UTC')) OR r.outcome = 'running'
    UNION ALL
    SELECT toUUIDOrZero(JSONExtractString(value, 'run_id')) FROM sync_state
    UNION ALL
    SELECT arrayJoin([last.run_id, published.run_id]) FROM rejects_log;

-- selectOldRuns
SELECT account, stream, countIf(NOT needed) AS runs, groupArrayIf(toString(run_id), needed) AS kept FROM
(
    SELECT account, stream, run_id, run_id IN (SELECT arrayJoin([argMin(run_id, started_at), argMax(run_id, started_at)]) AS run_id
    FROM sync_runs_log FINAL
    GROUP BY account, stream, mode, outcome, isNull(watermark)
    UNION ALL
    SELECT r.run_id FROM sync_runs_log AS r FINAL
    LEFT JOIN (SELECT account, stream, max(started_at) AS began FROM sync_runs_log FINAL WHERE mode NOT IN ('backfill', 'retry', 'references', 'forget') AND started_at <= now64(3, 'UTC') + toIntervalMinute(1) AND (outcome = 'success' AND (mode != 'initial' OR isNotNull(watermark))) GROUP BY account, stream) AS good
        ON good.account = r.account AND good.stream = r.stream
    WHERE r.started_at > ifNull(good.began, toDateTime64(0, 3, 'UTC')) OR r.outcome = 'running'
    UNION ALL
    SELECT toUUIDOrZero(JSONExtractString(value, 'run_id')) FROM sync_state
    UNION ALL
    SELECT arrayJoin([last.run_id, published.run_id]) FROM rejects_log) AS needed FROM sync_runs_log FINAL
    WHERE started_at < fromUnixTimestamp64Milli({before:Int64}, 'UTC')
        AND (account, stream) NOT IN (SELECT account, stream FROM sync_state WHERE startsWith(name, 'intent:'))
)
GROUP BY account, stream
HAVING runs > 0
ORDER BY account, stream;

-- deleteRuns
ALTER TABLE sync_runs_log DELETE
WHERE started_at < fromUnixTimestamp64Milli(1, 'UTC') AND outcome = 'running' AND (account, stream) IN (('acme', 'coupons'))
    AND toString(run_id) NOT IN ('', '00000000-0000-4000-8000-00000000a11e');

-- deleteRuns, last
ALTER TABLE sync_runs_log DELETE
WHERE started_at < fromUnixTimestamp64Milli(1, 'UTC') AND outcome != 'running' AND (account, stream) IN (('acme', 'coupons'))
    AND toString(run_id) NOT IN ('', '00000000-0000-4000-8000-00000000a11e');

-- selectOldRejects
SELECT hex(sipHash128(account, stream, key, field, reason, raw_hash)) AS id FROM
(
    SELECT account, stream, key, field, reason, raw_hash FROM rejects_log
    WHERE stream = 'transactions' GROUP BY account, stream, key, field, reason, raw_hash
    HAVING max(written_at) < toDateTime(intDiv({before:Int64}, 1000), 'UTC')
)
WHERE (account, stream, key, field, reason, raw_hash) IN
(
    SELECT account, stream, key, field, reason, sipHash128(raw) FROM rejected_records
    WHERE stream = 'transactions' AND state != 'open'
)
ORDER BY id LIMIT {limit:UInt64};

-- deleteRejects
ALTER TABLE rejects_log DELETE WHERE stream = 'transactions' AND written_at < toDateTime(0, 'UTC') AND hex(sipHash128(account, stream, key, field, reason, raw_hash)) IN ('', '01', '02');

-- selectOldFindings
SELECT hex(sipHash128(account, kind, subject, detail_hash)) AS id FROM payout_findings_log FINAL
WHERE isNotNull(resolved_at) AND resolved_at < fromUnixTimestamp64Milli({before:Int64}, 'UTC')
ORDER BY id LIMIT {limit:UInt64};

-- deleteFindings
ALTER TABLE payout_findings_log DELETE WHERE isNull(resolved_at) AND last_seen < fromUnixTimestamp64Milli(1, 'UTC') AND hex(sipHash128(account, kind, subject, detail_hash)) IN ('', '01', '02');

-- deleteFindings, resolved
ALTER TABLE payout_findings_log DELETE WHERE isNotNull(resolved_at) AND last_seen < fromUnixTimestamp64Milli(1, 'UTC') AND hex(sipHash128(account, kind, subject, detail_hash)) IN ('', '01', '02');

-- selectOldVersions
SELECT hex(sipHash128(account, id, _version)) AS id FROM
(
    SELECT *, max(if(synced_at < fromUnixTimestamp64Milli({before:Int64}, 'UTC'), _nth, 0)) OVER (PARTITION BY account, id) AS _in_force FROM
    (
        SELECT account, id, _version, synced_at, sum(_starts) OVER (PARTITION BY account, id ORDER BY _version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS _nth FROM
        (
            SELECT account, id, _version, synced_at,
                row_number() OVER w = 1 OR _hash != lagInFrame(_hash) OVER w OR _deleted != lagInFrame(_deleted) OVER w AS _starts
            FROM promotions_versions
            WHERE (account, id) IN (SELECT account, id FROM promotions_versions WHERE synced_at < fromUnixTimestamp64Milli({before:Int64}, 'UTC') GROUP BY account, id HAVING count() > 1)
                AND account NOT IN (SELECT account FROM sync_state WHERE stream = 'promotions' AND startsWith(name, 'intent:'))
            WINDOW w AS (PARTITION BY account, id ORDER BY _version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
        )
    )
)
WHERE synced_at < fromUnixTimestamp64Milli({before:Int64}, 'UTC') AND _nth < _in_force
ORDER BY _nth, id LIMIT {limit:UInt64};

-- deleteVersions
ALTER TABLE promotions_versions DELETE WHERE synced_at < fromUnixTimestamp64Milli(1, 'UTC') AND hex(sipHash128(account, id, _version)) IN ('', '01', '02');

-- selectKnownStreams
SELECT DISTINCT account, stream FROM sync_state_log ORDER BY account, stream;

-- selectSchemaState
SELECT max(version), max(generation) FROM schema_migrations;

-- backUpTo
BACKUP DATABASE `dealhouse` TO Disk('backups', 'a');

-- restoreFrom
RESTORE DATABASE `dealhouse` FROM Disk('backups', 'a');

-- selectTimeAfter sync_state_log
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(max(version)) FROM sync_state_log WHERE account = {account:String} AND stream = {stream:String};

-- selectTimeAfter reference_misses_log
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(greatest(0, toUnixTimestamp64Micro(toDateTime64(max(asked_at), 6, 'UTC')))) FROM reference_misses_log WHERE account = {account:String} AND stream = {stream:String};

-- selectTimeAfter quality_checks_log
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(greatest(0, toUnixTimestamp64Micro(toDateTime64(max(checked_at), 6, 'UTC')))) FROM quality_checks_log WHERE account = {account:String} AND stream = {stream:String};

-- selectTimeAfter schema_migrations_log
SELECT toUnixTimestamp64Micro(now64(6)), toUInt64(greatest(0, toUnixTimestamp64Micro(toDateTime64(max(applied_at), 6, 'UTC')))) FROM schema_migrations_log;

-- insertInto schema_migrations_log
INSERT INTO schema_migrations_log (version, name, checksum, generation, tables, views, applied_at);

-- insertInto schema_turns_log
INSERT INTO schema_turns_log (id, owner, over, version);

-- insertInto sync_state_log
INSERT INTO sync_state_log (account, stream, name, value, version);

-- insertInto notifications_log
INSERT INTO notifications_log (receiver, id, queued, at, event, account, streams, subjects, title, text, state, attempts, next_at, error, ended_at, version);

-- insertInto unknown_fields_log
INSERT INTO unknown_fields_log (account, stream, field, first_seen);

-- insertInto field_presence_log
INSERT INTO field_presence_log (account, stream, field, scope, usual, missing_since, noted_at);

-- insertInto rejects_log
INSERT INTO rejects_log (account, stream, key, field, reason, raw, first_seen_at, seen_at, last);

-- insertInto rejects_log
INSERT INTO rejects_log (account, stream, key, field, reason, raw_hash, first_seen_at, settled);

-- insertInto reference_misses_log
INSERT INTO reference_misses_log (account, stream, id, reason, asked_at);
