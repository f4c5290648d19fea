package config

import (
	"fmt"
	"time"
)

// Retention says how long the program keeps its own records and the earlier versions of deals; zero: forever. What is
// loaded is always kept.
type Retention struct {
	// Runs is how long runs are kept after they began.
	Runs time.Duration

	// Rejects is how long settled rejects of transactions are kept after they were last met.
	Rejects time.Duration

	// Findings is how long findings about payouts are kept after they were resolved.
	Findings time.Duration

	// DealVersions is how long versions of promotions, coupons and cashback offers are kept after a later one
	// replaced them.
	DealVersions time.Duration
}

const docRetention = "How long dealhouse keeps its own records. Loaded data and its history (but see deal_versions), acknowledgements, closed months and the actions of operators are kept for ever. See deploy/README.md."

// leastRetention is the shortest time for which something may be kept: what people look for after a holiday
// must be there.
const leastRetention = 30 * 24 * time.Hour

func retentionKeys() []key {
	return []key{
		{
			name: "runs", in: inRetention, standard: written(400 * 24 * time.Hour),
			value: kept(func(v *values) *time.Duration { return &v.retention.Runs }),
			doc: `Runs, counted from their start. Runs that are still needed, such as the last success of a stream, are kept
longer. The default is 400 days. "0s": for ever.`,
		},
		{
			name: "rejects", in: inRetention, standard: written(400 * 24 * time.Hour),
			value: kept(func(v *values) *time.Duration { return &v.retention.Rejects }),
			doc: `Rejected records of transactions that were loaded or replaced since, counted from when they were last met. Open
ones are kept; those of other streams are removed after 90 days. "0s": for ever.`,
		},
		{
			name: "findings", in: inRetention, standard: written(3 * 366 * 24 * time.Hour),
			value: kept(func(v *values) *time.Duration { return &v.retention.Findings }),
			doc:   `Findings about payouts, counted from when they were resolved. The default is three years. "0s": for ever.`,
		},
		{
			name: "deal_versions", in: inRetention, standard: written(time.Duration(0)),
			value: kept(func(v *values) *time.Duration { return &v.retention.DealVersions }),
			doc: `Earlier versions of promotions, coupons and cashback offers, after a later one replaced them. What is listed now, and
what was listed at any moment since then, is not affected. The default, "0s": they are kept for ever, as those of
transactions and payouts and the prices of products always are.`,
		},
	}
}

// kept takes a duration of retention: zero, which means forever, or one that is long enough.
func kept(field func(*values) *time.Duration) codec {
	c := duration(field, 0, 100*366*24*time.Hour)
	set := c.set
	c.set = func(v *values, text string) error {
		if err := set(v, text); err != nil {
			return err
		}
		if d := *field(v); d > 0 && d < leastRetention {
			return fmt.Errorf(`must be at least %s, or "0s" for ever; %s is not`, short(leastRetention), quote(text))
		}
		return nil
	}
	return c
}
