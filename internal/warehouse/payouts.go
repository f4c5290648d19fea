package warehouse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"dealhouse/internal/catalog"
)

// PayoutFilter narrows what is read about payouts; zero values do not.
type PayoutFilter struct {
	Account string
	// Since leaves out payouts whose period ended before it, and transactions sold before it. What does not say when it
	// was is kept: nobody can tell that it is older.
	Since time.Time
	// Payout is the id of the only payout to read.
	Payout *int64
}

// PayoutTotals are the names of the totals of a payout, in the order of Payout.Reported.
func PayoutTotals() []string {
	return []string{
		"total_transactions", "total_gmv", "aov", "total_cashback",
		"confirmed_transactions", "declined_transactions", "pending_transactions",
		"confirmed_gmv", "declined_gmv", "pending_gmv",
		"confirmed_cashback", "declined_cashback", "pending_cashback",
	}
}

// Payout is one row of payout_reconciliation, whose columns say what each field means. The totals are in the order of
// PayoutTotals; nil is a total that the service did not send, or that has no value.
type Payout struct {
	Account                                     string
	ID                                          int64
	Start, End                                  *time.Time
	Verdict                                     string
	Mismatches, Currencies                      []string
	MixedCurrency, Altered                      bool
	AlteredColumns, AlteredBefore, AlteredAfter []string
	AlteredAt                                   *time.Time
	FirstSeenAt                                 time.Time
	CompleteTo                                  *time.Time
	TransactionsReported                        *int64
	Loaded, Changed, Moved, Gone, Late          uint64
	AtStake                                     decimal.Decimal
	AtStakeBy                                   []decimal.Decimal
	Reported, Stamped, AsOfNow, Difference      []*decimal.Decimal
}

// conditions is the WHERE of a filter, over the columns that stand for the time and the payout.
func (f PayoutFilter) conditions(when, payout string) (string, []any) {
	where, args := []string{"1"}, []any{}
	if f.Account != "" {
		where, args = append(where, "account = {account:String}"), append(args, named("account", f.Account))
	}
	if !f.Since.IsZero() {
		where, args = append(where, "ifNull("+when+" >= fromUnixTimestamp64Milli({since:Int64}, 'UTC'), true)"), append(args, named("since", fmt.Sprint(f.Since.UnixMilli())))
	}
	if f.Payout != nil && payout != "" {
		where, args = append(where, payout+" = {payout:Int64}"), append(args, named("payout", fmt.Sprint(*f.Payout)))
	}
	return " WHERE " + strings.Join(where, " AND "), args
}

// Payouts reads the reconciliation of payouts, the newest of each account first.
func (w *Warehouse) Payouts(ctx context.Context, f PayoutFilter) ([]Payout, error) {
	totals := func(prefix, suffix string) string {
		list := make([]string, len(PayoutTotals()))
		for i, name := range PayoutTotals() {
			list[i] = "CAST(" + prefix + name + suffix + " AS Nullable(Decimal(38, 6)))"
		}
		return strings.Join(list, ", ")
	}
	where, args := f.conditions("end_date", "payout_id")
	query := "SELECT account, payout_id, start_date, end_date, verdict, mismatches, currencies, mixed_currency = 1, altered = 1, altered_columns, altered_before, altered_after," +
		" altered_at, first_seen_at, complete_to, transactions_reported, transactions_loaded, transactions_changed, transactions_moved, transactions_gone," +
		" transactions_late, at_stake, at_stake_" + strings.Join(StakeStates(), ", at_stake_") + ", " + totals("", "") + ", " + totals("stamped_", "") + ", " +
		totals("now_", "") + ", " + totals("", "_difference") + " FROM payout_reconciliation" + where + " ORDER BY account, payout_id DESC"
	all, err := rowsOf(ctx, w, query, args, func(rows driver.Rows, p *Payout) error {
		into := []any{&p.Account, &p.ID, &p.Start, &p.End, &p.Verdict, &p.Mismatches, &p.Currencies, &p.MixedCurrency, &p.Altered, &p.AlteredColumns, &p.AlteredBefore,
			&p.AlteredAfter, &p.AlteredAt, &p.FirstSeenAt, &p.CompleteTo, &p.TransactionsReported, &p.Loaded, &p.Changed, &p.Moved, &p.Gone, &p.Late, &p.AtStake}
		p.AtStakeBy = make([]decimal.Decimal, len(StakeStates()))
		for i := range p.AtStakeBy {
			into = append(into, &p.AtStakeBy[i])
		}
		for _, totals := range []*[]*decimal.Decimal{&p.Reported, &p.Stamped, &p.AsOfNow, &p.Difference} {
			*totals = make([]*decimal.Decimal, len(PayoutTotals()))
			for i := range *totals {
				into = append(into, &(*totals)[i])
			}
		}
		return rows.Scan(into...)
	})
	if err != nil {
		return nil, fmt.Errorf("reconciling the payouts: %w", err)
	}
	return all, nil
}

