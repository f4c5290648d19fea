package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/chdb"
	"dealhouse/internal/config"
	"dealhouse/internal/warehouse"
)

// absent is the error for a folder that does not exist yet, or that holds no embedded warehouse.
type absent struct{ dir string }

func (e absent) Error() string {
	return fmt.Sprintf("there is no warehouse in %s yet: `dealhouse sync` or `dealhouse migrate` creates it; or set warehouse.dsn to another folder", e.dir)
}

// engineMetadata is the folder of an embedded warehouse in which the engine keeps its tables.
const engineMetadata = "metadata"

// Unwrap makes it what it is to a caller: a schema that is not there yet.
func (absent) Unwrap() error { return warehouse.ErrSchemaOld }

// mustExist returns absent for a folder that does not exist or holds no warehouse: opening it would create one.
func mustExist(dir string) error {
	for _, name := range []string{engineMetadata, chdb.RestoringFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) { //nolint:gosec // G703: the folder is the one that the operator configured
			return nil
		}
	}
	return absent{dir}
}

// openExisting opens the warehouse for a command that only reads it, and never creates one. A person waits for the
// answer, so failed statements are not retried.
func (a *app) openExisting(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
	return a.openMade(ctx, cfg, throughAnybody)
}

// openToRead reads the configuration and opens its warehouse as openExisting does.
func (a *app) openToRead(ctx context.Context) (*config.Config, *warehouse.Warehouse, error) {
	cfg, err := a.readConfig(false)
	if err != nil {
		return nil, nil, err
	}
	w, err := a.openExisting(ctx, cfg)
	return cfg, w, err
}

// readWarehouse opens the warehouse for a command that only reads it, and closes it after do. If do fails because a
// table or column is missing, the error says that the schema is old.
func (a *app) readWarehouse(ctx context.Context, do func(*config.Config, *warehouse.Warehouse) error) (err error) {
	cfg, w, err := a.openToRead(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return orOldSchema(do(cfg, w))
}

// orOldSchema adds to an error about a missing table or column that the schema is old.
func orOldSchema(err error) error {
	if warehouse.IsMissing(err) {
		return fmt.Errorf("%w (%w)", warehouse.ErrSchemaOld, err)
	}
	return err
}

// openMade opens a warehouse that exists, without retries.
func (a *app) openMade(ctx context.Context, cfg *config.Config, lasting bool) (*warehouse.Warehouse, error) {
	if dir, embedded := cfg.Warehouse.EmbeddedDir(); embedded {
		if err := mustExist(dir); err != nil {
			return nil, err
		}
	}
	if w, err := a.join(ctx, cfg, lasting, -1); w != nil || err != nil {
		return w, err
	}
	return a.open(ctx, cfg, -1)
}

// openWarehouse opens the warehouse for a command that writes, and creates it if it does not exist.
func (a *app) openWarehouse(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
	if w, err := a.join(ctx, cfg, throughDaemon, patienceOf(cfg)); w != nil || err != nil {
		return w, err
	}
	return a.openAlone(ctx, cfg)
}

// openExistingToLoad opens the warehouse for a command that loads, with retries. It does not create one.
func (a *app) openExistingToLoad(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
	return a.openMade(ctx, cfg, throughDaemon)
}

// openAlone opens the warehouse for a command that must open an embedded one itself, and not through another process.
func (a *app) openAlone(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
	return a.open(ctx, cfg, patienceOf(cfg))
}

// patienceOf returns how long a command that writes retries a statement.
func patienceOf(cfg *config.Config) time.Duration {
	if cfg.Warehouse.MaxRetryElapsed == 0 {
		return -1 // configured so: no second attempt
	}
	return cfg.Warehouse.MaxRetryElapsed
}

// How a command waits for an embedded warehouse that another process has open.
const (
	throughAnybody = false // it is done in a moment
	throughDaemon  = true  // it may take longer than a sync that is under way
)

// join opens an embedded warehouse that another process has open and shares. Both results are nil where nobody does.
func (a *app) join(ctx context.Context, cfg *config.Config, lasting bool,
	maxRetryElapsed time.Duration) (*warehouse.Warehouse, error) {
	dir, embedded := cfg.Warehouse.EmbeddedDir()
	if !embedded {
		return nil, nil //nolint:nilnil // nobody to join is no error
	}
	guest, err := chdb.Join(ctx, dir)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		a.log.Debug("no other process shares the embedded warehouse", "reason", err)
		return nil, nil //nolint:nilnil // nobody to join is no error
	}
	if lasting && !guest.Lasting() {
		guest.Close()
		return nil, nil //nolint:nilnil // the caller waits for its end
	}
	a.log.Log(ctx, sharing(guest), "another dealhouse has the embedded warehouse open: working through it", "pid",
		guest.PID())
	return a.connect(ctx, cfg, warehouse.Options{MaxRetryElapsed: maxRetryElapsed, Guest: guest})
}

