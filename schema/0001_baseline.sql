-- What the worker knows about itself. People and dashboards query the views (views/); the tables end in _log.

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
COMMENT 'Watermarks, checkpoints, merge intents and leases: the storage behind sync_state';

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
COMMENT 'The storage behind sync_runs';

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

-- What transactions name and the service does not give.

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
COMMENT 'The storage behind reference_misses';

-- What is known about the quality of the data.

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
COMMENT 'The storage behind quality_checks';

-- One row for what is rejected again and again.
--
-- Every run that reads a bad value says so anew. Rows of one value merge: what is kept is when it was met first and last,
-- in how many runs, and two readings of it. The last one, and the last that a run has published: the run at hand may fail.
-- Read it with GROUP BY: FINAL does not merge what is read of a part of a tuple, such as last.version.

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
COMMENT 'The storage behind rejected_records';

-- What complete lists no longer had, and is not deleted yet.

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
COMMENT 'Rows that complete lists no longer had: deleted once enough lists in a row did not have them';

-- What operators did, and what a guard kept a run from doing. Which streams are paused, and which deletions an operator
-- has agreed to, follows from the actions: so the record of an action and its effect are one row.

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
COMMENT 'The storage behind operator_actions';

-- What a person has acknowledged of what the reconciliation of payouts found. Rows are added and never changed; that
-- replacing merges the same row when it is sent twice.

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
COMMENT 'The storage behind payout_acknowledgements';

-- Months that were closed: the statement as it was then. Rows are added and never changed; that replacing merges the same
-- row when it is sent twice.

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
COMMENT 'The storage behind statement_closes';

-- What is told to the receivers that the configuration names, and what became of each message. Which edges were told
-- follows from the messages: so a message and the record that it was told are one row.

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
COMMENT 'The storage behind notifications';

-- Of several processes, one at a time decides what is told, and one sends.

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
COMMENT 'Processes that decide what is told: one at a time';

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
COMMENT 'Processes that send what waits: one at a time';

-- Fields that the service sends and the interface does not name.

CREATE TABLE IF NOT EXISTS unknown_fields_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    field String COMMENT 'Name of the field',
    first_seen DateTime64(3, 'UTC') COMMENT 'When a run first met it, by the clock of the warehouse'
)
ENGINE = ReplacingMergeTree
ORDER BY (account, stream, field)
COMMENT 'The storage behind unknown_fields';

-- What was removed since it is older than the configuration wants it to be kept. Its last row says when that was looked
-- at last.

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
COMMENT 'What was removed because of its age';

-- What reached the bank of payouts. Rows are added and never changed: a settlement that is corrected has a further
-- revision. That replacing merges the same row when it is sent twice.

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
COMMENT 'The storage behind settlements';

-- What the service used to send of the fields that the interface names, so that one that it stops to send is noticed. A row
-- is written only when something about its field changes.

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
COMMENT 'The storage behind vanished_fields';

-- Which payouts the settlements of settlements_log settle, as a run or an import found out. Rows are added and never
-- changed: the last one of a settlement counts, if it is of its last revision.

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
COMMENT 'The storage behind the matches of settlements';
