package enginetest

import (
	"os"
	"testing"
)

// sampleVariable asks for wider samples when it is "wide".
const sampleVariable = "TEST_SAMPLE"

// Wide reports that TEST_SAMPLE=wide asks for more cells of each matrix, and more histories, than go test has time for.
// Without it, tests take the smallest sample that still has each step and each kind of stream, the same each time.
func Wide() bool { return os.Getenv(sampleVariable) == "wide" }

// FewRows reports that the engine of the tests compiles no expressions and has one thread a statement, which saves
// a quarter of its time. Wide samples are as it is in use, but not under the race detector, which sees none of what the
// engine does.
func FewRows() bool { return !Wide() || underRace }

// Sample is how many of many to try: a few in go test, more where a wide sample is asked for.
func Sample(few, wide int) int {
	if Wide() {
		return wide
	}
	return few
}

// Worlds is how many random worlds to try: a few in go test, more where a wide sample is asked for. Under the race
// detector it is a few in any case: one more shows it nothing new, and takes up to ten times as long.
func Worlds(few, wide int) int {
	if underRace {
		return few
	}
	return Sample(few, wide)
}

// Spread returns all of them if a wide sample is asked for. Otherwise it returns a few, at equal distances, beginning
// with the first.
func Spread[T any](all []T, few int) []T {
	if Wide() || few >= len(all) {
		return all
	}
	chosen := make([]T, 0, few)
	for i := range few {
		chosen = append(chosen, all[i*len(all)/few])
	}
	return chosen
}

// OnlyWide skips a test unless TEST_SAMPLE=wide asks for it. It is for long tests that show only what other tests show
// as well.
func OnlyWide(t testing.TB) {
	t.Helper()
	if !Wide() {
		t.Skip("takes long: it runs with " + sampleVariable + "=wide")
	}
}
