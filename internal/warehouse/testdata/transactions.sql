-- What is sent for transactions, rendered for the account acme and the run 00000000-0000-4000-8000-00000000a11e.

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
PARTITION BY toYYYYMM(least(greatest(ifNull(sold_at, toDateTime64(0, 3, 'UTC')), toDateTime64('1999-12-01', 3, 'UTC')), toDateTime64('2040-01-01', 3, 'UTC')))
ORDER BY (account, sold_at, id)
SETTINGS allow_nullable_key = 1, min_bytes_for_wide_part = 67108864
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
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

-- createView
CREATE OR REPLACE VIEW transactions
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
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]'
)
AS SELECT account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at
FROM transactions_latest FINAL
WHERE _deleted = 0
COMMENT 'Affiliate transactions of the organization, one row each, as they stand now';

-- rehash
ALTER TABLE transactions_staging MODIFY COLUMN _hash FixedString(16) DEFAULT reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(_nulls, _extra, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id)), 64), toUInt128(xxHash64(_nulls, _extra, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id))), 'FixedString(16)');

-- hashStatements 2
ALTER TABLE transactions_staging MATERIALIZE COLUMN _hash SETTINGS mutations_sync = 1;

-- hashStatements 3
ALTER TABLE transactions_staging COMMENT COLUMN _hash 'Hash of the content: equal hashes are equal rows (15c6c6bb)';

-- hashStatements 4
INSERT INTO sync_state_log (account, stream, name, value, version)
SELECT account, stream, 'derived', '', max(version) + 1 FROM sync_state_log
WHERE stream = 'transactions' GROUP BY account, stream HAVING countIf(name = 'derived') > 0;

-- hashStatements 5
ALTER TABLE transactions_latest UPDATE _hash = reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), _extra, country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, passback_uid, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000')))), 64), toUInt128(xxHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), _extra, country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, passback_uid, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000'))))), 'FixedString(16)') WHERE _hash != reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), _extra, country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, passback_uid, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000')))), 64), toUInt128(xxHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), _extra, country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, passback_uid, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000'))))), 'FixedString(16)') SETTINGS mutations_sync = 1;

-- hashStatements 6
ALTER TABLE transactions_latest COMMENT COLUMN _hash 'Hash of the content: equal hashes are equal rows (15c6c6bb)';

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
PARTITION BY toYYYYMM(least(greatest(ifNull(sold_at, toDateTime64(0, 3, 'UTC')), toDateTime64('1999-12-01', 3, 'UTC')), toDateTime64('2040-01-01', 3, 'UTC')))
ORDER BY (account, sold_at, id)
SETTINGS allow_nullable_key = 1, min_bytes_for_wide_part = 67108864
COMMENT 'Storage behind the view transactions_history';

-- createHistory
CREATE OR REPLACE VIEW transactions_history
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
    valid_from DateTime64(3, 'UTC') COMMENT 'When this version became visible [UTC]',
    valid_to Nullable(DateTime64(3, 'UTC')) COMMENT 'When the next version, or the row\'s deletion, became visible; NULL while it is current [UTC]'
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

-- createAsOf
CREATE OR REPLACE VIEW transactions_as_of
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
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]'
)
AS SELECT account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at
FROM transactions_latest FINAL
WHERE _deleted = 0 AND synced_at <= {at:DateTime64(3, 'UTC')}
UNION ALL
SELECT account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at
FROM
(
    SELECT account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _deleted
    FROM transactions_versions
    WHERE synced_at <= {at:DateTime64(3, 'UTC')} AND (account, id) GLOBAL IN
    (
        SELECT account, id FROM transactions_latest FINAL WHERE synced_at > {at:DateTime64(3, 'UTC')} AND _deleted != 2
    )
    ORDER BY _version DESC, _deleted DESC
    LIMIT 1 BY account, id
)
WHERE _deleted = 0
COMMENT 'The rows of transactions as they were at the time `at`';

-- createLookup
CREATE OR REPLACE VIEW transactions_by_passback_uid
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
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]'
)
AS SELECT account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at
FROM transactions
WHERE id GLOBAL IN (SELECT id FROM transactions_latest WHERE passback_uid = {passback_uid:String}) AND identity(passback_uid) = {passback_uid:String}
COMMENT 'As transactions, those of one passback_uid, which is given as the parameter: reads few rows';

-- addColumns to transactions_latest
ALTER TABLE transactions_latest ADD COLUMN IF NOT EXISTS _run_id UUID COMMENT 'Run that loaded this version' AFTER _deleted;

-- addColumns to transactions_staging
ALTER TABLE transactions_staging ADD COLUMN IF NOT EXISTS _fetched Int64 AFTER _page;

-- addColumns to transactions_versions
ALTER TABLE transactions_versions ADD COLUMN IF NOT EXISTS _run_id UUID COMMENT 'Run that loaded this version' AFTER _deleted;

-- insertInto staging
INSERT INTO transactions_staging (run_id, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _nulls, _extra, _page, _fetched);

-- countStaged
SELECT count(), sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))) FROM transactions_staging WHERE run_id = {run:UUID};

-- selectStagedKeys
SELECT toString(id) FROM transactions_staging WHERE run_id = {run:UUID};

-- countBefore
SELECT toUnixTimestamp64Micro(now64(6)), count(),
    uniqExact(id),
    countIf(bitShiftRight(_version, 64) > {cap:UInt64} + 60000),
    countIf((id, _hash) NOT IN
    (
        SELECT id, _hash FROM transactions_keys FINAL
        WHERE account = {account:String} AND _deleted = 0 AND id IN (SELECT id FROM transactions_staging WHERE run_id = {run:UUID})
    )),
    sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))), sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))),
    (SELECT toUInt64OrZero(argMax(value, version)) FROM sync_state_log WHERE account = {account:String} AND stream = 'transactions' AND name = 'live'),
    (SELECT count() = 0 FROM (SELECT 1 FROM transactions_latest WHERE account = {account:String} LIMIT 1))
FROM transactions_staging
WHERE run_id = {run:UUID};

-- countBefore of the whole list
SELECT toUnixTimestamp64Micro(now64(6)), count(),
    uniqExact(id),
    countIf(bitShiftRight(_version, 64) > {cap:UInt64} + 60000),
    countIf((id, _hash) NOT IN
    (
        SELECT id, _hash FROM transactions_keys FINAL
        WHERE account = {account:String} AND _deleted = 0 AND id IN (SELECT id FROM transactions_staging WHERE run_id = {run:UUID})
    )),
    sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))), sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))),
    (SELECT count() FROM transactions_keys FINAL WHERE account = {account:String} AND _deleted = 0),
    (SELECT count() = 0 FROM (SELECT 1 FROM transactions_latest WHERE account = {account:String} LIMIT 1))
FROM transactions_staging
WHERE run_id = {run:UUID};

-- countBefore of many rows
SELECT toUnixTimestamp64Micro(now64(6)), count(),
    uniqExact(id),
    countIf(bitShiftRight(_version, 64) > {cap:UInt64} + 60000),
    count(),
    sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))), sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))),
    (SELECT toUInt64OrZero(argMax(value, version)) FROM sync_state_log WHERE account = {account:String} AND stream = 'transactions' AND name = 'live'),
    (SELECT count() = 0 FROM (SELECT 1 FROM transactions_latest WHERE account = {account:String} LIMIT 1))
FROM transactions_staging
WHERE run_id = {run:UUID};

-- countBefore of more rows than a set holds
SELECT toUnixTimestamp64Micro(now64(6)), count(),
    (SELECT count() FROM transactions_staging FINAL WHERE run_id = {run:UUID}),
    countIf(bitShiftRight(_version, 64) > {cap:UInt64} + 60000),
    count(),
    sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))), sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))),
    (SELECT toUInt64OrZero(argMax(value, version)) FROM sync_state_log WHERE account = {account:String} AND stream = 'transactions' AND name = 'live'),
    (SELECT count() = 0 FROM (SELECT 1 FROM transactions_latest WHERE account = {account:String} LIMIT 1))
FROM transactions_staging
WHERE run_id = {run:UUID};

-- hasNone
SELECT count() = 0 FROM (SELECT 1 FROM transactions_latest WHERE account = {account:String} LIMIT 1);

-- dropOldChanges
DROP TABLE IF EXISTS transactions_changes_0000000000004000800000000000a11e;

-- createChanges
CREATE TABLE IF NOT EXISTS transactions_changes_0000000000004000800000000000a11e (id UUID, change UInt8, version UInt128, was UInt64, now UInt64, position Nullable(DateTime64(3, 'UTC')), moved UInt8)
ENGINE = MergeTree ORDER BY id
COMMENT 'What a run under way will change';

-- insertChanges of a part
INSERT INTO transactions_changes_0000000000004000800000000000a11e (id, change, version, was, now, position, moved)
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
INSERT INTO transactions_changes_0000000000004000800000000000a11e (id, change, version, was, now, position, moved)
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
INSERT INTO transactions_changes_0000000000004000800000000000a11e (id, change, version, was, now, position, moved)
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
INSERT INTO transactions_changes_0000000000004000800000000000a11e (id, change, version, was, now, position, moved)
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
INSERT INTO transactions_changes_0000000000004000800000000000a11e (id, change, version, was, now, position, moved)
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
INSERT INTO transactions_changes_0000000000004000800000000000a11e (id, change, version, was, now, position, moved)
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
SELECT change, count(), toUInt64(countIf(change IN (1, 2) AND moved)) FROM transactions_changes_0000000000004000800000000000a11e GROUP BY change;

-- selectPlannedKeys
SELECT toString(id) FROM transactions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2);

