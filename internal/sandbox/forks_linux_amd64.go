package sandbox

import "golang.org/x/sys/unix"

// forks are the older calls that make a process.
var forks = []uint32{unix.SYS_FORK, unix.SYS_VFORK}
