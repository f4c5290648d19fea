package warehouse

import (
	"context"
	"fmt"
	"time"
)

// clockTolerance is how far apart the clocks of two replicas may be. A stored time that is further in the future came
// from a clock that was wrong and has been corrected since.
const clockTolerance = time.Minute

// timeAfter returns two times by the warehouse's clock: now, and the version for a row that must replace stored rows.
// The version is now, or a millisecond after the newest of them if that is later (warehouse-9). newest is an aggregate
// of their versions, in microseconds since 1970. from is their table, with the condition that selects them.
func (p *pool) timeAfter(ctx context.Context, newest, from string, args ...any) (now, next time.Time, err error) {
	var us int64
	var stored uint64
	if err := p.conn.QueryRow(ctx, selectTimeAfter(newest, from), args...).Scan(&us, &stored); err != nil {
		return now, next, fmt.Errorf("asking the warehouse for the time: %w", err)
	}
	now = time.UnixMicro(us).UTC()
	return now, laterOf(now, stored), nil
}

// laterOf returns now, or the time a millisecond after a stored version if that is later.
func laterOf(now time.Time, stored uint64) time.Time {
	if next := time.UnixMicro(int64(stored)).UTC().Add(time.Millisecond); next.After(now) {
		return next
	}
	return now
}

// newestVersion is what timeAfter takes for tables whose versions are microseconds since 1970.
const newestVersion = "max(version)"

// newestTime returns what timeAfter takes for tables whose version is a column with a time.
func newestTime(column string) string {
	return "greatest(0, toUnixTimestamp64Micro(toDateTime64(max(" + column + "), 6, 'UTC')))"
}
