INSERT INTO /*$child_hashes_delta*/run_hashes_delta (account, /*$key*/id, hash, _version, _run_id)
SELECT {account:String}, s./*$key*/id, s.hash,
    if(s.read > l._version OR l._version > {latest:UInt64}, greatest(s.read, l._version + 1), s.read), {run:UUID}
FROM
(
    SELECT /*$key*/id, /*$hash{*/sipHash128(_entries)/*}*/ AS hash, toUInt64(_fetched) AS read
    FROM /*$lists*/run_lists
    WHERE run_id = {run:UUID} AND _entries != ''
) AS s
LEFT JOIN
(
    SELECT /*$key*/id, hash, _version
    FROM /*$child_hashes*/product_price_hashes FINAL
    WHERE account = {account:String} AND /*$key*/id IN (SELECT /*$key*/id FROM /*$staging*/transactions_staging WHERE run_id = {run:UUID})
) AS l ON s./*$key*/id = l./*$key*/id
WHERE l._version = 0 OR s.hash != l.hash
