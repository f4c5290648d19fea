-- Payouts against their transactions: what finance asks first. Sums are exact: Decimal(38, 4), never a float.
--
-- Of each stream one table is read: of transactions the sums, which each run keeps in step (payoutSumsTable in
-- internal/warehouse), and of payouts their versions. So no view mixes two states (warehouse-12).

CREATE OR REPLACE VIEW payout_sums
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from payout_transactions.account)',
    payout_id Int64 COMMENT 'Payout (from payout_transactions.payout_id)',
    quarter Nullable(DateTime64(3, 'UTC')) COMMENT 'Quarter of an hour of stamped_at [UTC] (from payout_transactions.stamped_at)',
    currency_code LowCardinality(String) COMMENT 'Currency; empty when absent (from payout_transactions.currency_code)',
    state LowCardinality(String) COMMENT 'As in payout_transactions (from payout_transactions.state)',
    stamped_status LowCardinality(String) COMMENT 'Status as stamped; empty when absent (from payout_transactions.stamped_status)',
    now_status LowCardinality(String) COMMENT 'Status as of now; empty when absent (from payout_transactions.status)',
    stamped_n Int64 COMMENT 'Number of transactions, as stamped [count] (from payout_transactions)',
    stamped_gmv Decimal(38, 4) COMMENT 'Sum of their order_value as stamped [currency_code] (from payout_transactions.stamped_order_value)',
    stamped_cashback Decimal(38, 4) COMMENT 'Sum of their cashback as stamped [currency_code] (from payout_transactions.stamped_cashback)',
    now_n Int64 COMMENT 'Number of those that carry the payoutId as of now [count] (from payout_transactions.state)',
    now_gmv Decimal(38, 4) COMMENT 'Sum of their order_value as of now [currency_code] (from payout_transactions.order_value)',
    now_cashback Decimal(38, 4) COMMENT 'Sum of their cashback as of now [currency_code] (from payout_transactions.cashback)',
    at_stake Decimal(38, 4) COMMENT 'Sum of at_stake [currency_code] (from payout_transactions.at_stake)'
)
AS SELECT account, payout_id, fromUnixTimestamp64Milli(900000 * nullIf(quarters, toInt64(-9223372036854775808)), 'UTC') AS quarter, currency_code, state, stamped_status, now_status, stamped_n, stamped_gmv, stamped_cashback, now_n, now_gmv, now_cashback, at_stake
FROM payout_sums_latest FINAL
WHERE stamped_n != 0
COMMENT 'Sums over payout_transactions, of transactions that were stamped in the same quarter of an hour and have the same state and statuses';

CREATE OR REPLACE VIEW payout_alterations
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from payouts.account)',
    payout_id Int64 COMMENT 'Payout (from payouts.id)',
    first_seen_at DateTime64(3, 'UTC') COMMENT 'When the payout was first loaded [UTC] (from payouts_history.synced_at)',
    altered UInt8 COMMENT '1 when the payout changed after it was first seen (from payouts_history)',
    altered_columns Array(String) COMMENT 'Columns in which it differs from when it was first seen; empty when it changed back (from payouts_history)',
    altered_before Array(String) COMMENT 'Their values when it was first seen (from payouts_history)',
    altered_after Array(String) COMMENT 'Their values now (from payouts_history)',
    altered_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was first seen changed [UTC] (from payouts_history.synced_at)'
)
AS WITH ['total_transactions', 'total_gmv', 'total_cashback', 'confirmed_transactions', 'declined_transactions', 'pending_transactions', 'confirmed_gmv', 'declined_gmv', 'pending_gmv', 'confirmed_cashback', 'declined_cashback', 'pending_cashback', 'aov', 'start_date', 'end_date'] AS names,
    arrayFilter(i -> before[i] != after[i], arrayEnumerate(names)) AS differ
SELECT account, payout_id, first_seen_at, altered, arrayMap(i -> names[i], differ) AS altered_columns, arrayMap(i -> before[i], differ) AS altered_before,
    arrayMap(i -> after[i], differ) AS altered_after, altered_at
