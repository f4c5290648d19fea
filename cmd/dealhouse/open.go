package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/chdb"
	"dealhouse/internal/config"
	"dealhouse/internal/warehouse"
)

// absent says that the folder of an embedded warehouse does not exist yet.
type absent struct{ dir string }

func (e absent) Error() string {
	return fmt.Sprintf("there is no warehouse in %s yet: `dealhouse sync` or `dealhouse migrate` makes it, or warehouse.dsn names another folder", e.dir)
}

// Unwrap makes it what it is to a caller: a schema that is not there yet.
func (absent) Unwrap() error { return warehouse.ErrSchemaOld }

// mustExist reports a folder that is not there as absent.
func mustExist(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) { //nolint:gosec // G703: the folder is the one that the operator configured
		return absent{dir}
	}
	return nil
}

// openExisting opens the warehouse for a command that only looks at it, which must not leave an empty one behind. A
// person waits for the answer, so what fails is not tried again.
func (a *app) openExisting(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
	if dir, embedded := cfg.Warehouse.EmbeddedDir(); embedded {
		if err := mustExist(dir); err != nil {
			return nil, err
		}
	}
	return a.open(ctx, cfg, -1)
}

// openWarehouse opens the warehouse for a command that writes, making it where there is none.
func (a *app) openWarehouse(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
	maxRetryElapsed := cfg.Warehouse.MaxRetryElapsed
	if maxRetryElapsed == 0 {
		maxRetryElapsed = -1 // configured so: no second attempt
	}
	return a.open(ctx, cfg, maxRetryElapsed)
}

// open opens the warehouse and makes sure that it answers.
func (a *app) open(ctx context.Context, cfg *config.Config, maxRetryElapsed time.Duration) (*warehouse.Warehouse, error) {
	if dir, embedded := cfg.Warehouse.EmbeddedDir(); embedded {
		if err := a.confine(ctx, dir); err != nil {
			return nil, err
		}
	}
	done := a.showWaiting("starting the embedded ClickHouse")
	w, err := warehouse.Open(ctx, warehouse.Options{
		DSN: cfg.Warehouse.DSN.Reveal(), Database: cfg.Warehouse.Database, Logger: a.log, Metrics: a.metrics.Warehouse, MaxRetryElapsed: maxRetryElapsed,
		Limits: a.limits, Downloading: a.download.reached,
	})
	done()
	if err != nil {
		return nil, err
	}
	if _, err := w.Ping(ctx); err != nil {
		return nil, errors.Join(unreachable(cfg.Warehouse.RedactedDSN(), err), w.Close())
	}
	return w, nil
}

// patience is how long a command that writes waits for another process to close the embedded warehouse.
const patience = time.Minute

// whenFree opens an embedded warehouse as soon as no other process has it open.
func (a *app) whenFree(ctx context.Context, open func() (*warehouse.Warehouse, error)) (*warehouse.Warehouse, error) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(patience)
	for first := true; ; first = false {
		w, err := open()
		if !errors.Is(err, chdb.ErrLocked) || time.Now().After(deadline) {
			return w, err
		}
		if first {
			a.log.Info("waiting for another process to close the embedded warehouse", "patience", patience)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// unreachable says what to do about a warehouse that does not answer.
func unreachable(dsn string, err error) error {
	var op *net.OpError
	var server *clickhouse.Exception
	switch {
	case warehouse.IsAuth(err):
		return refused{dsn, err}
	case errors.As(err, &op):
		return fmt.Errorf("the warehouse %s cannot be reached: check warehouse.dsn, and that the server runs: %w", dsn, op)
	case errors.As(err, &server):
		return fmt.Errorf("the warehouse %s refused to work: %w", dsn, server)
	}
	return fmt.Errorf("the warehouse %s does not answer: check warehouse.dsn (scheme, host, port, TLS): %w", dsn, err)
}

// refused says that the warehouse does not accept the credentials. What the driver wraps around that is of no use to
// whoever has to correct them.
type refused struct {
	dsn string
	err error
}

func (e refused) Error() string {
	text := "the warehouse " + e.dsn + " refused the credentials: check the user and the password in warehouse.dsn"
	if x, ok := errors.AsType[*clickhouse.Exception](e.err); ok {
		text += fmt.Sprintf(" (code %d)", x.Code)
	}
	return text
}

func (e refused) Unwrap() error { return e.err }

// place is the database and where it is, for messages.
func place(cfg *config.Config) string {
	return cfg.Warehouse.Database + " in " + cfg.Warehouse.RedactedDSN()
}
