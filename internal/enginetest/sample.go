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

// Sample is how many of many to try: a few in go test, more where a wide sample is asked for.
func Sample(few, wide int) int {
	if Wide() {
		return wide
	}
	return few
}

// Spread are all of them where a wide sample is asked for, else a few, from the first on at equal distances.
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

// OnlyWide skips what takes long and shows nothing that other tests do not show as well, unless TEST_SAMPLE=wide asks
// for it.
func OnlyWide(t testing.TB) {
	t.Helper()
	if !Wide() {
		t.Skip("takes long: it runs with " + sampleVariable + "=wide")
	}
}
