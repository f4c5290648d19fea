SELECT assumeNotNull(payout) AS payout_id, id, last.sold_at, last.retailer_name, stamped.currency_code, /*$state*/'PENDING',
    stamped.status, stamped.order_value, stamped.cashback, stamped.updated_at, stamped.synced_at, stamped.version = versions[1].version,
    last.status, last.order_value, last.cashback, last.payout_id, last.currency_code, last.updated_at, turn.updated_at, turn.synced_at
FROM
(
    SELECT id, payout, versions, last, turn, arrayFirst(v -> v.payout_id = payout, carrying) AS first,
        arrayFilter(v -> ifNull(v.payout_id = payout AND v.updated_at = first.updated_at, 0)
            AND v.order_value IS NOT NULL AND v.cashback IS NOT NULL, carrying) AS complete,
        if(empty(complete), first, complete[1]) AS stamped
    FROM
    (
        SELECT id,
            arraySort(v -> v.version, groupArray(CAST((_version, payout_id, status, order_value, cashback,
                currency_code, updated_at, synced_at, _deleted, sold_at, retailer_name),
                'Tuple(version UInt128, payout_id Nullable(Int64), status String, order_value Nullable(Decimal(18, 4)), cashback Nullable(Decimal(18, 4)),
                currency_code String, updated_at Nullable(DateTime64(3, ''UTC'')), synced_at DateTime64(3, ''UTC''),
                _deleted UInt8, sold_at Nullable(DateTime64(3, ''UTC'')),
                retailer_name String)'))) AS versions,
            versions[-1] AS last,
            versions[arrayLastIndex(v -> v._deleted != last._deleted OR v.status != last.status OR (v.payout_id IS DISTINCT FROM last.payout_id)
                OR ifNull(v.order_value, 0) != ifNull(last.order_value, 0) OR ifNull(v.cashback, 0) != ifNull(last.cashback, 0), versions) + 1] AS turn,
            arrayFilter(v -> v.payout_id IS NOT NULL AND v._deleted = 0, versions) AS carrying
        FROM (/*$versions{*/SELECT * FROM transactions_versions/*}*/)
        WHERE cityHash64(id) IN (/*$changed{*/SELECT 1/*}*/)
        GROUP BY id
    )
    ARRAY JOIN arrayDistinct(arrayMap(v -> v.payout_id, carrying)) AS payout
)
