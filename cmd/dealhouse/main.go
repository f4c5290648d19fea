// Command dealhouse keeps a ClickHouse warehouse in step with a retailer-deals API.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // schedules name time zones, and small images have none
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		cancel(stopped{<-signals})
		os.Exit(stopped{<-signals}.exitCode()) // whoever asks twice does not want to wait for the drain
	}()
	os.Exit(run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
