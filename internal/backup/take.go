package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"dealhouse/internal/chdb"
	"dealhouse/internal/machine"
	"dealhouse/internal/warehouse"
)

// Options say how a backup is taken.
type Options struct {
	Program string               // version of this program, for the manifest
	Streams []warehouse.StreamID // that are configured; those that were ever run are held anyway
	Wait    time.Duration        // for how long the end of runs under way is waited for
	// ShowWaiting tells a person what is waited for, until done is called. Default: nothing is shown.
	ShowWaiting func(what func() string) (done func())
}

// CheckPath returns an UnusableError if the warehouse in dir cannot be backed up to path (backup-1). It says so before
// anything is opened; Take checks again.
func CheckPath(path, dir string) error {
	if err := checkOutside(path, dir); err != nil {
		return err
	}
	if err := checkFolder(filepath.Dir(filepath.Clean(path))); err != nil {
		return err
	}
	if err := free(path); err != nil {
		return UnusableError{err}
	}
	return nil
}

// checkFolder returns an UnusableError if the folder of a backup does not exist, or cannot be written to. It is not
// made: a mistyped name, or a disk that is not mounted, would else put the backup where nobody looks for it.
func checkFolder(folder string) error {
	err := machine.MayUse(folder, unix.R_OK|unix.W_OK|unix.X_OK)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return unusablef("%s does not exist: create the folder, or choose another", folder)
	case err != nil:
		return unusablef("%s cannot be written to (%w): give it to the user of this command, or choose another folder", folder,
			err)
	}
	return nil
}

// Take backs up the embedded warehouse in dir, which is open, to path. Runs are held back meanwhile, so that the backup
// is of one moment. A path that ends in .tar becomes one file, any other a folder.
func Take(ctx context.Context, w *warehouse.Warehouse, dir, path string, o Options) (m Manifest, err error) {
	about, err := describe(ctx, w)
	if err != nil {
		return m, err
	}
	about.Program = o.Program
	room, err := w.Storage(ctx)
	if err != nil {
		return m, err
	}
	if err := errors.Join(machine.NeedDisk(dir, room.Used), machine.NeedDisk(filepath.Dir(path), room.Used)); err != nil {
		return m, err
	}
	folder, release, err := claim(dir)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, release()) }()
	name := uuid.NewString()
	if err := o.writeByEngine(ctx, w, name); err != nil {
		return m, err
	}
	return write(ctx, filepath.Join(folder, name), path, about)
}

// describe makes the manifest of a warehouse, without its files. A schema that is not up to date is refused.
func describe(ctx context.Context, w *warehouse.Warehouse) (m Manifest, err error) {
	if err := w.CheckSchema(ctx); errors.Is(err, warehouse.ErrSchemaOld) {
		return m, fmt.Errorf("%w, or take the backup with the version that made it", err)
	} else if err != nil {
		return m, err
	}
	state, err := w.SchemaState(ctx)
	if err != nil {
		return m, err
	}
	made, err := w.Now(ctx)
	return Manifest{Engine: w.Server().Version, Database: w.Database(), Schema: state.Schema, Generation: state.Generation,
		MadeAt: made}, err
}

// writeByEngine has the engine write a backup of this name as soon as no run is under way.
func (o Options) writeByEngine(ctx context.Context, w *warehouse.Warehouse, name string) error {
	patient, cancel := context.WithTimeoutCause(ctx, o.Wait, stillRunningError{o.Wait})
	defer cancel()
	var waiting atomic.Pointer[string]
	what := "writing the backup"
	waiting.Store(&what)
	if o.ShowWaiting != nil {
		defer o.ShowWaiting(func() string { return *waiting.Load() })()
	}
	return w.BackUp(ctx, patient, name, o.Streams, func(id warehouse.StreamID) {
		text := fmt.Sprintf("waiting for the run of %s of account %s to end", id.Stream, id.Account)
		waiting.Store(&text)
	})
}

// claim locks the folder in which the engine writes backups, until release (backup-7).
func claim(dir string) (folder string, release func() error, err error) {
	folder = chdb.BackupFolder(dir)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", nil, fmt.Errorf("creating the folder for the backup: %w", err)
	}
	unlock, err := lockFile(folder + ".lock")
	if err != nil {
		return "", nil, fmt.Errorf("another backup of this warehouse is under way: %w", err)
	}
	empty := func() error {
		entries, err := os.ReadDir(folder)
		for _, e := range entries {
			if e.IsDir() { // the engine has files of its own beside them
				err = errors.Join(err, os.RemoveAll(filepath.Join(folder, e.Name())))
			}
		}
		return err
	}
	if err := empty(); err != nil {
		return "", nil, errors.Join(fmt.Errorf("removing what a backup left behind: %w", err), unlock())
	}
	return folder, func() error { return errors.Join(empty(), unlock()) }, nil
}

// lockFile locks a file for this process until unlock, or fails at once. It creates the file if it does not exist.
func lockFile(name string) (unlock func() error, err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", name, err), f.Close())
	}
	return f.Close, nil
}

// lock locks an open file for as long as it is open, or fails at once.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// checkOutside returns an UnusableError for a path in the folder of the warehouse.
func checkOutside(path, dir string) error {
	whole, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	data, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(data, whole); err == nil && filepath.IsLocal(rel) {
		return unusablef("%s is in the folder of the warehouse, %s: choose another place, best on another disk", path, dir)
	}
	return nil
}
