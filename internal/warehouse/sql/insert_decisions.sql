INSERT INTO /*$decisions*/transaction_decisions_latest (/*$columns{*/account, id/*}*/)
WITH
    if(d.status = /*$pending*/'PENDING', d.updated_at, NULL) AS d_pending,
    if(d.status = /*$confirmed*/'CONFIRMED', d.updated_at, NULL) AS d_confirmed,
    if(d.status = /*$declined*/'DECLINED', d.updated_at, NULL) AS d_declined,
    coalesce(least(v.pending, d_pending), v.pending, d_pending) AS first_pending,
    coalesce(least(v.confirmed, d_confirmed), v.confirmed, d_confirmed) AS first_confirmed,
    coalesce(least(v.declined, d_declined), v.declined, d_declined) AS first_declined
SELECT {account:String}, d.id, d.retailer_id, d.currency_code, d.clicked_at, d.sold_at,
    if(first_confirmed > first_pending AND d._deleted = 0, first_confirmed, NULL),
    if(first_declined > first_pending AND d._deleted = 0, first_declined, NULL), d._version, {run:UUID}
FROM /*$delta*/run_delta AS d
INNER JOIN
(
    SELECT id, minIf(updated_at, status = /*$pending*/'PENDING') AS pending, minIf(updated_at, status = /*$confirmed*/'CONFIRMED') AS confirmed,
        minIf(updated_at, status = /*$declined*/'DECLINED') AS declined
    FROM /*$versions*/transactions_versions
    WHERE account = {account:String} AND id IN (SELECT id FROM /*$delta*/run_delta)
    GROUP BY id
) AS v ON d.id = v.id
WHERE first_confirmed > first_pending OR first_declined > first_pending
