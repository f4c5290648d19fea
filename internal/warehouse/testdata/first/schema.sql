-- The tables and views that the first version with a command line made, and in rows.sql what it loaded: two syncs
-- of a small simulated service.
CREATE TABLE IF NOT EXISTS schema_migrations_log
(
    version UInt32 COMMENT 'Number of the file in schema/; 0 stands for the tables and views of the streams',
    name String COMMENT 'Name of the file',
    checksum String COMMENT 'SHA-256 of what was applied',
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'By the clock of the warehouse'
)
ENGINE = ReplacingMergeTree(applied_at)
ORDER BY version
COMMENT 'The storage behind schema_migrations';

CREATE OR REPLACE VIEW schema_migrations
(
    version UInt32 COMMENT 'Number of the file in schema/; 0 stands for the tables and views of the streams',
    name String COMMENT 'Name of the file',
    checksum String COMMENT 'SHA-256 of what was applied',
    applied_at DateTime64(3, 'UTC') COMMENT 'By the clock of the warehouse'
)
AS SELECT version, name, checksum, applied_at FROM schema_migrations_log FINAL
COMMENT 'What has been applied to this database';

CREATE TABLE IF NOT EXISTS sync_state_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    name LowCardinality(String) COMMENT 'watermark, checkpoint, intent or lease',
    value String COMMENT 'The state itself: a timestamp for a watermark, JSON for the others; empty when it is cleared',
    version UInt64 COMMENT 'The highest wins: for a watermark the watermark itself, so that it can never move back',
    updated_at DateTime64(6, 'UTC') DEFAULT now64(6) COMMENT 'When it was written, by the clock of the warehouse'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (account, stream, name)
COMMENT 'Watermarks, checkpoints, merge intents and leases: the storage behind sync_state';

CREATE OR REPLACE VIEW sync_state
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    name LowCardinality(String) COMMENT 'watermark, checkpoint, intent or lease',
    value String COMMENT 'The state itself: a timestamp for a watermark, JSON for the others',
    updated_at DateTime64(6, 'UTC') COMMENT 'When it was written, by the clock of the warehouse'
)
AS SELECT account, stream, name, value, updated_at FROM sync_state_log FINAL WHERE value != ''
COMMENT 'Where each stream stands: watermarks, checkpoints, merge intents and leases';

CREATE TABLE IF NOT EXISTS sync_runs_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    run_id UUID COMMENT 'Identifies the run, also in rejected_records',
    mode LowCardinality(String) COMMENT 'snapshot, walk, incremental or full',
    started_at DateTime64(3, 'UTC') COMMENT 'By the clock of the warehouse',
    finished_at Nullable(DateTime64(3, 'UTC')) COMMENT 'By the clock of the warehouse; NULL while the run is under way',
    outcome LowCardinality(String) COMMENT 'running, success, failed, guarded (a person must look), killed or dry_run',
    requested_after Nullable(DateTime64(3, 'UTC')) COMMENT 'The updatedAt after which rows were asked for; NULL: all',
    watermark Nullable(DateTime64(3, 'UTC')) COMMENT 'The watermark after the run; NULL for streams without one',
    pages UInt64 COMMENT 'Pages read',
    rows_read UInt64 COMMENT 'Records read, loaded or rejected',
    inserted UInt64 COMMENT 'Rows that were not there, or were deleted, before',
    updated UInt64 COMMENT 'Rows whose content changed',
    deleted UInt64 COMMENT 'Rows that a complete snapshot no longer had',
    unchanged UInt64 COMMENT 'Rows read that were already there with the same content',
    rejected UInt64 COMMENT 'Entries made in rejected_records',
    duplicates UInt64 COMMENT 'Records whose key came more than once in the run; the newest counted',
    bytes UInt64 COMMENT 'JSON read, in bytes, after decompression',
    retries UInt64 COMMENT 'Requests that had to be repeated',
    warnings Array(String) COMMENT 'What the run noticed and carried on with',
    error String COMMENT 'Why the run failed; empty otherwise',
    version UInt64 COMMENT 'The highest wins'
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (account, stream, run_id)
COMMENT 'The storage behind sync_runs';

