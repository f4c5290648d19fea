-- What is sent for products, rendered for the account acme and the run 00000000-0000-4000-8000-00000000a11e.

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
SETTINGS non_replicated_deduplication_window = 10000, max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1, parts_to_delay_insert = 20000, parts_to_throw_insert = 30000
COMMENT 'Rows of runs under way';

-- createView
CREATE OR REPLACE VIEW products
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
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]'
)
AS SELECT account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at
FROM products_latest FINAL
WHERE _deleted = 0
COMMENT 'Products of the feed, one row each';

-- rehash
ALTER TABLE products_staging MODIFY COLUMN _hash FixedString(16) DEFAULT reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(_nulls, _extra, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating)), 64), toUInt128(xxHash64(_nulls, _extra, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating))), 'FixedString(16)');

-- hashStatements 2
ALTER TABLE products_staging MATERIALIZE COLUMN _hash SETTINGS mutations_sync = 1;

-- hashStatements 3
ALTER TABLE products_staging COMMENT COLUMN _hash 'Hash of the content: equal hashes are equal rows (9f9d97b6)';

-- hashStatements 4
ALTER TABLE products_latest UPDATE _hash = reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(toUInt64(1 * isNull(last_viewed_at) + 2 * isNull(price) + 4 * isNull(rating_value) + 8 * isNull(rating_count) + 16 * isNull(best_rating) + 32 * isNull(worst_rating)), _extra, ifNull(reinterpret(last_viewed_at, 'Int64'), 0), url, name, ifNull(reinterpret(price, 'Int64'), 0), currency_code, brand_name, description, arrayStringConcat(arrayMap(x -> concat(x, '\0'), image_urls)), category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, ifNull(reinterpret(rating_value, 'Int64'), 0), ifNull(rating_count, 0), ifNull(reinterpret(best_rating, 'Int64'), 0), ifNull(reinterpret(worst_rating, 'Int64'), 0))), 64), toUInt128(xxHash64(toUInt64(1 * isNull(last_viewed_at) + 2 * isNull(price) + 4 * isNull(rating_value) + 8 * isNull(rating_count) + 16 * isNull(best_rating) + 32 * isNull(worst_rating)), _extra, ifNull(reinterpret(last_viewed_at, 'Int64'), 0), url, name, ifNull(reinterpret(price, 'Int64'), 0), currency_code, brand_name, description, arrayStringConcat(arrayMap(x -> concat(x, '\0'), image_urls)), category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, ifNull(reinterpret(rating_value, 'Int64'), 0), ifNull(rating_count, 0), ifNull(reinterpret(best_rating, 'Int64'), 0), ifNull(reinterpret(worst_rating, 'Int64'), 0)))), 'FixedString(16)') WHERE _hash != reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(toUInt64(1 * isNull(last_viewed_at) + 2 * isNull(price) + 4 * isNull(rating_value) + 8 * isNull(rating_count) + 16 * isNull(best_rating) + 32 * isNull(worst_rating)), _extra, ifNull(reinterpret(last_viewed_at, 'Int64'), 0), url, name, ifNull(reinterpret(price, 'Int64'), 0), currency_code, brand_name, description, arrayStringConcat(arrayMap(x -> concat(x, '\0'), image_urls)), category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, ifNull(reinterpret(rating_value, 'Int64'), 0), ifNull(rating_count, 0), ifNull(reinterpret(best_rating, 'Int64'), 0), ifNull(reinterpret(worst_rating, 'Int64'), 0))), 64), toUInt128(xxHash64(toUInt64(1 * isNull(last_viewed_at) + 2 * isNull(price) + 4 * isNull(rating_value) + 8 * isNull(rating_count) + 16 * isNull(best_rating) + 32 * isNull(worst_rating)), _extra, ifNull(reinterpret(last_viewed_at, 'Int64'), 0), url, name, ifNull(reinterpret(price, 'Int64'), 0), currency_code, brand_name, description, arrayStringConcat(arrayMap(x -> concat(x, '\0'), image_urls)), category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, ifNull(reinterpret(rating_value, 'Int64'), 0), ifNull(rating_count, 0), ifNull(reinterpret(best_rating, 'Int64'), 0), ifNull(reinterpret(worst_rating, 'Int64'), 0)))), 'FixedString(16)') SETTINGS mutations_sync = 1;

-- hashStatements 5
ALTER TABLE products_latest COMMENT COLUMN _hash 'Hash of the content: equal hashes are equal rows (9f9d97b6)';

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
COMMENT 'Which entries of product_prices were last loaded';

-- createChildView
CREATE OR REPLACE VIEW product_prices
(
    account LowCardinality(String) COMMENT 'Account of the configuration: one API key, one organization',
    product_key UUID COMMENT 'Key derived from the fields that product_key_rule names',
    day Date COMMENT 'Day of the price (API: yearMonthDay)',
    price Nullable(Decimal(18, 4)) COMMENT 'Price on that day [currency_code] (API: price)',
    views Nullable(Int64) COMMENT 'Views on that day [count] (API: views)',
    currency_code LowCardinality(String) COMMENT 'Currency of the product when the day was read; empty when absent (API: currencyCode)',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded: the moment it became visible [UTC]'
)
AS SELECT account, product_key, day, price, views, currency_code, synced_at
FROM product_prices_latest FINAL
COMMENT 'Price and views of a product: one row for each day, kept after the day has left the feed';

-- addColumns to products_latest
ALTER TABLE products_latest ADD COLUMN IF NOT EXISTS _run_id UUID COMMENT 'Run that loaded this version' AFTER _deleted;

-- addColumns to products_staging
ALTER TABLE products_staging ADD COLUMN IF NOT EXISTS _entries String AFTER _fetched;

-- addColumns to product_prices_latest
ALTER TABLE product_prices_latest ADD COLUMN IF NOT EXISTS _run_id UUID COMMENT 'Run that loaded this version' AFTER _version;

-- addColumns to product_prices_hashes
ALTER TABLE product_prices_hashes ADD COLUMN IF NOT EXISTS _run_id UUID COMMENT 'Run that loaded them' AFTER _version;

-- insertInto staging
INSERT INTO products_staging (run_id, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _nulls, _extra, _page, _fetched, _entries);

-- countStaged
SELECT count(), sum(cityHash64(product_key, reinterpretAsUInt64(substring(_hash, 9, 8)), _entries)) FROM products_staging WHERE run_id = {run:UUID};

-- selectStagedKeys
SELECT toString(product_key) FROM products_staging WHERE run_id = {run:UUID};

-- countBefore
SELECT toUnixTimestamp64Micro(now64(6)), count(),
    uniqExact(product_key),
    countIf(bitShiftRight(_version, 64) > {cap:UInt64} + 60000),
    countIf((product_key, _hash) NOT IN
    (
        SELECT product_key, _hash FROM products_latest FINAL
        WHERE account = {account:String} AND _deleted = 0 AND product_key IN (SELECT product_key FROM products_staging WHERE run_id = {run:UUID})
    )),
    sum(cityHash64(product_key, reinterpretAsUInt64(substring(_hash, 9, 8)), _entries)), sum(cityHash64(product_key, reinterpretAsUInt64(substring(_hash, 9, 8)))),
    (SELECT count() FROM products_latest FINAL WHERE account = {account:String} AND _deleted = 0),
    (SELECT count() = 0 FROM (SELECT 1 FROM products_latest WHERE account = {account:String} LIMIT 1))
