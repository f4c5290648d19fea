package main

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// crowd bounds the connections to a server. When there are too many, one that has been open for longest and does
// nothing for anybody is closed: whoever opens connections without asking on them does not keep others out.
type crowd struct {
	net.Listener
	most int

	mu    sync.Mutex
	seats map[*seat]bool
}

// seat is one connection.
type seat struct {
	net.Conn
	crowd *crowd
	since time.Time
	busy  bool // guarded by crowd.mu
	once  sync.Once
}

func newCrowd(l net.Listener, most int) *crowd {
	return &crowd{Listener: l, most: most, seats: map[*seat]bool{}}
}

// Accept makes room for a connection where there is none.
func (c *crowd) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	s := &seat{Conn: conn, crowd: c, since: time.Now()}
	c.mu.Lock()
	c.seats[s] = true
	var oldest *seat
	if len(c.seats) > c.most {
		for other := range c.seats {
			if !other.busy && (oldest == nil || other.since.Before(oldest.since)) {
				oldest = other
			}
		}
	}
	c.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close()
	}
	return s, nil
}

// Close closes the connection and frees its place.
func (s *seat) Close() error {
	s.once.Do(func() {
		s.crowd.mu.Lock()
		defer s.crowd.mu.Unlock()
		delete(s.crowd.seats, s)
	})
	return s.Conn.Close()
}

// seatKey is where the context of a request has its connection.
type seatKey struct{}

// withSeat is for http.Server.ConnContext.
func withSeat(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, seatKey{}, c)
}

// keep protects the connection of a request until over is called.
func keep(req *http.Request) (over func()) {
	s, ok := req.Context().Value(seatKey{}).(*seat)
	if !ok {
		return func() {}
	}
	mark := func(busy bool) {
		s.crowd.mu.Lock()
		defer s.crowd.mu.Unlock()
		s.busy, s.since = busy, time.Now()
	}
	mark(true)
	return func() { mark(false) }
}
