package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"dealhouse/internal/catalog"
)

// RateSum sums up sales of one currency and retailer that were paid, or will be, at a rate of one kind.
type RateSum struct {
	Currency, Verdict, Retailer string // Verdict is that of the view rate_audit
	Count                       int64
	// Of the sales of which it is known what was promised: Promised and Difference come to Came.
	Promised, Came, Difference decimal.Decimal
}

// RateSums returns the sums of the sales of an account at from or later and before to. Declined ones, which earn
// nothing, are left out.
func (r Reader) RateSums(ctx context.Context, account string, from, to time.Time) ([]RateSum, error) {
	rows, err := r.retrying.Query(ctx, selectRateSums, rateRange(account, from, to)...)
	sums, err := scanned(rows, err, func(s *RateSum) []any {
		return []any{&s.Currency, &s.Verdict, &s.Retailer, &s.Count, &s.Promised, &s.Came, &s.Difference}
	})
	if err != nil {
		return nil, fmt.Errorf("reading at which rates sales of account %s were paid: %w", account, err)
	}
	return sums, nil
}

// RateAudited is a sale with what was promised for it. Rates are fractions.
type RateAudited struct {
	ID                                         uuid.UUID
	Retailer, Status, Currency, Verdict        string
	Clicked, Sold                              *time.Time
	Payout                                     *int64
	Offer                                      *uuid.UUID
	OrderValue, Cashback                       *decimal.Decimal
	AtClick, FixedAtClick, AtSale, FixedAtSale *decimal.Decimal
	Promised, Difference                       *decimal.Decimal
	PaidAsFrom, KnownFrom, FirstLoaded         *time.Time
}

// EachRateAudited calls do for each of these sales, and the declined ones.
func (r Reader) EachRateAudited(ctx context.Context, account string, from, to time.Time, do func(RateAudited) error) error {
	rows, err := r.retrying.Query(ctx, selectRates, rateRange(account, from, to)...)
	err = each(rows, err, func(a *RateAudited) []any {
		return []any{&a.ID, &a.Retailer, &a.Status, &a.Currency, &a.Verdict, &a.Clicked, &a.Sold, &a.Payout, &a.Offer, &a.OrderValue, &a.Cashback,
			&a.AtClick, &a.FixedAtClick, &a.AtSale, &a.FixedAtSale, &a.Promised, &a.Difference, &a.PaidAsFrom, &a.KnownFrom, &a.FirstLoaded}
	}, do)
	if err != nil {
		return fmt.Errorf("reading at which rates the sales of account %s were paid: %w", account, err)
	}
	return nil
}

func rateRange(account string, from, to time.Time) []any {
	return []any{named("account", account), named("from", fmt.Sprint(from.UnixMilli())), named("to", fmt.Sprint(to.UnixMilli()))}
}

const ratesOf = ` FROM rate_audit
WHERE account = {account:String} AND sold_at >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND sold_at < fromUnixTimestamp64Milli({to:Int64}, 'UTC')`

// selectRateSums selects RateSums. Parameters: account, and from and to in milliseconds.
var selectRateSums = sql(`SELECT currency_code, verdict, retailer_name, toInt64(count()), sum(ifNull(promised, 0)),
    sumIf(toDecimal128(ifNull(cashback, 0), 4), isNotNull(difference)), sum(ifNull(difference, 0))`+ratesOf+` AND status != $declined
GROUP BY currency_code, verdict, retailer_name
ORDER BY currency_code, verdict, retailer_name`, parts{"declined": quote(catalog.StatusDeclined)})

// selectRates selects RateAudited. Parameters: the same.
const selectRates = `SELECT id, retailer_name, status, currency_code, verdict, clicked_at, sold_at, payout_id, cashback_offer_id, order_value, cashback,
    percentage_at_click, fixed_at_click, percentage_at_sale, fixed_at_sale, promised, difference, paid_as_from, known_from, first_loaded_at` + ratesOf + `
ORDER BY sold_at, id`
