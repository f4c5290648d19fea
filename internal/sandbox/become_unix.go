//go:build unix

package sandbox

import (
	"fmt"
	"runtime"
	"syscall"
)

// Become turns this process into the program anew, under the policy, as args say; args begins with the name. It returns
// only when that fails. If the policy has Files, the process should end then, since they may have taken the places of
// other open files; without Files it can go on as it was, but start no program that is to inherit files.
func (p Policy) Become(args []string) error {
	path, err := program()
	if err != nil {
		return err
	}
	// The thread stays locked, and is given up with the goroutine if exec fails: nothing else may run on it.
	failed := make(chan error)
	go func() {
		runtime.LockOSThread()
		failed <- func() error {
			if !p.Unconfined {
				if err := p.restrict(path); err != nil {
					return err
				}
			}
			if err := p.passFiles(); err != nil {
				return fmt.Errorf("pass open files on: %w", err)
			}
			if err := syscall.Exec(path, args, p.Env); err != nil { //nolint:gosec // G204: this program itself
				return fmt.Errorf("execute %s: %w", path, err)
			}
			return nil
		}()
	}()
	return <-failed
}

// passFiles moves the files to where the new program expects them and has all others closed (sandbox-3).
func (p Policy) passFiles() error {
	const first = 3
	// Out of the way of each other first.
	copies := make([]int, len(p.Files))
	for i, f := range p.Files {
		fd, err := above(int(f.Fd()), first+len(p.Files))
		if err != nil {
			return err
		}
		copies[i] = fd
	}
	if err := closeOnExec(); err != nil {
		return err
	}
	for i, fd := range copies {
		if err := duplicate(fd, first+i); err != nil {
			return err
		}
	}
	return nil
}
