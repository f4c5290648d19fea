package apisim

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Options describe a world. The zero value is the demo world. A count of 0 means the default, a negative one means
// none.
type Options struct {
	// Seed decides what the world looks like. Equal Options give byte-identical answers.
	Seed uint64
	// Now is the world's clock at the start; 2026-03-15T09:00:00Z by default. It is truncated to milliseconds and must
	// be in the years 2005 to 2100.
	Now time.Time
	// Orgs own transactions and payouts; acme (EUR) and globex (GBP) by default.
	Orgs []Org

	Retailers      int // 1,500; at least one
	Promotions     int // 2,000
	Coupons        int // 3,000
	CashbackOffers int // 2,500
	Transactions   int // of each organization, 40,000 over the last 425 days
	Products       int // 5,000
	HistoryDays    int // days of history of each product, 30

	// MixedCurrencies is the share of transactions in a currency that is not the organization's own; 0 by default, so
	// that a payout has one currency.
	MixedCurrencies float64
	// DecidedInTime says that each transaction is decided before its payout is made, so that none changes after it. By
	// default one in 32 is decided only after its payout, or never.
	DecidedInTime bool

	// Rates say how fast the world changes.
	Rates Rates
	// Settings is how the service behaves at the start; see Sim.Update.
	Settings Settings
	// Wall is the real clock, for the rate limit; time.Now by default.
	Wall func() time.Time
}

// Org is an organization that calls the API. Empty keys are derived from the seed and the name; an empty currency is
// chosen by position.
type Org struct {
	Name       string
	Currency   string
	Key        string
	PayoutsKey string
}

// Rates are shares per day: 0.01 changes one in a hundred a day. 0 means the default, a negative rate none.
type Rates struct {
	DealTurnover    float64 // deals that end and are replaced by new ones, 0.01
	DealEdits       float64 // deals whose text or percentage changes, 0.005
	NewTransactions float64 // new transactions, as a share of Options.Transactions, 1/425
	ProductTurnover float64 // products that vanish and are replaced by new ones, 0.002
	ProductPrices   float64 // products whose price changes, 0.01
}

const (
	maxItems    = 20_000_000 // an item number must fit the low bits of a sort key
	spanDays    = 425        // the days over which the initial transactions are spread
	maxHistory  = 1000
	maxRetailer = 200_000
)

func (o *Options) setDefaults() {
	if o.Now.IsZero() {
		o.Now = time.Date(2026, 3, 15, 9, 0, 0, 0, time.UTC)
	}
	o.Now = o.Now.UTC().Truncate(time.Millisecond)
	if len(o.Orgs) == 0 {
		o.Orgs = []Org{{Name: "acme"}, {Name: "globex"}}
	}
	// The caller's slice must not change.
	orgs := make([]Org, len(o.Orgs))
	copy(orgs, o.Orgs)
	currencies := []string{"EUR", "GBP", "USD", "PLN", "SEK"}
	for i := range orgs {
		org := &orgs[i]
		if org.Currency == "" {
			org.Currency = currencies[i%len(currencies)]
		}
		h := hashText(o.Seed, org.Name)
		if org.Key == "" {
			org.Key = fmt.Sprintf("%s-key-%016x", org.Name, mix(h+1))
		}
		if org.PayoutsKey == "" {
			org.PayoutsKey = fmt.Sprintf("%s-payouts-key-%016x", org.Name, mix(h+2))
		}
	}
	o.Orgs = orgs
	count := func(n *int, def int) {
		switch {
		case *n == 0:
			*n = def
		case *n < 0:
			*n = 0
		}
	}
	count(&o.Retailers, 1500)
	for _, e := range endpoints() {
		if e.count != nil {
			count(e.count(o), e.usual)
		}
	}
	count(&o.HistoryDays, 30)
	rate := func(r *float64, def float64) {
		switch {
		case *r == 0:
			*r = def
		case *r < 0:
			*r = 0
		}
	}
	rate(&o.Rates.DealTurnover, 0.01)
	rate(&o.Rates.DealEdits, 0.005)
	rate(&o.Rates.NewTransactions, 1.0/spanDays)
	rate(&o.Rates.ProductTurnover, 0.002)
	rate(&o.Rates.ProductPrices, 0.01)
	o.Settings.setDefaults()
	if o.Wall == nil {
		o.Wall = time.Now
	}
}

// validate reports every problem at once. It is called after setDefaults.
func (o *Options) validate() error {
	var errs []error
	if y := o.Now.Year(); y < 2005 || y > 2100 {
		errs = append(errs, fmt.Errorf("now: year %d is not in 2005..2100", y))
	}
	limit := func(name string, n, least, most int) {
		if n < least || n > most {
			errs = append(errs, fmt.Errorf("%s: %d is not in %d..%d", name, n, least, most))
		}
	}
	limit("retailers", o.Retailers, 1, maxRetailer)
	for _, e := range endpoints() {
		limit(e.label(), e.number(o), 0, maxItems)
	}
	limit("history days", o.HistoryDays, 0, maxHistory)
	share := func(name string, v float64) {
		if math.IsNaN(v) || v < 0 || v > 1 {
			errs = append(errs, fmt.Errorf("%s: %v is not in 0..1", name, v))
		}
	}
	share("mixed currencies", o.MixedCurrencies)
	for _, r := range []float64{
		o.Rates.DealTurnover, o.Rates.DealEdits, o.Rates.NewTransactions,
		o.Rates.ProductTurnover, o.Rates.ProductPrices,
	} {
		if math.IsNaN(r) || r > 24 {
			errs = append(errs, fmt.Errorf("rates: %v a day is more than 24", r))
		}
	}
	names, keys := map[string]bool{}, map[string]bool{}
	for _, org := range o.Orgs {
		if org.Name == "" || names[org.Name] {
			errs = append(errs, fmt.Errorf("orgs: name %q is empty or there twice", org.Name))
		}
		names[org.Name] = true
		if len(org.Currency) != 3 {
			errs = append(errs, fmt.Errorf("orgs: %s: currency %q is not a code of three letters", org.Name, org.Currency))
		}
		for _, key := range []string{org.Key, org.PayoutsKey} {
			if keys[key] {
				errs = append(errs, fmt.Errorf("orgs: %s: a key is used twice", org.Name))
			}
			keys[key] = true
		}
	}
	if err := o.Settings.validate(); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("apisim: options: %w", err)
	}
	return nil
}
