-- The deals that could be used at a moment: SELECT * FROM deals_active(at = now()). For a moment in the past, a deal was
-- listed if it had been loaded by then: its newest version of that time counts, unless that is its deletion.

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
COMMENT 'Deals listed and active at the time `at`; a missing start or end date means no limit';
