package share

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// longestAddress is how many bytes the path of a socket may have on any system, Linux or not.
const longestAddress = 103

// address returns a path for listening on a socket in a folder, or for connecting to it. The path is valid until done
// is called. On Linux the path of the folder may have any length.
func address(dir, name string) (path string, done func(), err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", nil, fmt.Errorf("looking for the socket of %s: %w", dir, err)
	}
	if path = filepath.Join(dir, name); len(path) <= longestAddress {
		return path, func() {}, nil
	}
	if runtime.GOOS != "linux" {
		return "", nil, fmt.Errorf("the path %s is too long for a socket in it: %w", dir, errors.ErrUnsupported)
	}
	folder, err := os.Open(dir)
	if err != nil {
		return "", nil, fmt.Errorf("looking for the socket of %s: %w", dir, err)
	}
	return filepath.Join("/proc/self/fd", strconv.Itoa(int(folder.Fd())), name), func() { _ = folder.Close() }, nil
}

// Listen listens on a socket in a folder that only the user of this process can open (share-1). It replaces the socket
// of a process that was killed (share-4). remove removes the socket: who arrives after that finds nobody.
func Listen(dir, name string) (listener *net.UnixListener, remove func(), err error) {
	path, done, err := address(dir, name)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	remove = func() { _ = os.Remove(filepath.Join(dir, name)) }
	if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("removing the socket of a process that was killed: %w", err)
	}
	if listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}); err != nil {
		return nil, nil, fmt.Errorf("listening for other processes: %w", err)
	}
	listener.SetUnlinkOnClose(false) // its path may be valid only for a moment
	if err := os.Chmod(filepath.Join(dir, name), 0o600); err != nil {
		return nil, nil, errors.Join(err, listener.Close())
	}
	return listener, remove, nil
}

// Dial connects to a socket in a folder.
func Dial(ctx context.Context, dir, name string) (net.Conn, error) {
	path, done, err := address(dir, name)
	if err != nil {
		return nil, err
	}
	defer done()
	return new(net.Dialer).DialContext(ctx, "unix", path)
}