CREATE OR REPLACE VIEW sync_runs
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    run_id UUID COMMENT 'Identifies the run, also in rejected_records',
    mode LowCardinality(String) COMMENT 'snapshot, walk, incremental or full',
    started_at DateTime64(3, 'UTC') COMMENT 'By the clock of the warehouse',
    finished_at Nullable(DateTime64(3, 'UTC')) COMMENT 'By the clock of the warehouse; NULL while the run is under way',
    outcome LowCardinality(String) COMMENT 'running, success, failed, guarded (a person must look), killed or dry_run',
    requested_after Nullable(DateTime64(3, 'UTC')) COMMENT 'The updatedAt after which rows were asked for; NULL: all',
    watermark Nullable(DateTime64(3, 'UTC')) COMMENT 'The watermark after the run; NULL for streams without one',
    pages UInt64 COMMENT 'Pages read',
    rows_read UInt64 COMMENT 'Records read, loaded or rejected',
    inserted UInt64 COMMENT 'Rows that were not there, or were deleted, before',
    updated UInt64 COMMENT 'Rows whose content changed',
    deleted UInt64 COMMENT 'Rows that a complete snapshot no longer had',
    unchanged UInt64 COMMENT 'Rows read that were already there with the same content',
    rejected UInt64 COMMENT 'Entries made in rejected_records',
    duplicates UInt64 COMMENT 'Records whose key came more than once in the run; the newest counted',
    bytes UInt64 COMMENT 'JSON read, in bytes, after decompression',
    retries UInt64 COMMENT 'Requests that had to be repeated',
    warnings Array(String) COMMENT 'What the run noticed and carried on with',
    error String COMMENT 'Why the run failed; empty otherwise'
)
AS SELECT * EXCEPT version FROM sync_runs_log FINAL
COMMENT 'One row a run of a stream';

CREATE TABLE IF NOT EXISTS rejected_records_log
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    run_id UUID COMMENT 'The run that read it',
    page UInt32 COMMENT 'Page of the run, from 1',
    key String COMMENT 'Key of the record; empty when it has none',
    field String COMMENT 'JSON name of the field; empty for a whole record',
    reason LowCardinality(String) COMMENT 'Why it could not be loaded as it was sent',
    raw String COMMENT 'JSON of the value or the record, verbatim',
    seen_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When it was written, by the clock of the warehouse'
)
ENGINE = ReplacingMergeTree
ORDER BY (account, stream, run_id, page, key, field, reason, sipHash64(raw))
COMMENT 'The storage behind rejected_records';

CREATE OR REPLACE VIEW rejected_records
(
    account LowCardinality(String) COMMENT 'Account of the configuration',
    stream LowCardinality(String) COMMENT 'Stream',
    run_id UUID COMMENT 'The run that read it',
    page UInt32 COMMENT 'Page of the run, from 1',
    key String COMMENT 'Key of the record; empty when it has none',
    field String COMMENT 'JSON name of the field; empty for a whole record',
    reason LowCardinality(String) COMMENT 'Why it could not be loaded as it was sent',
    raw String COMMENT 'JSON of the value or the record, verbatim',
    seen_at DateTime64(3, 'UTC') COMMENT 'When it was written, by the clock of the warehouse'
)
AS SELECT account, stream, run_id, page, key, field, reason, raw, seen_at FROM rejected_records_log FINAL
COMMENT 'What could not be loaded as it was sent: nothing is dropped';

CREATE TABLE IF NOT EXISTS promotions_latest
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Promotion identifier',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion becomes active, UTC',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion expires, UTC',
    description String COMMENT 'Description of the promotion',
    retailer_id Nullable(UUID) COMMENT 'Retailer the promotion belongs to; NULL when the service sent none or no UUID',
    url String COMMENT 'URL of the retailer\'s website where the promotion can be used',
    retailer_name LowCardinality(String) COMMENT 'Retailer name (JSON: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website',
    retailer_logo String COMMENT 'Retailer logo URL (JSON: logo)',
    deep_link String COMMENT 'Deep link for the promotion',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream, UTC',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when a complete snapshot no longer had the row',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, id)
COMMENT 'Storage behind the view promotions';

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
    _hash FixedString(16) MATERIALIZED sipHash128(_nulls, _extra, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at)
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, id)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

CREATE TABLE IF NOT EXISTS promotions_versions
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Promotion identifier',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion becomes active, UTC',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion expires, UTC',
    description String COMMENT 'Description of the promotion',
    retailer_id Nullable(UUID) COMMENT 'Retailer the promotion belongs to; NULL when the service sent none or no UUID',
    url String COMMENT 'URL of the retailer\'s website where the promotion can be used',
    retailer_name LowCardinality(String) COMMENT 'Retailer name (JSON: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website',
    retailer_logo String COMMENT 'Retailer logo URL (JSON: logo)',
    deep_link String COMMENT 'Deep link for the promotion',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream, UTC',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when a complete snapshot no longer had the row',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = MergeTree
ORDER BY (account, id)
COMMENT 'Storage behind the view promotions_history';

CREATE TABLE IF NOT EXISTS coupons_latest
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Coupon identifier',
    code String COMMENT 'The coupon code value',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon becomes active, UTC',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon expires, UTC',
    description String COMMENT 'Description of the coupon',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the coupon; NULL when the service sent none or no UUID',
    url String COMMENT 'URL of the retailer\'s website where the coupon can be used',
    retailer_name LowCardinality(String) COMMENT 'Retailer name (JSON: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream, UTC',
    retailer_logo String COMMENT 'Retailer logo URL (JSON: logo)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when a complete snapshot no longer had the row',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, id)
COMMENT 'Storage behind the view coupons';

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
    _hash FixedString(16) MATERIALIZED sipHash128(_nulls, _extra, code, start_date, end_date, description, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo)
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, id)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

