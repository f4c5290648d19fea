package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

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

const restoreLong = `Creates the embedded warehouse of warehouse.dsn from a backup that dealhouse backup has written. The folder
must not exist, or must be empty. Every file of the backup is checked. No other command can use the folder
until the restore is complete; if it is interrupted, run the same command again.

The next sync continues from the watermarks of the backup. It also upgrades a backup of an older version. A
backup of a newer version is refused.`

const restoreExample = `  dealhouse restore backups/2026-11-22.tar
  DEALHOUSE_WAREHOUSE_DSN=embedded:./look dealhouse restore backups/2026-11-22.tar    in another folder, to inspect it
  dealhouse restore --check backups/2026-11-22.tar                                    check all of it, restore nothing`

func newRestore(a *app) *cobra.Command {
	check := false
	cmd := &cobra.Command{
		Use:     "restore FOLDER|FILE.tar",
		Short:   "Create an embedded warehouse from a backup",
		Long:    restoreLong,
		Example: restoreExample,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if check {
				return checkBackup(cmd.Context(), a, args[0])
			}
			return restore(cmd.Context(), a, args[0])
		},
	}
	cmd.Flags().BoolVar(&check, "check", false,
		"only check that the backup is whole, and that this version can restore it")
	return cmd
}

// checkBackup reads all of a backup.
func checkBackup(ctx context.Context, a *app, path string) error {
	m, err := fitting(path)
	if err != nil {
		return err
	}
	done := a.showWaiting("reading the backup")
	defer done()
	if err := backup.Verify(ctx, path, m); err != nil {
		return unusable(err)
	}
	_, err = fmt.Fprintf(a.stdout, "%s is whole: %s.\n", path, described(m))
	return err
}

// described says what is in a backup.
func described(m backup.Manifest) string {
	return fmt.Sprintf("database %s of %s, %s, made by dealhouse %s", m.Database,
		m.MadeAt.UTC().Format("2006-01-02 15:04:05 UTC"), wording.Bytes(uint64(m.Bytes)), m.Program)
}

// fitting reads the manifest of a backup that this version can restore.
func fitting(path string) (backup.Manifest, error) {
	m, err := backup.ReadManifest(path)
	if err != nil {
		return m, unusable(err)
	}
	known, err := warehouse.KnownState()
	if err == nil && (m.Schema > known.Schema || m.Generation > known.Generation) {
		err = usagef("the backup was made by a newer version, dealhouse %s (schema %d.%d, this one knows %d.%d): restore it with that version or a later one",
			m.Program, m.Schema, m.Generation, known.Schema, known.Generation)
	}
	return m, err
}

// unusable marks the error of a backup that cannot be used as one that a retry does not solve.
func unusable(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, backup.ErrIncomplete) || errors.Is(err, backup.ErrDamaged) ||
		errors.Is(err, backup.ErrNewer) {
		return usageError{err}
	}
	return err
}

func restore(ctx context.Context, a *app, path string) (err error) {
	cfg, err := a.readConfig(false)
	if err != nil {
		return err
	}
	dir, err := embeddedDir(cfg)
	if err != nil {
		return err
	}
	m, err := fitting(path)
	if err != nil {
		return err
	}
	if m.Database != cfg.Warehouse.Database {
		return usagef("the backup is of the database %s: set warehouse.database to that", m.Database)
	}
	if err := notWithin(path, dir); err != nil {
		return err
	}
	r, err := openRestore(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := machine.NeedDisk(dir, 2*uint64(m.Bytes)); err != nil {
		return err
	}
	if err := a.fill(ctx, cfg, dir, path, m); err != nil {
		return unusable(err)
	}
	if err := r.commit(); err != nil {
		return fmt.Errorf("finishing the restore: %w", err)
	}
	_, err = fmt.Fprintf(a.stdout, "Restored %s from %s: %s.\n", place(cfg), path, described(m))
	return err
}

// fill makes a warehouse from a backup in an empty folder.
func (a *app) fill(ctx context.Context, cfg *config.Config, dir, path string, m backup.Manifest) (err error) {
	done := a.showWaiting("restoring the backup")
	defer done()
	name := uuid.NewString()
	taken := filepath.Join(chdb.BackupFolder(dir), name)
	if err := backup.Extract(ctx, path, taken, m); err != nil {
		return err
	}
	w, err := a.opener().connect(ctx, cfg, warehouse.Options{MaxRetryElapsed: -1, Restoring: true})
	if err != nil {
		return err
	}
	err = errors.Join(w.Restore(ctx, name), w.Close())
	return errors.Join(err, os.RemoveAll(taken)) //nolint:gosec // G703: the folder is the one that the operator configured
}

// restoring is a folder that a backup is restored into. Nobody can open it before commit marks it as complete.
type restoring struct {
	dir, mark string
	unlock    func() error
}

// openRestore takes a folder to restore into, which has to be empty, or what a restore that broke off has left.
func openRestore(dir string) (*restoring, error) {
	r := &restoring{dir: dir, mark: filepath.Join(dir, chdb.RestoringFile)}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("looking at the folder to restore into: %w", err)
	}
	if _, err := os.Lstat(r.mark); len(entries) > 0 && err != nil { //nolint:gosec // G703: the folder is the one that the operator configured
		return nil, usagef("%s is not empty: set warehouse.dsn to a new folder, or move this one away", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil { //nolint:gosec // G703: the folder is the one that the operator configured
		return nil, fmt.Errorf("making the folder to restore into: %w", err)
	}
	if r.unlock, err = lockFile(r.mark); err != nil {
		return nil, fmt.Errorf("another restore into %s is under way: %w", dir, err)
	}
	if err := r.empty(); err != nil {
		return nil, errors.Join(err, r.unlock())
	}
	return r, nil
}

// empty removes everything except the mark.
func (r *restoring) empty() error {
	entries, err := os.ReadDir(r.dir)
	for _, e := range entries {
		if e.Name() != chdb.RestoringFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(r.dir, e.Name()))) //nolint:gosec // G703: the folder is the one that the operator configured
		}
	}
	if err != nil {
		return fmt.Errorf("removing what an interrupted restore left behind: %w", err)
	}
	return nil
}

// commit allows the folder to be opened.
func (r *restoring) commit() error {
	unix.Sync()                               // the engine leaves it to the system when its files reach the disk
	if err := os.Remove(r.mark); err != nil { //nolint:gosec // G703: the folder is the one that the operator configured
		return err
	}
	r.mark = ""
	return nil
}

// close leaves an empty folder behind, unless the restore was committed.
func (r *restoring) close() error {
	if r.mark == "" {
		return r.unlock()
	}
	err := r.empty()
	if err == nil {
		err = os.Remove(r.mark) //nolint:gosec // G703: the folder is the one that the operator configured
	}
	return errors.Join(err, r.unlock())
}
