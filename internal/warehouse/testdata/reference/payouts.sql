-- payout_alterations and payout_reconciliation as they were first written: one step after the other, each with the names
-- of its columns. What people query says the same in fewer steps, since planning these costs more than all else. Tests
-- compare.

CREATE VIEW reference_payout_alterations
(
    account LowCardinality(String),
    payout_id Int64,
    first_seen_at DateTime64(3, 'UTC'),
    altered UInt8,
    altered_columns Array(String),
    altered_before Array(String),
    altered_after Array(String),
    altered_at Nullable(DateTime64(3, 'UTC'))
)
AS WITH ['total_transactions', 'total_gmv', 'total_cashback', 'confirmed_transactions', 'declined_transactions', 'pending_transactions', 'confirmed_gmv', 'declined_gmv', 'pending_gmv', 'confirmed_cashback', 'declined_cashback', 'pending_cashback', 'aov', 'start_date', 'end_date'] AS names,
    arrayFilter(i -> before[i] != after[i], arrayEnumerate(names)) AS differ
SELECT account, payout_id, first_seen_at, length(contents) > 1 AS altered,
    arrayMap(i -> names[i], differ) AS altered_columns, arrayMap(i -> before[i], differ) AS altered_before, arrayMap(i -> after[i], differ) AS altered_after,
    if(altered, toNullable(arrayMin(v -> if(v.1 = before, toDateTime64('2299-01-01 00:00:00', 3, 'UTC'), v.2), versions)), NULL) AS altered_at
FROM
(
    SELECT account, id AS payout_id, min(synced_at) AS first_seen_at, argMin(content, _version) AS before, argMax(content, _version) AS after,
        groupArray((content, synced_at)) AS versions, arrayDistinct(arrayMap(v -> v.1, versions)) AS contents
    FROM
    (
        SELECT account, id, synced_at, _version, [ifNull(toString(total_transactions), ''),
            ifNull(toString(total_gmv), ''),
            ifNull(toString(total_cashback), ''),
            ifNull(toString(confirmed_transactions), ''),
            ifNull(toString(declined_transactions), ''),
            ifNull(toString(pending_transactions), ''),
            ifNull(toString(confirmed_gmv), ''),
            ifNull(toString(declined_gmv), ''),
            ifNull(toString(pending_gmv), ''),
            ifNull(toString(confirmed_cashback), ''),
            ifNull(toString(declined_cashback), ''),
            ifNull(toString(pending_cashback), ''),
            ifNull(toString(aov), ''),
            ifNull(toString(start_date), ''),
            ifNull(toString(end_date), '')] AS content
        FROM payouts_versions WHERE _deleted = 0
    )
    GROUP BY account, id
);

