package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Policy names what the new program may do. What is not named is refused (sandbox-1).
type Policy struct {
	// Read are files and folders that may be read. Those that do not exist are left out.
	Read []string
	// Write are folders and files with all rights except executing. They must exist.
	Write []string
	// Unconfined leaves all rights: only the environment and the open files are chosen.
	Unconfined bool
	// Env is the environment, name=value.
	Env []string
	// Files are open in the new program as 3, 4 and so on.
	Files []*os.File
}

// ErrNotEnforced means that a process which should be confined is not.
var ErrNotEnforced = errors.New("the sandbox is not enforced")

// Engine libraries are loaded from these folders, and look at these files.
var (
	systemLibraries = []string{
		"/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache",
	}
	systemFacts = []string{
		"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu", "/sys/fs/cgroup",
		"/etc/localtime", "/usr/share/zoneinfo", "/dev/random", "/dev/urandom",
	}
)

// SystemFiles returns what a program that loads libraries of C needs to read: the libraries of the system, how many
// processors and how much memory there are, and time zones.
func SystemFiles() []string {
	return append(append([]string(nil), systemLibraries...), systemFacts...)
}

// Keep picks variables of an environment by name.
func Keep(env []string, names ...string) []string {
	var kept []string
	for _, name := range names {
		for _, entry := range env {
			if strings.HasPrefix(entry, name+"=") {
				kept = append(kept, entry)
			}
		}
	}
	return kept
}

// program returns the file to execute: by the name that this process was started with, if it still is that file, so
// that tools that look for processes by name find it as before.
func program() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program's own file: %w", err)
	}
	if called, err := exec.LookPath(os.Args[0]); err == nil && sameFile(called, path) {
		return called, nil
	}
	return path, nil
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a) //nolint:gosec // it is only compared with this program's own file
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// fill writes a text to a file and goes back to its beginning.
func fill(f *os.File, text []byte) (*os.File, error) {
	_, err := f.Write(text)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("write a note: %w", err)
	}
	return f, nil
}
