package syncer

import (
	"errors"
	"fmt"
	"runtime/debug"
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

// Contain runs a part of a run and makes a [*PanicError] of its panic (syncer-10). Every goroutine of a run needs its
// own: a panic can be recovered only in the goroutine that it comes from, and ends the process otherwise.
func Contain(part func() error) (err error) {
	defer func() {
		switch value := recover().(type) {
		case nil:
		case interface{ Stack() []byte }: // from a goroutine of the client
			err = &PanicError{Value: value, Stack: value.Stack()}
		default:
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	return part()
}

func isPanic(err error) bool {
	_, panicked := errors.AsType[*PanicError](err)
	return panicked
}
