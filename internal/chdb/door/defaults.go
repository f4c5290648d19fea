//go:build !noengine && (linux || darwin)

package chdb

import (
	"log/slog"
	"net/http"
	"runtime"
	"time"
)

// withDefaults fills in what has been left at zero.
func (o Options) withDefaults() Options {
	if o.MaxConns <= 0 {
		o.MaxConns = max(8, 2*runtime.GOMAXPROCS(0))
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// withDefaults fills in what has been left at zero; log is the engine's.
func (o HandlerOptions) withDefaults(log *slog.Logger) HandlerOptions {
	if o.MaxQueryBytes <= 0 {
		o.MaxQueryBytes = 4 << 20
	}
	if o.MaxBufferedBytes <= 0 {
		o.MaxBufferedBytes = 256 << 20
	}
	if o.MaxWait <= 0 {
		o.MaxWait = 5 * time.Second
	}
	if o.Grace <= 0 {
		o.Grace = 30 * time.Second
	}
	if o.MinRate <= 0 {
		o.MinRate = 16 << 10
	}
	if o.Busy == nil {
		o.Busy = func(*http.Request) func() { return func() {} }
	}
	if o.Logger == nil {
		o.Logger = log
	}
	if o.User == "" && o.Password != "" {
		o.User = "default"
	}
	return o
}
