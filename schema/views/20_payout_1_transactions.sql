-- The transactions of payouts as they were paid, and as they stand now. A service changes transactions after it paid
-- them, and never a payout; so "as stamped", the first version that carries the payoutId, is kept apart from "as of now".
--
-- Each run keeps the storage in step (payoutTransactionsTable in internal/warehouse): in the order of the payouts, so
-- that the transactions of one are read at once.

CREATE OR REPLACE VIEW payout_transactions
(
$payout_transaction_columns
)
AS SELECT account, payout_id, id, sold_at, retailer_name, currency_code, state, stamped_status, stamped_order_value, stamped_cashback, stamped_at, stamped_seen_at, stamped_is_first_known,
    status, order_value, cashback, payout_id_now, multiIf(state = 'same', NULL, state = 'gone', toNullable(turned_seen_at), turned_at) AS changed_at,
    if(stamped_status = 'DECLINED', 0, ifNull(stamped_cashback, 0)) - if(status = 'DECLINED' OR state IN ('moved', 'gone'), 0, ifNull(cashback, 0)) AS at_stake
FROM payout_transactions_latest FINAL
WHERE state != ''
COMMENT 'Every transaction of a payout, one row for each payout that it ever carried: as stamped and as of now';
