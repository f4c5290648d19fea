package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"dealhouse/internal/backup"
	"dealhouse/internal/chdb"
	"dealhouse/internal/config"
	"dealhouse/internal/machine"
	"dealhouse/internal/warehouse"
	"dealhouse/internal/wording"
)

const backupLong = `Writes the whole embedded warehouse into a new folder, or into one file if the name ends in .tar: rows,
history, watermarks, and everything known about runs and payouts. dealhouse restore brings it back.

It also works while the daemon runs. It waits up to --wait for running loads to end, and holds back new ones
while the engine copies, so the backup shows one moment. The backup gets its name only when it is complete.
It never replaces a file or folder that already exists.

If the warehouse is on a server, use the backup tools of that server instead.`

const backupExample = `  dealhouse backup backups/2026-11-22
  dealhouse backup backups/2026-11-22.tar
  dealhouse backup --wait 1h "backups/$(date +%F).tar"`

func newBackup(a *app) *cobra.Command {
	wait := 10 * time.Minute
	cmd := &cobra.Command{
		Use:     "backup FOLDER|FILE.tar",
		Short:   "Back up an embedded warehouse into a folder or a file",
		Long:    backupLong,
		Example: backupExample,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return backUp(cmd.Context(), a, args[0], wait)
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", wait, "how long to wait for runs under way to end")
	return cmd
}

// stillRunningError says that a run did not end in time for a backup.
type stillRunningError struct{ wait time.Duration }

func (e stillRunningError) Error() string {
	return fmt.Sprintf("a run under way has not ended within %s, and nothing was backed up: run it again later, or with a longer --wait; `dealhouse operate cancel` stops a run of the daemon", e.wait)
}

func backUp(ctx context.Context, a *app, path string, wait time.Duration) (err error) {
	cfg, err := a.readConfig(false)
	if err != nil {
		return err
	}
	dir, err := embeddedDir(cfg)
	if err != nil {
		return err
	}
	if err := backup.Free(path); err != nil {
		return usageError{err}
	}
	if err := notWithin(path, dir); err != nil {
		return err
	}
	o := a.opener()
	w, err := o.whenFree(ctx, cfg, o.existingToLoad)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	about, err := aboutBackup(ctx, w)
	if err != nil {
		return err
	}
	room, err := w.Storage(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(machine.NeedDisk(dir, room.Used), machine.NeedDisk(filepath.Dir(path), room.Used)); err != nil {
		return err
	}
	folder, release, err := claimBackups(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	name := uuid.NewString()
	if err := a.letWrite(ctx, w, cfg, name, wait); err != nil {
		return err
	}
	m, err := backup.Write(ctx, filepath.Join(folder, name), path, about)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "Backed up %s to %s: %s in %s.\n", place(cfg), path, wording.Bytes(uint64(m.Bytes)),
		wording.Plural(uint64(len(m.Files)), "file"))
	return err
}

// letWrite lets the engine write a backup of this name, and shows what it waits for.
func (a *app) letWrite(ctx context.Context, w *warehouse.Warehouse, cfg *config.Config, name string,
	wait time.Duration) error {
	var named []warehouse.StreamID
	for _, account := range cfg.Accounts {
		for _, s := range account.Streams {
			named = append(named, warehouse.StreamID{Account: account.Name, Stream: s.Name})
		}
	}
	patient, cancel := context.WithTimeoutCause(ctx, wait, stillRunningError{wait})
	defer cancel()
	var waiting atomic.Pointer[string]
	what := "writing the backup"
	waiting.Store(&what)
	done := a.showWaitingFor(func() string { return *waiting.Load() })
	defer done()
	return w.BackUp(ctx, patient, name, named, func(id warehouse.StreamID) {
		text := fmt.Sprintf("waiting for the run of %s of account %s to end", id.Stream, id.Account)
		waiting.Store(&text)
	})
}

// aboutBackup describes the warehouse for the manifest.
func aboutBackup(ctx context.Context, w *warehouse.Warehouse) (m backup.Manifest, err error) {
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
	return backup.Manifest{
		Program: readBuild().version, Engine: w.Server().Version, Database: w.Database(),
		Schema: state.Schema, Generation: state.Generation, MadeAt: made,
	}, err
}

// embeddedDir returns the folder of an embedded warehouse, and refuses a server.
func embeddedDir(cfg *config.Config) (string, error) {
	dir, embedded := cfg.Warehouse.EmbeddedDir()
	if !embedded {
		return "", usagef("%s is a server, which has backup tools of its own: see `BACKUP DATABASE %s` in ClickHouse's manual, and deploy/README.md for what to consider", cfg.Warehouse.RedactedDSN(), cfg.Warehouse.Database)
	}
	return dir, nil
}

// notWithin refuses a path in the folder of the warehouse.
func notWithin(path, dir string) error {
	whole, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	data, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if within(whole, data) {
		return usagef("%s is in the folder of the warehouse, %s: choose another place, best on another disk", path, dir)
	}
	return nil
}

// claimBackups locks the folder in which the engine writes backups, until release. It removes what earlier processes
// left.
func claimBackups(dir string) (folder string, release func() error, err error) {
	folder = chdb.BackupFolder(dir)
	if err := os.MkdirAll(folder, 0o700); err != nil { //nolint:gosec // G703: the folder is the one that the operator configured
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
				err = errors.Join(err, os.RemoveAll(filepath.Join(folder, e.Name()))) //nolint:gosec // G703: the folder is the one that the operator configured
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
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // G304: it is beside the data that the operator configured
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", name, err), f.Close())
	}
	return f.Close, nil
}
