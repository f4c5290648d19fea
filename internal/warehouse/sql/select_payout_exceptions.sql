SELECT /*$columns*/account, unseen = 1
FROM
(
    SELECT *, ifNull(/*$quarter{*/intDiv(toUnixTimestamp64Milli(stamped_at), 900000)/*}*/ > first_quarter + 1, 0) OR NOT made_known AND stamped_is_first_known = 1 AS unseen
    FROM payout_transactions
    INNER JOIN
    (
        SELECT payout_id, min(/*$quarter{*/intDiv(toUnixTimestamp64Milli(stamped_at), 900000)/*}*/) AS first_quarter, ifNull(quantileExactLow(0.5)(/*$quarter{*/intDiv(toUnixTimestamp64Milli(stamped_at), 900000)/*}*/) <= min(/*$quarter{*/intDiv(toUnixTimestamp64Milli(stamped_at), 900000)/*}*/) + 1, 0) AS made_known
        FROM payout_transactions WHERE account = {account:String} AND payout_id IN (/*$ids*/1) GROUP BY payout_id
    ) AS q USING (payout_id)
    WHERE account = {account:String} AND payout_id IN (/*$ids*/1)
)
WHERE at_stake != 0 OR unseen AND payout_id IN (/*$unseen*/1) OR payout_id IN (/*$first*/1) AND stamped_is_first_known = 1
ORDER BY payout_id, abs(at_stake) DESC, id
