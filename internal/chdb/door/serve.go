package door

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/engine"
)

// drain is how long requests under way may take to end when the server is told to stop.
const drain = 10 * time.Second

// maxHeader is how long a request's first line and headers may be together, in bytes. A query that is longer comes as
// the body.
const maxHeader = 128 << 10

// maxConnections is how many connections may be open at once.
const maxConnections = 512

// idle is how long a connection may stay open between two requests. Queries may take as long as they need.
const idle = 2 * time.Minute

// Serve serves [Handler] until ctx ends, and returns what ended it once the requests under way are done. Idle
// connections keep no others out (chdb-11).
func Serve(ctx context.Context, l net.Listener, e *engine.Engine, o contract.HandlerOptions) error {
	return serveHandler(ctx, l, Handler(e, o))
}

func serveHandler(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: idle, MaxHeaderBytes: maxHeader,
		ConnContext: withConnection,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(limitConnections(l, maxConnections)) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := server.Shutdown(patience); err != nil {
		err = errors.Join(err, server.Close())
		return errors.Join(context.Cause(ctx), fmt.Errorf("cutting requests off after %s: %w", drain, err))
	}
	return context.Cause(ctx)
}
