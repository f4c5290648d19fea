// Package panics carries a panic from the goroutine in which it happens to the one that waits for it. A panic can be
// recovered only in the goroutine that it comes from, and ends the process otherwise. The goroutine that waits raises
// it again. So it ends what it would have ended without a second goroutine: a run, or a request.
//
// Invariants, cited in the code as panics-N:
//
//  1. The stack of an [Error] is that of the goroutine in which the panic happened first, however often it is raised
//     and caught again.
package panics

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// Error is a panic that was caught. It is a mistake in this program.
type Error struct {
	Value any
	Stack []byte // of the goroutine that panicked; for the log, not for people
}

func (e *Error) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Catch runs part and makes an [*Error] of its panic. Otherwise the error is that of part.
func Catch(part func() error) (err error) {
	defer func() {
		switch value := recover().(type) {
		case nil:
		case *Error: // raised again (panics-1)
			err = value
		default:
			err = &Error{Value: value, Stack: debug.Stack()}
		}
	}()
	return part()
}

// AtOnce does several things at the same time, and waits for all of them. The error is nil, or has an [*Error] for each
// that panicked.
func AtOnce(all ...func()) error {
	var group sync.WaitGroup
	errs := make([]error, len(all))
	for i, do := range all {
		group.Go(func() { errs[i] = Catch(func() error { do(); return nil }) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// Raise panics with the [*Error] that err has in it. If err has none, it does nothing.
func Raise(err error) {
	if e, panicked := errors.AsType[*Error](err); panicked {
		panic(e)
	}
}
