package share

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// longestAddress is how long the name of a socket can be, on Linux and elsewhere.
const longestAddress = 103

// address is the name under which the socket of a folder can be listened to and called, until done is called. On Linux
// the folder may have any name.
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
