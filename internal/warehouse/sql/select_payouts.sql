SELECT account, payout_id, start_date, end_date, verdict, mismatches, currencies, mixed_currency = 1,
    altered = 1, altered_columns, altered_before, altered_after,
    altered_at, first_seen_at, complete_to, transactions_reported, transactions_loaded, transactions_changed, transactions_moved, transactions_gone,
    transactions_late, at_stake, /*$at_stake*/at_stake_gone,
    /*$reported*/cashback,
    /*$stamped*/stamped_cashback,
    /*$now*/now_cashback,
    /*$difference*/cashback_difference
FROM payout_reconciliation
WHERE /*$where{*/account = {account:String}/*}*/
ORDER BY account, payout_id DESC
