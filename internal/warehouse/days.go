package warehouse

import (
	"context"
	"fmt"
	"slices"
	"time"

	"dealhouse/internal/catalog"
)

// DayChanges are what the runs of a stream did to its rows on one day, UTC.
type DayChanges struct {
	Day                        time.Time
	Inserted, Updated, Deleted uint64
	Runs, Faults               uint64
}

// ChangesByDay returns the changes by runs that read the list of a stream, for each of the last days with a run, the
// oldest first. A day is that of the warehouse's clock, and the last one is today.
func (r Reader) ChangesByDay(ctx context.Context, id StreamID, days int) ([]DayChanges, error) {
	rows, err := r.once.Query(ctx, selectChangesByDay, named("account", id.Account), named("stream", id.Stream),
		named("days", uint32(days)))
	all, err := scanned(rows, err, func(d *DayChanges) []any {
		return []any{&d.Day, &d.Inserted, &d.Updated, &d.Deleted, &d.Runs, &d.Faults}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the changes of %s of account %s by day: %w", id.Stream, id.Account, err)
	}
	return all, nil
}

// DayRows are the live rows of one day, UTC.
type DayRows struct {
	Day  time.Time
	Rows uint64
}

// HasDays reports whether RowsByDay knows the stream.
func HasDays(stream string) bool {
	s, err := catalog.Find(stream)
	return err == nil && s.ByDay != nil
}

// RowsByDay counts the live rows of each of the newest days that have any, the oldest first, by the day that the
// catalog names (ByDay). Days in the future are left out. It is an error if the rows of the stream belong to no day.
func (r Reader) RowsByDay(ctx context.Context, id StreamID, days int) ([]DayRows, error) {
	s, err := catalog.Find(id.Stream)
	if err != nil {
		return nil, err
	}
	if s.ByDay == nil {
		return nil, fmt.Errorf("the rows of %s belong to no day", id.Stream)
	}
	rows, err := r.once.Query(ctx, selectRowsByDay(s.ByDay), named("account", id.Account),
		named("days", uint32(days)))
	all, err := scanned(rows, err, func(d *DayRows) []any { return []any{&d.Day, &d.Rows} })
	if err != nil {
		return nil, fmt.Errorf("counting the rows of %s of account %s by day: %w", id.Stream, id.Account, err)
	}
	slices.Reverse(all)
	return all, nil
}

// RejectGroup is a value or a record that cannot be loaded as it is sent. It is one group, however often it was sent.
type RejectGroup struct {
	Key, Field, Reason string
	Raw                string // the beginning of it, when it is long
	Size               uint64 // of the whole, in bytes
	Page               uint32
	RunID              string
	FirstSeen, SeenAt  time.Time
	Times              uint64 // how many runs met it
}

// RejectGroups lists the values that could not be loaded as they were sent and still are not loaded, the
// last seen first.
func (r Reader) RejectGroups(ctx context.Context, id StreamID, limit int) ([]RejectGroup, error) {
	rows, err := r.once.Query(ctx, selectRejectGroups, named("account", id.Account), named("stream", id.Stream),
		named("limit", uint32(limit)))
	all, err := scanned(rows, err, func(r *RejectGroup) []any {
		return []any{&r.Key, &r.Field, &r.Reason, &r.Raw, &r.Size, &r.Page, &r.RunID, &r.FirstSeen, &r.SeenAt, &r.Times}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the rejected records of %s of account %s: %w", id.Stream, id.Account, err)
	}
	return all, nil
}
