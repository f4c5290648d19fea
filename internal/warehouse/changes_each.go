package warehouse

import (
	"context"
	"fmt"
	"time"
)

// EachChange calls do for each change of an account's transactions that counts at from or later, but earlier than
// before. The changes come transaction by transaction, then currency by currency, and within these in the order in
// which they count. Age is that of the sale at the end of the period. The changes are not kept in memory, so there may
// be any number of them.
func (r Reader) EachChange(ctx context.Context, account string, from, before time.Time, closes []Close,
	do func(Change) error) error {
	rows, err := r.retrying.Query(ctx, selectEachChange(closes), named("account", account),
		named("from", fmt.Sprint(from.UnixMilli())), named("to", fmt.Sprint(before.UnixMilli())))
	err = each(rows, err, func(c *Change) []any {
		return []any{&c.Currency, &c.Late, &c.Age, &c.Sale, &c.StatusBefore, &c.Status, &c.InPayout, &c.IntoPayout,
			&c.SamePayout, &c.FirstPaid, &c.ListedBefore, &c.Listed,
			&c.CashbackBefore, &c.Cashback, &c.ID, &c.At, &c.SeenAt, &c.SoldAt, &c.Retailer, &c.Payout}
	}, do)
	if err != nil {
		return fmt.Errorf("reading the changes of the transactions of account %s: %w", account, err)
	}
	return nil
}
