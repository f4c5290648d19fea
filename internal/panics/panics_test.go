package panics

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func explode() { panic("on purpose") }

// TestRaisedAgain passes a panic through two goroutines: in the last one it still has the place where it happened.
func TestRaisedAgain(t *testing.T) {
	t.Parallel()
	caught := make(chan error)
	go func() {
		first := make(chan error)
		go func() { first <- Catch(func() error { explode(); return nil }) }()
		caught <- Catch(func() error {
			Raise(fmt.Errorf("waiting for the other one: %w", <-first))
			return nil
		})
	}()
	err, is := errors.AsType[*Error](<-caught)
	if !is || err.Value != "on purpose" || !strings.Contains(string(err.Stack), "panics.explode") {
		t.Errorf("%v, with the stack\n%s", err, err.Stack)
	}
}

// TestNoPanic checks that errors stay what they are, and that what is not a panic is not raised.
func TestNoPanic(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	if err := Catch(func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("the error of a part is %v", err)
	}
	if err := Catch(func() error { return nil }); err != nil {
		t.Errorf("without an error: %v", err)
	}
	Raise(nil)
	Raise(failed)
}

// TestPanicWithAnError distinguishes an error that was the value of a panic from one that was returned.
func TestPanicWithAnError(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	err := Catch(func() error { panic(failed) })
	if caught, is := errors.AsType[*Error](err); !is || caught.Value != any(failed) || errors.Is(err, failed) {
		t.Errorf("%#v", err)
	}
}

// TestAtOnce starts all functions at the same time, and reports which of them panicked when all have ended.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	first, second := make(chan struct{}), make(chan struct{})
	if err := AtOnce(func() { close(first); <-second }, func() { close(second); <-first }); err != nil {
		t.Error(err)
	}

	panicked, ended := make(chan struct{}), false
	err := AtOnce(func() { defer close(panicked); explode() }, func() { <-panicked; ended = true })
	e, is := errors.AsType[*Error](err)
	if !is || e.Value != "on purpose" || !strings.Contains(string(e.Stack), "panics.explode") || !ended {
		t.Errorf("%v, the other one ended: %v", err, ended)
	}
}
