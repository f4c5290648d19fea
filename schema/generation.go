package schema

import (
	_ "embed" // for the text below
	"fmt"
)

//go:embed generation.txt
var generation string

// Generation is the number of the tables and views that follow from internal/catalog and views/, and the checksum of
// their statements. The number rises with every change of them, so that of two versions of the program the older one
// knows that it is. A test in internal/warehouse fails where it did not, and `go generate ./...` raises it.
func Generation() (number uint32, checksum string, err error) {
	if _, err := fmt.Sscanf(generation, "%d %s", &number, &checksum); err != nil {
		return 0, "", fmt.Errorf("reading schema/generation.txt: %w", err)
	}
	return number, checksum, nil
}