-- selectPlannedDeletes
SELECT toString(id), ifNull(toUnixTimestamp64Milli(updated_at), 0), '' FROM transactions_latest FINAL
WHERE account = {account:String} AND ((sold_at, id) IN (SELECT position, id FROM transactions_changes_0000000000004000800000000000a11e WHERE change = 3 AND id IN (SELECT id FROM transactions_changes_0000000000004000800000000000a11e WHERE change = 3 ORDER BY cityHash64(id, '00000000-0000-4000-8000-00000000a11e') LIMIT 5) AND position IS NOT NULL)
        OR sold_at IS NULL AND id IN (SELECT id FROM transactions_changes_0000000000004000800000000000a11e WHERE change = 3 AND id IN (SELECT id FROM transactions_changes_0000000000004000800000000000a11e WHERE change = 3 ORDER BY cityHash64(id, '00000000-0000-4000-8000-00000000a11e') LIMIT 5) AND position IS NULL));

-- selectNewest
SELECT toString(id), ifNull(toUnixTimestamp64Milli(updated_at), 0) AS updated, id IN (SELECT id FROM transactions_staging WHERE run_id = {run:UUID})
FROM transactions_latest FINAL
WHERE account = {account:String} AND _deleted = 0
ORDER BY updated DESC, id
LIMIT 5;

-- countAlike
SELECT uniqExact(id)
FROM (SELECT id, country AS country_read, if(bitTest(_nulls, 0), NULL, reinterpret(activated_at, 'DateTime64(3, ''UTC'')')) AS activated_at_read, if(bitTest(_nulls, 1), NULL, reinterpret(clicked_at, 'DateTime64(3, ''UTC'')')) AS clicked_at_read, if(bitTest(_nulls, 2), NULL, reinterpret(sold_at, 'DateTime64(3, ''UTC'')')) AS sold_at_read, if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')) AS updated_at_read, currency_code AS currency_code_read, if(bitTest(_nulls, 4), NULL, reinterpret(order_value, 'Decimal(18, 4)')) AS order_value_read, if(bitTest(_nulls, 5), NULL, reinterpret(cashback, 'Decimal(18, 4)')) AS cashback_read, status AS status_read, passback_uid AS passback_uid_read, if(bitTest(_nulls, 6), NULL, retailer_id) AS retailer_id_read, retailer_name AS retailer_name_read, retailer_logo AS retailer_logo_read, if(bitTest(_nulls, 7), NULL, payout_id) AS payout_id_read, passback_data AS passback_data_read, if(bitTest(_nulls, 8), NULL, cashback_offer_id) AS cashback_offer_id_read, if(bitTest(_nulls, 9), NULL, coupon_id) AS coupon_id_read, if(bitTest(_nulls, 10), NULL, promotion_id) AS promotion_id_read FROM transactions_staging WHERE run_id = {run:UUID}) AS s
INNER JOIN (SELECT id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id FROM transactions_latest FINAL WHERE account = {account:String} AND _deleted = 0) AS l ON s.id = l.id
WHERE 3 * ((s.country_read <=> l.country) + (s.activated_at_read <=> l.activated_at) + (s.clicked_at_read <=> l.clicked_at) + (s.sold_at_read <=> l.sold_at) + (s.updated_at_read <=> l.updated_at) + (s.currency_code_read <=> l.currency_code) + (s.order_value_read <=> l.order_value) + (s.cashback_read <=> l.cashback) + (s.status_read <=> l.status) + (s.passback_uid_read <=> l.passback_uid) + (s.retailer_id_read <=> l.retailer_id) + (s.retailer_name_read <=> l.retailer_name) + (s.retailer_logo_read <=> l.retailer_logo) + (s.payout_id_read <=> l.payout_id) + (s.passback_data_read <=> l.passback_data) + (s.cashback_offer_id_read <=> l.cashback_offer_id) + (s.coupon_id_read <=> l.coupon_id) + (s.promotion_id_read <=> l.promotion_id)) >= 2 * 18;

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
        if(s.here = 1 AND l.here = 1, arrayFilter(f -> f != '', [if(s.country_read <=> l.country, '', 'country'),
    if(s.activated_at_read <=> l.activated_at, '', 'activated_at'),
    if(s.clicked_at_read <=> l.clicked_at, '', 'clicked_at'),
    if(s.sold_at_read <=> l.sold_at, '', 'sold_at'),
    if(s.updated_at_read <=> l.updated_at, '', 'updated_at'),
    if(s.currency_code_read <=> l.currency_code, '', 'currency_code'),
    if(s.order_value_read <=> l.order_value, '', 'order_value'),
    if(s.cashback_read <=> l.cashback, '', 'cashback'),
    if(s.status_read <=> l.status, '', 'status'),
    if(s.passback_uid_read <=> l.passback_uid, '', 'passback_uid'),
    if(s.retailer_id_read <=> l.retailer_id, '', 'retailer_id'),
    if(s.retailer_name_read <=> l.retailer_name, '', 'retailer_name'),
    if(s.retailer_logo_read <=> l.retailer_logo, '', 'retailer_logo'),
    if(s.payout_id_read <=> l.payout_id, '', 'payout_id'),
    if(s.passback_data_read <=> l.passback_data, '', 'passback_data'),
    if(s.cashback_offer_id_read <=> l.cashback_offer_id, '', 'cashback_offer_id'),
    if(s.coupon_id_read <=> l.coupon_id, '', 'coupon_id'),
    if(s.promotion_id_read <=> l.promotion_id, '', 'promotion_id'),
    if(s._extra_read = l._extra, '', '_extra')]), []) AS fields, ifNull(toUnixTimestamp64Milli(l.updated_at), 0) AS was, ifNull(toUnixTimestamp64Milli(s.updated_at_read), 0) AS is
    FROM
    (
        SELECT id, 1 AS here, country AS country_read,
    if(bitTest(_nulls, 0), NULL, reinterpret(activated_at, 'DateTime64(3, ''UTC'')')) AS activated_at_read,
    if(bitTest(_nulls, 1), NULL, reinterpret(clicked_at, 'DateTime64(3, ''UTC'')')) AS clicked_at_read,
    if(bitTest(_nulls, 2), NULL, reinterpret(sold_at, 'DateTime64(3, ''UTC'')')) AS sold_at_read,
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')) AS updated_at_read,
    currency_code AS currency_code_read,
    if(bitTest(_nulls, 4), NULL, reinterpret(order_value, 'Decimal(18, 4)')) AS order_value_read,
    if(bitTest(_nulls, 5), NULL, reinterpret(cashback, 'Decimal(18, 4)')) AS cashback_read,
    status AS status_read,
    passback_uid AS passback_uid_read,
    if(bitTest(_nulls, 6), NULL, retailer_id) AS retailer_id_read,
    retailer_name AS retailer_name_read,
    retailer_logo AS retailer_logo_read,
    if(bitTest(_nulls, 7), NULL, payout_id) AS payout_id_read,
    passback_data AS passback_data_read,
    if(bitTest(_nulls, 8), NULL, cashback_offer_id) AS cashback_offer_id_read,
    if(bitTest(_nulls, 9), NULL, coupon_id) AS coupon_id_read,
    if(bitTest(_nulls, 10), NULL, promotion_id) AS promotion_id_read,
    _extra AS _extra_read FROM (SELECT *
    FROM transactions_staging FINAL
    WHERE run_id = {run:UUID})
    ) AS s
    FULL JOIN
    (
        SELECT id, 1 AS here, _hash = reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), _extra, country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, passback_uid, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000')))), 64), toUInt128(xxHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), _extra, country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, passback_uid, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000'))))), 'FixedString(16)') AS own, country,
    activated_at,
    clicked_at,
    sold_at,
    updated_at,
    currency_code,
    order_value,
    cashback,
    status,
    passback_uid,
    retailer_id,
    retailer_name,
    retailer_logo,
    payout_id,
    passback_data,
    cashback_offer_id,
    coupon_id,
    promotion_id,
    _extra FROM transactions_latest FINAL WHERE account = {account:String} AND _deleted = 0
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
        if(s.here = 1 AND l.here = 1, arrayFilter(f -> f != '', [if(s.country_read <=> l.country, '', 'country'),
    if(s.activated_at_read <=> l.activated_at, '', 'activated_at'),
    if(s.clicked_at_read <=> l.clicked_at, '', 'clicked_at'),
    if(s.sold_at_read <=> l.sold_at, '', 'sold_at'),
    if(s.updated_at_read <=> l.updated_at, '', 'updated_at'),
    if(s.currency_code_read <=> l.currency_code, '', 'currency_code'),
    if(s.order_value_read <=> l.order_value, '', 'order_value'),
    if(s.cashback_read <=> l.cashback, '', 'cashback'),
    if(s.status_read <=> l.status, '', 'status'),
    if(s.passback_uid_read <=> l.passback_uid, '', 'passback_uid'),
    if(s.retailer_id_read <=> l.retailer_id, '', 'retailer_id'),
    if(s.retailer_name_read <=> l.retailer_name, '', 'retailer_name'),
    if(s.retailer_logo_read <=> l.retailer_logo, '', 'retailer_logo'),
    if(s.payout_id_read <=> l.payout_id, '', 'payout_id'),
    if(s.passback_data_read <=> l.passback_data, '', 'passback_data'),
    if(s.cashback_offer_id_read <=> l.cashback_offer_id, '', 'cashback_offer_id'),
    if(s.coupon_id_read <=> l.coupon_id, '', 'coupon_id'),
    if(s.promotion_id_read <=> l.promotion_id, '', 'promotion_id'),
    if(s._extra_read = l._extra, '', '_extra')]), []) AS fields, ifNull(toUnixTimestamp64Milli(l.updated_at), 0) AS was, ifNull(toUnixTimestamp64Milli(s.updated_at_read), 0) AS is
    FROM
    (
        SELECT id, 1 AS here, country AS country_read,
    if(bitTest(_nulls, 0), NULL, reinterpret(activated_at, 'DateTime64(3, ''UTC'')')) AS activated_at_read,
    if(bitTest(_nulls, 1), NULL, reinterpret(clicked_at, 'DateTime64(3, ''UTC'')')) AS clicked_at_read,
    if(bitTest(_nulls, 2), NULL, reinterpret(sold_at, 'DateTime64(3, ''UTC'')')) AS sold_at_read,
    if(bitTest(_nulls, 3), NULL, reinterpret(updated_at, 'DateTime64(3, ''UTC'')')) AS updated_at_read,
    currency_code AS currency_code_read,
    if(bitTest(_nulls, 4), NULL, reinterpret(order_value, 'Decimal(18, 4)')) AS order_value_read,
    if(bitTest(_nulls, 5), NULL, reinterpret(cashback, 'Decimal(18, 4)')) AS cashback_read,
    status AS status_read,
    passback_uid AS passback_uid_read,
    if(bitTest(_nulls, 6), NULL, retailer_id) AS retailer_id_read,
    retailer_name AS retailer_name_read,
    retailer_logo AS retailer_logo_read,
    if(bitTest(_nulls, 7), NULL, payout_id) AS payout_id_read,
    passback_data AS passback_data_read,
    if(bitTest(_nulls, 8), NULL, cashback_offer_id) AS cashback_offer_id_read,
    if(bitTest(_nulls, 9), NULL, coupon_id) AS coupon_id_read,
    if(bitTest(_nulls, 10), NULL, promotion_id) AS promotion_id_read,
    _extra AS _extra_read FROM (SELECT *
    FROM transactions_staging
    WHERE run_id = {run:UUID}
    ORDER BY id, if(max(bitShiftRight(_version, 64) > {cap:UInt64} + 60000) OVER (PARTITION BY id), toUInt128(_fetched), _version) DESC, _version DESC, _hash
    LIMIT 1 BY id)
    ) AS s
    FULL JOIN
    (
        SELECT id, 1 AS here, _hash = reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), _extra, country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, passback_uid, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000')))), 64), toUInt128(xxHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), _extra, country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, passback_uid, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000'))))), 'FixedString(16)') AS own, country,
    activated_at,
    clicked_at,
    sold_at,
    updated_at,
    currency_code,
    order_value,
    cashback,
    status,
    passback_uid,
    retailer_id,
    retailer_name,
    retailer_logo,
    payout_id,
    passback_data,
    cashback_offer_id,
    coupon_id,
    promotion_id,
    _extra FROM transactions_latest FINAL WHERE account = {account:String} AND _deleted = 0
    ) AS l ON s.id = l.id
    WHERE s.here = 0 OR l.here = 0 AND (loaded_from = 0 OR ifNull(toUnixTimestamp64Milli(s.updated_at_read), 0) = 0 OR ifNull(toUnixTimestamp64Milli(s.updated_at_read), 0) >= loaded_from) OR l.here = 1 AND notEmpty(fields)
)
ORDER BY kind IN ('wrong', 'missing') DESC, kind, which
LIMIT 100;

