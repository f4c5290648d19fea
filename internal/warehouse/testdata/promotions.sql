-- What is sent for promotions, rendered for the account acme and the run 00000000-0000-4000-8000-00000000a11e.

-- createLatest
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
COMMENT 'Storage behind the view promotions';

-- createStaging
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
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

-- createView
CREATE OR REPLACE VIEW promotions
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
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]'
)
AS SELECT account, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at
FROM promotions_latest FINAL
WHERE _deleted = 0
COMMENT 'Promotions that the service lists now, one row each';

-- rehash
ALTER TABLE promotions_staging MODIFY COLUMN _hash FixedString(16) DEFAULT reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(_nulls, _extra, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at)), 64), toUInt128(xxHash64(_nulls, _extra, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at))), 'FixedString(16)');

-- hashStatements 2
ALTER TABLE promotions_staging MATERIALIZE COLUMN _hash SETTINGS mutations_sync = 1;

-- hashStatements 3
ALTER TABLE promotions_staging COMMENT COLUMN _hash 'Hash of the content: equal hashes are equal rows (2713d311)';

-- hashStatements 4
ALTER TABLE promotions_latest UPDATE _hash = reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(toUInt64(1 * isNull(start_date) + 2 * isNull(end_date) + 4 * isNull(retailer_id) + 8 * isNull(updated_at)), _extra, ifNull(reinterpret(start_date, 'Int64'), 0), ifNull(reinterpret(end_date, 'Int64'), 0), description, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), url, retailer_name, hostname, retailer_logo, deep_link, ifNull(reinterpret(updated_at, 'Int64'), 0))), 64), toUInt128(xxHash64(toUInt64(1 * isNull(start_date) + 2 * isNull(end_date) + 4 * isNull(retailer_id) + 8 * isNull(updated_at)), _extra, ifNull(reinterpret(start_date, 'Int64'), 0), ifNull(reinterpret(end_date, 'Int64'), 0), description, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), url, retailer_name, hostname, retailer_logo, deep_link, ifNull(reinterpret(updated_at, 'Int64'), 0)))), 'FixedString(16)') WHERE _hash != reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(toUInt64(1 * isNull(start_date) + 2 * isNull(end_date) + 4 * isNull(retailer_id) + 8 * isNull(updated_at)), _extra, ifNull(reinterpret(start_date, 'Int64'), 0), ifNull(reinterpret(end_date, 'Int64'), 0), description, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), url, retailer_name, hostname, retailer_logo, deep_link, ifNull(reinterpret(updated_at, 'Int64'), 0))), 64), toUInt128(xxHash64(toUInt64(1 * isNull(start_date) + 2 * isNull(end_date) + 4 * isNull(retailer_id) + 8 * isNull(updated_at)), _extra, ifNull(reinterpret(start_date, 'Int64'), 0), ifNull(reinterpret(end_date, 'Int64'), 0), description, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), url, retailer_name, hostname, retailer_logo, deep_link, ifNull(reinterpret(updated_at, 'Int64'), 0)))), 'FixedString(16)') SETTINGS mutations_sync = 1;

-- hashStatements 5
ALTER TABLE promotions_latest COMMENT COLUMN _hash 'Hash of the content: equal hashes are equal rows (2713d311)';

-- createVersions
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
COMMENT 'Storage behind the view promotions_history';

-- createHistory
CREATE OR REPLACE VIEW promotions_history
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
    valid_from DateTime64(3, 'UTC') COMMENT 'When this version became visible [UTC]',
    valid_to Nullable(DateTime64(3, 'UTC')) COMMENT 'When the next version, or the row\'s deletion, became visible; NULL while it is current [UTC]'
)
AS SELECT account, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at, synced_at AS valid_from, valid_to
FROM
(
    SELECT *, leadInFrame(toNullable(synced_at)) OVER (PARTITION BY account, id ORDER BY _version ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS valid_to
    FROM
    (
        SELECT account, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at, _hash, _version, _deleted,
            row_number() OVER w AS _n, lagInFrame(_hash) OVER w AS _hash_before, lagInFrame(_deleted) OVER w AS _deleted_before
        FROM promotions_versions
        WINDOW w AS (PARTITION BY account, id ORDER BY _version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    )
    WHERE _n = 1 OR _hash != _hash_before OR _deleted != _deleted_before
)
WHERE _deleted = 0
COMMENT 'Every version of promotions that was ever loaded';

-- createAsOf
CREATE OR REPLACE VIEW promotions_as_of
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
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]'
)
AS SELECT account, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at
FROM promotions_latest FINAL
WHERE _deleted = 0 AND synced_at <= {at:DateTime64(3, 'UTC')}
UNION ALL
SELECT account, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at
FROM
(
    SELECT account, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at, _deleted
    FROM promotions_versions
    WHERE synced_at <= {at:DateTime64(3, 'UTC')} AND (account, id) GLOBAL IN
    (
        SELECT account, id FROM promotions_latest FINAL WHERE synced_at > {at:DateTime64(3, 'UTC')}
    )
    ORDER BY _version DESC, _deleted DESC
    LIMIT 1 BY account, id
)
WHERE _deleted = 0
COMMENT 'The rows of promotions as they were at the time `at`';

-- createAllView
CREATE OR REPLACE VIEW promotions_all
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Promotion identifier (API: id)',
    listed Bool COMMENT 'Whether the list had the row when it was last loaded; where not, the row is as it was last seen',
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
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]'
)
AS SELECT account, id, toBool(_deleted = 0) AS listed, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at
FROM promotions_latest FINAL
COMMENT 'All promotions that are known: listed now, listed once, or named by a transaction and read by their own address';

-- addColumns to promotions_latest
ALTER TABLE promotions_latest ADD COLUMN IF NOT EXISTS _run_id UUID COMMENT 'Run that loaded this version' AFTER _deleted;

-- addColumns to promotions_staging
ALTER TABLE promotions_staging ADD COLUMN IF NOT EXISTS _fetched Int64 AFTER _page;

-- addColumns to promotions_versions
ALTER TABLE promotions_versions ADD COLUMN IF NOT EXISTS _run_id UUID COMMENT 'Run that loaded this version' AFTER _deleted;

-- insertInto staging
INSERT INTO promotions_staging (run_id, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _nulls, _extra, _page, _fetched);

-- countStaged
SELECT count(), sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))) FROM promotions_staging WHERE run_id = {run:UUID};

-- selectStagedKeys
SELECT toString(id) FROM promotions_staging WHERE run_id = {run:UUID};

-- countBefore
SELECT toUnixTimestamp64Micro(now64(6)), count(),
    uniqExact(id),
    countIf(bitShiftRight(_version, 64) > {cap:UInt64} + 60000),
    countIf((id, _hash) NOT IN
    (
        SELECT id, _hash FROM promotions_latest FINAL
        WHERE account = {account:String} AND _deleted = 0 AND id IN (SELECT id FROM promotions_staging WHERE run_id = {run:UUID})
    )),
    sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))), sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))),
    (SELECT count() FROM promotions_latest FINAL WHERE account = {account:String} AND _deleted = 0),
    (SELECT count() = 0 FROM (SELECT 1 FROM promotions_latest WHERE account = {account:String} LIMIT 1))
FROM promotions_staging
WHERE run_id = {run:UUID};

-- countBefore of the whole list
SELECT toUnixTimestamp64Micro(now64(6)), count(),
    uniqExact(id),
    countIf(bitShiftRight(_version, 64) > {cap:UInt64} + 60000),
    countIf((id, _hash) NOT IN
    (
        SELECT id, _hash FROM promotions_latest FINAL
        WHERE account = {account:String} AND _deleted = 0 AND id IN (SELECT id FROM promotions_staging WHERE run_id = {run:UUID})
    )),
    sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))), sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))),
    (SELECT count() FROM promotions_latest FINAL WHERE account = {account:String} AND _deleted = 0),
    (SELECT count() = 0 FROM (SELECT 1 FROM promotions_latest WHERE account = {account:String} LIMIT 1))
FROM promotions_staging
WHERE run_id = {run:UUID};

