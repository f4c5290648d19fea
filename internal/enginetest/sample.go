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

// FewRows reports that the engine of the tests compiles no expressions and has one thread a statement, which saves a
// quarter of its time. In wide samples the engine works as in production, except under the race detector, which sees
// nothing of what the engine does.
func FewRows() bool { return !Wide() || underRace }

// Sample returns how many cases to try: few in go test, or wide if a wide sample is requested.
func Sample(few, wide int) int {
	if Wide() {
		return wide
	}
	return few
}

// Worlds returns how many random worlds to try: few in go test, or wide if a wide sample is requested. Under the race
// detector it is always few: more worlds show the detector nothing new, and take up to ten times as long.
func Worlds(few, wide int) int {
	if underRace {
		return few
	}
	return Sample(few, wide)
}

// Spread returns all cases if a wide sample is requested. Otherwise it returns few of them, at equal distances,
// beginning with the first.
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

// OnlyWide skips a test unless TEST_SAMPLE=wide is set. It is for long tests that show only what other tests show too.
// The comment of such a test says "For wide samples", and then which tests show most of it in every go test.
func OnlyWide(t testing.TB) {
	t.Helper()
	if !Wide() {
		t.Skip("takes long: it runs with " + sampleVariable + "=wide")
	}
}

// Long skips a test under -short, which has those that take a moment: what is left runs after every change, in
// seconds.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
}

// OnlyWideWithoutRace is OnlyWide for tests of which nothing runs beside anything else: the race detector, which slows
// them tenfold, would see nothing. .ci/run has another step for each.
func OnlyWideWithoutRace(t testing.TB) {
	t.Helper()
	OnlyWide(t)
	if underRace {
		t.Skip("nothing runs at once here")
	}
}
