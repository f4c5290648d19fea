-- What is sent in the dialect cloud where a single server is sent something else, of the migrations, of products and of transactions.

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
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind schema_migrations';

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
SETTINGS replicated_deduplication_window = 0
COMMENT 'Processes that upgrade the schema: one at a time';

-- 0001_baseline.sql 1
CREATE TABLE IF NOT EXISTS sync_state_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    name LowCardinality(String) COMMENT 'watermark, clock (of the service), origin and loaded_from (which service it was), live (how many rows readers see), derived, behaviour (what a probe found the API to do), forgotten (hashes of what is not to be stored), checkpoint, lease, intent:<run> or backfill:<range>',
    value String COMMENT 'The state itself: a timestamp for a watermark, JSON for the others; empty when it is cleared',
    version UInt64 COMMENT 'The highest wins: the time of writing in microseconds, or a little more than all that the stream has; for a watermark the watermark itself, so that it can never move back',
    updated_at DateTime64(6, 'UTC') DEFAULT now64(6) COMMENT 'When it was written, by the clock of the warehouse'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (account, stream, name)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Watermarks, checkpoints, merge intents and leases: the storage behind sync_state';

-- 0001_baseline.sql 2
CREATE TABLE IF NOT EXISTS sync_runs_log
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
ENGINE = ReplacingMergeTree(version)
ORDER BY (account, stream, run_id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind sync_runs';

-- 0001_baseline.sql 3
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
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind payout_findings';

-- 0001_baseline.sql 4
CREATE TABLE IF NOT EXISTS reference_misses_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream of the record that was asked for',
    id UUID COMMENT 'Key that a transaction names',
    reason LowCardinality(String) COMMENT 'not_found: the service does not know it; refused: it refused the request; unusable: what it gave is no record with this key',
    asked_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When it was asked for last, by the clock of the warehouse'
)
ENGINE = ReplacingMergeTree(asked_at)
ORDER BY (account, stream, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind reference_misses';

-- 0001_baseline.sql 5
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
TTL toDateTime(checked_at) + toIntervalDay(400)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind quality_checks';

-- 0001_baseline.sql 6
CREATE TABLE IF NOT EXISTS rejects_log
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
ENGINE = AggregatingMergeTree
ORDER BY (account, stream, key, field, reason, raw_hash)
TTL written_at + toIntervalDay(90) DELETE WHERE stream != 'transactions'
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind rejected_records';

-- 0001_baseline.sql 7
CREATE TABLE IF NOT EXISTS absent_rows_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    key String COMMENT 'Key of the row',
    lists UInt16 COMMENT 'Complete lists in a row that did not have it; 0: the last one had it, or it is deleted',
    run_id UUID COMMENT 'The run that read the last of them',
    since DateTime64(3, 'UTC') COMMENT 'When the first of them was read, by the clock of the warehouse',
    version UInt64 COMMENT 'The highest wins'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (account, stream, key)
TTL toDateTime(since) + toIntervalDay(400) DELETE WHERE lists = 0
SETTINGS replicated_deduplication_window = 0
COMMENT 'Rows that complete lists no longer had: deleted once enough lists in a row did not have them';

-- 0001_baseline.sql 8
CREATE TABLE IF NOT EXISTS operator_actions_log
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
ENGINE = ReplacingMergeTree(version)
ORDER BY (account, stream, action_id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind operator_actions';

-- 0001_baseline.sql 9
CREATE TABLE IF NOT EXISTS payout_acknowledgements_log
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
ENGINE = ReplacingMergeTree
ORDER BY (account, payout_id, kind, currency_code, at, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind payout_acknowledgements';

-- 0001_baseline.sql 10
CREATE TABLE IF NOT EXISTS statement_closes_log
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
ENGINE = ReplacingMergeTree
ORDER BY (account, month, closed_at, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind statement_closes';

-- 0001_baseline.sql 11
CREATE TABLE IF NOT EXISTS notifications_log
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
ENGINE = ReplacingMergeTree(version)
ORDER BY (receiver, id)
TTL toDateTime(at) + toIntervalDay(400)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind notifications';

-- 0001_baseline.sql 12
CREATE TABLE IF NOT EXISTS notification_edges_log
(
    id UUID COMMENT 'Identifies the turn',
    owner String COMMENT 'Process that has it, or wants it: host/process/nonce',
    over UInt8 COMMENT '1 when it has ended, or stepped back',
    said_at DateTime64(6, 'UTC') DEFAULT now64(6) COMMENT 'When the process said so, by the clock of the warehouse',
    version UInt64 COMMENT 'The highest wins'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY id
TTL toDateTime(said_at) + toIntervalDay(2)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Processes that decide what is told: one at a time';

-- 0001_baseline.sql 13
CREATE TABLE IF NOT EXISTS notification_sending_log
(
    id UUID COMMENT 'Identifies the turn',
    owner String COMMENT 'Process that has it, or wants it: host/process/nonce',
    over UInt8 COMMENT '1 when it has ended, or stepped back',
    said_at DateTime64(6, 'UTC') DEFAULT now64(6) COMMENT 'When the process said so, by the clock of the warehouse',
    version UInt64 COMMENT 'The highest wins'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY id
TTL toDateTime(said_at) + toIntervalDay(2)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Processes that send what waits: one at a time';

-- 0001_baseline.sql 14
CREATE TABLE IF NOT EXISTS unknown_fields_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    field String COMMENT 'Name of the field',
    first_seen DateTime64(3, 'UTC') COMMENT 'When a run first met it, by the clock of the warehouse'
)
ENGINE = ReplacingMergeTree
ORDER BY (account, stream, field)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind unknown_fields';

-- 0001_baseline.sql 15
CREATE TABLE IF NOT EXISTS retention_log
(
    at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When it was removed, by the clock of the warehouse [UTC]',
    what LowCardinality(String) COMMENT 'runs, rejects (of transactions, settled) or findings (resolved)',
    older_than DateTime64(3, 'UTC') COMMENT 'What was older than that was removed, but for what is still needed [UTC]',
    removed UInt64 COMMENT 'How many'
)
ENGINE = ReplacingMergeTree
ORDER BY (at, what)
TTL toDateTime(at) + toIntervalDay(400)
SETTINGS replicated_deduplication_window = 0
COMMENT 'What was removed because of its age';

-- 0001_baseline.sql 16
CREATE TABLE IF NOT EXISTS settlements_log
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
ENGINE = ReplacingMergeTree
ORDER BY (account, reference, revision, hash)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind settlements';

-- 0001_baseline.sql 17
CREATE TABLE IF NOT EXISTS field_presence_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    field String COMMENT 'Name of the field, as the service has it',
    scope String COMMENT 'What was read of the stream; empty: all of it',
    usual Bool COMMENT 'Whether nearly every record of the last complete run that had it carried a value',
    missing_since Nullable(DateTime64(3, 'UTC')) COMMENT 'When a complete run first had it in no record; NULL: it has it',
    noted_at DateTime64(6, 'UTC') COMMENT 'When this was noted, by the clock of the warehouse: the latest wins'
)
ENGINE = ReplacingMergeTree(noted_at)
ORDER BY (account, stream, field)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind vanished_fields';

-- 0001_baseline.sql 18
CREATE TABLE IF NOT EXISTS settlement_matches_log
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
ENGINE = ReplacingMergeTree
ORDER BY (account, reference, at)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind the matches of settlements';

-- streams 1
CREATE TABLE IF NOT EXISTS promotions_latest
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
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view promotions';

-- streams 2
CREATE TABLE IF NOT EXISTS promotions_staging
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
SETTINGS replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

-- streams 3
CREATE TABLE IF NOT EXISTS promotions_versions
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
ENGINE = MergeTree
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view promotions_history';

-- streams 4
CREATE TABLE IF NOT EXISTS coupons_latest
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
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view coupons';

-- streams 5
CREATE TABLE IF NOT EXISTS coupons_staging
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
SETTINGS replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

-- streams 6
CREATE TABLE IF NOT EXISTS coupons_versions
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
ENGINE = MergeTree
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view coupons_history';

-- streams 7
CREATE TABLE IF NOT EXISTS cashback_offers_latest
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
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view cashback_offers';

-- streams 8
CREATE TABLE IF NOT EXISTS cashback_offers_staging
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
SETTINGS replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

-- streams 9
CREATE TABLE IF NOT EXISTS cashback_offers_versions
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
ENGINE = MergeTree
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view cashback_offers_history';

-- streams 10
CREATE TABLE IF NOT EXISTS transactions_latest
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
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, sold_at, id)
SETTINGS replicated_deduplication_window = 0, allow_nullable_key = 1
COMMENT 'Storage behind the view transactions';

-- streams 11
CREATE TABLE IF NOT EXISTS transactions_staging
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
SETTINGS replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

-- streams 12
CREATE TABLE IF NOT EXISTS transactions_versions
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
ENGINE = MergeTree
ORDER BY (account, sold_at, id)
SETTINGS replicated_deduplication_window = 0, allow_nullable_key = 1
COMMENT 'Storage behind the view transactions_history';

-- streams 13
CREATE TABLE IF NOT EXISTS transactions_keys
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier (API: id)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Where the row is in transactions_latest',
    _hash FixedString(16) COMMENT 'As in transactions_latest',
    _version UInt128 COMMENT 'As in transactions_latest',
    _deleted UInt8 COMMENT 'As in transactions_latest; 0 or 1',
    _ahead Int64 COMMENT 'updatedAt less the time in the version, in milliseconds; nearly always 0, also when there is no updatedAt'
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY account
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0, index_granularity = 512
COMMENT 'Storage beside transactions_latest: what a run compares its rows with';

-- streams 14
CREATE TABLE IF NOT EXISTS transactions_decided
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
ENGINE = ReplacingMergeTree(version)
PARTITION BY account
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind transaction_decisions: what would have to be computed from all versions';

-- streams 15
CREATE TABLE IF NOT EXISTS transactions_named
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream of the record that is named',
    key String COMMENT 'Key of the record that is named',
    newest SimpleAggregateFunction(max, Nullable(DateTime64(3, 'UTC'))) COMMENT 'Latest updatedAt of what names it',
    named_at SimpleAggregateFunction(min, DateTime64(3, 'UTC')) COMMENT 'When the first that names it was loaded',
    _run_id SimpleAggregateFunction(anyLast, UUID) COMMENT 'A run that loaded such a row'
)
ENGINE = AggregatingMergeTree
PARTITION BY account
ORDER BY (account, stream, key)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Which records of other streams are named by transactions, in any of their versions';

-- streams 16
CREATE TABLE IF NOT EXISTS payout_transactions_latest
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
ENGINE = ReplacingMergeTree(version)
PARTITION BY account
ORDER BY (account, payout_id, id)
SETTINGS replicated_deduplication_window = 0, index_granularity = 1024
COMMENT 'Storage behind the view payout_transactions';

-- streams 17
CREATE TABLE IF NOT EXISTS payout_moves_latest
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier',
    payout_ids Array(Int64) COMMENT 'All payouts that it ever carried; empty: the row stands for none',
    version UInt64 COMMENT 'The highest wins',
    _run_id UUID COMMENT 'Run that loaded the row'
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY account
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0, index_granularity = 1024
COMMENT 'Which payouts the transactions carried that do not carry one alone';

-- streams 18
CREATE TABLE IF NOT EXISTS payout_sums_latest
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
ENGINE = ReplacingMergeTree(version)
PARTITION BY account
ORDER BY (account, payout_id, quarters, currency_code, state, stamped_status, now_status)
SETTINGS replicated_deduplication_window = 0, index_granularity = 1024
COMMENT 'Storage behind the view payout_sums';

-- streams 19
CREATE TABLE IF NOT EXISTS payouts_latest
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
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view payouts';

-- streams 20
CREATE TABLE IF NOT EXISTS payouts_staging
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
SETTINGS replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

-- streams 21
CREATE TABLE IF NOT EXISTS payouts_versions
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
ENGINE = MergeTree
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view payouts_history';

-- streams 22
CREATE TABLE IF NOT EXISTS products_latest
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
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, product_key)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view products';

-- streams 23
CREATE TABLE IF NOT EXISTS products_staging
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
SETTINGS replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

-- streams 24
CREATE TABLE IF NOT EXISTS product_price_changes_latest
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
ENGINE = ReplacingMergeTree(version)
PARTITION BY account
ORDER BY (account, day, product_key)
SETTINGS replicated_deduplication_window = 0, index_granularity = 1024
COMMENT 'Storage behind the view product_price_changes';

-- streams 25
CREATE TABLE IF NOT EXISTS product_prices_latest
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
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, product_key, day)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view product_prices';

