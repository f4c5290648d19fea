package share

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// longestAddress is how many bytes the path of a socket may have on any system, Linux or not.
const longestAddress = 103

// address returns a path for listening on the socket of a folder, or for connecting to it. The path is valid until done
// is called. On Linux the path of the folder may have any length.
func address(dir string) (path string, done func(), err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", nil, fmt.Errorf("looking for the socket of %s: %w", dir, err)
	}
	if path = filepath.Join(dir, socketName); len(path) <= longestAddress {
		return path, func() {}, nil
	}
	if runtime.GOOS != "linux" {
		return "", nil, fmt.Errorf("the path %s is too long for a socket in it: %w", dir, errors.ErrUnsupported)
	}
	folder, err := os.Open(dir)
	if err != nil {
		return "", nil, fmt.Errorf("looking for the socket of %s: %w", dir, err)
	}
	return filepath.Join("/proc/self/fd", strconv.Itoa(int(folder.Fd())), socketName), func() { _ = folder.Close() }, nil
}
