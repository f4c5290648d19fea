package warehouse

import (
	"context"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"dealhouse/internal/catalog"
)

// PaidTransaction is a transaction of a payout, and whether it may have changed before it was loaded.
type PaidTransaction struct {
	PayoutTransaction
	// Unseen says that it may have changed between being paid and being loaded: it was stamped over a quarter of
	// an hour after the first one of its payout; or it is not known when the payout was made, and no earlier
	// version is known.
	Unseen bool
}

// PayoutsToRead names the payouts of an account to explain, and which of their transactions are needed for that.
type PayoutsToRead struct {
	Account string
	Payouts []int64 // of each, the transactions whose worth has changed
	Unseen  []int64 // some of Payouts: of each, also all transactions that may have changed before they were loaded
	First   []int64 // some of Payouts: of each, also all transactions that have no earlier version
}

// PayoutExceptions returns the transactions that explain payouts: those whose worth has changed, and those for which it
// is not known what they were when they were paid. They come by payout, the largest amount first.
func (r Reader) PayoutExceptions(ctx context.Context, of PayoutsToRead) ([]PaidTransaction, error) {
	rows, err := r.conn.Query(ctx, selectPayoutExceptions(of), named("account", of.Account))
	all, err := scanned(rows, err, func(t *PaidTransaction) []any { return append(t.fields(), &t.Unseen) })
	if err != nil {
		return nil, fmt.Errorf("reading the transactions that explain the payouts of account %s: %w", of.Account, err)
	}
	return all, nil
}

// CurrencySums are the sums of the undeclined cashback of a payout's transactions in one currency: as they were first
// loaded with its number, and as of now.
type CurrencySums struct {
	Payout       int64
	Currency     string
	Stamped, Now decimal.Decimal
}

// PayoutCurrencies returns the sums of payouts by currency. Transactions without a currency have sums of their own.
func (r Reader) PayoutCurrencies(ctx context.Context, account string, payouts []int64) ([]CurrencySums, error) {
	rows, err := r.conn.Query(ctx, sql(`SELECT payout_id, currency_code, sumIf(stamped_cashback, stamped_status != $declined), sumIf(now_cashback, now_status != $declined)
FROM payout_sums
WHERE account = {account:String} AND payout_id IN ($ids)
GROUP BY payout_id, currency_code ORDER BY payout_id, currency_code`,
		parts{"ids": numbers(payouts), "declined": quote(catalog.StatusDeclined)}), named("account", account))
	all, err := scanned(rows, err, func(s *CurrencySums) []any {
		return []any{&s.Payout, &s.Currency, &s.Stamped,
			&s.Now}
	})
	if err != nil {
		return nil, fmt.Errorf("adding up the payouts of account %s by currency: %w", account, err)
	}
	return all, nil
}

// selectPayoutExceptions reads each payout's transactions twice: to find when the payout was made, and to select those
// asked for. Like payout_reconciliation, it divides the time into quarters of an hour. If less than half of the
// transactions are from the first two quarters, it is not known when the payout was made.
func selectPayoutExceptions(of PayoutsToRead) string {
	return sql(`SELECT $columns, unseen = 1
FROM
(
    SELECT *, ifNull($quarter > first_quarter + 1, 0) OR NOT made_known AND stamped_is_first_known = 1 AS unseen
    FROM payout_transactions
    INNER JOIN
    (
        SELECT payout_id, min($quarter) AS first_quarter, ifNull(quantileExactLow(0.5)($quarter) <= min($quarter) + 1, 0) AS made_known
        FROM payout_transactions WHERE account = {account:String} AND payout_id IN ($ids) GROUP BY payout_id
    ) AS q USING (payout_id)
    WHERE account = {account:String} AND payout_id IN ($ids)
)
WHERE at_stake != 0 OR unseen AND payout_id IN ($unseen) OR payout_id IN ($first) AND stamped_is_first_known = 1
ORDER BY payout_id, abs(at_stake) DESC, id`, parts{
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
