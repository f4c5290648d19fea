package sandbox

import "runtime"

// The main goroutine stays on the main thread from the start, and keeps everything else off it: see Aside. Go promises
// this only for a lock that is taken while packages are initialised. In main it is too late, because a goroutine that
// was interrupted may go on in another thread.
func init() { runtime.LockOSThread() } //nolint:gochecknoinits // see above

// Aside runs f on other threads than the main one, which does nothing meanwhile, and returns what f returns.
// Libraries of C look up the bounds of the main thread's stack in a file of /proc that is refused inside; for other
// threads they need no such file. It is for the main goroutine.
func Aside(f func() int) int {
	result := make(chan int)
	go func() { result <- f() }()
	return <-result
}
