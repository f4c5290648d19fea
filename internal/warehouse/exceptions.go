package warehouse

import (
	"context"
	"fmt"

	"github.com/shopspring/decimal"
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
	rows, err := r.retrying.Query(ctx, selectPayoutExceptions(of), named("account", of.Account))
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
	rows, err := r.retrying.Query(ctx, selectPayoutCurrencies(payouts), named("account", account))
	all, err := scanned(rows, err, func(s *CurrencySums) []any {
		return []any{&s.Payout, &s.Currency, &s.Stamped,
			&s.Now}
	})
	if err != nil {
		return nil, fmt.Errorf("adding up the payouts of account %s by currency: %w", account, err)
	}
	return all, nil
}