FROM products_staging
WHERE run_id = {run:UUID};

-- countBefore of the whole list
SELECT toUnixTimestamp64Micro(now64(6)), count(),
    uniqExact(product_key),
    countIf(bitShiftRight(_version, 64) > {cap:UInt64} + 60000),
    countIf((product_key, _hash) NOT IN
    (
        SELECT product_key, _hash FROM products_latest FINAL
        WHERE account = {account:String} AND _deleted = 0 AND product_key IN (SELECT product_key FROM products_staging WHERE run_id = {run:UUID})
    )),
    sum(cityHash64(product_key, reinterpretAsUInt64(substring(_hash, 9, 8)), _entries)), sum(cityHash64(product_key, reinterpretAsUInt64(substring(_hash, 9, 8)))),
    (SELECT count() FROM products_latest FINAL WHERE account = {account:String} AND _deleted = 0),
    (SELECT count() = 0 FROM (SELECT 1 FROM products_latest WHERE account = {account:String} LIMIT 1))
FROM products_staging
WHERE run_id = {run:UUID};

-- countBefore of many rows
SELECT toUnixTimestamp64Micro(now64(6)), count(),
    uniqExact(product_key),
    countIf(bitShiftRight(_version, 64) > {cap:UInt64} + 60000),
    count(),
    sum(cityHash64(product_key, reinterpretAsUInt64(substring(_hash, 9, 8)), _entries)), sum(cityHash64(product_key, reinterpretAsUInt64(substring(_hash, 9, 8)))),
    (SELECT count() FROM products_latest FINAL WHERE account = {account:String} AND _deleted = 0),
    (SELECT count() = 0 FROM (SELECT 1 FROM products_latest WHERE account = {account:String} LIMIT 1))
FROM products_staging
WHERE run_id = {run:UUID};

-- countBefore of more rows than a set holds
SELECT toUnixTimestamp64Micro(now64(6)), count(),
    (SELECT count() FROM products_staging FINAL WHERE run_id = {run:UUID}),
    countIf(bitShiftRight(_version, 64) > {cap:UInt64} + 60000),
    count(),
    sum(cityHash64(product_key, reinterpretAsUInt64(substring(_hash, 9, 8)), _entries)), sum(cityHash64(product_key, reinterpretAsUInt64(substring(_hash, 9, 8)))),
    (SELECT count() FROM products_latest FINAL WHERE account = {account:String} AND _deleted = 0),
    (SELECT count() = 0 FROM (SELECT 1 FROM products_latest WHERE account = {account:String} LIMIT 1))
FROM products_staging
WHERE run_id = {run:UUID};

-- hasNone
SELECT count() = 0 FROM (SELECT 1 FROM products_latest WHERE account = {account:String} LIMIT 1);

-- dropOldChanges
DROP TABLE IF EXISTS products_changes_0000000000004000800000000000a11e;

-- createChanges
CREATE TABLE IF NOT EXISTS products_changes_0000000000004000800000000000a11e (product_key UUID, change UInt8, version UInt128, was UInt64, now UInt64)
ENGINE = MergeTree ORDER BY product_key
COMMENT 'What a run under way will change';

-- insertChanges of a part
INSERT INTO products_changes_0000000000004000800000000000a11e (product_key, change, version, was, now)
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
INSERT INTO products_changes_0000000000004000800000000000a11e (product_key, change, version, was, now)
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
INSERT INTO products_changes_0000000000004000800000000000a11e (product_key, change, version, was, now)
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
INSERT INTO products_changes_0000000000004000800000000000a11e (product_key, change, version, was, now)
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
INSERT INTO products_changes_0000000000004000800000000000a11e (product_key, change, version, was, now)
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
INSERT INTO products_changes_0000000000004000800000000000a11e (product_key, change, version, was, now)
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
SELECT change, count(), toUInt64(0) FROM products_changes_0000000000004000800000000000a11e GROUP BY change;

-- selectPlannedKeys
SELECT toString(product_key) FROM products_changes_0000000000004000800000000000a11e WHERE change IN (1, 2);

-- selectPlannedDeletes
SELECT toString(product_key), toInt64(0), '' FROM products_latest FINAL
WHERE account = {account:String} AND product_key IN (SELECT product_key FROM products_changes_0000000000004000800000000000a11e WHERE change = 3 AND product_key IN (SELECT product_key FROM products_changes_0000000000004000800000000000a11e WHERE change = 3 ORDER BY cityHash64(product_key, '00000000-0000-4000-8000-00000000a11e') LIMIT 5));

-- selectNewest
SELECT toString(product_key), toInt64(0) AS updated, product_key IN (SELECT product_key FROM products_staging WHERE run_id = {run:UUID})
FROM products_latest FINAL
WHERE account = {account:String} AND _deleted = 0
ORDER BY updated DESC, product_key
LIMIT 5;

-- countAlike
SELECT uniqExact(product_key)
FROM (SELECT product_key, if(bitTest(_nulls, 0), NULL, reinterpret(last_viewed_at, 'DateTime64(3, ''UTC'')')) AS last_viewed_at_read, url AS url_read, name AS name_read, if(bitTest(_nulls, 1), NULL, reinterpret(price, 'Decimal(18, 4)')) AS price_read, currency_code AS currency_code_read, brand_name AS brand_name_read, description AS description_read, arrayPopBack(splitByChar('\0', image_urls)) AS image_urls_read, category_id AS category_id_read, category_version AS category_version_read, category_breadcrumb AS category_breadcrumb_read, asin AS asin_read, sku AS sku_read, gtin AS gtin_read, mpn AS mpn_read, if(bitTest(_nulls, 2), NULL, reinterpret(rating_value, 'Decimal(18, 6)')) AS rating_value_read, if(bitTest(_nulls, 3), NULL, rating_count) AS rating_count_read, if(bitTest(_nulls, 4), NULL, reinterpret(best_rating, 'Decimal(18, 6)')) AS best_rating_read, if(bitTest(_nulls, 5), NULL, reinterpret(worst_rating, 'Decimal(18, 6)')) AS worst_rating_read FROM products_staging WHERE run_id = {run:UUID}) AS s
INNER JOIN (SELECT product_key, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating FROM products_latest FINAL WHERE account = {account:String} AND _deleted = 0) AS l ON s.product_key = l.product_key
WHERE 3 * ((s.last_viewed_at_read <=> l.last_viewed_at) + (s.url_read <=> l.url) + (s.name_read <=> l.name) + (s.price_read <=> l.price) + (s.currency_code_read <=> l.currency_code) + (s.brand_name_read <=> l.brand_name) + (s.description_read <=> l.description) + (s.image_urls_read <=> l.image_urls) + (s.category_id_read <=> l.category_id) + (s.category_version_read <=> l.category_version) + (s.category_breadcrumb_read <=> l.category_breadcrumb) + (s.asin_read <=> l.asin) + (s.sku_read <=> l.sku) + (s.gtin_read <=> l.gtin) + (s.mpn_read <=> l.mpn) + (s.rating_value_read <=> l.rating_value) + (s.rating_count_read <=> l.rating_count) + (s.best_rating_read <=> l.best_rating) + (s.worst_rating_read <=> l.worst_rating)) >= 2 * 19;

