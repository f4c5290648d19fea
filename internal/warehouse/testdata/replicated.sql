-- What is sent in the dialect replicated where a single server is sent something else, of the migrations, of products and of transactions.

-- createDatabase
CREATE DATABASE IF NOT EXISTS `dealhouse` ON CLUSTER `main`;

-- createMigrations
CREATE TABLE IF NOT EXISTS schema_migrations_log ON CLUSTER `main`
(
    version UInt32 COMMENT 'Number of the file in schema/; 0 stands for the tables of the streams and all views',
    name String COMMENT 'Name of the file',
    checksum String COMMENT 'SHA-256 of what was applied',
    generation UInt32 COMMENT 'Of the tables of the streams and all views: the higher is the newer; 0 for files',
    tables String COMMENT 'SHA-256 of the definitions of the tables of the streams, without their comments; empty for files',
    views String COMMENT 'SHA-256 of the definitions that the views then had in the warehouse; empty: not known',
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'By the clock of the warehouse'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/schema_migrations_log', '{replica}', applied_at)
ORDER BY version
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind schema_migrations';

-- createTurns
CREATE TABLE IF NOT EXISTS schema_turns_log ON CLUSTER `main`
(
    id UUID COMMENT 'Identifies the upgrade',
    owner String COMMENT 'Process that makes it: host/process/nonce',
    over UInt8 COMMENT '1 when it has ended, or stepped back',
    said_at DateTime64(6, 'UTC') DEFAULT now64(6) COMMENT 'When the process last said so, by the clock of the warehouse',
    version UInt64 COMMENT 'The highest wins'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/schema_turns_log', '{replica}', version)
ORDER BY id
TTL toDateTime(said_at) + toIntervalDay(30)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Processes that upgrade the schema: one at a time';

-- selectStagedRuns
SELECT DISTINCT id FROM
(
    SELECT toString(toUUIDOrZero(partition)) AS id
    FROM system.parts
    WHERE active AND database = currentDatabase() AND table = {staging:String}
    UNION ALL
    SELECT toString(toUUIDOrZero(replaceRegexpOne(extract(name, '_([0-9a-f]{32})$'), '^(.{8})(.{4})(.{4})(.{4})(.{12})$', '\\1-\\2-\\3-\\4-\\5')))
    FROM system.tables
    WHERE database = 'dealhouse_runs' AND arrayExists(prefix -> startsWith(name, prefix), {prefixes:Array(String)})
) WHERE id != '00000000-0000-0000-0000-000000000000';

-- createLocal 0
CREATE DATABASE IF NOT EXISTS `dealhouse_runs` ON CLUSTER `main`;

-- over several shards 1
DROP TABLE IF EXISTS gone ON CLUSTER `main`;

-- over several shards 2
CREATE OR REPLACE TABLE transactions ON CLUSTER `main` AS `dealhouse_shard`.transactions
ENGINE = Distributed('main', 'dealhouse_shard', 'transactions');

-- over several shards 3
CREATE OR REPLACE TABLE sync_runs_log ON CLUSTER `main` AS `dealhouse_shard`.sync_runs_log
ENGINE = Distributed('main', 'dealhouse_shard', 'sync_runs_log');

-- over several shards 4
CREATE OR REPLACE VIEW deals_active ON CLUSTER `main`;

-- over several shards 5
CREATE OR REPLACE VIEW over_shards ON CLUSTER `main` (files UInt32, generation UInt32);

-- views over several shards 1
CREATE DATABASE IF NOT EXISTS dealhouse_views ON CLUSTER `main`;

-- views over several shards 2
CREATE DATABASE IF NOT EXISTS dealhouse_views_with_parameters ON CLUSTER `main`;

-- views over several shards 3
CREATE OR REPLACE VIEW dealhouse_views_with_parameters.deals_active ON CLUSTER `main`;

-- views over several shards 4
CREATE OR REPLACE TABLE dealhouse_views.deals_active_now ON CLUSTER `main` AS `dealhouse_shard`.deals_active_now
ENGINE = Distributed('main', 'dealhouse_shard', 'deals_active_now');

-- selectMark
SELECT (files, generation) >= ({files:UInt32}, {generation:UInt32}) FROM over_shards;

-- selectShard
SELECT if(uniqExact(shard_num) = 1, toUInt64(any(shard_num)), 0) FROM system.clusters WHERE cluster = {cluster:String} AND is_local;

-- selectAccounts
SELECT DISTINCT toString(account) FROM sync_state_log;

-- selectNames
SELECT name FROM system.tables WHERE database = {database:String} AND NOT match(name, '_staging$|_ordered$|_[0-9a-f]{32}$|^schema_turns_log$')
ORDER BY name;

-- views 1
CREATE DATABASE IF NOT EXISTS dealhouse_views ON CLUSTER `main`;

-- views 2
CREATE DATABASE IF NOT EXISTS dealhouse_views_with_parameters ON CLUSTER `main`;

-- views 3
CREATE OR REPLACE VIEW dealhouse_views_with_parameters.deals_active ON CLUSTER `main`;

-- views 4
CREATE OR REPLACE VIEW dealhouse_views.deals_active_now ON CLUSTER `main`;

-- createPublicMark
CREATE OR REPLACE VIEW dealhouse_views.dealhouse_views ON CLUSTER `main` (database String, files UInt32, generation UInt32);

-- 0001_baseline.sql 1
CREATE TABLE IF NOT EXISTS sync_state_log ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    name LowCardinality(String) COMMENT 'watermark, clock (of the service), origin and loaded_from (which service it was), live (how many rows readers see), derived, behaviour (what a probe found the API to do), forgotten (hashes of what is not to be stored), checkpoint, lease, intent:<run> or backfill:<range>',
    value String COMMENT 'The state itself: a timestamp for a watermark, JSON for the others; empty when it is cleared',
    version UInt64 COMMENT 'The highest wins: the time of writing in microseconds, or a little more than all that the stream has; for a watermark the watermark itself, so that it can never move back',
    updated_at DateTime64(6, 'UTC') DEFAULT now64(6) COMMENT 'When it was written, by the clock of the warehouse'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/sync_state_log', '{replica}', version)
ORDER BY (account, stream, name)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Watermarks, checkpoints, merge intents and leases: the storage behind sync_state';

-- 0001_baseline.sql 2
CREATE TABLE IF NOT EXISTS sync_runs_log ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    run_id UUID COMMENT 'Identifies the run, also in rejected_records',
    mode LowCardinality(String) COMMENT 'snapshot, walk, incremental, full, initial (the first sync, in windows), backfill (of a range that was asked for), retry (of rejected records), references (rows that transactions name, by their own addresses), or forget (a user was removed)',
    started_at DateTime64(3, 'UTC') COMMENT 'By the clock of the warehouse',
    finished_at Nullable(DateTime64(3, 'UTC')) COMMENT 'By the clock of the warehouse; NULL while the run is under way',
    outcome LowCardinality(String) COMMENT 'running, success, incomplete (rows of the list may be missing: it moved, or says that it is not whole), failed, stopped (by a signal or an operator), guarded (a person must look) or killed',
    requested_after Nullable(DateTime64(3, 'UTC')) COMMENT 'The updatedAt after which rows were asked for; NULL: all',
    watermark Nullable(DateTime64(3, 'UTC')) COMMENT 'The watermark after the run; NULL for streams without one',
    server_time Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the service when the run began, as its first answer said; NULL: not known',
    pages UInt64 COMMENT 'Pages read; of references, addresses that answered',
    rows_read UInt64 COMMENT 'Records read, loaded or rejected',
    inserted UInt64 COMMENT 'Rows that were not there, or were deleted, before',
    updated UInt64 COMMENT 'Rows whose content changed',
    deleted UInt64 COMMENT 'Rows that a complete snapshot no longer had, and those that are out of scope',
    would_delete UInt64 COMMENT 'Rows that a run would have deleted, had a guard not stopped it',
    out_of_scope UInt64 COMMENT 'Deleted rows that are outside the present scope of the stream; they may still exist at the service',
    scope String COMMENT 'The filters of the list that was read, as JSON; empty: none, all of the stream',
    unchanged UInt64 COMMENT 'Rows read that were already there with the same content',
    older UInt64 COMMENT 'Rows read with other content but an older updatedAt than what is loaded, which stays: the next full read loads them',
    waiting UInt64 COMMENT 'Rows that the list no longer had and that wait for a confirmation, or for consent, before they are deleted',
    rejected UInt64 COMMENT 'Values and records of the run that could not be loaded as they were sent',
    duplicates UInt64 COMMENT 'Records whose key came more than once in the run; the newest counted',
    bytes UInt64 COMMENT 'JSON read, in bytes, after decompression',
    retries UInt64 COMMENT 'Requests that had to be repeated',
    warnings Array(String) COMMENT 'What the run noticed and carried on with',
    error String COMMENT 'Why the run failed; empty otherwise',
    cause LowCardinality(String) COMMENT 'What kept the run from its end: service and its address (no answer, or none now), key, request, answer (not what the API promises), time, list, guard, warehouse or program; empty: nothing, or not known',
    certificate String COMMENT 'What the run proves of its rows, as JSON: counts, sums of hashes, and the hash of the certificate before it; empty: it was not published',
    signature String COMMENT 'Ed25519 signature of the text of the certificate, in base64; empty: it is not signed',
    version UInt64 COMMENT 'The highest wins'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/sync_runs_log', '{replica}', version)
ORDER BY (account, stream, run_id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind sync_runs';

-- 0001_baseline.sql 3
CREATE TABLE IF NOT EXISTS payout_findings_log ON CLUSTER `main`
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
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/payout_findings_log', '{replica}', version)
ORDER BY (account, kind, subject, detail_hash)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind payout_findings';

-- 0001_baseline.sql 4
CREATE TABLE IF NOT EXISTS reference_misses_log ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream of the record that was asked for',
    id UUID COMMENT 'Key that a transaction names',
    reason LowCardinality(String) COMMENT 'not_found: the service does not know it; refused: it refused the request; unusable: what it gave is no record with this key',
    asked_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When it was asked for last, by the clock of the warehouse'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/reference_misses_log', '{replica}', asked_at)
ORDER BY (account, stream, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind reference_misses';

-- 0001_baseline.sql 5
CREATE TABLE IF NOT EXISTS quality_checks_log ON CLUSTER `main`
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
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/quality_checks_log', '{replica}', checked_at)
ORDER BY (account, stream, run_id, check)
TTL toDateTime(checked_at) + toIntervalDay(400)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind quality_checks';

-- 0001_baseline.sql 6
CREATE TABLE IF NOT EXISTS rejects_log ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    key String COMMENT 'Key of the record; empty when it has none',
    field String COMMENT 'JSON name of the field; empty for a whole record',
    reason LowCardinality(String) COMMENT 'Why it could not be loaded as it was sent',
    raw_hash FixedString(16) DEFAULT sipHash128(raw) COMMENT 'Tells values apart',
    raw SimpleAggregateFunction(max, String) COMMENT 'JSON of the value or the record, verbatim; empty in a row that settles',
    first_seen_at SimpleAggregateFunction(min, DateTime64(3, 'UTC')) COMMENT 'When it was met first, by the clock of the warehouse',
    seen_at SimpleAggregateFunction(max, DateTime64(3, 'UTC')) COMMENT 'When it was met last, by the clock of the warehouse',
    last SimpleAggregateFunction(max, Tuple(version UInt64, run_id UUID, page UInt32, read_at DateTime64(6, 'UTC'), updated Int64)) COMMENT 'The last reading of it; updated is the updatedAt of its record in milliseconds, 0 without one',
    published SimpleAggregateFunction(max, Tuple(version UInt64, run_id UUID, page UInt32, read_at DateTime64(6, 'UTC'), updated Int64)) COMMENT 'The last reading before that one whose run published what it read; its version is 0 without one',
    counted SimpleAggregateFunction(max, UInt64) COMMENT 'Version of the last reading that times and published take into account',
    times SimpleAggregateFunction(max, UInt64) COMMENT 'How many runs met it, without those that are not counted yet',
    settled SimpleAggregateFunction(max, Tuple(version UInt64, run_id UUID, state String, settled_by UUID, settled_at DateTime64(3, 'UTC'))) COMMENT 'What a retry has decided of the reading of the run run_id',
    written_at SimpleAggregateFunction(max, DateTime('UTC')) DEFAULT now() COMMENT 'By the clock of the warehouse'
)
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/dealhouse/rejects_log', '{replica}')
ORDER BY (account, stream, key, field, reason, raw_hash)
TTL written_at + toIntervalDay(90) DELETE WHERE stream != 'transactions'
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind rejected_records';

-- 0001_baseline.sql 7
CREATE TABLE IF NOT EXISTS absent_rows_log ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    key String COMMENT 'Key of the row',
    lists UInt16 COMMENT 'Complete lists in a row that did not have it; 0: the last one had it, or it is deleted',
    run_id UUID COMMENT 'The run that read the last of them',
    since DateTime64(3, 'UTC') COMMENT 'When the first of them was read, by the clock of the warehouse',
    version UInt64 COMMENT 'The highest wins'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/absent_rows_log', '{replica}', version)
ORDER BY (account, stream, key)
TTL toDateTime(since) + toIntervalDay(400) DELETE WHERE lists = 0
SETTINGS replicated_deduplication_window = 0
COMMENT 'Rows that complete lists no longer had: deleted once enough lists in a row did not have them';

-- 0001_baseline.sql 8
CREATE TABLE IF NOT EXISTS operator_actions_log ON CLUSTER `main`
(
    action_id UUID COMMENT 'Identifies the action',
    at DateTime64(3, 'UTC') COMMENT 'By the clock of the warehouse',
    actor String COMMENT 'Who: the user of the page and the API, or of the machine; empty for a run',
    via LowCardinality(String) COMMENT 'page, api or command; run for a run that used a consent',
    action LowCardinality(String) COMMENT 'run, run_full, pause, resume, consent, consent_used, cancel, reload or forget',
    account LowCardinality(String) COMMENT 'Account of the configuration; empty: none',
    stream LowCardinality(String) COMMENT 'Stream; empty: all of the account',
    run_id UUID COMMENT 'Of consent the run that the guard stopped, of consent_used the run that used it; zeros: none',
    deletes UInt64 COMMENT 'Of consent how many rows may be deleted, of consent_used how many the run wanted to delete',
    reason String COMMENT 'What the operator wrote',
    key String COMMENT 'Hash of the key by which the same request is known when it comes again; empty: none',
    request String COMMENT 'Hash of the request, so that its key cannot stand for another one',
    version UInt64 COMMENT 'Microseconds since 1970 by the clock of the warehouse; above those of all earlier actions'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/operator_actions_log', '{replica}', version)
ORDER BY (account, stream, action_id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind operator_actions';

-- 0001_baseline.sql 9
CREATE TABLE IF NOT EXISTS payout_acknowledgements_log ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    payout_id Int64 COMMENT 'Payout',
    kind LowCardinality(String) COMMENT 'expected_clawback, claimable, payout_error, not_loaded, vanished, missing, mismatched, altered or mixed_currency',
    currency_code LowCardinality(String) COMMENT 'Currency of the amounts; empty where there are none',
    at DateTime64(3, 'UTC') COMMENT 'When it was acknowledged, by the clock of the warehouse [UTC]',
    id UUID COMMENT 'Identifies the acknowledgement; those that were made at once share it',
    amount Decimal(38, 4) COMMENT 'Paid less worth, as it was acknowledged [currency_code]',
    entries Array(String) COMMENT 'What it is made of: ids of transactions, or a reason in words',
    amounts Array(Decimal(38, 4)) COMMENT 'The amount of each entry [currency_code]',
    tolerance Decimal(38, 4) COMMENT 'By how much the amounts may move before it is open again [currency_code]',
    reason LowCardinality(String) COMMENT 'expected, disputed, claimed, settled, written_off or other',
    note String COMMENT 'In the words of who acknowledged it',
    by String COMMENT 'Who acknowledged it'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/payout_acknowledgements_log', '{replica}')
ORDER BY (account, payout_id, kind, currency_code, at, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind payout_acknowledgements';

-- 0001_baseline.sql 10
CREATE TABLE IF NOT EXISTS statement_closes_log ON CLUSTER `main`
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
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/statement_closes_log', '{replica}')
ORDER BY (account, month, closed_at, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind statement_closes';

-- 0001_baseline.sql 11
CREATE TABLE IF NOT EXISTS notifications_log ON CLUSTER `main`
(
    receiver LowCardinality(String) COMMENT 'Receiver of the configuration',
    id UUID COMMENT 'Identifies the message; what is sent again has the same',
    queued UInt64 COMMENT 'Order in which messages are sent: microseconds since 1970 by the clock of the warehouse, above those before',
    at DateTime64(3, 'UTC') COMMENT 'When the process noticed it [UTC]',
    event LowCardinality(String) COMMENT 'failing, guarded, stale, recovered, findings, drift or test; empty: nothing was to be sent',
    account LowCardinality(String) COMMENT 'Account of the configuration; empty: several, or none',
    streams Array(String) COMMENT 'Streams that it is about; where it is about several accounts, each with its account',
    subjects Array(String) COMMENT 'What it tells: + that something holds, - that it holds no more',
    title String COMMENT 'The message in a line',
    text String COMMENT 'The message in full',
    state LowCardinality(String) COMMENT 'waiting, sent, dropped (too old, or too many waited), or noted (nothing was to be sent)',
    attempts UInt32 COMMENT 'How often it was tried to send it',
    next_at DateTime64(3, 'UTC') COMMENT 'When it is tried again, if it waits',
    error String COMMENT 'Why the last attempt failed; empty: it did not',
    ended_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was sent or dropped; NULL while it waits',
    version UInt64 COMMENT 'The highest wins; 0 as long as nothing was tried'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/notifications_log', '{replica}', version)
ORDER BY (receiver, id)
TTL toDateTime(at) + toIntervalDay(400)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind notifications';

-- 0001_baseline.sql 12
CREATE TABLE IF NOT EXISTS notification_edges_log ON CLUSTER `main`
(
    id UUID COMMENT 'Identifies the turn',
    owner String COMMENT 'Process that has it, or wants it: host/process/nonce',
    over UInt8 COMMENT '1 when it has ended, or stepped back',
    said_at DateTime64(6, 'UTC') DEFAULT now64(6) COMMENT 'When the process said so, by the clock of the warehouse',
    version UInt64 COMMENT 'The highest wins'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/notification_edges_log', '{replica}', version)
ORDER BY id
TTL toDateTime(said_at) + toIntervalDay(2)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Processes that decide what is told: one at a time';

-- 0001_baseline.sql 13
CREATE TABLE IF NOT EXISTS notification_sending_log ON CLUSTER `main`
(
    id UUID COMMENT 'Identifies the turn',
    owner String COMMENT 'Process that has it, or wants it: host/process/nonce',
    over UInt8 COMMENT '1 when it has ended, or stepped back',
    said_at DateTime64(6, 'UTC') DEFAULT now64(6) COMMENT 'When the process said so, by the clock of the warehouse',
    version UInt64 COMMENT 'The highest wins'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/notification_sending_log', '{replica}', version)
ORDER BY id
TTL toDateTime(said_at) + toIntervalDay(2)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Processes that send what waits: one at a time';

-- 0001_baseline.sql 14
CREATE TABLE IF NOT EXISTS unknown_fields_log ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    field String COMMENT 'Name of the field',
    first_seen DateTime64(3, 'UTC') COMMENT 'When a run first met it, by the clock of the warehouse'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/unknown_fields_log', '{replica}')
ORDER BY (account, stream, field)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind unknown_fields';

-- 0001_baseline.sql 15
CREATE TABLE IF NOT EXISTS retention_log ON CLUSTER `main`
(
    at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When it was removed, by the clock of the warehouse [UTC]',
    what LowCardinality(String) COMMENT 'runs, rejects (of transactions, settled) or findings (resolved)',
    older_than DateTime64(3, 'UTC') COMMENT 'What was older than that was removed, but for what is still needed [UTC]',
    removed UInt64 COMMENT 'How many'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/retention_log', '{replica}')
ORDER BY (at, what)
TTL toDateTime(at) + toIntervalDay(400)
SETTINGS replicated_deduplication_window = 0
COMMENT 'What was removed because of its age';

-- 0001_baseline.sql 16
CREATE TABLE IF NOT EXISTS settlements_log ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    reference String COMMENT 'By which the bank knows it; one of an account is one settlement',
    revision UInt32 COMMENT '1 as it was first imported, and one more for each correction',
    hash String COMMENT 'SHA-256 of what was imported, in hexadecimal digits: equal hashes are the same settlement',
    received_on Date COMMENT 'Day on which it reached the bank',
    currency_code LowCardinality(String) COMMENT 'Currency that reached the bank',
    amount Decimal(38, 4) COMMENT 'What reached the bank, after fees; below zero: it was taken back [currency_code]',
    fee Decimal(38, 4) COMMENT 'What the bank, or one before it, kept [currency_code]',
    payout_currency LowCardinality(String) COMMENT 'Currency in which it was sent',
    payout_amount Decimal(38, 4) COMMENT 'What was sent: amount and fee, or before it was converted [payout_currency]',
    unit Decimal(38, 4) COMMENT 'Smallest unit of payout_currency: payouts are rounded to it when they are sent [payout_currency]',
    payouts Array(Int64) COMMENT 'Payouts that it settles, as whoever imported it says; empty: not said',
    text String COMMENT 'In the words of the bank',
    at DateTime64(3, 'UTC') COMMENT 'When it was imported, by the clock of the warehouse [UTC]',
    id UUID COMMENT 'Identifies the import',
    source String COMMENT 'File or table that it was imported from',
    line UInt32 COMMENT 'Line of the file, or row of the table',
    by String COMMENT 'Who imported it',
    note String COMMENT 'Of a correction: why, in the words of who made it'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/settlements_log', '{replica}')
ORDER BY (account, reference, revision, hash)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind settlements';

-- 0001_baseline.sql 17
CREATE TABLE IF NOT EXISTS field_presence_log ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    field String COMMENT 'Name of the field, as the service has it',
    scope String COMMENT 'What was read of the stream; empty: all of it',
    usual Bool COMMENT 'Whether nearly every record of the last complete run that had it carried a value',
    missing_since Nullable(DateTime64(3, 'UTC')) COMMENT 'When a complete run first had it in no record; NULL: it has it',
    noted_at DateTime64(6, 'UTC') COMMENT 'When this was noted, by the clock of the warehouse: the latest wins'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/field_presence_log', '{replica}', noted_at)
ORDER BY (account, stream, field)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind vanished_fields';

-- 0001_baseline.sql 18
CREATE TABLE IF NOT EXISTS settlement_matches_log ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    reference String COMMENT 'Settlement (settlements_log.reference)',
    revision UInt32 COMMENT 'Revision that was matched (settlements_log.revision)',
    hash String COMMENT 'Its hash (settlements_log.hash)',
    at DateTime64(3, 'UTC') COMMENT 'When it was matched, by the clock of the warehouse [UTC]',
    matched_by LowCardinality(String) COMMENT 'named, reference or amount; empty: its payouts are not known',
    payouts Array(Int64) COMMENT 'Payouts that it settles',
    shares Array(Decimal(38, 4)) COMMENT 'What of payout_amount is for each of them [payout_currency]',
    fees Array(Decimal(38, 4)) COMMENT 'What of each share is a fee; 0 if it was converted [payout_currency]',
    rounding Array(Decimal(38, 4)) COMMENT 'What each payout paid, rounded, beyond what has arrived, if this was the last part of it [payout_currency]'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/settlement_matches_log', '{replica}')
ORDER BY (account, reference, at)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind the matches of settlements';

-- streams 1
CREATE TABLE IF NOT EXISTS promotions_latest ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Promotion identifier (API: id)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion becomes active [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion expires [UTC] (API: endDate)',
    description String COMMENT 'Description of the promotion; empty when absent (API: description)',
    retailer_id Nullable(UUID) COMMENT 'Retailer the promotion belongs to; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'URL of the retailer\'s website where the promotion can be used; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    deep_link String COMMENT 'Deep link for the promotion; empty when absent (API: deepLink)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    _extra String COMMENT 'Fields that dealhouse does not know, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows (2713d311)',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/promotions_latest', '{replica}', _version)
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view promotions';

-- streams 2
CREATE TABLE IF NOT EXISTS promotions_staging ON CLUSTER `main`
(
    run_id UUID,
    id UUID,
    start_date Int64,
    end_date Int64,
    description String,
    retailer_id UUID,
    url String,
    retailer_name String,
    hostname String,
    retailer_logo String,
    deep_link String,
    updated_at Int64,
    _nulls UInt64,
    _extra String,
    _page UInt32,
    _fetched Int64,
    _version UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(if(bitTest(_nulls, 3), 0, greatest(updated_at, 0))), 64), toUInt128(_fetched)),
    _hash FixedString(16) DEFAULT reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(_nulls, _extra, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at)), 64), toUInt128(xxHash64(_nulls, _extra, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at))), 'FixedString(16)') COMMENT 'Hash of the content: equal hashes are equal rows (2713d311)'
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, id)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

-- streams 3
CREATE TABLE IF NOT EXISTS promotions_versions ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Promotion identifier (API: id)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion becomes active [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion expires [UTC] (API: endDate)',
    description String COMMENT 'Description of the promotion; empty when absent (API: description)',
    retailer_id Nullable(UUID) COMMENT 'Retailer the promotion belongs to; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'URL of the retailer\'s website where the promotion can be used; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    deep_link String COMMENT 'Deep link for the promotion; empty when absent (API: deepLink)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    _extra String COMMENT 'Fields that dealhouse does not know, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows (2713d311)',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/dealhouse/promotions_versions', '{replica}')
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view promotions_history';

-- streams 4
CREATE TABLE IF NOT EXISTS coupons_latest ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Coupon identifier (API: id)',
    code String COMMENT 'The coupon code value; empty when absent (API: code)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon becomes active [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon expires [UTC] (API: endDate)',
    description String COMMENT 'Description of the coupon; empty when absent (API: description)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the coupon; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'URL of the retailer\'s website where the coupon can be used; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    _extra String COMMENT 'Fields that dealhouse does not know, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows (fe881a47)',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/coupons_latest', '{replica}', _version)
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view coupons';

-- streams 5
CREATE TABLE IF NOT EXISTS coupons_staging ON CLUSTER `main`
(
    run_id UUID,
    id UUID,
    code String,
    start_date Int64,
    end_date Int64,
    description String,
    retailer_id UUID,
    url String,
    retailer_name String,
    hostname String,
    updated_at Int64,
    retailer_logo String,
    _nulls UInt64,
    _extra String,
    _page UInt32,
    _fetched Int64,
    _version UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(if(bitTest(_nulls, 3), 0, greatest(updated_at, 0))), 64), toUInt128(_fetched)),
    _hash FixedString(16) DEFAULT reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(_nulls, _extra, code, start_date, end_date, description, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo)), 64), toUInt128(xxHash64(_nulls, _extra, code, start_date, end_date, description, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo))), 'FixedString(16)') COMMENT 'Hash of the content: equal hashes are equal rows (fe881a47)'
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, id)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