-- countAbsence
INSERT INTO absent_rows_log (account, stream, key, lists, run_id, since, version)
SELECT {account:String}, {stream:String}, if(gone.key != '', gone.key, before.key), if(gone.key != '', before.lists + 1, 0), {run:UUID},
    if(before.lists = 0, now64(3), before.since), greatest(toUInt64(toUnixTimestamp64Micro(now64(6))), before.version + 1)
FROM (SELECT toString(id) AS key FROM transactions_changes_0000000000004000800000000000a11e WHERE change = 3) AS gone
FULL JOIN
(
    SELECT key, lists, run_id, since, version FROM absent_rows_log FINAL
    WHERE account = {account:String} AND stream = {stream:String}
) AS before ON gone.key = before.key
WHERE before.run_id != {run:UUID} AND (gone.key != '' OR before.lists > 0);

-- countUnconfirmed
SELECT count() FROM transactions_changes_0000000000004000800000000000a11e WHERE change = 3 AND toString(id) NOT IN (SELECT key FROM absent_rows_log FINAL WHERE account = 'acme' AND stream = 'transactions' AND lists >= 1);

-- deleteAllPlanned
ALTER TABLE transactions_changes_0000000000004000800000000000a11e DELETE WHERE change = 3;

-- selectClashes
SELECT count(), groupArray(5)(key) FROM
(
    SELECT toString(id) AS key FROM transactions_staging
    WHERE run_id = {run:UUID} AND id IN (SELECT id FROM transactions_staging WHERE run_id = {run:UUID} GROUP BY id HAVING count() > 1)
    GROUP BY id HAVING uniqExact(_fetched, _hash) > uniqExact(_fetched) OR uniqExact(updated_at, _hash) > uniqExact(updated_at)
    ORDER BY key
);

-- deletePlanned by absence
ALTER TABLE transactions_changes_0000000000004000800000000000a11e DELETE WHERE change = 3 AND toString(id) NOT IN (SELECT key FROM absent_rows_log FINAL WHERE account = 'acme' AND stream = 'transactions' AND lists >= 1);

-- deletePlanned by key
ALTER TABLE transactions_changes_0000000000004000800000000000a11e DELETE WHERE change = 3 AND toString(id) NOT IN ('', 'a', 'b');

-- createDelta
CREATE TABLE IF NOT EXISTS transactions_delta_0000000000004000800000000000a11e AS transactions_latest COMMENT 'What a run under way is about to publish';

