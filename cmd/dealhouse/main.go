// Command dealhouse keeps a ClickHouse warehouse in step with a retailer-deals API.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // schedules name time zones, and small images have none

	"dealhouse/internal/sandbox"
	"dealhouse/internal/service"
)

func main() { os.Exit(sandbox.Aside(standalone)) }

// standalone is the program as a process of its own, which hears signals.
func standalone() int {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals, quiet := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		defer close(quiet)
		for _, on := range []func(service.SignalError){
			func(s service.SignalError) { cancel(s) },
			func(s service.SignalError) { os.Exit(signalCode(s)) }, // whoever asks twice does not want to wait for the drain
		} {
			s := <-signals
			if s == nil {
				return
			}
			on(service.SignalError{Signal: s})
		}
	}()
	a := newApp(os.Args, os.Stdin, os.Stdout, os.Stderr, os.Environ())
	a.become = func(policy sandbox.Policy, args []string) error {
		// From here on a signal ends the process by itself; one that has come already must not get lost.
		signal.Stop(signals)
		signals <- nil
		<-quiet
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return policy.Become(args)
	}
	if stage := os.Getenv(errandVariable); stage != "" {
		return a.runErrand(ctx, stage)
	}
	return a.run(ctx, os.Args)
}