-- selectDifferences
WITH (SELECT ifNull(maxIf(server_time, outcome = 'success'), toDateTime64(0, 3, 'UTC')) FROM sync_runs_log FINAL
    WHERE account = {account:String} AND stream = {stream:String} AND mode NOT IN ('backfill', 'retry', 'references', 'forget')) AS loaded,
    (SELECT toUnixTimestamp64Milli(parseDateTime64BestEffortOrZero(argMax(value, version), 3, 'UTC')) FROM sync_state_log
    WHERE account = {account:String} AND stream = {stream:String} AND name = 'loaded_from') AS loaded_from
SELECT which, kind, fields, was, is, countIf(kind IN ('wrong', 'missing')) OVER () AS faults, count() OVER () AS differences
FROM
(
    SELECT toString(if(s.here = 1, s.product_key, l.product_key)) AS which,
        multiIf(s.here = 0, 'gone', l.here = 0, if(1, 'new', 'missing'), l.own = 1 AND 1, 'changed', 'wrong') AS kind,
        if(s.here = 1 AND l.here = 1, arrayFilter(f -> f != '', [if(s.last_viewed_at_read <=> l.last_viewed_at, '', 'last_viewed_at'),
    if(s.url_read <=> l.url, '', 'url'),
    if(s.name_read <=> l.name, '', 'name'),
    if(s.price_read <=> l.price, '', 'price'),
    if(s.currency_code_read <=> l.currency_code, '', 'currency_code'),
    if(s.brand_name_read <=> l.brand_name, '', 'brand_name'),
    if(s.description_read <=> l.description, '', 'description'),
    if(s.image_urls_read <=> l.image_urls, '', 'image_urls'),
    if(s.category_id_read <=> l.category_id, '', 'category_id'),
    if(s.category_version_read <=> l.category_version, '', 'category_version'),
    if(s.category_breadcrumb_read <=> l.category_breadcrumb, '', 'category_breadcrumb'),
    if(s.asin_read <=> l.asin, '', 'asin'),
    if(s.sku_read <=> l.sku, '', 'sku'),
    if(s.gtin_read <=> l.gtin, '', 'gtin'),
    if(s.mpn_read <=> l.mpn, '', 'mpn'),
    if(s.rating_value_read <=> l.rating_value, '', 'rating_value'),
    if(s.rating_count_read <=> l.rating_count, '', 'rating_count'),
    if(s.best_rating_read <=> l.best_rating, '', 'best_rating'),
    if(s.worst_rating_read <=> l.worst_rating, '', 'worst_rating'),
    if(s._extra_read = l._extra, '', '_extra')]), []) AS fields, toInt64(0) AS was, toInt64(0) AS is
    FROM
    (
        SELECT product_key, 1 AS here, if(bitTest(_nulls, 0), NULL, reinterpret(last_viewed_at, 'DateTime64(3, ''UTC'')')) AS last_viewed_at_read,
    url AS url_read,
    name AS name_read,
    if(bitTest(_nulls, 1), NULL, reinterpret(price, 'Decimal(18, 4)')) AS price_read,
    currency_code AS currency_code_read,
    brand_name AS brand_name_read,
    description AS description_read,
    arrayPopBack(splitByChar('\0', image_urls)) AS image_urls_read,
    category_id AS category_id_read,
    category_version AS category_version_read,
    category_breadcrumb AS category_breadcrumb_read,
    asin AS asin_read,
    sku AS sku_read,
    gtin AS gtin_read,
    mpn AS mpn_read,
    if(bitTest(_nulls, 2), NULL, reinterpret(rating_value, 'Decimal(18, 6)')) AS rating_value_read,
    if(bitTest(_nulls, 3), NULL, rating_count) AS rating_count_read,
    if(bitTest(_nulls, 4), NULL, reinterpret(best_rating, 'Decimal(18, 6)')) AS best_rating_read,
    if(bitTest(_nulls, 5), NULL, reinterpret(worst_rating, 'Decimal(18, 6)')) AS worst_rating_read,
    _extra AS _extra_read FROM (SELECT *
    FROM products_staging FINAL
    WHERE run_id = {run:UUID})
    ) AS s
    FULL JOIN
    (
        SELECT product_key, 1 AS here, _hash = reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(toUInt64(1 * isNull(last_viewed_at) + 2 * isNull(price) + 4 * isNull(rating_value) + 8 * isNull(rating_count) + 16 * isNull(best_rating) + 32 * isNull(worst_rating)), _extra, ifNull(reinterpret(last_viewed_at, 'Int64'), 0), url, name, ifNull(reinterpret(price, 'Int64'), 0), currency_code, brand_name, description, arrayStringConcat(arrayMap(x -> concat(x, '\0'), image_urls)), category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, ifNull(reinterpret(rating_value, 'Int64'), 0), ifNull(rating_count, 0), ifNull(reinterpret(best_rating, 'Int64'), 0), ifNull(reinterpret(worst_rating, 'Int64'), 0))), 64), toUInt128(xxHash64(toUInt64(1 * isNull(last_viewed_at) + 2 * isNull(price) + 4 * isNull(rating_value) + 8 * isNull(rating_count) + 16 * isNull(best_rating) + 32 * isNull(worst_rating)), _extra, ifNull(reinterpret(last_viewed_at, 'Int64'), 0), url, name, ifNull(reinterpret(price, 'Int64'), 0), currency_code, brand_name, description, arrayStringConcat(arrayMap(x -> concat(x, '\0'), image_urls)), category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, ifNull(reinterpret(rating_value, 'Int64'), 0), ifNull(rating_count, 0), ifNull(reinterpret(best_rating, 'Int64'), 0), ifNull(reinterpret(worst_rating, 'Int64'), 0)))), 'FixedString(16)') AS own, last_viewed_at,
    url,
    name,
    price,
    currency_code,
    brand_name,
    description,
    image_urls,
    category_id,
    category_version,
    category_breadcrumb,
    asin,
    sku,
    gtin,
    mpn,
    rating_value,
    rating_count,
    best_rating,
    worst_rating,
    _extra FROM products_latest FINAL WHERE account = {account:String} AND _deleted = 0
    ) AS l ON s.product_key = l.product_key
    WHERE s.here = 0 OR l.here = 0 AND 1 OR l.here = 1 AND notEmpty(fields)
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
    SELECT toString(if(s.here = 1, s.product_key, l.product_key)) AS which,
        multiIf(s.here = 0, 'gone', l.here = 0, if(1, 'new', 'missing'), l.own = 1 AND 1, 'changed', 'wrong') AS kind,
        if(s.here = 1 AND l.here = 1, arrayFilter(f -> f != '', [if(s.last_viewed_at_read <=> l.last_viewed_at, '', 'last_viewed_at'),
    if(s.url_read <=> l.url, '', 'url'),
    if(s.name_read <=> l.name, '', 'name'),
    if(s.price_read <=> l.price, '', 'price'),
    if(s.currency_code_read <=> l.currency_code, '', 'currency_code'),
    if(s.brand_name_read <=> l.brand_name, '', 'brand_name'),
    if(s.description_read <=> l.description, '', 'description'),
    if(s.image_urls_read <=> l.image_urls, '', 'image_urls'),
    if(s.category_id_read <=> l.category_id, '', 'category_id'),
    if(s.category_version_read <=> l.category_version, '', 'category_version'),
    if(s.category_breadcrumb_read <=> l.category_breadcrumb, '', 'category_breadcrumb'),
    if(s.asin_read <=> l.asin, '', 'asin'),
    if(s.sku_read <=> l.sku, '', 'sku'),
    if(s.gtin_read <=> l.gtin, '', 'gtin'),
    if(s.mpn_read <=> l.mpn, '', 'mpn'),
    if(s.rating_value_read <=> l.rating_value, '', 'rating_value'),
    if(s.rating_count_read <=> l.rating_count, '', 'rating_count'),
    if(s.best_rating_read <=> l.best_rating, '', 'best_rating'),
    if(s.worst_rating_read <=> l.worst_rating, '', 'worst_rating'),
    if(s._extra_read = l._extra, '', '_extra')]), []) AS fields, toInt64(0) AS was, toInt64(0) AS is
    FROM
    (
        SELECT product_key, 1 AS here, if(bitTest(_nulls, 0), NULL, reinterpret(last_viewed_at, 'DateTime64(3, ''UTC'')')) AS last_viewed_at_read,
    url AS url_read,
    name AS name_read,
    if(bitTest(_nulls, 1), NULL, reinterpret(price, 'Decimal(18, 4)')) AS price_read,
    currency_code AS currency_code_read,
    brand_name AS brand_name_read,
    description AS description_read,
    arrayPopBack(splitByChar('\0', image_urls)) AS image_urls_read,
    category_id AS category_id_read,
    category_version AS category_version_read,
    category_breadcrumb AS category_breadcrumb_read,
    asin AS asin_read,
    sku AS sku_read,
    gtin AS gtin_read,
    mpn AS mpn_read,
    if(bitTest(_nulls, 2), NULL, reinterpret(rating_value, 'Decimal(18, 6)')) AS rating_value_read,
    if(bitTest(_nulls, 3), NULL, rating_count) AS rating_count_read,
    if(bitTest(_nulls, 4), NULL, reinterpret(best_rating, 'Decimal(18, 6)')) AS best_rating_read,
    if(bitTest(_nulls, 5), NULL, reinterpret(worst_rating, 'Decimal(18, 6)')) AS worst_rating_read,
    _extra AS _extra_read FROM (SELECT *
    FROM products_staging
    WHERE run_id = {run:UUID}
    ORDER BY product_key, if(max(bitShiftRight(_version, 64) > {cap:UInt64} + 60000) OVER (PARTITION BY product_key), toUInt128(_fetched), _version) DESC, _version DESC, _hash
    LIMIT 1 BY product_key)
    ) AS s
    FULL JOIN
    (
        SELECT product_key, 1 AS here, _hash = reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(toUInt64(1 * isNull(last_viewed_at) + 2 * isNull(price) + 4 * isNull(rating_value) + 8 * isNull(rating_count) + 16 * isNull(best_rating) + 32 * isNull(worst_rating)), _extra, ifNull(reinterpret(last_viewed_at, 'Int64'), 0), url, name, ifNull(reinterpret(price, 'Int64'), 0), currency_code, brand_name, description, arrayStringConcat(arrayMap(x -> concat(x, '\0'), image_urls)), category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, ifNull(reinterpret(rating_value, 'Int64'), 0), ifNull(rating_count, 0), ifNull(reinterpret(best_rating, 'Int64'), 0), ifNull(reinterpret(worst_rating, 'Int64'), 0))), 64), toUInt128(xxHash64(toUInt64(1 * isNull(last_viewed_at) + 2 * isNull(price) + 4 * isNull(rating_value) + 8 * isNull(rating_count) + 16 * isNull(best_rating) + 32 * isNull(worst_rating)), _extra, ifNull(reinterpret(last_viewed_at, 'Int64'), 0), url, name, ifNull(reinterpret(price, 'Int64'), 0), currency_code, brand_name, description, arrayStringConcat(arrayMap(x -> concat(x, '\0'), image_urls)), category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, ifNull(reinterpret(rating_value, 'Int64'), 0), ifNull(rating_count, 0), ifNull(reinterpret(best_rating, 'Int64'), 0), ifNull(reinterpret(worst_rating, 'Int64'), 0)))), 'FixedString(16)') AS own, last_viewed_at,
    url,
    name,
    price,
    currency_code,
    brand_name,
    description,
    image_urls,
    category_id,
    category_version,
    category_breadcrumb,
    asin,
    sku,
    gtin,
    mpn,
    rating_value,
    rating_count,
    best_rating,
    worst_rating,
    _extra FROM products_latest FINAL WHERE account = {account:String} AND _deleted = 0
    ) AS l ON s.product_key = l.product_key
    WHERE s.here = 0 OR l.here = 0 AND 1 OR l.here = 1 AND notEmpty(fields)
)
ORDER BY kind IN ('wrong', 'missing') DESC, kind, which
LIMIT 100;

