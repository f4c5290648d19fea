package launch

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// tableDepth is how deep in the data folder the folders of tables are: store/123/UUID. What is below belongs to the
// engine and is too much to look through. A link there leads out of the sandbox, and is refused.
const tableDepth = 3

// linked adds the targets of the links in dir to folders, and the targets of the links inside those (launch-4).
func linked(dir string, depth int, folders []string) []string {
	entries, _ := os.ReadDir(dir) // what cannot be read cannot be used either; the engine reports it
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.Type()&fs.ModeSymlink != 0 {
			target, err := filepath.EvalSymlinks(path)
			if err != nil || slices.ContainsFunc(folders, func(folder string) bool { return within(target, folder) }) {
				continue
			}
			folders = append(folders, target)
			path = target
		} else if !e.IsDir() {
			continue
		}
		if depth > 1 {
			folders = linked(path, depth-1, folders)
		}
	}
	return folders
}

// within tells whether a path is a folder or below it.
func within(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}
