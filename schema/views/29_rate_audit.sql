-- Was a sale paid at the rate that its offer gave? An offer without a percentage pays a fixed amount. What it promised is
-- exact; the service rounds, so a cashback within one unit of the currency counts as equal. Rates are known only from when
-- the offer was first loaded, or was last changed before that.

CREATE OR REPLACE VIEW rate_audit
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from transactions.account)',
    id UUID COMMENT 'Transaction identifier (from transactions.id)',
    retailer_id Nullable(UUID) COMMENT 'Retailer; NULL when the service sent none or no UUID (from transactions.retailer_id)',
    retailer_name LowCardinality(String) COMMENT 'Retailer name; empty when absent (from transactions.retailer_name)',
    status LowCardinality(String) COMMENT 'PENDING, CONFIRMED or DECLINED; the service may add values; empty when absent (from transactions.status)',
    clicked_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the click, or of the activation when there is none [UTC] (from transactions.clicked_at, activated_at)',
    sold_at Nullable(DateTime64(3, 'UTC')) COMMENT 'Time of the sale [UTC] (from transactions.sold_at)',
    payout_id Nullable(Int64) COMMENT 'Payout that includes the transaction; NULL while in none (from transactions.payout_id)',
    currency_code LowCardinality(String) COMMENT 'Currency of the amounts; empty when absent (from transactions.currency_code)',
    order_value Nullable(Decimal(18, 4)) COMMENT 'Value of the order [currency_code] (from transactions.order_value)',
    cashback Nullable(Decimal(18, 4)) COMMENT 'Cashback that came [currency_code] (from transactions.cashback)',
    cashback_offer_id Nullable(UUID) COMMENT 'Cashback offer behind the transaction; NULL when there is none (from transactions.cashback_offer_id)',
    percentage_at_click Nullable(Decimal(18, 9)) COMMENT 'What the offer gave at the click; NULL when it gave a fixed amount or that is not known [fraction: 0.05 is 5 %] (from cashback_offers_history.cashback_percentage)',
    fixed_at_click Nullable(Decimal(18, 4)) COMMENT 'Fixed amount that the offer gave at the click; NULL when it gave a percentage or that is not known [currency not stated] (from cashback_offers_history.maximum_fixed_commission_fee)',
    percentage_at_sale Nullable(Decimal(18, 9)) COMMENT 'The same at the time of the sale [fraction: 0.05 is 5 %] (from cashback_offers_history.cashback_percentage)',
    fixed_at_sale Nullable(Decimal(18, 4)) COMMENT 'The same at the time of the sale [currency not stated] (from cashback_offers_history.maximum_fixed_commission_fee)',
    promised Nullable(Decimal(38, 4)) COMMENT 'What the offer promised at the click, to 4 decimals and not to the unit of the currency; NULL when that is not known [currency_code] (from order_value, percentage_at_click, fixed_at_click)',
    difference Nullable(Decimal(38, 4)) COMMENT 'cashback less promised; below 0 when less came [currency_code] (from cashback, promised)',
    verdict LowCardinality(String) COMMENT 'as_promised, as_at_sale, as_at_another_time, below_any_rate, between_rates, above_any_rate, not_known_then (the offer was not known at the click), no_offer or no_amount (from all of these)',
    paid_as_from Nullable(DateTime64(3, 'UTC')) COMMENT 'From when the offer gave what was paid; NULL when it never did [UTC] (from cashback_offers_history)',
    known_from Nullable(DateTime64(3, 'UTC')) COMMENT 'From when on the rates of the offer are known; NULL when there is none or none is known [UTC] (from cashback_offers_history)',
    first_loaded_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When the offer was first loaded; before that, only its last change is known [UTC] (from cashback_offers_history.valid_from)'
)
AS SELECT account, id, retailer_id, retailer_name, status, clicked AS clicked_at, sold_at, payout_id, currency_code, order_value, cashback, cashback_offer_id,
    if(at_click = 0, NULL, toDecimal64OrNull(rates[at_click].3, 9)) AS percentage_at_click, if(at_click = 0, NULL, toDecimal64OrNull(rates[at_click].4, 4)) AS fixed_at_click,
    if(at_sale = 0, NULL, toDecimal64OrNull(rates[at_sale].3, 9)) AS percentage_at_sale, if(at_sale = 0, NULL, toDecimal64OrNull(rates[at_sale].4, 4)) AS fixed_at_sale,
    toDecimal128(round(if(at_click = 0, NULL, amounts[at_click]), 4), 4) AS promised, toDecimal128(cashback, 4) - promised AS difference,
    multiIf(isNull(cashback_offer_id), 'no_offer', isNull(cashback) OR empty(arrayFilter(a -> isNotNull(a), amounts)) AND notEmpty(rates), 'no_amount', empty(rates), 'not_known_then',
        at_click != 0 AND equal[at_click], 'as_promised', at_sale != 0 AND equal[at_sale], 'as_at_sale', has(equal, 1), 'as_at_another_time', at_click = 0, 'not_known_then',
        arrayAll(a -> ifNull(cashback < a, 1), amounts), 'below_any_rate', arrayAll(a -> ifNull(cashback > a, 1), amounts), 'above_any_rate', 'between_rates') AS verdict,
    multiIf(verdict = 'as_promised', rates[at_click].1, verdict = 'as_at_sale', rates[at_sale].1, verdict = 'as_at_another_time', rates[indexOf(equal, 1)].1, NULL) AS paid_as_from,
    if(empty(rates), NULL, rates[1].1) AS known_from, if(empty(rates), NULL, arrayMin(r -> r.2, rates)) AS first_loaded_at
FROM
(
    SELECT account, id, retailer_id, retailer_name, status, clicked, sold_at, payout_id, currency_code, order_value, cashback, cashback_offer_id, rates, at_click, at_sale, amounts,
        arrayMap(a -> toUInt8(ifNull(abs(toDecimal128(cashback, 13) - a) < if(currency_code = '', toDecimal128('0.01', 4), $currency_unit), 0)), amounts) AS equal
    FROM
    (
        SELECT t.account AS account, t.id AS id, t.retailer_id AS retailer_id, t.retailer_name AS retailer_name, t.status AS status, ifNull(t.clicked_at, t.activated_at) AS clicked,
            t.sold_at AS sold_at, t.payout_id AS payout_id, t.currency_code AS currency_code, t.order_value AS order_value, t.cashback AS cashback, t.cashback_offer_id AS cashback_offer_id,
            o.rates AS rates, if(isNull(clicked), 0, arrayLastIndex(r -> r.1 <= assumeNotNull(clicked), rates)) AS at_click,
            if(isNull(t.sold_at), 0, arrayLastIndex(r -> r.1 <= assumeNotNull(t.sold_at), rates)) AS at_sale,
            arrayMap(r -> if(r.4 != '', toDecimal128OrNull(r.4, 13), toDecimal128(t.order_value, 4) * toDecimal64OrNull(r.3, 9)), rates) AS amounts
        FROM transactions AS t
        LEFT JOIN
        (
            $offer_rates
        ) AS o ON t.account = o.account AND t.cashback_offer_id = o.offer
    )
)
$own_settings
COMMENT 'Whether each transaction was paid at the rate that its cashback offer gave at the click'
