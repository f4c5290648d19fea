package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"dealhouse/internal/chdb"
	"dealhouse/internal/machine"
	"dealhouse/internal/warehouse"
)

// Read reads the manifest of the backup at path. An UnusableError says that the backup is none, not whole, damaged, or
// of a version that this one cannot restore. The files are looked at by Verify and Restore.
func Read(path string) (Manifest, error) {
	m, err := readManifest(path)
	if err != nil {
		return m, orUnusable(err)
	}
	known, err := warehouse.KnownState()
	if err == nil && (m.Schema > known.Schema || m.Generation > known.Generation) {
		err = unusablef("the backup was made by a newer version, dealhouse %s (schema %d.%d, this one knows %d.%d): restore it with that version or a later one",
			m.Program, m.Schema, m.Generation, known.Schema, known.Generation)
	}
	return m, err
}

// Verify reads all files of the backup at path, whose manifest was read before (backup-2).
func Verify(ctx context.Context, path string, m Manifest) error {
	return orUnusable(verify(ctx, path, m))
}

// Restore makes an embedded warehouse in dir from the backup at path, whose manifest was read before. The folder must
// not exist, or be empty, or have what an interrupted restore left (backup-6). open opens the warehouse of dir, to be
// filled (warehouse.Options.Restoring).
func Restore(ctx context.Context, path, dir string, m Manifest,
	open func(context.Context) (*warehouse.Warehouse, error)) (err error) {
	if err := checkOutside(path, dir); err != nil {
		return err
	}
	t, err := prepareTarget(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if err := machine.NeedDisk(dir, 2*uint64(m.Bytes)); err != nil {
		return err
	}
	if err := t.fill(ctx, path, m, open); err != nil {
		return orUnusable(err)
	}
	if err := t.commit(); err != nil {
		return fmt.Errorf("finishing the restore: %w", err)
	}
	return nil
}

// target is a folder that a backup is restored into. Nobody can open it before commit removes the mark (backup-6).
type target struct {
	dir, mark string
	unlock    func() error
}

// prepareTarget prepares and locks a folder to restore into: an empty one, or what an interrupted restore has left.
func prepareTarget(dir string) (*target, error) {
	t := &target{dir: dir, mark: filepath.Join(dir, chdb.RestoringFile)}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("looking at the folder to restore into: %w", err)
	}
	if _, err := os.Lstat(t.mark); len(entries) > 0 && err != nil {
		return nil, unusablef("%s is not empty: set warehouse.dsn to a new folder, or move this one away", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder to restore into: %w", err)
	}
	if t.unlock, err = lockFile(t.mark); err != nil {
		return nil, fmt.Errorf("another restore into %s is under way: %w", dir, err)
	}
	if err := t.empty(); err != nil {
		return nil, errors.Join(err, t.unlock())
	}
	return t, nil
}

// fill makes the warehouse.
func (t *target) fill(ctx context.Context, path string, m Manifest,
	open func(context.Context) (*warehouse.Warehouse, error)) error {
	name := uuid.NewString()
	extracted := filepath.Join(chdb.BackupFolder(t.dir), name)
	if err := extract(ctx, path, extracted, m); err != nil {
		return err
	}
	w, err := open(ctx)
	if err != nil {
		return err
	}
	err = errors.Join(w.Restore(ctx, name), w.Close())
	return errors.Join(err, os.RemoveAll(extracted))
}

// empty removes everything except the mark.
func (t *target) empty() error {
	entries, err := os.ReadDir(t.dir)
	for _, e := range entries {
		if e.Name() != chdb.RestoringFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(t.dir, e.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("removing what an interrupted restore left behind: %w", err)
	}
	return nil
}

// commit allows the folder to be opened.
func (t *target) commit() error {
	unix.Sync() // the engine leaves it to the system when its files reach the disk
	if err := os.Remove(t.mark); err != nil {
		return err
	}
	t.mark = ""
	return nil
}

// close leaves an empty folder behind, unless the restore was committed.
func (t *target) close() error {
	if t.mark == "" {
		return t.unlock()
	}
	err := t.empty()
	if err == nil {
		err = os.Remove(t.mark)
	}
	return errors.Join(err, t.unlock())
}