FROM
(
                $payout_versions
)
WHERE notEmpty(seen)
COMMENT 'Whether a payout changed after it was first seen. A payout should never change: ask the service about each change';

CREATE OR REPLACE VIEW payout_reconciliation
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from payouts.account)',
    payout_id Int64 COMMENT 'Payout identifier (from payouts.id)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the first transaction included, as reported [UTC] (from payouts.start_date)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the last transaction included, as reported [UTC] (from payouts.end_date)',
    verdict LowCardinality(String) COMMENT 'matched: its transactions add up to it and have not changed since; drifted: some have changed since they were paid, which explains the difference, if there is one; missing: fewer are loaded than it counts; mismatched: they do not add up to it; no_transactions: none is loaded, see complete_to (from mismatches and the counts of transactions)',
    mismatches Array(String) COMMENT 'Columns in which reported and as stamped differ (from the columns that end in _difference)',
    currencies Array(String) COMMENT 'Currencies of its transactions, sorted (from payout_transactions.currency_code)',
    mixed_currency UInt8 COMMENT '1 when its transactions have more than one currency: its totals then add up amounts that cannot be added (from payout_transactions.currency_code)',
    altered UInt8 COMMENT '1 when the payout itself changed after it was first seen, which a payout never should (from payouts_history)',
    altered_columns Array(String) COMMENT 'Columns in which it differs from when it was first seen; empty when it changed back (from payouts_history)',
    altered_before Array(String) COMMENT 'Their values when it was first seen (from payouts_history)',
    altered_after Array(String) COMMENT 'Their values now (from payouts_history)',
    altered_at Nullable(DateTime64(3, 'UTC')) COMMENT 'When it was first seen changed [UTC] (from payouts_history.synced_at)',
    first_seen_at DateTime64(3, 'UTC') COMMENT 'When the payout was first loaded [UTC] (from payouts_history.synced_at)',
    complete_to Nullable(DateTime64(3, 'UTC')) COMMENT 'Up to which updatedAt the transactions of the account are complete; NULL: none were loaded [UTC] (from sync_state.value)',
    transactions_reported Nullable(Int64) COMMENT 'Transactions that the payout counts [count] (from payouts.total_transactions)',
    transactions_loaded UInt64 COMMENT 'Of its transactions, those that are loaded and still listed by the service [count] (from payout_transactions.state)',
    transactions_changed UInt64 COMMENT 'Of those, how many have changed status or amount since they were stamped [count] (from payout_transactions.state)',
    transactions_moved UInt64 COMMENT 'Of those, how many now carry another payoutId, or none [count] (from payout_transactions.state)',
    transactions_gone UInt64 COMMENT 'Transactions that carried its id and that the service no longer lists [count] (from payout_transactions.state)',
    transactions_late UInt64 COMMENT 'Transactions whose first version with its id came over a quarter of an hour after that of the first one: their state when they were paid is not known [count] (from payout_transactions.stamped_at)',
    at_stake Decimal(38, 4) COMMENT 'Paid minus worth now: cashback reported minus cashback as of now, each without DECLINED; the sum of the seven columns that follow. 0 for no_transactions [currencies] (from the columns that begin with at_stake_)',
    at_stake_confirmed Decimal(38, 4) COMMENT 'Part of at_stake in transactions that are CONFIRMED now [currencies] (from payout_transactions.at_stake, status)',
    at_stake_declined Decimal(38, 4) COMMENT 'Part of at_stake in transactions that are DECLINED now: paid and then lost [currencies] (from payout_transactions.at_stake, status)',
    at_stake_pending Decimal(38, 4) COMMENT 'Part of at_stake in transactions that are PENDING now [currencies] (from payout_transactions.at_stake, status)',
    at_stake_other Decimal(38, 4) COMMENT 'Part of at_stake in transactions of any other status now [currencies] (from payout_transactions.at_stake, status)',
    at_stake_moved Decimal(38, 4) COMMENT 'Part of at_stake in transactions that now carry another payoutId, or none [currencies] (from payout_transactions.at_stake, state)',
    at_stake_gone Decimal(38, 4) COMMENT 'Part of at_stake in transactions that the service no longer lists [currencies] (from payout_transactions.at_stake, state)',
    at_stake_unexplained Decimal(38, 4) COMMENT 'Part of at_stake that no loaded transaction explains: what the payout reports minus its transactions as stamped [currencies] (from total_cashback, declined_cashback, stamped_total_cashback, stamped_declined_cashback)',
    total_transactions Nullable(Int64) COMMENT 'Number of all transactions, as reported [count] (from payouts.total_transactions)',
    total_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of all transactions, as reported [currencies] (from payouts.total_gmv)',
    total_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of all transactions, as reported [currencies] (from payouts.total_cashback)',
    confirmed_transactions Nullable(Int64) COMMENT 'Number of CONFIRMED transactions, as reported [count] (from payouts.confirmed_transactions)',
    declined_transactions Nullable(Int64) COMMENT 'Number of DECLINED transactions, as reported [count] (from payouts.declined_transactions)',
    pending_transactions Nullable(Int64) COMMENT 'Number of PENDING transactions, as reported [count] (from payouts.pending_transactions)',
    confirmed_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of CONFIRMED transactions, as reported [currencies] (from payouts.confirmed_gmv)',
    declined_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of DECLINED transactions, as reported [currencies] (from payouts.declined_gmv)',
    pending_gmv Nullable(Decimal(18, 4)) COMMENT 'Sum of order_value of PENDING transactions, as reported [currencies] (from payouts.pending_gmv)',
    confirmed_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of CONFIRMED transactions, as reported [currencies] (from payouts.confirmed_cashback)',
    declined_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of DECLINED transactions, as reported [currencies] (from payouts.declined_cashback)',
    pending_cashback Nullable(Decimal(18, 4)) COMMENT 'Sum of cashback of PENDING transactions, as reported [currencies] (from payouts.pending_cashback)',
    aov Nullable(Decimal(18, 6)) COMMENT 'Average order value, as reported [currencies] (from payouts.aov)',
    stamped_total_transactions UInt64 COMMENT 'Number of all transactions, as stamped [count] (from payout_transactions)',
    stamped_total_gmv Decimal(38, 4) COMMENT 'Sum of order_value of all transactions, as stamped [currencies] (from payout_transactions.stamped_order_value)',
    stamped_total_cashback Decimal(38, 4) COMMENT 'Sum of cashback of all transactions, as stamped [currencies] (from payout_transactions.stamped_cashback)',
    stamped_confirmed_transactions UInt64 COMMENT 'Number of CONFIRMED transactions, as stamped [count] (from payout_transactions.stamped_status)',
    stamped_declined_transactions UInt64 COMMENT 'Number of DECLINED transactions, as stamped [count] (from payout_transactions.stamped_status)',
    stamped_pending_transactions UInt64 COMMENT 'Number of PENDING transactions, as stamped [count] (from payout_transactions.stamped_status)',
    stamped_confirmed_gmv Decimal(38, 4) COMMENT 'Sum of order_value of CONFIRMED transactions, as stamped [currencies] (from payout_transactions.stamped_order_value, stamped_status)',
    stamped_declined_gmv Decimal(38, 4) COMMENT 'Sum of order_value of DECLINED transactions, as stamped [currencies] (from payout_transactions.stamped_order_value, stamped_status)',
    stamped_pending_gmv Decimal(38, 4) COMMENT 'Sum of order_value of PENDING transactions, as stamped [currencies] (from payout_transactions.stamped_order_value, stamped_status)',
    stamped_confirmed_cashback Decimal(38, 4) COMMENT 'Sum of cashback of CONFIRMED transactions, as stamped [currencies] (from payout_transactions.stamped_cashback, stamped_status)',
    stamped_declined_cashback Decimal(38, 4) COMMENT 'Sum of cashback of DECLINED transactions, as stamped [currencies] (from payout_transactions.stamped_cashback, stamped_status)',
    stamped_pending_cashback Decimal(38, 4) COMMENT 'Sum of cashback of PENDING transactions, as stamped [currencies] (from payout_transactions.stamped_cashback, stamped_status)',
    stamped_aov Nullable(Decimal(38, 6)) COMMENT 'stamped_total_gmv / stamped_total_transactions; NULL when there are none [currencies] (from stamped_total_gmv, stamped_total_transactions)',
    now_total_transactions UInt64 COMMENT 'Number of all transactions, as of now [count] (from payout_transactions)',
    now_total_gmv Decimal(38, 4) COMMENT 'Sum of order_value of all transactions, as of now [currencies] (from payout_transactions.order_value)',
    now_total_cashback Decimal(38, 4) COMMENT 'Sum of cashback of all transactions, as of now [currencies] (from payout_transactions.cashback)',
    now_confirmed_transactions UInt64 COMMENT 'Number of CONFIRMED transactions, as of now [count] (from payout_transactions.status)',
    now_declined_transactions UInt64 COMMENT 'Number of DECLINED transactions, as of now [count] (from payout_transactions.status)',
    now_pending_transactions UInt64 COMMENT 'Number of PENDING transactions, as of now [count] (from payout_transactions.status)',
    now_confirmed_gmv Decimal(38, 4) COMMENT 'Sum of order_value of CONFIRMED transactions, as of now [currencies] (from payout_transactions.order_value, status)',
    now_declined_gmv Decimal(38, 4) COMMENT 'Sum of order_value of DECLINED transactions, as of now [currencies] (from payout_transactions.order_value, status)',
    now_pending_gmv Decimal(38, 4) COMMENT 'Sum of order_value of PENDING transactions, as of now [currencies] (from payout_transactions.order_value, status)',
    now_confirmed_cashback Decimal(38, 4) COMMENT 'Sum of cashback of CONFIRMED transactions, as of now [currencies] (from payout_transactions.cashback, status)',
    now_declined_cashback Decimal(38, 4) COMMENT 'Sum of cashback of DECLINED transactions, as of now [currencies] (from payout_transactions.cashback, status)',
    now_pending_cashback Decimal(38, 4) COMMENT 'Sum of cashback of PENDING transactions, as of now [currencies] (from payout_transactions.cashback, status)',
    now_aov Nullable(Decimal(38, 6)) COMMENT 'now_total_gmv / now_total_transactions; NULL when there are none [currencies] (from now_total_gmv, now_total_transactions)',
    total_transactions_difference Nullable(Int64) COMMENT 'total_transactions minus stamped_total_transactions: above zero if the payout says more than its transactions [count] (from total_transactions, stamped_total_transactions)',
    total_gmv_difference Nullable(Decimal(38, 4)) COMMENT 'total_gmv minus stamped_total_gmv: above zero if the payout says more than its transactions [currencies] (from total_gmv, stamped_total_gmv)',
    total_cashback_difference Nullable(Decimal(38, 4)) COMMENT 'total_cashback minus stamped_total_cashback: above zero if the payout says more than its transactions [currencies] (from total_cashback, stamped_total_cashback)',
    confirmed_transactions_difference Nullable(Int64) COMMENT 'confirmed_transactions minus stamped_confirmed_transactions: above zero if the payout says more than its transactions [count] (from confirmed_transactions, stamped_confirmed_transactions)',
    declined_transactions_difference Nullable(Int64) COMMENT 'declined_transactions minus stamped_declined_transactions: above zero if the payout says more than its transactions [count] (from declined_transactions, stamped_declined_transactions)',
    pending_transactions_difference Nullable(Int64) COMMENT 'pending_transactions minus stamped_pending_transactions: above zero if the payout says more than its transactions [count] (from pending_transactions, stamped_pending_transactions)',
    confirmed_gmv_difference Nullable(Decimal(38, 4)) COMMENT 'confirmed_gmv minus stamped_confirmed_gmv: above zero if the payout says more than its transactions [currencies] (from confirmed_gmv, stamped_confirmed_gmv)',
    declined_gmv_difference Nullable(Decimal(38, 4)) COMMENT 'declined_gmv minus stamped_declined_gmv: above zero if the payout says more than its transactions [currencies] (from declined_gmv, stamped_declined_gmv)',
    pending_gmv_difference Nullable(Decimal(38, 4)) COMMENT 'pending_gmv minus stamped_pending_gmv: above zero if the payout says more than its transactions [currencies] (from pending_gmv, stamped_pending_gmv)',
    confirmed_cashback_difference Nullable(Decimal(38, 4)) COMMENT 'confirmed_cashback minus stamped_confirmed_cashback: above zero if the payout says more than its transactions [currencies] (from confirmed_cashback, stamped_confirmed_cashback)',
    declined_cashback_difference Nullable(Decimal(38, 4)) COMMENT 'declined_cashback minus stamped_declined_cashback: above zero if the payout says more than its transactions [currencies] (from declined_cashback, stamped_declined_cashback)',
    pending_cashback_difference Nullable(Decimal(38, 4)) COMMENT 'pending_cashback minus stamped_pending_cashback: above zero if the payout says more than its transactions [currencies] (from pending_cashback, stamped_pending_cashback)',
    aov_difference Nullable(Decimal(38, 6)) COMMENT 'aov minus stamped_aov; 0 when they agree in the decimals that the service gives [currencies] (from aov, stamped_aov)'
)
AS WITH ['total_transactions', 'total_gmv', 'total_cashback', 'confirmed_transactions', 'declined_transactions', 'pending_transactions', 'confirmed_gmv', 'declined_gmv', 'pending_gmv', 'confirmed_cashback', 'declined_cashback', 'pending_cashback', 'aov', 'start_date', 'end_date'] AS names,
    toInt64(arraySum(stamped.2)) AS loaded, indexOf(stamped.1, 'CONFIRMED') AS confirmed, indexOf(stamped.1, 'DECLINED') AS declined, indexOf(stamped.1, 'PENDING') AS pending,
    indexOf(now.1, 'CONFIRMED') AS now_confirmed, indexOf(now.1, 'DECLINED') AS now_declined, indexOf(now.1, 'PENDING') AS now_pending,
    -- An average is rounded, so that it agrees when it is less than one unit of its last decimal away.
    arrayElement([toDecimal64('1', 6), toDecimal64('0.1', 6), toDecimal64('0.01', 6), toDecimal64('0.001', 6), toDecimal64('0.0001', 6), toDecimal64('0.00001', 6), toDecimal64('0.000001', 6)],
        1 + aov_decimals) AS aov_unit,
    -- What the late ones were when they were paid is not known, but it must have been possible.
    transactions_late > 0 AND ifNull(total_transactions_difference = 0, 0)
        AND ifNull(total_transactions = confirmed_transactions + declined_transactions + pending_transactions, 0)
        AND ifNull(total_gmv = confirmed_gmv + declined_gmv + pending_gmv, 0)
        AND ifNull(total_cashback = confirmed_cashback + declined_cashback + pending_cashback, 0)
        AND arrayAll((i, n, gmv, cashback) -> ifNull(n > early.2[i], 0) OR ifNull(n = early.2[i], 0) AND ifNull(gmv = early.3[i], 1) AND ifNull(cashback = early.4[i], 1),
            [indexOf(early.1, 'CONFIRMED'), indexOf(early.1, 'DECLINED'), indexOf(early.1, 'PENDING')], [confirmed_transactions, declined_transactions, pending_transactions],
            [confirmed_gmv, declined_gmv, pending_gmv], [confirmed_cashback, declined_cashback, pending_cashback]) AS possible