-- insertDelta of the first load
INSERT INTO transactions_delta_0000000000004000800000000000a11e (account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted, _run_id)
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
INSERT INTO transactions_delta_0000000000004000800000000000a11e (account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted, _run_id)
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
INSERT INTO transactions_delta_0000000000004000800000000000a11e (account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted, _run_id)
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
INNER JOIN (SELECT id, version FROM transactions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.id = c.id;

-- insertDelta of what changes of many rows
INSERT INTO transactions_delta_0000000000004000800000000000a11e (account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted, _run_id)
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
    WHERE run_id = {run:UUID} AND id IN (SELECT id FROM transactions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2))
) AS s
INNER JOIN (SELECT id, version FROM transactions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.id = c.id;

-- insertDelta of what changes, keys staged twice
INSERT INTO transactions_delta_0000000000004000800000000000a11e (account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted, _run_id)
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
INNER JOIN (SELECT id, version FROM transactions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.id = c.id;

-- insertDelta of what changes, keys staged twice, some dated ahead
INSERT INTO transactions_delta_0000000000004000800000000000a11e (account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted, _run_id)
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
INNER JOIN (SELECT id, version FROM transactions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.id = c.id;

-- insertDelta of the first load, keys staged twice, some dated ahead
INSERT INTO transactions_delta_0000000000004000800000000000a11e (account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted, _run_id)
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
INSERT INTO transactions_delta_0000000000004000800000000000a11e (account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted, _run_id)
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
INNER JOIN (SELECT id, version FROM transactions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.id = c.id;

-- insertTombstones
INSERT INTO transactions_delta_0000000000004000800000000000a11e (account, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 1, {run:UUID}
FROM
(
    SELECT id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id, _extra, _hash
    FROM transactions_latest FINAL
    WHERE account = {account:String} AND ((sold_at, id) IN (SELECT position, id FROM transactions_changes_0000000000004000800000000000a11e WHERE change = 3 AND position IS NOT NULL)
        OR sold_at IS NULL AND id IN (SELECT id FROM transactions_changes_0000000000004000800000000000a11e WHERE change = 3 AND position IS NULL))
) AS l
INNER JOIN (SELECT id, version FROM transactions_changes_0000000000004000800000000000a11e WHERE change = 3) AS c ON l.id = c.id;

-- mergeParts
OPTIMIZE TABLE transactions_delta_0000000000004000800000000000a11e FINAL;

-- countLive that is kept
SELECT toUInt64OrZero(argMax(value, version)) FROM sync_state_log WHERE account = {account:String} AND stream = 'transactions' AND name = 'live';

-- createChanged
CREATE TABLE IF NOT EXISTS transactions_changed_0000000000004000800000000000a11e (sign Int8, id UUID, sold_at Nullable(DateTime64(3, 'UTC')), updated_at Nullable(DateTime64(3, 'UTC')), currency_code LowCardinality(String), order_value Nullable(Decimal(18, 4)), cashback Nullable(Decimal(18, 4)), status LowCardinality(String), retailer_name LowCardinality(String), payout_id Nullable(Int64), synced_at DateTime64(3, 'UTC'), _version UInt128, _deleted UInt8)
ENGINE = MergeTree ORDER BY id
COMMENT 'What a run under way changes';

-- insertChanged
INSERT INTO transactions_changed_0000000000004000800000000000a11e (sign, id, sold_at, currency_code, retailer_name, status, order_value, cashback, payout_id, updated_at, synced_at, _version, _deleted)
SELECT -1, id, sold_at, currency_code, retailer_name, status, order_value, cashback, payout_id, updated_at, synced_at, _version, _deleted
FROM transactions_latest FINAL
WHERE account = {account:String} AND _deleted != 2 AND ((sold_at, id) IN (SELECT position, id FROM transactions_changes_0000000000004000800000000000a11e WHERE change != 4 AND position IS NOT NULL)
        OR sold_at IS NULL AND id IN (SELECT id FROM transactions_changes_0000000000004000800000000000a11e WHERE change != 4 AND position IS NULL))
UNION ALL
SELECT 1, id, sold_at, currency_code, retailer_name, status, order_value, cashback, payout_id, updated_at, synced_at, _version, _deleted
FROM transactions_delta_0000000000004000800000000000a11e;

-- countTouched
SELECT countIf(sign = -1),
    countIf(payout_id IS NOT NULL),
    countIf(sign = -1 AND payout_id IS NOT NULL AND (id, assumeNotNull(payout_id)) NOT IN
        (SELECT id, assumeNotNull(payout_id) FROM transactions_changed_0000000000004000800000000000a11e WHERE sign = 1 AND payout_id IS NOT NULL)),
    (SELECT count() FROM payout_moves_latest FINAL WHERE account = {account:String} AND id IN (SELECT id FROM transactions_delta_0000000000004000800000000000a11e))
FROM transactions_changed_0000000000004000800000000000a11e;

-- createMoves
CREATE TABLE IF NOT EXISTS transactions_moves_0000000000004000800000000000a11e AS transactions_latest COMMENT 'What a run under way is about to publish';

-- copyDelta
INSERT INTO transactions_moves_0000000000004000800000000000a11e SELECT * FROM transactions_delta_0000000000004000800000000000a11e;

-- insertMarks
INSERT INTO transactions_moves_0000000000004000800000000000a11e (account, id, sold_at, synced_at, _version, _deleted, _run_id)
SELECT account, id, sold_at, fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _version + 1, 2, {run:UUID}
FROM transactions_latest FINAL
WHERE account = {account:String} AND ((sold_at, id) IN (SELECT position, id FROM transactions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2) AND moved AND position IS NOT NULL)
        OR sold_at IS NULL AND id IN (SELECT id FROM transactions_changes_0000000000004000800000000000a11e WHERE change IN (1, 2) AND moved AND position IS NULL));

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
SETTINGS index_granularity = 512
COMMENT 'Storage beside transactions_latest: what a run compares its rows with';

-- dropDelta of transactions_keys
DROP TABLE IF EXISTS transactions_keys_delta_0000000000004000800000000000a11e;

-- createDelta transactions_keys
CREATE TABLE IF NOT EXISTS transactions_keys_delta_0000000000004000800000000000a11e AS transactions_keys COMMENT 'What a run under way is about to publish';

-- dropTable transactions_keys
DROP TABLE IF EXISTS transactions_keys_delta_0000000000004000800000000000a11e SYNC;

-- countRows transactions_keys
SELECT count() FROM transactions_keys_delta_0000000000004000800000000000a11e;

-- fill, the first load: true, transactions_keys
INSERT INTO transactions_keys_delta_0000000000004000800000000000a11e (account, id, sold_at, _hash, _version, _deleted, _ahead)
SELECT account, id, sold_at, _hash, _version, _deleted, ifNull(greatest(toUnixTimestamp64Milli(updated_at), 0) - toInt64(bitShiftRight(_version, 64)), 0)
FROM transactions_delta_0000000000004000800000000000a11e;

-- fill, the first load: false, transactions_keys
INSERT INTO transactions_keys_delta_0000000000004000800000000000a11e (account, id, sold_at, _hash, _version, _deleted, _ahead)
SELECT account, id, sold_at, _hash, _version, _deleted, ifNull(greatest(toUnixTimestamp64Milli(updated_at), 0) - toInt64(bitShiftRight(_version, 64)), 0)
FROM transactions_delta_0000000000004000800000000000a11e;

-- rebuild transactions_keys
INSERT INTO transactions_keys_delta_0000000000004000800000000000a11e (account, id, sold_at, _hash, _version, _deleted, _ahead)
SELECT account, id, sold_at, _hash, _version, _deleted, ifNull(greatest(toUnixTimestamp64Milli(updated_at), 0) - toInt64(bitShiftRight(_version, 64)), 0)
FROM transactions_latest FINAL
WHERE account = {account:String} AND _deleted != 2;

-- attachDerived transactions_keys
ALTER TABLE transactions_keys ATTACH PARTITION 'acme' FROM transactions_keys_delta_0000000000004000800000000000a11e;

-- replaceDerived transactions_keys
ALTER TABLE transactions_keys REPLACE PARTITION 'acme' FROM transactions_keys_delta_0000000000004000800000000000a11e;

-- dropDerived transactions_keys
ALTER TABLE transactions_keys DROP PARTITION 'acme';

-- compareDerived transactions_keys
SELECT
    (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM transactions_keys FINAL WHERE account = {account:String}))
    = (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM transactions_keys_delta_0000000000004000800000000000a11e FINAL WHERE account = {account:String}));

-- countSame transactions_keys
SELECT uniqExact(sipHash128(toString(tuple(*)))) FROM transactions_keys WHERE (account, id) IN (SELECT account, id FROM transactions_keys_delta_0000000000004000800000000000a11e) AND sipHash128(toString(tuple(*))) IN (SELECT sipHash128(toString(tuple(*))) FROM transactions_keys_delta_0000000000004000800000000000a11e);

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
COMMENT 'The storage behind transaction_decisions: what would have to be computed from all versions';

-- dropDelta of transactions_decided
DROP TABLE IF EXISTS transactions_decided_delta_0000000000004000800000000000a11e;

-- createDelta transactions_decided
CREATE TABLE IF NOT EXISTS transactions_decided_delta_0000000000004000800000000000a11e AS transactions_decided COMMENT 'What a run under way is about to publish';

-- dropTable transactions_decided
DROP TABLE IF EXISTS transactions_decided_delta_0000000000004000800000000000a11e SYNC;

-- countRows transactions_decided
SELECT count() FROM transactions_decided_delta_0000000000004000800000000000a11e;

-- fill, the first load: false, transactions_decided
INSERT INTO transactions_decided_delta_0000000000004000800000000000a11e (account, id, retailer_id, currency_code, clicked_at, sold_at, confirmed_at, declined_at, version, _run_id)
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
FROM transactions_delta_0000000000004000800000000000a11e AS d
INNER JOIN
(
    SELECT id, minIf(updated_at, status = 'PENDING') AS pending, minIf(updated_at, status = 'CONFIRMED') AS confirmed,
        minIf(updated_at, status = 'DECLINED') AS declined
    FROM transactions_versions
    WHERE account = {account:String} AND id IN (SELECT id FROM transactions_delta_0000000000004000800000000000a11e)
    GROUP BY id
) AS v ON d.id = v.id
WHERE first_confirmed > first_pending OR first_declined > first_pending;

-- touched transactions_decided
SELECT countIf(sign = -1)
FROM transactions_changed_0000000000004000800000000000a11e;

-- rebuild transactions_decided
INSERT INTO transactions_decided_delta_0000000000004000800000000000a11e (account, id, retailer_id, currency_code, clicked_at, sold_at, confirmed_at, declined_at, version, _run_id)
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
ALTER TABLE transactions_decided ATTACH PARTITION 'acme' FROM transactions_decided_delta_0000000000004000800000000000a11e;

-- replaceDerived transactions_decided
ALTER TABLE transactions_decided REPLACE PARTITION 'acme' FROM transactions_decided_delta_0000000000004000800000000000a11e;

-- dropDerived transactions_decided
ALTER TABLE transactions_decided DROP PARTITION 'acme';

-- compareDerived transactions_decided
SELECT
    (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM transactions_decided FINAL WHERE account = {account:String}))
    = (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM transactions_decided_delta_0000000000004000800000000000a11e FINAL WHERE account = {account:String}));

-- countSame transactions_decided
SELECT uniqExact(sipHash128(toString(tuple(*)))) FROM transactions_decided WHERE (account, id) IN (SELECT account, id FROM transactions_decided_delta_0000000000004000800000000000a11e) AND sipHash128(toString(tuple(*))) IN (SELECT sipHash128(toString(tuple(*))) FROM transactions_decided_delta_0000000000004000800000000000a11e);

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
COMMENT 'Which records of other streams are named by transactions, in any of their versions';

-- dropDelta of transactions_named
DROP TABLE IF EXISTS transactions_named_delta_0000000000004000800000000000a11e;

-- createDelta transactions_named
CREATE TABLE IF NOT EXISTS transactions_named_delta_0000000000004000800000000000a11e AS transactions_named COMMENT 'What a run under way is about to publish';

-- dropTable transactions_named
DROP TABLE IF EXISTS transactions_named_delta_0000000000004000800000000000a11e SYNC;

-- countRows transactions_named
SELECT count() FROM transactions_named_delta_0000000000004000800000000000a11e;

-- fill, the first load: true, transactions_named
INSERT INTO transactions_named_delta_0000000000004000800000000000a11e (account, stream, key, newest, named_at, _run_id)
SELECT {account:String}, 'payouts', toString(assumeNotNull(payout_id)), max(updated_at), min(synced_at), {run:UUID}
FROM transactions_delta_0000000000004000800000000000a11e WHERE payout_id IS NOT NULL GROUP BY payout_id
UNION ALL
SELECT {account:String}, 'cashback_offers', toString(assumeNotNull(cashback_offer_id)), max(updated_at), min(synced_at), {run:UUID}
FROM transactions_delta_0000000000004000800000000000a11e WHERE cashback_offer_id IS NOT NULL GROUP BY cashback_offer_id
UNION ALL
SELECT {account:String}, 'coupons', toString(assumeNotNull(coupon_id)), max(updated_at), min(synced_at), {run:UUID}
FROM transactions_delta_0000000000004000800000000000a11e WHERE coupon_id IS NOT NULL GROUP BY coupon_id
UNION ALL
SELECT {account:String}, 'promotions', toString(assumeNotNull(promotion_id)), max(updated_at), min(synced_at), {run:UUID}
FROM transactions_delta_0000000000004000800000000000a11e WHERE promotion_id IS NOT NULL GROUP BY promotion_id;

