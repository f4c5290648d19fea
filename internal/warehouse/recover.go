package warehouse

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// Recover carries out the intents of runs that were interrupted, and returns those that readers see now. Where the lease
// was not given back, it also clears away what dead runs left behind, but for keep, a walk that goes on. The caller
// holds the lease.
func (w *Warehouse) Recover(ctx context.Context, l *Lease, r Run, keep uuid.UUID) (recovered []Intent, err error) {
	found := false
	for _, s := range l.states {
		if s.value == "" || !strings.HasPrefix(s.name, stateIntent+":") {
			continue
		}
		found = true
		in, err := parseState[Intent](r.Account, r.Stream.Name, stateIntent, s.value)
		if err != nil {
			return recovered, err
		}
		w.log.Info("finishing a run that was interrupted", "account", r.Account, "stream", r.Stream.Name, "run_id", in.RunID)
		dead := Run{ID: in.RunID, Account: r.Account, Stream: r.Stream}
		err = w.finish(ctx, l, dead, *in, true)
		gone := errors.Is(err, errDeltaGone)
		if gone {
			err = w.giveUp(ctx, dead, *in, err)
		}
		if err != nil {
			return recovered, fmt.Errorf("finishing run %s, which was interrupted: %w", in.RunID, err)
		}
		if !gone {
			recovered = append(recovered, *in)
		}
	}
	expired, err := w.expireBackfills(ctx, l, r)
	if err != nil {
		return recovered, err
	}
	w.tidyStates(ctx, l)
	if found || expired {
		if err := l.load(ctx); err != nil {
			return recovered, err
		}
	}
	if !l.Orphan() {
		return recovered, nil
	}
	if err := w.dropOrphans(ctx, r, keep); err != nil {
		return recovered, err
	}
	return recovered, w.buryRuns(ctx, r.Account, r.Stream.Name, keep)
}

// giveUp forgets an intent whose delta is gone. Where the run had been published all the same, its row says so: then it
// is the intent that came back, from a worker that slept while it wrote it.
func (w *Warehouse) giveUp(ctx context.Context, dead Run, in Intent, cause error) error {
	rows, err := w.conn.Query(ctx, "SELECT outcome FROM sync_runs WHERE account = {account:String} AND stream = {stream:String} AND run_id = {run:UUID}",
		named("account", dead.Account), named("stream", dead.Stream.Name), named("run", dead.ID.String()))
	published := false
	if err == nil {
		err = collect(rows, func(outcome string) { published = outcome == in.Record.Outcome })
	}
	switch {
	case err != nil:
		return fmt.Errorf("reading how run %s ended: %w", dead.ID, err)
	case published:
		return w.saveStates(ctx, dead.Account, dead.Stream.Name, stateRow{intentName(dead.ID), "", 0})
	}
	w.log.Warn("an interrupted run cannot be finished: what it read is read again", "run_id", dead.ID, "error", cause)
	return errors.Join(w.withdraw(ctx, dead, in, cause), w.Discard(ctx, dead))
}

// dropOrphans drops what belongs to no run that is alive or to be continued, of any account.
func (w *Warehouse) dropOrphans(ctx context.Context, r Run, keep uuid.UUID) error {
	s := r.Stream
	// In this order: a run that begins in between has its lease before it has rows, so it is found alive.
	staged, err := w.stagedRuns(ctx, s)
	if err != nil {
		return err
	}
	alive, err := w.aliveRuns(ctx, r)
	if err != nil {
		return err
	}
	alive[keep.String()] = true
	for _, id := range staged {
		if alive[id.String()] {
			continue
		}
		w.log.Info("dropping what a dead run left behind", "stream", s.Name, "run_id", id)
		if err := w.Discard(ctx, Run{ID: id, Stream: s}); err != nil {
			return err
		}
	}
	return nil
}

// aliveRuns are the runs that a lease, an intent or a checkpoint of the stream names, of any account, and those that
// sync_runs has as running in other accounts: under one lease a backfill stages many. A lease counts for
// a day after its last beat (or before it: a clock that was wrong wrote it), a backfill that did not end for backfillLife, and such a row for as long as it is: its owner may only be slow, and the account's next
// holder clears up.
func (w *Warehouse) aliveRuns(ctx context.Context, r Run) (map[string]bool, error) {
	alive := map[string]bool{}
	// In this order: a run whose row no longer says running has had its intent since before.
	for _, query := range []string{
		"SELECT toString(run_id) FROM sync_runs WHERE stream = {stream:String} AND account != {account:String} AND outcome = " + quote(OutcomeRunning),
		"SELECT JSONExtractString(value, 'run_id') FROM sync_state WHERE stream = {stream:String} AND name != 'watermark'" +
			" AND (name != 'lease' OR abs(dateDiff('second', updated_at, now())) < 86400)" +
			" AND (NOT startsWith(name, " + quote(BackfillPrefix) + ") OR updated_at > now() - toIntervalSecond(" + fmt.Sprint(int(backfillLife.Seconds())) + "))",
	} {
		rows, err := w.conn.Query(ctx, query, named("stream", r.Stream.Name), named("account", r.Account))
		if err == nil {
			err = collect(rows, func(id string) { alive[id] = true })
		}
		if err != nil {
			return nil, fmt.Errorf("looking for runs under way: %w", err)
		}
	}
	return alive, nil
}

// stagedRuns are the runs that have a staging partition or a table of their own.
func (w *Warehouse) stagedRuns(ctx context.Context, s *catalog.Stream) ([]uuid.UUID, error) {
	child := s.Name
	if s.Child != nil {
		child = s.Child.Table
	}
	rows, err := w.conn.Query(ctx, `SELECT DISTINCT id FROM
(
    SELECT toString(toUUIDOrZero(partition)) AS id FROM system.parts WHERE active AND database = currentDatabase() AND table IN ({staging:String}, {child:String})
    UNION ALL
    SELECT toString(toUUIDOrZero(replaceRegexpOne(extract(name, '_([0-9a-f]{32})$'), '^(.{8})(.{4})(.{4})(.{4})(.{12})$', '\\1-\\2-\\3-\\4-\\5')))
    FROM system.tables WHERE database = currentDatabase() AND (startsWith(name, {changes:String}) OR startsWith(name, {delta:String}) OR startsWith(name, {child_delta:String}))
) WHERE id != '00000000-0000-0000-0000-000000000000'`,
		named("staging", s.Name+"_staging"), named("child", child+"_staging"), named("child_delta", child+"_delta_"), named("changes", s.Name+"_changes_"), named("delta", s.Name+"_delta_"))
	if err != nil {
		return nil, fmt.Errorf("looking for what dead runs left behind: %w", err)
	}
	var ids []uuid.UUID
	var bad []string
	err = collect(rows, func(text string) {
		id, err := uuid.Parse(text)
		if err != nil {
			bad = append(bad, text)
			return
		}
		ids = append(ids, id)
	})
	if err == nil && len(bad) > 0 {
		err = fmt.Errorf("runs with unreadable identifiers: %s", strings.Join(bad, ", "))
	}
	return ids, err
}
