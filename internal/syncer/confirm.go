package syncer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/warehouse"
)

// MaxConfirmations bounds how many rows one run asks for by their own address before it deletes them. Rows beyond it
// stay until a later run.
const MaxConfirmations = 1000

// askers ask side by side; the account's rate limit holds for them as for everything else.
const askers = 4

// ask asks for records by their own addresses and hands on the answers, one at a time, with the time at which each was
// asked for. It ends with the first error that answer returns.
func (r *run) ask(ctx context.Context, keys []string, answer func(key string, sent time.Time, object []byte, err error) error) error {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(askers)
	for _, key := range keys {
		group.Go(func() error {
			sent := r.local()
			return contain(func() error {
				object, err := r.job.Client.Get(ctx, r.Stream.Path+"/"+key, nil)
				mu.Lock()
				defer mu.Unlock()
				return answer(key, sent, object, err)
			})
		})
	}
	return group.Wait()
}

// confirmDeletes asks for each row that the list no longer has by its own address (interface section 4): the row is
// deleted when it is not there either, and kept otherwise. A list that leaves out what still exists is not to be
// trusted, and it is said.
func (r *run) confirmDeletes(ctx context.Context, c *warehouse.Changes) error {
	if !r.job.ConfirmDeletes || !r.Stream.ByID || c.Deleted == 0 {
		return nil
	}
	keys, err := r.warehouse.PlannedDeletes(ctx, r.Run, MaxConfirmations)
	if err != nil {
		return err
	}
	var gone []string
	alive, unclear := 0, 0
	err = r.ask(ctx, keys, func(key string, _ time.Time, _ []byte, err error) error {
		var api *dealapi.Error
		switch {
		case err == nil:
			alive++
		case errors.As(err, &api) && api.Kind == dealapi.KindNotFound:
			gone = append(gone, key)
		case errors.As(err, &api) && (api.Kind == dealapi.KindAuth || api.Kind == dealapi.KindCanceled):
			return err
		default:
			unclear++
			r.log.Warn("could not confirm that a row is gone; it stays", "key", key, "error", err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("confirming deletes: %w", err)
	}
	if alive > 0 {
		r.warn(fmt.Sprintf("the list left out %d rows that still answer at their own address: they were kept, and the list is not to be trusted", alive))
	}
	if waiting := int(c.Deleted) - len(gone) - alive; waiting > 0 {
		r.warn(fmt.Sprintf("%d rows that the list no longer has are kept until a later run can confirm that they are gone (%d answers were unclear)", waiting, unclear))
	}
	c.Kept = c.Deleted - uint64(len(gone))
	c.Deleted = uint64(len(gone))
	return r.warehouse.KeepUnconfirmed(ctx, r.Run, gone)
}
