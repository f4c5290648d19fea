// Command dealhouse keeps a ClickHouse warehouse in step with a retailer-deals API.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // schedules name time zones, and small images have none

	"dealhouse/internal/launch"
	"dealhouse/internal/machine"
	"dealhouse/internal/sandbox"
	"dealhouse/internal/service"
)

func main() { os.Exit(sandbox.Aside(func() int { return standalone(func(*app) {}) })) }

// standalone runs the program as its own process, which handles signals. Tests change what is usual.
func standalone(change func(*app)) int {
	machine.LimitHeap()
	ctx, cancel := context.WithCancelCause(context.Background())
	deaf := hear(cancel)
	a := newApp(os.Args, os.Stdin, os.Stdout, os.Stderr, os.Environ())
	change(a)
	a.alone = true
	defer func() { a.release() }()
	a.become = func(policy sandbox.Policy, args []string) error {
		// After deaf, a signal ends the process by itself. A signal that has already come must not get lost.
		deaf()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		a.release() // the next program writes to stderr itself
		err := policy.Become(args)
		deaf = hear(cancel)
		return errors.Join(err, a.startLogging())
	}
	if os.Getenv(launch.Variable) != "" {
		return a.runLaunched(ctx)
	}
	return a.run(ctx, os.Args)
}

// hear ends a context at the first signal, and the process at the second: a user who asks twice does not want to wait
// for the drain. After deaf has returned, signals are no longer handled, and any earlier one has ended the context.
func hear(cancel context.CancelCauseFunc) (deaf func()) {
	signals, quiet := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		defer close(quiet)
		for _, on := range []func(service.SignalError){
			func(s service.SignalError) { cancel(s) },
			func(s service.SignalError) { os.Exit(signalCode(s)) },
		} {
			s := <-signals
			if s == nil {
				return
			}
			on(service.SignalError{Signal: s})
		}
	}()
	return func() {
		signal.Stop(signals)
		signals <- nil
		<-quiet
	}
}