-- countBefore of many rows
SELECT toUnixTimestamp64Micro(now64(6)), count(),
    uniqExact(id),
    countIf(bitShiftRight(_version, 64) > {cap:UInt64} + 60000),
    count(),
    sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))), sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))),
    (SELECT count() FROM promotions_latest FINAL WHERE account = {account:String} AND _deleted = 0),
    (SELECT count() = 0 FROM (SELECT 1 FROM promotions_latest WHERE account = {account:String} LIMIT 1))
FROM promotions_staging
WHERE run_id = {run:UUID};

-- countBefore of more rows than a set holds
SELECT toUnixTimestamp64Micro(now64(6)), count(),
    (SELECT count() FROM promotions_staging FINAL WHERE run_id = {run:UUID}),
    countIf(bitShiftRight(_version, 64) > {cap:UInt64} + 60000),
    count(),
    sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))), sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))),
    (SELECT count() FROM promotions_latest FINAL WHERE account = {account:String} AND _deleted = 0),
    (SELECT count() = 0 FROM (SELECT 1 FROM promotions_latest WHERE account = {account:String} LIMIT 1))
FROM promotions_staging
WHERE run_id = {run:UUID};

-- hasNone
SELECT count() = 0 FROM (SELECT 1 FROM promotions_latest WHERE account = {account:String} LIMIT 1);

-- dropOldChanges
DROP TABLE IF EXISTS promotions_changes_0000000000004000800000000000a11e;

-- createChanges
CREATE TABLE IF NOT EXISTS promotions_changes_0000000000004000800000000000a11e (id UUID, change UInt8, version UInt128, was UInt64, now UInt64)
ENGINE = MergeTree ORDER BY id
COMMENT 'What a run under way will change';

-- insertChanges of a part
INSERT INTO promotions_changes_0000000000004000800000000000a11e (id, change, version, was, now)
WITH
    bitShiftRight(least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 64) AS s_own,
    least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped,
    least(l_capped, toUInt128(l._updated)) AS l_changed,
    if(s._undated OR l._deleted OR l._updated > l_capped + 60000, greatest(s_own, l_changed), s_own) AS s_changed,
    bitAnd(s._version, toUInt128(18446744073709551615)) AS s_read,
    if(bitAnd(l._version, toUInt128(18446744073709551615)) > {latest:UInt64}, 0, bitAnd(l._version, toUInt128(18446744073709551615))) AS l_read,
    s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer,
    greatest(
        least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))),
        if(l._version = 0, 0, bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), s_read)),
        if(l._version = 0, 0, l._version + 1)) AS s_version
SELECT if(s._version = 0, l.id, s.id),
    multiIf(s._version = 0, 3, l._version = 0 OR l._deleted, 1, newer, 2, 4),
    if(s._version = 0, greatest(bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), toUInt128({started:UInt64})), l._version + 1), s_version),
    if(l._version = 0 OR l._deleted, 0, cityHash64(l.id, reinterpretAsUInt64(substring(l._hash, 9, 8)))),
    if(s._version = 0, 0, cityHash64(s.id, reinterpretAsUInt64(substring(s._hash, 9, 8))))
FROM
(
    SELECT id, _version, _hash, bitTest(_nulls, 3) AS _undated
    FROM promotions_staging FINAL
    WHERE run_id = {run:UUID}
) AS s
LEFT JOIN
(
    SELECT id, _version, _hash, _deleted, ifNull(toUInt64(greatest(toUnixTimestamp64Milli(updated_at), 0)), toUInt64(bitShiftRight(_version, 64))) AS _updated
    FROM promotions_latest FINAL
    WHERE account = {account:String} AND id IN (SELECT id FROM promotions_staging WHERE run_id = {run:UUID})
) AS l ON s.id = l.id
WHERE (s._version != 0 AND (l._version = 0 OR newer AND (s._hash != l._hash OR l._deleted)))
    OR (s._version != 0 AND NOT newer AND s_read > l_read AND s._hash != l._hash);

-- insertChanges of a part, some dated ahead
INSERT INTO promotions_changes_0000000000004000800000000000a11e (id, change, version, was, now)
WITH
    bitShiftRight(least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 64) AS s_own,
    least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped,
    least(l_capped, toUInt128(l._updated)) AS l_changed,
    if(s._undated OR l._deleted OR l._updated > l_capped + 60000, greatest(s_own, l_changed), s_own) AS s_changed,
    bitAnd(s._version, toUInt128(18446744073709551615)) AS s_read,
    if(bitAnd(l._version, toUInt128(18446744073709551615)) > {latest:UInt64}, 0, bitAnd(l._version, toUInt128(18446744073709551615))) AS l_read,
    s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer,
    greatest(
        least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))),
        if(l._version = 0, 0, bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), s_read)),
        if(l._version = 0, 0, l._version + 1)) AS s_version
SELECT if(s._version = 0, l.id, s.id),
    multiIf(s._version = 0, 3, l._version = 0 OR l._deleted, 1, newer, 2, 4),
    if(s._version = 0, greatest(bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), toUInt128({started:UInt64})), l._version + 1), s_version),
    if(l._version = 0 OR l._deleted, 0, cityHash64(l.id, reinterpretAsUInt64(substring(l._hash, 9, 8)))),
    if(s._version = 0, 0, cityHash64(s.id, reinterpretAsUInt64(substring(s._hash, 9, 8))))
FROM
(
    SELECT id, _version, _hash, bitTest(_nulls, 3) AS _undated
    FROM promotions_staging
    WHERE run_id = {run:UUID}
    ORDER BY id, if(max(bitShiftRight(_version, 64) > {cap:UInt64} + 60000) OVER (PARTITION BY id), toUInt128(_fetched), _version) DESC, _version DESC, _hash
    LIMIT 1 BY id
) AS s
LEFT JOIN
(
    SELECT id, _version, _hash, _deleted, ifNull(toUInt64(greatest(toUnixTimestamp64Milli(updated_at), 0)), toUInt64(bitShiftRight(_version, 64))) AS _updated
    FROM promotions_latest FINAL
    WHERE account = {account:String} AND id IN (SELECT id FROM promotions_staging WHERE run_id = {run:UUID})
) AS l ON s.id = l.id
WHERE (s._version != 0 AND (l._version = 0 OR newer AND (s._hash != l._hash OR l._deleted)))
    OR (s._version != 0 AND NOT newer AND s_read > l_read AND s._hash != l._hash);

-- insertChanges of the whole list
INSERT INTO promotions_changes_0000000000004000800000000000a11e (id, change, version, was, now)
WITH
    bitShiftRight(least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 64) AS s_own,
    least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped,
    least(l_capped, toUInt128(l._updated)) AS l_changed,
    greatest(s_own, l_changed) AS s_changed,
    bitAnd(s._version, toUInt128(18446744073709551615)) AS s_read,
    if(bitAnd(l._version, toUInt128(18446744073709551615)) > {latest:UInt64}, 0, bitAnd(l._version, toUInt128(18446744073709551615))) AS l_read,
    s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer,
    greatest(
        least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))),
        if(l._version = 0, 0, bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), s_read)),
        if(l._version = 0, 0, l._version + 1)) AS s_version
SELECT if(s._version = 0, l.id, s.id),
    multiIf(s._version = 0, 3, l._version = 0 OR l._deleted, 1, newer, 2, 4),
    if(s._version = 0, greatest(bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), toUInt128({started:UInt64})), l._version + 1), s_version),
    if(l._version = 0 OR l._deleted, 0, cityHash64(l.id, reinterpretAsUInt64(substring(l._hash, 9, 8)))),
    if(s._version = 0, 0, cityHash64(s.id, reinterpretAsUInt64(substring(s._hash, 9, 8))))
