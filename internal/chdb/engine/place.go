//go:build !noengine && (linux || darwin)

package chdb

import (
	"context"
	"errors"
	"fmt"
)

// Find makes sure that there is a data directory and a library for it, as [Open] does, and opens neither. It is for
// a process that enters a sandbox before it opens them, where it could no longer download anything.
func Find(ctx context.Context, o Options) (Place, error) {
	o = o.withDefaults()
	if o.Dir == "" {
		return Place{}, errors.New("find the embedded engine: Options.Dir is empty")
	}
	dir, err := makeDir(o.Dir)
	if err != nil {
		return Place{}, fmt.Errorf("find the embedded engine: %w", err)
	}
	if err := probeLock(dir); err != nil {
		return Place{}, err
	}
	library, err := newAcquirer(o).path(ctx)
	if err != nil {
		return Place{}, err
	}
	return Place{Dir: dir, Library: library}, nil
}
