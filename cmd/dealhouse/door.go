package main

import (
	"context"
	"net"

	"dealhouse/internal/chdb"
	"dealhouse/internal/config"
	"dealhouse/internal/warehouse"
)

// door is where a daemon serves its embedded warehouse to readers. They are confined as those of serve-warehouse are;
// the process with the engine answers them, beside what is loaded.
type door struct {
	listener  net.Listener
	strangers bool // other machines are let in
	serve     serveTask
	limits    *limits
	front     *chdb.Front // nil: the engine is in this process
}

// doorQueries is how many queries run at once: what all of them take together has no bound of its own, so it is half of
// the memory that a process may use.
const doorQueries = 4

// openDoor listens, so that an address which is taken is told of at once. Nobody is answered yet.
func openDoor(ctx context.Context, cfg *config.Config) (*door, error) {
	if cfg.Door.Listen == "" {
		return nil, nil //nolint:nilnil // no door is no error
	}
	d := &door{strangers: cfg.Door.Strangers(), limits: defaultLimits()}
	d.limits.queries = min(d.limits.queries, doorQueries)
	d.serve = serveTask{Database: cfg.Warehouse.Database, User: cfg.Door.User, Password: cfg.Door.Password.Reveal(),
		Queries: d.limits.queries, Buffered: d.limits.buffered << 20}
	var err error
	if d.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", cfg.Door.Listen); err != nil {
		return nil, usagef("%w: choose another address for listen in [door]", err)
	}
	return d, nil
}

// run serves readers until ctx ends.
func (d *door) run(ctx context.Context, a *app, w *warehouse.Warehouse) error {
	if d.front != nil {
		return d.front.Serve(ctx, d.listener)
	}
	return w.Engine().Serve(ctx, d.listener, d.serve.options(a))
}