-- streams 6
CREATE TABLE IF NOT EXISTS coupons_versions ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Coupon identifier (API: id)',
    code String COMMENT 'The coupon code value; empty when absent (API: code)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon becomes active [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon expires [UTC] (API: endDate)',
    description String COMMENT 'Description of the coupon; empty when absent (API: description)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the coupon; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'URL of the retailer\'s website where the coupon can be used; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    _extra String COMMENT 'Fields that dealhouse does not know, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows (fe881a47)',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/dealhouse/coupons_versions', '{replica}')
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view coupons_history';

-- streams 7
CREATE TABLE IF NOT EXISTS cashback_offers_latest ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Offer identifier (API: id)',
    featured Nullable(Bool) COMMENT 'Whether the service features the offer as an outstanding deal (API: featured)',
    countries Array(LowCardinality(String)) COMMENT 'Countries where the offer is available, ISO 3166-1 alpha-2; empty when absent (API: countries)',
    maximum_fixed_commission_fee Nullable(Decimal(18, 4)) COMMENT 'Fixed cashback amount; NULL when the retailer offers a percentage instead [currency not stated] (API: maximumFixedCommissionFee)',
    description String COMMENT 'Description of the fixed cashback offer; empty when absent (API: description)',
    category LowCardinality(String) COMMENT 'Category of the offer; empty when absent (API: category)',
    terms_and_exclusions String COMMENT 'Terms and exclusions; empty when absent (API: termsAndExclusions)',
    cashback_percentage Nullable(Decimal(18, 9)) COMMENT 'Cashback in proportion to the order [fraction: 0.05 is 5 %] (API: cashbackPercentage)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the offer; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'Retailer website URL; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    _extra String COMMENT 'Fields that dealhouse does not know, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows (4fdee170)',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/cashback_offers_latest', '{replica}', _version)
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view cashback_offers';

-- streams 8
CREATE TABLE IF NOT EXISTS cashback_offers_staging ON CLUSTER `main`
(
    run_id UUID,
    id UUID,
    featured UInt8,
    countries String,
    maximum_fixed_commission_fee Int64,
    description String,
    category String,
    terms_and_exclusions String,
    cashback_percentage Int64,
    retailer_id UUID,
    url String,
    retailer_name String,
    hostname String,
    updated_at Int64,
    retailer_logo String,
    _nulls UInt64,
    _extra String,
    _page UInt32,
    _fetched Int64,
    _version UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(if(bitTest(_nulls, 4), 0, greatest(updated_at, 0))), 64), toUInt128(_fetched)),
    _hash FixedString(16) DEFAULT reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(_nulls, _extra, featured, countries, maximum_fixed_commission_fee, description, category, terms_and_exclusions, cashback_percentage, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo)), 64), toUInt128(xxHash64(_nulls, _extra, featured, countries, maximum_fixed_commission_fee, description, category, terms_and_exclusions, cashback_percentage, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo))), 'FixedString(16)') COMMENT 'Hash of the content: equal hashes are equal rows (4fdee170)'
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, id)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

-- streams 9
CREATE TABLE IF NOT EXISTS cashback_offers_versions ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Offer identifier (API: id)',
    featured Nullable(Bool) COMMENT 'Whether the service features the offer as an outstanding deal (API: featured)',
    countries Array(LowCardinality(String)) COMMENT 'Countries where the offer is available, ISO 3166-1 alpha-2; empty when absent (API: countries)',
    maximum_fixed_commission_fee Nullable(Decimal(18, 4)) COMMENT 'Fixed cashback amount; NULL when the retailer offers a percentage instead [currency not stated] (API: maximumFixedCommissionFee)',
    description String COMMENT 'Description of the fixed cashback offer; empty when absent (API: description)',
    category LowCardinality(String) COMMENT 'Category of the offer; empty when absent (API: category)',
    terms_and_exclusions String COMMENT 'Terms and exclusions; empty when absent (API: termsAndExclusions)',
    cashback_percentage Nullable(Decimal(18, 9)) COMMENT 'Cashback in proportion to the order [fraction: 0.05 is 5 %] (API: cashbackPercentage)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the offer; NULL when the service sent none or no UUID (API: retailerId)',
    url String COMMENT 'Retailer website URL; empty when absent (API: url)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website; empty when absent (API: hostname)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: logo)',
    _extra String COMMENT 'Fields that dealhouse does not know, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows (4fdee170)',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/dealhouse/cashback_offers_versions', '{replica}')
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view cashback_offers_history';

-- streams 10
CREATE TABLE IF NOT EXISTS transactions_latest ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier (API: id)',
    country LowCardinality(String) COMMENT 'Country code; empty when absent (API: country)',
    activated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Activation time [UTC] (API: activatedAt)',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time [UTC] (API: clickedAt)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (API: soldAt)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    currency_code LowCardinality(String) COMMENT 'Currency of order_value and cashback; empty when absent (API: currencyCode)',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Value of the order [currency_code] (API: orderValue)',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback amount [currency_code] (API: cashback)',
    status LowCardinality(String) COMMENT 'PENDING, CONFIRMED or DECLINED; the service may add values; empty when absent (API: status)',
    passback_uid String COMMENT 'Caller\'s own user identifier, as passed back; empty when absent (API: passbackUid)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction; NULL when the service sent none or no UUID (API: retailerId)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: retailerName)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: retailerLogo)',
    payout_id Nullable(Int64) COMMENT 'Payout that includes the transaction; NULL while in none (API: payoutId)',
    passback_data String COMMENT 'Caller\'s own data, as passed back; empty when absent (API: passbackData)',
    cashback_offer_id Nullable(UUID) COMMENT 'Cashback offer behind the transaction; NULL when there is none (API: cashbackOfferId)',
    coupon_id Nullable(UUID) COMMENT 'Coupon behind the transaction; NULL when there is none (API: couponId)',
    promotion_id Nullable(UUID) COMMENT 'Promotion behind the transaction; NULL when there is none (API: promotionId)',
    _extra String COMMENT 'Fields that dealhouse does not know, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows (15c6c6bb)',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address; 2 where a row was that has another sold_at now',
    _run_id UUID COMMENT 'Run that loaded this version',
    INDEX by_key id TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX by_passback_uid passback_uid TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/transactions_latest', '{replica}', _version)
ORDER BY (account, sold_at, id)
SETTINGS replicated_deduplication_window = 0, allow_nullable_key = 1
COMMENT 'Storage behind the view transactions';

-- streams 11
CREATE TABLE IF NOT EXISTS transactions_staging ON CLUSTER `main`
(
    run_id UUID,
    id UUID,
    country String,
    activated_at Int64,
    clicked_at Int64,
    sold_at Int64,
    updated_at Int64,
    currency_code String,
    order_value Int64,
    cashback Int64,
    status String,
    passback_uid String,
    retailer_id UUID,
    retailer_name String,
    retailer_logo String,
    payout_id Int64,
    passback_data String,
    cashback_offer_id UUID,
    coupon_id UUID,
    promotion_id UUID,
    _nulls UInt64,
    _extra String,
    _page UInt32,
    _fetched Int64,
    _version UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(if(bitTest(_nulls, 3), 0, greatest(updated_at, 0))), 64), toUInt128(_fetched)),
    _hash FixedString(16) DEFAULT reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(_nulls, _extra, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id)), 64), toUInt128(xxHash64(_nulls, _extra, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id))), 'FixedString(16)') COMMENT 'Hash of the content: equal hashes are equal rows (15c6c6bb)'
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, id)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

-- streams 12
CREATE TABLE IF NOT EXISTS transactions_versions ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier (API: id)',
    country LowCardinality(String) COMMENT 'Country code; empty when absent (API: country)',
    activated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Activation time [UTC] (API: activatedAt)',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time [UTC] (API: clickedAt)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (API: soldAt)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    currency_code LowCardinality(String) COMMENT 'Currency of order_value and cashback; empty when absent (API: currencyCode)',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Value of the order [currency_code] (API: orderValue)',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback amount [currency_code] (API: cashback)',
    status LowCardinality(String) COMMENT 'PENDING, CONFIRMED or DECLINED; the service may add values; empty when absent (API: status)',
    passback_uid String COMMENT 'Caller\'s own user identifier, as passed back; empty when absent (API: passbackUid)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction; NULL when the service sent none or no UUID (API: retailerId)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: retailerName)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: retailerLogo)',
    payout_id Nullable(Int64) COMMENT 'Payout that includes the transaction; NULL while in none (API: payoutId)',
    passback_data String COMMENT 'Caller\'s own data, as passed back; empty when absent (API: passbackData)',
    cashback_offer_id Nullable(UUID) COMMENT 'Cashback offer behind the transaction; NULL when there is none (API: cashbackOfferId)',
    coupon_id Nullable(UUID) COMMENT 'Coupon behind the transaction; NULL when there is none (API: couponId)',
    promotion_id Nullable(UUID) COMMENT 'Promotion behind the transaction; NULL when there is none (API: promotionId)',
    _extra String COMMENT 'Fields that dealhouse does not know, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows (15c6c6bb)',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address; 2 where a row was that has another sold_at now',
    _run_id UUID COMMENT 'Run that loaded this version',
    INDEX by_key id TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX by_passback_uid passback_uid TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/dealhouse/transactions_versions', '{replica}')
ORDER BY (account, sold_at, id)
SETTINGS replicated_deduplication_window = 0, allow_nullable_key = 1
COMMENT 'Storage behind the view transactions_history';

-- streams 13
CREATE TABLE IF NOT EXISTS transactions_keys ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier (API: id)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Where the row is in transactions_latest',
    _hash FixedString(16) COMMENT 'As in transactions_latest',
    _version UInt128 COMMENT 'As in transactions_latest',
    _deleted UInt8 COMMENT 'As in transactions_latest; 0 or 1',
    _ahead Int64 COMMENT 'updatedAt less the time in the version, in milliseconds; nearly always 0, also when there is no updatedAt'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/transactions_keys', '{replica}', _version)
PARTITION BY account
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0, index_granularity = 512
COMMENT 'Storage beside transactions_latest: what a run compares its rows with';

-- streams 14
CREATE TABLE IF NOT EXISTS transactions_decided ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    id UUID COMMENT 'Transaction identifier',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction',
    currency_code LowCardinality(String) COMMENT 'Currency of the transaction',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale',
    confirmed_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was seen to become CONFIRMED',
    declined_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was seen to become DECLINED',
    version UInt128 COMMENT 'Newest version of the transaction that this takes into account: the highest wins',
    _run_id UUID COMMENT 'Run that loaded the newest version of the transaction'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/transactions_decided', '{replica}', version)
PARTITION BY account
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind transaction_decisions: what would have to be computed from all versions';

-- streams 15
CREATE TABLE IF NOT EXISTS transactions_named ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream of the record that is named',
    key String COMMENT 'Key of the record that is named',
    newest SimpleAggregateFunction(max, Nullable(DateTime64(3, 'UTC'))) COMMENT 'Latest updatedAt of what names it',
    named_at SimpleAggregateFunction(min, DateTime64(3, 'UTC')) COMMENT 'When the first that names it was loaded',
    _run_id SimpleAggregateFunction(anyLast, UUID) COMMENT 'A run that loaded such a row'
)
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/dealhouse/transactions_named', '{replica}')
PARTITION BY account
ORDER BY (account, stream, key)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Which records of other streams are named by transactions, in any of their versions';

-- streams 16
CREATE TABLE IF NOT EXISTS payout_transactions_latest ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    payout_id Int64 COMMENT 'Payout that the transaction carries or carried',
    id UUID COMMENT 'Transaction identifier',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC]',
    retailer_name LowCardinality(String) COMMENT 'Retailer name',
    currency_code LowCardinality(String) COMMENT 'Currency as stamped',
    state LowCardinality(String) COMMENT 'same, changed, moved or gone; empty: the row stands for none',
    stamped_status LowCardinality(String) COMMENT 'Status as stamped',
    stamped_order_value Nullable(Decimal(18, 4)) COMMENT 'Order value as stamped',
    stamped_cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback as stamped',
    stamped_at Nullable(DateTime64(3, 'UTC')) COMMENT 'updatedAt of the first version that carries the payoutId [UTC]',
    stamped_seen_at DateTime64(3, 'UTC') COMMENT 'When that version was loaded [UTC]',
    stamped_is_first_known UInt8 COMMENT '1 when no earlier version of the transaction is known',
    status LowCardinality(String) COMMENT 'Status as of now',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Order value as of now',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback as of now',
    payout_id_now Nullable(Int64) COMMENT 'Payout as of now',
    currency_code_now LowCardinality(String) COMMENT 'Currency as of now',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'updatedAt as of now [UTC]',
    turned_at Nullable(DateTime64(3, 'UTC')) COMMENT 'updatedAt of the version since which it stands as it does now [UTC]',
    turned_seen_at DateTime64(3, 'UTC') COMMENT 'When that version was loaded [UTC]',
    version UInt64 COMMENT 'The highest wins',
    _run_id UUID COMMENT 'Run that loaded the row'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/payout_transactions_latest', '{replica}', version)
PARTITION BY account
ORDER BY (account, payout_id, id)
SETTINGS replicated_deduplication_window = 0, index_granularity = 1024
COMMENT 'Storage behind the view payout_transactions';

-- streams 17
CREATE TABLE IF NOT EXISTS payout_moves_latest ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier',
    payout_ids Array(Int64) COMMENT 'All payouts that it ever carried; empty: the row stands for none',
    version UInt64 COMMENT 'The highest wins',
    _run_id UUID COMMENT 'Run that loaded the row'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/payout_moves_latest', '{replica}', version)
PARTITION BY account
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0, index_granularity = 1024
COMMENT 'Which payouts the transactions carried that do not carry one alone';

-- streams 18
CREATE TABLE IF NOT EXISTS payout_sums_latest ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    payout_id Int64 COMMENT 'Payout',
    quarters Int64 COMMENT 'Quarters of an hour from 1970 to stamped_at; the lowest number there is: it is not known',
    currency_code LowCardinality(String) COMMENT 'Currency as stamped',
    state LowCardinality(String) COMMENT 'As in payout_transactions',
    stamped_status LowCardinality(String) COMMENT 'Status as stamped',
    now_status LowCardinality(String) COMMENT 'Status as of now',
    stamped_n Int64 COMMENT 'Number of transactions, as stamped; 0: the row stands for none',
    stamped_gmv Decimal(38, 4) COMMENT 'Sum of their order_value as stamped',
    stamped_cashback Decimal(38, 4) COMMENT 'Sum of their cashback as stamped',
    now_n Int64 COMMENT 'Number of those that carry the payoutId as of now',
    now_gmv Decimal(38, 4) COMMENT 'Sum of their order_value as of now',
    now_cashback Decimal(38, 4) COMMENT 'Sum of their cashback as of now',
    at_stake Decimal(38, 4) COMMENT 'Cashback as stamped less cashback as of now',
    version UInt64 COMMENT 'The highest wins',
    _run_id UUID COMMENT 'Run that loaded the row'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/payout_sums_latest', '{replica}', version)
PARTITION BY account
ORDER BY (account, payout_id, quarters, currency_code, state, stamped_status, now_status)
SETTINGS replicated_deduplication_window = 0, index_granularity = 1024
COMMENT 'Storage behind the view payout_sums';

-- streams 19
CREATE TABLE IF NOT EXISTS payouts_latest ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id Int64 COMMENT 'Payout identifier (API: id)',
    total_transactions Nullable(Int64) COMMENT 'Number of transactions in the payout [count] (API: totalTransactions)',
    total_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of the transactions in the payout [the currency of the payout\'s transactions] (API: totalGmv)',
    aov Nullable(Decimal(18, 6)) COMMENT 'Average order value: total_gmv / total_transactions, as the service computed it [the currency of the payout\'s transactions] (API: aov)',
    total_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of the transactions in the payout [the currency of the payout\'s transactions] (API: totalCashback)',
    confirmed_transactions Nullable(Int64) COMMENT 'Count of transactions with status CONFIRMED [count] (API: confirmedTransactions)',
    declined_transactions Nullable(Int64) COMMENT 'Count of transactions with status DECLINED [count] (API: declinedTransactions)',
    pending_transactions Nullable(Int64) COMMENT 'Count of transactions with status PENDING [count] (API: pendingTransactions)',
    confirmed_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of CONFIRMED transactions [the currency of the payout\'s transactions] (API: confirmedGmv)',
    declined_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of DECLINED transactions [the currency of the payout\'s transactions] (API: declinedGmv)',
    pending_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of PENDING transactions [the currency of the payout\'s transactions] (API: pendingGmv)',
    confirmed_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of CONFIRMED transactions [the currency of the payout\'s transactions] (API: confirmedCashback)',
    declined_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of DECLINED transactions [the currency of the payout\'s transactions] (API: declinedCashback)',
    pending_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of PENDING transactions [the currency of the payout\'s transactions] (API: pendingCashback)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the first transaction included [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the last transaction included [UTC] (API: endDate)',
    _extra String COMMENT 'Fields that dealhouse does not know, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows (e90b5394)',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/payouts_latest', '{replica}', _version)
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view payouts';

-- streams 20
CREATE TABLE IF NOT EXISTS payouts_staging ON CLUSTER `main`
(
    run_id UUID,
    id Int64,
    total_transactions Int64,
    total_gmv Int64,
    aov Int64,
    total_cashback Int64,
    confirmed_transactions Int64,
    declined_transactions Int64,
    pending_transactions Int64,
    confirmed_gmv Int64,
    declined_gmv Int64,
    pending_gmv Int64,
    confirmed_cashback Int64,
    declined_cashback Int64,
    pending_cashback Int64,
    start_date Int64,
    end_date Int64,
    _nulls UInt64,
    _extra String,
    _page UInt32,
    _fetched Int64,
    _version UInt128 MATERIALIZED toUInt128(_fetched),
    _hash FixedString(16) DEFAULT reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(_nulls, _extra, total_transactions, total_gmv, aov, total_cashback, confirmed_transactions, declined_transactions, pending_transactions, confirmed_gmv, declined_gmv, pending_gmv, confirmed_cashback, declined_cashback, pending_cashback, start_date, end_date)), 64), toUInt128(xxHash64(_nulls, _extra, total_transactions, total_gmv, aov, total_cashback, confirmed_transactions, declined_transactions, pending_transactions, confirmed_gmv, declined_gmv, pending_gmv, confirmed_cashback, declined_cashback, pending_cashback, start_date, end_date))), 'FixedString(16)') COMMENT 'Hash of the content: equal hashes are equal rows (e90b5394)'
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, id)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

-- streams 21
CREATE TABLE IF NOT EXISTS payouts_versions ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id Int64 COMMENT 'Payout identifier (API: id)',
    total_transactions Nullable(Int64) COMMENT 'Number of transactions in the payout [count] (API: totalTransactions)',
    total_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of the transactions in the payout [the currency of the payout\'s transactions] (API: totalGmv)',
    aov Nullable(Decimal(18, 6)) COMMENT 'Average order value: total_gmv / total_transactions, as the service computed it [the currency of the payout\'s transactions] (API: aov)',
    total_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of the transactions in the payout [the currency of the payout\'s transactions] (API: totalCashback)',
    confirmed_transactions Nullable(Int64) COMMENT 'Count of transactions with status CONFIRMED [count] (API: confirmedTransactions)',
    declined_transactions Nullable(Int64) COMMENT 'Count of transactions with status DECLINED [count] (API: declinedTransactions)',
    pending_transactions Nullable(Int64) COMMENT 'Count of transactions with status PENDING [count] (API: pendingTransactions)',
    confirmed_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of CONFIRMED transactions [the currency of the payout\'s transactions] (API: confirmedGmv)',
    declined_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of DECLINED transactions [the currency of the payout\'s transactions] (API: declinedGmv)',
    pending_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of PENDING transactions [the currency of the payout\'s transactions] (API: pendingGmv)',
    confirmed_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of CONFIRMED transactions [the currency of the payout\'s transactions] (API: confirmedCashback)',
    declined_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of DECLINED transactions [the currency of the payout\'s transactions] (API: declinedCashback)',
    pending_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of PENDING transactions [the currency of the payout\'s transactions] (API: pendingCashback)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the first transaction included [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the last transaction included [UTC] (API: endDate)',
    _extra String COMMENT 'Fields that dealhouse does not know, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows (e90b5394)',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/dealhouse/payouts_versions', '{replica}')
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view payouts_history';

-- streams 22
CREATE TABLE IF NOT EXISTS products_latest ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    product_key UUID COMMENT 'Key derived from the fields that product_key_rule names',
    product_key_rule LowCardinality(String) COMMENT 'Rule that gave the key: url_gtin, url_mpn, url_sku, url_asin, url, asin, gtin, brand_mpn or brand_sku',
    last_viewed_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When the product was last viewed; NULL when the format is not understood [UTC] (API: lastViewedAt)',
    url String COMMENT 'Product page; empty when absent (API: url)',
    name String COMMENT 'Product name; empty when absent (API: name)',
    price Nullable(Decimal(18, 4)) COMMENT 'Current price [currency_code] (API: price)',
    currency_code LowCardinality(String) COMMENT 'Currency of price; empty when absent (API: currencyCode)',
    brand_name String COMMENT 'Brand; empty when absent (API: brandName)',
    description String COMMENT 'Description; empty when absent (API: description)',
    image_urls Array(String) COMMENT 'Image URLs; empty when absent (API: imageUrls)',
    category_id LowCardinality(String) COMMENT 'Category identifier; empty when absent (API: categoryId)',
    category_version LowCardinality(String) COMMENT 'Version of the category tree; empty when absent (API: categoryVersion)',
    category_breadcrumb LowCardinality(String) COMMENT 'Path of the category; empty when absent (API: categoryBreadcrumb)',
    asin String COMMENT 'Amazon Standard Identification Number; empty when absent (API: asin)',
    sku String COMMENT 'Stock keeping unit; empty when absent (API: sku)',
    gtin String COMMENT 'Global Trade Item Number; empty when absent (API: gtin)',
    mpn String COMMENT 'Manufacturer part number; empty when absent (API: mpn)',
    rating_value Nullable(Decimal(18, 6)) COMMENT 'Average rating (API: ratingValue)',
    rating_count Nullable(Int64) COMMENT 'Number of ratings [count] (API: ratingCount)',
    best_rating Nullable(Decimal(18, 6)) COMMENT 'Best rating possible (API: bestRating)',
    worst_rating Nullable(Decimal(18, 6)) COMMENT 'Worst rating possible (API: worstRating)',
    _extra String COMMENT 'Fields that dealhouse does not know, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows (9f9d97b6)',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/products_latest', '{replica}', _version)
ORDER BY (account, product_key)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view products';

-- streams 23
CREATE TABLE IF NOT EXISTS products_staging ON CLUSTER `main`
(
    run_id UUID,
    product_key UUID,
    product_key_rule String,
    last_viewed_at Int64,
    url String,
    name String,
    price Int64,
    currency_code String,
    brand_name String,
    description String,
    image_urls String,
    category_id String,
    category_version String,
    category_breadcrumb String,
    asin String,
    sku String,
    gtin String,
    mpn String,
    rating_value Int64,
    rating_count Int64,
    best_rating Int64,
    worst_rating Int64,
    _nulls UInt64,
    _extra String,
    _page UInt32,
    _fetched Int64,
    _entries String,
    _version UInt128 MATERIALIZED toUInt128(_fetched),
    _hash FixedString(16) DEFAULT reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(_nulls, _extra, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating)), 64), toUInt128(xxHash64(_nulls, _extra, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating))), 'FixedString(16)') COMMENT 'Hash of the content: equal hashes are equal rows (9f9d97b6)'
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, product_key)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

-- streams 24
CREATE TABLE IF NOT EXISTS product_price_changes_latest ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    day Date COMMENT 'First day of the new price',
    product_key UUID COMMENT 'Key derived from the fields that product_key_rule names',
    currency_code LowCardinality(String) COMMENT 'Currency of the prices',
    price Decimal(18, 4) COMMENT 'New price; equal to the old one: the row stands for no change',
    previous_day Date COMMENT 'Last day of the old price of which there is a record',
    previous_price Decimal(18, 4) COMMENT 'Old price',
    views Nullable(Int64) COMMENT 'Views on the first day of the new price',
    previous_views Nullable(Int64) COMMENT 'Views on previous_day',
    version UInt64 COMMENT 'The highest wins',
    _run_id UUID COMMENT 'Run that loaded the row'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/product_price_changes_latest', '{replica}', version)
PARTITION BY account
ORDER BY (account, day, product_key)
SETTINGS replicated_deduplication_window = 0, index_granularity = 1024
COMMENT 'Storage behind the view product_price_changes';

-- streams 25
CREATE TABLE IF NOT EXISTS product_prices_latest ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    product_key UUID COMMENT 'Key derived from the fields that product_key_rule names',
    day Date COMMENT 'Day of the price (API: yearMonthDay)',
    price Nullable(Decimal(18, 4)) COMMENT 'Price on that day [currency_code] (API: price)',
    views Nullable(Int64) COMMENT 'Views on that day [count] (API: views)',
    currency_code LowCardinality(String) COMMENT 'Currency of the product when the day was read; empty when absent (API: currencyCode)',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _version UInt64 COMMENT 'Time of reading in microseconds since 1970: the highest wins',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/product_prices_latest', '{replica}', _version)
ORDER BY (account, product_key, day)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view product_prices';

-- streams 26
CREATE TABLE IF NOT EXISTS product_prices_hashes ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    product_key UUID COMMENT 'Key derived from the fields that product_key_rule names',
    hash FixedString(16) COMMENT 'Hash of the entries that were last loaded: of a record with equal ones, none is looked at',
    _version UInt64 COMMENT 'Time of reading in microseconds since 1970: the highest wins',
    _run_id UUID COMMENT 'Run that loaded them'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/product_prices_hashes', '{replica}', _version)
ORDER BY (account, product_key)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Which entries of product_prices were last loaded';

-- streams 27
CREATE OR REPLACE VIEW promotions ON CLUSTER `main`;

-- streams 28
CREATE OR REPLACE VIEW promotions_all ON CLUSTER `main`;

-- streams 29
CREATE OR REPLACE VIEW promotions_history ON CLUSTER `main`;

-- streams 30
CREATE OR REPLACE VIEW promotions_as_of ON CLUSTER `main`;

-- streams 31
CREATE OR REPLACE VIEW coupons ON CLUSTER `main`;

-- streams 32
CREATE OR REPLACE VIEW coupons_all ON CLUSTER `main`;

-- streams 33
CREATE OR REPLACE VIEW coupons_history ON CLUSTER `main`;

-- streams 34
CREATE OR REPLACE VIEW coupons_as_of ON CLUSTER `main`;

-- streams 35
CREATE OR REPLACE VIEW cashback_offers ON CLUSTER `main`;

-- streams 36
CREATE OR REPLACE VIEW offers_all ON CLUSTER `main`;

-- streams 37
CREATE OR REPLACE VIEW cashback_offers_history ON CLUSTER `main`;

-- streams 38
CREATE OR REPLACE VIEW cashback_offers_as_of ON CLUSTER `main`;

-- streams 39
CREATE OR REPLACE VIEW transactions ON CLUSTER `main`;

-- streams 40
CREATE OR REPLACE VIEW transactions_history ON CLUSTER `main`;

-- streams 41
CREATE OR REPLACE VIEW transactions_as_of ON CLUSTER `main`;

-- streams 42
CREATE OR REPLACE VIEW transactions_by_passback_uid ON CLUSTER `main`;

-- streams 43
CREATE OR REPLACE VIEW payouts ON CLUSTER `main`;

-- streams 44
CREATE OR REPLACE VIEW payouts_history ON CLUSTER `main`;

-- streams 45
CREATE OR REPLACE VIEW payouts_as_of ON CLUSTER `main`;

-- streams 46
CREATE OR REPLACE VIEW products ON CLUSTER `main`;

-- streams 47
CREATE OR REPLACE VIEW product_prices ON CLUSTER `main`;

-- streams 48
CREATE OR REPLACE VIEW stream_counts ON CLUSTER `main`;

-- streams 49
CREATE OR REPLACE VIEW sync_state ON CLUSTER `main`;

-- streams 50
CREATE OR REPLACE VIEW payout_findings ON CLUSTER `main`;

-- streams 51
CREATE OR REPLACE VIEW statement_closes ON CLUSTER `main`;

-- streams 52
CREATE OR REPLACE VIEW settlement_revisions ON CLUSTER `main`;

-- streams 53
CREATE OR REPLACE VIEW vanished_fields ON CLUSTER `main`;

-- streams 54
CREATE OR REPLACE VIEW rejected_records ON CLUSTER `main`;

-- streams 55
CREATE OR REPLACE VIEW service_clock ON CLUSTER `main`;

-- streams 56
CREATE OR REPLACE VIEW payout_transactions ON CLUSTER `main`;

-- streams 57
CREATE OR REPLACE VIEW payout_sums ON CLUSTER `main`;

-- streams 58
CREATE OR REPLACE VIEW payout_alterations ON CLUSTER `main`;

-- streams 59
CREATE OR REPLACE VIEW payout_reconciliation ON CLUSTER `main`;

-- streams 60
CREATE OR REPLACE VIEW payout_orphans ON CLUSTER `main`;

-- streams 61
CREATE OR REPLACE VIEW payout_unpaid ON CLUSTER `main`;

-- streams 62
CREATE OR REPLACE VIEW payout_overdue ON CLUSTER `main`;

-- streams 63
CREATE OR REPLACE VIEW transactions_enriched ON CLUSTER `main`;

-- streams 64
CREATE OR REPLACE VIEW retailers ON CLUSTER `main`;

-- streams 65
CREATE OR REPLACE VIEW daily_sales ON CLUSTER `main`;

-- streams 66
CREATE OR REPLACE VIEW daily_cashback ON CLUSTER `main`;

-- streams 67
CREATE OR REPLACE VIEW transaction_decisions ON CLUSTER `main`;

-- streams 68
CREATE OR REPLACE VIEW confirmation_funnel ON CLUSTER `main`;

-- streams 69
CREATE OR REPLACE VIEW deals_active ON CLUSTER `main`;

-- streams 70
CREATE OR REPLACE VIEW deals_active_now ON CLUSTER `main`;

-- streams 71
CREATE OR REPLACE VIEW product_price_changes ON CLUSTER `main`;

-- streams 72
CREATE OR REPLACE VIEW rate_audit ON CLUSTER `main`;

-- streams 73
CREATE OR REPLACE VIEW reference_misses ON CLUSTER `main`;

-- streams 74
CREATE OR REPLACE VIEW transaction_changes ON CLUSTER `main`;

-- streams 75
CREATE OR REPLACE VIEW late_changes ON CLUSTER `main`;

-- streams 76
CREATE OR REPLACE VIEW payout_paid ON CLUSTER `main`;

-- streams 77
CREATE OR REPLACE VIEW settlements ON CLUSTER `main`;

-- streams 78
CREATE OR REPLACE VIEW payout_three_way ON CLUSTER `main`;

-- streams 79
CREATE OR REPLACE VIEW stream_freshness ON CLUSTER `main`;

-- streams 80
CREATE OR REPLACE VIEW quality_checks ON CLUSTER `main`;

-- streams 81
CREATE OR REPLACE VIEW operator_actions ON CLUSTER `main`;

-- streams 82
CREATE OR REPLACE VIEW notifications ON CLUSTER `main`;

-- streams 83
CREATE OR REPLACE VIEW unknown_fields ON CLUSTER `main`;

-- streams 84
CREATE OR REPLACE VIEW payout_acknowledgements ON CLUSTER `main`;

-- streams 85
CREATE OR REPLACE VIEW sync_runs ON CLUSTER `main`;

-- createLatest
CREATE TABLE IF NOT EXISTS products_latest ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    product_key UUID COMMENT 'Key derived from the fields that product_key_rule names',
    product_key_rule LowCardinality(String) COMMENT 'Rule that gave the key: url_gtin, url_mpn, url_sku, url_asin, url, asin, gtin, brand_mpn or brand_sku',
    last_viewed_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When the product was last viewed; NULL when the format is not understood [UTC] (API: lastViewedAt)',
    url String COMMENT 'Product page; empty when absent (API: url)',
    name String COMMENT 'Product name; empty when absent (API: name)',
    price Nullable(Decimal(18, 4)) COMMENT 'Current price [currency_code] (API: price)',
    currency_code LowCardinality(String) COMMENT 'Currency of price; empty when absent (API: currencyCode)',
    brand_name String COMMENT 'Brand; empty when absent (API: brandName)',
    description String COMMENT 'Description; empty when absent (API: description)',
    image_urls Array(String) COMMENT 'Image URLs; empty when absent (API: imageUrls)',
    category_id LowCardinality(String) COMMENT 'Category identifier; empty when absent (API: categoryId)',
    category_version LowCardinality(String) COMMENT 'Version of the category tree; empty when absent (API: categoryVersion)',
    category_breadcrumb LowCardinality(String) COMMENT 'Path of the category; empty when absent (API: categoryBreadcrumb)',
    asin String COMMENT 'Amazon Standard Identification Number; empty when absent (API: asin)',
    sku String COMMENT 'Stock keeping unit; empty when absent (API: sku)',
    gtin String COMMENT 'Global Trade Item Number; empty when absent (API: gtin)',
    mpn String COMMENT 'Manufacturer part number; empty when absent (API: mpn)',
    rating_value Nullable(Decimal(18, 6)) COMMENT 'Average rating (API: ratingValue)',
    rating_count Nullable(Int64) COMMENT 'Number of ratings [count] (API: ratingCount)',
    best_rating Nullable(Decimal(18, 6)) COMMENT 'Best rating possible (API: bestRating)',
    worst_rating Nullable(Decimal(18, 6)) COMMENT 'Worst rating possible (API: worstRating)',
    _extra String COMMENT 'Fields that dealhouse does not know, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows (9f9d97b6)',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/products_latest', '{replica}', _version)
ORDER BY (account, product_key)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view products';

-- createStaging
CREATE TABLE IF NOT EXISTS products_staging ON CLUSTER `main`
(
    run_id UUID,
    product_key UUID,
    product_key_rule String,
    last_viewed_at Int64,
    url String,
    name String,
    price Int64,
    currency_code String,
    brand_name String,
    description String,
    image_urls String,
    category_id String,
    category_version String,
    category_breadcrumb String,
    asin String,
    sku String,
    gtin String,
    mpn String,
    rating_value Int64,
    rating_count Int64,
    best_rating Int64,
    worst_rating Int64,
    _nulls UInt64,
    _extra String,
    _page UInt32,
    _fetched Int64,
    _entries String,
    _version UInt128 MATERIALIZED toUInt128(_fetched),
    _hash FixedString(16) DEFAULT reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(_nulls, _extra, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating)), 64), toUInt128(xxHash64(_nulls, _extra, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating))), 'FixedString(16)') COMMENT 'Hash of the content: equal hashes are equal rows (9f9d97b6)'
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, product_key)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

-- createView
CREATE OR REPLACE VIEW products ON CLUSTER `main`;

-- rehash
ALTER TABLE products_staging ON CLUSTER `main` MODIFY COLUMN _hash FixedString(16) DEFAULT reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(_nulls, _extra, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating)), 64), toUInt128(xxHash64(_nulls, _extra, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating))), 'FixedString(16)');

