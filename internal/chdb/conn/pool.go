//go:build !noengine && (linux || darwin)

package chdb

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// pool hands out connections, at most so many at a time.
type pool struct {
	open func() (*conn, error)
	// tokens has one element for each connection that may still be lent.
	tokens chan struct{}
	ended  chan struct{}
	once   sync.Once

	mu   sync.Mutex
	idle []*conn
}

func newPool(n int, open func() (*conn, error)) *pool {
	p := &pool{open: open, tokens: make(chan struct{}, n), ended: make(chan struct{})}
	for range n {
		p.tokens <- struct{}{}
	}
	return p
}

func (p *pool) size() int { return cap(p.tokens) }

// get lends a connection, if possible one that already is at the database and
// settings asked for.
func (p *pool) get(ctx context.Context, db string, settings map[string]string) (*conn, error) {
	select {
	case <-p.ended:
		return nil, ErrClosed
	default:
	}
	select {
	case <-p.tokens:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-p.ended:
		return nil, ErrClosed
	}
	select {
	case <-p.ended:
		p.tokens <- struct{}{}
		return nil, ErrClosed
	default:
	}
	if c := p.take(db, settings); c != nil {
		return c, nil
	}
	c, err := p.open()
	if err != nil {
		p.tokens <- struct{}{}
		return nil, fmt.Errorf("open one more connection to the embedded engine: %w", err)
	}
	return c, nil
}

func (p *pool) take(db string, settings map[string]string) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	at := n - 1
	for i := n - 1; i >= 0; i-- {
		if p.idle[i].matches(db, settings) {
			at = i
			break
		}
	}
	c := p.idle[at]
	p.idle = append(p.idle[:at], p.idle[at+1:]...)
	return c
}

// put takes a connection back, or closes it if its state is unknown (chdb-2).
func (p *pool) put(c *conn) {
	if c.unknown {
		c.close()
	} else {
		p.mu.Lock()
		p.idle = append(p.idle, c)
		p.mu.Unlock()
	}
	p.tokens <- struct{}{}
}

// close waits for every connection that is lent, and closes all.
func (p *pool) close() {
	p.once.Do(func() {
		close(p.ended)
		for range cap(p.tokens) {
			<-p.tokens
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, c := range p.idle {
			c.close()
		}
		p.idle = nil
	})
}

// controller kills queries, on a connection that does nothing else (chdb-6).
type controller struct {
	mu   sync.Mutex
	conn *conn // nil after close
}

// kill asks once for the end of the queries whose text begins with mark.
func (k *controller) kill(mark string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.conn == nil {
		return ErrClosed
	}
	return k.conn.exec("KILL QUERY WHERE startsWith(query, " + quoteString(mark) + ") ASYNC")
}

func (k *controller) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.conn != nil {
		k.conn.close()
		k.conn = nil
	}
}

// killUntil repeats the kill until done is closed: a query that has only just
// been sent may not be there yet when the first kill looks for it.
func (k *controller) killUntil(mark string, done <-chan struct{}) {
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		select {
		case <-done:
			return
		default:
		}
		// The kill is best effort: the query may also just end.
		_ = k.kill(mark)
		select {
		case <-done:
			return
		case <-time.After(wait):
		}
	}
}