-- countAbsence
INSERT INTO absent_rows_log (account, stream, key, lists, run_id, since, version)
SELECT {account:String}, {stream:String}, if(gone.key != '', gone.key, before.key), if(gone.key != '', before.lists + 1, 0), {run:UUID},
    if(before.lists = 0, now64(3), before.since), greatest(toUInt64(toUnixTimestamp64Micro(now64(6))), before.version + 1)
FROM (SELECT toString(product_key) AS key FROM products_changes_0000000000004000800000000000a11e WHERE change = 3) AS gone
FULL JOIN
(
    SELECT key, lists, run_id, since, version FROM absent_rows_log FINAL
    WHERE account = {account:String} AND stream = {stream:String}
) AS before ON gone.key = before.key
WHERE before.run_id != {run:UUID} AND (gone.key != '' OR before.lists > 0);

-- countUnconfirmed
SELECT count() FROM products_changes_0000000000004000800000000000a11e WHERE change = 3 AND toString(product_key) NOT IN (SELECT key FROM absent_rows_log FINAL WHERE account = 'acme' AND stream = 'products' AND lists >= 1);

-- deleteAllPlanned
ALTER TABLE products_changes_0000000000004000800000000000a11e DELETE WHERE change = 3;

-- selectClashes
SELECT count(), groupArray(5)(key) FROM
(
    SELECT toString(product_key) AS key FROM products_staging
    WHERE run_id = {run:UUID} AND product_key IN (SELECT product_key FROM products_staging WHERE run_id = {run:UUID} GROUP BY product_key HAVING count() > 1)
    GROUP BY product_key HAVING uniqExact(_fetched, _hash, cityHash64(_entries)) > uniqExact(_fetched) OR uniqExact(reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating)), 64), toUInt128(xxHash64(url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating))), 'FixedString(16)')) > 1
    ORDER BY key
);

