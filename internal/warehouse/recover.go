package warehouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Recover carries out the intents of runs that were interrupted, and returns those that readers see now. If the lease
// was not given back, it also clears away what dead runs left behind, except for keep, a walk that continues. The
// caller holds the lease. Afterwards the derived tables are up to date (warehouse-15).
func (w *Writer) Recover(ctx context.Context, l *Lease, keep uuid.UUID) (recovered []Intent, err error) {
	recovered, err = recovery{w, l, keep}.finishIntents(ctx)
	if err == nil {
		err = w.refreshDerived(ctx, l)
	}
	return recovered, err
}

// recovery is the work of a new holder of a lease on runs that died.
type recovery struct {
	*Writer
	lease *Lease
	keep  uuid.UUID
}

func (r recovery) finishIntents(ctx context.Context) (recovered []Intent, err error) {
	intents, err := r.claimIntents(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range intents {
		in, finished, err := r.finish(ctx, s.value)
		if err != nil {
			return recovered, err
		}
		if finished {
			recovered = append(recovered, in)
		}
	}
	expired, err := r.expireBackfills(ctx)
	if err != nil {
		return recovered, err
	}
	r.dropCleared(ctx)
	if len(intents) > 0 || expired {
		if err := r.lease.readStates(ctx); err != nil {
			return recovered, err
		}
	}
	if !r.lease.Orphan() {
		return recovered, nil
	}
	if err := r.dropOrphans(ctx); err != nil {
		return recovered, err
	}
	return recovered, r.pool.markDeadRuns(ctx, r.Account, r.Stream.Name, r.keep)
}

// claimIntents takes over the stored intents, so that only one worker carries them out (warehouse-20). Two workers may
// have taken the stream at the same instant, each after it found the stream free. So this one writes the intents once
// more, and then checks the lease. If the other one took the lease before that, this one stops here. If the other one
// takes it later, it sees intents that are newer than its own look. It then waits until this one is done, or would find
// its lease lost.
func (r recovery) claimIntents(ctx context.Context) ([]stateRow, error) {
	intents := r.lease.intents()
	if slices.ContainsFunc(intents, func(s stateRow) bool { return s.version > r.lease.freeVersion }) {
		r.pool.log.Info(waitsForOther, "account", r.Account, "stream", r.Stream.Name)
		if err := r.waitForOtherWorker(ctx); err != nil {
			return nil, err
		}
		if err := r.lease.readStates(ctx); err != nil {
			return nil, err
		}
		intents = r.lease.intents()
	}
	if len(intents) == 0 {
		return nil, nil
	}
	for i := range intents {
		intents[i].version = 0 // a new one
	}
	if err := r.lease.saveAsRead(ctx, intents...); err != nil {
		return nil, err
	}
	return intents, r.lease.Check(ctx)
}

// waitsForOther is the message of a worker that took a stream together with another one.
const waitsForOther = "another worker took this stream at the same moment: waiting until it is done"

// finish carries out the intent of a run that died. If what the run had prepared is gone, it forgets the intent.
func (r recovery) finish(ctx context.Context, intent string) (in Intent, finished bool, err error) {
	stored, err := parseState[Intent](r.Account, r.Stream.Name, stateIntent, intent)
	if err != nil {
		return in, false, err
	}
	in = *stored
	r.pool.log.Info("finishing a run that was interrupted", "account", r.Account,
		"stream", r.Stream.Name, "run_id", in.RunID)
	dead := publication{Writer: r.pool.writer(Run{ID: in.RunID, Account: r.Account, Stream: r.Stream}), lease: r.lease,
		intent: in, begun: true}
	err = dead.finish(ctx)
	_, short := errors.AsType[*DeltaError](err)
	gone := short || errors.Is(err, errDeltaGone)
	if gone {
		if r.pool.dialect.replicated != "" && !r.pool.dialect.alone { // all that was prepared may be on another server
			if stopped := r.waitForOtherWorker(ctx); stopped != nil {
				return in, false, stopped
			}
		}
		err = dead.forgetIntent(ctx, err)
	}
	if err != nil {
		return in, false, fmt.Errorf("finishing run %s, which was interrupted: %w", in.RunID, err)
	}
	return in, !gone, nil
}

// waitForOtherWorker waits until another worker, which had the lease when this one took it, would find it lost before
// it attaches anything (warehouse-20).
func (r recovery) waitForOtherWorker(ctx context.Context) error {
	over := time.NewTimer(time.Until(r.lease.taken.Add(2 * checkedJustNow)))
	defer over.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-over.C:
		return nil
	}
}

// forgetIntent forgets an intent whose delta is gone. If the run was published all the same, its row says so. Then the
// intent has come back: a worker that was paused wrote it too late.
func (p publication) forgetIntent(ctx context.Context, cause error) error {
	rows, err := p.pool.conn.Query(ctx, selectOutcome, named("account", p.Account), named("stream", p.Stream.Name),
		named("run", p.ID.String()))
	outcomes, err := scanned(rows, err, only[string])
	switch {
	case err != nil:
		return fmt.Errorf("reading how run %s ended: %w", p.ID, err)
	case slices.Contains(outcomes, p.intent.Record.Outcome): // published
		return p.save(ctx, stateRow{intentName(p.ID), "", 0})
	}
	p.pool.log.Warn("an interrupted run cannot be finished: what it read is read again", "run_id", p.ID, "error", cause)
	if len(derivedTables(p.Stream)) > 0 { // they may lack attached rows of it, which no later run finds changed
		if err := p.save(ctx, stateRow{stateDerived, "", 0}); err != nil {
			return err
		}
	}
	return errors.Join(p.withdraw(ctx, cause), p.Discard(ctx))
}
