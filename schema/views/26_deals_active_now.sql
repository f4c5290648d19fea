-- deals_active for tools that take no parameters, and quicker, since it reads current rows alone.

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
COMMENT 'Deals that are listed, have begun and have not ended, by the clock of the warehouse; no border means an open one';
