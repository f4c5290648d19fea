package service

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
	"dealhouse/internal/warehouse"
)

// AbsentError is the error for a folder that does not exist yet, or that holds no embedded warehouse (nothing is
// created by looking).
type AbsentError struct{ Dir string }

func (e AbsentError) Error() string {
	return fmt.Sprintf("there is no warehouse in %s yet: `dealhouse sync` or `dealhouse migrate` creates it; or set warehouse.dsn to another folder", e.Dir)
}

// engineMetadata is the folder of an embedded warehouse in which the engine keeps its tables.
const engineMetadata = "metadata"

// Unwrap makes it what it is to a caller: a schema that is not there yet.
func (AbsentError) Unwrap() error { return warehouse.ErrSchemaOld }

// MustExist returns an AbsentError for a folder that does not exist or holds no warehouse: opening it would create one.
func MustExist(dir string) error {
	for _, name := range []string{engineMetadata, chdb.RestoringFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return AbsentError{dir}
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
	return fmt.Sprintf("%s (process %d) has the embedded warehouse open, and this command needs it alone: stop it first; `dealhouse query` and most other commands work while it runs, and a daemon serves BI tools itself: listen in [door]", who, e.pid)
}

// Unwrap makes it what it is to a caller that waits: a locked warehouse.
func (takenError) Unwrap() error { return chdb.ErrLocked }

// MustBeFree returns an error if a process that has the embedded warehouse in dir open shares it: it is not free for a
// command that needs it alone. A process that does not share it is noticed when the warehouse is opened.
func MustBeFree(ctx context.Context, dir string) error {
	guest, err := chdb.Join(ctx, dir)
	if err != nil {
		return nil // nobody shares it, or the command finds out itself
	}
	defer func() { _ = guest.Close() }() // nothing was asked
	return takenError{guest.PID(), guest.Lasting()}
}

// unreachable makes the error for a warehouse that does not answer, with advice (no secret in a finding).
func unreachable(dsn string, err error) error {
	var op *net.OpError
	var server *clickhouse.Exception
	var unfit *warehouse.ServerError
	switch {
	case errors.As(err, &unfit):
		return fmt.Errorf("the warehouse %s cannot be used: %w", dsn, unfit)
	case warehouse.IsAuth(err):
		return refusedError{dsn, err}
	case errors.As(err, &op):
		return fmt.Errorf("the warehouse %s cannot be reached: check warehouse.dsn, and that the server runs: %w", dsn, op)
	case errors.As(err, &server):
		return fmt.Errorf("the warehouse %s returned an error: %w", dsn, server)
	}
	return fmt.Errorf("the warehouse %s does not answer: check warehouse.dsn (scheme, host, port, TLS): %w", dsn, err)
}

// refusedError is the error for credentials that the warehouse does not accept. It leaves out the driver's wrapping,
// which does not help to correct them.
type refusedError struct {
	dsn string
	err error
}

func (e refusedError) Error() string {
	text := "the warehouse " + e.dsn + " refused the credentials: check the user and the password in warehouse.dsn"
	if x, ok := errors.AsType[*clickhouse.Exception](e.err); ok {
		text += fmt.Sprintf(" (code %d)", x.Code)
	}
	return text
}

func (e refusedError) Unwrap() error { return e.err }
