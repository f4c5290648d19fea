package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/library"
)

// Find makes sure that there is a data directory and a library for it, as [Open] does, but opens neither. It is for a
// process that enters a sandbox before it opens them: inside, it could not download anything.
func Find(ctx context.Context, o contract.Options) (contract.Place, error) {
	o = withDefaults(o)
	if o.Dir == "" {
		return contract.Place{}, errors.New("find the embedded engine: Options.Dir is empty")
	}
	dir, err := makeDir(o.Dir)
	if err != nil {
		return contract.Place{}, fmt.Errorf("find the embedded engine: %w", err)
	}
	if err := errors.Join(whole(dir, o), probeLock(dir)); err != nil {
		return contract.Place{}, err
	}
	path, err := library.Find(ctx, o)
	if err != nil {
		return contract.Place{}, err
	}
	return contract.Place{Dir: dir, Library: path}, nil
}

// Present reports whether the library that o asks for is on this machine. It downloads nothing.
func Present(ctx context.Context, o contract.Options) (bool, error) {
	return library.Present(ctx, withDefaults(o))
}

// Holder returns the id of the process that has a data directory open, or 0 if the id is unknown. held is false
// if no process has it open.
func Holder(dir string) (pid int, held bool) {
	f, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		return 0, false
	}
	defer func() { _ = f.Close() }() // nothing was written
	if !errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK) {
		return 0, false
	}
	var st unix.Stat_t
	locks, err := os.ReadFile("/proc/locks")
	if err = errors.Join(err, unix.Fstat(int(f.Fd()), &st)); err != nil {
		return 0, true
	}
	for line := range strings.Lines(string(locks)) {
		if words := strings.Fields(line); len(words) > 5 && words[1] == "FLOCK" &&
			strings.HasSuffix(words[5], fmt.Sprintf(":%d", st.Ino)) {
			pid, _ = strconv.Atoi(words[4]) // 0 if the process is in another container
		}
	}
	return pid, true
}