-- fill, the first load: false, transactions_named
INSERT INTO transactions_named_delta_0000000000004000800000000000a11e (account, stream, key, newest, named_at, _run_id)
SELECT {account:String}, named.1, assumeNotNull(named.2), max(updated_at), min(synced_at), {run:UUID}
FROM transactions_delta_0000000000004000800000000000a11e
ARRAY JOIN [('payouts', toString(payout_id)), ('cashback_offers', toString(cashback_offer_id)), ('coupons', toString(coupon_id)), ('promotions', toString(promotion_id))] AS named
WHERE named.2 IS NOT NULL
GROUP BY named;

-- rebuild transactions_named
INSERT INTO transactions_named_delta_0000000000004000800000000000a11e (account, stream, key, newest, named_at, _run_id)
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
ALTER TABLE transactions_named ATTACH PARTITION 'acme' FROM transactions_named_delta_0000000000004000800000000000a11e;

-- replaceDerived transactions_named
ALTER TABLE transactions_named REPLACE PARTITION 'acme' FROM transactions_named_delta_0000000000004000800000000000a11e;

-- dropDerived transactions_named
ALTER TABLE transactions_named DROP PARTITION 'acme';

-- compareDerived transactions_named
SELECT
    (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM transactions_named FINAL WHERE account = {account:String}))
    = (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM transactions_named_delta_0000000000004000800000000000a11e FINAL WHERE account = {account:String}));

-- countSame transactions_named
SELECT uniqExact(sipHash128(toString(tuple(account, stream, key)))) FROM transactions_named WHERE (account, stream, key) IN (SELECT account, stream, key FROM transactions_named_delta_0000000000004000800000000000a11e) AND sipHash128(toString(tuple(account, stream, key))) IN (SELECT sipHash128(toString(tuple(account, stream, key))) FROM transactions_named_delta_0000000000004000800000000000a11e);

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
SETTINGS index_granularity = 1024
COMMENT 'Storage behind the view payout_transactions';

-- dropDelta of payout_transactions_latest
DROP TABLE IF EXISTS payout_transactions_latest_delta_0000000000004000800000000000a11e;

-- createDelta payout_transactions_latest
CREATE TABLE IF NOT EXISTS payout_transactions_latest_delta_0000000000004000800000000000a11e AS payout_transactions_latest COMMENT 'What a run under way is about to publish';

-- dropTable payout_transactions_latest
DROP TABLE IF EXISTS payout_transactions_latest_delta_0000000000004000800000000000a11e SYNC;

-- countRows payout_transactions_latest
SELECT count() FROM payout_transactions_latest_delta_0000000000004000800000000000a11e;

-- fill, the first load: true, payout_transactions_latest
INSERT INTO payout_transactions_latest_delta_0000000000004000800000000000a11e (account, payout_id, id, sold_at, retailer_name, currency_code, state, stamped_status, stamped_order_value, stamped_cashback, stamped_at, stamped_seen_at, stamped_is_first_known, status, order_value, cashback, payout_id_now, currency_code_now, updated_at, turned_at, turned_seen_at, version, _run_id)
SELECT {account:String}, payout_id, id, sold_at, retailer_name, currency_code, state, stamped_status, stamped_order_value, stamped_cashback, stamped_at, stamped_seen_at, stamped_is_first_known, status, order_value, cashback, payout_id_now, currency_code_now, updated_at, turned_at, turned_seen_at, greatest(toUInt64({merged_at:Int64}), 0 + 1), {run:UUID}
FROM (SELECT assumeNotNull(payout_id) AS payout_id, id, sold_at, retailer_name, currency_code, 'same' AS state, status AS stamped_status,
        order_value AS stamped_order_value, cashback AS stamped_cashback, updated_at AS stamped_at, synced_at AS stamped_seen_at,
        1 AS stamped_is_first_known, status, order_value, cashback, transactions.payout_id AS payout_id_now,
        currency_code AS currency_code_now, updated_at, updated_at AS turned_at, synced_at AS turned_seen_at
    FROM transactions_delta_0000000000004000800000000000a11e AS transactions WHERE transactions.payout_id IS NOT NULL AND _deleted = 0);

-- fill, the first load: false, payout_transactions_latest
INSERT INTO payout_transactions_latest_delta_0000000000004000800000000000a11e (account, payout_id, id, sold_at, retailer_name, currency_code, state, stamped_status, stamped_order_value, stamped_cashback, stamped_at, stamped_seen_at, stamped_is_first_known, status, order_value, cashback, payout_id_now, currency_code_now, updated_at, turned_at, turned_seen_at, version, _run_id)
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
            SELECT assumeNotNull(payout_id), id FROM transactions_changed_0000000000004000800000000000a11e WHERE sign = -1 AND payout_id IS NOT NULL
            UNION ALL
            SELECT arrayJoin(payout_ids), id FROM payout_moves_latest FINAL WHERE account = {account:String} AND id IN (SELECT id FROM transactions_delta_0000000000004000800000000000a11e)
        )
        UNION ALL
        SELECT *, false, 0 FROM (SELECT assumeNotNull(payout_id) AS payout_id, id, sold_at, retailer_name, currency_code, 'same' AS state, status AS stamped_status,
        order_value AS stamped_order_value, cashback AS stamped_cashback, updated_at AS stamped_at, synced_at AS stamped_seen_at,
        1 AS stamped_is_first_known, status, order_value, cashback, transactions.payout_id AS payout_id_now,
        currency_code AS currency_code_now, updated_at, updated_at AS turned_at, synced_at AS turned_seen_at
    FROM transactions_changed_0000000000004000800000000000a11e AS transactions WHERE sign = 1 AND transactions.payout_id IS NOT NULL AND _deleted = 0)
    )
    ORDER BY known DESC
    LIMIT 1 BY payout_id, id
) AS m
INNER JOIN (SELECT * FROM transactions_changed_0000000000004000800000000000a11e WHERE sign = 1) AS n ON m.id = n.id
LEFT JOIN (SELECT *, true AS known FROM transactions_changed_0000000000004000800000000000a11e WHERE sign = -1) AS o ON m.id = o.id;

-- touched payout_transactions_latest
SELECT countIf(payout_id IS NOT NULL),
    countIf(sign = -1 AND payout_id IS NOT NULL AND (id, assumeNotNull(payout_id)) NOT IN
        (SELECT id, assumeNotNull(payout_id) FROM transactions_changed_0000000000004000800000000000a11e WHERE sign = 1 AND payout_id IS NOT NULL)),
    (SELECT count() FROM payout_moves_latest FINAL WHERE account = {account:String} AND id IN (SELECT id FROM transactions_delta_0000000000004000800000000000a11e))
FROM transactions_changed_0000000000004000800000000000a11e;

-- rebuild payout_transactions_latest
INSERT INTO payout_transactions_latest_delta_0000000000004000800000000000a11e (account, payout_id, id, sold_at, retailer_name, currency_code, state, stamped_status, stamped_order_value, stamped_cashback, stamped_at, stamped_seen_at, stamped_is_first_known, status, order_value, cashback, payout_id_now, currency_code_now, updated_at, turned_at, turned_seen_at, version, _run_id)
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
ALTER TABLE payout_transactions_latest ATTACH PARTITION 'acme' FROM payout_transactions_latest_delta_0000000000004000800000000000a11e;

-- replaceDerived payout_transactions_latest
ALTER TABLE payout_transactions_latest REPLACE PARTITION 'acme' FROM payout_transactions_latest_delta_0000000000004000800000000000a11e;

-- dropDerived payout_transactions_latest
ALTER TABLE payout_transactions_latest DROP PARTITION 'acme';

-- compareDerived payout_transactions_latest
SELECT
    (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM payout_transactions_latest FINAL WHERE account = {account:String} AND NOT (state = '')))
    = (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM payout_transactions_latest_delta_0000000000004000800000000000a11e FINAL WHERE account = {account:String} AND NOT (state = '')));

-- countSame payout_transactions_latest
SELECT uniqExact(sipHash128(toString(tuple(*)))) FROM payout_transactions_latest WHERE (account, payout_id, id) IN (SELECT account, payout_id, id FROM payout_transactions_latest_delta_0000000000004000800000000000a11e) AND sipHash128(toString(tuple(*))) IN (SELECT sipHash128(toString(tuple(*))) FROM payout_transactions_latest_delta_0000000000004000800000000000a11e);

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
SETTINGS index_granularity = 1024
COMMENT 'Which payouts the transactions carried that do not carry one alone';

-- dropDelta of payout_moves_latest
DROP TABLE IF EXISTS payout_moves_latest_delta_0000000000004000800000000000a11e;

-- createDelta payout_moves_latest
CREATE TABLE IF NOT EXISTS payout_moves_latest_delta_0000000000004000800000000000a11e AS payout_moves_latest COMMENT 'What a run under way is about to publish';

-- dropTable payout_moves_latest
DROP TABLE IF EXISTS payout_moves_latest_delta_0000000000004000800000000000a11e SYNC;

-- countRows payout_moves_latest
SELECT count() FROM payout_moves_latest_delta_0000000000004000800000000000a11e;