FROM
(
    SELECT id, _version, _hash, bitTest(_nulls, 3) AS _undated
    FROM promotions_staging FINAL
    WHERE run_id = {run:UUID}
) AS s
FULL JOIN
(
    SELECT id, _version, _hash, _deleted, ifNull(toUInt64(greatest(toUnixTimestamp64Milli(updated_at), 0)), toUInt64(bitShiftRight(_version, 64))) AS _updated
    FROM promotions_latest FINAL
    WHERE account = {account:String}
) AS l ON s.id = l.id
WHERE (s._version != 0 AND (l._version = 0 OR newer AND (s._hash != l._hash OR l._deleted)))
    OR (s._version = 0 AND l._deleted = 0 AND l_read < {started:UInt64} AND toString(l.id) NOT IN
    (
        SELECT key FROM rejects_log
        WHERE account = {account:String} AND stream = 'promotions' AND field = ''
            AND (last.run_id = {run:UUID} OR toUnixTimestamp64Micro(last.read_at) >= {started:UInt64})
    ));

-- insertChanges of the whole list, some dated ahead
INSERT INTO promotions_changes_0000000000004000800000000000a11e (id, change, version, was, now)
WITH
    bitShiftRight(least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 64) AS s_own,
    least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped,
    least(l_capped, toUInt128(l._updated)) AS l_changed,
    greatest(s_own, l_changed) AS s_changed,
    bitAnd(s._version, toUInt128(18446744073709551615)) AS s_read,
    if(bitAnd(l._version, toUInt128(18446744073709551615)) > {latest:UInt64}, 0, bitAnd(l._version, toUInt128(18446744073709551615))) AS l_read,
    s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer,
    greatest(
        least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))),
        if(l._version = 0, 0, bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), s_read)),
        if(l._version = 0, 0, l._version + 1)) AS s_version
SELECT if(s._version = 0, l.id, s.id),
    multiIf(s._version = 0, 3, l._version = 0 OR l._deleted, 1, newer, 2, 4),
    if(s._version = 0, greatest(bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), toUInt128({started:UInt64})), l._version + 1), s_version),
    if(l._version = 0 OR l._deleted, 0, cityHash64(l.id, reinterpretAsUInt64(substring(l._hash, 9, 8)))),
    if(s._version = 0, 0, cityHash64(s.id, reinterpretAsUInt64(substring(s._hash, 9, 8))))
FROM
(
    SELECT id, _version, _hash, bitTest(_nulls, 3) AS _undated
    FROM promotions_staging
    WHERE run_id = {run:UUID}
    ORDER BY id, if(max(bitShiftRight(_version, 64) > {cap:UInt64} + 60000) OVER (PARTITION BY id), toUInt128(_fetched), _version) DESC, _version DESC, _hash
    LIMIT 1 BY id
) AS s
FULL JOIN
(
    SELECT id, _version, _hash, _deleted, ifNull(toUInt64(greatest(toUnixTimestamp64Milli(updated_at), 0)), toUInt64(bitShiftRight(_version, 64))) AS _updated
    FROM promotions_latest FINAL
    WHERE account = {account:String}
) AS l ON s.id = l.id
WHERE (s._version != 0 AND (l._version = 0 OR newer AND (s._hash != l._hash OR l._deleted)))
    OR (s._version = 0 AND l._deleted = 0 AND l_read < {started:UInt64} AND toString(l.id) NOT IN
    (
        SELECT key FROM rejects_log
        WHERE account = {account:String} AND stream = 'promotions' AND field = ''
            AND (last.run_id = {run:UUID} OR toUnixTimestamp64Micro(last.read_at) >= {started:UInt64})
    ));

-- insertChanges of rows that no list has
INSERT INTO promotions_changes_0000000000004000800000000000a11e (id, change, version, was, now)
WITH
    bitShiftRight(least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 64) AS s_own,
    least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped,
    least(l_capped, toUInt128(l._updated)) AS l_changed,
    if(s._undated OR l._deleted OR l._updated > l_capped + 60000, greatest(s_own, l_changed), s_own) AS s_changed,
    bitAnd(s._version, toUInt128(18446744073709551615)) AS s_read,
    if(bitAnd(l._version, toUInt128(18446744073709551615)) > {latest:UInt64}, 0, bitAnd(l._version, toUInt128(18446744073709551615))) AS l_read,
    s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer,
    greatest(
        least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))),
        if(l._version = 0, 0, bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), s_read)),
        if(l._version = 0, 0, l._version + 1)) AS s_version
SELECT if(s._version = 0, l.id, s.id),
    multiIf(s._version = 0, 3, l._version = 0 OR l._deleted, 1, newer, 2, 4),
    if(s._version = 0, greatest(bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), toUInt128({started:UInt64})), l._version + 1), s_version),
    if(l._version = 0 OR l._deleted, 0, cityHash64(l.id, reinterpretAsUInt64(substring(l._hash, 9, 8)))),
    if(s._version = 0, 0, cityHash64(s.id, reinterpretAsUInt64(substring(s._hash, 9, 8))))
FROM
(
    SELECT id, _version, _hash, bitTest(_nulls, 3) AS _undated
    FROM promotions_staging FINAL
    WHERE run_id = {run:UUID}
) AS s
LEFT JOIN
(
    SELECT id, _version, _hash, _deleted, ifNull(toUInt64(greatest(toUnixTimestamp64Milli(updated_at), 0)), toUInt64(bitShiftRight(_version, 64))) AS _updated
    FROM promotions_latest FINAL
    WHERE account = {account:String} AND id IN (SELECT id FROM promotions_staging WHERE run_id = {run:UUID})
) AS l ON s.id = l.id
WHERE s._version != 0 AND l._version = 0;

-- insertChanges of rows that no list has, some dated ahead
INSERT INTO promotions_changes_0000000000004000800000000000a11e (id, change, version, was, now)
WITH
    bitShiftRight(least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 64) AS s_own,
    least(bitShiftRight(l._version, 64), toUInt128({cap:UInt64})) AS l_capped,
    least(l_capped, toUInt128(l._updated)) AS l_changed,
    if(s._undated OR l._deleted OR l._updated > l_capped + 60000, greatest(s_own, l_changed), s_own) AS s_changed,
    bitAnd(s._version, toUInt128(18446744073709551615)) AS s_read,
    if(bitAnd(l._version, toUInt128(18446744073709551615)) > {latest:UInt64}, 0, bitAnd(l._version, toUInt128(18446744073709551615))) AS l_read,
    s_changed > l_changed OR s_changed = l_changed AND s_read > l_read AS newer,
    greatest(
        least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))),
        if(l._version = 0, 0, bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), s_read)),
        if(l._version = 0, 0, l._version + 1)) AS s_version
SELECT if(s._version = 0, l.id, s.id),
    multiIf(s._version = 0, 3, l._version = 0 OR l._deleted, 1, newer, 2, 4),
    if(s._version = 0, greatest(bitOr(bitShiftLeft(bitShiftRight(l._version, 64), 64), toUInt128({started:UInt64})), l._version + 1), s_version),
    if(l._version = 0 OR l._deleted, 0, cityHash64(l.id, reinterpretAsUInt64(substring(l._hash, 9, 8)))),
    if(s._version = 0, 0, cityHash64(s.id, reinterpretAsUInt64(substring(s._hash, 9, 8))))
FROM
(
    SELECT id, _version, _hash, bitTest(_nulls, 3) AS _undated
    FROM promotions_staging
    WHERE run_id = {run:UUID}
    ORDER BY id, if(max(bitShiftRight(_version, 64) > {cap:UInt64} + 60000) OVER (PARTITION BY id), toUInt128(_fetched), _version) DESC, _version DESC, _hash
    LIMIT 1 BY id
) AS s
LEFT JOIN
(
    SELECT id, _version, _hash, _deleted, ifNull(toUInt64(greatest(toUnixTimestamp64Milli(updated_at), 0)), toUInt64(bitShiftRight(_version, 64))) AS _updated
    FROM promotions_latest FINAL
    WHERE account = {account:String} AND id IN (SELECT id FROM promotions_staging WHERE run_id = {run:UUID})
) AS l ON s.id = l.id
WHERE s._version != 0 AND l._version = 0;

-- countChanges
SELECT change, count(), toUInt64(0) FROM promotions_changes_0000000000004000800000000000a11e GROUP BY change;

-- selectPlannedKeys
SELECT toString(id) FROM promotions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2);

