package warehouse

import (
	"context"
	"fmt"
	"time"
)

// clockTolerance is how far apart the clocks of two replicas may be. A stored time that lies further ahead of now came
// from a clock that was wrong and has been set since.
const clockTolerance = time.Minute

// timeAfter is the warehouse's clock, and the time that versions a row which is to replace stored ones: now, or a
// millisecond after the latest of them where that is later (warehouse-9). newest is an aggregate of their versions in
// microseconds since 1970, and from the table with the condition that names them.
func (p *pool) timeAfter(ctx context.Context, newest, from string, args ...any) (now, next time.Time, err error) {
	var us int64
	var stored uint64
	if err := p.conn.QueryRow(ctx, selectTimeAfter(newest, from), args...).Scan(&us, &stored); err != nil {
		return now, next, fmt.Errorf("asking the warehouse for the time: %w", err)
	}
	now = time.UnixMicro(us).UTC()
	return now, laterOf(now, stored), nil
}

// laterOf is now, or a millisecond after a stored version where that is later.
func laterOf(now time.Time, stored uint64) time.Time {
	if next := time.UnixMicro(int64(stored)).UTC().Add(time.Millisecond); next.After(now) {
		return next
	}
	return now
}

// newestVersion is for tables whose versions are microseconds since 1970.
const newestVersion = "max(version)"

// newestTime is for tables that are versioned by a column with a time.
func newestTime(column string) string {
	return "greatest(0, toUnixTimestamp64Micro(toDateTime64(max(" + column + "), 6, 'UTC')))"
}
