//go:build !unix

package sandbox

import "errors"

// Become is for systems that can execute a program in place of this one.
func (p Policy) Become([]string) error { return errors.ErrUnsupported }

// Missing tells what the kernel cannot refuse: everything.
func Missing() []string {
	return []string{"files", "TCP connections", "other sockets and child processes"}
}

// Verify always fails: nothing is enforced here.
func Verify() error { return ErrNotEnforced }
