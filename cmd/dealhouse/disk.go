package main

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"dealhouse/internal/wording"
)

// freeOn returns how many bytes this user may still write to the disk of a folder. If the folder does not exist, the
// nearest existing folder above it counts.
func freeOn(path string) (uint64, error) {
	path = existing(path)
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, fmt.Errorf("asking how much room is on the disk of %s: %w", path, err)
	}
	return s.Bavail * uint64(s.Bsize), nil
}

// enoughRoom returns an error if the disk of a folder has no room for so many bytes.
func enoughRoom(path string, bytes uint64) error {
	free, err := freeOn(path)
	if err == nil && free < bytes {
		err = fmt.Errorf("the disk of %s has %s free, and %s are needed: make room, or take another disk", path,
			wording.Size(free), wording.Size(bytes))
	}
	return err
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
