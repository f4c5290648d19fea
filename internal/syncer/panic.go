package syncer

import (
	"errors"
	"fmt"

	"dealhouse/internal/panics"
)

// PanicError is a panic that ended a run and nothing else. It is a mistake in this program.
type PanicError struct {
	Value any
	Stack []byte // of the goroutine that panicked; for the log, not for people
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("a bug in this program ended the run; nothing half-loaded is visible: panic: %v",
		e.Value)
}

// Contain runs a part of a run, and returns a [*PanicError] if it panics (syncer-10). Every goroutine of a run needs
// its own: a panic can be recovered only in the goroutine that it comes from, and ends the process otherwise.
func Contain(part func() error) error {
	err := panics.Catch(part)
	if p, panicked := errors.AsType[*panics.Error](err); panicked {
		return &PanicError{Value: p.Value, Stack: p.Stack}
	}
	return err
}

func isPanic(err error) bool {
	_, panicked := errors.AsType[*PanicError](err)
	return panicked
}
