-- The transactions of payouts as they were paid, and as they stand now. A service changes transactions after it paid
-- them, and never a payout; so "as stamped", the first version that carries the payoutId, is kept apart from "as of now".
--
-- Nearly every transaction has a single version with a payoutId, and that is its current one. Only the few others are
-- looked up among all versions; this is what keeps millions of transactions fast. They are found by a hash. Where it
-- takes two transactions for one, both are looked up without need, and the result is the same.
--
-- The current version, too, is read from transactions_versions, where it is the newest one: a view that read it from
-- transactions_latest would mix two states while a run is published (warehouse-12).

CREATE OR REPLACE VIEW payout_changed_keys
(
    key UInt64 COMMENT 'cityHash64(account, id) of a transaction (from transactions_history)'
)
-- One number says of the newest change upstream whether a version of it carries no payoutId.
AS SELECT key FROM
(
    SELECT cityHash64(account, id) AS key, payout_id IS NULL AS bare, toUInt64(bitShiftRight(_version, 64)) AS changed_at FROM transactions_versions
)
GROUP BY key HAVING sum(NOT bare) > 1 OR sum(NOT bare) = 1 AND max(2 * changed_at + bare) % 2 = 1
COMMENT 'Transactions that may have changed since they got their payoutId: the part of payout_transactions that takes a look at every version';

CREATE OR REPLACE VIEW payout_changed_transactions
(
$payout_transaction_columns,
    updated_at Nullable(DateTime64(3, 'UTC')) COMMENT 'updatedAt as of now [UTC] (from transactions.updated_at)',
    currency_code_now LowCardinality(String) COMMENT 'Currency as of now; empty when absent (from transactions.currency_code)'
)
AS SELECT account, assumeNotNull(payout) AS payout_id, id, sold_at, retailer_name, tupleElement(stamped, 'currency_code') AS currency_code,
    multiIf(tupleElement(last, 'deleted') = 1, 'gone', ifNull(tupleElement(last, 'payout_id') != payout, 1), 'moved',
        tupleElement(stamped, 'status') != tupleElement(last, 'status') OR ifNull(tupleElement(stamped, 'order_value'), 0) != ifNull(tupleElement(last, 'order_value'), 0) OR ifNull(tupleElement(stamped, 'cashback'), 0) != ifNull(tupleElement(last, 'cashback'), 0), 'changed',
        'same') AS state,
    tupleElement(stamped, 'status') AS stamped_status, tupleElement(stamped, 'order_value') AS stamped_order_value, tupleElement(stamped, 'cashback') AS stamped_cashback,
    tupleElement(stamped, 'updated_at') AS stamped_at, tupleElement(stamped, 'synced_at') AS stamped_seen_at, tupleElement(stamped, 'version') = tupleElement(versions[1], 'version') AS stamped_is_first_known,
    tupleElement(last, 'status') AS status, tupleElement(last, 'order_value') AS order_value, tupleElement(last, 'cashback') AS cashback, tupleElement(last, 'payout_id') AS payout_id_now,
    multiIf(state = 'same', NULL, state = 'gone', toNullable(tupleElement(turn, 'synced_at')), tupleElement(turn, 'updated_at')) AS changed_at,
    if(tupleElement(stamped, 'status') = 'DECLINED', 0, ifNull(tupleElement(stamped, 'cashback'), 0)) - if(tupleElement(last, 'status') = 'DECLINED' OR state IN ('moved', 'gone'), 0, ifNull(tupleElement(last, 'cashback'), 0)) AS at_stake,
    tupleElement(last, 'updated_at') AS updated_at, tupleElement(last, 'currency_code') AS currency_code_now
FROM
(
    -- An amount that was not readable at first, and was read later from the same updatedAt, was there when it was stamped.
    SELECT account, id, payout, sold_at, retailer_name, versions, last, turn, arrayFirst(v -> tupleElement(v, 'payout_id') = payout, carrying) AS first,
        arrayFilter(v -> ifNull(tupleElement(v, 'payout_id') = payout AND tupleElement(v, 'updated_at') = tupleElement(first, 'updated_at'), 0) AND tupleElement(v, 'order_value') IS NOT NULL AND tupleElement(v, 'cashback') IS NOT NULL, carrying) AS complete,
        if(empty(complete), first, complete[1]) AS stamped
    FROM
    (
        SELECT account, id, argMax(sold_at, _version) AS sold_at, argMax(retailer_name, _version) AS retailer_name,
            arraySort(v -> tupleElement(v, 'version'), groupArray(CAST((_version, payout_id, status, order_value, cashback, currency_code, updated_at, synced_at, _deleted),
                'Tuple(version UInt128, payout_id Nullable(Int64), status String, order_value Nullable(Decimal(18, 4)), cashback Nullable(Decimal(18, 4)),
                currency_code String, updated_at Nullable(DateTime64(3, ''UTC'')), synced_at DateTime64(3, ''UTC''), deleted UInt8)'))) AS versions,
            versions[-1] AS last,
            versions[arrayLastIndex(v -> tupleElement(v, 'deleted') != tupleElement(last, 'deleted') OR tupleElement(v, 'status') != tupleElement(last, 'status') OR (tupleElement(v, 'payout_id') IS DISTINCT FROM tupleElement(last, 'payout_id'))
                OR ifNull(tupleElement(v, 'order_value'), 0) != ifNull(tupleElement(last, 'order_value'), 0) OR ifNull(tupleElement(v, 'cashback'), 0) != ifNull(tupleElement(last, 'cashback'), 0), versions) + 1] AS turn,
            arrayFilter(v -> tupleElement(v, 'payout_id') IS NOT NULL AND tupleElement(v, 'deleted') = 0, versions) AS carrying
        FROM transactions_versions
        WHERE cityHash64(account, id) IN (SELECT key FROM payout_changed_keys)
        GROUP BY account, id
    )
    ARRAY JOIN arrayDistinct(arrayMap(v -> tupleElement(v, 'payout_id'), carrying)) AS payout
)
COMMENT 'Rows of payout_transactions whose transaction may have changed since it was stamped';

CREATE OR REPLACE VIEW payout_transactions
(
$payout_transaction_columns
)
AS SELECT account, assumeNotNull(payout_id) AS payout_id, id, sold_at, retailer_name, currency_code, 'same' AS state,
    status AS stamped_status, order_value AS stamped_order_value, cashback AS stamped_cashback, updated_at AS stamped_at, synced_at AS stamped_seen_at,
    cityHash64(account, id) NOT IN (SELECT cityHash64(account, id) FROM transactions_versions WHERE payout_id IS NULL) AS stamped_is_first_known,
    status, order_value, cashback, transactions_versions.payout_id AS payout_id_now, NULL AS changed_at, 0 AS at_stake
FROM transactions_versions
WHERE transactions_versions.payout_id IS NOT NULL AND _deleted = 0 AND cityHash64(account, id) NOT IN (SELECT key FROM payout_changed_keys)
UNION ALL
SELECT account, payout_id, id, sold_at, retailer_name, currency_code, state, stamped_status, stamped_order_value, stamped_cashback, stamped_at, stamped_seen_at, stamped_is_first_known, status, order_value, cashback, payout_id_now, changed_at, at_stake
FROM payout_changed_transactions
COMMENT 'Every transaction of a payout, one row for each payout that it ever carried: as stamped and as of now'
