package door

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// limitedListener bounds the connections to a server. When there are too many, the one that has been idle for longest
// is closed: idle connections do not keep others out.
type limitedListener struct {
	net.Listener
	most int

	mu   sync.Mutex
	open map[*limitedConn]bool
}

// limitedConn is a connection of a limitedListener.
type limitedConn struct {
	net.Conn
	listener *limitedListener
	since    time.Time // when it last became busy or idle
	busy     bool      // guarded by listener.mu
	once     sync.Once
}

// limitConnections lets a listener have so many connections at most.
func limitConnections(l net.Listener, most int) *limitedListener {
	return &limitedListener{Listener: l, most: most, open: map[*limitedConn]bool{}}
}

// Accept makes room for a connection where there is none.
func (l *limitedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &limitedConn{Conn: conn, listener: l, since: time.Now()}
	l.mu.Lock()
	l.open[c] = true
	var oldest *limitedConn
	if len(l.open) > l.most {
		for other := range l.open {
			if !other.busy && (oldest == nil || other.since.Before(oldest.since)) {
				oldest = other
			}
		}
	}
	l.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close()
	}
	return c, nil
}

// Close closes the connection and frees its place.
func (c *limitedConn) Close() error {
	c.once.Do(func() {
		c.listener.mu.Lock()
		defer c.listener.mu.Unlock()
		delete(c.listener.open, c)
	})
	return c.Conn.Close()
}

// connectionKey is the key of the connection in the context of a request.
type connectionKey struct{}

// withConnection is for http.Server.ConnContext.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// keepOpen keeps the connection of a request from being closed until over is called.
func keepOpen(req *http.Request) (over func()) {
	c, ok := req.Context().Value(connectionKey{}).(*limitedConn)
	if !ok {
		return func() {}
	}
	c.mark(true)
	return func() { c.mark(false) }
}

// touch says that the connection of a request has moved something.
func touch(req *http.Request) {
	if c, ok := req.Context().Value(connectionKey{}).(*limitedConn); ok {
		c.mark(false)
	}
}

func (c *limitedConn) mark(busy bool) {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.busy, c.since = busy, time.Now()
}