-- hashStatements 2
ALTER TABLE products_staging ON CLUSTER `main` MATERIALIZE COLUMN _hash SETTINGS mutations_sync = 1;

-- hashStatements 3
ALTER TABLE products_staging ON CLUSTER `main` COMMENT COLUMN _hash 'Hash of the content: equal hashes are equal rows (9f9d97b6)';

-- hashStatements 5
ALTER TABLE products_latest ON CLUSTER `main` COMMENT COLUMN _hash 'Hash of the content: equal hashes are equal rows (9f9d97b6)';

-- createChildLatest
CREATE TABLE IF NOT EXISTS product_prices_latest ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    product_key UUID COMMENT 'Key derived from the fields that product_key_rule names',
    day Date COMMENT 'Day of the price (API: yearMonthDay)',
    price Nullable(Decimal(18, 4)) COMMENT 'Price on that day [currency_code] (API: price)',
    views Nullable(Int64) COMMENT 'Views on that day [count] (API: views)',
    currency_code LowCardinality(String) COMMENT 'Currency of the product when the day was read; empty when absent (API: currencyCode)',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _version UInt64 COMMENT 'Time of reading in microseconds since 1970: the highest wins',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/product_prices_latest', '{replica}', _version)
ORDER BY (account, product_key, day)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view product_prices';

-- createChildHashes
CREATE TABLE IF NOT EXISTS product_prices_hashes ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    product_key UUID COMMENT 'Key derived from the fields that product_key_rule names',
    hash FixedString(16) COMMENT 'Hash of the entries that were last loaded: of a record with equal ones, none is looked at',
    _version UInt64 COMMENT 'Time of reading in microseconds since 1970: the highest wins',
    _run_id UUID COMMENT 'Run that loaded them'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/product_prices_hashes', '{replica}', _version)
ORDER BY (account, product_key)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Which entries of product_prices were last loaded';

-- createChildView
CREATE OR REPLACE VIEW product_prices ON CLUSTER `main`;

-- addColumns to products_latest
ALTER TABLE products_latest ON CLUSTER `main` ADD COLUMN IF NOT EXISTS _run_id UUID COMMENT 'Run that loaded this version' AFTER _deleted;

-- addColumns to products_staging
ALTER TABLE products_staging ON CLUSTER `main` ADD COLUMN IF NOT EXISTS _entries String AFTER _fetched;

-- addColumns to product_prices_latest
ALTER TABLE product_prices_latest ON CLUSTER `main` ADD COLUMN IF NOT EXISTS _run_id UUID COMMENT 'Run that loaded this version' AFTER _version;

-- addColumns to product_prices_hashes
ALTER TABLE product_prices_hashes ON CLUSTER `main` ADD COLUMN IF NOT EXISTS _run_id UUID COMMENT 'Run that loaded them' AFTER _version;

-- dropOldChanges
DROP TABLE IF EXISTS `dealhouse_runs`.products_changes_0000000000004000800000000000a11e;

-- createChanges
CREATE TABLE IF NOT EXISTS `dealhouse_runs`.products_changes_0000000000004000800000000000a11e (product_key UUID, change UInt8, version UInt128, was UInt64, now UInt64)
ENGINE = MergeTree ORDER BY product_key
COMMENT 'What a run under way will change';

-- insertChanges of a part
INSERT INTO `dealhouse_runs`.products_changes_0000000000004000800000000000a11e (product_key, change, version, was, now)
WITH
    bitShiftRight(least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 64) AS s_own,
    least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped,
    l_capped AS l_changed,
    s_own AS s_changed,
    bitAnd(s._version, toUInt128(18446744073709551615)) AS s_read,
    if(bitAnd(l._version, toUInt128(18446744073709551615)) > {latest:UInt64}, 0, bitAnd(l._version, toUInt128(18446744073709551615))) AS l_read,
    s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer,
    greatest(
        least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))),
        if(l._version = 0, 0, bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), s_read)),
        if(l._version = 0, 0, l._version + 1)) AS s_version
SELECT if(s._version = 0, l.product_key, s.product_key),
    multiIf(s._version = 0, 3, l._version = 0 OR l._deleted, 1, newer, 2, 4),
    if(s._version = 0, greatest(bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), toUInt128({started:UInt64})), l._version + 1), s_version),
    if(l._version = 0 OR l._deleted, 0, cityHash64(l.product_key, reinterpretAsUInt64(substring(l._hash, 9, 8)))),
    if(s._version = 0, 0, cityHash64(s.product_key, reinterpretAsUInt64(substring(s._hash, 9, 8))))
FROM
(
    SELECT product_key, _version, _hash
    FROM products_staging FINAL
    WHERE run_id = {run:UUID}
) AS s
LEFT JOIN
(
    SELECT product_key, _version, _hash, _deleted
    FROM products_latest FINAL
    WHERE account = {account:String} AND product_key IN (SELECT product_key FROM products_staging WHERE run_id = {run:UUID})
) AS l ON s.product_key = l.product_key
WHERE (s._version != 0 AND (l._version = 0 OR newer AND (s._hash != l._hash OR l._deleted)))
    OR (s._version != 0 AND NOT newer AND s_read > l_read AND s._hash != l._hash);

-- insertChanges of a part, some dated ahead
INSERT INTO `dealhouse_runs`.products_changes_0000000000004000800000000000a11e (product_key, change, version, was, now)
WITH
    bitShiftRight(least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 64) AS s_own,
    least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped,
    l_capped AS l_changed,
    s_own AS s_changed,
    bitAnd(s._version, toUInt128(18446744073709551615)) AS s_read,
    if(bitAnd(l._version, toUInt128(18446744073709551615)) > {latest:UInt64}, 0, bitAnd(l._version, toUInt128(18446744073709551615))) AS l_read,
    s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer,
    greatest(
        least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))),
        if(l._version = 0, 0, bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), s_read)),
        if(l._version = 0, 0, l._version + 1)) AS s_version
SELECT if(s._version = 0, l.product_key, s.product_key),
    multiIf(s._version = 0, 3, l._version = 0 OR l._deleted, 1, newer, 2, 4),
    if(s._version = 0, greatest(bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), toUInt128({started:UInt64})), l._version + 1), s_version),
    if(l._version = 0 OR l._deleted, 0, cityHash64(l.product_key, reinterpretAsUInt64(substring(l._hash, 9, 8)))),
    if(s._version = 0, 0, cityHash64(s.product_key, reinterpretAsUInt64(substring(s._hash, 9, 8))))
FROM
(
    SELECT product_key, _version, _hash
    FROM products_staging
    WHERE run_id = {run:UUID}
    ORDER BY product_key, if(max(bitShiftRight(_version, 64) > {cap:UInt64} + 60000) OVER (PARTITION BY product_key), toUInt128(_fetched), _version) DESC, _version DESC, _hash
    LIMIT 1 BY product_key
) AS s
LEFT JOIN
(
    SELECT product_key, _version, _hash, _deleted
    FROM products_latest FINAL
    WHERE account = {account:String} AND product_key IN (SELECT product_key FROM products_staging WHERE run_id = {run:UUID})
) AS l ON s.product_key = l.product_key
WHERE (s._version != 0 AND (l._version = 0 OR newer AND (s._hash != l._hash OR l._deleted)))
    OR (s._version != 0 AND NOT newer AND s_read > l_read AND s._hash != l._hash);

-- insertChanges of the whole list
INSERT INTO `dealhouse_runs`.products_changes_0000000000004000800000000000a11e (product_key, change, version, was, now)
WITH
    bitShiftRight(least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 64) AS s_own,
    least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped,
    l_capped AS l_changed,
    s_own AS s_changed,
    bitAnd(s._version, toUInt128(18446744073709551615)) AS s_read,
    if(bitAnd(l._version, toUInt128(18446744073709551615)) > {latest:UInt64}, 0, bitAnd(l._version, toUInt128(18446744073709551615))) AS l_read,
    s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer,
    greatest(
        least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))),
        if(l._version = 0, 0, bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), s_read)),
        if(l._version = 0, 0, l._version + 1)) AS s_version
SELECT if(s._version = 0, l.product_key, s.product_key),
    multiIf(s._version = 0, 3, l._version = 0 OR l._deleted, 1, newer, 2, 4),
    if(s._version = 0, greatest(bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), toUInt128({started:UInt64})), l._version + 1), s_version),
    if(l._version = 0 OR l._deleted, 0, cityHash64(l.product_key, reinterpretAsUInt64(substring(l._hash, 9, 8)))),
    if(s._version = 0, 0, cityHash64(s.product_key, reinterpretAsUInt64(substring(s._hash, 9, 8))))
FROM
(
    SELECT product_key, _version, _hash
    FROM products_staging FINAL
    WHERE run_id = {run:UUID}
) AS s
FULL JOIN
(
    SELECT product_key, _version, _hash, _deleted
    FROM products_latest FINAL
    WHERE account = {account:String}
) AS l ON s.product_key = l.product_key
WHERE (s._version != 0 AND (l._version = 0 OR newer AND (s._hash != l._hash OR l._deleted)))
    OR (s._version = 0 AND l._deleted = 0 AND l_read < {started:UInt64} AND toString(l.product_key) NOT IN
    (
        SELECT key FROM rejects_log
        WHERE account = {account:String} AND stream = 'products' AND field = ''
            AND (last.run_id = {run:UUID} OR toUnixTimestamp64Micro(last.read_at) >= {started:UInt64})
    ));

-- insertChanges of the whole list, some dated ahead
INSERT INTO `dealhouse_runs`.products_changes_0000000000004000800000000000a11e (product_key, change, version, was, now)
WITH
    bitShiftRight(least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 64) AS s_own,
    least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped,
    l_capped AS l_changed,
    s_own AS s_changed,
    bitAnd(s._version, toUInt128(18446744073709551615)) AS s_read,
    if(bitAnd(l._version, toUInt128(18446744073709551615)) > {latest:UInt64}, 0, bitAnd(l._version, toUInt128(18446744073709551615))) AS l_read,
    s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer,
    greatest(
        least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))),
        if(l._version = 0, 0, bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), s_read)),
        if(l._version = 0, 0, l._version + 1)) AS s_version
SELECT if(s._version = 0, l.product_key, s.product_key),
    multiIf(s._version = 0, 3, l._version = 0 OR l._deleted, 1, newer, 2, 4),
    if(s._version = 0, greatest(bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), toUInt128({started:UInt64})), l._version + 1), s_version),
    if(l._version = 0 OR l._deleted, 0, cityHash64(l.product_key, reinterpretAsUInt64(substring(l._hash, 9, 8)))),
    if(s._version = 0, 0, cityHash64(s.product_key, reinterpretAsUInt64(substring(s._hash, 9, 8))))
FROM
(
    SELECT product_key, _version, _hash
    FROM products_staging
    WHERE run_id = {run:UUID}
    ORDER BY product_key, if(max(bitShiftRight(_version, 64) > {cap:UInt64} + 60000) OVER (PARTITION BY product_key), toUInt128(_fetched), _version) DESC, _version DESC, _hash
    LIMIT 1 BY product_key
) AS s
FULL JOIN
(
    SELECT product_key, _version, _hash, _deleted
    FROM products_latest FINAL
    WHERE account = {account:String}
) AS l ON s.product_key = l.product_key
WHERE (s._version != 0 AND (l._version = 0 OR newer AND (s._hash != l._hash OR l._deleted)))
    OR (s._version = 0 AND l._deleted = 0 AND l_read < {started:UInt64} AND toString(l.product_key) NOT IN
    (
        SELECT key FROM rejects_log
        WHERE account = {account:String} AND stream = 'products' AND field = ''
            AND (last.run_id = {run:UUID} OR toUnixTimestamp64Micro(last.read_at) >= {started:UInt64})
    ));

-- insertChanges of rows that no list has
INSERT INTO `dealhouse_runs`.products_changes_0000000000004000800000000000a11e (product_key, change, version, was, now)
WITH
    bitShiftRight(least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 64) AS s_own,
    least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped,
    l_capped AS l_changed,
    s_own AS s_changed,
    bitAnd(s._version, toUInt128(18446744073709551615)) AS s_read,
    if(bitAnd(l._version, toUInt128(18446744073709551615)) > {latest:UInt64}, 0, bitAnd(l._version, toUInt128(18446744073709551615))) AS l_read,
    s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer,
    greatest(
        least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))),
        if(l._version = 0, 0, bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), s_read)),
        if(l._version = 0, 0, l._version + 1)) AS s_version
SELECT if(s._version = 0, l.product_key, s.product_key),
    multiIf(s._version = 0, 3, l._version = 0 OR l._deleted, 1, newer, 2, 4),
    if(s._version = 0, greatest(bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), toUInt128({started:UInt64})), l._version + 1), s_version),
    if(l._version = 0 OR l._deleted, 0, cityHash64(l.product_key, reinterpretAsUInt64(substring(l._hash, 9, 8)))),
    if(s._version = 0, 0, cityHash64(s.product_key, reinterpretAsUInt64(substring(s._hash, 9, 8))))
FROM
(
    SELECT product_key, _version, _hash
    FROM products_staging FINAL
    WHERE run_id = {run:UUID}
) AS s
LEFT JOIN
(
    SELECT product_key, _version, _hash, _deleted
    FROM products_latest FINAL
    WHERE account = {account:String} AND product_key IN (SELECT product_key FROM products_staging WHERE run_id = {run:UUID})
) AS l ON s.product_key = l.product_key
WHERE s._version != 0 AND l._version = 0;

-- insertChanges of rows that no list has, some dated ahead
INSERT INTO `dealhouse_runs`.products_changes_0000000000004000800000000000a11e (product_key, change, version, was, now)
WITH
    bitShiftRight(least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 64) AS s_own,
    least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped,
    l_capped AS l_changed,
    s_own AS s_changed,
    bitAnd(s._version, toUInt128(18446744073709551615)) AS s_read,
    if(bitAnd(l._version, toUInt128(18446744073709551615)) > {latest:UInt64}, 0, bitAnd(l._version, toUInt128(18446744073709551615))) AS l_read,
    s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer,
    greatest(
        least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))),
        if(l._version = 0, 0, bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), s_read)),
        if(l._version = 0, 0, l._version + 1)) AS s_version
SELECT if(s._version = 0, l.product_key, s.product_key),
    multiIf(s._version = 0, 3, l._version = 0 OR l._deleted, 1, newer, 2, 4),
    if(s._version = 0, greatest(bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), toUInt128({started:UInt64})), l._version + 1), s_version),
    if(l._version = 0 OR l._deleted, 0, cityHash64(l.product_key, reinterpretAsUInt64(substring(l._hash, 9, 8)))),
    if(s._version = 0, 0, cityHash64(s.product_key, reinterpretAsUInt64(substring(s._hash, 9, 8))))
FROM
(
    SELECT product_key, _version, _hash
    FROM products_staging
    WHERE run_id = {run:UUID}
    ORDER BY product_key, if(max(bitShiftRight(_version, 64) > {cap:UInt64} + 60000) OVER (PARTITION BY product_key), toUInt128(_fetched), _version) DESC, _version DESC, _hash
    LIMIT 1 BY product_key
) AS s
LEFT JOIN
(
    SELECT product_key, _version, _hash, _deleted
    FROM products_latest FINAL
    WHERE account = {account:String} AND product_key IN (SELECT product_key FROM products_staging WHERE run_id = {run:UUID})
) AS l ON s.product_key = l.product_key
WHERE s._version != 0 AND l._version = 0;

-- countChanges
SELECT change, count(), toUInt64(0) FROM `dealhouse_runs`.products_changes_0000000000004000800000000000a11e GROUP BY change;

-- selectPlannedKeys
SELECT toString(product_key) FROM `dealhouse_runs`.products_changes_0000000000004000800000000000a11e WHERE change IN (1, 2);

-- selectPlannedDeletes
SELECT toString(product_key), toInt64(0), '' FROM products_latest FINAL
WHERE account = {account:String} AND product_key IN (SELECT product_key FROM `dealhouse_runs`.products_changes_0000000000004000800000000000a11e WHERE change = 3 AND product_key IN (SELECT product_key FROM `dealhouse_runs`.products_changes_0000000000004000800000000000a11e WHERE change = 3 ORDER BY cityHash64(product_key, '00000000-0000-4000-8000-00000000a11e') LIMIT 5));

-- countAbsence
INSERT INTO absent_rows_log (account, stream, key, lists, run_id, since, version)
SELECT {account:String}, {stream:String}, if(gone.key != '', gone.key, before.key), if(gone.key != '', before.lists + 1, 0), {run:UUID},
    if(before.lists = 0, now64(3), before.since), greatest(toUInt64(toUnixTimestamp64Micro(now64(6))), before.version + 1)
