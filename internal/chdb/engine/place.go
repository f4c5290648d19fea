package engine

import (
	"context"
	"errors"
	"fmt"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/library"
)

// Find makes sure that there is a data directory and a library for it, as [Open] does, and opens neither. It is for
// a process that enters a sandbox before it opens them, where it could no longer download anything.
func Find(ctx context.Context, o contract.Options) (contract.Place, error) {
	o = withDefaults(o)
	if o.Dir == "" {
		return contract.Place{}, errors.New("find the embedded engine: Options.Dir is empty")
	}
	dir, err := makeDir(o.Dir)
	if err != nil {
		return contract.Place{}, fmt.Errorf("find the embedded engine: %w", err)
	}
	if err := errors.Join(whole(dir, o), probeLock(dir)); err != nil {
		return contract.Place{}, err
	}
	path, err := library.Find(ctx, o)
	if err != nil {
		return contract.Place{}, err
	}
	return contract.Place{Dir: dir, Library: path}, nil
}
