package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

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

// newTLSConfig returns the TLS configuration, nil without a certificate.
func (s *Server) newTLSConfig() (*tls.Config, error) {
	if s.o.TLSCert == "" {
		return nil, nil //nolint:nilnil // no certificate is not an error, and plain HTTP has no configuration
	}
	c := &certificate{certFile: s.o.TLSCert, keyFile: s.o.TLSKey}
	if err := c.read(); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		current, err := c.current()
		if err != nil {
			s.log.Error("the new certificate cannot be used; the old one stays", "error", err)
		}
		return current, nil
	}}, nil
}

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
