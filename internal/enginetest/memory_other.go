//go:build !linux

package enginetest

// InMemory does nothing, because only Linux has a file system in memory that every process may use.
func InMemory() error { return nil }