-- deletePlanned by absence
ALTER TABLE products_changes_0000000000004000800000000000a11e DELETE WHERE change = 3 AND toString(product_key) NOT IN (SELECT key FROM absent_rows_log FINAL WHERE account = 'acme' AND stream = 'products' AND lists >= 1);

-- deletePlanned by key
ALTER TABLE products_changes_0000000000004000800000000000a11e DELETE WHERE change = 3 AND toString(product_key) NOT IN ('', 'a', 'b');

-- createDelta
CREATE TABLE IF NOT EXISTS products_delta_0000000000004000800000000000a11e AS products_latest COMMENT 'What a run under way is about to publish';

-- insertDelta of the first load
INSERT INTO products_delta_0000000000004000800000000000a11e (account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at, _hash, _version, _deleted, _run_id)
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
INSERT INTO products_delta_0000000000004000800000000000a11e (account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at, _hash, _version, _deleted, _run_id)
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
INSERT INTO products_delta_0000000000004000800000000000a11e (account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at, _hash, _version, _deleted, _run_id)
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
INNER JOIN (SELECT product_key, version FROM products_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.product_key = c.product_key;

-- insertDelta of what changes of many rows
INSERT INTO products_delta_0000000000004000800000000000a11e (account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at, _hash, _version, _deleted, _run_id)
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
    WHERE run_id = {run:UUID} AND product_key IN (SELECT product_key FROM products_changes_0000000000004000800000000000a11e WHERE change IN (1, 2))
) AS s
INNER JOIN (SELECT product_key, version FROM products_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.product_key = c.product_key;

-- insertDelta of what changes, keys staged twice
INSERT INTO products_delta_0000000000004000800000000000a11e (account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at, _hash, _version, _deleted, _run_id)
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
INNER JOIN (SELECT product_key, version FROM products_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.product_key = c.product_key;

-- insertDelta of what changes, keys staged twice, some dated ahead
INSERT INTO products_delta_0000000000004000800000000000a11e (account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at, _hash, _version, _deleted, _run_id)
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
INNER JOIN (SELECT product_key, version FROM products_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.product_key = c.product_key;

-- insertDelta of the first load, keys staged twice, some dated ahead
INSERT INTO products_delta_0000000000004000800000000000a11e (account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at, _hash, _version, _deleted, _run_id)
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
INSERT INTO products_delta_0000000000004000800000000000a11e (account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at, _hash, _version, _deleted, _run_id)
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
INNER JOIN (SELECT product_key, version FROM products_changes_0000000000004000800000000000a11e WHERE change IN (1, 2)) AS c ON s.product_key = c.product_key;

-- insertTombstones
INSERT INTO products_delta_0000000000004000800000000000a11e (account, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, synced_at, _hash, _version, _deleted, _run_id)
SELECT {account:String}, product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, fromUnixTimestamp64Milli({merged_at:Int64}, 'UTC'), _hash, c.version, 1, {run:UUID}
FROM
(
    SELECT product_key, product_key_rule, last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating, _extra, _hash
    FROM products_latest FINAL
    WHERE account = {account:String} AND product_key IN (SELECT product_key FROM products_changes_0000000000004000800000000000a11e WHERE change = 3)
) AS l
INNER JOIN (SELECT product_key, version FROM products_changes_0000000000004000800000000000a11e WHERE change = 3) AS c ON l.product_key = c.product_key;

-- mergeParts
OPTIMIZE TABLE products_delta_0000000000004000800000000000a11e FINAL;

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
SETTINGS index_granularity = 1024
COMMENT 'Storage behind the view product_price_changes';

-- dropDelta of product_price_changes_latest
DROP TABLE IF EXISTS product_price_changes_latest_delta_0000000000004000800000000000a11e;

-- createDelta product_price_changes_latest
CREATE TABLE IF NOT EXISTS product_price_changes_latest_delta_0000000000004000800000000000a11e AS product_price_changes_latest COMMENT 'What a run under way is about to publish';

-- dropTable product_price_changes_latest
DROP TABLE IF EXISTS product_price_changes_latest_delta_0000000000004000800000000000a11e SYNC;

-- countRows product_price_changes_latest
SELECT count() FROM product_price_changes_latest_delta_0000000000004000800000000000a11e;

-- fill, the first load: true, product_price_changes_latest
INSERT INTO product_price_changes_latest_delta_0000000000004000800000000000a11e (account, day, product_key, currency_code, price, previous_day, previous_price, views, previous_views, version, _run_id)
SELECT {account:String}, day, product_key, currency_code, price, previous_day, previous_price, views, previous_views, greatest(toUInt64({merged_at:Int64}), 0 + 1), {run:UUID}
FROM (
    SELECT day, product_key, currency_code, assumeNotNull(price) AS price, assumeNotNull(before.1) AS previous_day,
        assumeNotNull(before.2) AS previous_price, views, before.3 AS previous_views
    FROM
    (
        SELECT day, product_key, currency_code, price, views,
            lagInFrame((toNullable(day), price, views)) OVER
                (PARTITION BY account, product_key, currency_code ORDER BY day ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before
        FROM product_prices_delta_0000000000004000800000000000a11e WHERE price IS NOT NULL AND product_key IN (SELECT product_key FROM product_prices_delta_0000000000004000800000000000a11e GROUP BY product_key HAVING min(price) != max(price))
    )
    WHERE before.2 IS NOT NULL AND before.2 != price
);

-- fill, the first load: false, product_price_changes_latest
INSERT INTO product_price_changes_latest_delta_0000000000004000800000000000a11e (account, day, product_key, currency_code, price, previous_day, previous_price, views, previous_views, version, _run_id)
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
                WHERE account = {account:String} AND product_key IN (SELECT product_key FROM product_prices_delta_0000000000004000800000000000a11e)
                UNION ALL
                SELECT account, day, product_key, currency_code, price, views, _version, true FROM product_prices_delta_0000000000004000800000000000a11e
            )
            WHERE product_key IN
            (
                SELECT product_key FROM 
            (
                SELECT account, day, product_key, currency_code, price, views, _version, false AS fresh FROM product_prices_latest FINAL
                WHERE account = {account:String} AND product_key IN (SELECT product_key FROM product_prices_delta_0000000000004000800000000000a11e)
                UNION ALL
                SELECT account, day, product_key, currency_code, price, views, _version, true FROM product_prices_delta_0000000000004000800000000000a11e
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
                WHERE account = {account:String} AND product_key IN (SELECT product_key FROM product_prices_delta_0000000000004000800000000000a11e)
                UNION ALL
                SELECT account, day, product_key, currency_code, price, views, _version, true FROM product_prices_delta_0000000000004000800000000000a11e
            )
                GROUP BY product_key
                HAVING min(price) != max(price) AND NOT ifNull(minIf(day, fresh) > maxIf(day, NOT fresh) AND min(cityHash64(currency_code)) = max(cityHash64(currency_code))
                    AND minIf(price, fresh) = maxIf(price, fresh) AND minIf(price, fresh) = argMaxIf(price, day, NOT fresh), false)
            )
) AS r
GROUP BY day, product_key
HAVING count() = 1 OR uniqExact(tuple(currency_code, price, previous_day, previous_price, views, previous_views)) = 2;

-- touched product_price_changes_latest
SELECT (SELECT count() FROM product_prices_delta_0000000000004000800000000000a11e);

-- rebuild product_price_changes_latest
INSERT INTO product_price_changes_latest_delta_0000000000004000800000000000a11e (account, day, product_key, currency_code, price, previous_day, previous_price, views, previous_views, version, _run_id)
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
ALTER TABLE product_price_changes_latest ATTACH PARTITION 'acme' FROM product_price_changes_latest_delta_0000000000004000800000000000a11e;

-- replaceDerived product_price_changes_latest
ALTER TABLE product_price_changes_latest REPLACE PARTITION 'acme' FROM product_price_changes_latest_delta_0000000000004000800000000000a11e;

-- dropDerived product_price_changes_latest
ALTER TABLE product_price_changes_latest DROP PARTITION 'acme';

-- compareDerived product_price_changes_latest
SELECT
    (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM product_price_changes_latest FINAL WHERE account = {account:String} AND NOT (price = previous_price)))
    = (SELECT (count(), sum(sipHash64(toString(tuple(*)))))
        FROM (SELECT * EXCEPT '^(version|_run_id)$' FROM product_price_changes_latest_delta_0000000000004000800000000000a11e FINAL WHERE account = {account:String} AND NOT (price = previous_price)));

-- countSame product_price_changes_latest
SELECT uniqExact(sipHash128(toString(tuple(*)))) FROM product_price_changes_latest WHERE (account, day, product_key) IN (SELECT account, day, product_key FROM product_price_changes_latest_delta_0000000000004000800000000000a11e) AND sipHash128(toString(tuple(*))) IN (SELECT sipHash128(toString(tuple(*))) FROM product_price_changes_latest_delta_0000000000004000800000000000a11e);

-- createChildHashesDelta
CREATE TABLE IF NOT EXISTS product_prices_hashes_delta_0000000000004000800000000000a11e AS product_prices_hashes COMMENT 'What a run under way is about to publish';

-- createChildDelta
CREATE TABLE IF NOT EXISTS product_prices_delta_0000000000004000800000000000a11e AS product_prices_latest COMMENT 'What a run under way is about to publish';

-- insertChildHashes
INSERT INTO product_prices_hashes_delta_0000000000004000800000000000a11e (account, product_key, hash, _version, _run_id)
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
INSERT INTO product_prices_hashes_delta_0000000000004000800000000000a11e (account, product_key, hash, _version, _run_id)
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
INSERT INTO product_prices_delta_0000000000004000800000000000a11e (account, product_key, day, price, views, currency_code, synced_at, _version, _run_id)
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
            WHERE run_id = {run:UUID} AND product_key IN (SELECT product_key FROM product_prices_hashes_delta_0000000000004000800000000000a11e)
        )
    )
) AS s
LEFT JOIN
(
    SELECT product_key, day, price, views, currency_code, _version
    FROM product_prices_latest FINAL
    WHERE account = {account:String} AND product_key IN (SELECT product_key FROM product_prices_hashes_delta_0000000000004000800000000000a11e)
) AS l
ON s.product_key = l.product_key AND s.day_read = l.day
WHERE l._version = 0 OR (s.read > l._version OR l._version > {latest:UInt64}) AND (NOT (s.price_read <=> l.price) OR NOT (s.views_read <=> l.views) OR NOT (s.currency_code_read <=> l.currency_code));

