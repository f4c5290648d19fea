package door

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// one is a listener with one connection to accept.
type one struct {
	conns chan net.Conn
	net.Conn
}

func (l one) Accept() (net.Conn, error) {
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l one) Close() error   { close(l.conns); return nil }
func (l one) Addr() net.Addr { return l.LocalAddr() }

func TestIdleConnectionsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		listener := one{conns: make(chan net.Conn, 1), Conn: server}
		listener.conns <- server
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- serveHandler(ctx, listener, http.NotFoundHandler()) }()
		if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(client)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		start := time.Now()
		if _, err := r.ReadByte(); !errors.Is(err, io.EOF) || time.Since(start) != idle {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