CREATE TABLE IF NOT EXISTS coupons_versions
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Coupon identifier',
    code String COMMENT 'The coupon code value',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon becomes active, UTC',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon expires, UTC',
    description String COMMENT 'Description of the coupon',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the coupon; NULL when the service sent none or no UUID',
    url String COMMENT 'URL of the retailer\'s website where the coupon can be used',
    retailer_name LowCardinality(String) COMMENT 'Retailer name (JSON: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream, UTC',
    retailer_logo String COMMENT 'Retailer logo URL (JSON: logo)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when a complete snapshot no longer had the row',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = MergeTree
ORDER BY (account, id)
COMMENT 'Storage behind the view coupons_history';

CREATE TABLE IF NOT EXISTS cashback_offers_latest
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Offer identifier',
    featured Nullable(Bool) COMMENT 'Whether the service features the offer as an outstanding deal',
    countries Array(LowCardinality(String)) COMMENT 'Countries where the offer is available, ISO 3166-1 alpha-2',
    maximum_fixed_commission_fee Nullable(Decimal(18, 4)) COMMENT 'Fixed cashback amount; NULL when the retailer offers a percentage instead',
    description String COMMENT 'Description of the fixed cashback offer',
    category LowCardinality(String) COMMENT 'Category of the offer',
    terms_and_exclusions String COMMENT 'Terms and exclusions',
    cashback_percentage Nullable(Decimal(18, 9)) COMMENT 'Cashback as a fraction: 0.05 is 5 %',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the offer; NULL when the service sent none or no UUID',
    url String COMMENT 'Retailer website URL',
    retailer_name LowCardinality(String) COMMENT 'Retailer name (JSON: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream, UTC',
    retailer_logo String COMMENT 'Retailer logo URL (JSON: logo)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when a complete snapshot no longer had the row',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, id)
COMMENT 'Storage behind the view cashback_offers';

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
    _hash FixedString(16) MATERIALIZED sipHash128(_nulls, _extra, featured, countries, maximum_fixed_commission_fee, description, category, terms_and_exclusions, cashback_percentage, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo)
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, id)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

CREATE TABLE IF NOT EXISTS cashback_offers_versions
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Offer identifier',
    featured Nullable(Bool) COMMENT 'Whether the service features the offer as an outstanding deal',
    countries Array(LowCardinality(String)) COMMENT 'Countries where the offer is available, ISO 3166-1 alpha-2',
    maximum_fixed_commission_fee Nullable(Decimal(18, 4)) COMMENT 'Fixed cashback amount; NULL when the retailer offers a percentage instead',
    description String COMMENT 'Description of the fixed cashback offer',
    category LowCardinality(String) COMMENT 'Category of the offer',
    terms_and_exclusions String COMMENT 'Terms and exclusions',
    cashback_percentage Nullable(Decimal(18, 9)) COMMENT 'Cashback as a fraction: 0.05 is 5 %',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the offer; NULL when the service sent none or no UUID',
    url String COMMENT 'Retailer website URL',
    retailer_name LowCardinality(String) COMMENT 'Retailer name (JSON: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream, UTC',
    retailer_logo String COMMENT 'Retailer logo URL (JSON: logo)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when a complete snapshot no longer had the row',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = MergeTree
ORDER BY (account, id)
COMMENT 'Storage behind the view cashback_offers_history';

CREATE TABLE IF NOT EXISTS transactions_latest
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier',
    country LowCardinality(String) COMMENT 'Country code',
    activated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Activation time, UTC',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time, UTC',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale, UTC',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream, UTC',
    currency_code LowCardinality(String) COMMENT 'Currency of order_value and cashback',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Value of the order, in currency_code',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback amount, in currency_code',
    status LowCardinality(String) COMMENT 'PENDING, CONFIRMED or DECLINED; the service may add values',
    passback_uid String COMMENT 'Caller\'s own user identifier, as passed back',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction; NULL when the service sent none or no UUID',
    retailer_name LowCardinality(String) COMMENT 'Retailer name',
    retailer_logo String COMMENT 'Retailer logo URL',
    payout_id Nullable(Int64) COMMENT 'Payout that includes the transaction; NULL while in none',
    passback_data String COMMENT 'Caller\'s own data, as passed back',
    cashback_offer_id Nullable(UUID) COMMENT 'Cashback offer behind the transaction; NULL when there is none',
    coupon_id Nullable(UUID) COMMENT 'Coupon behind the transaction; NULL when there is none',
    promotion_id Nullable(UUID) COMMENT 'Promotion behind the transaction; NULL when there is none',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when a complete snapshot no longer had the row',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, id)
COMMENT 'Storage behind the view transactions';

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
    _hash FixedString(16) MATERIALIZED sipHash128(_nulls, _extra, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id)
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, id)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

