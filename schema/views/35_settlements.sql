-- The third leg: what was earned, what was paid out, and what reached the bank.

CREATE OR REPLACE VIEW payout_paid
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from payouts.account)',
    payout_id Int64 COMMENT 'Payout (from payouts.id)',
    currency_code LowCardinality(String) COMMENT 'Currency of its transactions; empty when it is not known, or for what a payout of several currencies says beyond its transactions (from payout_transactions.currency_code)',
    paid Decimal(38, 4) COMMENT 'Cashback that the payout reports without that of declined transactions; where it has several currencies, or reports none, that of its transactions as stamped [currency_code] (from payouts.total_cashback, declined_cashback, payout_transactions.stamped_cashback)',
    earned Decimal(38, 4) COMMENT 'What its transactions are worth as of now [currency_code] (from payout_transactions.cashback)'
)
-- Planning costs more than running here. A name that stands for an expression is planned wherever it is used, but a
-- column of a subquery once: so most levels below have one expression.
AS SELECT account, payout_id, part.1 AS currency_code, part.2 AS paid, part.3 AS earned
FROM
(
    SELECT account, payout_id, arrayJoin(multiIf(empty(lines), [('', ifNull(reported, stamped), stamped)], length(lines) = 1, [(lines[1].1, ifNull(reported, stamped), lines[1].3)],
        rest = 0, lines, arrayPushBack(lines, ('', rest, toDecimal128(0, 4))))) AS part
    FROM
    (
        SELECT account, payout_id, reported, lines, stamped, toDecimal128(ifNull(reported, stamped) - stamped, 4) AS rest
        FROM
        (
            SELECT account, id AS payout_id, toNullable(toDecimal128(total_cashback - declined_cashback, 4)) AS reported FROM payouts_latest FINAL WHERE _deleted = 0
        ) AS p
        LEFT JOIN
        (
            SELECT account, payout_id, arrayZip(sums.1, sums.3, sums.4) AS lines, arraySum(sums.3) AS stamped
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
    matched_by LowCardinality(String) COMMENT 'How its payouts are known: named: whoever imported it says so; reference: its reference or text has the number of a payout of this amount; amount: one payout is of this amount, and no other settlement could be meant; empty: they are not known (from settlement_revisions.payouts, reference, text, payout_amount, payout_paid.paid)',
    payouts Array(Int64) COMMENT 'Payouts that it settles (from settlement_revisions.payouts, payout_paid.payout_id)',
    shares Array(Decimal(38, 4)) COMMENT 'What of payout_amount is for each of them: what it paid, in their order, and the rest for the last; settlements of the same payouts follow on from each other, by received_on and reference [payout_currency] (from settlement_revisions.payout_amount, payout_paid.paid)',
    not_loaded Array(Int64) COMMENT 'Those of payouts that are not loaded (from settlement_revisions.payouts, payouts.id)',
    at DateTime64(3, 'UTC') COMMENT 'When this revision was imported [UTC] (from settlement_revisions.at)',
    by String COMMENT 'Who imported it (from settlement_revisions.by)'
)
AS WITH
    last AS
    (
        SELECT * FROM settlements_log FINAL ORDER BY revision DESC, at DESC, hash LIMIT 1 BY account, reference
    ),
    -- Payouts of the same amount, for those that do not say which they settle. rivals is how many settlements each could be of.
    candidates AS
    (
        SELECT account, reference, groupArray(payout_id) AS of_amount, arrayFilter(p -> has(extractAll(concat(any(reference), ' ', any(text)), '[0-9]+'), toString(p)), of_amount) AS in_words, max(n) AS rivals
        FROM
        (
            SELECT account, reference, text, payout_id, count() OVER (PARTITION BY account, payout_id) AS n
            FROM (SELECT account, reference, text, payout_currency AS currency_code, payout_amount, unit FROM last WHERE empty(payouts) AND payout_amount > 0) AS s
            INNER JOIN (SELECT account, payout_id, currency_code, paid FROM payout_paid WHERE (account, payout_id) NOT IN (SELECT account, arrayJoin(payouts) FROM last)) AS p USING (account, currency_code)
            WHERE abs(paid - payout_amount) < unit
        )
        GROUP BY account, reference
    )
SELECT account, reference, revision, received_on, currency_code, amount, fee, payout_currency, payout_amount, unit, text, matched_by, settles AS payouts,
    if(empty(settles), CAST([], 'Array(Decimal(38, 4))'), arrayPushBack(firsts, payout_amount - arraySum(firsts))) AS shares,
    arrayExcept(settles, ids) AS not_loaded, at, by
FROM
(
    SELECT *,
        -- How much of each payout is paid when this one is, less how much was before it.
        arrayMap((p, upto) -> greatest(toDecimal128(0, 4), least(level - (upto - p), p)) - greatest(toDecimal128(0, 4), least(level - payout_amount - (upto - p), p)), paid, arrayCumSum(paid)) AS firsts
    FROM
    (
        SELECT *, arrayMap(p -> arrayFirst((amount, id, currency) -> id = p AND currency = payout_currency, amounts, ids, currencies), arrayPopBack(settles)) AS paid
        FROM
        (
            SELECT *, sum(payout_amount) OVER (PARTITION BY account, payout_currency, settles ORDER BY received_on, reference ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS level
            FROM
            (
                SELECT *, multiIf(matched_by = 'named', payouts, matched_by = 'reference', in_words, matched_by = 'amount', of_amount, []) AS settles
                FROM
                (
                    SELECT l.*, of_amount, in_words, multiIf(notEmpty(payouts), 'named', length(in_words) = 1, 'reference', length(of_amount) = 1 AND rivals = 1, 'amount', '') AS matched_by
                    FROM last AS l
                    LEFT JOIN candidates USING (account, reference)
                )
            )
        ) AS m
        LEFT JOIN
        (
            SELECT account, groupArray(payout_id) AS ids, groupArray(toString(currency_code)) AS currencies, groupArray(paid) AS amounts FROM payout_paid GROUP BY account
        ) AS b USING (account)
    )
)
COMMENT 'What reached the bank, with the payouts that it settles: the last revision of each settlement';

CREATE OR REPLACE VIEW payout_three_way
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from payout_paid.account, settlements.account)',
    payout_id Int64 COMMENT 'Payout (from payout_paid.payout_id, settlements.payouts)',
    currency_code LowCardinality(String) COMMENT 'Currency; empty when it is not known (from payout_paid.currency_code, settlements.payout_currency)',
    earned Decimal(38, 4) COMMENT 'What its transactions are worth as of now [currency_code] (from payout_paid.earned)',
    paid_out Decimal(38, 4) COMMENT 'What it paid: the sum of the five columns that follow [currency_code] (from payout_paid.paid)',
    received Decimal(38, 4) COMMENT 'What reached the bank in this currency [currency_code] (from settlements.shares, fee)',
    fees Decimal(38, 4) COMMENT 'What was kept of it on the way; of a settlement of several payouts with the last that it pays [currency_code] (from settlements.fee)',
    converted Decimal(38, 4) COMMENT 'What was sent and reached the bank in another currency [currency_code] (from settlements.shares)',
    rounding Decimal(38, 4) COMMENT 'Parts of the smallest unit that cannot be sent [currency_code] (from settlements.unit)',
    outstanding Decimal(38, 4) COMMENT 'What was paid out and has not arrived; below zero, more has arrived [currency_code] (from paid_out, settlements.shares)',
    state LowCardinality(String) COMMENT 'received: all of it; short: less has arrived; over: more has arrived; outstanding: nothing has; nothing due: it paid nothing; not paid out: something has arrived for a payout that is not loaded, or paid nothing in this currency (from paid_out, settlements.shares)',
    settlements Array(String) COMMENT 'References of its settlements (from settlements.reference)',
    last_received_on Nullable(Date) COMMENT 'Day of the last of them; NULL: there is none (from settlements.received_on)'
)
AS SELECT account, payout_id, currency_code, earned, paid_out, received, fees, converted,
    if(notEmpty(settlements) AND abs(missing) < most_unit, missing, toDecimal128(0, 4)) AS rounding, missing - rounding AS outstanding,
    multiIf(empty(settlements) AND paid_out = 0, 'nothing due', empty(settlements), 'outstanding', outstanding = 0, 'received', paid_out = 0, 'not paid out', outstanding > 0, 'short', 'over') AS state,
    settlements, last_received_on
FROM
(
    SELECT account, payout_id, currency_code, sum(of_earned) AS earned, sum(of_paid) AS paid_out, sum(of_received) AS received, sum(of_fee) AS fees, sum(of_converted) AS converted,
        paid_out - received - fees - converted AS missing, max(of_unit) AS most_unit, arraySort(groupArrayIf(of_reference, settles)) AS settlements, maxIf(toNullable(of_day), settles) AS last_received_on
    FROM
    (
        SELECT account, payout_id, currency_code, earned AS of_earned, paid AS of_paid, toDecimal128(0, 4) AS of_received, toDecimal128(0, 4) AS of_fee, toDecimal128(0, 4) AS of_converted,
            toDecimal128(0, 4) AS of_unit, '' AS of_reference, toDate('1970-01-01') AS of_day, false AS settles
        FROM payout_paid
        UNION ALL
        SELECT account, part.1, payout_currency, toDecimal128(0, 4), toDecimal128(0, 4), if(same, part.2 - part.3, toDecimal128(0, 4)), if(same, part.3, toDecimal128(0, 4)), if(same, toDecimal128(0, 4), part.2),
            unit, reference, received_on, true
        FROM
        (
            SELECT account, payout_currency, currency_code = payout_currency AS same, unit, reference, received_on,
                if(arrayLastIndex(s -> s != 0, shares) = 0, length(payouts), arrayLastIndex(s -> s != 0, shares)) AS last_paid,
                arrayJoin(arrayZip(payouts, shares, arrayMap(i -> if(i = last_paid, fee, toDecimal128(0, 4)), arrayEnumerate(payouts)))) AS part
            FROM settlements
        )
    )
    GROUP BY account, payout_id, currency_code
)
COMMENT 'What was earned, paid out and received: one row for each payout and currency';
