SELECT /*$id*/raw_hash AS id FROM
(
    SELECT account, stream, key, field, reason, raw_hash FROM rejects_log
    WHERE stream = /*$stream*/'transactions' GROUP BY account, stream, key, field, reason, raw_hash
    HAVING max(written_at) < toDateTime(intDiv({before:Int64}, 1000), 'UTC')
)
WHERE (account, stream, key, field, reason, raw_hash) IN
(
    SELECT account, stream, key, field, reason, sipHash128(raw) FROM rejected_records
    WHERE stream = /*$stream*/'transactions' AND state != /*$open*/'open'
)
ORDER BY id LIMIT {limit:UInt64}
