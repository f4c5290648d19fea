package sandbox

import "runtime"

// Aside runs f on other threads than the main one, which does nothing meanwhile, and returns what f returns.
// Libraries of C look up the bounds of the main thread's stack in a file of /proc that is refused inside; for other
// threads they need no such file. It is for the beginning of main: only the main goroutine is on that thread, and
// only until it first waits.
func Aside(f func() int) int {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	result := make(chan int)
	go func() { result <- f() }()
	return <-result
}