-- fill, the first load: false, payout_moves_latest
INSERT INTO payout_moves_latest_delta_0000000000004000800000000000a11e (account, id, payout_ids, version, _run_id)
SELECT {account:String}, id, if(max(astray), arraySort(groupArrayIf(payout_id, member)), []), greatest(toUInt64({merged_at:Int64}), max(stored) + 1), {run:UUID}
FROM
(
    SELECT id, payout_id, payout_id_now IS DISTINCT FROM payout_id AS astray, true AS member, toUInt64(0) AS stored FROM payout_transactions_latest_delta_0000000000004000800000000000a11e
    UNION ALL
    SELECT id, 0, false AS astray, false AS member, version FROM payout_moves_latest FINAL WHERE account = {account:String} AND id IN (SELECT id FROM payout_transactions_latest_delta_0000000000004000800000000000a11e)
)
GROUP BY id
HAVING max(astray) OR max(NOT member);

-- touched payout_moves_latest
SELECT countIf(sign = -1 AND payout_id IS NOT NULL AND (id, assumeNotNull(payout_id)) NOT IN
        (SELECT id, assumeNotNull(payout_id) FROM transactions_changed_0000000000004000800000000000a11e WHERE sign = 1 AND payout_id IS NOT NULL)),
    (SELECT count() FROM payout_moves_latest FINAL WHERE account = {account:String} AND id IN (SELECT id FROM transactions_delta_0000000000004000800000000000a11e))
FROM transactions_changed_0000000000004000800000000000a11e;

-- rebuild payout_moves_latest
INSERT INTO payout_moves_latest_delta_0000000000004000800000000000a11e (account, id, payout_ids, version, _run_id)
SELECT {account:String}, id, payout_ids, greatest(toUInt64({merged_at:Int64}), 0 + 1), {run:UUID}
FROM (SELECT id, arraySort(groupArray(payout_id)) AS payout_ids
FROM payout_transactions_latest FINAL
WHERE account = {account:String} AND state != '' AND id IN
(
    SELECT id FROM payout_transactions_latest FINAL WHERE account = {account:String} AND state != '' AND (payout_id_now IS DISTINCT FROM payout_id)
)
GROUP BY id);

-- attachDerived payout_moves_latest
ALTER TABLE payout_moves_latest ATTACH PARTITION 'acme' FROM payout_moves_latest_delta_0000000000004000800000000000a11e;

-- replaceDerived payout_moves_latest
ALTER TABLE payout_moves_latest REPLACE PARTITION 'acme' FROM payout_moves_latest_delta_0000000000004000800000000000a11e;

-- dropDerived payout_moves_latest
ALTER TABLE payout_moves_latest DROP PARTITION 'acme';

-- compareDerived payout_moves_latest
SELECT
    (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM payout_moves_latest FINAL WHERE account = {account:String} AND NOT (empty(payout_ids))))
    = (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM payout_moves_latest_delta_0000000000004000800000000000a11e FINAL WHERE account = {account:String} AND NOT (empty(payout_ids))));

-- countSame payout_moves_latest
SELECT uniqExact(sipHash128(toString(tuple(*)))) FROM payout_moves_latest WHERE (account, id) IN (SELECT account, id FROM payout_moves_latest_delta_0000000000004000800000000000a11e) AND sipHash128(toString(tuple(*))) IN (SELECT sipHash128(toString(tuple(*))) FROM payout_moves_latest_delta_0000000000004000800000000000a11e);

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
SETTINGS index_granularity = 1024
COMMENT 'Storage behind the view payout_sums';

-- dropDelta of payout_sums_latest
DROP TABLE IF EXISTS payout_sums_latest_delta_0000000000004000800000000000a11e;

-- createDelta payout_sums_latest
CREATE TABLE IF NOT EXISTS payout_sums_latest_delta_0000000000004000800000000000a11e AS payout_sums_latest COMMENT 'What a run under way is about to publish';

-- dropTable payout_sums_latest
DROP TABLE IF EXISTS payout_sums_latest_delta_0000000000004000800000000000a11e SYNC;

-- countRows payout_sums_latest
SELECT count() FROM payout_sums_latest_delta_0000000000004000800000000000a11e;

-- fill, the first load: true, payout_sums_latest
INSERT INTO payout_sums_latest_delta_0000000000004000800000000000a11e (account, payout_id, quarters, currency_code, state, stamped_status, now_status, stamped_n, stamped_gmv, stamped_cashback, now_n, now_gmv, now_cashback, at_stake, version, _run_id)
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
    FROM payout_transactions_latest_delta_0000000000004000800000000000a11e AS m)
)
GROUP BY payout_id, quarters, currency_code, state, stamped_status, now_status;

-- fill, the first load: false, payout_sums_latest
INSERT INTO payout_sums_latest_delta_0000000000004000800000000000a11e (account, payout_id, quarters, currency_code, state, stamped_status, now_status, stamped_n, stamped_gmv, stamped_cashback, now_n, now_gmv, now_cashback, at_stake, version, _run_id)
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
            SELECT 1 AS sign, * FROM payout_transactions_latest_delta_0000000000004000800000000000a11e
            UNION ALL
            SELECT -1, * FROM payout_transactions_latest FINAL
            WHERE account = {account:String} AND state != '' AND (payout_id, id) IN (SELECT payout_id, id FROM payout_transactions_latest_delta_0000000000004000800000000000a11e)
        ) AS m)
    UNION ALL
    SELECT payout_id, quarters, currency_code, state, stamped_status, now_status, stamped_n, stamped_gmv, stamped_cashback, now_n, now_gmv, now_cashback, at_stake, version
    FROM payout_sums_latest FINAL
    WHERE account = {account:String} AND payout_id IN (SELECT payout_id FROM payout_transactions_latest_delta_0000000000004000800000000000a11e)
)
GROUP BY payout_id, quarters, currency_code, state, stamped_status, now_status
HAVING min(version) = 0;

-- touched payout_sums_latest
SELECT countIf(payout_id IS NOT NULL),
    countIf(sign = -1 AND payout_id IS NOT NULL AND (id, assumeNotNull(payout_id)) NOT IN
        (SELECT id, assumeNotNull(payout_id) FROM transactions_changed_0000000000004000800000000000a11e WHERE sign = 1 AND payout_id IS NOT NULL)),
    (SELECT count() FROM payout_moves_latest FINAL WHERE account = {account:String} AND id IN (SELECT id FROM transactions_delta_0000000000004000800000000000a11e))
FROM transactions_changed_0000000000004000800000000000a11e;

-- rebuild payout_sums_latest
INSERT INTO payout_sums_latest_delta_0000000000004000800000000000a11e (account, payout_id, quarters, currency_code, state, stamped_status, now_status, stamped_n, stamped_gmv, stamped_cashback, now_n, now_gmv, now_cashback, at_stake, version, _run_id)
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
ALTER TABLE payout_sums_latest ATTACH PARTITION 'acme' FROM payout_sums_latest_delta_0000000000004000800000000000a11e;

-- replaceDerived payout_sums_latest
ALTER TABLE payout_sums_latest REPLACE PARTITION 'acme' FROM payout_sums_latest_delta_0000000000004000800000000000a11e;

-- dropDerived payout_sums_latest
ALTER TABLE payout_sums_latest DROP PARTITION 'acme';

-- compareDerived payout_sums_latest
SELECT
    (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM payout_sums_latest FINAL WHERE account = {account:String} AND NOT (stamped_n = 0)))
    = (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM payout_sums_latest_delta_0000000000004000800000000000a11e FINAL WHERE account = {account:String} AND NOT (stamped_n = 0)));

-- countSame payout_sums_latest
SELECT uniqExact(sipHash128(toString(tuple(*)))) FROM payout_sums_latest WHERE (account, payout_id, quarters, currency_code, state, stamped_status, now_status) IN (SELECT account, payout_id, quarters, currency_code, state, stamped_status, now_status FROM payout_sums_latest_delta_0000000000004000800000000000a11e) AND sipHash128(toString(tuple(*))) IN (SELECT sipHash128(toString(tuple(*))) FROM payout_sums_latest_delta_0000000000004000800000000000a11e);

-- attachDelta transactions_delta_0000000000004000800000000000a11e to transactions_latest
ALTER TABLE transactions_latest ATTACH PARTITION ALL FROM transactions_delta_0000000000004000800000000000a11e;

-- countOfRun in transactions_latest
SELECT count() FROM transactions_latest WHERE account = {account:String} AND _run_id = {run:UUID};

-- selectMonths of transactions_latest
SELECT _partition_id AS month, month NOT IN
    (SELECT _partition_id FROM transactions_latest WHERE account = {account:String} AND _run_id = {run:UUID})
FROM transactions_delta_0000000000004000800000000000a11e
GROUP BY month;

-- attachMonth of transactions_latest
ALTER TABLE transactions_latest ATTACH PARTITION ID '202601' FROM transactions_delta_0000000000004000800000000000a11e;

-- attachDelta transactions_moves_0000000000004000800000000000a11e to transactions_latest
ALTER TABLE transactions_latest ATTACH PARTITION ALL FROM transactions_moves_0000000000004000800000000000a11e;

-- countOfRun in transactions_latest
SELECT count() FROM transactions_latest WHERE account = {account:String} AND _run_id = {run:UUID};

-- selectMonths of transactions_latest
SELECT _partition_id AS month, month NOT IN
    (SELECT _partition_id FROM transactions_latest WHERE account = {account:String} AND _run_id = {run:UUID})
FROM transactions_moves_0000000000004000800000000000a11e
GROUP BY month;

