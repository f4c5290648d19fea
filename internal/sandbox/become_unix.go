//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
)

// Become replaces this process by the program, under the policy, as args say; args begins with the name. It returns
// only if that fails. The process can then continue as before, but it can start no program that is to inherit files.
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
			restore, err := p.passFiles()
			if err != nil {
				return errors.Join(fmt.Errorf("pass open files on: %w", err), restore())
			}
			err = syscall.Exec(path, args, p.Env) //nolint:gosec // G204: this program itself
			return errors.Join(fmt.Errorf("execute %s: %w", path, err), restore())
		}()
	}()
	return <-failed
}

// passFiles copies the files to where the new program expects them and has all others closed (sandbox-3). restore puts
// back what was open in those places.
func (p Policy) passFiles() (restore func() error, err error) {
	const first = 3
	before := map[int]int{} // a copy of what was in a place
	taken := 0
	restore = func() (err error) {
		for place := first; place < first+taken; place++ {
			if fd, ok := before[place]; ok {
				err = errors.Join(err, putBack(fd, place))
			} else {
				err = errors.Join(err, syscall.Close(place))
			}
		}
		return err
	}
	// First the files are copied to places where they are not in each other's way.
	copies := make([]int, len(p.Files))
	for i, f := range p.Files {
		if copies[i], err = above(int(f.Fd()), first+len(p.Files)); err != nil {
			return restore, err
		}
		if fd, err := above(first+i, first+len(p.Files)); err == nil {
			before[first+i] = fd
		}
	}
	if err := closeOnExec(); err != nil {
		return restore, err
	}
	for i, fd := range copies {
		if err := duplicate(fd, first+i); err != nil {
			return restore, err
		}
		taken++
	}
	return restore, nil
}

// putBack moves a file to a place where it was before.
func putBack(fd, place int) error {
	syscall.CloseOnExec(fd)
	if err := duplicate(fd, place); err != nil {
		return err
	}
	syscall.CloseOnExec(place)
	return syscall.Close(fd)
}
