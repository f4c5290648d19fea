package warehouse

import (
	"fmt"
	"strings"

	"dealhouse/internal/catalog"
)

// conditions returns the WHERE of a filter and its parameters. when and payout are the columns of the time
// and the payout.
func (f PayoutFilter) conditions(when, payout string) (string, []any) {
	where, args := []string{"1"}, []any{}
	if f.Account != "" {
		where, args = append(where, "account = {account:String}"), append(args, named("account", f.Account))
	}
	if !f.Since.IsZero() {
		where = append(where, sql("ifNull($when >= fromUnixTimestamp64Milli({since:Int64}, 'UTC'), true)",
			parts{"when": when}))
		args = append(args, named("since", fmt.Sprint(f.Since.UnixMilli())))
	}
	if f.Payout != nil && payout != "" {
		where, args = append(where, payout+" = {payout:Int64}"), append(args, named("payout", fmt.Sprint(*f.Payout)))
	}
	return strings.Join(where, " AND "), args
}

func selectPayouts(where string) string {
	totals := func(prefix, suffix string) string {
		list := make([]string, len(PayoutTotals()))
		for i, name := range PayoutTotals() {
			list[i] = "CAST(" + prefix + name + suffix + " AS Nullable(Decimal(38, 6)))"
		}
		return strings.Join(list, ", ")
	}
	return sql(`SELECT account, payout_id, start_date, end_date, verdict, mismatches, currencies, mixed_currency = 1, altered = 1, altered_columns, altered_before, altered_after,
    altered_at, first_seen_at, complete_to, transactions_reported, transactions_loaded, transactions_changed, transactions_moved, transactions_gone,
    transactions_late, at_stake, $at_stake,
    $reported,
    $stamped,
    $now,
    $difference
FROM payout_reconciliation
WHERE $where
ORDER BY account, payout_id DESC`, parts{
		"where": where, "at_stake": "at_stake_" + strings.Join(StakeStates(), ", at_stake_"),
		"reported": totals("", ""), "stamped": totals("stamped_", ""), "now": totals("now_", ""),
		"difference": totals("", "_difference"),
	})
}

// payoutTransactionColumns are the columns of which PayoutTransaction has the values.
const payoutTransactionColumns = `account, payout_id, id, sold_at, retailer_name, currency_code, state, stamped_status, stamped_order_value, stamped_cashback, stamped_at,
    stamped_is_first_known = 1, status, order_value, cashback, payout_id_now, changed_at, at_stake`

func selectPayoutTransactions(where string) string {
	return sql(`SELECT $columns
FROM payout_transactions
WHERE $where
ORDER BY account, payout_id, state = $same, abs(at_stake) DESC, stamped_at DESC, id`,
		parts{"columns": payoutTransactionColumns, "where": where, "same": quote(TransactionSame)})
}

func selectPayoutOrphans(where string) string {
	return sql(`SELECT account, payout_id, currency_code, count(), ifNull(sumIf(cashback, status != $declined), 0), max(was_listed) = 1, max(certain) = 1
FROM payout_orphans
WHERE $where
GROUP BY account, payout_id, currency_code ORDER BY account, payout_id, currency_code`,
		parts{"where": where, "declined": quote(catalog.StatusDeclined)})
}

func selectPayoutOverdue(where string) string {
	return sql(`SELECT account, formatDateTime(assumeNotNull(sold_at), '%Y-%m') AS month, currency_code, count(), ifNull(sum(cashback), 0), min(assumeNotNull(sold_at))
FROM payout_unpaid
WHERE $where AND age_seconds > {after:Int64}
GROUP BY account, month, currency_code ORDER BY account, month, currency_code`, parts{"where": where})
}
