//go:build unix && !linux

package sandbox

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// closeOnExec makes every file except the standard streams close when the next program is executed. That includes the
// files that this process was started with.
func closeOnExec() error {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil && !errors.Is(err, unix.EBADF) {
				return err
			}
		}
	}
	return nil
}

// above copies a file to a number that is not below least.
func above(fd, least int) (int, error) {
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, least)
}

// duplicate copies a file to a number, where it stays open.
func duplicate(from, to int) error { return unix.Dup2(from, to) }
