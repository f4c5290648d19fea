-- What could be used at a moment: SELECT * FROM deals_active(at = now()). As of a moment in the past, what was listed then
-- is what had been loaded by then: the newest version of each deal of those days, unless it is its deletion.

CREATE OR REPLACE VIEW deals_active
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from the streams)',
    kind String COMMENT 'promotion, coupon or cashback_offer',
    id UUID COMMENT 'Identifier of the deal (API: id)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the deal; NULL when the service sent none or no UUID (API: retailerId)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (API: name)',
    hostname LowCardinality(String) COMMENT 'Hostname of the retailer''s website; empty when absent (API: hostname)',
    description String COMMENT 'Description of the deal; empty when absent (API: description)',
    code String COMMENT 'The coupon code; empty for other deals (API: code)',
    category String COMMENT 'Category of the cashback offer; empty for other deals (API: category)',
    countries Array(LowCardinality(String)) COMMENT 'Countries of the cashback offer, ISO 3166-1 alpha-2; empty for other deals (API: countries)',
    cashback_percentage Nullable(Decimal(18, 9)) COMMENT 'Cashback of the cashback offer; NULL for other deals [fraction: 0.05 is 5 %] (API: cashbackPercentage)',
    maximum_fixed_commission_fee Nullable(Decimal(18, 4)) COMMENT 'Fixed cashback amount; NULL when the offer gives a percentage, and for other deals [currency not stated] (API: maximumFixedCommissionFee)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the deal becomes active; NULL when it says no such time, as cashback offers never do [UTC] (API: startDate)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'When the deal expires; NULL when it says no such time, as cashback offers never do [UTC] (API: endDate)',
    url String COMMENT 'URL of the retailer''s website; empty when absent (API: url)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (API: updatedAt)',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version was loaded [UTC] (from the streams'' synced_at)'
)
AS SELECT account, 'promotion' AS kind, id, retailer_id, retailer_name, hostname, description, '' AS code, '' AS category, [] AS countries,
    CAST(NULL, 'Nullable(Decimal(18, 9))') AS cashback_percentage, CAST(NULL, 'Nullable(Decimal(18, 4))') AS maximum_fixed_commission_fee,
    start_date AS start_date, end_date AS end_date, url, updated_at, synced_at
FROM (
    SELECT * FROM promotions_versions WHERE synced_at <= {at:DateTime64(3, 'UTC')}
    ORDER BY _version DESC, _deleted DESC LIMIT 1 BY account, id
)
WHERE _deleted = 0 AND ifNull(start_date <= {at:DateTime64(3, 'UTC')}, true) AND ifNull(end_date > {at:DateTime64(3, 'UTC')}, true)
UNION ALL
SELECT account, 'coupon' AS kind, id, retailer_id, retailer_name, hostname, description, code AS code, '' AS category, [] AS countries,
    CAST(NULL, 'Nullable(Decimal(18, 9))') AS cashback_percentage, CAST(NULL, 'Nullable(Decimal(18, 4))') AS maximum_fixed_commission_fee,
    start_date AS start_date, end_date AS end_date, url, updated_at, synced_at
FROM (
    SELECT * FROM coupons_versions WHERE synced_at <= {at:DateTime64(3, 'UTC')}
    ORDER BY _version DESC, _deleted DESC LIMIT 1 BY account, id
)
WHERE _deleted = 0 AND ifNull(start_date <= {at:DateTime64(3, 'UTC')}, true) AND ifNull(end_date > {at:DateTime64(3, 'UTC')}, true)
UNION ALL
SELECT account, 'cashback_offer' AS kind, id, retailer_id, retailer_name, hostname, description, '' AS code, category AS category, countries AS countries,
    cashback_percentage AS cashback_percentage, maximum_fixed_commission_fee AS maximum_fixed_commission_fee,
    CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS start_date, CAST(NULL, 'Nullable(DateTime64(3, \'UTC\'))') AS end_date, url, updated_at, synced_at
FROM (
    SELECT * FROM cashback_offers_versions WHERE synced_at <= {at:DateTime64(3, 'UTC')}
    ORDER BY _version DESC, _deleted DESC LIMIT 1 BY account, id
)
WHERE _deleted = 0
COMMENT 'Deals that were listed at the time that the parameter at gives, had begun and had not ended; no border means an open one';
