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
COMMENT 'Sums over payout_transactions, of transactions that were stamped in the same quarter of an hour and stand alike';

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
)
COMMENT 'Whether a payout changed after it was first seen: payouts are immutable, so that each change is worth a question';

CREATE OR REPLACE VIEW payout_reconciliation
(
    account LowCardinality(String) COMMENT 'Account of the configuration (from payouts.account)',
    payout_id Int64 COMMENT 'Payout identifier (from payouts.id)',
    start_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the first transaction included, as reported [UTC] (from payouts.start_date)',
    end_date Nullable(DateTime64(3, 'UTC')) COMMENT 'Date of the last transaction included, as reported [UTC] (from payouts.end_date)',
    verdict LowCardinality(String) COMMENT 'matched: its transactions add up to it, and stand as they did; drifted: some have changed since they were paid, which explains the difference, if there is one; missing: fewer are loaded than it counts; mismatched: they do not add up to it; no_transactions: none is loaded, see complete_to (from mismatches and the counts of transactions)',
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
    transactions_late UInt64 COMMENT 'Transactions whose first version with its id came over a quarter of an hour after that of the first one: how they stood when they were paid is not known [count] (from payout_transactions.stamped_at)',
    at_stake Decimal(38, 4) COMMENT 'Cashback reported less cashback as of now, each without DECLINED; the sum of the seven columns that follow. 0 for no_transactions [currencies] (from the columns that begin with at_stake_)',
    at_stake_confirmed Decimal(38, 4) COMMENT 'Part of at_stake in transactions that are CONFIRMED now [currencies] (from payout_transactions.at_stake, status)',
    at_stake_declined Decimal(38, 4) COMMENT 'Part of at_stake in transactions that are DECLINED now: paid and then lost [currencies] (from payout_transactions.at_stake, status)',
    at_stake_pending Decimal(38, 4) COMMENT 'Part of at_stake in transactions that are PENDING now [currencies] (from payout_transactions.at_stake, status)',
    at_stake_other Decimal(38, 4) COMMENT 'Part of at_stake in transactions of any other status now [currencies] (from payout_transactions.at_stake, status)',
    at_stake_moved Decimal(38, 4) COMMENT 'Part of at_stake in transactions that now carry another payoutId, or none [currencies] (from payout_transactions.at_stake, state)',
    at_stake_gone Decimal(38, 4) COMMENT 'Part of at_stake in transactions that the service no longer lists [currencies] (from payout_transactions.at_stake, state)',
    at_stake_unexplained Decimal(38, 4) COMMENT 'Part of at_stake that no loaded transaction explains: reported less as stamped [currencies] (from total_cashback, declined_cashback, stamped_total_cashback, stamped_declined_cashback)',
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
    total_transactions_difference Nullable(Int64) COMMENT 'total_transactions less stamped_total_transactions: what the payout has more than its transactions [count] (from total_transactions, stamped_total_transactions)',
    total_gmv_difference Nullable(Decimal(38, 4)) COMMENT 'total_gmv less stamped_total_gmv: what the payout has more than its transactions [currencies] (from total_gmv, stamped_total_gmv)',
    total_cashback_difference Nullable(Decimal(38, 4)) COMMENT 'total_cashback less stamped_total_cashback: what the payout has more than its transactions [currencies] (from total_cashback, stamped_total_cashback)',
    confirmed_transactions_difference Nullable(Int64) COMMENT 'confirmed_transactions less stamped_confirmed_transactions: what the payout has more than its transactions [count] (from confirmed_transactions, stamped_confirmed_transactions)',
    declined_transactions_difference Nullable(Int64) COMMENT 'declined_transactions less stamped_declined_transactions: what the payout has more than its transactions [count] (from declined_transactions, stamped_declined_transactions)',
    pending_transactions_difference Nullable(Int64) COMMENT 'pending_transactions less stamped_pending_transactions: what the payout has more than its transactions [count] (from pending_transactions, stamped_pending_transactions)',
    confirmed_gmv_difference Nullable(Decimal(38, 4)) COMMENT 'confirmed_gmv less stamped_confirmed_gmv: what the payout has more than its transactions [currencies] (from confirmed_gmv, stamped_confirmed_gmv)',
    declined_gmv_difference Nullable(Decimal(38, 4)) COMMENT 'declined_gmv less stamped_declined_gmv: what the payout has more than its transactions [currencies] (from declined_gmv, stamped_declined_gmv)',
    pending_gmv_difference Nullable(Decimal(38, 4)) COMMENT 'pending_gmv less stamped_pending_gmv: what the payout has more than its transactions [currencies] (from pending_gmv, stamped_pending_gmv)',
    confirmed_cashback_difference Nullable(Decimal(38, 4)) COMMENT 'confirmed_cashback less stamped_confirmed_cashback: what the payout has more than its transactions [currencies] (from confirmed_cashback, stamped_confirmed_cashback)',
    declined_cashback_difference Nullable(Decimal(38, 4)) COMMENT 'declined_cashback less stamped_declined_cashback: what the payout has more than its transactions [currencies] (from declined_cashback, stamped_declined_cashback)',
    pending_cashback_difference Nullable(Decimal(38, 4)) COMMENT 'pending_cashback less stamped_pending_cashback: what the payout has more than its transactions [currencies] (from pending_cashback, stamped_pending_cashback)',
    aov_difference Nullable(Decimal(38, 6)) COMMENT 'aov less stamped_aov; 0 when they agree in the decimals that the service gives [currencies] (from aov, stamped_aov)'
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
            INNER JOIN payout_alterations AS a USING (account, payout_id)
        ) AS psa
        LEFT JOIN (SELECT account, complete_to FROM service_clock) AS w USING (account)
    )
)
COMMENT 'Every payout against its transactions: reported, as stamped, as of now, the differences, and a verdict'