-- selectPlannedDeletes
SELECT toString(id), ifNull(toUnixTimestamp64Milli(updated_at), 0), '' FROM promotions_latest FINAL
WHERE account = {account:String} AND id IN (SELECT id FROM promotions_changes_0000000000004000800000000000a11e WHERE change = 3 AND id IN (SELECT id FROM promotions_changes_0000000000004000800000000000a11e WHERE change = 3 ORDER BY cityHash64(id, '00000000-0000-4000-8000-00000000a11e') LIMIT 5));

-- selectNewest
SELECT toString(id), ifNull(toUnixTimestamp64Milli(updated_at), 0) AS updated, id IN (SELECT id FROM promotions_staging WHERE run_id = {run:UUID})
FROM promotions_latest FINAL
WHERE account = {account:String} AND _deleted = 0
ORDER BY updated DESC, id
LIMIT 5;

-- countAlike
SELECT uniqExact(id)
FROM (SELECT id, if(bitTest(_nulls, 0), NULL, reinterpret(start_date, 'DateTime64(3, ''UTC'')')) AS start_date_read, if(bitTest(_nulls, 1), NULL, reinterpret(end_date, 'DateTime64(3, ''UTC'')')) AS end_date_read, description AS description_read, if(bitTest(_nulls, 2), NULL, retailer_id) AS retailer_id_read, url AS url_read, retailer_name AS retailer_name_read, hostname AS hostname_read, retailer_logo AS retailer_logo_read, deep_link AS deep_link_read, if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')) AS updated_at_read FROM promotions_staging WHERE run_id = {run:UUID}) AS s
INNER JOIN (SELECT id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at FROM promotions_latest FINAL WHERE account = {account:String} AND _deleted = 0) AS l ON s.id = l.id
WHERE 3 * ((s.start_date_read <=> l.start_date) + (s.end_date_read <=> l.end_date) + (s.description_read <=> l.description) + (s.retailer_id_read <=> l.retailer_id) + (s.url_read <=> l.url) + (s.retailer_name_read <=> l.retailer_name) + (s.hostname_read <=> l.hostname) + (s.retailer_logo_read <=> l.retailer_logo) + (s.deep_link_read <=> l.deep_link) + (s.updated_at_read <=> l.updated_at)) >= 2 * 10;

-- selectDifferences
WITH (SELECT ifNull(maxIf(server_time, outcome = 'success'), toDateTime64(0, 3, 'UTC')) FROM sync_runs_log FINAL
    WHERE account = {account:String} AND stream = {stream:String} AND mode NOT IN ('backfill', 'retry', 'references', 'forget')) AS loaded,
    (SELECT toUnixTimestamp64Milli(parseDateTime64BestEffortOrZero(argMax(value, version), 3, 'UTC')) FROM sync_state_log
    WHERE account = {account:String} AND stream = {stream:String} AND name = 'loaded_from') AS loaded_from
SELECT which, kind, fields, was, is, countIf(kind IN ('wrong', 'missing')) OVER () AS faults, count() OVER () AS differences
FROM
(
    SELECT toString(if(s.here = 1, s.id, l.id)) AS which,
        multiIf(s.here = 0, 'gone', l.here = 0, if(ifNull(toUnixTimestamp64Milli(s.updated_at_read), 0) > toUnixTimestamp64Milli(loaded), 'new', 'missing'), l.own = 1 AND ifNull(toUnixTimestamp64Milli(s.updated_at_read), 0) > ifNull(toUnixTimestamp64Milli(l.updated_at), 0), 'changed', 'wrong') AS kind,
        if(s.here = 1 AND l.here = 1, arrayFilter(f -> f != '', [if(s.start_date_read <=> l.start_date, '', 'start_date'),
    if(s.end_date_read <=> l.end_date, '', 'end_date'),
    if(s.description_read <=> l.description, '', 'description'),
    if(s.retailer_id_read <=> l.retailer_id, '', 'retailer_id'),
    if(s.url_read <=> l.url, '', 'url'),
    if(s.retailer_name_read <=> l.retailer_name, '', 'retailer_name'),
    if(s.hostname_read <=> l.hostname, '', 'hostname'),
    if(s.retailer_logo_read <=> l.retailer_logo, '', 'retailer_logo'),
    if(s.deep_link_read <=> l.deep_link, '', 'deep_link'),
    if(s.updated_at_read <=> l.updated_at, '', 'updated_at'),
    if(s._extra_read = l._extra, '', '_extra')]), []) AS fields, ifNull(toUnixTimestamp64Milli(l.updated_at), 0) AS was, ifNull(toUnixTimestamp64Milli(s.updated_at_read), 0) AS is
    FROM
    (
        SELECT id, 1 AS here, if(bitTest(_nulls, 0), NULL, reinterpret(start_date, 'DateTime64(3, ''UTC'')')) AS start_date_read,
    if(bitTest(_nulls, 1), NULL, reinterpret(end_date, 'DateTime64(3, ''UTC'')')) AS end_date_read,
    description AS description_read,
    if(bitTest(_nulls, 2), NULL, retailer_id) AS retailer_id_read,
    url AS url_read,
    retailer_name AS retailer_name_read,
    hostname AS hostname_read,
    retailer_logo AS retailer_logo_read,
    deep_link AS deep_link_read,
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')) AS updated_at_read,
    _extra AS _extra_read FROM (SELECT *
    FROM promotions_staging FINAL
    WHERE run_id = {run:UUID})
    ) AS s
    FULL JOIN
    (
        SELECT id, 1 AS here, _hash = reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(toUInt64(1 * isNull(start_date) + 2 * isNull(end_date) + 4 * isNull(retailer_id) + 8 * isNull(updated_at)), _extra, ifNull(reinterpret(start_date, 'Int64'), 0), ifNull(reinterpret(end_date, 'Int64'), 0), description, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), url, retailer_name, hostname, retailer_logo, deep_link, ifNull(reinterpret(updated_at, 'Int64'), 0))), 64), toUInt128(xxHash64(toUInt64(1 * isNull(start_date) + 2 * isNull(end_date) + 4 * isNull(retailer_id) + 8 * isNull(updated_at)), _extra, ifNull(reinterpret(start_date, 'Int64'), 0), ifNull(reinterpret(end_date, 'Int64'), 0), description, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), url, retailer_name, hostname, retailer_logo, deep_link, ifNull(reinterpret(updated_at, 'Int64'), 0)))), 'FixedString(16)') AS own, start_date,
    end_date,
    description,
    retailer_id,
    url,
    retailer_name,
    hostname,
    retailer_logo,
    deep_link,
    updated_at,
    _extra FROM promotions_latest FINAL WHERE account = {account:String} AND _deleted = 0
    ) AS l ON s.id = l.id
    WHERE s.here = 0 OR l.here = 0 AND (loaded_from = 0 OR ifNull(toUnixTimestamp64Milli(s.updated_at_read), 0) = 0 OR ifNull(toUnixTimestamp64Milli(s.updated_at_read), 0) >= loaded_from) OR l.here = 1 AND notEmpty(fields)
)
ORDER BY kind IN ('wrong', 'missing') DESC, kind, which
LIMIT 100;

-- selectDifferences, dated ahead
WITH (SELECT ifNull(maxIf(server_time, outcome = 'success'), toDateTime64(0, 3, 'UTC')) FROM sync_runs_log FINAL
    WHERE account = {account:String} AND stream = {stream:String} AND mode NOT IN ('backfill', 'retry', 'references', 'forget')) AS loaded,
    (SELECT toUnixTimestamp64Milli(parseDateTime64BestEffortOrZero(argMax(value, version), 3, 'UTC')) FROM sync_state_log
    WHERE account = {account:String} AND stream = {stream:String} AND name = 'loaded_from') AS loaded_from