-- attachMonth of transactions_latest
ALTER TABLE transactions_latest ATTACH PARTITION ID '202601' FROM transactions_moves_0000000000004000800000000000a11e;

-- attachDelta transactions_delta_0000000000004000800000000000a11e to transactions_versions
ALTER TABLE transactions_versions ATTACH PARTITION ALL FROM transactions_delta_0000000000004000800000000000a11e;

-- countOfRun in transactions_versions
SELECT count() FROM transactions_versions WHERE account = {account:String} AND _run_id = {run:UUID};

-- selectMonths of transactions_versions
SELECT _partition_id AS month, month NOT IN
    (SELECT _partition_id FROM transactions_versions WHERE account = {account:String} AND _run_id = {run:UUID})
FROM transactions_delta_0000000000004000800000000000a11e
GROUP BY month;

-- attachMonth of transactions_versions
ALTER TABLE transactions_versions ATTACH PARTITION ID '202601' FROM transactions_delta_0000000000004000800000000000a11e;

-- selectParts
SELECT table, hash_of_all_files, rows FROM system.parts
WHERE active AND database IN (currentDatabase(), currentDatabase()) AND table IN ({tables:Array(String)})
UNION ALL
SELECT name, '', 0 FROM system.tables WHERE database = currentDatabase() AND name IN ({deltas:Array(String)});

-- countKeys
SELECT 'transactions_latest' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, sold_at, id) AS this, lagInFrame(this) OVER (ORDER BY account, sold_at, id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM transactions_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'transactions_keys' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, id) AS this, lagInFrame(this) OVER (ORDER BY account, id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM transactions_keys_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'transactions_decided' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, id) AS this, lagInFrame(this) OVER (ORDER BY account, id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM transactions_decided_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'transactions_named' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, stream, key) AS this, lagInFrame(this) OVER (ORDER BY account, stream, key ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM transactions_named_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'payout_transactions_latest' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, payout_id, id) AS this, lagInFrame(this) OVER (ORDER BY account, payout_id, id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM payout_transactions_latest_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'payout_moves_latest' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, id) AS this, lagInFrame(this) OVER (ORDER BY account, id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM payout_moves_latest_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'payout_sums_latest' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, payout_id, quarters, currency_code, state, stamped_status, now_status) AS this, lagInFrame(this) OVER (ORDER BY account, payout_id, quarters, currency_code, state, stamped_status, now_status ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM payout_sums_latest_delta_0000000000004000800000000000a11e);

-- countFewKeys
SELECT table, count() AS rows, uniqExact(key) AS keys, toUInt64(uniqExact(part) - uniqExact(partition) + 1) AS parts
FROM
(
SELECT 'transactions_latest' AS table, toString(tuple(account, sold_at, id)) AS key, _part AS part, _partition_id AS partition FROM transactions_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_keys' AS table, toString(tuple(account, id)) AS key, _part AS part, _partition_id AS partition FROM transactions_keys_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_decided' AS table, toString(tuple(account, id)) AS key, _part AS part, _partition_id AS partition FROM transactions_decided_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'transactions_named' AS table, toString(tuple(account, stream, key)) AS key, _part AS part, _partition_id AS partition FROM transactions_named_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'payout_transactions_latest' AS table, toString(tuple(account, payout_id, id)) AS key, _part AS part, _partition_id AS partition FROM payout_transactions_latest_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'payout_moves_latest' AS table, toString(tuple(account, id)) AS key, _part AS part, _partition_id AS partition FROM payout_moves_latest_delta_0000000000004000800000000000a11e
UNION ALL SELECT 'payout_sums_latest' AS table, toString(tuple(account, payout_id, quarters, currency_code, state, stamped_status, now_status)) AS key, _part AS part, _partition_id AS partition FROM payout_sums_latest_delta_0000000000004000800000000000a11e
)
GROUP BY table;

-- dropDelta of what is prepared
DROP TABLE IF EXISTS transactions_delta_0000000000004000800000000000a11e, transactions_moves_0000000000004000800000000000a11e, transactions_changed_0000000000004000800000000000a11e, transactions_keys_delta_0000000000004000800000000000a11e, transactions_decided_delta_0000000000004000800000000000a11e, transactions_named_delta_0000000000004000800000000000a11e, payout_transactions_latest_delta_0000000000004000800000000000a11e, payout_moves_latest_delta_0000000000004000800000000000a11e, payout_sums_latest_delta_0000000000004000800000000000a11e;

-- dropTable of what is prepared
DROP TABLE IF EXISTS transactions_delta_0000000000004000800000000000a11e, transactions_moves_0000000000004000800000000000a11e, transactions_changed_0000000000004000800000000000a11e, transactions_keys_delta_0000000000004000800000000000a11e, transactions_decided_delta_0000000000004000800000000000a11e, transactions_named_delta_0000000000004000800000000000a11e, payout_transactions_latest_delta_0000000000004000800000000000a11e, payout_moves_latest_delta_0000000000004000800000000000a11e, payout_sums_latest_delta_0000000000004000800000000000a11e SYNC;

-- dropTable transactions_changes_0000000000004000800000000000a11e
DROP TABLE IF EXISTS transactions_changes_0000000000004000800000000000a11e SYNC;

-- dropTable transactions_delta_0000000000004000800000000000a11e
DROP TABLE IF EXISTS transactions_delta_0000000000004000800000000000a11e SYNC;

-- dropTable transactions_moves_0000000000004000800000000000a11e
DROP TABLE IF EXISTS transactions_moves_0000000000004000800000000000a11e SYNC;

-- dropStaged transactions_staging
ALTER TABLE transactions_staging DROP PARTITION '00000000-0000-4000-8000-00000000a11e';

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
    SELECT toString(id) AS key, if(_extra = '', toJSONString(CAST(tuple(id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id), 'Tuple(`id` UUID, `country` LowCardinality(String), `activatedAt` Nullable(DateTime64(3, \'UTC\')), `clickedAt` Nullable(DateTime64(3, \'UTC\')), `soldAt` Nullable(DateTime64(3, \'UTC\')), `updatedAt` Nullable(DateTime64(3, \'UTC\')), `currencyCode` LowCardinality(String), `orderValue` Nullable(Decimal(18, 4)), `cashback` Nullable(Decimal(18, 4)), `status` LowCardinality(String), `passbackUid` String, `retailerId` Nullable(UUID), `retailerName` LowCardinality(String), `retailerLogo` String, `payoutId` Nullable(Int64), `passbackData` String, `cashbackOfferId` Nullable(UUID), `couponId` Nullable(UUID), `promotionId` Nullable(UUID))')), concat(substring(toJSONString(CAST(tuple(id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id), 'Tuple(`id` UUID, `country` LowCardinality(String), `activatedAt` Nullable(DateTime64(3, \'UTC\')), `clickedAt` Nullable(DateTime64(3, \'UTC\')), `soldAt` Nullable(DateTime64(3, \'UTC\')), `updatedAt` Nullable(DateTime64(3, \'UTC\')), `currencyCode` LowCardinality(String), `orderValue` Nullable(Decimal(18, 4)), `cashback` Nullable(Decimal(18, 4)), `status` LowCardinality(String), `passbackUid` String, `retailerId` Nullable(UUID), `retailerName` LowCardinality(String), `retailerLogo` String, `payoutId` Nullable(Int64), `passbackData` String, `cashbackOfferId` Nullable(UUID), `couponId` Nullable(UUID), `promotionId` Nullable(UUID))')), 1, length(toJSONString(CAST(tuple(id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id), 'Tuple(`id` UUID, `country` LowCardinality(String), `activatedAt` Nullable(DateTime64(3, \'UTC\')), `clickedAt` Nullable(DateTime64(3, \'UTC\')), `soldAt` Nullable(DateTime64(3, \'UTC\')), `updatedAt` Nullable(DateTime64(3, \'UTC\')), `currencyCode` LowCardinality(String), `orderValue` Nullable(Decimal(18, 4)), `cashback` Nullable(Decimal(18, 4)), `status` LowCardinality(String), `passbackUid` String, `retailerId` Nullable(UUID), `retailerName` LowCardinality(String), `retailerLogo` String, `payoutId` Nullable(Int64), `passbackData` String, `cashbackOfferId` Nullable(UUID), `couponId` Nullable(UUID), `promotionId` Nullable(UUID))'))) - 1), ',', substring(_extra, 2))) AS record, _run_id AS run, toInt64(bitAnd(_version, toUInt128(18446744073709551615))) AS read, ifNull(toUnixTimestamp64Milli(updated_at), 0) AS updated
    FROM transactions_latest FINAL
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
    SELECT toString(id) AS key, if(_extra = '', toJSONString(CAST(tuple(id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id), 'Tuple(`id` UUID, `country` LowCardinality(String), `activatedAt` Nullable(DateTime64(3, \'UTC\')), `clickedAt` Nullable(DateTime64(3, \'UTC\')), `soldAt` Nullable(DateTime64(3, \'UTC\')), `updatedAt` Nullable(DateTime64(3, \'UTC\')), `currencyCode` LowCardinality(String), `orderValue` Nullable(Decimal(18, 4)), `cashback` Nullable(Decimal(18, 4)), `status` LowCardinality(String), `passbackUid` String, `retailerId` Nullable(UUID), `retailerName` LowCardinality(String), `retailerLogo` String, `payoutId` Nullable(Int64), `passbackData` String, `cashbackOfferId` Nullable(UUID), `couponId` Nullable(UUID), `promotionId` Nullable(UUID))')), concat(substring(toJSONString(CAST(tuple(id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id), 'Tuple(`id` UUID, `country` LowCardinality(String), `activatedAt` Nullable(DateTime64(3, \'UTC\')), `clickedAt` Nullable(DateTime64(3, \'UTC\')), `soldAt` Nullable(DateTime64(3, \'UTC\')), `updatedAt` Nullable(DateTime64(3, \'UTC\')), `currencyCode` LowCardinality(String), `orderValue` Nullable(Decimal(18, 4)), `cashback` Nullable(Decimal(18, 4)), `status` LowCardinality(String), `passbackUid` String, `retailerId` Nullable(UUID), `retailerName` LowCardinality(String), `retailerLogo` String, `payoutId` Nullable(Int64), `passbackData` String, `cashbackOfferId` Nullable(UUID), `couponId` Nullable(UUID), `promotionId` Nullable(UUID))')), 1, length(toJSONString(CAST(tuple(id, country, activated_at, clicked_at, sold_at, updated_at, currency_code, order_value, cashback, status, passback_uid, retailer_id, retailer_name, retailer_logo, payout_id, passback_data, cashback_offer_id, coupon_id, promotion_id), 'Tuple(`id` UUID, `country` LowCardinality(String), `activatedAt` Nullable(DateTime64(3, \'UTC\')), `clickedAt` Nullable(DateTime64(3, \'UTC\')), `soldAt` Nullable(DateTime64(3, \'UTC\')), `updatedAt` Nullable(DateTime64(3, \'UTC\')), `currencyCode` LowCardinality(String), `orderValue` Nullable(Decimal(18, 4)), `cashback` Nullable(Decimal(18, 4)), `status` LowCardinality(String), `passbackUid` String, `retailerId` Nullable(UUID), `retailerName` LowCardinality(String), `retailerLogo` String, `payoutId` Nullable(Int64), `passbackData` String, `cashbackOfferId` Nullable(UUID), `couponId` Nullable(UUID), `promotionId` Nullable(UUID))'))) - 1), ',', substring(_extra, 2))) AS record, _run_id AS run, toInt64(bitAnd(_version, toUInt128(18446744073709551615))) AS read, ifNull(toUnixTimestamp64Milli(updated_at), 0) AS updated
    FROM transactions_latest FINAL
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
ALTER TABLE sync_state_log DELETE WHERE account = 'acme' AND stream = 'transactions' AND name IN ('', 'a', 'b') AND value != '';

