-- What is known of each retailer, from whatever names it. A service that sends identifiers which are no UUIDs leaves
-- retailer_id NULL: then the name tells retailers apart, so that none is lost. The last sale is found by its number of milliseconds: of times before 1970,
-- max may be compiled to the wrong one.

CREATE OR REPLACE VIEW retailers
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from the streams)',
    retailer_id Nullable(UUID) COMMENT 'Retailer identifier; NULL when the service sent none or no UUID: such rows are distinguished by name (API: retailerId)',
    name String COMMENT 'Retailer name, the newest one by updatedAt; empty when absent (API: name, retailerName)',
    hostname String COMMENT 'Hostname of the retailer''s website, the newest one by updatedAt that is not empty; empty when no deal has one (API: hostname)',
    logo String COMMENT 'Logo URL, the newest one by updatedAt that is not empty; empty when absent (API: logo, retailerLogo)',
    live_promotions UInt64 COMMENT 'Promotions that are listed, have begun and have not ended [count] (from promotions)',
    live_coupons UInt64 COMMENT 'Coupons that are listed, have begun and have not ended [count] (from coupons)',
    live_cashback_offers UInt64 COMMENT 'Cashback offers that are listed [count] (from cashback_offers)',
    transactions UInt64 COMMENT 'Transactions of all times and states [count] (from transactions)',
    last_sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the last sale; NULL when there was none [UTC] (from transactions.sold_at)',
    last_changed_at DateTime64(3, 'UTC') COMMENT 'When a record of the retailer was last loaded new or changed [UTC] (from the streams'' synced_at)'
)
AS SELECT account, retailer_id,
    argMaxIf(named, named_version, named != '') AS name,
    argMaxIf(host, host_version, host != '') AS hostname,
    argMaxIf(image, image_version, image != '') AS logo,
    sum(promotions_live) AS live_promotions, sum(coupons_live) AS live_coupons, sum(offers_live) AS live_cashback_offers,
    sum(sales) AS transactions, fromUnixTimestamp64Milli(max(toUnixTimestamp64Milli(last_sale)), 'UTC') AS last_sold_at, max(newest) AS last_changed_at
FROM
(
    SELECT account, retailer_id, toString(retailer_name) AS named, max(_version) AS named_version,
        toString(argMaxIf(p.hostname, _version, p.hostname != '')) AS host, maxIf(_version, p.hostname != '') AS host_version,
        argMaxIf(retailer_logo, _version, retailer_logo != '') AS image, maxIf(_version, retailer_logo != '') AS image_version,
        countIf(_deleted = 0 AND ifNull(start_date <= now64(3), 1) AND ifNull(end_date > now64(3), 1)) AS promotions_live, 0 AS coupons_live, 0 AS offers_live,
        0 AS sales, CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS last_sale, max(synced_at) AS newest
    FROM promotions_latest AS p FINAL GROUP BY account, retailer_id, named
    UNION ALL
    SELECT account, retailer_id, toString(retailer_name) AS named, max(_version),
        toString(argMaxIf(c.hostname, _version, c.hostname != '')), maxIf(_version, c.hostname != ''),
        argMaxIf(retailer_logo, _version, retailer_logo != ''), maxIf(_version, retailer_logo != ''),
        0, countIf(_deleted = 0 AND ifNull(start_date <= now64(3), 1) AND ifNull(end_date > now64(3), 1)), 0, 0, NULL, max(synced_at)
    FROM coupons_latest AS c FINAL GROUP BY account, retailer_id, named
    UNION ALL
    SELECT account, retailer_id, toString(retailer_name) AS named, max(_version),
        toString(argMaxIf(o.hostname, _version, o.hostname != '')), maxIf(_version, o.hostname != ''),
        argMaxIf(retailer_logo, _version, retailer_logo != ''), maxIf(_version, retailer_logo != ''),
        0, 0, countIf(_deleted = 0), 0, NULL, max(synced_at)
    FROM cashback_offers_latest AS o FINAL GROUP BY account, retailer_id, named
    UNION ALL
    SELECT account, retailer_id, toString(retailer_name) AS named, max(_version), '', 0,
        argMaxIf(retailer_logo, _version, retailer_logo != ''), maxIf(_version, retailer_logo != ''),
        0, 0, 0, count(), fromUnixTimestamp64Milli(max(toUnixTimestamp64Milli(sold_at)), 'UTC'), max(synced_at)
    FROM transactions_latest FINAL WHERE _deleted = 0 GROUP BY account, retailer_id, named
)
GROUP BY account, retailer_id, if(isNull(retailer_id), named, '')
$own_settings
COMMENT 'Retailers, from all streams that name one: one row for each account and retailer';
