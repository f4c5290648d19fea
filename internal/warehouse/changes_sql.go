package warehouse

import (
	"fmt"
	"strings"

	"dealhouse/internal/catalog"
)

// ofSales names the stream of the sales, its view and its tables, as statements need them.
var ofSales = func() parts {
	s := catalog.Transactions()
	return parts{"sales": s.Name, "stream": quote(s.Name), "latest": latestTable(s), "versions": versionsTable(s)}
}()

// dueOf returns an expression for the first day of the month in which a sale is paid. At the beginning of a month,
// services pay the sales that are more than 90 days old.
func dueOf(soldAt string) string {
	return "addMonths(toStartOfMonth(" + soldAt + " + toIntervalDay(90)), 1)"
}

// selectChanges selects the changes of an account's transactions that count in a month, in the order in which they
// count. Parameters: account, and from and to in milliseconds.
func selectChanges(closes []Close) string {
	return sql(`SELECT currency_code, late, sale = 1, status_before, status, payout_id_before IS NOT NULL,
    payout_id IS NOT NULL, ifNull(payout_id = payout_id_before, 0) = 1, first_paid = 1,
    listed_before = 1, listed = 1, cashback_before, cashback, id, at, seen_at, sold_at, retailer_name, payout_id
FROM (SELECT *, $effective FROM transaction_changes WHERE account = {account:String} AND cityHash64(id) IN ($since))
WHERE effective >= {from:Int64} AND effective < {to:Int64}
ORDER BY effective, id, sale DESC`, parts{"effective": effective(closes), "since": changedSince(closes)})
}

// selectPayoutsOf selects the payouts that an account's transactions entered by changes that count in a month, if they
// were in none before: those of the entry "paid out". What was worth nothing is left out, as there. Parameters:
// account, and from and to in milliseconds.
func selectPayoutsOf(closes []Close) string {
	return sql(`SELECT DISTINCT assumeNotNull(payout_id) AS payout
FROM (SELECT *, $effective FROM transaction_changes WHERE account = {account:String} AND cityHash64(id) IN ($since))
WHERE effective >= {from:Int64} AND effective < {to:Int64} AND sale = 0 AND late = 0 AND payout_id_before IS NULL AND payout_id IS NOT NULL
    AND status != $declined AND cashback != 0 AND (listed = 1 OR listed_before = 1)
ORDER BY payout`, parts{"effective": effective(closes), "since": changedSince(closes),
		"declined": quote(catalog.StatusDeclined)})
}

// selectPaidBefore adds up what transactions were worth when they first entered payouts, by changes that count before a
// time: finance.Change has the same rule. Parameters: account, and before in milliseconds.
func selectPaidBefore(payouts []int64, closes []Close) string {
	return sql(`SELECT assumeNotNull(payout_id) AS payout, toString(currency_code), sum(cashback)
FROM (SELECT *, $effective FROM transaction_changes WHERE account = {account:String} AND payout_id IN ($ids))
WHERE effective < {before:Int64} AND sale = 0 AND first_paid = 1 AND ifNull(payout_id != payout_id_before, 1)
    AND status != $declined AND (listed = 1 OR listed_before = 1)
GROUP BY payout, currency_code`, parts{"effective": effective(closes), "ids": numbers(payouts),
		"declined": quote(catalog.StatusDeclined)})
}

// selectEachChange selects the same with the age of each sale: transaction by transaction, then currency by currency.
// Parameters: account, and from and to in milliseconds.
func selectEachChange(closes []Close) string {
	return sql(`SELECT currency_code, late, $age AS age, sale = 1, status_before, status,
    payout_id_before IS NOT NULL, payout_id IS NOT NULL, ifNull(payout_id = payout_id_before, 0) = 1, first_paid = 1,
    listed_before = 1, listed = 1, cashback_before, cashback, id, at, seen_at, sold_at, retailer_name, payout_id
FROM (SELECT *, $effective, dateDiff('day', sold_at, fromUnixTimestamp64Milli({to:Int64}, 'UTC')) AS days
    FROM transaction_changes WHERE account = {account:String})
WHERE effective >= {from:Int64} AND effective < {to:Int64}
ORDER BY id, currency_code, effective, sale DESC`, parts{"effective": effective(closes), "age": ageOfDays()})
}

// effective returns two columns for a change: late, and effective, the time at which the change counts
// (see ChangeSums).
func effective(closes []Close) string {
	seen := "9999999999999" // milliseconds: never
	for _, c := range closes {
		seen += fmt.Sprintf(", if(at < fromUnixTimestamp64Milli(%d, 'UTC'), %d, 9999999999999)",
			c.Month.AddDate(0, 1, 0).UnixMilli(), c.SeenTo.UnixMilli())
	}
	return sql("toUnixTimestamp64Milli(seen_at) > arrayMin([$seen]) AS late, toUnixTimestamp64Milli(if(late, seen_at, at)) AS effective", parts{"seen": seen})
}

// ageOfDays returns an expression for ChangeSum.Age that reads a column days.
func ageOfDays() string {
	var ages []string
	for i, days := range Ages() {
		ages = append(ages, fmt.Sprintf("days <= %d, %d", days, i))
	}
	return sql("multiIf(isNull(days), $unknown, $ages, $more)",
		parts{"ages": strings.Join(ages, ", "), "more": fmt.Sprint(len(ages)), "unknown": fmt.Sprint(len(ages) + 1)})
}

// selectCloses selects the closed months of an account, the earliest first. Parameter: account.
const selectCloses = `SELECT account, toDateTime64(month, 3, 'UTC'), closed_at, id, seen_to, statement, hash, by, note
FROM statement_closes WHERE account = {account:String} ORDER BY month`

// selectSeenTo returns when the last run of transactions that succeeded ended, and up to which updatedAt they are
// complete. Parameter: account.
var selectSeenTo = sql(`SELECT (SELECT max(finished_at) FROM sync_runs WHERE account = {account:String} AND stream = $stream AND outcome = $success),
    (SELECT max(complete_to) FROM service_clock WHERE account = {account:String})`,
	ofSales.with(parts{"success": quote(OutcomeSuccess)}))