CREATE VIEW reference_payout_reconciliation
(
    account LowCardinality(String),
    payout_id Int64,
    start_date Nullable(DateTime64(3, 'UTC')),
    end_date Nullable(DateTime64(3, 'UTC')),
    verdict LowCardinality(String),
    mismatches Array(String),
    currencies Array(String),
    mixed_currency UInt8,
    altered UInt8,
    altered_columns Array(String),
    altered_before Array(String),
    altered_after Array(String),
    altered_at Nullable(DateTime64(3, 'UTC')),
    first_seen_at DateTime64(3, 'UTC'),
    complete_to Nullable(DateTime64(3, 'UTC')),
    transactions_reported Nullable(Int64),
    transactions_loaded UInt64,
    transactions_changed UInt64,
    transactions_moved UInt64,
    transactions_gone UInt64,
    transactions_late UInt64,
    at_stake Decimal(38, 4),
    at_stake_confirmed Decimal(38, 4),
    at_stake_declined Decimal(38, 4),
    at_stake_pending Decimal(38, 4),
    at_stake_other Decimal(38, 4),
    at_stake_moved Decimal(38, 4),
    at_stake_gone Decimal(38, 4),
    at_stake_unexplained Decimal(38, 4),
    total_transactions Nullable(Int64),
    total_gmv Nullable(Decimal(18, 4)),
    total_cashback Nullable(Decimal(18, 4)),
    confirmed_transactions Nullable(Int64),
    declined_transactions Nullable(Int64),
    pending_transactions Nullable(Int64),
    confirmed_gmv Nullable(Decimal(18, 4)),
    declined_gmv Nullable(Decimal(18, 4)),
    pending_gmv Nullable(Decimal(18, 4)),
    confirmed_cashback Nullable(Decimal(18, 4)),
    declined_cashback Nullable(Decimal(18, 4)),
    pending_cashback Nullable(Decimal(18, 4)),
    aov Nullable(Decimal(18, 6)),
    stamped_total_transactions UInt64,
    stamped_total_gmv Decimal(38, 4),
    stamped_total_cashback Decimal(38, 4),
    stamped_confirmed_transactions UInt64,
    stamped_declined_transactions UInt64,
    stamped_pending_transactions UInt64,
    stamped_confirmed_gmv Decimal(38, 4),
    stamped_declined_gmv Decimal(38, 4),
    stamped_pending_gmv Decimal(38, 4),
    stamped_confirmed_cashback Decimal(38, 4),
    stamped_declined_cashback Decimal(38, 4),
    stamped_pending_cashback Decimal(38, 4),
    stamped_aov Nullable(Decimal(38, 6)),
    now_total_transactions UInt64,
    now_total_gmv Decimal(38, 4),
    now_total_cashback Decimal(38, 4),
    now_confirmed_transactions UInt64,
    now_declined_transactions UInt64,
    now_pending_transactions UInt64,
    now_confirmed_gmv Decimal(38, 4),
    now_declined_gmv Decimal(38, 4),
    now_pending_gmv Decimal(38, 4),
    now_confirmed_cashback Decimal(38, 4),
    now_declined_cashback Decimal(38, 4),
    now_pending_cashback Decimal(38, 4),
    now_aov Nullable(Decimal(38, 6)),
    total_transactions_difference Nullable(Int64),
    total_gmv_difference Nullable(Decimal(38, 4)),
    total_cashback_difference Nullable(Decimal(38, 4)),
    confirmed_transactions_difference Nullable(Int64),
    declined_transactions_difference Nullable(Int64),
    pending_transactions_difference Nullable(Int64),
    confirmed_gmv_difference Nullable(Decimal(38, 4)),
    declined_gmv_difference Nullable(Decimal(38, 4)),
    pending_gmv_difference Nullable(Decimal(38, 4)),
    confirmed_cashback_difference Nullable(Decimal(38, 4)),
    declined_cashback_difference Nullable(Decimal(38, 4)),
    pending_cashback_difference Nullable(Decimal(38, 4)),
    aov_difference Nullable(Decimal(38, 6))
)
AS SELECT
    account, payout_id, start_date, end_date, verdict, mismatches,
    currencies, mixed_currency, altered, altered_columns, altered_before, altered_after,
    altered_at, first_seen_at, complete_to, transactions_reported, transactions_loaded, transactions_changed,
    transactions_moved, transactions_gone, transactions_late, at_stake, at_stake_confirmed, at_stake_declined,
    at_stake_pending, at_stake_other, at_stake_moved, at_stake_gone, at_stake_unexplained, total_transactions,
    total_gmv, total_cashback, confirmed_transactions, declined_transactions, pending_transactions, confirmed_gmv,
    declined_gmv, pending_gmv, confirmed_cashback, declined_cashback, pending_cashback, aov,
    stamped_total_transactions, stamped_total_gmv, stamped_total_cashback, stamped_confirmed_transactions, stamped_declined_transactions, stamped_pending_transactions,
    stamped_confirmed_gmv, stamped_declined_gmv, stamped_pending_gmv, stamped_confirmed_cashback, stamped_declined_cashback, stamped_pending_cashback,
    stamped_aov, now_total_transactions, now_total_gmv, now_total_cashback, now_confirmed_transactions, now_declined_transactions,
    now_pending_transactions, now_confirmed_gmv, now_declined_gmv, now_pending_gmv, now_confirmed_cashback, now_declined_cashback,
    now_pending_cashback, now_aov, total_transactions_difference, total_gmv_difference, total_cashback_difference, confirmed_transactions_difference,
    declined_transactions_difference, pending_transactions_difference, confirmed_gmv_difference, declined_gmv_difference, pending_gmv_difference, confirmed_cashback_difference,
    declined_cashback_difference, pending_cashback_difference, aov_difference