CREATE TABLE IF NOT EXISTS transactions_versions
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier',
    country LowCardinality(String) COMMENT 'Country code',
    activated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Activation time, UTC',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time, UTC',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale, UTC',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream, UTC',
    currency_code LowCardinality(String) COMMENT 'Currency of order_value and cashback',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Value of the order, in currency_code',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback amount, in currency_code',
    status LowCardinality(String) COMMENT 'PENDING, CONFIRMED or DECLINED; the service may add values',
    passback_uid String COMMENT 'Caller\'s own user identifier, as passed back',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction; NULL when the service sent none or no UUID',
    retailer_name LowCardinality(String) COMMENT 'Retailer name',
    retailer_logo String COMMENT 'Retailer logo URL',
    payout_id Nullable(Int64) COMMENT 'Payout that includes the transaction; NULL while in none',
    passback_data String COMMENT 'Caller\'s own data, as passed back',
    cashback_offer_id Nullable(UUID) COMMENT 'Cashback offer behind the transaction; NULL when there is none',
    coupon_id Nullable(UUID) COMMENT 'Coupon behind the transaction; NULL when there is none',
    promotion_id Nullable(UUID) COMMENT 'Promotion behind the transaction; NULL when there is none',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when a complete snapshot no longer had the row',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = MergeTree
ORDER BY (account, id)
COMMENT 'Storage behind the view transactions_history';

CREATE TABLE IF NOT EXISTS payouts_latest
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id Int64 COMMENT 'Payout identifier',
    total_transactions Nullable(Int64) COMMENT 'Number of transactions in the payout',
    total_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of the transactions in the payout',
    aov Nullable(Decimal(18, 6)) COMMENT 'Average order value: total_gmv / total_transactions, as the service computed it',
    total_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of the transactions in the payout',
    confirmed_transactions Nullable(Int64) COMMENT 'Count of transactions with status CONFIRMED',
    declined_transactions Nullable(Int64) COMMENT 'Count of transactions with status DECLINED',
    pending_transactions Nullable(Int64) COMMENT 'Count of transactions with status PENDING',
    confirmed_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of CONFIRMED transactions',
    declined_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of DECLINED transactions',
    pending_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of PENDING transactions',
    confirmed_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of CONFIRMED transactions',
    declined_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of DECLINED transactions',
    pending_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of PENDING transactions',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the first transaction included, UTC',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the last transaction included, UTC',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when a complete snapshot no longer had the row',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, id)
COMMENT 'Storage behind the view payouts';

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
    _hash FixedString(16) MATERIALIZED sipHash128(_nulls, _extra, total_transactions, total_gmv, aov, total_cashback, confirmed_transactions, declined_transactions, pending_transactions, confirmed_gmv, declined_gmv, pending_gmv, confirmed_cashback, declined_cashback, pending_cashback, start_date, end_date)
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, id)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

CREATE TABLE IF NOT EXISTS payouts_versions
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id Int64 COMMENT 'Payout identifier',
    total_transactions Nullable(Int64) COMMENT 'Number of transactions in the payout',
    total_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of the transactions in the payout',
    aov Nullable(Decimal(18, 6)) COMMENT 'Average order value: total_gmv / total_transactions, as the service computed it',
    total_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of the transactions in the payout',
    confirmed_transactions Nullable(Int64) COMMENT 'Count of transactions with status CONFIRMED',
    declined_transactions Nullable(Int64) COMMENT 'Count of transactions with status DECLINED',
    pending_transactions Nullable(Int64) COMMENT 'Count of transactions with status PENDING',
    confirmed_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of CONFIRMED transactions',
    declined_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of DECLINED transactions',
    pending_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of PENDING transactions',
    confirmed_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of CONFIRMED transactions',
    declined_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of DECLINED transactions',
    pending_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of PENDING transactions',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the first transaction included, UTC',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the last transaction included, UTC',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when a complete snapshot no longer had the row',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = MergeTree
ORDER BY (account, id)
COMMENT 'Storage behind the view payouts_history';

CREATE TABLE IF NOT EXISTS products_latest
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    product_key UUID COMMENT 'Key derived from the fields that product_key_rule names',
    product_key_rule LowCardinality(String) COMMENT 'Rule that gave the key: url, asin, gtin, brand_mpn or brand_sku',
    last_viewed_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When the product was last viewed, UTC; NULL when the format is not understood',
    url String COMMENT 'Product page',
    name String COMMENT 'Product name',
    price Nullable(Decimal(18, 4)) COMMENT 'Current price, in currency_code',
    currency_code LowCardinality(String) COMMENT 'Currency of price',
    brand_name String COMMENT 'Brand',
    description String COMMENT 'Description',
    image_urls Array(String) COMMENT 'Image URLs',
    category_id LowCardinality(String) COMMENT 'Category identifier',
    category_version LowCardinality(String) COMMENT 'Version of the category tree',
    category_breadcrumb LowCardinality(String) COMMENT 'Path of the category',
    asin String COMMENT 'Amazon Standard Identification Number',
    sku String COMMENT 'Stock keeping unit',
    gtin String COMMENT 'Global Trade Item Number',
    mpn String COMMENT 'Manufacturer part number',
    rating_value Nullable(Decimal(18, 6)) COMMENT 'Average rating',
    rating_count Nullable(Int64) COMMENT 'Number of ratings',
    best_rating Nullable(Decimal(18, 6)) COMMENT 'Best rating possible',
    worst_rating Nullable(Decimal(18, 6)) COMMENT 'Worst rating possible',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible',
    _hash FixedString(16) COMMENT 'Hash of the content: equal hashes are equal rows',
    _version UInt128 COMMENT 'updatedAt in milliseconds in the high 64 bits, time of reading in microseconds in the low: the highest wins',
    _deleted UInt8 COMMENT '1 when a complete snapshot no longer had the row',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, product_key)
