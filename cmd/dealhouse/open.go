package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

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

// openToRead reads the configuration and opens its warehouse, which must exist (opener.existing).
func (a *app) openToRead(ctx context.Context) (*config.Config, *warehouse.Warehouse, error) {
	cfg, err := a.readConfig(false)
	if err != nil {
		return nil, nil, err
	}
	w, err := a.opener().existing(ctx, cfg)
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