SELECT account, payout_id, reported.1 AS start_date, reported.2 AS end_date,
    multiIf(
        loaded = 0 AND ifNull(total_transactions != 0, 1), 'no_transactions',
        ifNull(transactions_loaded < total_transactions, 0), 'missing',
        empty(mismatches) AND transactions_changed + transactions_moved + transactions_gone = 0, 'matched',
        empty(mismatches) OR possible, 'drifted',
        'mismatched') AS verdict,
    arrayFilter((name, differs) -> ifNull(differs, 0), arraySlice(names, 1, 13),
        [total_transactions_difference != 0, total_gmv_difference != 0, total_cashback_difference != 0, confirmed_transactions_difference != 0, declined_transactions_difference != 0,
        pending_transactions_difference != 0, confirmed_gmv_difference != 0, declined_gmv_difference != 0, pending_gmv_difference != 0, confirmed_cashback_difference != 0,
        declined_cashback_difference != 0, pending_cashback_difference != 0, aov_difference != 0]) AS mismatches,
    currencies, length(currencies) > 1 AS mixed_currency, altered, arrayMap(i -> names[i], differ) AS altered_columns, arrayMap(i -> before[i], differ) AS altered_before,
    arrayMap(i -> after[i], differ) AS altered_after, altered_at, first_seen_at,
    (
        SELECT CAST(groupArray((toString(account), parseDateTime64BestEffortOrNull(value, 3, 'UTC'))), 'Map(String, Nullable(DateTime64(3, \'UTC\')))')
        FROM sync_state_log FINAL WHERE stream = 'transactions' AND name = 'watermark' AND value != ''
    )[toString(account)] AS complete_to,
    total_transactions AS transactions_reported, loaded - transactions_gone AS transactions_loaded, states.2[indexOf(states.1, 'changed')] AS transactions_changed,
    states.2[indexOf(states.1, 'moved')] AS transactions_moved, states.2[indexOf(states.1, 'gone')] AS transactions_gone, loaded - arraySum(early.2) AS transactions_late,
    at_stake_confirmed + at_stake_declined + at_stake_pending + at_stake_other + at_stake_moved + at_stake_gone + at_stake_unexplained AS at_stake,
    stake.2[indexOf(stake.1, 'CONFIRMED')] AS at_stake_confirmed, stake.2[indexOf(stake.1, 'DECLINED')] AS at_stake_declined, stake.2[indexOf(stake.1, 'PENDING')] AS at_stake_pending,
    stake.2[indexOf(stake.1, 'other')] AS at_stake_other, stake.2[indexOf(stake.1, 'moved')] AS at_stake_moved, stake.2[indexOf(stake.1, 'gone')] AS at_stake_gone,
    if(loaded = 0, 0, ifNull((total_cashback - declined_cashback) - (stamped_total_cashback - stamped_declined_cashback), 0)) AS at_stake_unexplained,
    reported.3 AS total_transactions, reported.4 AS total_gmv, reported.5 AS total_cashback, reported.6 AS confirmed_transactions, reported.7 AS declined_transactions,
    reported.8 AS pending_transactions, reported.9 AS confirmed_gmv, reported.10 AS declined_gmv, reported.11 AS pending_gmv, reported.12 AS confirmed_cashback,
    reported.13 AS declined_cashback, reported.14 AS pending_cashback, reported.15 AS aov,
    loaded AS stamped_total_transactions, arraySum(stamped.3) AS stamped_total_gmv, arraySum(stamped.4) AS stamped_total_cashback,
    stamped.2[confirmed] AS stamped_confirmed_transactions, stamped.2[declined] AS stamped_declined_transactions, stamped.2[pending] AS stamped_pending_transactions,
    stamped.3[confirmed] AS stamped_confirmed_gmv, stamped.3[declined] AS stamped_declined_gmv, stamped.3[pending] AS stamped_pending_gmv,
    stamped.4[confirmed] AS stamped_confirmed_cashback, stamped.4[declined] AS stamped_declined_cashback, stamped.4[pending] AS stamped_pending_cashback,
    if(loaded = 0, NULL, round(toDecimal128(stamped_total_gmv, 10) / loaded, 6)) AS stamped_aov,
    arraySum(now.2) AS now_total_transactions, arraySum(now.3) AS now_total_gmv, arraySum(now.4) AS now_total_cashback,
    now.2[now_confirmed] AS now_confirmed_transactions, now.2[now_declined] AS now_declined_transactions, now.2[now_pending] AS now_pending_transactions,
    now.3[now_confirmed] AS now_confirmed_gmv, now.3[now_declined] AS now_declined_gmv, now.3[now_pending] AS now_pending_gmv,
    now.4[now_confirmed] AS now_confirmed_cashback, now.4[now_declined] AS now_declined_cashback, now.4[now_pending] AS now_pending_cashback,
    if(now_total_transactions = 0, NULL, round(toDecimal128(now_total_gmv, 10) / now_total_transactions, 6)) AS now_aov,
    total_transactions - loaded AS total_transactions_difference, total_gmv - stamped_total_gmv AS total_gmv_difference, total_cashback - stamped_total_cashback AS total_cashback_difference,
    confirmed_transactions - stamped_confirmed_transactions AS confirmed_transactions_difference, declined_transactions - stamped_declined_transactions AS declined_transactions_difference,
    pending_transactions - stamped_pending_transactions AS pending_transactions_difference, confirmed_gmv - stamped_confirmed_gmv AS confirmed_gmv_difference,
    declined_gmv - stamped_declined_gmv AS declined_gmv_difference, pending_gmv - stamped_pending_gmv AS pending_gmv_difference,
    confirmed_cashback - stamped_confirmed_cashback AS confirmed_cashback_difference, declined_cashback - stamped_declined_cashback AS declined_cashback_difference,
    pending_cashback - stamped_pending_cashback AS pending_cashback_difference,
    if(abs(toDecimal128(aov, 6) * loaded - stamped_total_gmv) < aov_unit * loaded, 0, aov - stamped_aov) AS aov_difference