COMMENT 'Storage behind the view products';

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
    _version UInt128 MATERIALIZED toUInt128(_fetched),
    _hash FixedString(16) MATERIALIZED sipHash128(_nulls, _extra, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating)
)
ENGINE = ReplacingMergeTree(_version)
PARTITION BY run_id
ORDER BY (run_id, product_key)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

CREATE TABLE IF NOT EXISTS product_prices_latest
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    product_key UUID COMMENT 'Key derived from the fields that product_key_rule names',
    day Date COMMENT 'Day of the price',
    price Nullable(Decimal(18, 4)) COMMENT 'Price on that day, in currency_code',
    views Nullable(Int64) COMMENT 'Views on that day',
    currency_code LowCardinality(String) COMMENT 'Currency of the product when the day was read',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible',
    _version UInt64 COMMENT 'Time of reading in microseconds since 1970: the highest wins',
    _run_id UUID COMMENT 'Run that loaded this version'
)
ENGINE = ReplacingMergeTree(_version)
ORDER BY (account, product_key, day)
COMMENT 'Storage behind the view product_prices';

CREATE TABLE IF NOT EXISTS product_prices_staging
(
    run_id UUID,
    product_key UUID,
    day UInt16,
    price Int64,
    views Int64,
    currency_code String,
    _nulls UInt64,
    _fetched UInt64
)
ENGINE = ReplacingMergeTree(_fetched)
PARTITION BY run_id
ORDER BY (run_id, product_key, day)
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

CREATE OR REPLACE VIEW promotions
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Promotion identifier',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion becomes active, UTC',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion expires, UTC',
    description String COMMENT 'Description of the promotion',
    retailer_id Nullable(UUID) COMMENT 'Retailer the promotion belongs to; NULL when the service sent none or no UUID',
    url String COMMENT 'URL of the retailer\'s website where the promotion can be used',
    retailer_name LowCardinality(String) COMMENT 'Retailer name (JSON: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website',
    retailer_logo String COMMENT 'Retailer logo URL (JSON: logo)',
    deep_link String COMMENT 'Deep link for the promotion',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream, UTC',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible'
)
AS SELECT account, id, start_date, end_date, description, retailer_id, url, retailer_name, hostname, retailer_logo, deep_link, updated_at, _extra, synced_at
FROM promotions_latest FINAL
WHERE _deleted = 0
COMMENT 'Promotions that the service lists now, one row each';

CREATE OR REPLACE VIEW promotions_history
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Promotion identifier',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion becomes active, UTC',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the promotion expires, UTC',
    description String COMMENT 'Description of the promotion',
    retailer_id Nullable(UUID) COMMENT 'Retailer the promotion belongs to; NULL when the service sent none or no UUID',
    url String COMMENT 'URL of the retailer\'s website where the promotion can be used',
    retailer_name LowCardinality(String) COMMENT 'Retailer name (JSON: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website',
    retailer_logo String COMMENT 'Retailer logo URL (JSON: logo)',
    deep_link String COMMENT 'Deep link for the promotion',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream, UTC',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible',
    valid_from DateTime64(3, 'UTC') COMMENT 'When this version became visible',
    valid_to Nullable(DateTime64(3, 'UTC')) COMMENT 'When the next version, or the row\'s deletion, became visible; NULL while it is current'
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

CREATE OR REPLACE VIEW coupons
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Coupon identifier',
    code String COMMENT 'The coupon code value',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon becomes active, UTC',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon expires, UTC',
    description String COMMENT 'Description of the coupon',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the coupon; NULL when the service sent none or no UUID',
    url String COMMENT 'URL of the retailer\'s website where the coupon can be used',
    retailer_name LowCardinality(String) COMMENT 'Retailer name (JSON: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream, UTC',
    retailer_logo String COMMENT 'Retailer logo URL (JSON: logo)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible'
)
AS SELECT account, id, code, start_date, end_date, description, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo, _extra, synced_at
FROM coupons_latest FINAL
WHERE _deleted = 0
COMMENT 'Coupons that the service lists now, one row each';

