package warehouse

import (
	"context"
	"dealhouse/internal/catalog"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// A migration that writes rows again holds the leases of all accounts first, which waits for runs under way. What runs
// that died had begun to publish is finished before anything is changed.

// migrationWait is how long a migration waits for a run under way to end, or until a dead run counts as dead.
const migrationWait = 3 * leaseTTL

// holder has the leases of a stream, of all accounts.
type holder struct {
	w      *Warehouse
	stream *catalog.Stream
	leases map[string]*Lease
}

// end gives the leases back. err is the result of the work under them.
func (h holder) end(ctx context.Context, err error) error {
	for _, l := range h.leases {
		err = errors.Join(err, l.Expire(context.WithoutCancel(ctx))) // the next holder finishes what dead runs left
	}
	return err
}

// takeAndFinish takes the leases, and finishes what runs that died had begun to publish.
func (h holder) takeAndFinish(ctx context.Context) error {
	if err := h.take(ctx); err != nil {
		return err
	}
	for account, l := range h.leases {
		r := Run{ID: l.value.RunID, Attempt: l.value.Attempt, Account: account, Stream: h.stream, StartedAt: l.Begun()}
		if _, err := (recovery{h.w.Writer(r), l, r.ID}).finishIntents(ctx); err != nil {
			return err
		}
	}
	return nil
}

// take takes the leases of the stream that it does not have yet.
func (h holder) take(ctx context.Context) error {
	accounts, err := h.w.accountsOf(ctx, h.stream)
	if err != nil {
		return err
	}
	for _, account := range accounts {
		if h.leases[account] != nil {
			continue
		}
		l, err := h.w.await(ctx, Run{ID: uuid.New(), Attempt: uuid.New(), Account: account, Stream: h.stream})
		if err != nil {
			return fmt.Errorf("%s of account %s is being loaded: stop the other workers, or try again when they are done: %w",
				h.stream.Name, account, err)
		}
		h.leases[account] = l
	}
	return nil
}

// await takes a lease as soon as it is free.
func (w *Warehouse) await(ctx context.Context, r Run) (*Lease, error) {
	for deadline := time.Now().Add(migrationWait); ; {
		l, err := w.Acquire(ctx, r)
		_, held := errors.AsType[*HeldError](err)
		if !held && !errors.Is(err, ErrLeaseLost) || time.Now().After(deadline) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// rewrite runs statements that write the rows of a stream again, while nobody publishes.
func (w *Warehouse) rewrite(ctx context.Context, s *catalog.Stream, statements func(context.Context) ([]string, error)) error {
	h := holder{w: w, stream: s, leases: map[string]*Lease{}}
	if err := h.end(ctx, h.rewrite(ctx, statements)); err != nil {
		return fmt.Errorf("computing the hashes of %s: %w", s.Name, err)
	}
	return nil
}

func (h holder) rewrite(ctx context.Context, statements func(context.Context) ([]string, error)) error {
	if err := h.takeAndFinish(ctx); err != nil {
		return err
	}
	all, err := statements(ctx)
	if err != nil {
		return err
	}
	h.w.log.Info("computing the content hashes of stored rows; this takes a while", "stream", h.stream.Name)
	for _, statement := range all {
		for _, l := range h.leases {
			if err := l.Check(ctx); err != nil {
				return err
			}
		}
		if err := h.w.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// rehash gives the rows of a stream the hash of this binary.
func (w *Warehouse) rehash(ctx context.Context, s *catalog.Stream) error {
	return w.rewrite(ctx, s, func(ctx context.Context) ([]string, error) {
		tables, err := w.migrator.stored(ctx)
		return tables.hashStatements(w.dialect, s), err
	})
}

// Distrust has the next full run of a stream compare the rows as they are now, and not as their hashes and keys say: it
// finds what somebody altered or removed by hand. It waits some minutes for runs that are under way.
func (w *Warehouse) Distrust(ctx context.Context, s *catalog.Stream) error {
	var statements []string
	if keysTable(s) != "" {
		statements = append(statements, forgetDerived(s))
	}
	statements = append(statements, updateHashes(latestTable(s), s))
	for _, shard := range w.each() {
		if err := shard.rewrite(ctx, s, func(context.Context) ([]string, error) { return statements, nil }); err != nil {
			return err
		}
	}
	return nil
}