-- deleteCleared, that they were cleared
ALTER TABLE sync_state_log DELETE WHERE account = 'acme' AND stream = 'transactions' AND name IN ('', 'a', 'b') AND value = '';

-- inspectDelta, with earlier versions: false
SELECT groupArrayIf(20)(toString(id), _deleted = 0),
    countIf(payout_id IS NOT NULL),
    sumIf(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8))), _deleted = 0),
    (SELECT sumIf(now, change IN (1, 2)) FROM transactions_changes_0000000000004000800000000000a11e),
    (SELECT sumIf(was, change IN (1, 2) OR change = 3) FROM transactions_changes_0000000000004000800000000000a11e),
    countIf(_deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), _extra, country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, passback_uid, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000')))),
    anyIf(toString(id), _deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), _extra, country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, passback_uid, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000')))),
    countIf(_deleted = 0 AND ifNull(updated_at > now64(3, 'UTC') + toIntervalSecond(3600), false)),
    anyIf(toString(id), _deleted = 0 AND ifNull(updated_at > now64(3, 'UTC') + toIntervalSecond(3600), false)),
    countIf(_deleted = 0 AND ifNull((ifNull(order_value < 0, false) OR ifNull(cashback < 0, false)) AND status != 'DECLINED', false)),
    anyIf(toString(id), _deleted = 0 AND ifNull((ifNull(order_value < 0, false) OR ifNull(cashback < 0, false)) AND status != 'DECLINED', false)),
    countIf(_deleted = 0 AND ifNull(status NOT IN ('', 'PENDING', 'CONFIRMED', 'DECLINED') OR status = '', false)),
    anyIf(toString(id), _deleted = 0 AND ifNull(status NOT IN ('', 'PENDING', 'CONFIRMED', 'DECLINED') OR status = '', false))
FROM transactions_delta_0000000000004000800000000000a11e;

-- inspectDelta, with earlier versions: true
SELECT groupArrayIf(20)(toString(id), _deleted = 0),
    countIf(payout_id IS NOT NULL) + (SELECT uniqExact(id) FROM transactions_versions
    WHERE account = {account:String} AND payout_id IS NOT NULL AND id IN (SELECT id FROM transactions_delta_0000000000004000800000000000a11e WHERE payout_id IS NULL)),
    sumIf(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8))), _deleted = 0),
    (SELECT sumIf(now, change IN (1, 2)) FROM transactions_changes_0000000000004000800000000000a11e),
    (SELECT sumIf(was, change IN (1, 2) OR change = 3) FROM transactions_changes_0000000000004000800000000000a11e),
    countIf(_deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), _extra, country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, passback_uid, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000')))),
    anyIf(toString(id), _deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), _extra, country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, passback_uid, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000')))),
    countIf(_deleted = 0 AND ifNull(updated_at > fromUnixTimestamp64Milli({server:Int64}, 'UTC') + toIntervalSecond(3600), false)),
    anyIf(toString(id), _deleted = 0 AND ifNull(updated_at > fromUnixTimestamp64Milli({server:Int64}, 'UTC') + toIntervalSecond(3600), false)),
    countIf(_deleted = 0 AND ifNull((ifNull(order_value < 0, false) OR ifNull(cashback < 0, false)) AND status != 'DECLINED', false)),
    anyIf(toString(id), _deleted = 0 AND ifNull((ifNull(order_value < 0, false) OR ifNull(cashback < 0, false)) AND status != 'DECLINED', false)),
    countIf(_deleted = 0 AND ifNull(status NOT IN ('', 'PENDING', 'CONFIRMED', 'DECLINED') OR status = '', false)),
    anyIf(toString(id), _deleted = 0 AND ifNull(status NOT IN ('', 'PENDING', 'CONFIRMED', 'DECLINED') OR status = '', false))
FROM transactions_delta_0000000000004000800000000000a11e;

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
FROM transactions_delta_0000000000004000800000000000a11e;

-- selectLiveSum
SELECT count(), sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))) FROM transactions_latest FINAL WHERE account = {account:String} AND _deleted = 0;

-- expected, of a large first load
(SELECT sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))) FROM (SELECT *, _version
    FROM transactions_staging FINAL
    WHERE run_id = {run:UUID}) AS s);

-- removed
(SELECT sumIf(was, change IN (1, 2) OR change = 3) FROM transactions_changes_0000000000004000800000000000a11e);

-- selectWritten
SELECT _run_id, count(), sum(cityHash64(id, reinterpretAsUInt64(substring(_hash, 9, 8)))), min(synced_at)
FROM (SELECT DISTINCT id, _version, _hash, _run_id, synced_at FROM transactions_versions WHERE account = {account:String} AND _deleted = 0)
GROUP BY _run_id;

-- selectAltered
SELECT toString(id), toString(_run_id) FROM transactions_latest WHERE account = {account:String} AND _deleted != 2 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(activated_at) + 2 * isNull(clicked_at) + 4 * isNull(sold_at) + 8 * isNull(updated_at) + 16 * isNull(order_value) + 32 * isNull(cashback) + 64 * isNull(retailer_id) + 128 * isNull(payout_id) + 256 * isNull(cashback_offer_id) + 512 * isNull(coupon_id) + 1024 * isNull(promotion_id)), _extra, country, ifNull(reinterpret(activated_at, 'Int64'), 0), ifNull(reinterpret(clicked_at, 'Int64'), 0), ifNull(reinterpret(sold_at, 'Int64'), 0), ifNull(reinterpret(updated_at, 'Int64'), 0), currency_code, ifNull(reinterpret(order_value, 'Int64'), 0), ifNull(reinterpret(cashback, 'Int64'), 0), status, passback_uid, ifNull(retailer_id, toUUID('00000000-0000-0000-0000-000000000000')), retailer_name, retailer_logo, ifNull(payout_id, 0), passback_data, ifNull(cashback_offer_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(coupon_id, toUUID('00000000-0000-0000-0000-000000000000')), ifNull(promotion_id, toUUID('00000000-0000-0000-0000-000000000000'))) LIMIT 100;

-- selectUnknownReferences
SELECT n.stream AS stream, toUUIDOrZero(n.key) AS id
FROM transactions_named AS n
WHERE account = {account:String} AND n.stream IN
    (
        SELECT stream FROM sync_runs_log WHERE account = {account:String} AND stream IN ('promotions', 'coupons', 'cashback_offers') AND outcome = 'success' AND mode NOT IN ('retry', 'references', 'forget') AND started_at <= now64(3, 'UTC') + toIntervalMinute(1)
    )
    AND (stream, id) NOT IN
    (
        SELECT 'promotions', id FROM promotions_latest WHERE account = {account:String}
        UNION ALL SELECT 'coupons', id FROM coupons_latest WHERE account = {account:String}
        UNION ALL SELECT 'cashback_offers', id FROM cashback_offers_latest WHERE account = {account:String}
    )
    AND (stream, id) NOT IN
    (
        SELECT stream, id FROM reference_misses_log
        WHERE account = {account:String} AND asked_at > now64(3) - toIntervalMillisecond({retry:Int64})
            AND asked_at <= now64(3) + toIntervalMillisecond(60000)
    )
GROUP BY stream, id
ORDER BY (stream, id) IN (SELECT stream, id FROM reference_misses_log WHERE account = {account:String}), max(n.newest) DESC, id
LIMIT {limit:UInt64};
