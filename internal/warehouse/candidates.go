package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/decode"
)

// Candidate is an open reject, with everything that a retry needs.
type Candidate struct {
	decode.Reject
	RunID uuid.UUID
	// Row is the record of a rejected field as it is stored now, as JSON with the API's names; empty if it
	// is not stored.
	Row     string
	RowRead int64 // when Row was read, in microseconds since 1970
	// Current says that Row is still what was made of the record when it was rejected: nothing else has been
	// loaded since.
	Current bool

	hash string // of Raw
}

// Candidates calls f for each open reject of the run's stream. The rejects of one record follow each other, in the
// order in which they were read. If the filter selects one rejected field of a record, f gets all rejected fields of
// that record, since the record changes as a whole.
func (w *Writer) Candidates(ctx context.Context, filter RejectFilter, f func(Candidate) error) error {
	all := filter == RejectFilter{}
	filter.Account, filter.Stream = w.Account, w.Stream.Name
	rows, err := w.pool.conn.Query(ctx, w.script.selectCandidates(all), filter.args()...)
	var stopped error // by f
	err = each(rows, err, func(x *Candidate) []any {
		return []any{&x.RunID, &x.Page, &x.Key, &x.Field, &x.Reason, &x.Raw, &x.Fetched, &x.Updated, &x.hash, &x.Row,
			&x.RowRead, &x.Current}
	}, func(x Candidate) error {
		stopped = f(x)
		return stopped
	})
	if err != nil && stopped == nil {
		return fmt.Errorf("reading the open rejects of %s of account %s: %w", w.Stream.Name, w.Account, err)
	}
	return err
}

// Brief returns the candidate without its texts. The rest is enough to settle it later.
func (c Candidate) Brief() Candidate {
	c.Raw, c.Row = "", ""
	return c
}

// Settled is a candidate that needs no further retry, and its result.
type Settled struct {
	Candidate
	State RejectState
}

var settledColumns = append(columns("account String, stream String, key String, field String, reason String, raw_hash FixedString(16), first_seen_at DateTime64(3)"),
	column{name: "settled", typ: decision})

// settleRows is the largest number of rows of one insert.
const settleRows = 50_000

// never is later than any time at which a reject was met.
var never = time.Date(2299, 1, 1, 0, 0, 0, 0, time.UTC)

// Settle stores the results of rejects. Call it after what the results say is stored durably. It can be repeated
// without harm. A result holds only for the reading that the candidate comes from: if the value is met again, the
// reject is open again.
func (w *Writer) Settle(ctx context.Context, settled []Settled) error {
	for len(settled) > 0 {
		n := min(len(settled), settleRows)
		version, now, err := w.rejectVersion(ctx)
		if err == nil {
			err = insertEach(ctx, w.pool, "rejects_log", settledColumns, settled[:n], func(x Settled) []any {
				what := []any{version, x.RunID, string(x.State), w.ID, now}
				return []any{w.Account, w.Stream.Name, x.Key, x.Field, x.Reason, x.hash, never, what}
			})
		}
		if err != nil {
			return fmt.Errorf("settling the rejects of %s of account %s: %w", w.Stream.Name, w.Account, err)
		}
		settled = settled[n:]
	}
	return nil
}