-- streams 26
CREATE TABLE IF NOT EXISTS product_prices_hashes
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    product_key UUID COMMENT 'Key derived from the fields that product_key_rule names',
    hash FixedString(16) COMMENT 'Hash of the entries that were last loaded: of a record with equal ones, none is looked at',
    _version UInt64 COMMENT 'Time of reading in microseconds since 1970: the highest wins',
    _run_id UUID COMMENT 'Run that loaded them'
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, product_key)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Which entries of product_prices were last loaded';

-- createLatest
CREATE TABLE IF NOT EXISTS products_latest
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
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, product_key)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view products';

-- createStaging
CREATE TABLE IF NOT EXISTS products_staging
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
SETTINGS replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

-- createChildLatest
CREATE TABLE IF NOT EXISTS product_prices_latest
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
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, product_key, day)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Storage behind the view product_prices';

-- createChildHashes
CREATE TABLE IF NOT EXISTS product_prices_hashes
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    product_key UUID COMMENT 'Key derived from the fields that product_key_rule names',
    hash FixedString(16) COMMENT 'Hash of the entries that were last loaded: of a record with equal ones, none is looked at',
    _version UInt64 COMMENT 'Time of reading in microseconds since 1970: the highest wins',
    _run_id UUID COMMENT 'Run that loaded them'
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, product_key)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Which entries of product_prices were last loaded';

