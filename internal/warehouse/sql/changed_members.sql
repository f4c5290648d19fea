WITH
    m.known AND n._deleted = 0 AND ifNull(n.payout_id = m.payout_id, 0) AND ifNull(n.updated_at = m.stamped_at, 0)
        AND (m.stamped_order_value IS NULL OR m.stamped_cashback IS NULL) AND n.order_value IS NOT NULL AND n.cashback IS NOT NULL AS completed,
    if(completed, n.status, m.stamped_status) AS as_status,
    if(completed, n.order_value, m.stamped_order_value) AS as_order_value,
    if(completed, n.cashback, m.stamped_cashback) AS as_cashback,
    m.known AND o.known AND o._deleted = n._deleted AND o.status = n.status AND ifNull(o.payout_id = n.payout_id, o.payout_id IS NULL AND n.payout_id IS NULL)
        AND ifNull(o.order_value, 0) = ifNull(n.order_value, 0) AND ifNull(o.cashback, 0) = ifNull(n.cashback, 0) AS stands
SELECT {account:String}, m.payout_id, n.id, n.sold_at, n.retailer_name, if(completed, n.currency_code, m.currency_code), /*$state*/'PENDING',
    as_status, as_order_value, as_cashback, m.stamped_at, if(completed, n.synced_at, m.stamped_seen_at),
    multiIf(completed, 0, m.known, m.stamped_is_first_known, NOT o.known),
    n.status, n.order_value, n.cashback, n.payout_id, n.currency_code, n.updated_at,
    if(stands, m.turned_at, n.updated_at), if(stands, m.turned_seen_at, n.synced_at), /*$next*/1, {run:UUID}
FROM
(
    SELECT * FROM
    (
        -- An amount that was not readable at first, and was read later from the same updatedAt, was there when it was stamped.
        SELECT payout_id, id, /*$stamped{*/stamped_status, stamped_cashback/*}*/, true AS known, version AS stored
        FROM /*$table*/payout_members FINAL
        WHERE account = {account:String} AND state != '' AND (payout_id, id) IN
        (
            SELECT assumeNotNull(payout_id), id FROM /*$changed*/run_changed WHERE sign = -1 AND payout_id IS NOT NULL
            UNION ALL
            SELECT arrayJoin(payout_ids), id FROM /*$moved*/payout_moves_state FINAL WHERE account = {account:String} AND id IN (SELECT id FROM /*$delta*/run_delta)
        )
        UNION ALL
        SELECT *, false, 0 FROM (/*$new{*/SELECT * FROM payout_members/*}*/)
    )
    ORDER BY known DESC
    LIMIT 1 BY payout_id, id
) AS m
INNER JOIN (SELECT * FROM /*$changed*/run_changed WHERE sign = 1) AS n ON m.id = n.id
LEFT JOIN (SELECT *, true AS known FROM /*$changed*/run_changed WHERE sign = -1) AS o ON m.id = o.id
