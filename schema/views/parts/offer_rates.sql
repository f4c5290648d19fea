-- Each cashback offer as it is known last, and what it gave from when on: the time at which the service says that the
-- record changed, but not after it was loaded. Two versions in a row that give the same are one.
SELECT account, id AS offer, newest.1 AS hostname, newest.2 AS category, newest.3 AS description, newest.4 AS cashback_percentage, CAST(newest.5 = 0, 'Nullable(Bool)') AS listed,
        arrayFilter((r, i) -> i = 1 OR (r.3, r.4) != (seen[i - 1].3, seen[i - 1].4), seen, arrayEnumerate(seen)) AS rates
    FROM
    (
        SELECT account, id, argMax((CAST(hostname, 'String'), CAST(category, 'String'), description, cashback_percentage, _deleted), _version) AS newest,
            arraySort(r -> (r.1, r.2), groupArray((least(ifNull(updated_at, synced_at), synced_at), synced_at, ifNull(toString(cashback_percentage), ''), ifNull(toString(maximum_fixed_commission_fee), '')))) AS seen
        FROM cashback_offers_versions
        GROUP BY account, id
    )