SELECT which, kind, fields, was, is, countIf(kind IN ('wrong', 'missing')) OVER () AS faults, count() OVER () AS differences
FROM
(
    SELECT toString(if(s.here = 1, s.id, l.id)) AS which,
        multiIf(s.here = 0, 'gone', l.here = 0, if(ifNull(toUnixTimestamp64Milli(s.updated_at_read), 0) > toUnixTimestamp64Milli(loaded), 'new', 'missing'), l.own = 1 AND ifNull(toUnixTimestamp64Milli(s.updated_at_read), 0) > ifNull(toUnixTimestamp64Milli(l.updated_at), 0), 'changed', 'wrong') AS kind,
        if(s.here = 1 AND l.here = 1, arrayFilter(f -> f != '', [if(s.start_date_read <=> l.start_date, '', 'start_date'),
    if(s.end_date_read <=> l.end_date, '', 'end_date'),
    if(s.description_read <=> l.description, '', 'description'),
    if(s.retailer_id_read <=> l.retailer_id, '', 'retailer_id'),
    if(s.url_read <=> l.url, '', 'url'),
    if(s.retailer_name_read <=> l.retailer_name, '', 'retailer_name'),
    if(s.hostname_read <=> l.hostname, '', 'hostname'),
    if(s.retailer_logo_read <=> l.retailer_logo, '', 'retailer_logo'),
    if(s.deep_link_read <=> l.deep_link, '', 'deep_link'),
    if(s.updated_at_read <=> l.updated_at, '', 'updated_at'),
    if(s._extra_read = l._extra, '', '_extra')]), []) AS fields, ifNull(toUnixTimestamp64Milli(l.updated_at), 0) AS was, ifNull(toUnixTimestamp64Milli(s.updated_at_read), 0) AS is
    FROM
    (
        SELECT id, 1 AS here, if(bitTest(_nulls, 0), NULL, reinterpret(start_date, 'DateTime64(3, ''UTC'')')) AS start_date_read,
    if(bitTest(_nulls, 1), NULL, reinterpret(end_date, 'DateTime64(3, ''UTC'')')) AS end_date_read,
    description AS description_read,
    if(bitTest(_nulls, 2), NULL, retailer_id) AS retailer_id_read,
    url AS url_read,
    retailer_name AS retailer_name_read,
    hostname AS hostname_read,
    retailer_logo AS retailer_logo_read,
    deep_link AS deep_link_read,
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')) AS updated_at_read,
    _extra AS _extra_read FROM (SELECT *
    FROM promotions_staging
    WHERE run_id = {run:UUID}
    ORDER BY id, if(max(bitShiftRight(_version, 64) > {cap:UInt64} + 60000) OVER (PARTITION BY id), toUInt128(_fetched), _version) DESC, _version DESC, _hash
    LIMIT 1 BY id)
    ) AS s
    FULL JOIN
    (
        SELECT id, 1 AS here, _hash = reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(toUInt64(1 * isNull(start_date) + 2 * isNull(end_date) + 4 * isNull(retailer_id) + 8 * isNull(updated_at)), _extra, ifNull(reinterpret(start_date, 'Int64'), 0), ifNull(reinterpret(end_date, 'Int64'), 0), description, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), url, retailer_name, hostname, retailer_logo, deep_link, ifNull(reinterpret(updated_at, 'Int64'), 0))), 64), toUInt128(xxHash64(toUInt64(1 * isNull(start_date) + 2 * isNull(end_date) + 4 * isNull(retailer_id) + 8 * isNull(updated_at)), _extra, ifNull(reinterpret(start_date, 'Int64'), 0), ifNull(reinterpret(end_date, 'Int64'), 0), description, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), url, retailer_name, hostname, retailer_logo, deep_link, ifNull(reinterpret(updated_at, 'Int64'), 0)))), 'FixedString(16)') AS own, start_date,
    end_date,
    description,
    retailer_id,
    url,
    retailer_name,
    hostname,
    retailer_logo,
    deep_link,
    updated_at,
    _extra FROM promotions_latest FINAL WHERE account = {account:String} AND _deleted = 0
    ) AS l ON s.id = l.id
    WHERE s.here = 0 OR l.here = 0 AND (loaded_from = 0 OR ifNull(toUnixTimestamp64Milli(s.updated_at_read), 0) = 0 OR ifNull(toUnixTimestamp64Milli(s.updated_at_read), 0) >= loaded_from) OR l.here = 1 AND notEmpty(fields)
)
ORDER BY kind IN ('wrong', 'missing') DESC, kind, which
LIMIT 100;

-- countAbsence
INSERT INTO absent_rows_log (account, stream, key, lists, run_id, since, version)
SELECT {account:String}, {stream:String}, if(gone.key != '', gone.key, before.key), if(gone.key != '', before.lists + 1, 0), {run:UUID},
    if(before.lists = 0, now64(3), before.since), greatest(toUInt64(toUnixTimestamp64Micro(now64(6))), before.version + 1)
FROM (SELECT toString(id) AS key FROM promotions_changes_0000000000004000800000000000a11e WHERE change = 3) AS gone
FULL JOIN
(
    SELECT key, lists, run_id, since, version FROM absent_rows_log FINAL
    WHERE account = {account:String} AND stream = {stream:String}
) AS before ON gone.key = before.key
WHERE before.run_id != {run:UUID} AND (gone.key != '' OR before.lists > 0);

-- countUnconfirmed
SELECT count() FROM promotions_changes_0000000000004000800000000000a11e WHERE change = 3 AND toString(id) NOT IN (SELECT key FROM absent_rows_log FINAL WHERE account = 'acme' AND stream = 'promotions' AND lists >= 1);

-- deleteAllPlanned
ALTER TABLE promotions_changes_0000000000004000800000000000a11e DELETE WHERE change = 3;

-- selectClashes
SELECT count(), groupArray(5)(key) FROM
(
    SELECT toString(id) AS key FROM promotions_staging
    WHERE run_id = {run:UUID} AND id IN (SELECT id FROM promotions_staging WHERE run_id = {run:UUID} GROUP BY id HAVING count() > 1)
    GROUP BY id HAVING uniqExact(_fetched, _hash) > uniqExact(_fetched) OR uniqExact(updated_at, _hash) > uniqExact(updated_at)
    ORDER BY key
);

-- deletePlanned by absence
ALTER TABLE promotions_changes_0000000000004000800000000000a11e DELETE WHERE change = 3 AND toString(id) NOT IN (SELECT key FROM absent_rows_log FINAL WHERE account = 'acme' AND stream = 'promotions' AND lists >= 1);

-- deletePlanned by key
ALTER TABLE promotions_changes_0000000000004000800000000000a11e DELETE WHERE change = 3 AND toString(id) NOT IN ('', 'a', 'b');

-- countOutside
SELECT count() FROM promotions_changes_0000000000004000800000000000a11e WHERE change = 3 AND id IN (SELECT id FROM promotions_latest FINAL WHERE account = 'acme' AND NOT (has(['it\'s', 'other'], lower(hostname))));

-- selectPlannedDeletes in a scope
SELECT toString(id), ifNull(toUnixTimestamp64Milli(updated_at), 0), concat('', toString(hostname), '\0') FROM promotions_latest FINAL
WHERE account = {account:String} AND id IN (SELECT id FROM promotions_changes_0000000000004000800000000000a11e WHERE change = 3 AND id IN (SELECT id FROM promotions_changes_0000000000004000800000000000a11e WHERE change = 3 AND id NOT IN (SELECT id FROM promotions_latest FINAL WHERE account = 'acme' AND NOT (has(['it\'s', 'other'], lower(hostname)))) ORDER BY cityHash64(id, '00000000-0000-4000-8000-00000000a11e') LIMIT 5));

-- deletePlanned in a scope
ALTER TABLE promotions_changes_0000000000004000800000000000a11e DELETE WHERE change = 3 AND toString(id) NOT IN ('', 'a') AND id NOT IN (SELECT id FROM promotions_latest FINAL WHERE account = 'acme' AND NOT (has(['it\'s', 'other'], lower(hostname))));

-- createDelta
CREATE TABLE IF NOT EXISTS promotions_delta_0000000000004000800000000000a11e AS promotions_latest COMMENT 'What a run under way is about to publish';