FROM (SELECT toString(product_key) AS key FROM `dealhouse_runs`.products_changes_0000000000004000800000000000a11e WHERE change = 3) AS gone
FULL JOIN
(
    SELECT key, lists, run_id, since, version FROM absent_rows_log FINAL
    WHERE account = {account:String} AND stream = {stream:String}
) AS before ON gone.key = before.key
WHERE before.run_id != {run:UUID} AND (gone.key != '' OR before.lists > 0);

-- countUnconfirmed
SELECT count() FROM `dealhouse_runs`.products_changes_0000000000004000800000000000a11e WHERE change = 3 AND toString(product_key) NOT IN (SELECT key FROM absent_rows_log FINAL WHERE account = 'acme' AND stream = 'products' AND lists >= 1);

-- deleteAllPlanned
ALTER TABLE `dealhouse_runs`.products_changes_0000000000004000800000000000a11e DELETE WHERE change = 3;

-- deletePlanned by absence
ALTER TABLE `dealhouse_runs`.products_changes_0000000000004000800000000000a11e DELETE WHERE change = 3 AND toString(product_key) NOT IN (SELECT key FROM absent_rows_log FINAL WHERE account = 'acme' AND stream = 'products' AND lists >= 1);

-- deletePlanned by key
ALTER TABLE `dealhouse_runs`.products_changes_0000000000004000800000000000a11e DELETE WHERE change = 3 AND toString(product_key) NOT IN ('', 'a', 'b');

-- createDelta
CREATE TABLE IF NOT EXISTS `dealhouse_runs`.products_delta_0000000000004000800000000000a11e AS products_latest
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, product_key) COMMENT 'What a run under way is about to publish';

-- insertDelta of the first load
INSERT INTO `dealhouse_runs`.products_delta_0000000000004000800000000000a11e (account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.product_key,
    product_key_rule,
    if(bitTest(_nulls, 0), NULL, reinterpret(last_viewed_at, 'DateTime64(3, ''UTC'')')),
    url,
    name,
    if(bitTest(_nulls, 1), NULL, reinterpret(price, 'Decimal(18, 4)')),
    currency_code,
    brand_name,
    description,
    arrayPopBack(splitByChar('\0', image_urls)),
    category_id,
    category_version,
    category_breadcrumb,
    asin,
    sku,
    gtin,
    mpn,
    if(bitTest(_nulls, 2), NULL, reinterpret(rating_value, 'Decimal(18, 6)')),
    if(bitTest(_nulls, 3), NULL, rating_count),
    if(bitTest(_nulls, 4), NULL, reinterpret(best_rating, 'Decimal(18, 6)')),
    if(bitTest(_nulls, 5), NULL, reinterpret(worst_rating, 'Decimal(18, 6)')),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM products_staging
    WHERE run_id = {run:UUID}
) AS s;

-- insertDelta of the first load, keys staged twice
INSERT INTO `dealhouse_runs`.products_delta_0000000000004000800000000000a11e (account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.product_key,
    product_key_rule,
    if(bitTest(_nulls, 0), NULL, reinterpret(last_viewed_at, 'DateTime64(3, ''UTC'')')),
    url,
    name,
    if(bitTest(_nulls, 1), NULL, reinterpret(price, 'Decimal(18, 4)')),
    currency_code,
    brand_name,
    description,
    arrayPopBack(splitByChar('\0', image_urls)),
    category_id,
    category_version,
    category_breadcrumb,
    asin,
    sku,
    gtin,
    mpn,
    if(bitTest(_nulls, 2), NULL, reinterpret(rating_value, 'Decimal(18, 6)')),
    if(bitTest(_nulls, 3), NULL, rating_count),
    if(bitTest(_nulls, 4), NULL, reinterpret(best_rating, 'Decimal(18, 6)')),
    if(bitTest(_nulls, 5), NULL, reinterpret(worst_rating, 'Decimal(18, 6)')),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM products_staging FINAL
    WHERE run_id = {run:UUID}
) AS s;

-- insertDelta of what changes
INSERT INTO `dealhouse_runs`.products_delta_0000000000004000800000000000a11e (account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.product_key,
    product_key_rule,
    if(bitTest(_nulls, 0), NULL, reinterpret(last_viewed_at, 'DateTime64(3, ''UTC'')')),
    url,
    name,
    if(bitTest(_nulls, 1), NULL, reinterpret(price, 'Decimal(18, 4)')),
    currency_code,
    brand_name,
    description,
    arrayPopBack(splitByChar('\0', image_urls)),
    category_id,
    category_version,
    category_breadcrumb,
    asin,
    sku,
    gtin,
    mpn,
    if(bitTest(_nulls, 2), NULL, reinterpret(rating_value, 'Decimal(18, 6)')),
    if(bitTest(_nulls, 3), NULL, rating_count),
    if(bitTest(_nulls, 4), NULL, reinterpret(best_rating, 'Decimal(18, 6)')),
    if(bitTest(_nulls, 5), NULL, reinterpret(worst_rating, 'Decimal(18, 6)')),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM products_staging
    WHERE run_id = {run:UUID}
) AS s
INNER JOIN (SELECT product_key, version FROM `dealhouse_runs`.products_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.product_key = c.product_key;

-- insertDelta of what changes of many rows
INSERT INTO `dealhouse_runs`.products_delta_0000000000004000800000000000a11e (account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.product_key,
    product_key_rule,
    if(bitTest(_nulls, 0), NULL, reinterpret(last_viewed_at, 'DateTime64(3, ''UTC'')')),
    url,
    name,
    if(bitTest(_nulls, 1), NULL, reinterpret(price, 'Decimal(18, 4)')),
    currency_code,
    brand_name,
    description,
    arrayPopBack(splitByChar('\0', image_urls)),
    category_id,
    category_version,
    category_breadcrumb,
    asin,
    sku,
    gtin,
    mpn,
    if(bitTest(_nulls, 2), NULL, reinterpret(rating_value, 'Decimal(18, 6)')),
    if(bitTest(_nulls, 3), NULL, rating_count),
    if(bitTest(_nulls, 4), NULL, reinterpret(best_rating, 'Decimal(18, 6)')),
    if(bitTest(_nulls, 5), NULL, reinterpret(worst_rating, 'Decimal(18, 6)')),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM products_staging
    WHERE run_id = {run:UUID} AND product_key IN (SELECT product_key FROM `dealhouse_runs`.products_changes_0000000000004000800000000000a11e WHERE change IN (1, 2))
) AS s
INNER JOIN (SELECT product_key, version FROM `dealhouse_runs`.products_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.product_key = c.product_key;

-- insertDelta of what changes, keys staged twice
INSERT INTO `dealhouse_runs`.products_delta_0000000000004000800000000000a11e (account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.product_key,
    product_key_rule,
    if(bitTest(_nulls, 0), NULL, reinterpret(last_viewed_at, 'DateTime64(3, ''UTC'')')),
    url,
    name,
    if(bitTest(_nulls, 1), NULL, reinterpret(price, 'Decimal(18, 4)')),
    currency_code,
    brand_name,
    description,
    arrayPopBack(splitByChar('\0', image_urls)),
    category_id,
    category_version,
    category_breadcrumb,
    asin,
    sku,
    gtin,
    mpn,
    if(bitTest(_nulls, 2), NULL, reinterpret(rating_value, 'Decimal(18, 6)')),
    if(bitTest(_nulls, 3), NULL, rating_count),
    if(bitTest(_nulls, 4), NULL, reinterpret(best_rating, 'Decimal(18, 6)')),
    if(bitTest(_nulls, 5), NULL, reinterpret(worst_rating, 'Decimal(18, 6)')),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM products_staging FINAL
    WHERE run_id = {run:UUID}
) AS s
INNER JOIN (SELECT product_key, version FROM `dealhouse_runs`.products_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.product_key = c.product_key;

-- insertDelta of what changes, keys staged twice, some dated ahead
INSERT INTO `dealhouse_runs`.products_delta_0000000000004000800000000000a11e (account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.product_key,
    product_key_rule,
    if(bitTest(_nulls, 0), NULL, reinterpret(last_viewed_at, 'DateTime64(3, ''UTC'')')),
    url,
    name,
    if(bitTest(_nulls, 1), NULL, reinterpret(price, 'Decimal(18, 4)')),
    currency_code,
    brand_name,
    description,
    arrayPopBack(splitByChar('\0', image_urls)),
    category_id,
    category_version,
    category_breadcrumb,
    asin,
    sku,
    gtin,
    mpn,
    if(bitTest(_nulls, 2), NULL, reinterpret(rating_value, 'Decimal(18, 6)')),
    if(bitTest(_nulls, 3), NULL, rating_count),
    if(bitTest(_nulls, 4), NULL, reinterpret(best_rating, 'Decimal(18, 6)')),
    if(bitTest(_nulls, 5), NULL, reinterpret(worst_rating, 'Decimal(18, 6)')),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM products_staging
    WHERE run_id = {run:UUID}
    ORDER BY product_key, if(max(bitShiftRight(_version, 64) > {cap:UInt64} + 60000) OVER (PARTITION BY product_key), toUInt128(_fetched), _version) DESC, _version DESC, _hash
    LIMIT 1 BY product_key
) AS s
INNER JOIN (SELECT product_key, version FROM `dealhouse_runs`.products_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.product_key = c.product_key;

-- insertDelta of the first load, keys staged twice, some dated ahead
INSERT INTO `dealhouse_runs`.products_delta_0000000000004000800000000000a11e (account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.product_key,
    product_key_rule,
    if(bitTest(_nulls, 0), NULL, reinterpret(last_viewed_at, 'DateTime64(3, ''UTC'')')),
    url,
    name,
    if(bitTest(_nulls, 1), NULL, reinterpret(price, 'Decimal(18, 4)')),
    currency_code,
    brand_name,
    description,
    arrayPopBack(splitByChar('\0', image_urls)),
    category_id,
    category_version,
    category_breadcrumb,
    asin,
    sku,
    gtin,
    mpn,
    if(bitTest(_nulls, 2), NULL, reinterpret(rating_value, 'Decimal(18, 6)')),
    if(bitTest(_nulls, 3), NULL, rating_count),
    if(bitTest(_nulls, 4), NULL, reinterpret(best_rating, 'Decimal(18, 6)')),
    if(bitTest(_nulls, 5), NULL, reinterpret(worst_rating, 'Decimal(18, 6)')),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM products_staging
    WHERE run_id = {run:UUID}
    ORDER BY product_key, if(max(bitShiftRight(_version, 64) > {cap:UInt64} + 60000) OVER (PARTITION BY product_key), toUInt128(_fetched), _version) DESC, _version DESC, _hash
    LIMIT 1 BY product_key
) AS s;

-- insertDelta of rows that no list has
INSERT INTO `dealhouse_runs`.products_delta_0000000000004000800000000000a11e (account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.product_key,
    product_key_rule,
    if(bitTest(_nulls, 0), NULL, reinterpret(last_viewed_at, 'DateTime64(3, ''UTC'')')),
    url,
    name,
    if(bitTest(_nulls, 1), NULL, reinterpret(price, 'Decimal(18, 4)')),
    currency_code,
    brand_name,
    description,
    arrayPopBack(splitByChar('\0', image_urls)),
    category_id,
    category_version,
    category_breadcrumb,
    asin,
    sku,
    gtin,
    mpn,
    if(bitTest(_nulls, 2), NULL, reinterpret(rating_value, 'Decimal(18, 6)')),
    if(bitTest(_nulls, 3), NULL, rating_count),
    if(bitTest(_nulls, 4), NULL, reinterpret(best_rating, 'Decimal(18, 6)')),
    if(bitTest(_nulls, 5), NULL, reinterpret(worst_rating, 'Decimal(18, 6)')),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 1, {run:UUID}
FROM
(
    SELECT *, _version
    FROM products_staging
    WHERE run_id = {run:UUID}
) AS s
INNER JOIN (SELECT product_key, version FROM `dealhouse_runs`.products_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.product_key = c.product_key;

-- insertTombstones
INSERT INTO `dealhouse_runs`.products_delta_0000000000004000800000000000a11e (account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 1, {run:UUID}
FROM
(
    SELECT product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, _hash
    FROM products_latest FINAL
    WHERE account = {account:String} AND product_key IN (SELECT product_key FROM `dealhouse_runs`.products_changes_0000000000004000800000000000a11e WHERE change = 3)
) AS l
INNER JOIN (SELECT product_key, version FROM `dealhouse_runs`.products_changes_0000000000004000800000000000a11e WHERE change = 3) AS c ON l.product_key = c.product_key;

-- mergeParts
OPTIMIZE TABLE `dealhouse_runs`.products_delta_0000000000004000800000000000a11e FINAL;

-- create product_price_changes_latest
CREATE TABLE IF NOT EXISTS product_price_changes_latest ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    day Date COMMENT 'First day of the new price',
    product_key UUID COMMENT 'Key derived from the fields that product_key_rule names',
    currency_code LowCardinality(String) COMMENT 'Currency of the prices',
    price Decimal(18, 4) COMMENT 'New price; equal to the old one: the row stands for no change',
    previous_day Date COMMENT 'Last day of the old price of which there is a record',
    previous_price Decimal(18, 4) COMMENT 'Old price',
    views Nullable(Int64) COMMENT 'Views on the first day of the new price',
    previous_views Nullable(Int64) COMMENT 'Views on previous_day',
    version UInt64 COMMENT 'The highest wins',
    _run_id UUID COMMENT 'Run that loaded the row'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/product_price_changes_latest', '{replica}', version)
PARTITION BY account
ORDER BY (account, day, product_key)
SETTINGS replicated_deduplication_window = 0, index_granularity = 1024
COMMENT 'Storage behind the view product_price_changes';

-- dropDelta of product_price_changes_latest
DROP TABLE IF EXISTS `dealhouse_runs`.product_price_changes_latest_delta_0000000000004000800000000000a11e;

-- createDelta product_price_changes_latest
CREATE TABLE IF NOT EXISTS `dealhouse_runs`.product_price_changes_latest_delta_0000000000004000800000000000a11e AS product_price_changes_latest
ENGINE = ReplacingMergeTree(version)
PARTITION BY account
ORDER BY (account, day, product_key)
SETTINGS index_granularity = 1024 COMMENT 'What a run under way is about to publish';

-- dropTable product_price_changes_latest
DROP TABLE IF EXISTS `dealhouse_runs`.product_price_changes_latest_delta_0000000000004000800000000000a11e SYNC;

-- countRows product_price_changes_latest
SELECT count() FROM `dealhouse_runs`.product_price_changes_latest_delta_0000000000004000800000000000a11e;

-- fill, the first load: true, product_price_changes_latest
INSERT INTO `dealhouse_runs`.product_price_changes_latest_delta_0000000000004000800000000000a11e (account, day, product_key, currency_code, price, previous_day, previous_price, views, previous_views, version, _run_id)
SELECT {account:String}, day, product_key, currency_code, price, previous_day, previous_price, views, previous_views, greatest(toUInt64({merged_at:Int64}), 0 + 1), {run:UUID}
FROM (
    SELECT day, product_key, currency_code, assumeNotNull(price) AS price, assumeNotNull(before.1) AS previous_day,
        assumeNotNull(before.2) AS previous_price, views, before.3 AS previous_views
    FROM
    (
        SELECT day, product_key, currency_code, price, views,
            lagInFrame((toNullable(day), price, views)) OVER
                (PARTITION BY account, product_key, currency_code ORDER BY day ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before
        FROM `dealhouse_runs`.product_prices_delta_0000000000004000800000000000a11e WHERE price IS NOT NULL AND product_key IN (SELECT product_key FROM `dealhouse_runs`.product_prices_delta_0000000000004000800000000000a11e GROUP BY product_key HAVING min(price) != max(price))
    )
    WHERE before.2 IS NOT NULL AND before.2 != price
);

-- fill, the first load: false, product_price_changes_latest
INSERT INTO `dealhouse_runs`.product_price_changes_latest_delta_0000000000004000800000000000a11e (account, day, product_key, currency_code, price, previous_day, previous_price, views, previous_views, version, _run_id)
SELECT {account:String}, day, product_key, anyIf(r.currency_code, becomes), anyIf(r.price, becomes), anyIf(r.previous_day, becomes), anyIf(r.previous_price, becomes), anyIf(r.views, becomes), anyIf(r.previous_views, becomes), greatest(toUInt64({merged_at:Int64}), max(stored) + 1), {run:UUID}
FROM
(
    SELECT day, product_key, currency_code, price, previous_day, previous_price, views, previous_views, true AS becomes, toUInt64(0) AS stored FROM (
    SELECT day, product_key, currency_code, assumeNotNull(price) AS price, assumeNotNull(before.1) AS previous_day,
        assumeNotNull(before.2) AS previous_price, views, before.3 AS previous_views
    FROM
    (
        SELECT day, product_key, currency_code, price, views,
            lagInFrame((toNullable(day), price, views)) OVER
                (PARTITION BY account, product_key, currency_code ORDER BY day ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before
        FROM 
        (
            SELECT *, leadInFrame(true) OVER (PARTITION BY account, product_key, day ORDER BY _version ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) AS replaced
            FROM 
            (
                SELECT account, day, product_key, currency_code, price, views, _version, false AS fresh FROM product_prices_latest FINAL
                WHERE account = {account:String} AND product_key IN (SELECT product_key FROM `dealhouse_runs`.product_prices_delta_0000000000004000800000000000a11e)
                UNION ALL
                SELECT account, day, product_key, currency_code, price, views, _version, true FROM `dealhouse_runs`.product_prices_delta_0000000000004000800000000000a11e
            )
            WHERE product_key IN
            (
                SELECT product_key FROM 
            (
                SELECT account, day, product_key, currency_code, price, views, _version, false AS fresh FROM product_prices_latest FINAL
                WHERE account = {account:String} AND product_key IN (SELECT product_key FROM `dealhouse_runs`.product_prices_delta_0000000000004000800000000000a11e)
                UNION ALL
                SELECT account, day, product_key, currency_code, price, views, _version, true FROM `dealhouse_runs`.product_prices_delta_0000000000004000800000000000a11e
            )
                GROUP BY product_key
                HAVING min(price) != max(price) AND NOT ifNull(minIf(day, fresh) > maxIf(day, NOT fresh) AND min(cityHash64(currency_code)) = max(cityHash64(currency_code))
                    AND minIf(price, fresh) = maxIf(price, fresh) AND minIf(price, fresh) = argMaxIf(price, day, NOT fresh), false)
            )
        )
        WHERE NOT replaced AND price IS NOT NULL
    )
    WHERE before.2 IS NOT NULL AND before.2 != price
)
    UNION ALL
    SELECT day, product_key, currency_code, price, previous_day, previous_price, views, previous_views, false, version
    FROM product_price_changes_latest FINAL
    WHERE account = {account:String} AND NOT (price = previous_price) AND product_key IN
            (
                SELECT product_key FROM 
            (
                SELECT account, day, product_key, currency_code, price, views, _version, false AS fresh FROM product_prices_latest FINAL
                WHERE account = {account:String} AND product_key IN (SELECT product_key FROM `dealhouse_runs`.product_prices_delta_0000000000004000800000000000a11e)
                UNION ALL
                SELECT account, day, product_key, currency_code, price, views, _version, true FROM `dealhouse_runs`.product_prices_delta_0000000000004000800000000000a11e
            )
                GROUP BY product_key
                HAVING min(price) != max(price) AND NOT ifNull(minIf(day, fresh) > maxIf(day, NOT fresh) AND min(cityHash64(currency_code)) = max(cityHash64(currency_code))
                    AND minIf(price, fresh) = maxIf(price, fresh) AND minIf(price, fresh) = argMaxIf(price, day, NOT fresh), false)
            )
) AS r
GROUP BY day, product_key
HAVING count() = 1 OR uniqExact(tuple(currency_code, price, previous_day, previous_price, views, previous_views)) = 2;

-- touched product_price_changes_latest
SELECT (SELECT count() FROM `dealhouse_runs`.product_prices_delta_0000000000004000800000000000a11e);

-- rebuild product_price_changes_latest
INSERT INTO `dealhouse_runs`.product_price_changes_latest_delta_0000000000004000800000000000a11e (account, day, product_key, currency_code, price, previous_day, previous_price, views, previous_views, version, _run_id)
SELECT {account:String}, day, product_key, currency_code, price, previous_day, previous_price, views, previous_views, greatest(toUInt64({merged_at:Int64}), 0 + 1), {run:UUID}
FROM (
    SELECT day, product_key, currency_code, assumeNotNull(price) AS price, assumeNotNull(before.1) AS previous_day,
        assumeNotNull(before.2) AS previous_price, views, before.3 AS previous_views
    FROM
    (
        SELECT day, product_key, currency_code, price, views,
            lagInFrame((toNullable(day), price, views)) OVER
                (PARTITION BY account, product_key, currency_code ORDER BY day ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before
        FROM product_prices_latest FINAL WHERE account = {account:String} AND price IS NOT NULL AND product_key IN (SELECT product_key FROM product_prices_latest WHERE account = {account:String} GROUP BY product_key HAVING min(price) != max(price))
    )
    WHERE before.2 IS NOT NULL AND before.2 != price
);

-- attachDerived product_price_changes_latest
ALTER TABLE product_price_changes_latest ATTACH PARTITION 'acme' FROM `dealhouse_runs`.product_price_changes_latest_delta_0000000000004000800000000000a11e;

-- replaceDerived product_price_changes_latest
ALTER TABLE product_price_changes_latest REPLACE PARTITION 'acme' FROM `dealhouse_runs`.product_price_changes_latest_delta_0000000000004000800000000000a11e;

-- compareDerived product_price_changes_latest
SELECT
    (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM product_price_changes_latest FINAL WHERE account = {account:String} AND NOT (price = previous_price)))
    = (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM `dealhouse_runs`.product_price_changes_latest_delta_0000000000004000800000000000a11e FINAL WHERE account = {account:String} AND NOT (price = previous_price)));

-- countSame product_price_changes_latest
SELECT uniqExact(sipHash128(toString(tuple(*)))) FROM product_price_changes_latest WHERE (account, day, product_key) IN (SELECT account, day, product_key FROM `dealhouse_runs`.product_price_changes_latest_delta_0000000000004000800000000000a11e) AND sipHash128(toString(tuple(*))) IN (SELECT sipHash128(toString(tuple(*))) FROM `dealhouse_runs`.product_price_changes_latest_delta_0000000000004000800000000000a11e);

-- createChildHashesDelta
CREATE TABLE IF NOT EXISTS `dealhouse_runs`.product_prices_hashes_delta_0000000000004000800000000000a11e AS product_prices_hashes
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, product_key) COMMENT 'What a run under way is about to publish';

-- createChildDelta
CREATE TABLE IF NOT EXISTS `dealhouse_runs`.product_prices_delta_0000000000004000800000000000a11e AS product_prices_latest
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, product_key, day) COMMENT 'What a run under way is about to publish';

-- insertChildHashes
INSERT INTO `dealhouse_runs`.product_prices_hashes_delta_0000000000004000800000000000a11e (account, product_key, hash, _version, _run_id)
SELECT {account:String}, s.product_key, s.hash,
    if(s.read > l._version OR l._version > {latest:UInt64}, greatest(s.read, l._version + 1), s.read), {run:UUID}
FROM
(
    SELECT product_key, reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64('day price views', _entries, currency_code)), 64), toUInt128(xxHash64('day price views', _entries, currency_code))), 'FixedString(16)') AS hash, toUInt64(_fetched) AS read
    FROM products_staging
    WHERE run_id = {run:UUID} AND _entries != ''
) AS s
LEFT JOIN
(
    SELECT product_key, hash, _version
    FROM product_prices_hashes FINAL
    WHERE account = {account:String} AND product_key IN (SELECT product_key FROM products_staging WHERE run_id = {run:UUID})
) AS l ON s.product_key = l.product_key
WHERE l._version = 0 OR s.hash != l.hash;

-- insertChildHashes, keys staged twice
INSERT INTO `dealhouse_runs`.product_prices_hashes_delta_0000000000004000800000000000a11e (account, product_key, hash, _version, _run_id)
SELECT {account:String}, s.product_key, s.hash,
    if(s.read > l._version OR l._version > {latest:UInt64}, greatest(s.read, l._version + 1), s.read), {run:UUID}
FROM
(
    SELECT product_key, reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64('day price views', _entries, currency_code)), 64), toUInt128(xxHash64('day price views', _entries, currency_code))), 'FixedString(16)') AS hash, toUInt64(_fetched) AS read
    FROM products_staging FINAL
    WHERE run_id = {run:UUID} AND _entries != ''
) AS s
LEFT JOIN
(
    SELECT product_key, hash, _version
    FROM product_prices_hashes FINAL
    WHERE account = {account:String} AND product_key IN (SELECT product_key FROM products_staging WHERE run_id = {run:UUID})
) AS l ON s.product_key = l.product_key
WHERE l._version = 0 OR s.hash != l.hash;

-- insertChildDelta
INSERT INTO `dealhouse_runs`.product_prices_delta_0000000000004000800000000000a11e (account, product_key, day, price, views, currency_code, synced_at, _version, _run_id)
SELECT {account:String}, s.product_key, day_read, price_read, views_read, currency_code_read, fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), greatest(s.read, l._version + 1), {run:UUID}
FROM
(
    SELECT product_key, reinterpret(day, 'Date') AS day_read, if(bitTest(_nulls, 0), NULL, reinterpret(price, 'Decimal(18, 4)')) AS price_read, if(bitTest(_nulls, 1), NULL, views) AS views_read, currency_code AS currency_code_read, read
    FROM
    (
        SELECT product_key, currency_code, read, _entry, reinterpret(substring(_entry, 1, 1), 'UInt8') AS _nulls, reinterpret(substring(_entry, 2, 2), 'UInt16') AS day, reinterpret(substring(_entry, 4, 8), 'Int64') AS price, reinterpret(substring(_entry, 12, 8), 'Int64') AS views
        FROM
        (
            SELECT product_key, currency_code, toUInt64(_fetched) AS read,
                arrayJoin(arrayMap(i -> substring(_entries, i * 19 + 1, 19), range(intDiv(length(_entries), 19)))) AS _entry
            FROM products_staging
            WHERE run_id = {run:UUID} AND product_key IN (SELECT product_key FROM `dealhouse_runs`.product_prices_hashes_delta_0000000000004000800000000000a11e)
        )
    )
) AS s
LEFT JOIN
(
    SELECT product_key, day, price, views, currency_code, _version
    FROM product_prices_latest FINAL
    WHERE account = {account:String} AND product_key IN (SELECT product_key FROM `dealhouse_runs`.product_prices_hashes_delta_0000000000004000800000000000a11e)
) AS l
ON s.product_key = l.product_key AND s.day_read = l.day
WHERE l._version = 0 OR (s.read > l._version OR l._version > {latest:UInt64}) AND (NOT (s.price_read <=> l.price) OR NOT (s.views_read <=> l.views) OR NOT (s.currency_code_read <=> l.currency_code));

