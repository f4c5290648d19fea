package warehouse

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// Run identifies one run of one stream of one account.
type Run struct {
	ID uuid.UUID
	// Attempt is new for each process that works on the run: a walk may be continued by another one.
	Attempt uuid.UUID
	Account string
	Stream  *catalog.Stream
	// StartedAt is when the run began, by the clock of the warehouse. What other runs loaded since is not deleted
	// (warehouse-14).
	StartedAt time.Time
	// ServerTime is the service's clock when the run had read. No row changed later than that, so what is dated after
	// it counts as changed then. Zero: not known; the warehouse's clock is used instead.
	ServerTime time.Time
	// Present says that what the run has read is the state now, even where a row is dated before what is stored.
	Present bool
	// Within is the part of the stream that the run reads; nil: all of it.
	Within catalog.Scope
}

// cap returns the parameter of statements that have {cap:UInt64}.
func (r Run) cap(now time.Time) any {
	if r.ServerTime.IsZero() {
		return named("cap", fmt.Sprint(max(now.UnixMilli(), 0)))
	}
	return named("cap", fmt.Sprint(max(r.ServerTime.UnixMilli(), 0)))
}

// The tables that exist only while the run merges.
func (r Run) suffix() string     { return strings.ReplaceAll(r.ID.String(), "-", "") }
func (r Run) changes() string    { return r.Stream.Name + "_changes_" + r.suffix() }
func (r Run) delta() string      { return r.Stream.Name + "_delta_" + r.suffix() }
func (r Run) moves() string      { return r.Stream.Name + "_moves_" + r.suffix() }
func (r Run) childDelta() string { return r.Stream.Child.Table + "_delta_" + r.suffix() }

// Scope says what a run has read, and therefore what the absence of a row means.
type Scope uint8

const (
	// Part of the stream was read: what is not in it is unchanged.
	Part Scope = iota
	// Whole means that all of the stream was read: what is not in it is gone.
	Whole
	// Unlisted means that rows were read by their own addresses. Those of which nothing was known are kept as rows that
	// no list has; all others are not changed.
	Unlisted
)

// Changes are the exact counts of what a merge does to the rows of a stream.
type Changes struct {
	Inserted  uint64 `json:"inserted"`
	Updated   uint64 `json:"updated"`
	Deleted   uint64 `json:"deleted"`
	Unchanged uint64 `json:"unchanged"`
	// Staged is the number of rows that were staged, and Distinct the number of their keys.
	Staged   uint64 `json:"staged"`
	Distinct uint64 `json:"distinct"`
	// Outside is how many of the rows deleted are outside of Run.Within: they left the scope, and may still be there.
	Outside uint64 `json:"outside,omitempty"`
	// Kept is the number of rows that a complete list no longer had and that were not deleted, since it was not
	// confirmed that they are gone.
	Kept uint64 `json:"kept,omitempty"`
	// Older is the number of rows that were read later than what is stored and have other content, but are dated before
	// it. A run that reads a part leaves them as they are: it cannot tell a row whose updatedAt was set back from a
	// service that gave an older state. A run that reads everything loads them.
	Older uint64 `json:"older,omitempty"`
	// Ahead is the number of staged rows that are dated after Run.ServerTime, by more than clocks may differ.
	Ahead uint64 `json:"ahead,omitempty"`
	// Same says that each staged row is equal to the live one, and that no other row is gone: there is nothing to
	// compare, and no table of changes.
	Same bool `json:"-"`
	// First says that the account had no row at all before, deleted ones included.
	First bool `json:"first"`
	// Live is the number of rows that readers saw before the merge.
	Live uint64 `json:"live"`
	// Moved is the number of rows inserted or updated that are stored at another position than before.
	Moved uint64 `json:"moved,omitempty"`
	// Unlisted says that Inserted counts rows that no list has: the stream's view has none of them.
	Unlisted bool `json:"unlisted,omitempty"`
}

// StagedError says that the warehouse does not have the rows that a run has staged. Nothing was changed, and the run
// must start over.
type StagedError struct{ Want, Have uint64 }

func (e *StagedError) Error() string {
	return fmt.Sprintf("%d rows were staged, but the warehouse has %d: nothing was changed, and the next run reads everything again", e.Want, e.Have)
}

// Any reports whether the merge changes anything.
func (c Changes) Any() bool { return c.written() > 0 }

// written is how many rows the merge writes.
func (c Changes) written() uint64 { return c.Inserted + c.Updated + c.Deleted }
