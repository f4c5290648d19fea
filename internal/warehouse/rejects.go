package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// RejectState is what became of a rejected record; the view rejected_records explains each.
type RejectState string

// The states of rejected records. Settle may set Loaded and Superseded; the view finds out the others from sync_runs.
const (
	RejectOpen        RejectState = "open"
	RejectLoaded      RejectState = "loaded"
	RejectSuperseded  RejectState = "superseded"
	RejectUnpublished RejectState = "unpublished"
)

// RejectFilter narrows a choice of rejected records. Zero values do not narrow it.
type RejectFilter struct {
	Account, Stream string
	RunID           uuid.UUID // of the last run that met it, or of the one whose reading counts
	Reason, Field   string
	Since           time.Time // met then or later
	Unsettled       bool      // only what is open or unpublished
	Limit           int       // of RejectedRecords; default 50
}

// args returns the parameters of rejectCondition.
func (f RejectFilter) args() []any {
	since := int64(0)
	if !f.Since.IsZero() {
		since = f.Since.UnixMicro()
	}
	return []any{
		named("account", f.Account), named("stream", f.Stream), named("run", f.RunID.String()),
		named("reason", f.Reason), named("field", f.Field), named("since", fmt.Sprint(since)),
	}
}

// Rejected is a row of rejected_records. RunID, Page and ReadAt are of the reading that counts.
type Rejected struct {
	Account, Stream    string
	RunID              uuid.UUID
	Page               uint32
	Key, Field, Reason string
	Raw                string    // JSON of the value or the record, verbatim
	FirstSeen, SeenAt  time.Time // by the clock of the warehouse
	Times              uint64    // how many runs met it
	LastRunID          uuid.UUID // of the last of them
	ReadAt             time.Time
	State              RejectState
	SettledAt          *time.Time
}

// RejectedRecords lists rejected records, the newest first.
func (r Reader) RejectedRecords(ctx context.Context, f RejectFilter) ([]Rejected, error) {
	if f.Limit <= 0 {
		f.Limit = 50
	}
	rows, err := r.retrying.Query(ctx, selectRejected(f.Unsettled, fmt.Sprint(f.Limit)), f.args()...)
	all, err := scanned(rows, err, func(x *Rejected) []any {
		return []any{
			&x.Account, &x.Stream, &x.RunID, &x.Page, &x.Key, &x.Field, &x.Reason, &x.Raw, &x.FirstSeen,
			&x.SeenAt, &x.Times, &x.LastRunID, &x.ReadAt, (*string)(&x.State), &x.SettledAt,
		}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the rejected records: %w", err)
	}
	return all, nil
}

// OpenRejects counts the open rejects of a stream of an account.
type OpenRejects struct {
	Account, Stream string
	Rejects         uint64
}

// CountOpenRejects counts what a retry would try. Mostly nothing was ever rejected, and to see that costs a twentieth
// of planning the view.
func (r Reader) CountOpenRejects(ctx context.Context, f RejectFilter) ([]OpenRejects, error) {
	var n uint64
	if err := r.retrying.QueryRow(ctx, selectAnyReject).Scan(&n); err != nil {
		return nil, fmt.Errorf("looking for rejected records: %w", err)
	}
	if n == 0 {
		return nil, nil
	}
	rows, err := r.retrying.Query(ctx, countOpenRejects, f.args()...)
	all, err := scanned(rows, err, func(x *OpenRejects) []any { return []any{&x.Account, &x.Stream, &x.Rejects} })
	if err != nil {
		return nil, fmt.Errorf("counting the rejected records: %w", err)
	}
	return all, nil
}