// sharing is the log level of the message that a command works through another process. Users know that of a daemon.
func sharing(g *chdb.Guest) slog.Level {
	if g.Lasting() {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// open opens the warehouse, and checks that it answers and that this version can work with it.
func (a *app) open(ctx context.Context, cfg *config.Config,
	maxRetryElapsed time.Duration) (*warehouse.Warehouse, error) {
	if dir, embedded := cfg.Warehouse.EmbeddedDir(); embedded {
		if err := a.confine(ctx, dir, cfg.Lineage.File); err != nil {
			return nil, err
		}
	}
	return a.connect(ctx, cfg, warehouse.Options{MaxRetryElapsed: maxRetryElapsed})
}

func (a *app) connect(ctx context.Context, cfg *config.Config, o warehouse.Options) (*warehouse.Warehouse, error) {
	o.DSN, o.Database, o.Logger, o.Metrics = cfg.Warehouse.DSN.Reveal(), cfg.Warehouse.Database, a.log, a.metrics.Warehouse
	o.Limits, o.Downloading, o.FewRows = a.limits, a.download.reached, a.fewRows
	o.Cluster, o.ViewsDatabase = cfg.Warehouse.Cluster, cfg.Warehouse.ViewsDatabase
	o.TLS = warehouse.TLS{CAFile: cfg.Warehouse.CAFile, CertFile: cfg.Warehouse.CertFile, KeyFile: cfg.Warehouse.KeyFile}
	done := a.showWaiting("starting the embedded ClickHouse")
	w, err := warehouse.Open(ctx, o)
	done()
	if err != nil {
		return nil, err
	}
	if _, err := w.Identify(ctx); err != nil {
		return nil, errors.Join(unreachable(cfg.Warehouse.RedactedDSN(), err), w.Close())
	}
	return w, nil
}

// share lets other processes of the user work with an embedded warehouse that this one has opened. If that fails, the
// command works all the same.
func (a *app) share(w *warehouse.Warehouse, lasting bool) {
	if err := w.Share(lasting); err != nil {
		a.log.Warn("other commands cannot use the embedded warehouse while this one runs", "error", err)
	}
}

// whenFree opens an embedded warehouse as soon as no other process has it open.
func (a *app) whenFree(ctx context.Context, open func() (*warehouse.Warehouse, error)) (*warehouse.Warehouse, error) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(a.waits.folder)
	for first := true; ; first = false {
		w, err := open()
		if !errors.Is(err, chdb.ErrLocked) || time.Now().After(deadline) {
			return w, err
		}
		if first {
			a.log.Info("waiting for another process to close the embedded warehouse", "patience", a.waits.folder)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// takenError is the error of a command that needs an embedded warehouse for itself while another process has it open
// and shares it.
type takenError struct {
	pid    int
	daemon bool
}

func (e takenError) Error() string {
	who := "a command"
	if e.daemon {
		who = "a daemon"
	}
	return fmt.Sprintf("%s (process %d) has the embedded warehouse open, and this command needs it alone: stop it first; `dealhouse query` and most other commands work while it runs", who, e.pid)
}

func (takenError) Unwrap() error { return chdb.ErrLocked }

// taken returns a takenError where a process that has an embedded warehouse open shares it, else nil.
func taken(ctx context.Context, dir string) error {
	guest, err := chdb.Join(ctx, dir)
	if err != nil {
		return nil // nobody shares it, or the command finds out itself
	}
	defer guest.Close()
	return takenError{guest.PID(), guest.Lasting()}
}

// unreachable makes the error for a warehouse that does not answer, with advice.
func unreachable(dsn string, err error) error {
	var op *net.OpError
	var server *clickhouse.Exception
	var unfit *warehouse.ServerError
	switch {
	case errors.As(err, &unfit):
		return fmt.Errorf("the warehouse %s cannot be used: %w", dsn, unfit)
	case warehouse.IsAuth(err):
		return refused{dsn, err}
	case errors.As(err, &op):
		return fmt.Errorf("the warehouse %s cannot be reached: check warehouse.dsn, and that the server runs: %w", dsn, op)
	case errors.As(err, &server):
		return fmt.Errorf("the warehouse %s returned an error: %w", dsn, server)
	}
	return fmt.Errorf("the warehouse %s does not answer: check warehouse.dsn (scheme, host, port, TLS): %w", dsn, err)
}

// refused makes the error for credentials that the warehouse does not accept. It leaves out the driver's wrapping,
// which does not help to correct them.
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
