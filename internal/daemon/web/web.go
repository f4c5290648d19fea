package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/syncer"
	"dealhouse/internal/trust"
	"dealhouse/internal/warehouse"
)

// Options of a Server. Warehouse, Metrics, Ready and Streams must be given.
type Options struct {
	// Listen is host:port; port 0 chooses one.
	Listen string
	// User and Password are required of viewers if they are set; both or neither.
	User, Password string
	// TLSCert and TLSKey are PEM files, read again when they change; both or neither. Neither: plain HTTP.
	TLSCert, TLSKey string
	// Pprof serves Go's profiles under /debug/pprof/. It is refused on a listener that other machines can reach.
	Pprof bool

	Warehouse *warehouse.Warehouse
	Metrics   http.Handler
	// Ready returns why the daemon cannot work now, nil if it can. An error that joins several is shown as several.
	Ready func(ctx context.Context) error
	// Streams are the configured streams, in the order of the configuration.
	Streams func() []Stream
	// Act carries out what an operator requests. It is used only if User is set. nil: no actions are possible.
	Act func(context.Context, warehouse.Action) (Acted, error)
	// OverdueAfter returns the age from which on a sale should be in a payout; default: catalog.DefaultOverdueAfter.
	OverdueAfter func() time.Duration
	// Tolerances returns by how much payouts may differ before somebody has to look, by currency, in its
	// smallest unit; default: none.
	Tolerances func() map[string]int64

	// Refused returns why the newest configuration was refused, so that the one before is in force; "": it was not. nil:
	// it never is.
	Refused func() string

	// Receivers returns the names and the forms of the receivers of notifications; nil: there are none.
	Receivers func() (names, forms []string)

	Waits Waits // default: the usual ones

	Version string           // of the program, for people; "": not shown
	Logger  *slog.Logger     // default: none
	Clock   func() time.Time // default: time.Now
}

// Stream is what the daemon knows about one configured stream of one account. What the warehouse knows is
// read from the warehouse.
type Stream struct {
	Account, Stream string
	Enabled         bool
	Scope           catalog.Scope    // the part of the stream that is loaded; nil: all of it
	Schedule        string           // as configured, for people; "" if it never runs by itself
	Next            time.Time        // zero: none planned
	Queued          bool             // it is due and waits until other runs have ended
	StaleAfter      time.Duration    // age of the last success beyond which the stream is late by its own schedule; 0: never
	Running         *syncer.Progress // nil when idle
	Since           time.Time        // when the running run started
	LastError       string           // of the last attempt in this process; "" if it succeeded
	FailedAt        time.Time        // when that attempt ended, by this machine's clock
	Stopping        bool             // an operator has cancelled the running run

	Paused *warehouse.Action // who has paused it or its account; nil: not paused
}

// Limits of one request, in addition to Waits. Nobody has a reason to send a large one.
const (
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 32 << 10
)

// Server serves the daemon's HTTP side.
type Server struct {
	o         *Options
	log       *slog.Logger
	listener  net.Listener
	server    *http.Server
	gate      *gate
	answers   *answers
	operator  *operator
	reply     *replies
	began     time.Time
	downloads chan struct{} // has an element for each download under way
	said      said
}

// ListenError means that the server cannot have its address. That ends when somebody changes something.
type ListenError struct {
	Address string
	Err     error
}

func (e *ListenError) Error() string {
	advice := "set daemon.listen to an address of this machine"
	switch {
	case errors.Is(e.Err, syscall.EADDRINUSE):
		advice = "set daemon.listen to another address, or stop the other daemon or program that has this one"
	case errors.Is(e.Err, syscall.EACCES):
		advice = "set daemon.listen to a port of 1024 or above, or give this program the right to use lower ones"
	}
	return fmt.Sprintf("listening on %s: %v: %s", e.Address, e.Err, advice)
}

func (e *ListenError) Unwrap() error { return e.Err }

// New starts to listen, so that Addr is known, and a port in use is an error at once. Serve answers requests.
func New(o Options) (*Server, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	s := &Server{o: &o, log: o.Logger, began: o.Clock(), downloads: make(chan struct{}, maxDownloads)}
	certificate, err := s.newTLSConfig()
	if err != nil {
		return nil, err
	}
	if s.reply, err = newReplies(o.Logger); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", o.Listen)
	if err != nil {
		return nil, &ListenError{o.Listen, err}
	}
	s.listener = listener
	s.gate = &gate{o: &o, loopback: trust.LocalListener(listener.Addr()), secret: newSecret(),
		crossing: http.NewCrossOriginProtection()}
	if o.Pprof && !s.gate.loopback {
		return nil, errors.Join(fmt.Errorf("profiles (pprof) are served on a loopback address only, and other machines reach %s: listen on 127.0.0.1, or turn them off", o.Listen), listener.Close())
	}
	s.answers = newAnswers(&o)
	s.operator = &operator{o: &o, log: o.Logger, answers: s.answers}
	s.server = &http.Server{
		Handler:           s.gate.guard(s.routes()),
		TLSConfig:         certificate,
		ReadHeaderTimeout: s.o.Waits.Header, ReadTimeout: s.o.Waits.Request, WriteTimeout: s.o.Waits.Answer,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), // bad requests of strangers are not worth a log line
	}
	s.warn()
	return s, nil
}

// withDefaults fills in what was left out.
func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.OverdueAfter == nil {
		o.OverdueAfter = func() time.Duration { return catalog.DefaultOverdueAfter }
	}
	if o.Tolerances == nil {
		o.Tolerances = func() map[string]int64 { return nil }
	}
	o.Waits = o.Waits.orUsual()
	return o
}

func (o Options) validate() error {
	switch {
	case o.Warehouse == nil, o.Metrics == nil, o.Ready == nil, o.Streams == nil:
		return errors.New("web: Warehouse, Metrics, Ready and Streams must be given")
	case (o.User == "") != (o.Password == ""):
		return errors.New("a user and a password for the status page go together: give both or neither")
	case (o.TLSCert == "") != (o.TLSKey == ""):
		return errors.New("a certificate and its key go together: give both files or neither")
	}
	return nil
}

// warn logs settings that an operator may not have intended.
func (s *Server) warn() {
	switch {
	case s.gate.loopback:
	case !s.o.secured():
		s.log.Warn("anyone who reaches this address can read the status page, run errors, rejected records and metrics: set a user and a password, or listen on 127.0.0.1",
			"listen", s.Addr())
	case s.o.TLSCert == "":
		s.log.Warn("the password of the status page is sent unencrypted: set a certificate and a key, or put a proxy with TLS in front", "listen", s.Addr())
	}
}

// secured reports whether credentials are required.
func (o Options) secured() bool { return o.User != "" }

// Addr returns the address that the server listens on, host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Serve answers requests until ctx ends, and returns when the answers under way are done. It must be called once.
func (s *Server) Serve(ctx context.Context) error {
	defer s.answers.reads.close()
	ended := make(chan error, 1)
	go func() { ended <- s.answer() }()
	select {
	case err := <-ended:
		return fmt.Errorf("serving HTTP on %s: %w", s.Addr(), err)
	case <-ctx.Done():
	}
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.Waits.Drain)
	defer cancel()
	err := s.server.Shutdown(patience)
	if err != nil {
		err = errors.Join(fmt.Errorf("cutting HTTP requests off after %s: %w", s.o.Waits.Drain, err), s.server.Close())
	}
	if end := <-ended; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

func (s *Server) answer() error {
	if s.server.TLSConfig != nil {
		return s.server.ServeTLS(s.listener, "", "")
	}
	return s.server.Serve(s.listener)
}
