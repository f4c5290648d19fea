package warehouse

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
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

// accountsOf returns the accounts that have anything of a stream.
func (w *Warehouse) accountsOf(ctx context.Context, s *catalog.Stream) ([]string, error) {
	rows, err := w.conn.Query(ctx, selectAccountsOf(s), named("stream", s.Name))
	accounts, err := scanned(rows, err, only[string])
	if err != nil {
		return nil, fmt.Errorf("reading which accounts have %s: %w", s.Name, err)
	}
	return accounts, nil
}

// refresh brings the derived tables of all streams up to date, for those who read them through a view.
func (w *Warehouse) refresh(ctx context.Context) error {
	for _, s := range catalog.All() {
		if len(derivedTables(s)) == 0 {
			continue
		}
		accounts, err := w.accountsOf(ctx, s)
		if err != nil {
			return err
		}
		for _, account := range accounts {
			if err := w.refreshAccount(ctx, account, s); err != nil {
				return fmt.Errorf("bringing what follows from %s of account %s up to date: %w", s.Name, account, err)
			}
		}
	}
	return nil
}

// refreshAccount does this for one stream of one account. It takes no lease if nothing is out of date.
func (w *Warehouse) refreshAccount(ctx context.Context, account string, s *catalog.Stream) error {
	state, err := w.state(ctx, account, s.Name, stateDerived)
	if err != nil {
		return err
	}
	if fresh := (&Lease{states: []stateRow{{name: stateDerived, value: state.value}}}).derived(); !lacksAny(fresh,
		derivedNames(s)) {
		return nil
	}
	r := Run{ID: uuid.New(), Attempt: uuid.New(), Account: account, Stream: s}
	l, err := w.await(ctx, r)
	if err != nil {
		return err
	}
	r.StartedAt = l.Begun()
	_, err = w.Writer(r).Recover(ctx, l, r.ID)
	return giveBack(ctx, l, err)
}
