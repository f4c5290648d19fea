package share

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// SocketName is the name of the socket in the data directory.
const SocketName = "dealhouse.sock"

// The paths of requests to a host. The path that a guest uses decides about its rights.
const (
	pathHost   = "/host"
	pathAll    = "/all"    // with every right
	pathReader = "/reader" // with the rights of the read-only door
	pathKnows  = "/knows"  // for the process that keeps the host: see Guest.Knows

	// PathDoor is before the paths of Host.Door.
	PathDoor = "/door"
)

// Host serves the guests of a process.
type Host struct {
	Dir string // the data directory, which the caller has open
	// All and Reader answer requests of clickhouse-go's HTTP protocol, with every right and with a reader's.
	All, Reader http.RoundTripper
	// Door, if set, is ClickHouse's HTTP interface for readers. The process that keeps this one passes them on.
	Door http.Handler
	// Lasting says that the process runs until it is told to end (share-3).
	Lasting bool
	Logger  *slog.Logger
	// PID is the process that guests are told of; default: this one.
	PID int
	// Again says that this process takes the place of one that has ended by itself, and that may have known guests.
	Again bool

	guests sync.Map // names of guests that have asked for something
}

// nameHeader has the name that a guest gave itself.
const nameHeader = "X-Dealhouse-Guest"

// Knows reports whether a guest of this name has asked for something. A guest that has not asked cannot have changed
// the data since the host opened it.
func (h *Host) Knows(name string) bool {
	_, known := h.guests.Load(name)
	return known || h.Again
}

// about is what a host says about itself.
type about struct {
	Lasting bool `json:"lasting"`
	PID     int  `json:"pid"`
}

// drain is how long answers under way may take when the host ends.
const drain = 5 * time.Second

// Serve begins to serve guests, and returns at once. stop ends the serving: answers under way have drain to end.
func (h *Host) Serve() (stop func(), err error) {
	listener, remove, err := Listen(h.Dir, SocketName)
	if err != nil {
		return nil, err
	}
	server := h.server()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			h.Logger.Warn("other processes cannot use the warehouse any more", "error", err)
		}
	}()
	return func() {
		remove() // guests that arrive now find no host
		end(server)
		<-ended
	}, nil
}

// ServeOn serves guests on a listener that another process has made, until ctx ends.
func (h *Host) ServeOn(ctx context.Context, listener net.Listener) error {
	server := h.server()
	defer context.AfterFunc(ctx, func() { end(server) })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving other processes: %w", err)
	}
	return context.Cause(ctx)
}

func (h *Host) server() *http.Server {
	return &http.Server{Handler: h.handler(), ReadHeaderTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(h.Logger.Handler(), slog.LevelDebug)}
}

// end ends a server: answers under way have drain to end.
func end(server *http.Server) {
	patience, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	if server.Shutdown(patience) != nil {
		_ = server.Close()
	}
}

func (h *Host) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(pathHost, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(about{Lasting: h.Lasting, PID: cmp.Or(h.PID, os.Getpid())}) // a guest that is gone needs no answer
	})
	mux.HandleFunc(pathKnows, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(h.Knows(r.URL.Query().Get("name")))
	})
	mux.HandleFunc(pathAll, h.relay(h.All))
	mux.HandleFunc(pathReader, h.relay(h.Reader))
	if h.Door == nil {
		return mux
	}
	door := http.StripPrefix(PathDoor, h.Door)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, PathDoor+"/") { // as it came: a mux would make another path of some
			door.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// relay passes a request on to the engine, and sends each piece of the answer back as soon as it arrives.
func (h *Host) relay(to http.RoundTripper) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if name := r.Header.Get(nameHeader); name != "" {
			h.guests.LoadOrStore(name, nil)
		}
		resp, err := to.RoundTrip(r)
		if err != nil {
			panic(http.ErrAbortHandler) // share-2: the engine is closed, or the guest is gone
		}
		defer func() { _ = resp.Body.Close() }()
		header := w.Header()
		for name, values := range resp.Header {
			header[name] = values
		}
		w.WriteHeader(resp.StatusCode)
		if _, err := io.Copy(flushing{w, http.NewResponseController(w)}, resp.Body); err != nil {
			panic(http.ErrAbortHandler) // share-2
		}
	}
}

// flushing sends each piece at once: a guest may wait for the first rows of a long answer.
type flushing struct {
	to         io.Writer
	controller *http.ResponseController
}

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.to.Write(p)
	if err == nil {
		err = f.controller.Flush()
	}
	return n, err
}
