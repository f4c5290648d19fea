INSERT INTO /*$changes*/run_changes (/*$key*/id, change, version, was, now/*$position{*/, position/*}*/)
WITH
    /*$compared{*/1 AS newer/*}*/
SELECT if(s._version = 0, l./*$key*/id, s./*$key*/id),
    multiIf(s._version = 0, /*$delete*/3, l._version = 0 OR l._deleted, /*$insert*/1, newer, /*$update*/2, /*$older*/4),
    if(s._version = 0, greatest(bitOr(/*$upstream*/l._version, toUInt128({started:UInt64})), l._version + 1), s_version),
    if(l._version = 0 OR l._deleted, 0, /*$was{*/cityHash64(l.id)/*}*/),
    if(s._version = 0, 0, /*$now{*/cityHash64(s.id)/*}*/)/*$where{*/, l.position/*}*/
FROM
(
    /*$staged{*/SELECT * FROM transactions_staging/*}*/
) AS s
/*$join{*/LEFT JOIN/*}*/
(
    /*$current{*/SELECT * FROM transactions_latest/*}*/
) AS l ON s./*$key*/id = l./*$key*/id
WHERE /*$chosen{*/change != 0/*}*/