// PayoutTransaction is one row of payout_transactions.
type PayoutTransaction struct {
	Account                            string
	Payout                             int64
	ID                                 uuid.UUID
	SoldAt                             *time.Time
	Retailer, Currency, State          string
	StampedStatus                      string
	StampedOrderValue, StampedCashback *decimal.Decimal
	StampedAt                          *time.Time
	FirstKnown                         bool
	Status                             string
	OrderValue, Cashback               *decimal.Decimal
	PayoutNow                          *int64
	ChangedAt                          *time.Time
	AtStake                            decimal.Decimal
}

// PayoutTransactions reads the transactions of a payout, those that changed first, then those that were stamped last.
func (w *Warehouse) PayoutTransactions(ctx context.Context, f PayoutFilter) ([]PayoutTransaction, error) {
	where, args := f.conditions("sold_at", "payout_id")
	query := "SELECT account, payout_id, id, sold_at, retailer_name, currency_code, state, stamped_status, stamped_order_value, stamped_cashback, stamped_at," +
		" stamped_is_first_known = 1, status, order_value, cashback, payout_id_now, changed_at, at_stake FROM payout_transactions" + where +
		" ORDER BY account, payout_id, state = " + quote(TransactionSame) + ", abs(at_stake) DESC, stamped_at DESC, id"
	all, err := rowsOf(ctx, w, query, args, func(rows driver.Rows, t *PayoutTransaction) error {
		return rows.Scan(&t.Account, &t.Payout, &t.ID, &t.SoldAt, &t.Retailer, &t.Currency, &t.State, &t.StampedStatus, &t.StampedOrderValue, &t.StampedCashback,
			&t.StampedAt, &t.FirstKnown, &t.Status, &t.OrderValue, &t.Cashback, &t.PayoutNow, &t.ChangedAt, &t.AtStake)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the transactions of the payout: %w", err)
	}
	return all, nil
}

// OrphanGroup is what payout_orphans holds about one payout that is not there, in one currency.
type OrphanGroup struct {
	Account      string
	Payout       int64
	Currency     string
	Transactions uint64
	Cashback     decimal.Decimal // of those that are not declined
	WasListed    bool
	Certain      bool
}

// PayoutOrphans reads which payouts transactions speak of that are not there.
func (w *Warehouse) PayoutOrphans(ctx context.Context, f PayoutFilter) ([]OrphanGroup, error) {
	where, args := f.conditions("sold_at", "payout_id")
	query := "SELECT account, payout_id, currency_code, count(), ifNull(sumIf(cashback, status != " + quote(catalog.StatusDeclined) + "), 0), max(was_listed) = 1, max(certain) = 1 FROM payout_orphans" + where +
		" GROUP BY account, payout_id, currency_code ORDER BY account, payout_id, currency_code"
	all, err := rowsOf(ctx, w, query, args, func(rows driver.Rows, o *OrphanGroup) error {
		return rows.Scan(&o.Account, &o.Payout, &o.Currency, &o.Transactions, &o.Cashback, &o.WasListed, &o.Certain)
	})
	if err != nil {
		return nil, fmt.Errorf("looking for transactions without their payout: %w", err)
	}
	return all, nil
}

// OverdueGroup is what is overdue of the sales of one month in one currency.
type OverdueGroup struct {
	Account      string
	Month        string // of the sales, as 2026-03
	Currency     string
	Transactions uint64
	Cashback     decimal.Decimal
	OldestSale   time.Time
}

// PayoutOverdue reads what should have been paid: sold longer ago than after, by the clock of the service.
func (w *Warehouse) PayoutOverdue(ctx context.Context, f PayoutFilter, after time.Duration) ([]OverdueGroup, error) {
	where, args := f.conditions("sold_at", "")
	args = append(args, named("after", fmt.Sprint(int64(after.Seconds()))))
	query := "SELECT account, formatDateTime(assumeNotNull(sold_at), '%Y-%m') AS month, currency_code, count(), ifNull(sum(cashback), 0), min(assumeNotNull(sold_at)) FROM payout_unpaid" +
		where + " AND age_seconds > {after:Int64} GROUP BY account, month, currency_code ORDER BY account, month, currency_code"
	all, err := rowsOf(ctx, w, query, args, func(rows driver.Rows, o *OverdueGroup) error {
		return rows.Scan(&o.Account, &o.Month, &o.Currency, &o.Transactions, &o.Cashback, &o.OldestSale)
	})
	if err != nil {
		return nil, fmt.Errorf("looking for transactions that should have been paid: %w", err)
	}
	return all, nil
}

// rowsOf reads all rows of a query.
func rowsOf[T any](ctx context.Context, w *Warehouse, query string, args []any, scan func(driver.Rows, *T) error) ([]T, error) {
	rows, err := w.conn.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var row T
		if err := scan(rows, &row); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}