-- insertDelta of the first load
INSERT INTO promotions_delta_0000000000004000800000000000a11e (account, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.id,
    if(bitTest(_nulls, 0), NULL, reinterpret(start_date, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 1), NULL, reinterpret(end_date, 'DateTime64(3, ''UTC'')')),
    description,
    if(bitTest(_nulls, 2), NULL, retailer_id),
    url,
    retailer_name,
    hostname,
    retailer_logo,
    deep_link,
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM promotions_staging
    WHERE run_id = {run:UUID}
) AS s;

-- insertDelta of the first load, keys staged twice
INSERT INTO promotions_delta_0000000000004000800000000000a11e (account, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.id,
    if(bitTest(_nulls, 0), NULL, reinterpret(start_date, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 1), NULL, reinterpret(end_date, 'DateTime64(3, ''UTC'')')),
    description,
    if(bitTest(_nulls, 2), NULL, retailer_id),
    url,
    retailer_name,
    hostname,
    retailer_logo,
    deep_link,
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM promotions_staging FINAL
    WHERE run_id = {run:UUID}
) AS s;

-- insertDelta of what changes
INSERT INTO promotions_delta_0000000000004000800000000000a11e (account, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.id,
    if(bitTest(_nulls, 0), NULL, reinterpret(start_date, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 1), NULL, reinterpret(end_date, 'DateTime64(3, ''UTC'')')),
    description,
    if(bitTest(_nulls, 2), NULL, retailer_id),
    url,
    retailer_name,
    hostname,
    retailer_logo,
    deep_link,
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM promotions_staging
    WHERE run_id = {run:UUID}
) AS s
INNER JOIN (SELECT id, version FROM promotions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.id = c.id;

-- insertDelta of what changes of many rows
INSERT INTO promotions_delta_0000000000004000800000000000a11e (account, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.id,
    if(bitTest(_nulls, 0), NULL, reinterpret(start_date, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 1), NULL, reinterpret(end_date, 'DateTime64(3, ''UTC'')')),
    description,
    if(bitTest(_nulls, 2), NULL, retailer_id),
    url,
    retailer_name,
    hostname,
    retailer_logo,
    deep_link,
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM promotions_staging
    WHERE run_id = {run:UUID} AND id IN (SELECT id FROM promotions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2))
) AS s
INNER JOIN (SELECT id, version FROM promotions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.id = c.id;

-- insertDelta of what changes, keys staged twice
INSERT INTO promotions_delta_0000000000004000800000000000a11e (account, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.id,
    if(bitTest(_nulls, 0), NULL, reinterpret(start_date, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 1), NULL, reinterpret(end_date, 'DateTime64(3, ''UTC'')')),
    description,
    if(bitTest(_nulls, 2), NULL, retailer_id),
    url,
    retailer_name,
    hostname,
    retailer_logo,
    deep_link,
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM promotions_staging FINAL
    WHERE run_id = {run:UUID}
) AS s
INNER JOIN (SELECT id, version FROM promotions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.id = c.id;

-- insertDelta of what changes, keys staged twice, some dated ahead
INSERT INTO promotions_delta_0000000000004000800000000000a11e (account, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.id,
    if(bitTest(_nulls, 0), NULL, reinterpret(start_date, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 1), NULL, reinterpret(end_date, 'DateTime64(3, ''UTC'')')),
    description,
    if(bitTest(_nulls, 2), NULL, retailer_id),
    url,
    retailer_name,
    hostname,
    retailer_logo,
    deep_link,
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM promotions_staging
    WHERE run_id = {run:UUID}
    ORDER BY id, if(max(bitShiftRight(_version, 64) > {cap:UInt64} + 60000) OVER (PARTITION BY id), toUInt128(_fetched), _version) DESC, _version DESC, _hash
    LIMIT 1 BY id
) AS s
INNER JOIN (SELECT id, version FROM promotions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.id = c.id;

-- insertDelta of the first load, keys staged twice, some dated ahead
INSERT INTO promotions_delta_0000000000004000800000000000a11e (account, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.id,
    if(bitTest(_nulls, 0), NULL, reinterpret(start_date, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 1), NULL, reinterpret(end_date, 'DateTime64(3, ''UTC'')')),
    description,
    if(bitTest(_nulls, 2), NULL, retailer_id),
    url,
    retailer_name,
    hostname,
    retailer_logo,
    deep_link,
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, least(s._version, bitOr(bitShiftLeft(toUInt128({cap:UInt64}), 64), bitAnd(s._version, toUInt128(18446744073709551615)))), 0, {run:UUID}
FROM
(
    SELECT *, _version
    FROM promotions_staging
    WHERE run_id = {run:UUID}
    ORDER BY id, if(max(bitShiftRight(_version, 64) > {cap:UInt64} + 60000) OVER (PARTITION BY id), toUInt128(_fetched), _version) DESC, _version DESC, _hash
    LIMIT 1 BY id
) AS s;

-- insertDelta of rows that no list has
INSERT INTO promotions_delta_0000000000004000800000000000a11e (account, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, s.id,
    if(bitTest(_nulls, 0), NULL, reinterpret(start_date, 'DateTime64(3, ''UTC'')')),
    if(bitTest(_nulls, 1), NULL, reinterpret(end_date, 'DateTime64(3, ''UTC'')')),
    description,
    if(bitTest(_nulls, 2), NULL, retailer_id),
    url,
    retailer_name,
    hostname,
    retailer_logo,
    deep_link,
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')),
    _extra,
    fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 1, {run:UUID}
FROM
(
    SELECT *, _version
    FROM promotions_staging
    WHERE run_id = {run:UUID}
) AS s
INNER JOIN (SELECT id, version FROM promotions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.id = c.id;

-- insertTombstones
INSERT INTO promotions_delta_0000000000004000800000000000a11e (account, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 1, {run:UUID}
FROM
(
    SELECT id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, _hash
    FROM promotions_latest FINAL
    WHERE account = {account:String} AND id IN (SELECT id FROM promotions_changes_0000000000004000800000000000a11e WHERE change = 3)
) AS l
INNER JOIN (SELECT id, version FROM promotions_changes_0000000000004000800000000000a11e WHERE change = 3) AS c ON l.id = c.id;

-- mergeParts
OPTIMIZE TABLE promotions_delta_0000000000004000800000000000a11e FINAL;

-- attachDelta promotions_delta_0000000000004000800000000000a11e to promotions_latest
ALTER TABLE promotions_latest ATTACH PARTITION tuple() FROM promotions_delta_0000000000004000800000000000a11e;

-- countOfRun in promotions_latest
SELECT count() FROM promotions_latest WHERE account = {account:String} AND _run_id = {run:UUID};

-- attachDelta promotions_delta_0000000000004000800000000000a11e to promotions_versions
ALTER TABLE promotions_versions ATTACH PARTITION tuple() FROM promotions_delta_0000000000004000800000000000a11e;

-- countOfRun in promotions_versions
SELECT count() FROM promotions_versions WHERE account = {account:String} AND _run_id = {run:UUID};

-- selectParts
SELECT table, hash_of_all_files, rows FROM system.parts
WHERE active AND database IN (currentDatabase(), currentDatabase()) AND table IN ({tables:Array(String)})
UNION ALL
SELECT name, '', 0 FROM system.tables WHERE database = currentDatabase() AND name IN ({deltas:Array(String)});

-- countKeys
SELECT 'promotions_latest' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, id) AS this, lagInFrame(this) OVER (ORDER BY account, id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM promotions_delta_0000000000004000800000000000a11e);

-- countFewKeys
SELECT table, count() AS rows, uniqExact(key) AS keys, toUInt64(uniqExact(part) - uniqExact(partition) + 1) AS parts
FROM
(
SELECT 'promotions_latest' AS table, toString(tuple(account, id)) AS key, _part AS part, _partition_id AS partition FROM promotions_delta_0000000000004000800000000000a11e
)
GROUP BY table;

-- dropDelta of what is prepared
DROP TABLE IF EXISTS promotions_delta_0000000000004000800000000000a11e;

-- dropTable of what is prepared
DROP TABLE IF EXISTS promotions_delta_0000000000004000800000000000a11e SYNC;

-- dropTable promotions_changes_0000000000004000800000000000a11e
DROP TABLE IF EXISTS promotions_changes_0000000000004000800000000000a11e SYNC;

-- dropTable promotions_delta_0000000000004000800000000000a11e
DROP TABLE IF EXISTS promotions_delta_0000000000004000800000000000a11e SYNC;

-- dropStaged promotions_staging
ALTER TABLE promotions_staging DROP PARTITION '00000000-0000-4000-8000-00000000a11e';

-- selectCandidates, filtered: false
SELECT r.run_id, r.page, r.key, r.field, r.reason, r.raw, r.read, r.updated, r.hash, l.record, l.read,
    l.record != '' AND (l.run = r.run_id AND l.read = r.read OR l.read < r.read AND l.updated = r.updated OR u.whole AND l.run != r.run_id AND l.read < u.began)
FROM
(
    SELECT run_id, page, key, field, reason, raw, toUnixTimestamp64Micro(read_at) AS read,
        ifNull(toUnixTimestamp64Milli(record_updated_at), 0) AS updated, sipHash128(raw) AS hash
    FROM rejected_records
    WHERE state = 'open' AND account = {account:String} AND stream = {stream:String}
        AND run_id NOT IN (SELECT run_id FROM sync_runs_log WHERE account = {account:String} AND stream = {stream:String} AND mode = 'references')
) AS r
LEFT JOIN
(
    SELECT toString(id) AS key, if(_extra = '', toJSONString(CAST(tuple(id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at), 'Tuple(`id` UUID, `startDate` Nullable(DateTime64(3, \'UTC\')), `endDate` Nullable(DateTime64(3, \'UTC\')), `description` String, `retailerId` Nullable(UUID), `url` String, `name` LowCardinality(String), `hostname` LowCardinality(String), `logo` String, `deepLink` String, `updatedAt` Nullable(DateTime64(3, \'UTC\')))')), concat(substring(toJSONString(CAST(tuple(id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at), 'Tuple(`id` UUID, `startDate` Nullable(DateTime64(3, \'UTC\')), `endDate` Nullable(DateTime64(3, \'UTC\')), `description` String, `retailerId` Nullable(UUID), `url` String, `name` LowCardinality(String), `hostname` LowCardinality(String), `logo` String, `deepLink` String, `updatedAt` Nullable(DateTime64(3, \'UTC\')))')), 1, length(toJSONString(CAST(tuple(id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at), 'Tuple(`id` UUID, `startDate` Nullable(DateTime64(3, \'UTC\')), `endDate` Nullable(DateTime64(3, \'UTC\')), `description` String, `retailerId` Nullable(UUID), `url` String, `name` LowCardinality(String), `hostname` LowCardinality(String), `logo` String, `deepLink` String, `updatedAt` Nullable(DateTime64(3, \'UTC\')))'))) - 1), ',', substring(_extra, 2))) AS record, _run_id AS run, toInt64(bitAnd(_version, toUInt128(18446744073709551615))) AS read, ifNull(toUnixTimestamp64Milli(updated_at), 0) AS updated
    FROM promotions_latest FINAL
    WHERE account = {account:String} AND _deleted = 0 AND id IN (SELECT toUUIDOrZero(key) FROM (SELECT key FROM rejected_records
    WHERE state = 'open' AND account = {account:String} AND stream = {stream:String}
        AND run_id NOT IN (SELECT run_id FROM sync_runs_log WHERE account = {account:String} AND stream = {stream:String} AND mode = 'references') AND field != '' AND ({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String})
    AND ({run:UUID} = '00000000-0000-0000-0000-000000000000' OR run_id = {run:UUID} OR last_run_id = {run:UUID})
    AND ({reason:String} = '' OR reason = {reason:String}) AND ({field:String} = '' OR field = {field:String})
    AND (toUnixTimestamp64Micro(read_at) >= {since:Int64} OR toUnixTimestamp64Milli(seen_at) * 1000 >= {since:Int64})))
) AS l ON l.key = r.key AND r.field != ''
LEFT JOIN
(
    SELECT run_id, mode IN ('snapshot', 'walk', 'full') AS whole, toUnixTimestamp64Micro(toDateTime64(started_at, 6, 'UTC')) AS began FROM sync_runs_log FINAL
) AS u ON u.run_id = r.run_id
ORDER BY r.field != '', r.key, r.read, r.run_id, r.page, r.field
SETTINGS join_use_nulls = 0;

-- selectCandidates, filtered: true
SELECT r.run_id, r.page, r.key, r.field, r.reason, r.raw, r.read, r.updated, r.hash, l.record, l.read,
    l.record != '' AND (l.run = r.run_id AND l.read = r.read OR l.read < r.read AND l.updated = r.updated OR u.whole AND l.run != r.run_id AND l.read < u.began)
FROM
(
    SELECT run_id, page, key, field, reason, raw, toUnixTimestamp64Micro(read_at) AS read,
        ifNull(toUnixTimestamp64Milli(record_updated_at), 0) AS updated, sipHash128(raw) AS hash
    FROM rejected_records
    WHERE state = 'open' AND account = {account:String} AND stream = {stream:String}
        AND run_id NOT IN (SELECT run_id FROM sync_runs_log WHERE account = {account:String} AND stream = {stream:String} AND mode = 'references') AND (field = '' AND ({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String})
    AND ({run:UUID} = '00000000-0000-0000-0000-000000000000' OR run_id = {run:UUID} OR last_run_id = {run:UUID})
    AND ({reason:String} = '' OR reason = {reason:String}) AND ({field:String} = '' OR field = {field:String})
    AND (toUnixTimestamp64Micro(read_at) >= {since:Int64} OR toUnixTimestamp64Milli(seen_at) * 1000 >= {since:Int64}) OR field != '' AND key IN (SELECT key FROM rejected_records
    WHERE state = 'open' AND account = {account:String} AND stream = {stream:String}
        AND run_id NOT IN (SELECT run_id FROM sync_runs_log WHERE account = {account:String} AND stream = {stream:String} AND mode = 'references') AND field != '' AND ({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String})
    AND ({run:UUID} = '00000000-0000-0000-0000-000000000000' OR run_id = {run:UUID} OR last_run_id = {run:UUID})
    AND ({reason:String} = '' OR reason = {reason:String}) AND ({field:String} = '' OR field = {field:String})
    AND (toUnixTimestamp64Micro(read_at) >= {since:Int64} OR toUnixTimestamp64Milli(seen_at) * 1000 >= {since:Int64})))
) AS r
LEFT JOIN
(
    SELECT toString(id) AS key, if(_extra = '', toJSONString(CAST(tuple(id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at), 'Tuple(`id` UUID, `startDate` Nullable(DateTime64(3, \'UTC\')), `endDate` Nullable(DateTime64(3, \'UTC\')), `description` String, `retailerId` Nullable(UUID), `url` String, `name` LowCardinality(String), `hostname` LowCardinality(String), `logo` String, `deepLink` String, `updatedAt` Nullable(DateTime64(3, \'UTC\')))')), concat(substring(toJSONString(CAST(tuple(id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at), 'Tuple(`id` UUID, `startDate` Nullable(DateTime64(3, \'UTC\')), `endDate` Nullable(DateTime64(3, \'UTC\')), `description` String, `retailerId` Nullable(UUID), `url` String, `name` LowCardinality(String), `hostname` LowCardinality(String), `logo` String, `deepLink` String, `updatedAt` Nullable(DateTime64(3, \'UTC\')))')), 1, length(toJSONString(CAST(tuple(id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at), 'Tuple(`id` UUID, `startDate` Nullable(DateTime64(3, \'UTC\')), `endDate` Nullable(DateTime64(3, \'UTC\')), `description` String, `retailerId` Nullable(UUID), `url` String, `name` LowCardinality(String), `hostname` LowCardinality(String), `logo` String, `deepLink` String, `updatedAt` Nullable(DateTime64(3, \'UTC\')))'))) - 1), ',', substring(_extra, 2))) AS record, _run_id AS run, toInt64(bitAnd(_version, toUInt128(18446744073709551615))) AS read, ifNull(toUnixTimestamp64Milli(updated_at), 0) AS updated
    FROM promotions_latest FINAL
    WHERE account = {account:String} AND _deleted = 0 AND id IN (SELECT toUUIDOrZero(key) FROM (SELECT key FROM rejected_records
    WHERE state = 'open' AND account = {account:String} AND stream = {stream:String}
        AND run_id NOT IN (SELECT run_id FROM sync_runs_log WHERE account = {account:String} AND stream = {stream:String} AND mode = 'references') AND field != '' AND ({account:String} = '' OR account = {account:String}) AND ({stream:String} = '' OR stream = {stream:String})
    AND ({run:UUID} = '00000000-0000-0000-0000-000000000000' OR run_id = {run:UUID} OR last_run_id = {run:UUID})
    AND ({reason:String} = '' OR reason = {reason:String}) AND ({field:String} = '' OR field = {field:String})
    AND (toUnixTimestamp64Micro(read_at) >= {since:Int64} OR toUnixTimestamp64Milli(seen_at) * 1000 >= {since:Int64})))
) AS l ON l.key = r.key AND r.field != ''
LEFT JOIN
(
    SELECT run_id, mode IN ('snapshot', 'walk', 'full') AS whole, toUnixTimestamp64Micro(toDateTime64(started_at, 6, 'UTC')) AS began FROM sync_runs_log FINAL
) AS u ON u.run_id = r.run_id
ORDER BY r.field != '', r.key, r.read, r.run_id, r.page, r.field
SETTINGS join_use_nulls = 0;

-- deleteCleared, what they were
ALTER TABLE sync_state_log DELETE WHERE account = 'acme' AND stream = 'promotions' AND name IN ('', 'a', 'b') AND value != '';

-- deleteCleared, that they were cleared
ALTER TABLE sync_state_log DELETE WHERE account = 'acme' AND stream = 'promotions' AND name IN ('', 'a', 'b') AND value = '';

-- inspectDelta, with earlier versions: false
SELECT groupArrayIf(20)(toString(id), _deleted = 0),
    toUInt64(0),
    sumIf(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8))), _deleted = 0),
    (SELECT sumIf(now, change IN (1, 2)) FROM promotions_changes_0000000000004000800000000000a11e),
    (SELECT sumIf(was, change IN (1, 2) OR change = 3) FROM promotions_changes_0000000000004000800000000000a11e),
    countIf(_deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(start_date) + 2 * isNull(end_date) + 4 * isNull(retailer_id) + 8 * isNull(updated_at)), _extra, ifNull(reinterpret(start_date, 'Int64'), 0), ifNull(reinterpret(end_date, 'Int64'), 0), description, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), url, retailer_name, hostname, retailer_logo, deep_link, ifNull(reinterpret(updated_at, 'Int64'), 0))),
    anyIf(toString(id), _deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(start_date) + 2 * isNull(end_date) + 4 * isNull(retailer_id) + 8 * isNull(updated_at)), _extra, ifNull(reinterpret(start_date, 'Int64'), 0), ifNull(reinterpret(end_date, 'Int64'), 0), description, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), url, retailer_name, hostname, retailer_logo, deep_link, ifNull(reinterpret(updated_at, 'Int64'), 0))),
    countIf(_deleted = 0 AND ifNull(updated_at > now64(3, 'UTC') + toIntervalSecond(3600), false)),
    anyIf(toString(id), _deleted = 0 AND ifNull(updated_at > now64(3, 'UTC') + toIntervalSecond(3600), false))