FROM
(
    SELECT account, payout_id, reported, first_seen_at, before, after, altered, altered_at, arrayFilter(i -> before[i] != after[i], arrayEnumerate(before)) AS differ,
        max(length(splitByChar('.', ifNull(toString(reported.15), '0'))[2])) OVER (PARTITION BY account) AS aov_decimals
    FROM
    (
                $payout_versions
    )
    WHERE deleted = 0
) AS p
LEFT JOIN
(
    -- Planning costs more than running here, and the more the more columns each level has. So sums are kept by status in
    -- arrays; what is not among them is at position 0, and counts as nothing.
    SELECT account, payout_id,
        sumMap([toString(stamped_status)], [stamped_n], [stamped_gmv], [stamped_cashback]) AS stamped,
        sumMap([toString(now_status)], [now_n], [now_gmv], [now_cashback]) AS now,
        sumMapIf([toString(stamped_status)], [stamped_n], [stamped_gmv], [stamped_cashback], NOT late) AS early,
        sumMap([toString(state)], [stamped_n]) AS states,
        sumMap([multiIf(state IN ('moved', 'gone'), toString(state), now_status IN ('CONFIRMED', 'DECLINED', 'PENDING'), toString(now_status), 'other')], [at_stake]) AS stake,
        arraySort(groupUniqArrayIf(toString(currency_code), currency_code != '')) AS currencies
    FROM
    (
        -- Behind payout_sums: a quarter of an hour that is not known is the lowest number there is.
        SELECT *, nullIf(quarters, toInt64(-9223372036854775808)) AS quarter, ifNull(quarter > min(quarter) OVER (PARTITION BY account, payout_id) + 1, 0) AS late
        FROM payout_sums_latest FINAL
        WHERE stamped_n != 0
    )
    GROUP BY account, payout_id
) AS s USING (account, payout_id)
$own_settings
COMMENT 'Every payout against its transactions: reported, as stamped, as of now, the differences, and a verdict';