-- insertChildDelta, keys staged twice
INSERT INTO `dealhouse_runs`.product_prices_delta_0000000000004000800000000000a11e (account, product_key, day, price, views, currency_code, synced_at, _version, _run_id)
SELECT {account:String}, s.product_key, day_read, price_read, views_read, currency_code_read, fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), greatest(s.read, l._version + 1), {run:UUID}
FROM
(
    SELECT product_key, reinterpret(day, 'Date') AS day_read, if(bitTest(_nulls, 0), NULL, reinterpret(price, 'Decimal(18, 4)')) AS price_read, if(bitTest(_nulls, 1), NULL, views) AS views_read, currency_code AS currency_code_read, read
    FROM
    (
        SELECT product_key, currency_code, read, _entry, reinterpret(substring(_entry, 1, 1), 'UInt8') AS _nulls, reinterpret(substring(_entry, 2, 2), 'UInt16') AS day, reinterpret(substring(_entry, 4, 8), 'Int64') AS price, reinterpret(substring(_entry, 12, 8), 'Int64') AS views
        FROM
        (
            SELECT product_key, currency_code, toUInt64(_fetched) AS read,
                arrayJoin(arrayMap(i -> substring(_entries, i * 19 + 1, 19), range(intDiv(length(_entries), 19)))) AS _entry
            FROM products_staging FINAL
            WHERE run_id = {run:UUID} AND product_key IN (SELECT product_key FROM `dealhouse_runs`.product_prices_hashes_delta_0000000000004000800000000000a11e)
        )
    )
) AS s
LEFT JOIN
(
    SELECT product_key, day, price, views, currency_code, _version
    FROM product_prices_latest FINAL
    WHERE account = {account:String} AND product_key IN (SELECT product_key FROM `dealhouse_runs`.product_prices_hashes_delta_0000000000004000800000000000a11e)
) AS l
ON s.product_key = l.product_key AND s.day_read = l.day
WHERE l._version = 0 OR (s.read > l._version OR l._version > {latest:UInt64}) AND (NOT (s.price_read <=> l.price) OR NOT (s.views_read <=> l.views) OR NOT (s.currency_code_read <=> l.currency_code));

-- attachDelta `dealhouse_runs`.products_delta_0000000000004000800000000000a11e to products_latest
ALTER TABLE products_latest ATTACH PARTITION tuple() FROM `dealhouse_runs`.products_delta_0000000000004000800000000000a11e;

-- attachDelta `dealhouse_runs`.product_prices_delta_0000000000004000800000000000a11e to product_prices_latest
ALTER TABLE product_prices_latest ATTACH PARTITION tuple() FROM `dealhouse_runs`.product_prices_delta_0000000000004000800000000000a11e;

-- attachDelta `dealhouse_runs`.product_prices_hashes_delta_0000000000004000800000000000a11e to product_prices_hashes
ALTER TABLE product_prices_hashes ATTACH PARTITION tuple() FROM `dealhouse_runs`.product_prices_hashes_delta_0000000000004000800000000000a11e;

-- selectParts
SELECT table, hash_of_all_files, rows FROM system.parts
WHERE active AND database IN (currentDatabase(), 'dealhouse_runs') AND table IN ({tables:Array(String)})
UNION ALL
SELECT name, '', 0 FROM system.tables WHERE database = 'dealhouse_runs' AND name IN ({deltas:Array(String)});

-- countKeys
SELECT 'products_latest' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, product_key) AS this, lagInFrame(this) OVER (ORDER BY account, product_key ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM `dealhouse_runs`.products_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'product_price_changes_latest' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, day, product_key) AS this, lagInFrame(this) OVER (ORDER BY account, day, product_key ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM `dealhouse_runs`.product_price_changes_latest_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'product_prices_latest' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, product_key, day) AS this, lagInFrame(this) OVER (ORDER BY account, product_key, day ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM `dealhouse_runs`.product_prices_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'product_prices_hashes' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, product_key) AS this, lagInFrame(this) OVER (ORDER BY account, product_key ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM `dealhouse_runs`.product_prices_hashes_delta_0000000000004000800000000000a11e);

-- dropDelta of what is prepared
DROP TABLE IF EXISTS `dealhouse_runs`.products_delta_0000000000004000800000000000a11e, `dealhouse_runs`.product_price_changes_latest_delta_0000000000004000800000000000a11e, `dealhouse_runs`.product_prices_delta_0000000000004000800000000000a11e, `dealhouse_runs`.product_prices_hashes_delta_0000000000004000800000000000a11e;

-- dropTable of what is prepared
DROP TABLE IF EXISTS `dealhouse_runs`.products_delta_0000000000004000800000000000a11e, `dealhouse_runs`.product_price_changes_latest_delta_0000000000004000800000000000a11e, `dealhouse_runs`.product_prices_delta_0000000000004000800000000000a11e, `dealhouse_runs`.product_prices_hashes_delta_0000000000004000800000000000a11e SYNC;

-- dropTable `dealhouse_runs`.products_changes_0000000000004000800000000000a11e
DROP TABLE IF EXISTS `dealhouse_runs`.products_changes_0000000000004000800000000000a11e SYNC;

-- dropTable `dealhouse_runs`.products_delta_0000000000004000800000000000a11e
DROP TABLE IF EXISTS `dealhouse_runs`.products_delta_0000000000004000800000000000a11e SYNC;

-- dropTable `dealhouse_runs`.product_prices_delta_0000000000004000800000000000a11e
DROP TABLE IF EXISTS `dealhouse_runs`.product_prices_delta_0000000000004000800000000000a11e SYNC;

-- dropTable `dealhouse_runs`.product_prices_hashes_delta_0000000000004000800000000000a11e
DROP TABLE IF EXISTS `dealhouse_runs`.product_prices_hashes_delta_0000000000004000800000000000a11e SYNC;

-- inspectDelta, with earlier versions: false
SELECT groupArrayIf(20)(toString(product_key), _deleted = 0),
    toUInt64(0),
    sumIf(cityHash64(product_key, reinterpretAsUInt64(substring(_hash, 9, 8))), _deleted = 0),
    (SELECT sumIf(now, change IN (1, 2)) FROM `dealhouse_runs`.products_changes_0000000000004000800000000000a11e),
    (SELECT sumIf(was, change IN (1, 2) OR change = 3) FROM `dealhouse_runs`.products_changes_0000000000004000800000000000a11e),
    countIf(_deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(last_viewed_at) + 2 * isNull(price) + 4 * isNull(rating_value) + 8 * isNull(rating_count) + 16 * isNull(best_rating) + 32 * isNull(worst_rating)), _extra, ifNull(reinterpret(last_viewed_at, 'Int64'), 0), url, name, ifNull(reinterpret(price, 'Int64'), 0), currency_code, brand_name, description, arrayStringConcat(arrayMap(x -> concat(x, '\0'), image_urls)), category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, ifNull(reinterpret(rating_value, 'Int64'), 0), ifNull(rating_count, 0), ifNull(reinterpret(best_rating, 'Int64'), 0), ifNull(reinterpret(worst_rating, 'Int64'), 0))),
    anyIf(toString(product_key), _deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(last_viewed_at) + 2 * isNull(price) + 4 * isNull(rating_value) + 8 * isNull(rating_count) + 16 * isNull(best_rating) + 32 * isNull(worst_rating)), _extra, ifNull(reinterpret(last_viewed_at, 'Int64'), 0), url, name, ifNull(reinterpret(price, 'Int64'), 0), currency_code, brand_name, description, arrayStringConcat(arrayMap(x -> concat(x, '\0'), image_urls)), category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, ifNull(reinterpret(rating_value, 'Int64'), 0), ifNull(rating_count, 0), ifNull(reinterpret(best_rating, 'Int64'), 0), ifNull(reinterpret(worst_rating, 'Int64'), 0))),
    countIf(_deleted = 0 AND ifNull((ifNull(price < 0, false)), false)),
    anyIf(toString(product_key), _deleted = 0 AND ifNull((ifNull(price < 0, false)), false))
FROM `dealhouse_runs`.products_delta_0000000000004000800000000000a11e;

-- inspectDelta, with earlier versions: true
SELECT groupArrayIf(20)(toString(product_key), _deleted = 0),
    toUInt64(0),
    sumIf(cityHash64(product_key, reinterpretAsUInt64(substring(_hash, 9, 8))), _deleted = 0),
    (SELECT sumIf(now, change IN (1, 2)) FROM `dealhouse_runs`.products_changes_0000000000004000800000000000a11e),
    (SELECT sumIf(was, change IN (1, 2) OR change = 3) FROM `dealhouse_runs`.products_changes_0000000000004000800000000000a11e),
    countIf(_deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(last_viewed_at) + 2 * isNull(price) + 4 * isNull(rating_value) + 8 * isNull(rating_count) + 16 * isNull(best_rating) + 32 * isNull(worst_rating)), _extra, ifNull(reinterpret(last_viewed_at, 'Int64'), 0), url, name, ifNull(reinterpret(price, 'Int64'), 0), currency_code, brand_name, description, arrayStringConcat(arrayMap(x -> concat(x, '\0'), image_urls)), category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, ifNull(reinterpret(rating_value, 'Int64'), 0), ifNull(rating_count, 0), ifNull(reinterpret(best_rating, 'Int64'), 0), ifNull(reinterpret(worst_rating, 'Int64'), 0))),
    anyIf(toString(product_key), _deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(last_viewed_at) + 2 * isNull(price) + 4 * isNull(rating_value) + 8 * isNull(rating_count) + 16 * isNull(best_rating) + 32 * isNull(worst_rating)), _extra, ifNull(reinterpret(last_viewed_at, 'Int64'), 0), url, name, ifNull(reinterpret(price, 'Int64'), 0), currency_code, brand_name, description, arrayStringConcat(arrayMap(x -> concat(x, '\0'), image_urls)), category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, ifNull(reinterpret(rating_value, 'Int64'), 0), ifNull(rating_count, 0), ifNull(reinterpret(best_rating, 'Int64'), 0), ifNull(reinterpret(worst_rating, 'Int64'), 0))),
    countIf(_deleted = 0 AND ifNull((ifNull(price < 0, false)), false)),
    anyIf(toString(product_key), _deleted = 0 AND ifNull((ifNull(price < 0, false)), false))
FROM `dealhouse_runs`.products_delta_0000000000004000800000000000a11e;

-- inspectDelta, of a large first load
SELECT groupArrayIf(20)(toString(product_key), _deleted = 0),
    toUInt64(0),
    sumIf(cityHash64(product_key, reinterpretAsUInt64(substring(_hash, 9, 8))), _deleted = 0),
    (SELECT sum(cityHash64(product_key, reinterpretAsUInt64(substring(_hash, 9, 8)))) FROM (SELECT *, _version
    FROM products_staging FINAL
    WHERE run_id = {run:UUID}) AS s),
    toUInt64(0),
    countIf(_deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(last_viewed_at) + 2 * isNull(price) + 4 * isNull(rating_value) + 8 * isNull(rating_count) + 16 * isNull(best_rating) + 32 * isNull(worst_rating)), _extra, ifNull(reinterpret(last_viewed_at, 'Int64'), 0), url, name, ifNull(reinterpret(price, 'Int64'), 0), currency_code, brand_name, description, arrayStringConcat(arrayMap(x -> concat(x, '\0'), image_urls)), category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, ifNull(reinterpret(rating_value, 'Int64'), 0), ifNull(rating_count, 0), ifNull(reinterpret(best_rating, 'Int64'), 0), ifNull(reinterpret(worst_rating, 'Int64'), 0))),
    anyIf(toString(product_key), _deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(last_viewed_at) + 2 * isNull(price) + 4 * isNull(rating_value) + 8 * isNull(rating_count) + 16 * isNull(best_rating) + 32 * isNull(worst_rating)), _extra, ifNull(reinterpret(last_viewed_at, 'Int64'), 0), url, name, ifNull(reinterpret(price, 'Int64'), 0), currency_code, brand_name, description, arrayStringConcat(arrayMap(x -> concat(x, '\0'), image_urls)), category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, ifNull(reinterpret(rating_value, 'Int64'), 0), ifNull(rating_count, 0), ifNull(reinterpret(best_rating, 'Int64'), 0), ifNull(reinterpret(worst_rating, 'Int64'), 0))),
    countIf(_deleted = 0 AND ifNull((ifNull(price < 0, false)), false)),
    anyIf(toString(product_key), _deleted = 0 AND ifNull((ifNull(price < 0, false)), false))
FROM `dealhouse_runs`.products_delta_0000000000004000800000000000a11e;

-- removed
(SELECT sumIf(was, change IN (1, 2) OR change = 3) FROM `dealhouse_runs`.products_changes_0000000000004000800000000000a11e);

-- createLatest
CREATE TABLE IF NOT EXISTS transactions_latest ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier (API: id)',
    country LowCardinality(String) COMMENT 'Country code; empty when absent (API: country)',
    activated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Activation time [UTC] (API: activatedAt)',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time [UTC] (API: clickedAt)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (API: soldAt)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    currency_code LowCardinality(String) COMMENT 'Currency of order_value and cashback; empty when absent (API: currencyCode)',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Value of the order [currency_code] (API: orderValue)',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback amount [currency_code] (API: cashback)',
    status LowCardinality(String) COMMENT 'PENDING, CONFIRMED or DECLINED; the service may add values; empty when absent (API: status)',
    passback_uid String COMMENT 'Caller\'s own user identifier, as passed back; empty when absent (API: passbackUid)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction; NULL when the service sent none or no UUID (API: retailerId)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: retailerName)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: retailerLogo)',
    payout_id Nullable(Int64) COMMENT 'Payout that includes the transaction; NULL while in none (API: payoutId)',
    passback_data String COMMENT 'Caller\'s own data, as passed back; empty when absent (API: passbackData)',
    cashback_offer_id Nullable(UUID) COMMENT 'Cashback offer behind the transaction; NULL when there is none (API: cashbackOfferId)',
    coupon_id Nullable(UUID) COMMENT 'Coupon behind the transaction; NULL when there is none (API: couponId)',
    promotion_id Nullable(UUID) COMMENT 'Promotion behind the transaction; NULL when there is none (API: promotionId)',
    _extra String COMMENT 'Fields that dealhouse does not know, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows (15c6c6bb)',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address; 2 where a row was that has another sold_at now',
    _run_id UUID COMMENT 'Run that loaded this version',
    INDEX by_key id TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX by_passback_uid passback_uid TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/transactions_latest', '{replica}', _version)
ORDER BY (account, sold_at, id)
SETTINGS replicated_deduplication_window = 0, allow_nullable_key = 1
COMMENT 'Storage behind the view transactions';

-- createStaging
CREATE TABLE IF NOT EXISTS transactions_staging ON CLUSTER `main`
(
    run_id UUID,
    id UUID,
    country String,
    activated_at Int64,
    clicked_at Int64,
    sold_at Int64,
    updated_at Int64,
    currency_code String,
    order_value Int64,
    cashback Int64,
    status String,
    passback_uid String,
    retailer_id UUID,
    retailer_name String,
    retailer_logo String,
    payout_id Int64,
    passback_data String,
    cashback_offer_id UUID,
    coupon_id UUID,
    promotion_id UUID,
    _nulls UInt64,
    _extra String,
    _page UInt32,
    _fetched Int64,
    _version UInt128 MATERIALIZED bitOr(bitShiftLeft(toUInt128(if(bitTest(_nulls, 3), 0, greatest(updated_at, 0))), 64), toUInt128(_fetched)),
    _hash FixedString(16) DEFAULT reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(_nulls, _extra, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id)), 64), toUInt128(xxHash64(_nulls, _extra, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id))), 'FixedString(16)') COMMENT 'Hash of the content: equal hashes are equal rows (15c6c6bb)'
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, id)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

-- createView
CREATE OR REPLACE VIEW transactions ON CLUSTER `main`;

-- rehash
ALTER TABLE transactions_staging ON CLUSTER `main` MODIFY COLUMN _hash FixedString(16) DEFAULT reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(_nulls, _extra, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id)), 64), toUInt128(xxHash64(_nulls, _extra, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id))), 'FixedString(16)');

-- hashStatements 2
ALTER TABLE transactions_staging ON CLUSTER `main` MATERIALIZE COLUMN _hash SETTINGS mutations_sync = 1;

-- hashStatements 3
ALTER TABLE transactions_staging ON CLUSTER `main` COMMENT COLUMN _hash 'Hash of the content: equal hashes are equal rows (15c6c6bb)';

-- hashStatements 6
ALTER TABLE transactions_latest ON CLUSTER `main` COMMENT COLUMN _hash 'Hash of the content: equal hashes are equal rows (15c6c6bb)';

-- createVersions
CREATE TABLE IF NOT EXISTS transactions_versions ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier (API: id)',
    country LowCardinality(String) COMMENT 'Country code; empty when absent (API: country)',
    activated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Activation time [UTC] (API: activatedAt)',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time [UTC] (API: clickedAt)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (API: soldAt)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    currency_code LowCardinality(String) COMMENT 'Currency of order_value and cashback; empty when absent (API: currencyCode)',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Value of the order [currency_code] (API: orderValue)',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback amount [currency_code] (API: cashback)',
    status LowCardinality(String) COMMENT 'PENDING, CONFIRMED or DECLINED; the service may add values; empty when absent (API: status)',
    passback_uid String COMMENT 'Caller\'s own user identifier, as passed back; empty when absent (API: passbackUid)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction; NULL when the service sent none or no UUID (API: retailerId)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: retailerName)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (API: retailerLogo)',
    payout_id Nullable(Int64) COMMENT 'Payout that includes the transaction; NULL while in none (API: payoutId)',
    passback_data String COMMENT 'Caller\'s own data, as passed back; empty when absent (API: passbackData)',
    cashback_offer_id Nullable(UUID) COMMENT 'Cashback offer behind the transaction; NULL when there is none (API: cashbackOfferId)',
    coupon_id Nullable(UUID) COMMENT 'Coupon behind the transaction; NULL when there is none (API: couponId)',
    promotion_id Nullable(UUID) COMMENT 'Promotion behind the transaction; NULL when there is none (API: promotionId)',
    _extra String COMMENT 'Fields that dealhouse does not know, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows (15c6c6bb)',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when no list has the row: a complete snapshot no longer had it, or it was read by its own address; 2 where a row was that has another sold_at now',
    _run_id UUID COMMENT 'Run that loaded this version',
    INDEX by_key id TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX by_passback_uid passback_uid TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/dealhouse/transactions_versions', '{replica}')
ORDER BY (account, sold_at, id)
SETTINGS replicated_deduplication_window = 0, allow_nullable_key = 1
COMMENT 'Storage behind the view transactions_history';

-- createHistory
CREATE OR REPLACE VIEW transactions_history ON CLUSTER `main`;

-- createAsOf
CREATE OR REPLACE VIEW transactions_as_of ON CLUSTER `main`;

-- createLookup
CREATE OR REPLACE VIEW transactions_by_passback_uid ON CLUSTER `main`;

-- addColumns to transactions_latest
ALTER TABLE transactions_latest ON CLUSTER `main` ADD COLUMN IF NOT EXISTS _run_id UUID COMMENT 'Run that loaded this version' AFTER _deleted;

-- addColumns to transactions_staging
ALTER TABLE transactions_staging ON CLUSTER `main` ADD COLUMN IF NOT EXISTS _fetched Int64 AFTER _page;

-- addColumns to transactions_versions
ALTER TABLE transactions_versions ON CLUSTER `main` ADD COLUMN IF NOT EXISTS _run_id UUID COMMENT 'Run that loaded this version' AFTER _deleted;

-- dropOldChanges
DROP TABLE IF EXISTS `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e;

-- createChanges
CREATE TABLE IF NOT EXISTS `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e (id UUID, change UInt8, version UInt128, was UInt64, now UInt64, position Nullable(DateTime64(3, 'UTC')), moved UInt8)
ENGINE = MergeTree ORDER BY id
COMMENT 'What a run under way will change';

-- insertChanges of a part
INSERT INTO `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e (id, change, version, was, now, position, moved)
WITH
    bitShiftRight(least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 64) AS s_own,
    least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped,
    least(l_capped, toUInt128(l._updated)) AS l_changed,
    if(s._undated OR l._deleted OR l._updated > l_capped + 60000, greatest(s_own, l_changed), s_own) AS s_changed,
    s._version != 0 AND l._version != 0 AND NOT (s._position <=> l.sold_at) AS moved,
    bitAnd(s._version, toUInt128(18446744073709551615)) AS s_read,
    if(bitAnd(l._version, toUInt128(18446744073709551615)) > {latest:UInt64}, 0, bitAnd(l._version, toUInt128(18446744073709551615))) AS l_read,
    s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer,
    greatest(
        least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))),
        if(l._version = 0, 0, bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), s_read)),
        if(l._version = 0, 0, l._version + if(moved, 2, 1))) AS s_version
SELECT if(s._version = 0, l.id, s.id),
    multiIf(s._version = 0, 3, l._version = 0 OR l._deleted, 1, newer, 2, 4),
    if(s._version = 0, greatest(bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), toUInt128({started:UInt64})), l._version + 1), s_version),
    if(l._version = 0 OR l._deleted, 0, cityHash64(l.id, reinterpretAsUInt64(substring(l._hash, 9, 8)))),
    if(s._version = 0, 0, cityHash64(s.id, reinterpretAsUInt64(substring(s._hash, 9, 8)))),
    l.sold_at, moved
FROM
(
    SELECT id, _version, _hash, bitTest(_nulls, 3) AS _undated, if(bitTest(_nulls, 2), NULL, reinterpret(sold_at, 'DateTime64(3, ''UTC'')')) AS _position
    FROM transactions_staging FINAL
    WHERE run_id = {run:UUID}
) AS s
LEFT JOIN
(
    SELECT id, _version, _hash, _deleted, toUInt64(toInt64(bitShiftRight(_version, 64)) + _ahead) AS _updated, sold_at
    FROM transactions_keys FINAL
    WHERE account = {account:String} AND id IN (SELECT id FROM transactions_staging WHERE run_id = {run:UUID})
) AS l ON s.id = l.id
WHERE (s._version != 0 AND (l._version = 0 OR newer AND (s._hash != l._hash OR l._deleted)))
    OR (s._version != 0 AND NOT newer AND s_read > l_read AND s._hash != l._hash);

-- insertChanges of a part, some dated ahead
INSERT INTO `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e (id, change, version, was, now, position, moved)
WITH
    bitShiftRight(least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 64) AS s_own,
    least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped,
    least(l_capped, toUInt128(l._updated)) AS l_changed,
    if(s._undated OR l._deleted OR l._updated > l_capped + 60000, greatest(s_own, l_changed), s_own) AS s_changed,
    s._version != 0 AND l._version != 0 AND NOT (s._position <=> l.sold_at) AS moved,
    bitAnd(s._version, toUInt128(18446744073709551615)) AS s_read,
    if(bitAnd(l._version, toUInt128(18446744073709551615)) > {latest:UInt64}, 0, bitAnd(l._version, toUInt128(18446744073709551615))) AS l_read,
    s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer,
    greatest(
        least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))),
        if(l._version = 0, 0, bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), s_read)),
        if(l._version = 0, 0, l._version + if(moved, 2, 1))) AS s_version
SELECT if(s._version = 0, l.id, s.id),
    multiIf(s._version = 0, 3, l._version = 0 OR l._deleted, 1, newer, 2, 4),
    if(s._version = 0, greatest(bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), toUInt128({started:UInt64})), l._version + 1), s_version),
    if(l._version = 0 OR l._deleted, 0, cityHash64(l.id, reinterpretAsUInt64(substring(l._hash, 9, 8)))),
    if(s._version = 0, 0, cityHash64(s.id, reinterpretAsUInt64(substring(s._hash, 9, 8)))),
    l.sold_at, moved
FROM
(
    SELECT id, _version, _hash, bitTest(_nulls, 3) AS _undated, if(bitTest(_nulls, 2), NULL, reinterpret(sold_at, 'DateTime64(3, ''UTC'')')) AS _position
    FROM transactions_staging
    WHERE run_id = {run:UUID}
    ORDER BY id, if(max(bitShiftRight(_version, 64) > {cap:UInt64} + 60000) OVER (PARTITION BY id), toUInt128(_fetched), _version) DESC, _version DESC, _hash
    LIMIT 1 BY id
) AS s
LEFT JOIN
(
    SELECT id, _version, _hash, _deleted, toUInt64(toInt64(bitShiftRight(_version, 64)) + _ahead) AS _updated, sold_at
    FROM transactions_keys FINAL
    WHERE account = {account:String} AND id IN (SELECT id FROM transactions_staging WHERE run_id = {run:UUID})
) AS l ON s.id = l.id
WHERE (s._version != 0 AND (l._version = 0 OR newer AND (s._hash != l._hash OR l._deleted)))
    OR (s._version != 0 AND NOT newer AND s_read > l_read AND s._hash != l._hash);

