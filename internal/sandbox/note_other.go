//go:build !linux

package sandbox

import (
	"fmt"
	"os"
)

// Note returns an open file with a text in it, at its beginning. The file has no name.
func Note(text []byte) (*os.File, error) {
	f, err := os.CreateTemp("", "note-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary file: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("make a temporary file: %w", err)
	}
	return fill(f, text)
}
