package engine

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/machine"
)

// safe refuses a directory with a link that a stranger has put there: the engine would write to where it leads. It says
// so if every user of this machine can change the directory.
func safe(dir string, log *slog.Logger) error {
	if machine.OpenToOthers(dir) {
		log.Warn("every user of this machine can change the folder of the warehouse: take that right away from the others (chmod go-w)", "folder", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("looking at its entries: %w", err)
	}
	trusted := []int{0, os.Geteuid(), machine.Owner(dir)}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if e.Type()&fs.ModeSymlink != 0 && !slices.Contains(trusted, machine.Owner(name)) {
			return &contract.FolderError{Path: name, Err: contract.ErrForeignLink}
		}
	}
	return nil
}