-- create product_price_changes_latest
CREATE TABLE IF NOT EXISTS product_price_changes_latest
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
ENGINE = ReplacingMergeTree(version)
PARTITION BY account
ORDER BY (account, day, product_key)
SETTINGS replicated_deduplication_window = 0, index_granularity = 1024
COMMENT 'Storage behind the view product_price_changes';

-- createLatest
CREATE TABLE IF NOT EXISTS transactions_latest
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
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, sold_at, id)
SETTINGS replicated_deduplication_window = 0, allow_nullable_key = 1
COMMENT 'Storage behind the view transactions';

-- createStaging
CREATE TABLE IF NOT EXISTS transactions_staging
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
SETTINGS replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

-- createVersions
CREATE TABLE IF NOT EXISTS transactions_versions
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
ENGINE = MergeTree
ORDER BY (account, sold_at, id)
SETTINGS replicated_deduplication_window = 0, allow_nullable_key = 1
COMMENT 'Storage behind the view transactions_history';

-- create transactions_keys
CREATE TABLE IF NOT EXISTS transactions_keys
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier (API: id)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Where the row is in transactions_latest',
    _hash FixedString(16) COMMENT 'As in transactions_latest',
    _version UInt128 COMMENT 'As in transactions_latest',
    _deleted UInt8 COMMENT 'As in transactions_latest; 0 or 1',
    _ahead Int64 COMMENT 'updatedAt less the time in the version, in milliseconds; nearly always 0, also when there is no updatedAt'
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY account
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0, index_granularity = 512
COMMENT 'Storage beside transactions_latest: what a run compares its rows with';