-- insertChanges of the whole list
INSERT INTO `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e (id, change, version, was, now, position, moved)
WITH
    bitShiftRight(least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 64) AS s_own,
    least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped,
    least(l_capped, toUInt128(l._updated)) AS l_changed,
    greatest(s_own, l_changed) AS s_changed,
    s._version != 0 AND l._version != 0 AND NOT (s._position <=> l.sold_at) AS moved,
    bitAnd(s._version, toUInt128(18446744073709551615)) AS s_read,
    if(bitAnd(l._version, toUInt128(18446744073709551615)) > {latest:UInt64}, 0, bitAnd(l._version, toUInt128(18446744073709551615))) AS l_read,
    s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer,
    greatest(
        least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))),
        if(l._version = 0, 0, bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), s_read)),
        if(l._version = 0, 0, l._version + if(moved, 2, 1))) AS s_version
SELECT if(s._version = 0, l.id, s.id),
    multiIf(s._version = 0, 3, l._version = 0 OR l._deleted, 1, newer, 2, 4),
    if(s._version = 0, greatest(bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), toUInt128({started:UInt64})), l._version + 1), s_version),
    if(l._version = 0 OR l._deleted, 0, cityHash64(l.id, reinterpretAsUInt64(substring(l._hash, 9, 8)))),
    if(s._version = 0, 0, cityHash64(s.id, reinterpretAsUInt64(substring(s._hash, 9, 8)))),
    l.sold_at, moved
FROM
(
    SELECT id, _version, _hash, bitTest(_nulls, 3) AS _undated, if(bitTest(_nulls, 2), NULL, reinterpret(sold_at, 'DateTime64(3, ''UTC'')')) AS _position
    FROM transactions_staging FINAL
    WHERE run_id = {run:UUID}
) AS s
FULL JOIN
(
    SELECT id, _version, _hash, _deleted, toUInt64(toInt64(bitShiftRight(_version, 64)) + _ahead) AS _updated, sold_at
    FROM transactions_keys FINAL
    WHERE account = {account:String}
) AS l ON s.id = l.id
WHERE (s._version != 0 AND (l._version = 0 OR newer AND (s._hash != l._hash OR l._deleted)))
    OR (s._version = 0 AND l._deleted = 0 AND l_read < {started:UInt64} AND toString(l.id) NOT IN
    (
        SELECT key FROM rejects_log
        WHERE account = {account:String} AND stream = 'transactions' AND field = ''
            AND (last.run_id = {run:UUID} OR toUnixTimestamp64Micro(last.read_at) >= {started:UInt64})
    ));

-- insertChanges of the whole list, some dated ahead
INSERT INTO `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e (id, change, version, was, now, position, moved)
WITH
    bitShiftRight(least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 64) AS s_own,
    least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped,
    least(l_capped, toUInt128(l._updated)) AS l_changed,
    greatest(s_own, l_changed) AS s_changed,
    s._version != 0 AND l._version != 0 AND NOT (s._position <=> l.sold_at) AS moved,
    bitAnd(s._version, toUInt128(18446744073709551615)) AS s_read,
    if(bitAnd(l._version, toUInt128(18446744073709551615)) > {latest:UInt64}, 0, bitAnd(l._version, toUInt128(18446744073709551615))) AS l_read,
    s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer,
    greatest(
        least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))),
        if(l._version = 0, 0, bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), s_read)),
        if(l._version = 0, 0, l._version + if(moved, 2, 1))) AS s_version
SELECT if(s._version = 0, l.id, s.id),
    multiIf(s._version = 0, 3, l._version = 0 OR l._deleted, 1, newer, 2, 4),
    if(s._version = 0, greatest(bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), toUInt128({started:UInt64})), l._version + 1), s_version),
    if(l._version = 0 OR l._deleted, 0, cityHash64(l.id, reinterpretAsUInt64(substring(l._hash, 9, 8)))),
    if(s._version = 0, 0, cityHash64(s.id, reinterpretAsUInt64(substring(s._hash, 9, 8)))),
    l.sold_at, moved
FROM
(
    SELECT id, _version, _hash, bitTest(_nulls, 3) AS _undated, if(bitTest(_nulls, 2), NULL, reinterpret(sold_at, 'DateTime64(3, ''UTC'')')) AS _position
    FROM transactions_staging
    WHERE run_id = {run:UUID}
    ORDER BY id, if(max(bitShiftRight(_version, 64) > {cap:UInt64} + 60000) OVER (PARTITION BY id), toUInt128(_fetched), _version) DESC, _version DESC, _hash
    LIMIT 1 BY id
) AS s
FULL JOIN
(
    SELECT id, _version, _hash, _deleted, toUInt64(toInt64(bitShiftRight(_version, 64)) + _ahead) AS _updated, sold_at
    FROM transactions_keys FINAL
    WHERE account = {account:String}
) AS l ON s.id = l.id
WHERE (s._version != 0 AND (l._version = 0 OR newer AND (s._hash != l._hash OR l._deleted)))
    OR (s._version = 0 AND l._deleted = 0 AND l_read < {started:UInt64} AND toString(l.id) NOT IN
    (
        SELECT key FROM rejects_log
        WHERE account = {account:String} AND stream = 'transactions' AND field = ''
            AND (last.run_id = {run:UUID} OR toUnixTimestamp64Micro(last.read_at) >= {started:UInt64})
    ));

-- insertChanges of rows that no list has
INSERT INTO `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e (id, change, version, was, now, position, moved)
WITH
    bitShiftRight(least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 64) AS s_own,
    least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped,
    least(l_capped, toUInt128(l._updated)) AS l_changed,
    if(s._undated OR l._deleted OR l._updated > l_capped + 60000, greatest(s_own, l_changed), s_own) AS s_changed,
    s._version != 0 AND l._version != 0 AND NOT (s._position <=> l.sold_at) AS moved,
    bitAnd(s._version, toUInt128(18446744073709551615)) AS s_read,
    if(bitAnd(l._version, toUInt128(18446744073709551615)) > {latest:UInt64}, 0, bitAnd(l._version, toUInt128(18446744073709551615))) AS l_read,
    s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer,
    greatest(
        least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))),
        if(l._version = 0, 0, bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), s_read)),
        if(l._version = 0, 0, l._version + if(moved, 2, 1))) AS s_version
SELECT if(s._version = 0, l.id, s.id),
    multiIf(s._version = 0, 3, l._version = 0 OR l._deleted, 1, newer, 2, 4),
    if(s._version = 0, greatest(bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), toUInt128({started:UInt64})), l._version + 1), s_version),
    if(l._version = 0 OR l._deleted, 0, cityHash64(l.id, reinterpretAsUInt64(substring(l._hash, 9, 8)))),
    if(s._version = 0, 0, cityHash64(s.id, reinterpretAsUInt64(substring(s._hash, 9, 8)))),
    l.sold_at, moved
FROM
(
    SELECT id, _version, _hash, bitTest(_nulls, 3) AS _undated, if(bitTest(_nulls, 2), NULL, reinterpret(sold_at, 'DateTime64(3, ''UTC'')')) AS _position
    FROM transactions_staging FINAL
    WHERE run_id = {run:UUID}
) AS s
LEFT JOIN
(
    SELECT id, _version, _hash, _deleted, toUInt64(toInt64(bitShiftRight(_version, 64)) + _ahead) AS _updated, sold_at
    FROM transactions_keys FINAL
    WHERE account = {account:String} AND id IN (SELECT id FROM transactions_staging WHERE run_id = {run:UUID})
) AS l ON s.id = l.id
WHERE s._version != 0 AND l._version = 0;

-- insertChanges of rows that no list has, some dated ahead
INSERT INTO `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e (id, change, version, was, now, position, moved)
WITH
    bitShiftRight(least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 64) AS s_own,
    least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped,
    least(l_capped, toUInt128(l._updated)) AS l_changed,
    if(s._undated OR l._deleted OR l._updated > l_capped + 60000, greatest(s_own, l_changed), s_own) AS s_changed,
    s._version != 0 AND l._version != 0 AND NOT (s._position <=> l.sold_at) AS moved,
    bitAnd(s._version, toUInt128(18446744073709551615)) AS s_read,
    if(bitAnd(l._version, toUInt128(18446744073709551615)) > {latest:UInt64}, 0, bitAnd(l._version, toUInt128(18446744073709551615))) AS l_read,
    s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer,
    greatest(
        least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))),
        if(l._version = 0, 0, bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), s_read)),
        if(l._version = 0, 0, l._version + if(moved, 2, 1))) AS s_version
SELECT if(s._version = 0, l.id, s.id),
    multiIf(s._version = 0, 3, l._version = 0 OR l._deleted, 1, newer, 2, 4),
    if(s._version = 0, greatest(bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), toUInt128({started:UInt64})), l._version + 1), s_version),
    if(l._version = 0 OR l._deleted, 0, cityHash64(l.id, reinterpretAsUInt64(substring(l._hash, 9, 8)))),
    if(s._version = 0, 0, cityHash64(s.id, reinterpretAsUInt64(substring(s._hash, 9, 8)))),
    l.sold_at, moved
FROM
(
    SELECT id, _version, _hash, bitTest(_nulls, 3) AS _undated, if(bitTest(_nulls, 2), NULL, reinterpret(sold_at, 'DateTime64(3, ''UTC'')')) AS _position
    FROM transactions_staging
    WHERE run_id = {run:UUID}
    ORDER BY id, if(max(bitShiftRight(_version, 64) > {cap:UInt64} + 60000) OVER (PARTITION BY id), toUInt128(_fetched), _version) DESC, _version DESC, _hash
    LIMIT 1 BY id
) AS s
LEFT JOIN
(
    SELECT id, _version, _hash, _deleted, toUInt64(toInt64(bitShiftRight(_version, 64)) + _ahead) AS _updated, sold_at
    FROM transactions_keys FINAL
    WHERE account = {account:String} AND id IN (SELECT id FROM transactions_staging WHERE run_id = {run:UUID})
) AS l ON s.id = l.id
WHERE s._version != 0 AND l._version = 0;

-- countChanges
SELECT change, count(), toUInt64(countIf(change IN (1, 2) AND moved)) FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e GROUP BY change;

-- selectPlannedKeys
SELECT toString(id) FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2);

-- selectPlannedDeletes
SELECT toString(id), ifNull(toUnixTimestamp64Milli(updated_at), 0), '' FROM transactions_latest FINAL
WHERE account = {account:String} AND ((sold_at, id) IN (SELECT position, id FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change = 3 AND id IN (SELECT id FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change = 3 ORDER BY cityHash64(id, '00000000-0000-4000-8000-00000000a11e') LIMIT 5) AND position IS NOT NULL)
        OR sold_at IS NULL AND id IN (SELECT id FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change = 3 AND id IN (SELECT id FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change = 3 ORDER BY cityHash64(id, '00000000-0000-4000-8000-00000000a11e') LIMIT 5) AND position IS NULL));

-- countAbsence
INSERT INTO absent_rows_log (account, stream, key, lists, run_id, since, version)
SELECT {account:String}, {stream:String}, if(gone.key != '', gone.key, before.key), if(gone.key != '', before.lists + 1, 0), {run:UUID},
    if(before.lists = 0, now64(3), before.since), greatest(toUInt64(toUnixTimestamp64Micro(now64(6))), before.version + 1)
FROM (SELECT toString(id) AS key FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change = 3) AS gone
FULL JOIN
(
    SELECT key, lists, run_id, since, version FROM absent_rows_log FINAL
    WHERE account = {account:String} AND stream = {stream:String}
) AS before ON gone.key = before.key
WHERE before.run_id != {run:UUID} AND (gone.key != '' OR before.lists > 0);

-- countUnconfirmed
SELECT count() FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change = 3 AND toString(id) NOT IN (SELECT key FROM absent_rows_log FINAL WHERE account = 'acme' AND stream = 'transactions' AND lists >= 1);

-- deleteAllPlanned
ALTER TABLE `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e DELETE WHERE change = 3;

-- deletePlanned by absence
ALTER TABLE `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e DELETE WHERE change = 3 AND toString(id) NOT IN (SELECT key FROM absent_rows_log FINAL WHERE account = 'acme' AND stream = 'transactions' AND lists >= 1);

-- deletePlanned by key
ALTER TABLE `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e DELETE WHERE change = 3 AND toString(id) NOT IN ('', 'a', 'b');

-- createDelta
CREATE TABLE IF NOT EXISTS `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e AS transactions_latest
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, sold_at, id)
SETTINGS allow_nullable_key = 1 COMMENT 'What a run under way is about to publish';

-- insertDelta of the first load
INSERT INTO `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e (account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.id,
    country,
    if(bitTest(_nulls, 0), NULL, reinterpret(activated_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 1), NULL, reinterpret(clicked_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 2), NULL, reinterpret(sold_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')),
    currency_code,
    if(bitTest(_nulls, 4), NULL, reinterpret(order_value, 'Decimal(18, 4)')),
    if(bitTest(_nulls, 5), NULL, reinterpret(cashback, 'Decimal(18, 4)')),
    status,
    passback_uid,
    if(bitTest(_nulls, 6), NULL, retailer_id),
    retailer_name,
    retailer_logo,
    if(bitTest(_nulls, 7), NULL, payout_id),
    passback_data,
    if(bitTest(_nulls, 8), NULL, cashback_offer_id),
    if(bitTest(_nulls, 9), NULL, coupon_id),
    if(bitTest(_nulls, 10), NULL, promotion_id),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM transactions_staging
    WHERE run_id = {run:UUID}
) AS s;

-- insertDelta of the first load, keys staged twice
INSERT INTO `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e (account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.id,
    country,
    if(bitTest(_nulls, 0), NULL, reinterpret(activated_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 1), NULL, reinterpret(clicked_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 2), NULL, reinterpret(sold_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')),
    currency_code,
    if(bitTest(_nulls, 4), NULL, reinterpret(order_value, 'Decimal(18, 4)')),
    if(bitTest(_nulls, 5), NULL, reinterpret(cashback, 'Decimal(18, 4)')),
    status,
    passback_uid,
    if(bitTest(_nulls, 6), NULL, retailer_id),
    retailer_name,
    retailer_logo,
    if(bitTest(_nulls, 7), NULL, payout_id),
    passback_data,
    if(bitTest(_nulls, 8), NULL, cashback_offer_id),
    if(bitTest(_nulls, 9), NULL, coupon_id),
    if(bitTest(_nulls, 10), NULL, promotion_id),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM transactions_staging FINAL
    WHERE run_id = {run:UUID}
) AS s;

-- insertDelta of what changes
INSERT INTO `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e (account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.id,
    country,
    if(bitTest(_nulls, 0), NULL, reinterpret(activated_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 1), NULL, reinterpret(clicked_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 2), NULL, reinterpret(sold_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')),
    currency_code,
    if(bitTest(_nulls, 4), NULL, reinterpret(order_value, 'Decimal(18, 4)')),
    if(bitTest(_nulls, 5), NULL, reinterpret(cashback, 'Decimal(18, 4)')),
    status,
    passback_uid,
    if(bitTest(_nulls, 6), NULL, retailer_id),
    retailer_name,
    retailer_logo,
    if(bitTest(_nulls, 7), NULL, payout_id),
    passback_data,
    if(bitTest(_nulls, 8), NULL, cashback_offer_id),
    if(bitTest(_nulls, 9), NULL, coupon_id),
    if(bitTest(_nulls, 10), NULL, promotion_id),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM transactions_staging
    WHERE run_id = {run:UUID}
) AS s
INNER JOIN (SELECT id, version FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.id = c.id;

-- insertDelta of what changes of many rows
INSERT INTO `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e (account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.id,
    country,
    if(bitTest(_nulls, 0), NULL, reinterpret(activated_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 1), NULL, reinterpret(clicked_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 2), NULL, reinterpret(sold_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')),
    currency_code,
    if(bitTest(_nulls, 4), NULL, reinterpret(order_value, 'Decimal(18, 4)')),
    if(bitTest(_nulls, 5), NULL, reinterpret(cashback, 'Decimal(18, 4)')),
    status,
    passback_uid,
    if(bitTest(_nulls, 6), NULL, retailer_id),
    retailer_name,
    retailer_logo,
    if(bitTest(_nulls, 7), NULL, payout_id),
    passback_data,
    if(bitTest(_nulls, 8), NULL, cashback_offer_id),
    if(bitTest(_nulls, 9), NULL, coupon_id),
    if(bitTest(_nulls, 10), NULL, promotion_id),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM transactions_staging
    WHERE run_id = {run:UUID} AND id IN (SELECT id FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2))
) AS s
INNER JOIN (SELECT id, version FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.id = c.id;

-- insertDelta of what changes, keys staged twice
INSERT INTO `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e (account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.id,
    country,
    if(bitTest(_nulls, 0), NULL, reinterpret(activated_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 1), NULL, reinterpret(clicked_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 2), NULL, reinterpret(sold_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')),
    currency_code,
    if(bitTest(_nulls, 4), NULL, reinterpret(order_value, 'Decimal(18, 4)')),
    if(bitTest(_nulls, 5), NULL, reinterpret(cashback, 'Decimal(18, 4)')),
    status,
    passback_uid,
    if(bitTest(_nulls, 6), NULL, retailer_id),
    retailer_name,
    retailer_logo,
    if(bitTest(_nulls, 7), NULL, payout_id),
    passback_data,
    if(bitTest(_nulls, 8), NULL, cashback_offer_id),
    if(bitTest(_nulls, 9), NULL, coupon_id),
    if(bitTest(_nulls, 10), NULL, promotion_id),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM transactions_staging FINAL
    WHERE run_id = {run:UUID}
) AS s
INNER JOIN (SELECT id, version FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.id = c.id;

-- insertDelta of what changes, keys staged twice, some dated ahead
INSERT INTO `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e (account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.id,
    country,
    if(bitTest(_nulls, 0), NULL, reinterpret(activated_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 1), NULL, reinterpret(clicked_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 2), NULL, reinterpret(sold_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')),
    currency_code,
    if(bitTest(_nulls, 4), NULL, reinterpret(order_value, 'Decimal(18, 4)')),
    if(bitTest(_nulls, 5), NULL, reinterpret(cashback, 'Decimal(18, 4)')),
    status,
    passback_uid,
    if(bitTest(_nulls, 6), NULL, retailer_id),
    retailer_name,
    retailer_logo,
    if(bitTest(_nulls, 7), NULL, payout_id),
    passback_data,
    if(bitTest(_nulls, 8), NULL, cashback_offer_id),
    if(bitTest(_nulls, 9), NULL, coupon_id),
    if(bitTest(_nulls, 10), NULL, promotion_id),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM transactions_staging
    WHERE run_id = {run:UUID}
    ORDER BY id, if(max(bitShiftRight(_version, 64) > {cap:UInt64} + 60000) OVER (PARTITION BY id), toUInt128(_fetched), _version) DESC, _version DESC, _hash
    LIMIT 1 BY id
) AS s
INNER JOIN (SELECT id, version FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.id = c.id;

-- insertDelta of the first load, keys staged twice, some dated ahead
INSERT INTO `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e (account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.id,
    country,
    if(bitTest(_nulls, 0), NULL, reinterpret(activated_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 1), NULL, reinterpret(clicked_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 2), NULL, reinterpret(sold_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')),
    currency_code,
    if(bitTest(_nulls, 4), NULL, reinterpret(order_value, 'Decimal(18, 4)')),
    if(bitTest(_nulls, 5), NULL, reinterpret(cashback, 'Decimal(18, 4)')),
    status,
    passback_uid,
    if(bitTest(_nulls, 6), NULL, retailer_id),
    retailer_name,
    retailer_logo,
    if(bitTest(_nulls, 7), NULL, payout_id),
    passback_data,
    if(bitTest(_nulls, 8), NULL, cashback_offer_id),
    if(bitTest(_nulls, 9), NULL, coupon_id),
    if(bitTest(_nulls, 10), NULL, promotion_id),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM transactions_staging
    WHERE run_id = {run:UUID}
    ORDER BY id, if(max(bitShiftRight(_version, 64) > {cap:UInt64} + 60000) OVER (PARTITION BY id), toUInt128(_fetched), _version) DESC, _version DESC, _hash
    LIMIT 1 BY id
) AS s;

-- insertDelta of rows that no list has
INSERT INTO `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e (account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.id,
    country,
    if(bitTest(_nulls, 0), NULL, reinterpret(activated_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 1), NULL, reinterpret(clicked_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 2), NULL, reinterpret(sold_at, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')),
    currency_code,
    if(bitTest(_nulls, 4), NULL, reinterpret(order_value, 'Decimal(18, 4)')),
    if(bitTest(_nulls, 5), NULL, reinterpret(cashback, 'Decimal(18, 4)')),
    status,
    passback_uid,
    if(bitTest(_nulls, 6), NULL, retailer_id),
    retailer_name,
    retailer_logo,
    if(bitTest(_nulls, 7), NULL, payout_id),
    passback_data,
    if(bitTest(_nulls, 8), NULL, cashback_offer_id),
    if(bitTest(_nulls, 9), NULL, coupon_id),
    if(bitTest(_nulls, 10), NULL, promotion_id),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 1, {run:UUID}
FROM
(
    SELECT *, _version
    FROM transactions_staging
    WHERE run_id = {run:UUID}
) AS s
INNER JOIN (SELECT id, version FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.id = c.id;

-- insertTombstones
INSERT INTO `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e (account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 1, {run:UUID}
FROM
(
    SELECT id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, _hash
    FROM transactions_latest FINAL
    WHERE account = {account:String} AND ((sold_at, id) IN (SELECT position, id FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change = 3 AND position IS NOT NULL)
        OR sold_at IS NULL AND id IN (SELECT id FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change = 3 AND position IS NULL))
) AS l
INNER JOIN (SELECT id, version FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change = 3) AS c ON l.id = c.id;

-- mergeParts
OPTIMIZE TABLE `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e FINAL;

-- createChanged
CREATE TABLE IF NOT EXISTS `dealhouse_runs`.transactions_changed_0000000000004000800000000000a11e (sign Int8, id UUID, sold_at Nullable(DateTime64(3, 'UTC')), updated_at Nullable(DateTime64(3, 'UTC')), currency_code LowCardinality(String), order_value Nullable(Decimal(18, 4)), cashback Nullable(Decimal(18, 4)), status LowCardinality(String), retailer_name LowCardinality(String), payout_id Nullable(Int64), synced_at DateTime64(3, 'UTC'), _version UInt128, _deleted UInt8)
ENGINE = MergeTree ORDER BY id
COMMENT 'What a run under way changes';

-- insertChanged
INSERT INTO `dealhouse_runs`.transactions_changed_0000000000004000800000000000a11e (sign, id, sold_at, currency_code, retailer_name, status, order_value, cashback, payout_id, updated_at, synced_at, _version, _deleted)
SELECT -1, id, sold_at, currency_code, retailer_name, status, order_value, cashback, payout_id, updated_at, synced_at, _version, _deleted
FROM transactions_latest FINAL
WHERE account = {account:String} AND _deleted != 2 AND ((sold_at, id) IN (SELECT position, id FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change != 4 AND position IS NOT NULL)
        OR sold_at IS NULL AND id IN (SELECT id FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change != 4 AND position IS NULL))
UNION ALL
SELECT 1, id, sold_at, currency_code, retailer_name, status, order_value, cashback, payout_id, updated_at, synced_at, _version, _deleted
FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e;

-- countTouched
SELECT countIf(sign = -1),
    countIf(payout_id IS NOT NULL),
    countIf(sign = -1 AND payout_id IS NOT NULL AND (id, assumeNotNull(payout_id)) NOT IN
        (SELECT id, assumeNotNull(payout_id) FROM `dealhouse_runs`.transactions_changed_0000000000004000800000000000a11e WHERE sign = 1 AND payout_id IS NOT NULL)),
    (SELECT count() FROM payout_moves_latest FINAL WHERE account = {account:String} AND id IN (SELECT id FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e))
FROM `dealhouse_runs`.transactions_changed_0000000000004000800000000000a11e;

-- createMoves
CREATE TABLE IF NOT EXISTS `dealhouse_runs`.transactions_moves_0000000000004000800000000000a11e AS transactions_latest
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, sold_at, id)
SETTINGS allow_nullable_key = 1 COMMENT 'What a run under way is about to publish';

-- copyDelta
INSERT INTO `dealhouse_runs`.transactions_moves_0000000000004000800000000000a11e SELECT * FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e;

-- insertMarks
INSERT INTO `dealhouse_runs`.transactions_moves_0000000000004000800000000000a11e (account, id, sold_at, synced_at, _version, _deleted, _run_id)
SELECT account, id, sold_at, fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _version + 1, 2, {run:UUID}
FROM transactions_latest FINAL
WHERE account = {account:String} AND ((sold_at, id) IN (SELECT position, id FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2) AND moved AND position IS NOT NULL)
        OR sold_at IS NULL AND id IN (SELECT id FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2) AND moved AND position IS NULL));

-- create transactions_keys
CREATE TABLE IF NOT EXISTS transactions_keys ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier (API: id)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Where the row is in transactions_latest',
    _hash FixedString(16) COMMENT 'As in transactions_latest',
    _version UInt128 COMMENT 'As in transactions_latest',
    _deleted UInt8 COMMENT 'As in transactions_latest; 0 or 1',
    _ahead Int64 COMMENT 'updatedAt less the time in the version, in milliseconds; nearly always 0, also when there is no updatedAt'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/transactions_keys', '{replica}', _version)
PARTITION BY account
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0, index_granularity = 512
COMMENT 'Storage beside transactions_latest: what a run compares its rows with';

-- dropDelta of transactions_keys
DROP TABLE IF EXISTS `dealhouse_runs`.transactions_keys_delta_0000000000004000800000000000a11e;

-- createDelta transactions_keys
CREATE TABLE IF NOT EXISTS `dealhouse_runs`.transactions_keys_delta_0000000000004000800000000000a11e AS transactions_keys
ENGINE = ReplacingMergeTree(_version)
PARTITION BY account
ORDER BY (account, id)
SETTINGS index_granularity = 512 COMMENT 'What a run under way is about to publish';

-- dropTable transactions_keys
DROP TABLE IF EXISTS `dealhouse_runs`.transactions_keys_delta_0000000000004000800000000000a11e SYNC;

-- countRows transactions_keys
SELECT count() FROM `dealhouse_runs`.transactions_keys_delta_0000000000004000800000000000a11e;

-- fill, the first load: true, transactions_keys
INSERT INTO `dealhouse_runs`.transactions_keys_delta_0000000000004000800000000000a11e (account, id, sold_at, _hash, _version, _deleted, _ahead)
SELECT account, id, sold_at, _hash, _version, _deleted, ifNull(greatest(toUnixTimestamp64Milli(updated_at), 0) - toInt64(bitShiftRight(_version, 64)), 0)
FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e;

-- fill, the first load: false, transactions_keys
INSERT INTO `dealhouse_runs`.transactions_keys_delta_0000000000004000800000000000a11e (account, id, sold_at, _hash, _version, _deleted, _ahead)
SELECT account, id, sold_at, _hash, _version, _deleted, ifNull(greatest(toUnixTimestamp64Milli(updated_at), 0) - toInt64(bitShiftRight(_version, 64)), 0)
FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e;

-- rebuild transactions_keys
INSERT INTO `dealhouse_runs`.transactions_keys_delta_0000000000004000800000000000a11e (account, id, sold_at, _hash, _version, _deleted, _ahead)
SELECT account, id, sold_at, _hash, _version, _deleted, ifNull(greatest(toUnixTimestamp64Milli(updated_at), 0) - toInt64(bitShiftRight(_version, 64)), 0)
FROM transactions_latest FINAL
WHERE account = {account:String} AND _deleted != 2;

-- attachDerived transactions_keys
ALTER TABLE transactions_keys ATTACH PARTITION 'acme' FROM `dealhouse_runs`.transactions_keys_delta_0000000000004000800000000000a11e;

-- replaceDerived transactions_keys
ALTER TABLE transactions_keys REPLACE PARTITION 'acme' FROM `dealhouse_runs`.transactions_keys_delta_0000000000004000800000000000a11e;

-- compareDerived transactions_keys
SELECT
    (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM transactions_keys FINAL WHERE account = {account:String}))
    = (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM `dealhouse_runs`.transactions_keys_delta_0000000000004000800000000000a11e FINAL WHERE account = {account:String}));

-- countSame transactions_keys
SELECT uniqExact(sipHash128(toString(tuple(*)))) FROM transactions_keys WHERE (account, id) IN (SELECT account, id FROM `dealhouse_runs`.transactions_keys_delta_0000000000004000800000000000a11e) AND sipHash128(toString(tuple(*))) IN (SELECT sipHash128(toString(tuple(*))) FROM `dealhouse_runs`.transactions_keys_delta_0000000000004000800000000000a11e);

-- create transactions_decided
CREATE TABLE IF NOT EXISTS transactions_decided ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    id UUID COMMENT 'Transaction identifier',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction',
    currency_code LowCardinality(String) COMMENT 'Currency of the transaction',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale',
    confirmed_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was seen to become CONFIRMED',
    declined_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was seen to become DECLINED',
    version UInt128 COMMENT 'Newest version of the transaction that this takes into account: the highest wins',
    _run_id UUID COMMENT 'Run that loaded the newest version of the transaction'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/transactions_decided', '{replica}', version)
PARTITION BY account
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind transaction_decisions: what would have to be computed from all versions';

-- dropDelta of transactions_decided
DROP TABLE IF EXISTS `dealhouse_runs`.transactions_decided_delta_0000000000004000800000000000a11e;

-- createDelta transactions_decided
CREATE TABLE IF NOT EXISTS `dealhouse_runs`.transactions_decided_delta_0000000000004000800000000000a11e AS transactions_decided
ENGINE = ReplacingMergeTree(version)
PARTITION BY account
ORDER BY (account, id) COMMENT 'What a run under way is about to publish';

-- dropTable transactions_decided
DROP TABLE IF EXISTS `dealhouse_runs`.transactions_decided_delta_0000000000004000800000000000a11e SYNC;

-- countRows transactions_decided
SELECT count() FROM `dealhouse_runs`.transactions_decided_delta_0000000000004000800000000000a11e;

-- fill, the first load: false, transactions_decided
INSERT INTO `dealhouse_runs`.transactions_decided_delta_0000000000004000800000000000a11e (account, id, retailer_id, currency_code, clicked_at, sold_at, confirmed_at, declined_at, version, _run_id)
WITH
    if(d.status = 'PENDING', d.updated_at, NULL) AS d_pending,
    if(d.status = 'CONFIRMED', d.updated_at, NULL) AS d_confirmed,
    if(d.status = 'DECLINED', d.updated_at, NULL) AS d_declined,
    coalesce(least(v.pending, d_pending), v.pending, d_pending) AS first_pending,
    coalesce(least(v.confirmed, d_confirmed), v.confirmed, d_confirmed) AS first_confirmed,
    coalesce(least(v.declined, d_declined), v.declined, d_declined) AS first_declined
SELECT {account:String}, d.id, d.retailer_id, d.currency_code, d.clicked_at, d.sold_at,
    if(first_confirmed > first_pending AND d._deleted = 0, first_confirmed, NULL),
    if(first_declined > first_pending AND d._deleted = 0, first_declined, NULL), d._version, {run:UUID}
FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e AS d
INNER JOIN
(
    SELECT id, minIf(updated_at, status = 'PENDING') AS pending, minIf(updated_at, status = 'CONFIRMED') AS confirmed,
        minIf(updated_at, status = 'DECLINED') AS declined
    FROM transactions_versions
    WHERE account = {account:String} AND id IN (SELECT id FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e)
    GROUP BY id
) AS v ON d.id = v.id
WHERE first_confirmed > first_pending OR first_declined > first_pending;

-- touched transactions_decided
SELECT countIf(sign = -1)
FROM `dealhouse_runs`.transactions_changed_0000000000004000800000000000a11e;

-- rebuild transactions_decided
INSERT INTO `dealhouse_runs`.transactions_decided_delta_0000000000004000800000000000a11e (account, id, retailer_id, currency_code, clicked_at, sold_at, confirmed_at, declined_at, version, _run_id)
SELECT account, v.id, row.1, row.2, row.3, row.4, if(confirmed > pending AND NOT gone, confirmed, NULL),
    if(declined > pending AND NOT gone, declined, NULL), newest, row.5
FROM
(
    SELECT account, id, argMax((retailer_id, currency_code, clicked_at, sold_at, _run_id), _version) AS row,
        max(_version) AS newest, argMax(_deleted, _version) AS gone,
        minIf(updated_at, status = 'PENDING') AS pending, minIf(updated_at, status = 'CONFIRMED') AS confirmed, minIf(updated_at, status = 'DECLINED') AS declined
    FROM transactions_versions
    WHERE account = {account:String}
    GROUP BY account, id
) AS v
INNER JOIN (SELECT id, _version FROM transactions_latest FINAL WHERE account = {account:String}) AS l ON v.id = l.id
WHERE newest = l._version AND (confirmed > pending OR declined > pending);

-- attachDerived transactions_decided
ALTER TABLE transactions_decided ATTACH PARTITION 'acme' FROM `dealhouse_runs`.transactions_decided_delta_0000000000004000800000000000a11e;

-- replaceDerived transactions_decided
ALTER TABLE transactions_decided REPLACE PARTITION 'acme' FROM `dealhouse_runs`.transactions_decided_delta_0000000000004000800000000000a11e;

-- compareDerived transactions_decided
SELECT
    (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM transactions_decided FINAL WHERE account = {account:String}))
    = (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM `dealhouse_runs`.transactions_decided_delta_0000000000004000800000000000a11e FINAL WHERE account = {account:String}));

-- countSame transactions_decided
SELECT uniqExact(sipHash128(toString(tuple(*)))) FROM transactions_decided WHERE (account, id) IN (SELECT account, id FROM `dealhouse_runs`.transactions_decided_delta_0000000000004000800000000000a11e) AND sipHash128(toString(tuple(*))) IN (SELECT sipHash128(toString(tuple(*))) FROM `dealhouse_runs`.transactions_decided_delta_0000000000004000800000000000a11e);

-- create transactions_named
CREATE TABLE IF NOT EXISTS transactions_named ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream of the record that is named',
    key String COMMENT 'Key of the record that is named',
    newest SimpleAggregateFunction(max, Nullable(DateTime64(3, 'UTC'))) COMMENT 'Latest updatedAt of what names it',
    named_at SimpleAggregateFunction(min, DateTime64(3, 'UTC')) COMMENT 'When the first that names it was loaded',
    _run_id SimpleAggregateFunction(anyLast, UUID) COMMENT 'A run that loaded such a row'
)
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/dealhouse/transactions_named', '{replica}')
PARTITION BY account
ORDER BY (account, stream, key)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Which records of other streams are named by transactions, in any of their versions';

-- dropDelta of transactions_named
DROP TABLE IF EXISTS `dealhouse_runs`.transactions_named_delta_0000000000004000800000000000a11e;

-- createDelta transactions_named
CREATE TABLE IF NOT EXISTS `dealhouse_runs`.transactions_named_delta_0000000000004000800000000000a11e AS transactions_named
ENGINE = AggregatingMergeTree
PARTITION BY account
ORDER BY (account, stream, key) COMMENT 'What a run under way is about to publish';

-- dropTable transactions_named
DROP TABLE IF EXISTS `dealhouse_runs`.transactions_named_delta_0000000000004000800000000000a11e SYNC;

-- countRows transactions_named
SELECT count() FROM `dealhouse_runs`.transactions_named_delta_0000000000004000800000000000a11e;

-- fill, the first load: true, transactions_named
INSERT INTO `dealhouse_runs`.transactions_named_delta_0000000000004000800000000000a11e (account, stream, key, newest, named_at, _run_id)
SELECT {account:String}, 'payouts', toString(assumeNotNull(payout_id)), max(updated_at), min(synced_at), {run:UUID}
FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e WHERE payout_id IS NOT NULL GROUP BY payout_id
UNION ALL
SELECT {account:String}, 'cashback_offers', toString(assumeNotNull(cashback_offer_id)), max(updated_at), min(synced_at), {run:UUID}
FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e WHERE cashback_offer_id IS NOT NULL GROUP BY cashback_offer_id
UNION ALL
SELECT {account:String}, 'coupons', toString(assumeNotNull(coupon_id)), max(updated_at), min(synced_at), {run:UUID}
FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e WHERE coupon_id IS NOT NULL GROUP BY coupon_id
UNION ALL
SELECT {account:String}, 'promotions', toString(assumeNotNull(promotion_id)), max(updated_at), min(synced_at), {run:UUID}
FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e WHERE promotion_id IS NOT NULL GROUP BY promotion_id;

-- fill, the first load: false, transactions_named
INSERT INTO `dealhouse_runs`.transactions_named_delta_0000000000004000800000000000a11e (account, stream, key, newest, named_at, _run_id)
SELECT {account:String}, named.1, assumeNotNull(named.2), max(updated_at), min(synced_at), {run:UUID}
FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e
ARRAY JOIN [('payouts', toString(payout_id)), ('cashback_offers', toString(cashback_offer_id)), ('coupons', toString(coupon_id)), ('promotions', toString(promotion_id))] AS named
WHERE named.2 IS NOT NULL
GROUP BY named;

-- rebuild transactions_named
INSERT INTO `dealhouse_runs`.transactions_named_delta_0000000000004000800000000000a11e (account, stream, key, newest, named_at, _run_id)
SELECT {account:String}, 'payouts', toString(assumeNotNull(payout_id)), max(updated_at), min(synced_at), any(_run_id)
FROM transactions_versions WHERE account = {account:String} AND payout_id IS NOT NULL GROUP BY payout_id
UNION ALL
SELECT {account:String}, 'cashback_offers', toString(assumeNotNull(cashback_offer_id)), max(updated_at), min(synced_at), any(_run_id)
FROM transactions_versions WHERE account = {account:String} AND cashback_offer_id IS NOT NULL GROUP BY cashback_offer_id
UNION ALL
SELECT {account:String}, 'coupons', toString(assumeNotNull(coupon_id)), max(updated_at), min(synced_at), any(_run_id)
FROM transactions_versions WHERE account = {account:String} AND coupon_id IS NOT NULL GROUP BY coupon_id
UNION ALL
SELECT {account:String}, 'promotions', toString(assumeNotNull(promotion_id)), max(updated_at), min(synced_at), any(_run_id)
FROM transactions_versions WHERE account = {account:String} AND promotion_id IS NOT NULL GROUP BY promotion_id;

-- attachDerived transactions_named
ALTER TABLE transactions_named ATTACH PARTITION 'acme' FROM `dealhouse_runs`.transactions_named_delta_0000000000004000800000000000a11e;

-- replaceDerived transactions_named
ALTER TABLE transactions_named REPLACE PARTITION 'acme' FROM `dealhouse_runs`.transactions_named_delta_0000000000004000800000000000a11e;

-- compareDerived transactions_named
SELECT
    (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM transactions_named FINAL WHERE account = {account:String}))
    = (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM `dealhouse_runs`.transactions_named_delta_0000000000004000800000000000a11e FINAL WHERE account = {account:String}));

-- countSame transactions_named
SELECT uniqExact(sipHash128(toString(tuple(account, stream, key)))) FROM transactions_named WHERE (account, stream, key) IN (SELECT account, stream, key FROM `dealhouse_runs`.transactions_named_delta_0000000000004000800000000000a11e) AND sipHash128(toString(tuple(account, stream, key))) IN (SELECT sipHash128(toString(tuple(account, stream, key))) FROM `dealhouse_runs`.transactions_named_delta_0000000000004000800000000000a11e);

-- create payout_transactions_latest
CREATE TABLE IF NOT EXISTS payout_transactions_latest ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    payout_id Int64 COMMENT 'Payout that the transaction carries or carried',
    id UUID COMMENT 'Transaction identifier',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC]',
    retailer_name LowCardinality(String) COMMENT 'Retailer name',
    currency_code LowCardinality(String) COMMENT 'Currency as stamped',
    state LowCardinality(String) COMMENT 'same, changed, moved or gone; empty: the row stands for none',
    stamped_status LowCardinality(String) COMMENT 'Status as stamped',
    stamped_order_value Nullable(Decimal(18, 4)) COMMENT 'Order value as stamped',
    stamped_cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback as stamped',
    stamped_at Nullable(DateTime64(3, 'UTC')) COMMENT 'updatedAt of the first version that carries the payoutId [UTC]',
    stamped_seen_at DateTime64(3, 'UTC') COMMENT 'When that version was loaded [UTC]',
    stamped_is_first_known UInt8 COMMENT '1 when no earlier version of the transaction is known',
    status LowCardinality(String) COMMENT 'Status as of now',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Order value as of now',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback as of now',
    payout_id_now Nullable(Int64) COMMENT 'Payout as of now',
    currency_code_now LowCardinality(String) COMMENT 'Currency as of now',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'updatedAt as of now [UTC]',
    turned_at Nullable(DateTime64(3, 'UTC')) COMMENT 'updatedAt of the version since which it stands as it does now [UTC]',
    turned_seen_at DateTime64(3, 'UTC') COMMENT 'When that version was loaded [UTC]',
    version UInt64 COMMENT 'The highest wins',
    _run_id UUID COMMENT 'Run that loaded the row'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/payout_transactions_latest', '{replica}', version)
