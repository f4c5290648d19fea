-- The same as deals_active, for tools that take no parameters. It is quicker, since it reads only current rows.

CREATE OR REPLACE VIEW deals_active_now
(
$deal_columns
)
AS SELECT $deal_promotion
FROM promotions
WHERE ifNull(start_date <= now64(3, 'UTC'), true) AND ifNull(end_date > now64(3, 'UTC'), true)
UNION ALL
SELECT $deal_coupon
FROM coupons
WHERE ifNull(start_date <= now64(3, 'UTC'), true) AND ifNull(end_date > now64(3, 'UTC'), true)
UNION ALL
SELECT $deal_cashback_offer
FROM cashback_offers
COMMENT 'Deals listed and active now, by the clock of the warehouse; a missing start or end date means no limit';
