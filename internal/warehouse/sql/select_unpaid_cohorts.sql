SELECT currency, toDateTime64(cell.1, 3, 'UTC') AS month, cell.2 AS togo, cell.3 = 1 AS confirmed,
    toInt64(count()), sum(cell.4), sum(cell.5)
FROM
(
    SELECT currency, arrayJoin(arrayConcat(
        arrayMap(c -> (due, toInt8(c.1), toUInt8(bitTest(c.2, 1)), /*$amount*/c.2,
            if(stamped != 0 AND stamped_at < /*$until*/due, paid, 0)), arrayFilter(c -> bitTest(c.2, 0), [/*$cells{*/(0, seen_0)/*}*/])),
        if(stamped != 0, [(toDate(toStartOfMonth(fromUnixTimestamp64Milli(stamped_at, 'UTC'))), toInt8(-1), toUInt8(0), toDecimal64(0, 4), paid)], []))) AS cell
    FROM
    (
        SELECT argMax(currency_code, _version) AS currency, argMax(month_due, _version) AS due,
            argMinIf(packed, _version, paid_out) AS stamped, argMinIf(changed, _version, paid_out) AS stamped_at,
            /*$paid*/stamped AS paid, /*$seen{*/argMaxIf(packed, _version, changed < 0) AS seen_0/*}*/
        FROM
        (
            SELECT id, currency_code, _version, /*$due{*/toDate(sold_at)/*}*/ AS month_due, /*$changed*/updated_at AS changed,
                payout_id IS NOT NULL AS paid_out, _deleted = 0 AND status != /*$declined*/'DECLINED' AS worth,
                reinterpretAsInt64(if(worth, ifNull(cashback, 0), 0)) * 8 + 4 + (status = /*$confirmed*/'CONFIRMED') * 2 + (worth AND NOT paid_out) AS packed
            FROM /*$versions*/transactions_versions
            WHERE account = {account:String} AND sold_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
                AND sold_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')
        )
        GROUP BY id
    )
)
GROUP BY currency, month, togo, confirmed
ORDER BY currency, month, togo, confirmed
