-- The third leg: what was earned, what was paid out, and what reached the bank.

CREATE OR REPLACE VIEW payout_paid
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from payouts.account)',
    payout_id Int64 COMMENT 'Payout (from payouts.id)',
    currency_code LowCardinality(String) COMMENT 'Currency of its transactions; empty when it is not known, or for what a payout of several currencies says beyond its transactions (from payout_transactions.currency_code)',
    paid Decimal(38, 4) COMMENT 'Cashback that the payout reports without that of declined transactions; where it has several currencies, or reports none, that of its transactions as stamped [currency_code] (from payouts.total_cashback, declined_cashback, payout_transactions.stamped_cashback)',
    earned Decimal(38, 4) COMMENT 'What its transactions are worth as of now [currency_code] (from payout_transactions.cashback)',
    stamped Decimal(38, 4) COMMENT 'What its transactions were worth as they were paid [currency_code] (from payout_transactions.stamped_cashback)'
)
-- Planning costs more than running here. A name that stands for an expression is planned wherever it is used, but a
-- column of a subquery once: so most levels below have one expression.
AS SELECT account, payout_id, part.1 AS currency_code, part.2 AS paid, part.3 AS earned, part.4 AS stamped
FROM
(
    SELECT account, payout_id, arrayJoin(multiIf(empty(lines), [('', ifNull(reported, worth), worth, worth)], length(lines) = 1, [(lines[1].1, ifNull(reported, worth), lines[1].3, worth)],
        rest = 0, lines, arrayPushBack(lines, ('', rest, toDecimal128(0, 4), toDecimal128(0, 4))))) AS part
    FROM
    (
        SELECT account, payout_id, reported, lines, worth, toDecimal128(ifNull(reported, worth) - worth, 4) AS rest
        FROM
        (
            SELECT account, id AS payout_id, toNullable(toDecimal128(total_cashback - declined_cashback, 4)) AS reported FROM payouts_latest FINAL WHERE _deleted = 0
        ) AS p
        LEFT JOIN
        (
            SELECT account, payout_id, arrayZip(sums.1, sums.3, sums.4, sums.3) AS lines, arraySum(sums.3) AS worth
            FROM
            (
                -- The number is what keeps a currency whose amounts are 0.
                SELECT account, payout_id,
                    sumMap([toString(currency_code)], [stamped_n], [if(stamped_status = 'DECLINED', 0, stamped_cashback)], [if(now_status = 'DECLINED', 0, now_cashback)]) AS sums
                FROM payout_sums_latest FINAL
                WHERE stamped_n != 0
                GROUP BY account, payout_id
            )
        ) AS s USING (account, payout_id)
    )
)
$own_settings
COMMENT 'What each payout paid in each currency, and what that is worth now';

CREATE OR REPLACE VIEW settlements
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from settlement_revisions.account)',
    reference String COMMENT 'By which the bank knows it (from settlement_revisions.reference)',
    revision UInt32 COMMENT '1, and one more for each correction (from settlement_revisions.revision)',
    received_on Date COMMENT 'Day on which it reached the bank (from settlement_revisions.received_on)',
    currency_code LowCardinality(String) COMMENT 'Currency that reached the bank (from settlement_revisions.currency_code)',
    amount Decimal(38, 4) COMMENT 'What reached the bank, after fees; below zero: it was taken back [currency_code] (from settlement_revisions.amount)',
    fee Decimal(38, 4) COMMENT 'What the bank, or one before it, kept [currency_code] (from settlement_revisions.fee)',
    payout_currency LowCardinality(String) COMMENT 'Currency in which it was sent; another one than currency_code: it was converted (from settlement_revisions.payout_currency)',
    payout_amount Decimal(38, 4) COMMENT 'What was sent: amount and fee, or before it was converted [payout_currency] (from settlement_revisions.payout_amount)',
    unit Decimal(38, 4) COMMENT 'Smallest unit of payout_currency [payout_currency] (from settlement_revisions.unit)',
    text String COMMENT 'In the words of the bank (from settlement_revisions.text)',
    matched_by LowCardinality(String) COMMENT 'How its payouts are known: named: whoever imported it says so; reference: its reference or text names payouts that come to this amount; amount: one payout is of this amount, and no other could be meant; empty: they are not known (from settlement_revisions.payouts, reference, text, payout_amount, payout_paid.paid)',
    payouts Array(Int64) COMMENT 'Payouts that it settles (from settlement_revisions.payouts, payout_paid.payout_id)',
    shares Array(Decimal(38, 4)) COMMENT 'What of payout_amount is for each of them; 0: nothing, such as for those that a part payment does not reach [payout_currency] (from settlement_revisions.payout_amount, payout_paid.paid)',
    fees Array(Decimal(38, 4)) COMMENT 'What of each share is a fee; 0 if it was converted [payout_currency] (from settlement_revisions.fee)',
    not_loaded Array(Int64) COMMENT 'Those of payouts that are not loaded (from settlement_revisions.payouts, payouts.id)',
    at DateTime64(3, 'UTC') COMMENT 'When this revision was imported [UTC] (from settlement_revisions.at)',
    by String COMMENT 'Who imported it (from settlement_revisions.by)'
)
AS SELECT account, reference, revision, received_on, currency_code, amount, fee, payout_currency, payout_amount, unit, text, matched_by, payouts, shares, fees,
    arrayExcept(payouts, ids) AS not_loaded, at, by
