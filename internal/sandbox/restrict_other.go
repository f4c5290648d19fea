//go:build unix && !linux

package sandbox

import "fmt"

// Missing tells what the kernel cannot refuse: everything, since this is not Linux.
func Missing() []string {
	return []string{"files", "TCP connections", "other sockets and child processes"}
}

// Verify always fails: nothing is enforced here.
func Verify() error { return fmt.Errorf("%w: this system has no Landlock", ErrNotEnforced) }

func (p Policy) restrict(string) error { return nil }
