    SELECT /*$columns*/account
    FROM (SELECT *, /*$effective{*/0 AS late, 0 AS effective/*}*/, /*$days{*/0 AS days/*}*/ FROM transaction_changes WHERE account = {account:String} AND cityHash64(id) IN
    (
        /*$before{*/SELECT id FROM transaction_changes WHERE first_paid/*}*/ AND cityHash64(id) IN (/*$since{*/SELECT 1/*}*/)
        UNION ALL
        /*$irregular{*/SELECT id FROM payout_members/*}*/
    ))
    UNION ALL
    SELECT currency_code, {from:Int64} - 1 AS effective, 0 AS late, /*$days{*/0 AS days/*}*/, sold_at, payout_id IS NULL AS sale,
        status_before, status, payout_id AS payout_id_before, payout_id,
        0 AS first_paid, payout_id IS NOT NULL AS listed_before, 1 AS listed, cashback_before, cashback
    FROM
    (
        SELECT id, currency_code, sold_at, payout_id, /*$pending*/'PENDING' AS status_before,
            if(t.status = /*$confirmed*/'CONFIRMED', /*$confirmed*/'CONFIRMED', /*$pending*/'PENDING') AS status, ifNull(t.cashback, 0) AS cashback_before,
            cashback_before AS cashback
        FROM /*$sales*/transactions AS t
        WHERE account = {account:String} AND payout_id IS NULL AND t.status != /*$declined*/'DECLINED' AND cityHash64(id) NOT IN
            (SELECT cityHash64(id) FROM /*$moves*/payout_moves_state FINAL WHERE account = {account:String} AND notEmpty(payout_ids))
        UNION ALL
        SELECT id, currency_code, sold_at, toNullable(payout_id), toString(stamped_status), toString(status), ifNull(stamped_cashback, 0), ifNull(m.cashback, 0)
        FROM /*$members*/payout_members AS m FINAL
        WHERE account = {account:String} AND state = /*$changed*/run_changed AND NOT /*$irregular_member{*/(stamped_is_first_known = 1)/*}*/ AND cityHash64(id) NOT IN
            (SELECT cityHash64(id) FROM /*$moves*/payout_moves_state FINAL WHERE account = {account:String} AND notEmpty(payout_ids))
    )
    WHERE cityHash64(id) NOT IN (/*$since{*/SELECT 1/*}*/)
