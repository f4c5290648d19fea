package warehouse

import (
	"context"
	"fmt"
	"time"
)

// Lateness says how late the service showed changes of a stream of an account, beyond what the schedule explains (the
// view late_changes), over the last LatenessSpan.
type Lateness struct {
	StreamID
	Late   uint64 // changes that a run should have had, and a later one found
	Missed uint64 // those of them that only a full run found: they came later than the overlap
	// Half, Most and Latest are the least times by which half of them, 99 of 100 and all of them were late.
	Half, Most, Latest time.Duration
}

// LatenessSpan is the time over which late changes are counted.
const LatenessSpan = 30 * 24 * time.Hour

// Lateness returns it of all accounts that have late changes.
func (r Reader) Lateness(ctx context.Context) ([]Lateness, error) {
	rows, err := r.once.Query(ctx, selectLateness)
	all, err := scanned(rows, err, func(l *Lateness) []any {
		return []any{&l.Account, &l.Stream, &l.Late, &l.Missed, (*int64)(&l.Half), (*int64)(&l.Most), (*int64)(&l.Latest)}
	})
	if err != nil {
		return nil, fmt.Errorf("reading how late changes come: %w", err)
	}
	return all, nil
}

var selectLateness = sql(`SELECT account, stream, count(), countIf(found_by = 'full'), quantileExactLow(0.5)(ns), quantileExactLow(0.99)(ns), max(ns)
FROM (SELECT *, toInt64(late_seconds * 1000000000) AS ns FROM late_changes)
WHERE first_seen_at > now() - toIntervalSecond($span)
GROUP BY account, stream
ORDER BY account, stream`, parts{"span": fmt.Sprint(int(LatenessSpan.Seconds()))})
