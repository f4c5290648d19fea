package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// ErrIncomplete means that a folder or file is no backup, or not all of one.
var ErrIncomplete = errors.New("not a whole backup")

// ErrDamaged means that a backup is not as it was written.
var ErrDamaged = errors.New("the backup is damaged: take another one")

// ErrNewer means that a backup has a form that this version does not know.
var ErrNewer = errors.New("it was made by a newer version in a form that this one does not know: use that version")

// UnusableError means that a backup, or the place for one, cannot be used. Trying again does not help.
type UnusableError struct{ err error }

func (e UnusableError) Error() string { return e.err.Error() }

// Unwrap is what is wrong with it.
func (e UnusableError) Unwrap() error { return e.err }

func unusablef(format string, args ...any) error { return UnusableError{fmt.Errorf(format, args...)} }

// orUnusable makes an UnusableError of an error that comes again whenever the backup is read.
func orUnusable(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrIncomplete) || errors.Is(err, ErrDamaged) ||
		errors.Is(err, ErrNewer) {
		return UnusableError{err}
	}
	return err
}

// stillRunningError says that a run did not end in time for a backup.
type stillRunningError struct{ wait time.Duration }

func (e stillRunningError) Error() string {
	return fmt.Sprintf("a run under way has not ended within %s, and nothing was backed up: run it again later, or with a longer --wait; `dealhouse operate cancel` stops a run of the daemon", e.wait)
}
