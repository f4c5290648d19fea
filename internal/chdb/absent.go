//go:build noengine || !(linux || darwin)

package chdb

import (
	"context"
	"net"
	"net/http"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// Built says that this binary has no engine.
const Built = false

// Engine takes the place of the embedded engine in a binary that was built without it. Open never returns one.
type Engine struct{}

// Open returns ErrNotBuilt.
func Open(context.Context, Options) (*Engine, error) {
	return nil, ErrNotBuilt
}

// Find returns ErrNotBuilt.
func Find(context.Context, Options) (Place, error) { return Place{}, ErrNotBuilt }

// Present returns ErrNotBuilt.
func Present(context.Context, Options) (bool, error) { return false, ErrNotBuilt }

// Holder finds no holder.
func Holder(string) (pid int, held bool) { return 0, false }

// Claim returns ErrNotBuilt.
func Claim(string) (release func(), err error) { return nil, ErrNotBuilt }

// Front takes the place of a front.
type Front struct{}

// NewFront makes a front that serves nobody.
func NewFront(string, Kept, HandlerOptions) *Front { return &Front{} }

// NewHostFront makes a front that serves nobody.
func NewHostFront(string, Kept, HandlerOptions) *Front { return &Front{} }

// Answers returns ErrNotBuilt.
func (*Front) Answers(context.Context) error { return ErrNotBuilt }

// Serve returns ErrNotBuilt.
func (*Front) Serve(context.Context, net.Listener) error { return ErrNotBuilt }

// UnderWay knows of no request.
func (*Front) UnderWay() (ids []string, n int) { return nil, 0 }

// Close does nothing.
func (e *Engine) Close() error { return nil }

// Dir returns "".
func (e *Engine) Dir() string { return "" }

// ServerVersion returns "".
func (e *Engine) ServerVersion() string { return "" }

// ClickHouseOptions returns options whose connections fail with ErrNotBuilt.
func (e *Engine) ClickHouseOptions(database string) *clickhouse.Options {
	return &clickhouse.Options{
		Protocol: clickhouse.HTTP,
		Addr:     []string{"embedded:80"},
		Auth:     clickhouse.Auth{Database: database},
		TransportFunc: func(*http.Transport) (http.RoundTripper, error) {
			return e, nil
		},
	}
}

// ReadOnlyOptions returns the same as ClickHouseOptions.
func (e *Engine) ReadOnlyOptions(database string) *clickhouse.Options {
	return e.ClickHouseOptions(database)
}

// RoundTrip returns ErrNotBuilt.
func (e *Engine) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return nil, ErrNotBuilt
}

// Host returns a host that answers no other process.
func (e *Engine) Host(bool) *Host { return &Host{} }

// Serve returns ErrNotBuilt.
func (e *Engine) Serve(context.Context, net.Listener, HandlerOptions) error { return ErrNotBuilt }

// Handler answers every request with 501.
func (e *Engine) Handler(HandlerOptions) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, ErrNotBuilt.Error(), http.StatusNotImplemented)
	})
}