-- insertChildDelta, keys staged twice
INSERT INTO product_prices_delta_0000000000004000800000000000a11e (account, product_key, day, price, views, currency_code, synced_at, _version, _run_id)
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
            WHERE run_id = {run:UUID} AND product_key IN (SELECT product_key FROM product_prices_hashes_delta_0000000000004000800000000000a11e)
        )
    )
) AS s
LEFT JOIN
(
    SELECT product_key, day, price, views, currency_code, _version
    FROM product_prices_latest FINAL
    WHERE account = {account:String} AND product_key IN (SELECT product_key FROM product_prices_hashes_delta_0000000000004000800000000000a11e)
) AS l
ON s.product_key = l.product_key AND s.day_read = l.day
WHERE l._version = 0 OR (s.read > l._version OR l._version > {latest:UInt64}) AND (NOT (s.price_read <=> l.price) OR NOT (s.views_read <=> l.views) OR NOT (s.currency_code_read <=> l.currency_code));

-- attachDelta products_delta_0000000000004000800000000000a11e to products_latest
ALTER TABLE products_latest ATTACH PARTITION tuple() FROM products_delta_0000000000004000800000000000a11e;

-- countOfRun in products_latest
SELECT count() FROM products_latest WHERE account = {account:String} AND _run_id = {run:UUID};

-- attachDelta product_prices_delta_0000000000004000800000000000a11e to product_prices_latest
ALTER TABLE product_prices_latest ATTACH PARTITION tuple() FROM product_prices_delta_0000000000004000800000000000a11e;

-- countOfRun in product_prices_latest
SELECT count() FROM product_prices_latest WHERE account = {account:String} AND _run_id = {run:UUID};

-- attachDelta product_prices_hashes_delta_0000000000004000800000000000a11e to product_prices_hashes
ALTER TABLE product_prices_hashes ATTACH PARTITION tuple() FROM product_prices_hashes_delta_0000000000004000800000000000a11e;

-- countOfRun in product_prices_hashes
SELECT count() FROM product_prices_hashes WHERE account = {account:String} AND _run_id = {run:UUID};

-- selectParts
SELECT table, hash_of_all_files, rows FROM system.parts
WHERE active AND database IN (currentDatabase(), currentDatabase()) AND table IN ({tables:Array(String)})
UNION ALL
SELECT name, '', 0 FROM system.tables WHERE database = currentDatabase() AND name IN ({deltas:Array(String)});