FROM
(
    SELECT account, reference, revision, received_on, currency_code, amount, fee, payout_currency, payout_amount, unit, text, ifNull(found_by, '') AS matched_by, matched AS payouts, shares, fees, at, by
    FROM
    (
        SELECT * EXCEPT (payouts) FROM settlements_log FINAL ORDER BY revision DESC, at DESC, hash LIMIT 1 BY account, reference
    ) AS l
    LEFT JOIN
    (
        SELECT account, reference, revision, hash, matched_by AS found_by, payouts AS matched, shares, fees FROM settlement_matches_log FINAL ORDER BY at DESC LIMIT 1 BY account, reference
    ) AS m USING (account, reference, revision, hash)
) AS s
LEFT JOIN
(
    SELECT account, groupArray(id) AS ids FROM payouts_latest FINAL WHERE _deleted = 0 GROUP BY account
) AS p USING (account)
$own_settings
COMMENT 'What reached the bank, with the payouts that it settles: the last revision of each settlement';

CREATE OR REPLACE VIEW payout_three_way
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from payout_paid.account, settlements.account)',
    payout_id Int64 COMMENT 'Payout (from payout_paid.payout_id, settlements.payouts)',
    currency_code LowCardinality(String) COMMENT 'Currency of its transactions or, if none of them is loaded, of its settlements; empty when it is not known (from payout_paid.currency_code, settlements.payout_currency)',
    earned Decimal(38, 4) COMMENT 'What its transactions are worth as of now [currency_code] (from payout_paid.earned)',
    paid_out Decimal(38, 4) COMMENT 'What it paid: the sum of the five columns that follow [currency_code] (from payout_paid.paid)',
    received Decimal(38, 4) COMMENT 'What reached the bank in this currency [currency_code] (from settlements.shares, fee)',
    fees Decimal(38, 4) COMMENT 'What was kept of it on the way; of a settlement of several payouts with the one that gets most [currency_code] (from settlements.fees)',
    converted Decimal(38, 4) COMMENT 'What was sent and reached the bank in another currency [currency_code] (from settlements.shares)',
    rounding Decimal(38, 4) COMMENT 'Parts of the smallest unit of the currency, which cannot be sent [currency_code] (from paid_out, settlements.shares)',
    outstanding Decimal(38, 4) COMMENT 'What was paid out and has not arrived; below zero, more has arrived [currency_code] (from paid_out, settlements.shares)',
    state LowCardinality(String) COMMENT 'received: all of it; short: less has arrived; over: more has arrived; outstanding: nothing has; nothing due: it paid nothing, or less than can be sent; not paid out: something has arrived for a payout that is not loaded, or paid nothing in this currency (from paid_out, settlements.shares)',
    settlements Array(String) COMMENT 'References of the settlements that have a share for it (from settlements.reference)',
    last_received_on Nullable(Date) COMMENT 'Day of the last of them; NULL: there is none (from settlements.received_on)'
)
AS SELECT account, payout_id, currency_code, earned, paid_out, received, fees, converted, if(abs(missing) < unit, missing, toDecimal128(0, 4)) AS rounding, missing - rounding AS outstanding,
    multiIf(arrived = 0 AND outstanding = 0, 'nothing due', arrived = 0, 'outstanding', outstanding = 0, 'received', paid_out = 0, 'not paid out', (outstanding > 0) = (paid_out > 0), 'short', 'over') AS state,
    settlements, last_received_on
FROM
(
    SELECT account, payout_id, currency_code, earned, paid_out, received, fees, converted, received + fees + converted AS arrived, paid_out - arrived AS missing,
        $currency_unit AS unit, settlements, last_received_on
    FROM
    (
        SELECT account, payout_id, currency_code, sum(of_earned) AS earned, sum(of_paid) AS paid_out, sum(of_received) AS received, sum(of_fee) AS fees, sum(of_converted) AS converted,
            arraySort(groupArrayIf(of_reference, of_reference != '')) AS settlements, maxIf(toNullable(of_day), of_reference != '') AS last_received_on
        FROM
        (
            SELECT account, payout_id, if(currency_code = '' AND length(told) = 1 AND count() OVER (PARTITION BY account, payout_id) = 1, told[1], toString(currency_code)) AS currency_code,
                earned AS of_earned, paid AS of_paid, toDecimal128(0, 4) AS of_received, toDecimal128(0, 4) AS of_fee, toDecimal128(0, 4) AS of_converted, '' AS of_reference, toDate('1970-01-01') AS of_day
            FROM payout_paid
            LEFT JOIN
            (
                SELECT account, payout_id, groupUniqArray(toString(payout_currency)) AS told
                FROM settlements ARRAY JOIN payouts AS payout_id, shares AS share
                WHERE share != 0
                GROUP BY account, payout_id
            ) AS t USING (account, payout_id)
            UNION ALL
            SELECT account, payout_id, toString(payout_currency), toDecimal128(0, 4), toDecimal128(0, 4), if(currency_code = payout_currency, share - part_fee, toDecimal128(0, 4)), part_fee,
                if(currency_code = payout_currency, toDecimal128(0, 4), share), reference, received_on
            FROM settlements ARRAY JOIN payouts AS payout_id, shares AS share, fees AS part_fee
            WHERE share != 0 OR part_fee != 0
        )
        GROUP BY account, payout_id, currency_code
    )
)
$own_settings
COMMENT 'What was earned, paid out and received: one row for each payout and currency';
