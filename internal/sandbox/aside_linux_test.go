package sandbox

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// mainThread reports whether the main goroutine, which calls it, is still on the main thread after others have taken
// all processors from it for a while.
func mainThread() bool {
	var enough atomic.Bool
	defer enough.Store(true)
	for range 2 * runtime.GOMAXPROCS(0) {
		go func() {
			for !enough.Load() {
				runtime.Gosched()
			}
		}()
	}
	for begin := time.Now(); time.Since(begin) < 50*time.Millisecond; {
		runtime.Gosched()
	}
	return syscall.Gettid() == os.Getpid()
}

func TestAside(t *testing.T) {
	if !stayed {
		t.Error("the main goroutine went to another thread, and left the main one to others")
	}
}
