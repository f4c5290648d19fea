package share

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// socketName is the name of the socket in the data directory.
const socketName = "dealhouse.sock"

// The paths of requests to a host. The path that a guest uses decides about its rights.
const (
	pathHost   = "/host"
	pathAll    = "/all"    // with every right
	pathReader = "/reader" // with the rights of the read-only door
)

// Host serves the guests of a process.
type Host struct {
	Dir string // the data directory, which the caller has open
	// All and Reader answer requests of clickhouse-go's HTTP protocol, with every right and with a reader's.
	All, Reader http.RoundTripper
	// Lasting says that the process runs until it is told to end (share-3).
	Lasting bool
	Logger  *slog.Logger

	guests sync.Map // names of guests that have asked for something
}

// nameHeader has the name that a guest gave itself.
const nameHeader = "X-Dealhouse-Guest"

// Knows reports whether a guest of this name has asked for something. A guest that has not asked cannot have changed
// the data since the host opened it.
func (h *Host) Knows(name string) bool {
	_, known := h.guests.Load(name)
	return known
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
	path, done, err := address(h.Dir)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := os.Remove(filepath.Join(h.Dir, socketName)); err != nil && !errors.Is(err, os.ErrNotExist) { // share-4
		return nil, fmt.Errorf("removing the socket of a process that was killed: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listening for other processes: %w", err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)                      // its path may be valid only for a moment
	if err := os.Chmod(filepath.Join(h.Dir, socketName), 0o600); err != nil { // share-1
		return nil, errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: h.handler(), ReadHeaderTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(h.Logger.Handler(), slog.LevelDebug)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			h.Logger.Warn("other processes cannot use the warehouse any more", "error", err)
		}
	}()
	return func() {
		_ = os.Remove(filepath.Join(h.Dir, socketName)) // guests that arrive now find no host
		patience, cancel := context.WithTimeout(context.Background(), drain)
		defer cancel()
		if server.Shutdown(patience) != nil {
			_ = server.Close()
		}
		<-ended
	}, nil
}

func (h *Host) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(pathHost, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(about{Lasting: h.Lasting, PID: os.Getpid()}) // a guest that is gone needs no answer
	})
	mux.HandleFunc(pathAll, h.relay(h.All))
	mux.HandleFunc(pathReader, h.relay(h.Reader))
	return mux
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
