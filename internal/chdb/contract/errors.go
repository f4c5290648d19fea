package contract

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

var (
	// ErrNotBuilt is returned by Open in a binary built with the tag noengine.
	ErrNotBuilt = errors.New("this binary was built without the embedded engine: set warehouse.dsn to a clickhouse:// or https:// server")

	// ErrLocked means that another process has the data directory open.
	ErrLocked = errors.New("the data directory is in use by another process")

	// ErrClosed is the error of requests after Close.
	ErrClosed = errors.New("the embedded engine is closed")

	// ErrNoVerifiedLibrary means that no library is known for this platform.
	ErrNoVerifiedLibrary = errors.New("no verified ClickHouse library is known for this platform")

	// ErrNoNPM means that the library has to be downloaded and npm is missing.
	ErrNoNPM = errors.New("npm was not found")

	// ErrCorrupt means that a download does not have the pinned hash.
	ErrCorrupt = errors.New("the download does not have the expected hash")
)

// OtherDirError means that this process already has another directory open;
// the library allows one at a time.
type OtherDirError struct {
	Open   string // the directory that is open
	Wanted string
}

func (e *OtherDirError) Error() string {
	return fmt.Sprintf("open %s: this process already has the embedded engine open on %s, and it can open one directory at a time: close that one first, or use another process",
		e.Wanted, e.Open)
}

// FolderError means that this process cannot write to a data directory, or cannot make it. It stays so until somebody
// changes something.
type FolderError struct {
	Path string // the directory, or what is in its place or in its way
	Err  error
}

// ErrForeignLink is the error of a link in a data directory that another user has made.
var ErrForeignLink = errors.New("a link of another user")

func (e *FolderError) Error() string {
	if errors.Is(e.Err, syscall.ENOTDIR) {
		return e.Path + " is not a folder: set warehouse.dsn to another one"
	}
	if errors.Is(e.Err, ErrForeignLink) {
		return e.Path + " is a link that another user has made, and what is loaded would be written to where it leads: remove it, and see what else that user has changed"
	}
	return fmt.Sprintf("%s cannot be written to (%v): give it to the user of this command, or set warehouse.dsn to another folder",
		e.Path, e.Err)
}

func (e *FolderError) Unwrap() error { return e.Err }

// IsLasting reports that a file or folder cannot be used until somebody changes it, or its rights.
func IsLasting(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOTDIR)
}

// LibraryError means that the engine's library could not be found, downloaded or loaded. Its text says what to do.
type LibraryError struct {
	Op   string // what was being done
	Hint string // what the user can do about it
	Err  error
	// Setting says that it stays so until the user changes something on this machine: trying again does not help.
	Setting bool
}

func (e *LibraryError) Error() string {
	return fmt.Sprintf("ClickHouse engine: %s: %v (%s)", e.Op, e.Err, e.Hint)
}

func (e *LibraryError) Unwrap() error { return e.Err }