PARTITION BY account
ORDER BY (account, payout_id, id)
SETTINGS replicated_deduplication_window = 0, index_granularity = 1024
COMMENT 'Storage behind the view payout_transactions';

-- dropDelta of payout_transactions_latest
DROP TABLE IF EXISTS `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e;

-- createDelta payout_transactions_latest
CREATE TABLE IF NOT EXISTS `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e AS payout_transactions_latest
ENGINE = ReplacingMergeTree(version)
PARTITION BY account
ORDER BY (account, payout_id, id)
SETTINGS index_granularity = 1024 COMMENT 'What a run under way is about to publish';

-- dropTable payout_transactions_latest
DROP TABLE IF EXISTS `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e SYNC;

-- countRows payout_transactions_latest
SELECT count() FROM `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e;

-- fill, the first load: true, payout_transactions_latest
INSERT INTO `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e (account, payout_id, id, sold_at, retailer_name, currency_code, state, stamped_status, stamped_order_value, stamped_cashback, stamped_at, stamped_seen_at, stamped_is_first_known, status, order_value, cashback, payout_id_now, currency_code_now, updated_at, turned_at, turned_seen_at, version, _run_id)
SELECT {account:String}, payout_id, id, sold_at, retailer_name, currency_code, state, stamped_status, stamped_order_value, stamped_cashback, stamped_at, stamped_seen_at, stamped_is_first_known, status, order_value, cashback, payout_id_now, currency_code_now, updated_at, turned_at, turned_seen_at, greatest(toUInt64({merged_at:Int64}), 0 + 1), {run:UUID}
FROM (SELECT assumeNotNull(payout_id) AS payout_id, id, sold_at, retailer_name, currency_code, 'same' AS state, status AS stamped_status,
        order_value AS stamped_order_value, cashback AS stamped_cashback, updated_at AS stamped_at, synced_at AS stamped_seen_at,
        1 AS stamped_is_first_known, status, order_value, cashback, transactions.payout_id AS payout_id_now,
        currency_code AS currency_code_now, updated_at, updated_at AS turned_at, synced_at AS turned_seen_at
    FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e AS transactions WHERE transactions.payout_id IS NOT NULL AND _deleted = 0);

-- fill, the first load: false, payout_transactions_latest
INSERT INTO `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e (account, payout_id, id, sold_at, retailer_name, currency_code, state, stamped_status, stamped_order_value, stamped_cashback, stamped_at, stamped_seen_at, stamped_is_first_known, status, order_value, cashback, payout_id_now, currency_code_now, updated_at, turned_at, turned_seen_at, version, _run_id)
WITH
    m.known AND n._deleted = 0 AND ifNull(n.payout_id = m.payout_id, 0) AND ifNull(n.updated_at = m.stamped_at, 0)
        AND (m.stamped_order_value IS NULL OR m.stamped_cashback IS NULL) AND n.order_value IS NOT NULL AND n.cashback IS NOT NULL AS completed,
    if(completed, n.status, m.stamped_status) AS as_status,
    if(completed, n.order_value, m.stamped_order_value) AS as_order_value,
    if(completed, n.cashback, m.stamped_cashback) AS as_cashback,
    m.known AND o.known AND o._deleted = n._deleted AND o.status = n.status AND ifNull(o.payout_id = n.payout_id, o.payout_id IS NULL AND n.payout_id IS NULL)
        AND ifNull(o.order_value, 0) = ifNull(n.order_value, 0) AND ifNull(o.cashback, 0) = ifNull(n.cashback, 0) AS stands
SELECT {account:String}, m.payout_id, n.id, n.sold_at, n.retailer_name, if(completed, n.currency_code, m.currency_code), multiIf(n._deleted = 1, 'gone', ifNull(n.payout_id != m.payout_id, 1), 'moved',
        as_status != n.status OR ifNull(as_order_value, 0) != ifNull(n.order_value, 0) OR ifNull(as_cashback, 0) != ifNull(n.cashback, 0), 'changed',
        'same'),
    as_status, as_order_value, as_cashback, m.stamped_at, if(completed, n.synced_at, m.stamped_seen_at),
    multiIf(completed, 0, m.known, m.stamped_is_first_known, NOT o.known),
    n.status, n.order_value, n.cashback, n.payout_id, n.currency_code, n.updated_at,
    if(stands, m.turned_at, n.updated_at), if(stands, m.turned_seen_at, n.synced_at), greatest(toUInt64({merged_at:Int64}), m.stored + 1), {run:UUID}
FROM
(
    SELECT * FROM
    (
        -- An amount that was not readable at first, and was read later from the same updatedAt, was there when it was stamped.
        SELECT payout_id, id, sold_at, retailer_name, currency_code, state, stamped_status, stamped_order_value, stamped_cashback, stamped_at, stamped_seen_at, stamped_is_first_known, status, order_value, cashback, payout_id_now, currency_code_now, updated_at, turned_at, turned_seen_at, true AS known, version AS stored
        FROM payout_transactions_latest FINAL
        WHERE account = {account:String} AND state != '' AND (payout_id, id) IN
        (
            SELECT assumeNotNull(payout_id), id FROM `dealhouse_runs`.transactions_changed_0000000000004000800000000000a11e WHERE sign = -1 AND payout_id IS NOT NULL
            UNION ALL
            SELECT arrayJoin(payout_ids), id FROM payout_moves_latest FINAL WHERE account = {account:String} AND id IN (SELECT id FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e)
        )
        UNION ALL
        SELECT *, false, 0 FROM (SELECT assumeNotNull(payout_id) AS payout_id, id, sold_at, retailer_name, currency_code, 'same' AS state, status AS stamped_status,
        order_value AS stamped_order_value, cashback AS stamped_cashback, updated_at AS stamped_at, synced_at AS stamped_seen_at,
        1 AS stamped_is_first_known, status, order_value, cashback, transactions.payout_id AS payout_id_now,
        currency_code AS currency_code_now, updated_at, updated_at AS turned_at, synced_at AS turned_seen_at
    FROM `dealhouse_runs`.transactions_changed_0000000000004000800000000000a11e AS transactions WHERE sign = 1 AND transactions.payout_id IS NOT NULL AND _deleted = 0)
    )
    ORDER BY known DESC
    LIMIT 1 BY payout_id, id
) AS m
INNER JOIN (SELECT * FROM `dealhouse_runs`.transactions_changed_0000000000004000800000000000a11e WHERE sign = 1) AS n ON m.id = n.id
LEFT JOIN (SELECT *, true AS known FROM `dealhouse_runs`.transactions_changed_0000000000004000800000000000a11e WHERE sign = -1) AS o ON m.id = o.id;

-- touched payout_transactions_latest
SELECT countIf(payout_id IS NOT NULL),
    countIf(sign = -1 AND payout_id IS NOT NULL AND (id, assumeNotNull(payout_id)) NOT IN
        (SELECT id, assumeNotNull(payout_id) FROM `dealhouse_runs`.transactions_changed_0000000000004000800000000000a11e WHERE sign = 1 AND payout_id IS NOT NULL)),
    (SELECT count() FROM payout_moves_latest FINAL WHERE account = {account:String} AND id IN (SELECT id FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e))
FROM `dealhouse_runs`.transactions_changed_0000000000004000800000000000a11e;

-- rebuild payout_transactions_latest
INSERT INTO `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e (account, payout_id, id, sold_at, retailer_name, currency_code, state, stamped_status, stamped_order_value, stamped_cashback, stamped_at, stamped_seen_at, stamped_is_first_known, status, order_value, cashback, payout_id_now, currency_code_now, updated_at, turned_at, turned_seen_at, version, _run_id)
SELECT {account:String}, payout_id, id, sold_at, retailer_name, currency_code, state, stamped_status, stamped_order_value, stamped_cashback, stamped_at, stamped_seen_at, stamped_is_first_known, status, order_value, cashback, payout_id_now, currency_code_now, updated_at, turned_at, turned_seen_at, greatest(toUInt64({merged_at:Int64}), 0 + 1), {run:UUID}
FROM (SELECT assumeNotNull(payout_id) AS payout_id, id, sold_at, retailer_name, currency_code, 'same' AS state, status AS stamped_status,
        order_value AS stamped_order_value, cashback AS stamped_cashback, updated_at AS stamped_at, synced_at AS stamped_seen_at,
        cityHash64(id) NOT IN (SELECT cityHash64(id) FROM (SELECT * FROM transactions_versions WHERE account = {account:String}) WHERE payout_id IS NULL) AS stamped_is_first_known, status, order_value, cashback, transactions.payout_id AS payout_id_now,
        currency_code AS currency_code_now, updated_at, updated_at AS turned_at, synced_at AS turned_seen_at
    FROM (SELECT * FROM transactions_versions WHERE account = {account:String}) AS transactions WHERE transactions.payout_id IS NOT NULL AND _deleted = 0 AND cityHash64(id) NOT IN (SELECT key FROM
    (
        SELECT cityHash64(id) AS key, payout_id IS NULL AS bare, toUInt64(bitShiftRight(_version, 64)) AS changed_at FROM (SELECT * FROM transactions_versions WHERE account = {account:String})
    )
    GROUP BY key HAVING sum(NOT bare) > 1 OR sum(NOT bare) = 1 AND max(2 * changed_at + bare) % 2 = 1)
UNION ALL
SELECT assumeNotNull(payout) AS payout_id, id, last.sold_at, last.retailer_name, stamped.currency_code, multiIf(last._deleted = 1, 'gone', ifNull(last.payout_id != payout, 1), 'moved',
        stamped.status != last.status OR ifNull(stamped.order_value, 0) != ifNull(last.order_value, 0) OR ifNull(stamped.cashback, 0) != ifNull(last.cashback, 0), 'changed',
        'same'),
    stamped.status, stamped.order_value, stamped.cashback, stamped.updated_at, stamped.synced_at, stamped.version = versions[1].version,
    last.status, last.order_value, last.cashback, last.payout_id, last.currency_code, last.updated_at, turn.updated_at, turn.synced_at
FROM
(
    SELECT id, payout, versions, last, turn, arrayFirst(v -> v.payout_id = payout, carrying) AS first,
        arrayFilter(v -> ifNull(v.payout_id = payout AND v.updated_at = first.updated_at, 0)
            AND v.order_value IS NOT NULL AND v.cashback IS NOT NULL, carrying) AS complete,
        if(empty(complete), first, complete[1]) AS stamped
    FROM
    (
        SELECT id,
            arraySort(v -> v.version, groupArray(CAST((_version, payout_id, status, order_value, cashback,
                currency_code, updated_at, synced_at, _deleted, sold_at, retailer_name),
                'Tuple(version UInt128, payout_id Nullable(Int64), status String, order_value Nullable(Decimal(18, 4)), cashback Nullable(Decimal(18, 4)),
                currency_code String, updated_at Nullable(DateTime64(3, ''UTC'')), synced_at DateTime64(3, ''UTC''),
                _deleted UInt8, sold_at Nullable(DateTime64(3, ''UTC'')),
                retailer_name String)'))) AS versions,
            versions[-1] AS last,
            versions[arrayLastIndex(v -> v._deleted != last._deleted OR v.status != last.status OR (v.payout_id IS DISTINCT FROM last.payout_id)
                OR ifNull(v.order_value, 0) != ifNull(last.order_value, 0) OR ifNull(v.cashback, 0) != ifNull(last.cashback, 0), versions) + 1] AS turn,
            arrayFilter(v -> v.payout_id IS NOT NULL AND v._deleted = 0, versions) AS carrying
        FROM (SELECT * FROM transactions_versions WHERE account = {account:String})
        WHERE cityHash64(id) IN (SELECT key FROM
    (
        SELECT cityHash64(id) AS key, payout_id IS NULL AS bare, toUInt64(bitShiftRight(_version, 64)) AS changed_at FROM (SELECT * FROM transactions_versions WHERE account = {account:String})
    )
    GROUP BY key HAVING sum(NOT bare) > 1 OR sum(NOT bare) = 1 AND max(2 * changed_at + bare) % 2 = 1)
        GROUP BY id
    )
    ARRAY JOIN arrayDistinct(arrayMap(v -> v.payout_id, carrying)) AS payout
));

-- attachDerived payout_transactions_latest
ALTER TABLE payout_transactions_latest ATTACH PARTITION 'acme' FROM `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e;