-- create transactions_decided
CREATE TABLE IF NOT EXISTS transactions_decided
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
ENGINE = ReplacingMergeTree(version)
PARTITION BY account
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0
COMMENT 'The storage behind transaction_decisions: what would have to be computed from all versions';

-- create transactions_named
CREATE TABLE IF NOT EXISTS transactions_named
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream of the record that is named',
    key String COMMENT 'Key of the record that is named',
    newest SimpleAggregateFunction(max, Nullable(DateTime64(3, 'UTC'))) COMMENT 'Latest updatedAt of what names it',
    named_at SimpleAggregateFunction(min, DateTime64(3, 'UTC')) COMMENT 'When the first that names it was loaded',
    _run_id SimpleAggregateFunction(anyLast, UUID) COMMENT 'A run that loaded such a row'
)
ENGINE = AggregatingMergeTree
PARTITION BY account
ORDER BY (account, stream, key)
SETTINGS replicated_deduplication_window = 0
COMMENT 'Which records of other streams are named by transactions, in any of their versions';

-- create payout_transactions_latest
CREATE TABLE IF NOT EXISTS payout_transactions_latest
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
ENGINE = ReplacingMergeTree(version)
PARTITION BY account
ORDER BY (account, payout_id, id)
SETTINGS replicated_deduplication_window = 0, index_granularity = 1024
COMMENT 'Storage behind the view payout_transactions';

-- create payout_moves_latest
CREATE TABLE IF NOT EXISTS payout_moves_latest
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier',
    payout_ids Array(Int64) COMMENT 'All payouts that it ever carried; empty: the row stands for none',
    version UInt64 COMMENT 'The highest wins',
    _run_id UUID COMMENT 'Run that loaded the row'
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY account
ORDER BY (account, id)
SETTINGS replicated_deduplication_window = 0, index_granularity = 1024
COMMENT 'Which payouts the transactions carried that do not carry one alone';

-- create payout_sums_latest
CREATE TABLE IF NOT EXISTS payout_sums_latest
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
ENGINE = ReplacingMergeTree(version)
PARTITION BY account
ORDER BY (account, payout_id, quarters, currency_code, state, stamped_status, now_status)
SETTINGS replicated_deduplication_window = 0, index_granularity = 1024
COMMENT 'Storage behind the view payout_sums';

-- attachDelta transactions_delta_0000000000004000800000000000a11e to transactions_latest
ALTER TABLE transactions_latest ATTACH PARTITION tuple() FROM transactions_delta_0000000000004000800000000000a11e;

-- attachDelta transactions_moves_0000000000004000800000000000a11e to transactions_latest
ALTER TABLE transactions_latest ATTACH PARTITION tuple() FROM transactions_moves_0000000000004000800000000000a11e;

-- attachDelta transactions_delta_0000000000004000800000000000a11e to transactions_versions
ALTER TABLE transactions_versions ATTACH PARTITION tuple() FROM transactions_delta_0000000000004000800000000000a11e;
