package share

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// ErrNobody means that no process shares the data directory.
var ErrNobody = errors.New("no process answers for the data directory")

// ErrHostEnded means that the process which had the data open has ended.
var ErrHostEnded = errors.New("the dealhouse process that had the warehouse open has ended: run the command again")

// Guest works through the process that has a data directory open.
type Guest struct {
	// Name is the name by which the host knows this guest (Host.Knows). Set it before the first statement.
	Name string

	// Ended, if set, ends the host: this process keeps it for itself. Close calls it.
	Ended func() error

	dir   string
	about about
	http  *http.Transport
}

// buffered is how many bytes go to or from the host at once: a load sends hundreds of megabytes.
const buffered = 128 << 10

// hello is how long a host may take for its first answer.
const hello = 30 * time.Second

// Join finds the host of a data directory, or returns ErrNobody.
func Join(ctx context.Context, dir string) (*Guest, error) {
	g := &Guest{dir: dir}
	g.http = &http.Transport{DialContext: g.dial, DisableCompression: true, MaxIdleConnsPerHost: connections,
		WriteBufferSize: buffered, ReadBufferSize: buffered}
	ctx, cancel := context.WithTimeout(ctx, hello)
	defer cancel()
	if err := g.learn(ctx, pathHost, &g.about); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return g, nil
}

func (g *Guest) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return Dial(ctx, g.dir, SocketName)
}

// Lasting reports whether the host runs until it is told to end (share-3).
func (g *Guest) Lasting() bool { return g.about.Lasting }

// PID returns the process id of the host.
func (g *Guest) PID() int { return g.about.PID }

// Own reports that this process keeps the host, so that nobody else has the data open (share-5).
func (g *Guest) Own() bool { return g.Ended != nil }

// Knows reports whether a guest of this name may have asked the host for something. Whoever cannot tell says yes.
func (g *Guest) Knows(name string) bool {
	known := true
	ctx, cancel := context.WithTimeout(context.Background(), hello)
	defer cancel()
	if err := g.learn(ctx, pathKnows+"?name="+url.QueryEscape(name), &known); err != nil {
		return true
	}
	return known
}

// learn asks the host about itself.
func (g *Guest) learn(ctx context.Context, path string, answer any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://dealhouse"+path, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := g.http.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNobody, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		return fmt.Errorf("asking the process that has %s open: %w", g.dir, err)
	}
	return nil
}

// Close closes the connections to the host, and ends it if it is this process's own.
func (g *Guest) Close() error {
	g.http.CloseIdleConnections()
	if g.Ended != nil {
		return g.Ended()
	}
	return nil
}

// connections is how many connections a guest has at most. The host's own requests wait for the engine's connections
// together with those of guests.
const connections = 8

// ClickHouseOptions returns options for clickhouse.Open that connect it to the host.
func (g *Guest) ClickHouseOptions(database string) *clickhouse.Options {
	return g.options(database, pathAll)
}

// ReadOnlyOptions returns the same as ClickHouseOptions, with the rights of the read-only door.
func (g *Guest) ReadOnlyOptions(database string) *clickhouse.Options {
	return g.options(database, pathReader)
}

func (g *Guest) options(database, path string) *clickhouse.Options {
	return &clickhouse.Options{
		Protocol:      clickhouse.HTTP,
		Addr:          []string{"dealhouse:80"}, // never dialled: connections lead to the socket
		Auth:          clickhouse.Auth{Database: database},
		TransportFunc: func(*http.Transport) (http.RoundTripper, error) { return caller{g, path}, nil },
		MaxOpenConns:  connections,
		MaxIdleConns:  connections,
		ReadTimeout:   30 * time.Minute, // a merge of millions of rows answers when it is done
		DialTimeout:   24 * time.Hour,   // for the wait for a free connection: as long as the caller waits
	}
}

// caller sends requests to one of the host's addresses.
type caller struct {
	guest *Guest
	path  string
}

// RoundTrip reports a host that does not answer as one that has ended: it was there when the guest joined.
func (c caller) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Path = c.path
	r.Header.Set(nameHeader, c.guest.Name)
	resp, err := c.guest.http.RoundTrip(r)
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		err = fmt.Errorf("%w (%w)", ErrHostEnded, op.Err)
	}
	return resp, err
}
