package enginetest

import "os"

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