FROM promotions_delta_0000000000004000800000000000a11e;

-- inspectDelta, with earlier versions: true
SELECT groupArrayIf(20)(toString(id), _deleted = 0),
    toUInt64(0),
    sumIf(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8))), _deleted = 0),
    (SELECT sumIf(now, change IN (1, 2)) FROM promotions_changes_0000000000004000800000000000a11e),
    (SELECT sumIf(was, change IN (1, 2) OR change = 3) FROM promotions_changes_0000000000004000800000000000a11e),
    countIf(_deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(start_date) + 2 * isNull(end_date) + 4 * isNull(retailer_id) + 8 * isNull(updated_at)), _extra, ifNull(reinterpret(start_date, 'Int64'), 0), ifNull(reinterpret(end_date, 'Int64'), 0), description, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), url, retailer_name, hostname, retailer_logo, deep_link, ifNull(reinterpret(updated_at, 'Int64'), 0))),
    anyIf(toString(id), _deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(start_date) + 2 * isNull(end_date) + 4 * isNull(retailer_id) + 8 * isNull(updated_at)), _extra, ifNull(reinterpret(start_date, 'Int64'), 0), ifNull(reinterpret(end_date, 'Int64'), 0), description, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), url, retailer_name, hostname, retailer_logo, deep_link, ifNull(reinterpret(updated_at, 'Int64'), 0))),
    countIf(_deleted = 0 AND ifNull(updated_at > fromUnixTimestamp64Milli({server:Int64}, 'UTC') + toIntervalSecond(3600), false)),
    anyIf(toString(id), _deleted = 0 AND ifNull(updated_at > fromUnixTimestamp64Milli({server:Int64}, 'UTC') + toIntervalSecond(3600), false))