FROM
(
    SELECT *,
        if(loaded = 0, 0, unexplained) AS at_stake_unexplained,
        at_stake_confirmed + at_stake_declined + at_stake_pending + at_stake_other + at_stake_moved + at_stake_gone + at_stake_unexplained AS at_stake,
        arrayFilter((name, differs) -> differs, ['total_transactions', 'total_gmv', 'total_cashback', 'confirmed_transactions', 'declined_transactions', 'pending_transactions', 'confirmed_gmv', 'declined_gmv', 'pending_gmv', 'confirmed_cashback', 'declined_cashback', 'pending_cashback', 'aov'],
        [ifNull(total_transactions_difference != 0, 0), ifNull(total_gmv_difference != 0, 0), ifNull(total_cashback_difference != 0, 0), ifNull(confirmed_transactions_difference != 0, 0), ifNull(declined_transactions_difference != 0, 0), ifNull(pending_transactions_difference != 0, 0), ifNull(confirmed_gmv_difference != 0, 0), ifNull(declined_gmv_difference != 0, 0), ifNull(pending_gmv_difference != 0, 0), ifNull(confirmed_cashback_difference != 0, 0), ifNull(declined_cashback_difference != 0, 0), ifNull(pending_cashback_difference != 0, 0), ifNull(aov_difference != 0, 0)]) AS mismatches,
        -- What the late ones were when they were paid is not known, but it must have been possible.
        transactions_late > 0 AND total_transactions_difference = 0 AND ifNull(total_transactions = confirmed_transactions + declined_transactions + pending_transactions, 0)
            AND ifNull(total_gmv = confirmed_gmv + declined_gmv + pending_gmv, 0)
            AND ifNull(total_cashback = confirmed_cashback + declined_cashback + pending_cashback, 0)
            AND ifNull(confirmed_transactions >= early_confirmed_transactions, 0)
            AND ifNull(declined_transactions >= early_declined_transactions, 0)
            AND ifNull(pending_transactions >= early_pending_transactions, 0)
            AND ifNull(confirmed_transactions > early_confirmed_transactions OR confirmed_gmv = early_confirmed_gmv, 1)
            AND ifNull(confirmed_transactions > early_confirmed_transactions OR confirmed_cashback = early_confirmed_cashback, 1)
            AND ifNull(declined_transactions > early_declined_transactions OR declined_gmv = early_declined_gmv, 1)
            AND ifNull(declined_transactions > early_declined_transactions OR declined_cashback = early_declined_cashback, 1)
            AND ifNull(pending_transactions > early_pending_transactions OR pending_gmv = early_pending_gmv, 1)
            AND ifNull(pending_transactions > early_pending_transactions OR pending_cashback = early_pending_cashback, 1) AS possible,
        multiIf(
            loaded = 0 AND ifNull(total_transactions != 0, 1), 'no_transactions',
            ifNull(transactions_loaded < total_transactions, 0), 'missing',
            empty(mismatches) AND transactions_changed + transactions_moved + transactions_gone = 0, 'matched',
            empty(mismatches) OR ifNull(possible, 0), 'drifted',
            'mismatched') AS verdict
    FROM
    (
        SELECT *,
            total_transactions AS transactions_reported,
            total_transactions - toInt64(stamped_total_transactions) AS total_transactions_difference, total_gmv - stamped_total_gmv AS total_gmv_difference,
            total_cashback - stamped_total_cashback AS total_cashback_difference, confirmed_transactions - toInt64(stamped_confirmed_transactions) AS confirmed_transactions_difference,
            declined_transactions - toInt64(stamped_declined_transactions) AS declined_transactions_difference, pending_transactions - toInt64(stamped_pending_transactions) AS pending_transactions_difference,
            confirmed_gmv - stamped_confirmed_gmv AS confirmed_gmv_difference, declined_gmv - stamped_declined_gmv AS declined_gmv_difference,
            pending_gmv - stamped_pending_gmv AS pending_gmv_difference, confirmed_cashback - stamped_confirmed_cashback AS confirmed_cashback_difference,
            declined_cashback - stamped_declined_cashback AS declined_cashback_difference, pending_cashback - stamped_pending_cashback AS pending_cashback_difference,
            if(stamped_total_transactions = 0, NULL, round(toDecimal128(stamped_total_gmv, 10) / stamped_total_transactions, 6)) AS stamped_aov,
            if(now_total_transactions = 0, NULL, round(toDecimal128(now_total_gmv, 10) / now_total_transactions, 6)) AS now_aov,
            -- An average is rounded, so that it agrees when it is less than one unit of its last decimal away.
            if(abs(toDecimal128(aov, 6) * stamped_total_transactions - stamped_total_gmv) < aov_unit * stamped_total_transactions, 0, aov - stamped_aov) AS aov_difference,
            ifNull((total_cashback - declined_cashback) - (stamped_total_cashback - stamped_declined_cashback), 0) AS unexplained,
            length(currencies) > 1 AS mixed_currency
        FROM
        (
            -- Joins one within the other: the old analyzer knows USING only once in a FROM.
            SELECT * FROM
            (
                SELECT * FROM
                (
                    SELECT account, id AS payout_id, * EXCEPT (account, id, _extra, synced_at, _hash, _version, _deleted, _run_id),
                        arrayElement([toDecimal64('1', 6), toDecimal64('0.1', 6), toDecimal64('0.01', 6), toDecimal64('0.001', 6), toDecimal64('0.0001', 6), toDecimal64('0.00001', 6), toDecimal64('0.000001', 6)],
                            1 + max(length(splitByChar('.', ifNull(toString(aov), '0'))[2])) OVER (PARTITION BY account)) AS aov_unit
                    FROM (SELECT * FROM payouts_versions ORDER BY _version DESC LIMIT 1 BY account, id)
                    WHERE _deleted = 0
                ) AS p
                INNER JOIN
                (
                    SELECT account, payout_id,
                        toUInt64(sum(stamped_n)) AS loaded,
                        toUInt64(sumIf(stamped_n, state != 'gone')) AS transactions_loaded,
                        toUInt64(sumIf(stamped_n, state = 'changed')) AS transactions_changed,
                        toUInt64(sumIf(stamped_n, state = 'moved')) AS transactions_moved,
                        toUInt64(sumIf(stamped_n, state = 'gone')) AS transactions_gone,
                        toUInt64(sumIf(stamped_n, late)) AS transactions_late,
                        arraySort(groupUniqArrayIf(toString(currency_code), n_of_currency > 0 AND currency_code != '')) AS currencies,
                        sumIf(at_stake, here AND now_status = 'CONFIRMED') AS at_stake_confirmed,
                        sumIf(at_stake, here AND now_status = 'DECLINED') AS at_stake_declined,
                        sumIf(at_stake, here AND now_status = 'PENDING') AS at_stake_pending,
                        sumIf(at_stake, here AND now_status NOT IN ('CONFIRMED', 'DECLINED', 'PENDING')) AS at_stake_other,
                        sumIf(at_stake, state = 'moved') AS at_stake_moved,
                        sumIf(at_stake, state = 'gone') AS at_stake_gone,
                        sumIf(stamped_n, NOT late AND stamped_status = 'CONFIRMED') AS early_confirmed_transactions, sumIf(stamped_n, NOT late AND stamped_status = 'DECLINED') AS early_declined_transactions,
                        sumIf(stamped_n, NOT late AND stamped_status = 'PENDING') AS early_pending_transactions, sumIf(stamped_gmv, NOT late AND stamped_status = 'CONFIRMED') AS early_confirmed_gmv,
                        sumIf(stamped_gmv, NOT late AND stamped_status = 'DECLINED') AS early_declined_gmv, sumIf(stamped_gmv, NOT late AND stamped_status = 'PENDING') AS early_pending_gmv,
                        sumIf(stamped_cashback, NOT late AND stamped_status = 'CONFIRMED') AS early_confirmed_cashback, sumIf(stamped_cashback, NOT late AND stamped_status = 'DECLINED') AS early_declined_cashback,
                        sumIf(stamped_cashback, NOT late AND stamped_status = 'PENDING') AS early_pending_cashback,
                        sum(stamped_n) AS stamped_total_transactions, sum(stamped_gmv) AS stamped_total_gmv,
                        sum(stamped_cashback) AS stamped_total_cashback, sumIf(stamped_n, stamped_status = 'CONFIRMED') AS stamped_confirmed_transactions,
                        sumIf(stamped_n, stamped_status = 'DECLINED') AS stamped_declined_transactions, sumIf(stamped_n, stamped_status = 'PENDING') AS stamped_pending_transactions,
                        sumIf(stamped_gmv, stamped_status = 'CONFIRMED') AS stamped_confirmed_gmv, sumIf(stamped_gmv, stamped_status = 'DECLINED') AS stamped_declined_gmv,
                        sumIf(stamped_gmv, stamped_status = 'PENDING') AS stamped_pending_gmv, sumIf(stamped_cashback, stamped_status = 'CONFIRMED') AS stamped_confirmed_cashback,
                        sumIf(stamped_cashback, stamped_status = 'DECLINED') AS stamped_declined_cashback, sumIf(stamped_cashback, stamped_status = 'PENDING') AS stamped_pending_cashback,
                        sum(now_n) AS now_total_transactions, sum(now_gmv) AS now_total_gmv,
                        sum(now_cashback) AS now_total_cashback, sumIf(now_n, now_status = 'CONFIRMED') AS now_confirmed_transactions,
                        sumIf(now_n, now_status = 'DECLINED') AS now_declined_transactions, sumIf(now_n, now_status = 'PENDING') AS now_pending_transactions,
                        sumIf(now_gmv, now_status = 'CONFIRMED') AS now_confirmed_gmv, sumIf(now_gmv, now_status = 'DECLINED') AS now_declined_gmv,
                        sumIf(now_gmv, now_status = 'PENDING') AS now_pending_gmv, sumIf(now_cashback, now_status = 'CONFIRMED') AS now_confirmed_cashback,
                        sumIf(now_cashback, now_status = 'DECLINED') AS now_declined_cashback, sumIf(now_cashback, now_status = 'PENDING') AS now_pending_cashback
                    FROM
                    (
                        SELECT *, state IN ('same', 'changed') AS here, sum(stamped_n) OVER (PARTITION BY account, payout_id, currency_code) AS n_of_currency,
                            ifNull(quarter > minIf(quarter, n_of_quarter > 0) OVER (PARTITION BY account, payout_id) + toIntervalMinute(15), 0) AS late
                        FROM
                        (
                            SELECT *, sum(stamped_n) OVER (PARTITION BY account, payout_id, quarter) AS n_of_quarter
                            FROM
                            (
                                SELECT * FROM payout_sums
                                UNION ALL
                                SELECT account, id, NULL, '', 'same', '', '', 0, 0, 0, 0, 0, 0, 0 FROM payouts_versions
                            )
                        )
                    )
                    GROUP BY account, payout_id
                ) AS s USING (account, payout_id)
            ) AS ps
            INNER JOIN reference_payout_alterations AS a USING (account, payout_id)
        ) AS psa
        LEFT JOIN (SELECT account, complete_to FROM service_clock) AS w USING (account)
    )
);