-- countKeys
SELECT 'products_latest' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, product_key) AS this, lagInFrame(this) OVER (ORDER BY account, product_key ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM products_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'product_price_changes_latest' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, day, product_key) AS this, lagInFrame(this) OVER (ORDER BY account, day, product_key ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM product_price_changes_latest_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'product_prices_latest' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, product_key, day) AS this, lagInFrame(this) OVER (ORDER BY account, product_key, day ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM product_prices_delta_0000000000004000800000000000a11e)
UNION ALL SELECT 'product_prices_hashes' AS table, count() AS rows, toUInt64(rows - countIf(this <=> before)) AS keys, toUInt64(1) AS parts
FROM (SELECT tuple(account, product_key) AS this, lagInFrame(this) OVER (ORDER BY account, product_key ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before FROM product_prices_hashes_delta_0000000000004000800000000000a11e);

-- dropDelta of what is prepared
DROP TABLE IF EXISTS products_delta_0000000000004000800000000000a11e, product_price_changes_latest_delta_0000000000004000800000000000a11e, product_prices_delta_0000000000004000800000000000a11e, product_prices_hashes_delta_0000000000004000800000000000a11e;

-- dropTable of what is prepared
DROP TABLE IF EXISTS products_delta_0000000000004000800000000000a11e, product_price_changes_latest_delta_0000000000004000800000000000a11e, product_prices_delta_0000000000004000800000000000a11e, product_prices_hashes_delta_0000000000004000800000000000a11e SYNC;

-- dropTable products_changes_0000000000004000800000000000a11e
DROP TABLE IF EXISTS products_changes_0000000000004000800000000000a11e SYNC;

-- dropTable products_delta_0000000000004000800000000000a11e
DROP TABLE IF EXISTS products_delta_0000000000004000800000000000a11e SYNC;

-- dropTable product_prices_delta_0000000000004000800000000000a11e
DROP TABLE IF EXISTS product_prices_delta_0000000000004000800000000000a11e SYNC;

-- dropTable product_prices_hashes_delta_0000000000004000800000000000a11e
DROP TABLE IF EXISTS product_prices_hashes_delta_0000000000004000800000000000a11e SYNC;

-- dropStaged products_staging
ALTER TABLE products_staging DROP PARTITION '00000000-0000-4000-8000-00000000a11e';

-- selectCandidates, filtered: false
SELECT r.run_id, r.page, r.key, r.field, r.reason, r.raw, r.read, r.updated, r.hash, l.record, l.read,
    l.record != '' AND (l.run = r.run_id AND l.read = r.read OR l.read < r.read AND 0 OR u.whole AND l.run != r.run_id AND l.read < u.began)
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
    SELECT toString(product_key) AS key, if(_extra = '', toJSONString(CAST(tuple(last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating), 'Tuple(`lastViewedAt` Nullable(DateTime64(3, \'UTC\')), `url` String, `name` String, `price` Nullable(Decimal(18, 4)), `currencyCode` LowCardinality(String), `brandName` String, `description` String, `imageUrls` Array(String), `categoryId` LowCardinality(String), `categoryVersion` LowCardinality(String), `categoryBreadcrumb` LowCardinality(String), `asin` String, `sku` String, `gtin` String, `mpn` String, `ratingValue` Nullable(Decimal(18, 6)), `ratingCount` Nullable(Int64), `bestRating` Nullable(Decimal(18, 6)), `worstRating` Nullable(Decimal(18, 6)))')), concat(substring(toJSONString(CAST(tuple(last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating), 'Tuple(`lastViewedAt` Nullable(DateTime64(3, \'UTC\')), `url` String, `name` String, `price` Nullable(Decimal(18, 4)), `currencyCode` LowCardinality(String), `brandName` String, `description` String, `imageUrls` Array(String), `categoryId` LowCardinality(String), `categoryVersion` LowCardinality(String), `categoryBreadcrumb` LowCardinality(String), `asin` String, `sku` String, `gtin` String, `mpn` String, `ratingValue` Nullable(Decimal(18, 6)), `ratingCount` Nullable(Int64), `bestRating` Nullable(Decimal(18, 6)), `worstRating` Nullable(Decimal(18, 6)))')), 1, length(toJSONString(CAST(tuple(last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating), 'Tuple(`lastViewedAt` Nullable(DateTime64(3, \'UTC\')), `url` String, `name` String, `price` Nullable(Decimal(18, 4)), `currencyCode` LowCardinality(String), `brandName` String, `description` String, `imageUrls` Array(String), `categoryId` LowCardinality(String), `categoryVersion` LowCardinality(String), `categoryBreadcrumb` LowCardinality(String), `asin` String, `sku` String, `gtin` String, `mpn` String, `ratingValue` Nullable(Decimal(18, 6)), `ratingCount` Nullable(Int64), `bestRating` Nullable(Decimal(18, 6)), `worstRating` Nullable(Decimal(18, 6)))'))) - 1), ',', substring(_extra, 2))) AS record, _run_id AS run, toInt64(bitAnd(_version, toUInt128(18446744073709551615))) AS read, 0 AS updated
    FROM products_latest FINAL
    WHERE account = {account:String} AND _deleted = 0 AND product_key IN (SELECT toUUIDOrZero(key) FROM (SELECT key FROM rejected_records
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
    l.record != '' AND (l.run = r.run_id AND l.read = r.read OR l.read < r.read AND 0 OR u.whole AND l.run != r.run_id AND l.read < u.began)
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
    SELECT toString(product_key) AS key, if(_extra = '', toJSONString(CAST(tuple(last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating), 'Tuple(`lastViewedAt` Nullable(DateTime64(3, \'UTC\')), `url` String, `name` String, `price` Nullable(Decimal(18, 4)), `currencyCode` LowCardinality(String), `brandName` String, `description` String, `imageUrls` Array(String), `categoryId` LowCardinality(String), `categoryVersion` LowCardinality(String), `categoryBreadcrumb` LowCardinality(String), `asin` String, `sku` String, `gtin` String, `mpn` String, `ratingValue` Nullable(Decimal(18, 6)), `ratingCount` Nullable(Int64), `bestRating` Nullable(Decimal(18, 6)), `worstRating` Nullable(Decimal(18, 6)))')), concat(substring(toJSONString(CAST(tuple(last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating), 'Tuple(`lastViewedAt` Nullable(DateTime64(3, \'UTC\')), `url` String, `name` String, `price` Nullable(Decimal(18, 4)), `currencyCode` LowCardinality(String), `brandName` String, `description` String, `imageUrls` Array(String), `categoryId` LowCardinality(String), `categoryVersion` LowCardinality(String), `categoryBreadcrumb` LowCardinality(String), `asin` String, `sku` String, `gtin` String, `mpn` String, `ratingValue` Nullable(Decimal(18, 6)), `ratingCount` Nullable(Int64), `bestRating` Nullable(Decimal(18, 6)), `worstRating` Nullable(Decimal(18, 6)))')), 1, length(toJSONString(CAST(tuple(last_viewed_at, url, name, price, currency_code, brand_name, description, image_urls, category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, rating_value, rating_count, best_rating, worst_rating), 'Tuple(`lastViewedAt` Nullable(DateTime64(3, \'UTC\')), `url` String, `name` String, `price` Nullable(Decimal(18, 4)), `currencyCode` LowCardinality(String), `brandName` String, `description` String, `imageUrls` Array(String), `categoryId` LowCardinality(String), `categoryVersion` LowCardinality(String), `categoryBreadcrumb` LowCardinality(String), `asin` String, `sku` String, `gtin` String, `mpn` String, `ratingValue` Nullable(Decimal(18, 6)), `ratingCount` Nullable(Int64), `bestRating` Nullable(Decimal(18, 6)), `worstRating` Nullable(Decimal(18, 6)))'))) - 1), ',', substring(_extra, 2))) AS record, _run_id AS run, toInt64(bitAnd(_version, toUInt128(18446744073709551615))) AS read, 0 AS updated
    FROM products_latest FINAL
    WHERE account = {account:String} AND _deleted = 0 AND product_key IN (SELECT toUUIDOrZero(key) FROM (SELECT key FROM rejected_records
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
ALTER TABLE sync_state_log DELETE WHERE account = 'acme' AND stream = 'products' AND name IN ('', 'a', 'b') AND value != '';

-- deleteCleared, that they were cleared
ALTER TABLE sync_state_log DELETE WHERE account = 'acme' AND stream = 'products' AND name IN ('', 'a', 'b') AND value = '';

-- inspectDelta, with earlier versions: false
SELECT groupArrayIf(20)(toString(product_key), _deleted = 0),
    toUInt64(0),
    sumIf(cityHash64(product_key, reinterpretAsUInt64(substring(_hash, 9, 8))), _deleted = 0),
    (SELECT sumIf(now, change IN (1, 2)) FROM products_changes_0000000000004000800000000000a11e),
    (SELECT sumIf(was, change IN (1, 2) OR change = 3) FROM products_changes_0000000000004000800000000000a11e),
    countIf(_deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(last_viewed_at) + 2 * isNull(price) + 4 * isNull(rating_value) + 8 * isNull(rating_count) + 16 * isNull(best_rating) + 32 * isNull(worst_rating)), _extra, ifNull(reinterpret(last_viewed_at, 'Int64'), 0), url, name, ifNull(reinterpret(price, 'Int64'), 0), currency_code, brand_name, description, arrayStringConcat(arrayMap(x -> concat(x, '\0'), image_urls)), category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, ifNull(reinterpret(rating_value, 'Int64'), 0), ifNull(rating_count, 0), ifNull(reinterpret(best_rating, 'Int64'), 0), ifNull(reinterpret(worst_rating, 'Int64'), 0))),
    anyIf(toString(product_key), _deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(last_viewed_at) + 2 * isNull(price) + 4 * isNull(rating_value) + 8 * isNull(rating_count) + 16 * isNull(best_rating) + 32 * isNull(worst_rating)), _extra, ifNull(reinterpret(last_viewed_at, 'Int64'), 0), url, name, ifNull(reinterpret(price, 'Int64'), 0), currency_code, brand_name, description, arrayStringConcat(arrayMap(x -> concat(x, '\0'), image_urls)), category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, ifNull(reinterpret(rating_value, 'Int64'), 0), ifNull(rating_count, 0), ifNull(reinterpret(best_rating, 'Int64'), 0), ifNull(reinterpret(worst_rating, 'Int64'), 0))),
    countIf(_deleted = 0 AND ifNull((ifNull(price < 0, false)), false)),
    anyIf(toString(product_key), _deleted = 0 AND ifNull((ifNull(price < 0, false)), false))
FROM products_delta_0000000000004000800000000000a11e;

-- inspectDelta, with earlier versions: true
SELECT groupArrayIf(20)(toString(product_key), _deleted = 0),
    toUInt64(0),
    sumIf(cityHash64(product_key, reinterpretAsUInt64(substring(_hash, 9, 8))), _deleted = 0),
    (SELECT sumIf(now, change IN (1, 2)) FROM products_changes_0000000000004000800000000000a11e),
    (SELECT sumIf(was, change IN (1, 2) OR change = 3) FROM products_changes_0000000000004000800000000000a11e),
    countIf(_deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(last_viewed_at) + 2 * isNull(price) + 4 * isNull(rating_value) + 8 * isNull(rating_count) + 16 * isNull(best_rating) + 32 * isNull(worst_rating)), _extra, ifNull(reinterpret(last_viewed_at, 'Int64'), 0), url, name, ifNull(reinterpret(price, 'Int64'), 0), currency_code, brand_name, description, arrayStringConcat(arrayMap(x -> concat(x, '\0'), image_urls)), category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, ifNull(reinterpret(rating_value, 'Int64'), 0), ifNull(rating_count, 0), ifNull(reinterpret(best_rating, 'Int64'), 0), ifNull(reinterpret(worst_rating, 'Int64'), 0))),
    anyIf(toString(product_key), _deleted = 0 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(last_viewed_at) + 2 * isNull(price) + 4 * isNull(rating_value) + 8 * isNull(rating_count) + 16 * isNull(best_rating) + 32 * isNull(worst_rating)), _extra, ifNull(reinterpret(last_viewed_at, 'Int64'), 0), url, name, ifNull(reinterpret(price, 'Int64'), 0), currency_code, brand_name, description, arrayStringConcat(arrayMap(x -> concat(x, '\0'), image_urls)), category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, ifNull(reinterpret(rating_value, 'Int64'), 0), ifNull(rating_count, 0), ifNull(reinterpret(best_rating, 'Int64'), 0), ifNull(reinterpret(worst_rating, 'Int64'), 0))),
    countIf(_deleted = 0 AND ifNull((ifNull(price < 0, false)), false)),
    anyIf(toString(product_key), _deleted = 0 AND ifNull((ifNull(price < 0, false)), false))