CREATE OR REPLACE VIEW coupons_history
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Coupon identifier',
    code String COMMENT 'The coupon code value',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon becomes active, UTC',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the coupon expires, UTC',
    description String COMMENT 'Description of the coupon',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the coupon; NULL when the service sent none or no UUID',
    url String COMMENT 'URL of the retailer\'s website where the coupon can be used',
    retailer_name LowCardinality(String) COMMENT 'Retailer name (JSON: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream, UTC',
    retailer_logo String COMMENT 'Retailer logo URL (JSON: logo)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible',
    valid_from DateTime64(3, 'UTC') COMMENT 'When this version became visible',
    valid_to Nullable(DateTime64(3, 'UTC')) COMMENT 'When the next version, or the row\'s deletion, became visible; NULL while it is current'
)
AS SELECT account, id, code, start_date, end_date, description, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo, _extra, synced_at, synced_at AS valid_from, valid_to
FROM
(
    SELECT *, leadInFrame(toNullable(synced_at)) OVER (PARTITION BY account, id ORDER BY _version ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS valid_to
    FROM
    (
        SELECT account, id, code, start_date, end_date, description, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo, _extra, synced_at, _hash, _version, _deleted,
            row_number() OVER w AS _n, lagInFrame(_hash) OVER w AS _hash_before, lagInFrame(_deleted) OVER w AS _deleted_before
        FROM coupons_versions
        WINDOW w AS (PARTITION BY account, id ORDER BY _version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    )
    WHERE _n = 1 OR _hash != _hash_before OR _deleted != _deleted_before
)
WHERE _deleted = 0
COMMENT 'Every version of coupons that was ever loaded';

CREATE OR REPLACE VIEW cashback_offers
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Offer identifier',
    featured Nullable(Bool) COMMENT 'Whether the service features the offer as an outstanding deal',
    countries Array(LowCardinality(String)) COMMENT 'Countries where the offer is available, ISO 3166-1 alpha-2',
    maximum_fixed_commission_fee Nullable(Decimal(18, 4)) COMMENT 'Fixed cashback amount; NULL when the retailer offers a percentage instead',
    description String COMMENT 'Description of the fixed cashback offer',
    category LowCardinality(String) COMMENT 'Category of the offer',
    terms_and_exclusions String COMMENT 'Terms and exclusions',
    cashback_percentage Nullable(Decimal(18, 9)) COMMENT 'Cashback as a fraction: 0.05 is 5 %',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the offer; NULL when the service sent none or no UUID',
    url String COMMENT 'Retailer website URL',
    retailer_name LowCardinality(String) COMMENT 'Retailer name (JSON: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream, UTC',
    retailer_logo String COMMENT 'Retailer logo URL (JSON: logo)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible'
)
AS SELECT account, id, featured, countries, maximum_fixed_commission_fee, description, category, terms_and_exclusions, cashback_percentage, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo, _extra, synced_at
FROM cashback_offers_latest FINAL
WHERE _deleted = 0
COMMENT 'Cashback offers that the service lists now, one row each';

CREATE OR REPLACE VIEW cashback_offers_history
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Offer identifier',
    featured Nullable(Bool) COMMENT 'Whether the service features the offer as an outstanding deal',
    countries Array(LowCardinality(String)) COMMENT 'Countries where the offer is available, ISO 3166-1 alpha-2',
    maximum_fixed_commission_fee Nullable(Decimal(18, 4)) COMMENT 'Fixed cashback amount; NULL when the retailer offers a percentage instead',
    description String COMMENT 'Description of the fixed cashback offer',
    category LowCardinality(String) COMMENT 'Category of the offer',
    terms_and_exclusions String COMMENT 'Terms and exclusions',
    cashback_percentage Nullable(Decimal(18, 9)) COMMENT 'Cashback as a fraction: 0.05 is 5 %',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the offer; NULL when the service sent none or no UUID',
    url String COMMENT 'Retailer website URL',
    retailer_name LowCardinality(String) COMMENT 'Retailer name (JSON: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer\'s website',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream, UTC',
    retailer_logo String COMMENT 'Retailer logo URL (JSON: logo)',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible',
    valid_from DateTime64(3, 'UTC') COMMENT 'When this version became visible',
    valid_to Nullable(DateTime64(3, 'UTC')) COMMENT 'When the next version, or the row\'s deletion, became visible; NULL while it is current'
)
AS SELECT account, id, featured, countries, maximum_fixed_commission_fee, description, category, terms_and_exclusions, cashback_percentage, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo, _extra, synced_at, synced_at AS valid_from, valid_to
FROM
(
    SELECT *, leadInFrame(toNullable(synced_at)) OVER (PARTITION BY account, id ORDER BY _version ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS valid_to
    FROM
    (
        SELECT account, id, featured, countries, maximum_fixed_commission_fee, description, category, terms_and_exclusions, cashback_percentage, retailer_id, url, retailer_name, hostname, updated_at, retailer_logo, _extra, synced_at, _hash, _version, _deleted,
            row_number() OVER w AS _n, lagInFrame(_hash) OVER w AS _hash_before, lagInFrame(_deleted) OVER w AS _deleted_before
        FROM cashback_offers_versions
        WINDOW w AS (PARTITION BY account, id ORDER BY _version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    )
    WHERE _n = 1 OR _hash != _hash_before OR _deleted != _deleted_before
)
WHERE _deleted = 0
COMMENT 'Every version of cashback_offers that was ever loaded';

CREATE OR REPLACE VIEW transactions
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier',
    country LowCardinality(String) COMMENT 'Country code',
    activated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Activation time, UTC',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time, UTC',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale, UTC',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream, UTC',
    currency_code LowCardinality(String) COMMENT 'Currency of order_value and cashback',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Value of the order, in currency_code',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback amount, in currency_code',
    status LowCardinality(String) COMMENT 'PENDING, CONFIRMED or DECLINED; the service may add values',
    passback_uid String COMMENT 'Caller\'s own user identifier, as passed back',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction; NULL when the service sent none or no UUID',
    retailer_name LowCardinality(String) COMMENT 'Retailer name',
    retailer_logo String COMMENT 'Retailer logo URL',
    payout_id Nullable(Int64) COMMENT 'Payout that includes the transaction; NULL while in none',
    passback_data String COMMENT 'Caller\'s own data, as passed back',
    cashback_offer_id Nullable(UUID) COMMENT 'Cashback offer behind the transaction; NULL when there is none',
    coupon_id Nullable(UUID) COMMENT 'Coupon behind the transaction; NULL when there is none',
    promotion_id Nullable(UUID) COMMENT 'Promotion behind the transaction; NULL when there is none',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible'
)
AS SELECT account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at
FROM transactions_latest FINAL
WHERE _deleted = 0
COMMENT 'Affiliate transactions of the organization, one row each, as they stand now';

CREATE OR REPLACE VIEW transactions_history
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id UUID COMMENT 'Transaction identifier',
    country LowCardinality(String) COMMENT 'Country code',
    activated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Activation time, UTC',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time, UTC',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale, UTC',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream, UTC',
    currency_code LowCardinality(String) COMMENT 'Currency of order_value and cashback',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Value of the order, in currency_code',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback amount, in currency_code',
    status LowCardinality(String) COMMENT 'PENDING, CONFIRMED or DECLINED; the service may add values',
    passback_uid String COMMENT 'Caller\'s own user identifier, as passed back',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction; NULL when the service sent none or no UUID',
    retailer_name LowCardinality(String) COMMENT 'Retailer name',
    retailer_logo String COMMENT 'Retailer logo URL',
    payout_id Nullable(Int64) COMMENT 'Payout that includes the transaction; NULL while in none',
    passback_data String COMMENT 'Caller\'s own data, as passed back',
    cashback_offer_id Nullable(UUID) COMMENT 'Cashback offer behind the transaction; NULL when there is none',
    coupon_id Nullable(UUID) COMMENT 'Coupon behind the transaction; NULL when there is none',
    promotion_id Nullable(UUID) COMMENT 'Promotion behind the transaction; NULL when there is none',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible',
    valid_from DateTime64(3, 'UTC') COMMENT 'When this version became visible',
    valid_to Nullable(DateTime64(3, 'UTC')) COMMENT 'When the next version, or the row\'s deletion, became visible; NULL while it is current'
)
AS SELECT account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, synced_at AS valid_from, valid_to
FROM
(
    SELECT *, leadInFrame(toNullable(synced_at)) OVER (PARTITION BY account, id ORDER BY _version ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS valid_to
    FROM
    (
        SELECT account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted,
            row_number() OVER w AS _n, lagInFrame(_hash) OVER w AS _hash_before, lagInFrame(_deleted) OVER w AS _deleted_before
        FROM transactions_versions
        WINDOW w AS (PARTITION BY account, id ORDER BY _version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    )
    WHERE _n = 1 OR _hash != _hash_before OR _deleted != _deleted_before
)
WHERE _deleted = 0
COMMENT 'Every version of transactions that was ever loaded';

CREATE OR REPLACE VIEW payouts
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id Int64 COMMENT 'Payout identifier',
    total_transactions Nullable(Int64) COMMENT 'Number of transactions in the payout',
    total_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of the transactions in the payout',
    aov Nullable(Decimal(18, 6)) COMMENT 'Average order value: total_gmv / total_transactions, as the service computed it',
    total_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of the transactions in the payout',
    confirmed_transactions Nullable(Int64) COMMENT 'Count of transactions with status CONFIRMED',
    declined_transactions Nullable(Int64) COMMENT 'Count of transactions with status DECLINED',
    pending_transactions Nullable(Int64) COMMENT 'Count of transactions with status PENDING',
    confirmed_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of CONFIRMED transactions',
    declined_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of DECLINED transactions',
    pending_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of PENDING transactions',
    confirmed_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of CONFIRMED transactions',
    declined_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of DECLINED transactions',
    pending_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of PENDING transactions',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the first transaction included, UTC',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the last transaction included, UTC',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible'
)
AS SELECT account, id, total_transactions, total_gmv, aov, total_cashback, confirmed_transactions, declined_transactions, pending_transactions, confirmed_gmv, declined_gmv, pending_gmv, confirmed_cashback, declined_cashback, pending_cashback, start_date, end_date, _extra, synced_at
FROM payouts_latest FINAL
WHERE _deleted = 0
COMMENT 'Payouts of the organization, one row each';

CREATE OR REPLACE VIEW payouts_history
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    id Int64 COMMENT 'Payout identifier',
    total_transactions Nullable(Int64) COMMENT 'Number of transactions in the payout',
    total_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of the transactions in the payout',
    aov Nullable(Decimal(18, 6)) COMMENT 'Average order value: total_gmv / total_transactions, as the service computed it',
    total_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of the transactions in the payout',
    confirmed_transactions Nullable(Int64) COMMENT 'Count of transactions with status CONFIRMED',
    declined_transactions Nullable(Int64) COMMENT 'Count of transactions with status DECLINED',
    pending_transactions Nullable(Int64) COMMENT 'Count of transactions with status PENDING',
    confirmed_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of CONFIRMED transactions',
    declined_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of DECLINED transactions',
    pending_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of PENDING transactions',
    confirmed_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of CONFIRMED transactions',
    declined_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of DECLINED transactions',
    pending_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of PENDING transactions',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the first transaction included, UTC',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the last transaction included, UTC',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible',
    valid_from DateTime64(3, 'UTC') COMMENT 'When this version became visible',
    valid_to Nullable(DateTime64(3, 'UTC')) COMMENT 'When the next version, or the row\'s deletion, became visible; NULL while it is current'
)
AS SELECT account, id, total_transactions, total_gmv, aov, total_cashback, confirmed_transactions, declined_transactions, pending_transactions, confirmed_gmv, declined_gmv, pending_gmv, confirmed_cashback, declined_cashback, pending_cashback, start_date, end_date, _extra, synced_at, synced_at AS valid_from, valid_to
FROM
(
    SELECT *, leadInFrame(toNullable(synced_at)) OVER (PARTITION BY account, id ORDER BY _version ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS valid_to
    FROM
    (
        SELECT account, id, total_transactions, total_gmv, aov, total_cashback, confirmed_transactions, declined_transactions, pending_transactions, confirmed_gmv, declined_gmv, pending_gmv, confirmed_cashback, declined_cashback, pending_cashback, start_date, end_date, _extra, synced_at, _hash, _version, _deleted,
            row_number() OVER w AS _n, lagInFrame(_hash) OVER w AS _hash_before, lagInFrame(_deleted) OVER w AS _deleted_before
        FROM payouts_versions
        WINDOW w AS (PARTITION BY account, id ORDER BY _version ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    )
    WHERE _n = 1 OR _hash != _hash_before OR _deleted != _deleted_before
)
WHERE _deleted = 0
COMMENT 'Every version of payouts that was ever loaded';

CREATE OR REPLACE VIEW products
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    product_key UUID COMMENT 'Key derived from the fields that product_key_rule names',
    product_key_rule LowCardinality(String) COMMENT 'Rule that gave the key: url, asin, gtin, brand_mpn or brand_sku',
    last_viewed_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When the product was last viewed, UTC; NULL when the format is not understood',
    url String COMMENT 'Product page',
    name String COMMENT 'Product name',
    price Nullable(Decimal(18, 4)) COMMENT 'Current price, in currency_code',
    currency_code LowCardinality(String) COMMENT 'Currency of price',
    brand_name String COMMENT 'Brand',
    description String COMMENT 'Description',
    image_urls Array(String) COMMENT 'Image URLs',
    category_id LowCardinality(String) COMMENT 'Category identifier',
    category_version LowCardinality(String) COMMENT 'Version of the category tree',
    category_breadcrumb LowCardinality(String) COMMENT 'Path of the category',
    asin String COMMENT 'Amazon Standard Identification Number',
    sku String COMMENT 'Stock keeping unit',
    gtin String COMMENT 'Global Trade Item Number',
    mpn String COMMENT 'Manufacturer part number',
    rating_value Nullable(Decimal(18, 6)) COMMENT 'Average rating',
    rating_count Nullable(Int64) COMMENT 'Number of ratings',
    best_rating Nullable(Decimal(18, 6)) COMMENT 'Best rating possible',
    worst_rating Nullable(Decimal(18, 6)) COMMENT 'Worst rating possible',
    _extra String COMMENT 'Fields that the interface does not name, verbatim as JSON; empty when there are none',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible'
)
AS SELECT account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at
FROM products_latest FINAL
WHERE _deleted = 0
COMMENT 'Products of the feed, one row each';

CREATE OR REPLACE VIEW product_prices
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    product_key UUID COMMENT 'Key derived from the fields that product_key_rule names',
    day Date COMMENT 'Day of the price',
    price Nullable(Decimal(18, 4)) COMMENT 'Price on that day, in currency_code',
    views Nullable(Int64) COMMENT 'Views on that day',
    currency_code LowCardinality(String) COMMENT 'Currency of the product when the day was read',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible'
)
AS SELECT account, product_key, day, price, views, currency_code, synced_at
FROM product_prices_latest FINAL
COMMENT 'Price and views of a product by day, one row a day, kept after the day has left the feed';
