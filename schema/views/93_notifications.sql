-- What receivers were told, and what waits to be sent to them.

CREATE OR REPLACE VIEW notifications
(
    receiver LowCardinality(String) COMMENT 'Receiver of the configuration',
    id UUID COMMENT 'Identifies the message; what is sent again has the same',
    at DateTime64(3, 'UTC') COMMENT 'When it was noticed, by the clock of the machine that noticed it [UTC]',
    event LowCardinality(String) COMMENT 'failing, guarded, stale, recovered, findings, drift or test',
    account LowCardinality(String) COMMENT 'Account of the configuration; empty: several, or none',
    streams Array(String) COMMENT 'Streams that it is about; if it is about several accounts, each stream with its account',
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
COMMENT 'Messages to the receivers of the configuration, waiting, sent or dropped: one row for each message and receiver';
