-- What could be used at a moment: SELECT * FROM deals_active(at = now()). As of a moment in the past, what was listed then
-- is what had been loaded by then: the newest version of each deal of those days, unless it is its deletion.

CREATE OR REPLACE VIEW deals_active
(
$deal_columns
)
AS SELECT $deal_promotion
FROM (
    SELECT * FROM promotions_versions WHERE synced_at <= {at:DateTime64(3, 'UTC')}
    ORDER BY _version DESC, _deleted DESC LIMIT 1 BY account, id
)
WHERE _deleted = 0 AND ifNull(start_date <= {at:DateTime64(3, 'UTC')}, true) AND ifNull(end_date > {at:DateTime64(3, 'UTC')}, true)
UNION ALL
SELECT $deal_coupon
FROM (
    SELECT * FROM coupons_versions WHERE synced_at <= {at:DateTime64(3, 'UTC')}
    ORDER BY _version DESC, _deleted DESC LIMIT 1 BY account, id
)
WHERE _deleted = 0 AND ifNull(start_date <= {at:DateTime64(3, 'UTC')}, true) AND ifNull(end_date > {at:DateTime64(3, 'UTC')}, true)
UNION ALL
SELECT $deal_cashback_offer
FROM (
    SELECT * FROM cashback_offers_versions WHERE synced_at <= {at:DateTime64(3, 'UTC')}
    ORDER BY _version DESC, _deleted DESC LIMIT 1 BY account, id
)
WHERE _deleted = 0
COMMENT 'Deals that were listed at the time that the parameter at gives, had begun and had not ended; no border means an open one';
