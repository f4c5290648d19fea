-- Transactions with the names of the deals behind them. The deals come from the tables that keep the last content
-- of what has left the lists: a sale of last year still has its offer. Each text has the very type that its
-- column says (toString of a LowCardinality is one, too): a condition may read a part of it, such as its size.

CREATE OR REPLACE VIEW transactions_enriched
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    id UUID COMMENT 'Transaction identifier (from transactions.id)',
    status LowCardinality(String) COMMENT 'PENDING, CONFIRMED or DECLINED; the service may add values; empty when absent (from transactions.status)',
    country LowCardinality(String) COMMENT 'Country code; empty when absent (from transactions.country)',
    activated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Activation time [UTC] (from transactions.activated_at)',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Click time [UTC] (from transactions.clicked_at)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (from transactions.sold_at)',
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Last update time upstream [UTC] (from transactions.updated_at)',
    currency_code LowCardinality(String) COMMENT 'Currency of order_value and cashback; empty when absent (from transactions.currency_code)',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Value of the order [currency_code] (from transactions.order_value)',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback amount [currency_code] (from transactions.cashback)',
    payout_id Nullable(Int64) COMMENT 'Payout that includes the transaction; NULL while in none (from transactions.payout_id)',
    passback_uid String COMMENT 'Caller''s own user identifier, as passed back; empty when absent (from transactions.passback_uid)',
    passback_data String COMMENT 'Caller''s own data, as passed back; empty when absent (from transactions.passback_data)',
    retailer_id Nullable(UUID) COMMENT 'Retailer of the transaction; NULL when the service sent none or no UUID (from transactions.retailer_id)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (from transactions.retailer_name)',
    retailer_logo String COMMENT 'Retailer logo URL; empty when absent (from transactions.retailer_logo)',
    hostname String COMMENT 'Hostname of the retailer''s website, as the deals behind the transaction have it; empty when none is known (from cashback_offers.hostname, coupons.hostname, promotions.hostname)',
    cashback_offer_id Nullable(UUID) COMMENT 'Cashback offer behind the transaction; NULL when there is none (from transactions.cashback_offer_id)',
    offer_category String COMMENT 'Category of the cashback offer; empty when there is none or it is not known (from cashback_offers.category)',
    offer_description String COMMENT 'Description of the cashback offer; empty when there is none or it is not known (from cashback_offers.description)',
    offer_cashback_percentage Nullable(Decimal(18, 9)) COMMENT 'What the cashback offer gives now, or gave when it was last listed [fraction: 0.05 is 5 %] (from cashback_offers.cashback_percentage)',
    offer_percentage_at_click Nullable(Decimal(18, 9)) COMMENT 'What the cashback offer gave at the click; NULL when it gave a fixed amount, or that is not known: rate_audit says which [fraction: 0.05 is 5 %] (from cashback_offers_history.cashback_percentage)',
    offer_fixed_at_click Nullable(Decimal(18, 4)) COMMENT 'Fixed amount that the cashback offer gave at the click; NULL when it gave a percentage, or that is not known [currency not stated] (from cashback_offers_history.maximum_fixed_commission_fee)',
    offer_percentage_at_sale Nullable(Decimal(18, 9)) COMMENT 'What it gave at the time of the sale; NULL likewise [fraction: 0.05 is 5 %] (from cashback_offers_history.cashback_percentage)',
    offer_fixed_at_sale Nullable(Decimal(18, 4)) COMMENT 'Fixed amount that it gave at the time of the sale; NULL likewise [currency not stated] (from cashback_offers_history.maximum_fixed_commission_fee)',
    offer_listed Nullable(Bool) COMMENT 'Whether the cashback offer is still listed; NULL when there is none or it is not known (from cashback_offers)',
    coupon_id Nullable(UUID) COMMENT 'Coupon behind the transaction; NULL when there is none (from transactions.coupon_id)',
    coupon_code String COMMENT 'Code of the coupon; empty when there is none or it is not known (from coupons.code)',
    coupon_description String COMMENT 'Description of the coupon; empty when there is none or it is not known (from coupons.description)',
    coupon_listed Nullable(Bool) COMMENT 'Whether the coupon is still listed; NULL when there is none or it is not known (from coupons)',
    promotion_id Nullable(UUID) COMMENT 'Promotion behind the transaction; NULL when there is none (from transactions.promotion_id)',
    promotion_description String COMMENT 'Description of the promotion; empty when there is none or it is not known (from promotions.description)',
    promotion_listed Nullable(Bool) COMMENT 'Whether the promotion is still listed; NULL when there is none or it is not known (from promotions)',
    synced_at DateTime64(3, 'UTC') COMMENT 'When this version of the transaction was loaded [UTC] (from transactions.synced_at)'
)
AS SELECT t.account AS account, t.id AS id, t.status AS status, t.country AS country, t.activated_at AS activated_at, t.clicked_at AS clicked_at,
    t.sold_at AS sold_at, t.updated_at AS updated_at, t.currency_code AS currency_code, t.order_value AS order_value, t.cashback AS cashback,
    t.payout_id AS payout_id, t.passback_uid AS passback_uid, t.passback_data AS passback_data, t.retailer_id AS retailer_id,
    t.retailer_name AS retailer_name, t.retailer_logo AS retailer_logo,
    coalesce(nullIf(o.hostname, ''), nullIf(c.hostname, ''), nullIf(p.hostname, ''), '') AS hostname,
    t.cashback_offer_id AS cashback_offer_id, ifNull(o.category, '') AS offer_category, ifNull(o.description, '') AS offer_description,
    o.cashback_percentage AS offer_cashback_percentage,
    toDecimal64OrNull(o.rates[arrayLastIndex(x -> x.1 <= ifNull(ifNull(t.clicked_at, t.activated_at), toDateTime64(0, 3, 'UTC')), o.rates)].3, 9) AS offer_percentage_at_click,
    toDecimal64OrNull(o.rates[arrayLastIndex(x -> x.1 <= ifNull(ifNull(t.clicked_at, t.activated_at), toDateTime64(0, 3, 'UTC')), o.rates)].4, 4) AS offer_fixed_at_click,
    toDecimal64OrNull(o.rates[arrayLastIndex(x -> x.1 <= ifNull(t.sold_at, toDateTime64(0, 3, 'UTC')), o.rates)].3, 9) AS offer_percentage_at_sale,
    toDecimal64OrNull(o.rates[arrayLastIndex(x -> x.1 <= ifNull(t.sold_at, toDateTime64(0, 3, 'UTC')), o.rates)].4, 4) AS offer_fixed_at_sale,
    o.listed AS offer_listed,
    t.coupon_id AS coupon_id, ifNull(c.code, '') AS coupon_code, ifNull(c.description, '') AS coupon_description, c.listed AS coupon_listed,
    t.promotion_id AS promotion_id, ifNull(p.description, '') AS promotion_description, p.listed AS promotion_listed,
    t.synced_at AS synced_at
FROM transactions AS t
LEFT JOIN
(
    $offer_rates
) AS o ON t.account = o.account AND t.cashback_offer_id = o.offer
LEFT JOIN
(
    SELECT account, id, CAST(hostname, 'String') AS hostname, code, description, CAST(_deleted = 0, 'Nullable(Bool)') AS listed FROM coupons_latest FINAL
) AS c ON t.account = c.account AND t.coupon_id = c.id
LEFT JOIN
(
    SELECT account, id, CAST(hostname, 'String') AS hostname, description, CAST(_deleted = 0, 'Nullable(Bool)') AS listed FROM promotions_latest FINAL
) AS p ON t.account = p.account AND t.promotion_id = p.id
$own_settings
COMMENT 'Transactions as they stand now, one row each, with the retailer and the deals behind them, listed or not';
