package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"dealhouse/internal/term"
)

// FreeDisk returns how many bytes this user may still write to the disk of a folder (machine-2).
func FreeDisk(path string) (uint64, error) {
	path = Existing(path)
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, fmt.Errorf("asking how much room is on the disk of %s: %w", path, err)
	}
	return s.Bavail * uint64(s.Bsize), nil
}

// NeedDisk returns an error if the disk of a folder has no room for so many bytes.
func NeedDisk(path string, bytes uint64) error {
	free, err := FreeDisk(path)
	if err == nil && free < bytes {
		err = fmt.Errorf("the disk of %s has %s free, and %s are needed: make room, or take another disk", path,
			term.Size(free), term.Size(bytes))
	}
	return err
}

// Existing returns the path itself, or the nearest folder above it that exists (machine-2).
func Existing(path string) string {
	for {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// MayUse returns the error of the system if a path is no folder, or if this user may not do in it what the bits of mode
// say: those of access(2), such as unix.W_OK.
func MayUse(path string, mode uint32) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return unix.ENOTDIR
	}
	return unix.Access(path, mode)
}

// OpenToOthers reports whether every user of this machine may change what is in a folder.
func OpenToOthers(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() && info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0
}

// Owner returns the ID of the user to whom a file belongs, or the link itself if it is one; -1: not known.
func Owner(path string) int {
	var s unix.Stat_t
	if err := unix.Lstat(path, &s); err != nil {
		return -1
	}
	return int(s.Uid)
}