FROM products_delta_0000000000004000800000000000a11e;

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
FROM products_delta_0000000000004000800000000000a11e;

-- selectLiveSum
SELECT count(), sum(cityHash64(product_key, reinterpretAsUInt64(substring(_hash, 9, 8)))) FROM products_latest FINAL WHERE account = {account:String} AND _deleted = 0;

-- expected, of a large first load
(SELECT sum(cityHash64(product_key, reinterpretAsUInt64(substring(_hash, 9, 8)))) FROM (SELECT *, _version
    FROM products_staging FINAL
    WHERE run_id = {run:UUID}) AS s);

-- removed
(SELECT sumIf(was, change IN (1, 2) OR change = 3) FROM products_changes_0000000000004000800000000000a11e);

-- selectAltered
SELECT toString(product_key), toString(_run_id) FROM products_latest WHERE account = {account:String} AND _deleted != 2 AND reinterpretAsUInt64(substring(_hash, 9, 8)) != cityHash64(toUInt64(1 * isNull(last_viewed_at) + 2 * isNull(price) + 4 * isNull(rating_value) + 8 * isNull(rating_count) + 16 * isNull(best_rating) + 32 * isNull(worst_rating)), _extra, ifNull(reinterpret(last_viewed_at, 'Int64'), 0), url, name, ifNull(reinterpret(price, 'Int64'), 0), currency_code, brand_name, description, arrayStringConcat(arrayMap(x -> concat(x, '\0'), image_urls)), category_id, category_version, category_breadcrumb, asin, sku, gtin, mpn, ifNull(reinterpret(rating_value, 'Int64'), 0), ifNull(rating_count, 0), ifNull(reinterpret(best_rating, 'Int64'), 0), ifNull(reinterpret(worst_rating, 'Int64'), 0)) LIMIT 100;
