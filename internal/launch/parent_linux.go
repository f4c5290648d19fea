package launch

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// endWithParent has the kernel end this process with the one that has started it, also if that one is killed. It holds
// for as long as the calling thread lives.
func endWithParent() { _ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0) }
