package sandbox

import "golang.org/x/sys/unix"

// closeOnExec makes every file except the standard streams close when the next program is executed. That includes the
// files that this process was started with.
func closeOnExec() error {
	return unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
}

// above copies a file to a number that is not below least.
func above(fd, least int) (int, error) {
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, least)
}

// duplicate copies a file to a number, where it stays open.
func duplicate(from, to int) error { return unix.Dup3(from, to, 0) }
