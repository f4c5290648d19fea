//go:build linux && !amd64

package sandbox

// forks are the older calls that make a process: newer architectures have none.
var forks []uint32
