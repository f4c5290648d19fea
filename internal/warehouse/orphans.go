package warehouse

import (
	"context"
	"fmt"

	"github.com/google/uuid"
)

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
