package warehouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
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

// expireBackfills forgets backfills of the lease's stream that nobody has continued for backfillLife. What they have
// published stays. The age is that of the state's version.
func (r recovery) expireBackfills(ctx context.Context) (expired bool, err error) {
	for _, s := range r.lease.states {
		saved := time.UnixMicro(int64(s.version))
		if s.value == "" || !strings.HasPrefix(s.name, BackfillPrefix) || r.lease.begun.Sub(saved) < backfillLife {
			continue
		}
		state, err := parseState[struct {
			RunID string `json:"run_id"`
		}](r.Account, r.Stream.Name, s.name, s.value)
		if err != nil {
			return expired, err
		}
		r.pool.log.Warn("dropping an interrupted backfill that nobody continued: what it read and did not publish is removed",
			"account", r.Account, "stream", r.Stream.Name,
			"backfill", strings.TrimPrefix(s.name, BackfillPrefix), "saved_at", saved.UTC(), "kept_for", backfillLife)
		if err := r.save(ctx, stateRow{s.name, "", 0}); err != nil {
			return expired, err
		}
		expired = true
		if id, err := uuid.Parse(state.RunID); err == nil { // without one, nothing is staged
			if err := r.pool.writer(Run{ID: id, Account: r.Account, Stream: r.Stream}).Discard(ctx); err != nil {
				return expired, err
			}
		}
	}
	return expired, nil
}

// keptCleared is how many cleared states of a stream are kept. Each run has an intent of its own, and each backfilled
// range a state, so without a limit there would be as many as there are runs.
const keptCleared = 100

// dropTimeout is how long a run waits for cleared states to be dropped: a server whose merges are stopped
// never drops them.
const dropTimeout = 15 * time.Second

// dropCleared drops the cleared states of runs and backfills, except for the newest. It does so in two steps: first the
// rows from before a state was cleared, then the row that clears it. So no cleared state comes back while a step is
// under way. If it fails, the run does not.
func (r recovery) dropCleared(ctx context.Context) {
	var cleared []string // the oldest first
	for _, s := range r.lease.states {
		if s.value == "" && strings.Contains(s.name, ":") {
			cleared = append(cleared, s.name)
		}
	}
	if len(cleared) < 2*keptCleared {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, dropTimeout)
	defer cancel()
	names := cleared[:len(cleared)-keptCleared]
	for _, last := range []bool{false, true} {
		statement := deleteCleared(r.Account, r.Stream.Name, names, last)
		if err := r.pool.execAll(ctx, []step{{statement: statement,
			settings: clickhouse.Settings{"mutations_sync": 1}}}); err != nil {
			r.pool.log.Warn("could not remove the cleared states of old runs", "account", r.Account, "stream",
				r.Stream.Name, "error", err)
			return
		}
	}
}

// dropOrphans drops what runs of any account have left behind, if they are neither alive nor to be continued.
func (r recovery) dropOrphans(ctx context.Context) error {
	// In this order: a run that begins in between has its lease before it has rows, so it is found alive.
	staged, err := r.stagedRuns(ctx)
	if err != nil {
		return err
	}
	alive, err := r.aliveRuns(ctx)
	if err != nil {
		return err
	}
	alive[r.keep.String()] = true
	for _, id := range staged {
		if alive[id.String()] {
			continue
		}
		r.pool.log.Info("dropping what a dead run left behind", "stream", r.Stream.Name, "run_id", id)
		if err := r.pool.writer(Run{ID: id, Stream: r.Stream}).Discard(ctx); err != nil {
			return err
		}
	}
	return nil
}

// aliveRuns returns the runs that a lease, an intent or a checkpoint of the stream names, of any account, and those
// that sync_runs has as running in other accounts: a backfill stages many under one lease.
//
// A lease counts for a day after its last beat, and for a day before it, since a clock that was wrong may have written
// it. A backfill that did not end counts for backfillLife. A row of sync_runs counts for as long as it is there: its
// owner may only be slow, and the account's next holder cleans up.
func (r recovery) aliveRuns(ctx context.Context) (map[string]bool, error) {
	alive := map[string]bool{}
	for _, query := range selectAliveRuns {
		rows, err := r.pool.conn.Query(ctx, query, named("stream", r.Stream.Name), named("account", r.Account))
		ids, err := scanned(rows, err, only[string])
		if err != nil {
			return nil, fmt.Errorf("looking for runs under way: %w", err)
		}
		for _, id := range ids {
			alive[id] = true
		}
	}
	return alive, nil
}

// stagedRuns returns the runs that have a staging partition or a table of their own.
func (r recovery) stagedRuns(ctx context.Context) ([]uuid.UUID, error) {
	stream := r.Stream.Name
	prefixes := []string{stream + "_changes_", stream + "_delta_", stream + "_moves_", stream + "_changed_"}
	if r.Stream.Child != nil {
		prefixes = append(prefixes, r.Stream.Child.Table+"_delta_", childHashes(r.Stream)+"_delta_")
	}
	for _, table := range derivedNames(r.Stream) {
		prefixes = append(prefixes, table+"_delta_")
	}
	rows, err := r.pool.conn.Query(ctx, selectStagedRuns(r.pool.dialect), named("staging", stagingTable(r.Stream)),
		named("prefixes", "["+words(prefixes)+"]"))
	texts, err := scanned(rows, err, only[string])
	if err != nil {
		return nil, fmt.Errorf("looking for what dead runs left behind: %w", err)
	}
	ids := make([]uuid.UUID, len(texts))
	for i, text := range texts {
		if ids[i], err = uuid.Parse(text); err != nil {
			return nil, fmt.Errorf("a table that a dead run left behind has an unreadable identifier, %s: %w", text,
				err)
		}
	}
	return ids, nil
}
