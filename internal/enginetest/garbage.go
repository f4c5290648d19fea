package enginetest

import (
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

// garbagePercent is how much garbage a test binary may have, in percent of what it uses, before it is collected. With
// Go's own 100, the small heaps of tests are collected many times a second, which takes a tenth of the time.
const garbagePercent = 400

// CollectLess makes this process collect garbage less often, unless GOGC says how often, or the
// process runs benchmarks.
func CollectLess() {
	if os.Getenv("GOGC") == "" && !benchmarks() {
		debug.SetGCPercent(garbagePercent)
	}
}

// benchmarks reports that this test binary runs benchmarks, which must run like the program in use.
func benchmarks() bool {
	return slices.ContainsFunc(os.Args, func(arg string) bool { return strings.HasPrefix(arg, "-test.bench=") })
}
