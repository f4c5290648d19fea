-- The sums of sales, and of those that a payout includes and that are not declined.
count() AS transactions, sum(toDecimal128(ifNull(t.order_value, 0), 4)) AS order_value, sum(toDecimal128(ifNull(t.cashback, 0), 4)) AS cashback,
    countIf(payout_id IS NOT NULL AND status != 'DECLINED') AS paid_transactions,
    sumIf(toDecimal128(ifNull(t.cashback, 0), 4), payout_id IS NOT NULL AND status != 'DECLINED') AS paid_cashback
FROM transactions_latest AS t FINAL
WHERE _deleted = 0
