//go:build unix && !linux

package sandbox

import "fmt"

// Missing returns what the kernel cannot block: everything, since this is not Linux.
func Missing() []string {
	return []string{"files", "TCP connections", "other sockets and child processes"}
}

// Verify always fails: nothing is enforced here.
func Verify() error { return fmt.Errorf("%w: this system has no Landlock", ErrNotEnforced) }

// Seal does nothing.
func Seal() error { return nil }

func (p Policy) restrict(string) error { return nil }
