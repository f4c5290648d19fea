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

CREATE OR REPLACE VIEW notifications
(
    receiver LowCardinality(String) COMMENT 'Receiver of the configuration',
    id UUID COMMENT 'Identifies the message; what is sent again has the same',
    at DateTime64(3, 'UTC') COMMENT 'When it was noticed, by the clock of the machine that noticed it [UTC]',
    event LowCardinality(String) COMMENT 'failing, guarded, stale, recovered, findings, drift or test',
    account LowCardinality(String) COMMENT 'Account of the configuration; empty: several, or none',
    streams Array(String) COMMENT 'Streams that it is about; where it is about several accounts, each with its account',
    title String COMMENT 'The message in a line',
    text String COMMENT 'The message in full',
    state LowCardinality(String) COMMENT 'waiting, sent or dropped (too old, or too many waited)',
    attempts UInt32 COMMENT 'How often it was tried to send it [count]',
    next_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it is tried again; NULL unless it waits [UTC]',
    error String COMMENT 'Why the last attempt failed; empty: it did not',
    ended_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was sent or dropped; NULL while it waits [UTC]'
)
AS SELECT receiver, id, at, event, account, streams, title, text, state, attempts, if(state = 'waiting', next_at, NULL) AS next_at, error, ended_at
FROM notifications_log FINAL WHERE event != '' ORDER BY queued
COMMENT 'What was told, or is to be told, to the receivers of the configuration: one row a message and receiver';

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

CREATE OR REPLACE VIEW unknown_fields
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    field String COMMENT 'Name of the field, as the service has it; its values are in the column _extra of the stream',
    first_seen DateTime64(3, 'UTC') COMMENT 'When a run first met it, by the clock of the warehouse [UTC]'
)
AS SELECT account, stream, field, min(unknown_fields_log.first_seen) AS first_seen FROM unknown_fields_log GROUP BY account, stream, field
COMMENT 'Fields that the service sends and the interface does not name, since when each is known';
