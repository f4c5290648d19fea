package web

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

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

// certificate is a pair of files that someone renews while the daemon runs.
type certificate struct {
	certFile, keyFile string

	mu     sync.Mutex
	pair   tls.Certificate
	stamps [2]stamp
}

// stamp shows whether a file has changed.
type stamp struct {
	modified time.Time
	size     int64
}

// current returns the pair that the files contain now. If they cannot be used, it returns the previous pair, and an
// error once for each change of the files.
func (c *certificate) current() (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if c.stat() != c.stamps {
		err = c.read()
	}
	pair := c.pair
	return &pair, err
}

func (c *certificate) read() error {
	c.stamps = c.stat() // before reading: a change in between is seen the next time
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("reading the certificate %s and its key %s: %w", c.certFile, c.keyFile, err)
	}
	c.pair = pair
	return nil
}

func (c *certificate) stat() (s [2]stamp) {
	for i, name := range []string{c.certFile, c.keyFile} {
		if info, err := os.Stat(name); err == nil {
			s[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return s
}
