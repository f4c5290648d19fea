package enginetest

import (
	"os"

	"golang.org/x/sys/unix"
)

// shm is the file system in memory that every process on Linux may use.
const shm = "/dev/shm"

// room is what must be free in it: containers often have 64 MiB, and a warehouse of a test may need a gigabyte.
const room = 6 << 30

// InMemory moves the temporary folder of this process, and of those that it starts, into memory, if there is enough
// room. ClickHouse waits for the disk after every insert and every change of a table, which makes up a third of the
// time of tests that use it, and no data of a test has to survive a loss of power.
func InMemory() error {
	if benchmarks() {
		return nil // the disk is a part of what is measured
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(shm, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < room {
		return nil //nolint:nilerr // then tests use the disk
	}
	return os.Setenv("TMPDIR", shm)
}
