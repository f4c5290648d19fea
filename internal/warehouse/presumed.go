package warehouse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/google/uuid"
)

// diedEarly is the error of a killed run.
const diedEarly = "the process ended before the run did"

// deadRuns returns which of some runs, which sync_runs had as running, belong to a process that is certainly gone. The
// next holder of the lease marks them as killed (markDeadRuns); until then, whoever shows runs asks here. Nothing is
// written, and no clock is asked (warehouse-22).
func (w *Warehouse) deadRuns(ctx context.Context, running []string) (map[uuid.UUID]bool, error) {
	if len(running) == 0 {
		return nil, nil
	}
	type lease struct{ account, stream, value string }
	rows, err := w.once.Query(ctx, selectLeases)
	leases, err := scanned(rows, err, func(l *lease) []any { return []any{&l.account, &l.stream, &l.value} })
	if err != nil {
		return nil, fmt.Errorf("reading who runs which stream: %w", err)
	}
	begun := map[StreamID]uuid.UUID{} // the sessions of processes that are gone
	for _, l := range leases {
		v, err := parseState[leaseValue](l.account, l.stream, stateLease, l.value)
		if err != nil {
			return nil, err
		}
		if v != nil && w.isDead(v.Owner) {
			begun[StreamID{l.account, l.stream}] = v.RunID
		}
	}
	if len(begun) == 0 {
		return nil, nil
	}
	// The process may have ended a run after it was read as running, and died then. Now nothing of it can change.
	type run struct {
		StreamID
		id uuid.UUID
	}
	rows, err = w.once.Query(ctx, selectStillRunning, named("runs", "["+words(running)+"]"))
	still, err := scanned(rows, err, func(r *run) []any { return []any{&r.Account, &r.Stream, &r.id} })
	if err != nil {
		return nil, fmt.Errorf("reading which runs have not ended: %w", err)
	}
	dead := map[uuid.UUID]bool{}
	for _, r := range still {
		// The runs of a session have ids that come after its own. An earlier run may be of a worker that has lost the lease.
		session, gone := begun[r.StreamID]
		dead[r.id] = gone && bytes.Compare(r.id[:], session[:]) >= 0
	}
	return dead, nil
}

// isDead reports whether the process behind a lease is certainly gone. isGone says so also of a guest of an earlier
// host that has not asked this one yet: that one may still be alive.
func (w *Warehouse) isDead(name string) bool {
	var o owner
	return w.isGone(name) && parseOwner(name, &o) &&
		(o.host != w.owner.host || errors.Is(syscall.Kill(o.pid, 0), syscall.ESRCH))
}

// runningOf returns the ids of the rows that say running.
func runningOf[T any](all []T, row func(*T) (uuid.UUID, string)) (ids []string) {
	for i := range all {
		if id, outcome := row(&all[i]); outcome == OutcomeRunning {
			ids = append(ids, id.String())
		}
	}
	return ids
}