FROM promotions_delta_0000000000004000800000000000a11e;

-- inspectDelta, of a large first load
SELECT groupArrayIf(20)(toString(id), _deleted = 0),
    toUInt64(0),
    sumIf(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8))), _deleted = 0),
    (SELECT sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))) FROM (SELECT *, _version
    FROM promotions_staging FINAL
    WHERE run_id = {run:UUID}) AS s),
    toUInt64(0),
    countIf(_deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(start_date) + 2 * isNull(end_date) + 4 * isNull(retailer_id) + 8 * isNull(updated_at)), _extra, ifNull(reinterpret(start_date, 'Int64'), 0), ifNull(reinterpret(end_date, 'Int64'), 0), description, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), url, retailer_name, hostname, retailer_logo, deep_link, ifNull(reinterpret(updated_at, 'Int64'), 0))),
    anyIf(toString(id), _deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(start_date) + 2 * isNull(end_date) + 4 * isNull(retailer_id) + 8 * isNull(updated_at)), _extra, ifNull(reinterpret(start_date, 'Int64'), 0), ifNull(reinterpret(end_date, 'Int64'), 0), description, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), url, retailer_name, hostname, retailer_logo, deep_link, ifNull(reinterpret(updated_at, 'Int64'), 0))),
    countIf(_deleted = 0 AND ifNull(updated_at > fromUnixTimestamp64Milli({server:Int64}, 'UTC') + toIntervalSecond(3600), false)),
    anyIf(toString(id), _deleted = 0 AND ifNull(updated_at > fromUnixTimestamp64Milli({server:Int64}, 'UTC') + toIntervalSecond(3600), false))
FROM promotions_delta_0000000000004000800000000000a11e;

-- selectLiveSum
SELECT count(), sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))) FROM promotions_latest FINAL WHERE account = {account:String} AND _deleted = 0;

-- expected, of a large first load
(SELECT sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))) FROM (SELECT *, _version
    FROM promotions_staging FINAL
    WHERE run_id = {run:UUID}) AS s);

-- removed
(SELECT sumIf(was, change IN (1, 2) OR change = 3) FROM promotions_changes_0000000000004000800000000000a11e);

-- selectWritten
SELECT _run_id, count(), sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))), min(synced_at)
FROM (SELECT DISTINCT id, _version, _hash, _run_id, synced_at FROM promotions_versions WHERE account = {account:String} AND _deleted = 0)
GROUP BY _run_id;

-- selectAltered
SELECT toString(id), toString(_run_id) FROM promotions_latest WHERE account = {account:String} AND _deleted != 2 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(start_date) + 2 * isNull(end_date) + 4 * isNull(retailer_id) + 8 * isNull(updated_at)), _extra, ifNull(reinterpret(start_date, 'Int64'), 0), ifNull(reinterpret(end_date, 'Int64'), 0), description, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), url, retailer_name, hostname, retailer_logo, deep_link, ifNull(reinterpret(updated_at, 'Int64'), 0)) LIMIT 100;
