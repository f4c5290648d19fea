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

// selectPayouts compares payouts with their transactions, the newest payout first. Its parameters, and those of the
// next three, are those of conditions.
func selectPayouts(where string) string {
	totals := func(prefix, suffix string) string {
		list := make([]string, len(PayoutTotals()))
		for i, name := range PayoutTotals() {
			list[i] = "CAST(" + prefix + name + suffix + " AS Nullable(Decimal(38, 6)))"
		}
		return strings.Join(list, ", ")
	}
	return sqlFile("select_payouts", parts{
		"where": where, "at_stake": "at_stake_" + strings.Join(StakeStates(), ", at_stake_"),
		"reported": totals("", ""), "stamped": totals("stamped_", ""), "now": totals("now_", ""),
		"difference": totals("", "_difference"),
	})
}

// payoutTransactionColumns are the columns of which PayoutTransaction has the values.
const payoutTransactionColumns = `account, payout_id, id, sold_at, retailer_name, currency_code, state,
    stamped_status, stamped_order_value, stamped_cashback, stamped_at,
    stamped_is_first_known = 1, status, order_value, cashback, payout_id_now, changed_at, at_stake`

// selectPayoutTransactions selects the transactions of payouts. Those whose state has changed come first, and among
// them the largest amounts.
func selectPayoutTransactions(where string) string {
	return sql(`SELECT $columns
FROM payout_transactions
WHERE $where
ORDER BY account, payout_id, state = $same, abs(at_stake) DESC, stamped_at DESC, id`,
		parts{"columns": payoutTransactionColumns, "where": where, "same": quote(TransactionSame)})
}

// selectPayoutOrphans adds up the transactions that name a payout which is not loaded.
func selectPayoutOrphans(where string) string {
	return sql(`SELECT account, payout_id, currency_code, count(), ifNull(sumIf(cashback, status != $declined), 0), max(was_listed) = 1, max(certain) = 1
FROM payout_orphans
WHERE $where
GROUP BY account, payout_id, currency_code ORDER BY account, payout_id, currency_code`,
		parts{"where": where, "declined": quote(catalog.StatusDeclined)})
}

// selectPayoutOverdue adds up what has been unpaid for longer than a time, by the month of the sale. It has one more
// parameter: after, in seconds.
func selectPayoutOverdue(where string) string {
	return sql(`SELECT account, formatDateTime(assumeNotNull(sold_at), '%Y-%m') AS month, currency_code, count(),
    ifNull(sum(cashback), 0), min(assumeNotNull(sold_at))
FROM payout_unpaid
WHERE $where AND age_seconds > {after:Int64}
GROUP BY account, month, currency_code ORDER BY account, month, currency_code`, parts{"where": where})
}

// selectPayoutCurrencies adds up the undeclined cashback of payouts by currency. Parameter: account.
func selectPayoutCurrencies(payouts []int64) string {
	return sql(`SELECT payout_id, currency_code, sumIf(stamped_cashback, stamped_status != $declined), sumIf(now_cashback, now_status != $declined)
FROM payout_sums
WHERE account = {account:String} AND payout_id IN ($ids)
GROUP BY payout_id, currency_code ORDER BY payout_id, currency_code`,
		parts{"ids": numbers(payouts), "declined": quote(catalog.StatusDeclined)})
}

// selectPayoutExceptions reads each payout's transactions twice: to find when the payout was made, and to select those
// asked for. Like payout_reconciliation, it divides the time into quarters of an hour. If less than half of the
// transactions are from the first two quarters, it is not known when the payout was made.
func selectPayoutExceptions(of PayoutsToRead) string {
	return sqlFile("select_payout_exceptions", parts{
		"columns": payoutTransactionColumns, "quarter": "intDiv(toUnixTimestamp64Milli(stamped_at), 900000)",
		"ids": numbers(of.Payouts), "unseen": numbers(of.Unseen), "first": numbers(of.First),
	})
}

// numbers returns ids as a list for IN. IN takes no empty list, so for no ids it returns NULL.
func numbers(ids []int64) string {
	if len(ids) == 0 {
		return "NULL"
	}
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ids)), ", "), "[]")
}

// selectAcknowledgements selects the acknowledgements of one account or of all, the newest first. Parameter: account.
const selectAcknowledgements = `SELECT account, payout_id, kind, currency_code, at, id, amount, entries, amounts, tolerance, reason, note, by
FROM payout_acknowledgements
WHERE {account:String} IN ('', account)
ORDER BY at DESC, account, payout_id, kind, currency_code`