-- replaceDerived payout_transactions_latest
ALTER TABLE payout_transactions_latest REPLACE PARTITION 'acme' FROM `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e;

-- compareDerived payout_transactions_latest
SELECT
    (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM payout_transactions_latest FINAL WHERE account = {account:String} AND NOT (state = '')))
    = (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e FINAL WHERE account = {account:String} AND NOT (state = '')));

-- countSame payout_transactions_latest
SELECT uniqExact(sipHash128(toString(tuple(*)))) FROM payout_transactions_latest WHERE (account, payout_id, id) IN (SELECT account, payout_id, id FROM `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e) AND sipHash128(toString(tuple(*))) IN (SELECT sipHash128(toString(tuple(*))) FROM `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e);

-- create payout_moves_latest
CREATE TABLE IF NOT EXISTS payout_moves_latest ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier',
    payout_ids Array(Int64) COMMENT 'All payouts that it ever carried; empty: the row stands for none',
    version UInt64 COMMENT 'The highest wins',
    _run_id UUID COMMENT 'Run that loaded the row'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/payout_moves_latest', '{replica}', version)
PARTITION BY account
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0, index_granularity = 1024
COMMENT 'Which payouts the transactions carried that do not carry one alone';

-- dropDelta of payout_moves_latest
DROP TABLE IF EXISTS `dealhouse_runs`.payout_moves_latest_delta_0000000000004000800000000000a11e;

-- createDelta payout_moves_latest
CREATE TABLE IF NOT EXISTS `dealhouse_runs`.payout_moves_latest_delta_0000000000004000800000000000a11e AS payout_moves_latest
ENGINE = ReplacingMergeTree(version)
PARTITION BY account
ORDER BY (account, id)
SETTINGS index_granularity = 1024 COMMENT 'What a run under way is about to publish';

-- dropTable payout_moves_latest
DROP TABLE IF EXISTS `dealhouse_runs`.payout_moves_latest_delta_0000000000004000800000000000a11e SYNC;

-- countRows payout_moves_latest
SELECT count() FROM `dealhouse_runs`.payout_moves_latest_delta_0000000000004000800000000000a11e;

-- fill, the first load: false, payout_moves_latest
INSERT INTO `dealhouse_runs`.payout_moves_latest_delta_0000000000004000800000000000a11e (account, id, payout_ids, version, _run_id)
SELECT {account:String}, id, if(max(astray), arraySort(groupArrayIf(payout_id, member)), []), greatest(toUInt64({merged_at:Int64}), max(stored) + 1), {run:UUID}
FROM
(
    SELECT id, payout_id, payout_id_now IS DISTINCT FROM payout_id AS astray, true AS member, toUInt64(0) AS stored FROM `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e
    UNION ALL
    SELECT id, 0, false AS astray, false AS member, version FROM payout_moves_latest FINAL WHERE account = {account:String} AND id IN (SELECT id FROM `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e)
)
GROUP BY id
HAVING max(astray) OR max(NOT member);

-- touched payout_moves_latest
SELECT countIf(sign = -1 AND payout_id IS NOT NULL AND (id, assumeNotNull(payout_id)) NOT IN
        (SELECT id, assumeNotNull(payout_id) FROM `dealhouse_runs`.transactions_changed_0000000000004000800000000000a11e WHERE sign = 1 AND payout_id IS NOT NULL)),
    (SELECT count() FROM payout_moves_latest FINAL WHERE account = {account:String} AND id IN (SELECT id FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e))
FROM `dealhouse_runs`.transactions_changed_0000000000004000800000000000a11e;

-- rebuild payout_moves_latest
INSERT INTO `dealhouse_runs`.payout_moves_latest_delta_0000000000004000800000000000a11e (account, id, payout_ids, version, _run_id)
SELECT {account:String}, id, payout_ids, greatest(toUInt64({merged_at:Int64}), 0 + 1), {run:UUID}
FROM (SELECT id, arraySort(groupArray(payout_id)) AS payout_ids
FROM payout_transactions_latest FINAL
WHERE account = {account:String} AND state != '' AND id IN
(
    SELECT id FROM payout_transactions_latest FINAL WHERE account = {account:String} AND state != '' AND (payout_id_now IS DISTINCT FROM payout_id)
)
GROUP BY id);

-- attachDerived payout_moves_latest
ALTER TABLE payout_moves_latest ATTACH PARTITION 'acme' FROM `dealhouse_runs`.payout_moves_latest_delta_0000000000004000800000000000a11e;

-- replaceDerived payout_moves_latest
ALTER TABLE payout_moves_latest REPLACE PARTITION 'acme' FROM `dealhouse_runs`.payout_moves_latest_delta_0000000000004000800000000000a11e;

-- compareDerived payout_moves_latest
SELECT
    (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM payout_moves_latest FINAL WHERE account = {account:String} AND NOT (empty(payout_ids))))
    = (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM `dealhouse_runs`.payout_moves_latest_delta_0000000000004000800000000000a11e FINAL WHERE account = {account:String} AND NOT (empty(payout_ids))));

-- countSame payout_moves_latest
SELECT uniqExact(sipHash128(toString(tuple(*)))) FROM payout_moves_latest WHERE (account, id) IN (SELECT account, id FROM `dealhouse_runs`.payout_moves_latest_delta_0000000000004000800000000000a11e) AND sipHash128(toString(tuple(*))) IN (SELECT sipHash128(toString(tuple(*))) FROM `dealhouse_runs`.payout_moves_latest_delta_0000000000004000800000000000a11e);

-- create payout_sums_latest
CREATE TABLE IF NOT EXISTS payout_sums_latest ON CLUSTER `main`
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    payout_id Int64 COMMENT 'Payout',
    quarters Int64 COMMENT 'Quarters of an hour from 1970 to stamped_at; the lowest number there is: it is not known',
    currency_code LowCardinality(String) COMMENT 'Currency as stamped',
    state LowCardinality(String) COMMENT 'As in payout_transactions',
    stamped_status LowCardinality(String) COMMENT 'Status as stamped',
    now_status LowCardinality(String) COMMENT 'Status as of now',
    stamped_n Int64 COMMENT 'Number of transactions, as stamped; 0: the row stands for none',
    stamped_gmv Decimal(38, 4) COMMENT 'Sum of their order_value as stamped',
    stamped_cashback Decimal(38, 4) COMMENT 'Sum of their cashback as stamped',
    now_n Int64 COMMENT 'Number of those that carry the payoutId as of now',
    now_gmv Decimal(38, 4) COMMENT 'Sum of their order_value as of now',
    now_cashback Decimal(38, 4) COMMENT 'Sum of their cashback as of now',
    at_stake Decimal(38, 4) COMMENT 'Cashback as stamped less cashback as of now',
    version UInt64 COMMENT 'The highest wins',
    _run_id UUID COMMENT 'Run that loaded the row'
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/dealhouse/payout_sums_latest', '{replica}', version)
PARTITION BY account
ORDER BY (account, payout_id, quarters, currency_code, state, stamped_status, now_status)
SETTINGS replicated_deduplication_window = 0, index_granularity = 1024
COMMENT 'Storage behind the view payout_sums';

-- dropDelta of payout_sums_latest
DROP TABLE IF EXISTS `dealhouse_runs`.payout_sums_latest_delta_0000000000004000800000000000a11e;

-- createDelta payout_sums_latest
CREATE TABLE IF NOT EXISTS `dealhouse_runs`.payout_sums_latest_delta_0000000000004000800000000000a11e AS payout_sums_latest
ENGINE = ReplacingMergeTree(version)
PARTITION BY account
ORDER BY (account, payout_id, quarters, currency_code, state, stamped_status, now_status)
SETTINGS index_granularity = 1024 COMMENT 'What a run under way is about to publish';

-- dropTable payout_sums_latest
DROP TABLE IF EXISTS `dealhouse_runs`.payout_sums_latest_delta_0000000000004000800000000000a11e SYNC;

-- countRows payout_sums_latest
SELECT count() FROM `dealhouse_runs`.payout_sums_latest_delta_0000000000004000800000000000a11e;

-- fill, the first load: true, payout_sums_latest
INSERT INTO `dealhouse_runs`.payout_sums_latest_delta_0000000000004000800000000000a11e (account, payout_id, quarters, currency_code, state, stamped_status, now_status, stamped_n, stamped_gmv, stamped_cashback, now_n, now_gmv, now_cashback, at_stake, version, _run_id)
SELECT {account:String}, payout_id, quarters, currency_code, state, stamped_status, now_status, sum(stamped_n), sum(stamped_gmv), sum(stamped_cashback), sum(now_n), sum(now_gmv), sum(now_cashback), sum(at_stake), greatest(toUInt64({merged_at:Int64}), max(version) + 1), {run:UUID}
FROM
(
    SELECT payout_id, quarters, currency_code, state, stamped_status, now_status, stamped_n, stamped_gmv, stamped_cashback, now_n, now_gmv, now_cashback, at_stake, toUInt64(0) AS version FROM (SELECT payout_id, ifNull(toInt64(floor(toUnixTimestamp64Milli(stamped_at) / 900000)), toInt64(-9223372036854775808)) AS quarters,
        currency_code, state, stamped_status, status AS now_status, toInt64(1) AS stamped_n,
        1 * toDecimal128(ifNull(stamped_order_value, 0), 4) AS stamped_gmv, 1 * toDecimal128(ifNull(m.stamped_cashback, 0), 4) AS stamped_cashback,
        if(state IN ('same', 'changed'), 1, 0) AS here, toInt64(here) AS now_n,
        here * toDecimal128(ifNull(m.order_value, 0), 4) AS now_gmv, here * toDecimal128(ifNull(m.cashback, 0), 4) AS now_cashback,
        1 * if(stamped_status = 'DECLINED', 0, toDecimal128(ifNull(m.stamped_cashback, 0), 4))
            - if(status = 'DECLINED', 0, here) * toDecimal128(ifNull(m.cashback, 0), 4) AS at_stake
    FROM `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e AS m)
)
GROUP BY payout_id, quarters, currency_code, state, stamped_status, now_status;

-- fill, the first load: false, payout_sums_latest
INSERT INTO `dealhouse_runs`.payout_sums_latest_delta_0000000000004000800000000000a11e (account, payout_id, quarters, currency_code, state, stamped_status, now_status, stamped_n, stamped_gmv, stamped_cashback, now_n, now_gmv, now_cashback, at_stake, version, _run_id)
SELECT {account:String}, payout_id, quarters, currency_code, state, stamped_status, now_status, sum(stamped_n), sum(stamped_gmv), sum(stamped_cashback), sum(now_n), sum(now_gmv), sum(now_cashback), sum(at_stake), greatest(toUInt64({merged_at:Int64}), max(version) + 1), {run:UUID}
FROM
(
    SELECT payout_id, quarters, currency_code, state, stamped_status, now_status, stamped_n, stamped_gmv, stamped_cashback, now_n, now_gmv, now_cashback, at_stake, toUInt64(0) AS version FROM (SELECT payout_id, ifNull(toInt64(floor(toUnixTimestamp64Milli(stamped_at) / 900000)), toInt64(-9223372036854775808)) AS quarters,
        currency_code, state, stamped_status, status AS now_status, toInt64(sign) AS stamped_n,
        sign * toDecimal128(ifNull(stamped_order_value, 0), 4) AS stamped_gmv, sign * toDecimal128(ifNull(m.stamped_cashback, 0), 4) AS stamped_cashback,
        if(state IN ('same', 'changed'), sign, 0) AS here, toInt64(here) AS now_n,
        here * toDecimal128(ifNull(m.order_value, 0), 4) AS now_gmv, here * toDecimal128(ifNull(m.cashback, 0), 4) AS now_cashback,
        sign * if(stamped_status = 'DECLINED', 0, toDecimal128(ifNull(m.stamped_cashback, 0), 4))
            - if(status = 'DECLINED', 0, here) * toDecimal128(ifNull(m.cashback, 0), 4) AS at_stake
    FROM 
        (
            SELECT 1 AS sign, * FROM `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e
            UNION ALL
            SELECT -1, * FROM payout_transactions_latest FINAL
            WHERE account = {account:String} AND state != '' AND (payout_id, id) IN (SELECT payout_id, id FROM `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e)
        ) AS m)
    UNION ALL
    SELECT payout_id, quarters, currency_code, state, stamped_status, now_status, stamped_n, stamped_gmv, stamped_cashback, now_n, now_gmv, now_cashback, at_stake, version
    FROM payout_sums_latest FINAL
    WHERE account = {account:String} AND payout_id IN (SELECT payout_id FROM `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e)
)
GROUP BY payout_id, quarters, currency_code, state, stamped_status, now_status
HAVING min(version) = 0;

-- touched payout_sums_latest
SELECT countIf(payout_id IS NOT NULL),
    countIf(sign = -1 AND payout_id IS NOT NULL AND (id, assumeNotNull(payout_id)) NOT IN
        (SELECT id, assumeNotNull(payout_id) FROM `dealhouse_runs`.transactions_changed_0000000000004000800000000000a11e WHERE sign = 1 AND payout_id IS NOT NULL)),
    (SELECT count() FROM payout_moves_latest FINAL WHERE account = {account:String} AND id IN (SELECT id FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e))
FROM `dealhouse_runs`.transactions_changed_0000000000004000800000000000a11e;

-- rebuild payout_sums_latest
INSERT INTO `dealhouse_runs`.payout_sums_latest_delta_0000000000004000800000000000a11e (account, payout_id, quarters, currency_code, state, stamped_status, now_status, stamped_n, stamped_gmv, stamped_cashback, now_n, now_gmv, now_cashback, at_stake, version, _run_id)
SELECT {account:String}, payout_id, quarters, currency_code, state, stamped_status, now_status, stamped_n, stamped_gmv, stamped_cashback, now_n, now_gmv, now_cashback, at_stake, greatest(toUInt64({merged_at:Int64}), 0 + 1), {run:UUID}
FROM (SELECT payout_id, quarters, currency_code, state, stamped_status, now_status, sum(s.stamped_n) AS stamped_n, sum(s.stamped_gmv) AS stamped_gmv, sum(s.stamped_cashback) AS stamped_cashback, sum(s.now_n) AS now_n, sum(s.now_gmv) AS now_gmv, sum(s.now_cashback) AS now_cashback, sum(s.at_stake) AS at_stake
FROM (SELECT payout_id, ifNull(toInt64(floor(toUnixTimestamp64Milli(stamped_at) / 900000)), toInt64(-9223372036854775808)) AS quarters,
        currency_code, state, stamped_status, status AS now_status, toInt64(1) AS stamped_n,
        1 * toDecimal128(ifNull(stamped_order_value, 0), 4) AS stamped_gmv, 1 * toDecimal128(ifNull(m.stamped_cashback, 0), 4) AS stamped_cashback,
        if(state IN ('same', 'changed'), 1, 0) AS here, toInt64(here) AS now_n,
        here * toDecimal128(ifNull(m.order_value, 0), 4) AS now_gmv, here * toDecimal128(ifNull(m.cashback, 0), 4) AS now_cashback,
        1 * if(stamped_status = 'DECLINED', 0, toDecimal128(ifNull(m.stamped_cashback, 0), 4))
            - if(status = 'DECLINED', 0, here) * toDecimal128(ifNull(m.cashback, 0), 4) AS at_stake
    FROM (SELECT * FROM payout_transactions_latest FINAL WHERE account = {account:String} AND state != '') AS m) AS s
GROUP BY payout_id, quarters, currency_code, state, stamped_status, now_status);

-- attachDerived payout_sums_latest
ALTER TABLE payout_sums_latest ATTACH PARTITION 'acme' FROM `dealhouse_runs`.payout_sums_latest_delta_0000000000004000800000000000a11e;

-- replaceDerived payout_sums_latest
ALTER TABLE payout_sums_latest REPLACE PARTITION 'acme' FROM `dealhouse_runs`.payout_sums_latest_delta_0000000000004000800000000000a11e;

-- compareDerived payout_sums_latest
SELECT
    (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM payout_sums_latest FINAL WHERE account = {account:String} AND NOT (stamped_n = 0)))
    = (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM `dealhouse_runs`.payout_sums_latest_delta_0000000000004000800000000000a11e FINAL WHERE account = {account:String} AND NOT (stamped_n = 0)));

-- countSame payout_sums_latest
SELECT uniqExact(sipHash128(toString(tuple(*)))) FROM payout_sums_latest WHERE (account, payout_id, quarters, currency_code, state, stamped_status, now_status) IN (SELECT account, payout_id, quarters, currency_code, state, stamped_status, now_status FROM `dealhouse_runs`.payout_sums_latest_delta_0000000000004000800000000000a11e) AND sipHash128(toString(tuple(*))) IN (SELECT sipHash128(toString(tuple(*))) FROM `dealhouse_runs`.payout_sums_latest_delta_0000000000004000800000000000a11e);

-- attachDelta `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e to transactions_latest
ALTER TABLE transactions_latest ATTACH PARTITION tuple() FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e;

-- attachDelta `dealhouse_runs`.transactions_moves_0000000000004000800000000000a11e to transactions_latest
ALTER TABLE transactions_latest ATTACH PARTITION tuple() FROM `dealhouse_runs`.transactions_moves_0000000000004000800000000000a11e;

-- attachDelta `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e to transactions_versions
ALTER TABLE transactions_versions ATTACH PARTITION tuple() FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e;

-- selectParts
SELECT table, hash_of_all_files, rows FROM system.parts
WHERE active AND database IN (currentDatabase(), 'dealhouse_runs') AND table IN ({tables:Array(String)})
UNION ALL
SELECT name, '', 0 FROM system.tables WHERE database = 'dealhouse_runs' AND name IN ({deltas:Array(String)});

-- countKeys
SELECT 'transactions_latest' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, sold_at, id) AS this, lagInFrame(this) OVER (ORDER BY account, sold_at, id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'transactions_keys' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, id) AS this, lagInFrame(this) OVER (ORDER BY account, id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM `dealhouse_runs`.transactions_keys_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'transactions_decided' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, id) AS this, lagInFrame(this) OVER (ORDER BY account, id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM `dealhouse_runs`.transactions_decided_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'transactions_named' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, stream, key) AS this, lagInFrame(this) OVER (ORDER BY account, stream, key ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM `dealhouse_runs`.transactions_named_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'payout_transactions_latest' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, payout_id, id) AS this, lagInFrame(this) OVER (ORDER BY account, payout_id, id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'payout_moves_latest' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, id) AS this, lagInFrame(this) OVER (ORDER BY account, id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM `dealhouse_runs`.payout_moves_latest_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'payout_sums_latest' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, payout_id, quarters, currency_code, state, stamped_status, now_status) AS this, lagInFrame(this) OVER (ORDER BY account, payout_id, quarters, currency_code, state, stamped_status, now_status ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM `dealhouse_runs`.payout_sums_latest_delta_0000000000004000800000000000a11e);

-- countFewKeys
SELECT table, count() AS rows, uniqExact(key) AS keys, toUInt64(uniqExact(part) - uniqExact(partition) + 1) AS parts
FROM
(
SELECT 'transactions_latest' AS table, toString(tuple(account, sold_at, id)) AS key, _part AS part, _partition_id AS partition FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_keys' AS table, toString(tuple(account, id)) AS key, _part AS part, _partition_id AS partition FROM `dealhouse_runs`.transactions_keys_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_decided' AS table, toString(tuple(account, id)) AS key, _part AS part, _partition_id AS partition FROM `dealhouse_runs`.transactions_decided_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_named' AS table, toString(tuple(account, stream, key)) AS key, _part AS part, _partition_id AS partition FROM `dealhouse_runs`.transactions_named_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'payout_transactions_latest' AS table, toString(tuple(account, payout_id, id)) AS key, _part AS part, _partition_id AS partition FROM `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'payout_moves_latest' AS table, toString(tuple(account, id)) AS key, _part AS part, _partition_id AS partition FROM `dealhouse_runs`.payout_moves_latest_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'payout_sums_latest' AS table, toString(tuple(account, payout_id, quarters, currency_code, state, stamped_status, now_status)) AS key, _part AS part, _partition_id AS partition FROM `dealhouse_runs`.payout_sums_latest_delta_0000000000004000800000000000a11e
)
GROUP BY table;

-- dropDelta of what is prepared
DROP TABLE IF EXISTS `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e, `dealhouse_runs`.transactions_moves_0000000000004000800000000000a11e, `dealhouse_runs`.transactions_changed_0000000000004000800000000000a11e, `dealhouse_runs`.transactions_keys_delta_0000000000004000800000000000a11e, `dealhouse_runs`.transactions_decided_delta_0000000000004000800000000000a11e, `dealhouse_runs`.transactions_named_delta_0000000000004000800000000000a11e, `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e, `dealhouse_runs`.payout_moves_latest_delta_0000000000004000800000000000a11e, `dealhouse_runs`.payout_sums_latest_delta_0000000000004000800000000000a11e;

-- dropTable of what is prepared
DROP TABLE IF EXISTS `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e, `dealhouse_runs`.transactions_moves_0000000000004000800000000000a11e, `dealhouse_runs`.transactions_changed_0000000000004000800000000000a11e, `dealhouse_runs`.transactions_keys_delta_0000000000004000800000000000a11e, `dealhouse_runs`.transactions_decided_delta_0000000000004000800000000000a11e, `dealhouse_runs`.transactions_named_delta_0000000000004000800000000000a11e, `dealhouse_runs`.payout_transactions_latest_delta_0000000000004000800000000000a11e, `dealhouse_runs`.payout_moves_latest_delta_0000000000004000800000000000a11e, `dealhouse_runs`.payout_sums_latest_delta_0000000000004000800000000000a11e SYNC;

-- dropTable `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e
DROP TABLE IF EXISTS `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e SYNC;

-- dropTable `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e
DROP TABLE IF EXISTS `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e SYNC;

-- dropTable `dealhouse_runs`.transactions_moves_0000000000004000800000000000a11e
DROP TABLE IF EXISTS `dealhouse_runs`.transactions_moves_0000000000004000800000000000a11e SYNC;

-- inspectDelta, with earlier versions: false
SELECT groupArrayIf(20)(toString(id), _deleted = 0),
    countIf(payout_id IS NOT NULL),
    sumIf(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8))), _deleted = 0),
    (SELECT sumIf(now, change IN (1, 2)) FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e),
    (SELECT sumIf(was, change IN (1, 2) OR change = 3) FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e),
    countIf(_deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), _extra, country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, passback_uid, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000')))),
    anyIf(toString(id), _deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), _extra, country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, passback_uid, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000')))),
    countIf(_deleted = 0 AND ifNull(updated_at > now64(3, 'UTC') + toIntervalSecond(3600), false)),
    anyIf(toString(id), _deleted = 0 AND ifNull(updated_at > now64(3, 'UTC') + toIntervalSecond(3600), false)),
    countIf(_deleted = 0 AND ifNull((ifNull(order_value < 0, false) OR ifNull(cashback < 0, false)) AND status != 'DECLINED', false)),
    anyIf(toString(id), _deleted = 0 AND ifNull((ifNull(order_value < 0, false) OR ifNull(cashback < 0, false)) AND status != 'DECLINED', false)),
    countIf(_deleted = 0 AND ifNull(status NOT IN ('', 'PENDING', 'CONFIRMED', 'DECLINED') OR status = '', false)),
    anyIf(toString(id), _deleted = 0 AND ifNull(status NOT IN ('', 'PENDING', 'CONFIRMED', 'DECLINED') OR status = '', false))
FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e;

-- inspectDelta, with earlier versions: true
SELECT groupArrayIf(20)(toString(id), _deleted = 0),
    countIf(payout_id IS NOT NULL) + (SELECT uniqExact(id) FROM transactions_versions
    WHERE account = {account:String} AND payout_id IS NOT NULL AND id IN (SELECT id FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e WHERE payout_id IS NULL)),
    sumIf(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8))), _deleted = 0),
    (SELECT sumIf(now, change IN (1, 2)) FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e),
    (SELECT sumIf(was, change IN (1, 2) OR change = 3) FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e),
    countIf(_deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), _extra, country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, passback_uid, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000')))),
    anyIf(toString(id), _deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), _extra, country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, passback_uid, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000')))),
    countIf(_deleted = 0 AND ifNull(updated_at > fromUnixTimestamp64Milli({server:Int64}, 'UTC') + toIntervalSecond(3600), false)),
    anyIf(toString(id), _deleted = 0 AND ifNull(updated_at > fromUnixTimestamp64Milli({server:Int64}, 'UTC') + toIntervalSecond(3600), false)),
    countIf(_deleted = 0 AND ifNull((ifNull(order_value < 0, false) OR ifNull(cashback < 0, false)) AND status != 'DECLINED', false)),
    anyIf(toString(id), _deleted = 0 AND ifNull((ifNull(order_value < 0, false) OR ifNull(cashback < 0, false)) AND status != 'DECLINED', false)),
    countIf(_deleted = 0 AND ifNull(status NOT IN ('', 'PENDING', 'CONFIRMED', 'DECLINED') OR status = '', false)),
    anyIf(toString(id), _deleted = 0 AND ifNull(status NOT IN ('', 'PENDING', 'CONFIRMED', 'DECLINED') OR status = '', false))
FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e;

-- inspectDelta, of a large first load
SELECT groupArrayIf(20)(toString(id), _deleted = 0),
    countIf(payout_id IS NOT NULL),
    sumIf(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8))), _deleted = 0),
    (SELECT sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))) FROM (SELECT *, _version
    FROM transactions_staging FINAL
    WHERE run_id = {run:UUID}) AS s),
    toUInt64(0),
    countIf(_deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), _extra, country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, passback_uid, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000')))),
    anyIf(toString(id), _deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), _extra, country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, passback_uid, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000')))),
    countIf(_deleted = 0 AND ifNull(updated_at > fromUnixTimestamp64Milli({server:Int64}, 'UTC') + toIntervalSecond(3600), false)),
    anyIf(toString(id), _deleted = 0 AND ifNull(updated_at > fromUnixTimestamp64Milli({server:Int64}, 'UTC') + toIntervalSecond(3600), false)),
    countIf(_deleted = 0 AND ifNull((ifNull(order_value < 0, false) OR ifNull(cashback < 0, false)) AND status != 'DECLINED', false)),
    anyIf(toString(id), _deleted = 0 AND ifNull((ifNull(order_value < 0, false) OR ifNull(cashback < 0, false)) AND status != 'DECLINED', false)),
    countIf(_deleted = 0 AND ifNull(status NOT IN ('', 'PENDING', 'CONFIRMED', 'DECLINED') OR status = '', false)),
    anyIf(toString(id), _deleted = 0 AND ifNull(status NOT IN ('', 'PENDING', 'CONFIRMED', 'DECLINED') OR status = '', false))
FROM `dealhouse_runs`.transactions_delta_0000000000004000800000000000a11e;

-- removed
(SELECT sumIf(was, change IN (1, 2) OR change = 3) FROM `dealhouse_runs`.transactions_changes_0000000000004000800000000000a11e);
