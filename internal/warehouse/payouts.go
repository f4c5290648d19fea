package warehouse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"dealhouse/internal/catalog"
)

// PayoutFilter narrows what is read about payouts. Zero values do not narrow it.
type PayoutFilter struct {
	Account string
	// Since leaves out payouts whose period ended before it, and transactions sold before it. A row without such a time
	// is kept: nobody can tell that it is older.
	Since time.Time
	// Payout is the id of the only payout to read.
	Payout *int64
}

// PayoutTotals returns the names of the totals of a payout, in the order of Payout.Reported.
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

// Payouts reads the reconciliation of payouts, the newest of each account first.
func (r Reader) Payouts(ctx context.Context, f PayoutFilter) ([]Payout, error) {
	where, args := f.conditions("end_date", "payout_id")
	rows, err := r.retrying.Query(ctx, selectPayouts(where), args...)
	all, err := scanned(rows, err, func(p *Payout) []any {
		into := []any{&p.Account, &p.ID, &p.Start, &p.End, &p.Verdict, &p.Mismatches, &p.Currencies, &p.MixedCurrency,
			&p.Altered, &p.AlteredColumns, &p.AlteredBefore,
			&p.AlteredAfter, &p.AlteredAt, &p.FirstSeenAt, &p.CompleteTo, &p.TransactionsReported,
			&p.Loaded, &p.Changed, &p.Moved, &p.Gone, &p.Late, &p.AtStake}
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
		return into
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

// fields are what payoutTransactionColumns are read into.
func (t *PayoutTransaction) fields() []any {
	return []any{&t.Account, &t.Payout, &t.ID, &t.SoldAt, &t.Retailer, &t.Currency, &t.State, &t.StampedStatus,
		&t.StampedOrderValue, &t.StampedCashback,
		&t.StampedAt, &t.FirstKnown, &t.Status, &t.OrderValue, &t.Cashback, &t.PayoutNow, &t.ChangedAt, &t.AtStake}
}

// PayoutTransactions returns the transactions of a payout, in the order of their sales.
func (r Reader) PayoutTransactions(ctx context.Context, f PayoutFilter) (all []PayoutTransaction, err error) {
	err = r.EachPayoutTransaction(ctx, f, func(t PayoutTransaction) error {
		all = append(all, t)
		return nil
	})
	return all, err
}

// EachPayoutTransaction calls do for each transaction that PayoutTransactions returns.
func (r Reader) EachPayoutTransaction(ctx context.Context, f PayoutFilter, do func(PayoutTransaction) error) error {
	where, args := f.conditions("sold_at", "payout_id")
	rows, err := r.retrying.Query(ctx, selectPayoutTransactions(where), args...)
	if err := each(rows, err, (*PayoutTransaction).fields, do); err != nil {
		return fmt.Errorf("reading the transactions of the payout: %w", err)
	}
	return nil
}

// OrphanGroup is what payout_orphans says about one missing payout, in one currency.
type OrphanGroup struct {
	Account      string
	Payout       int64
	Currency     string
	Transactions uint64
	Cashback     decimal.Decimal // of those that are not declined
	WasListed    bool
	Certain      bool
}

// PayoutOrphans returns the payouts that transactions name and that do not exist.
func (r Reader) PayoutOrphans(ctx context.Context, f PayoutFilter) ([]OrphanGroup, error) {
	where, args := f.conditions("sold_at", "payout_id")
	rows, err := r.retrying.Query(ctx, selectPayoutOrphans(where), args...)
	all, err := scanned(rows, err, func(o *OrphanGroup) []any {
		return []any{&o.Account, &o.Payout, &o.Currency, &o.Transactions, &o.Cashback, &o.WasListed, &o.Certain}
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
func (r Reader) PayoutOverdue(ctx context.Context, f PayoutFilter, after time.Duration) ([]OverdueGroup, error) {
	where, args := f.conditions("sold_at", "")
	args = append(args, named("after", fmt.Sprint(int64(after.Seconds()))))
	rows, err := r.retrying.Query(ctx, selectPayoutOverdue(where), args...)
	all, err := scanned(rows, err, func(o *OverdueGroup) []any {
		return []any{&o.Account, &o.Month, &o.Currency, &o.Transactions, &o.Cashback, &o.OldestSale}
	})
	if err != nil {
		return nil, fmt.Errorf("looking for transactions that should have been paid: %w", err)
	}
	return all, nil
}

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

// selectPayoutTransactions selects the transactions of payouts, in the order of their sales.
func selectPayoutTransactions(where string) string {
	return sql(`SELECT $columns
FROM payout_transactions
WHERE $where
ORDER BY account, payout_id, sold_at, id`,
		parts{"columns": payoutTransactionColumns, "where": where})
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

// selectAcknowledgements selects the acknowledgements of one account or of all, the newest first. Parameter: account.
const selectAcknowledgements = `SELECT account, payout_id, kind, currency_code, at, id, amount, entries, amounts, tolerance, reason, note, by
FROM payout_acknowledgements
WHERE {account:String} IN ('', account)
ORDER BY at DESC, account, payout_id, kind, currency_code`

// States of a transaction that was paid, as payout_transactions has them.
const (
	TransactionSame    = "same"    // it is as it was stamped
	TransactionChanged = "changed" // its status or an amount has changed
	TransactionMoved   = "moved"   // it carries another payoutId, or none
	TransactionGone    = "gone"    // the service no longer lists it
)

// TransactionStates returns all of them.
func TransactionStates() []string {
	return []string{TransactionSame, TransactionChanged, TransactionMoved, TransactionGone}
}

// Differs reports whether the transaction is no longer as it was stamped.
func (t PayoutTransaction) Differs() bool { return t.State != TransactionSame }

// Where an amount at stake comes from, as the columns at_stake_* of payout_reconciliation have it: transactions that
// are still in the payout, by their status; those that are no longer in it; and what no transaction explains.
const (
	StakeConfirmed   = "confirmed"
	StakeDeclined    = "declined"
	StakePending     = "pending"
	StakeOther       = "other" // a status that is not known
	StakeMoved       = "moved"
	StakeGone        = "gone"
	StakeUnexplained = "unexplained"
)

// StakeStates returns all of them, in the order of Payout.AtStakeBy.
func StakeStates() []string {
	return []string{StakeConfirmed, StakeDeclined, StakePending, StakeOther, StakeMoved, StakeGone, StakeUnexplained}
}

// States of a payout in the comparison of what it earned, paid out and brought, as payout_three_way has them.
const (
	ThreeWayReceived    = "received"     // all of it has arrived
	ThreeWayShort       = "short"        // less has arrived
	ThreeWayOver        = "over"         // more has arrived
	ThreeWayOutstanding = "outstanding"  // nothing has arrived
	ThreeWayNotPaidOut  = "not paid out" // what has arrived is not known to be paid out
	ThreeWayNothingDue  = "nothing due"  // it paid nothing
)

// ThreeWayStates returns all of them.
func ThreeWayStates() []string {
	return []string{ThreeWayReceived, ThreeWayShort, ThreeWayOver, ThreeWayOutstanding, ThreeWayNotPaidOut,
		ThreeWayNothingDue}
}

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
