package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/machine"
)

// makeDir creates dir and returns its absolute path without symbolic links, so that two spellings of a directory
// are recognized as the same. It refuses one that this process cannot write to: the engine would report that on stderr,
// in its own words.
func makeDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", unwritable(machine.Existing(dir), err)
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return "", unwritable(dir, err)
	}
	return filepath.EvalSymlinks(dir)
}

// unwritable says what to do about an error of writing to a path. It is a [contract.FolderError] if it stays until
// somebody changes something.
func unwritable(path string, err error) error {
	if errno, is := errors.AsType[syscall.Errno](err); is && contract.IsLasting(err) {
		return &contract.FolderError{Path: path, Err: errno}
	}
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("%w: free space on the disk of %s, or move the warehouse to a larger one", err, path)
	}
	return err
}

// whole refuses a directory that is still being restored, except for the restore itself.
func whole(dir string, o contract.Options) error {
	if _, err := os.Lstat(filepath.Join(dir, contract.RestoringFile)); err == nil && !o.Restoring {
		return fmt.Errorf("open %s: %w", dir, contract.ErrRestoring)
	}
	return nil
}

// lockName is the file in a data directory that its process has locked.
const lockName = "dealhouse.lock"

// claim locks the directory against other processes that use this package. It does so before the engine, because the
// engine would report a conflict on stderr, in its own words. The lock ends when the file is closed, so at the
// latest with the process.
func claim(dir string) (*os.File, error) {
	name := filepath.Join(dir, lockName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, unwritable(name, err))
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, inUse(dir)
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return f, nil
}

// Claim locks a directory for the engine of another process.
func Claim(dir string) (release func(), err error) {
	if dir, err = makeDir(dir); err != nil {
		return nil, err
	}
	if err := probeLock(dir); err != nil {
		return nil, err
	}
	f, err := claim(dir)
	if err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, nil // nothing was written
}

func inUse(dir string) error {
	err := contract.ErrLocked
	if pid, held := Holder(dir); held && pid != 0 {
		err = fmt.Errorf("%w (process %d)", err, pid)
	}
	return fmt.Errorf("open %s: %w: stop the other dealhouse; while it is a daemon, or loads, `dealhouse query` works through it", dir, err)
}

// probeLock returns an error if another process has the directory open. The engine locks the file "status" in it, but
// reports a conflict only on stderr, so probeLock tries the lock itself.
func probeLock(dir string) error {
	name := filepath.Join(dir, "status")
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, unwritable(name, err))
	}
	defer func() { _ = f.Close() }() // nothing was written
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return inUse(dir)
	}
	return nil
}
