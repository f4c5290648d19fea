package conn

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"dealhouse/internal/chdb/contract"
)

// Pool lends connections, at most Size of them at a time.
type Pool struct {
	open func() (*Conn, error)
	// tokens has one element for each connection that may still be lent.
	tokens chan struct{}
	ended  chan struct{}
	once   sync.Once

	mu   sync.Mutex
	idle []*Conn // the longest idle first
}

// NewPool makes a pool of at most n connections. It calls open for each when it is first needed.
func NewPool(n int, open func() (*Conn, error)) *Pool {
	p := &Pool{open: open, tokens: make(chan struct{}, n), ended: make(chan struct{})}
	for range n {
		p.tokens <- struct{}{}
	}
	return p
}

// Size returns how many connections the pool lends at once, at most.
func (p *Pool) Size() int { return cap(p.tokens) }

// Get lends a connection, if possible one that already has the database and settings asked for. It waits for one to
// come back if all are lent.
func (p *Pool) Get(ctx context.Context, db string, settings map[string]string) (*Conn, error) {
	select {
	case <-p.ended:
		return nil, contract.ErrClosed
	default:
	}
	select {
	case <-p.tokens:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-p.ended:
		return nil, contract.ErrClosed
	}
	select {
	case <-p.ended:
		p.tokens <- struct{}{}
		return nil, contract.ErrClosed
	default:
	}
	if c := p.pick(db, settings); c != nil {
		return c, nil
	}
	c, err := p.open()
	if err != nil {
		p.tokens <- struct{}{}
		return nil, fmt.Errorf("open one more connection to the embedded engine: %w", err)
	}
	return c, nil
}

// pick takes an idle connection that already has the database and settings. If there is none and the pool may open
// more, it returns nil, so that the caller opens one: a run sends a few kinds of statements again and again, and if
// each kind has its own connection, none of them needs a SET first. If the pool is full, it takes the connection that
// has been idle for longest. The caller must hold a token.
func (p *Pool) pick(db string, settings map[string]string) *Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := -1
	for i := len(p.idle) - 1; i >= 0 && at < 0; i-- {
		if p.idle[i].matches(db, settings) {
			at = i
		}
	}
	if at < 0 {
		if len(p.idle) <= len(p.tokens) { // idle and lent ones together are fewer than the pool may have
			return nil
		}
		at = 0
	}
	c := p.idle[at]
	p.idle = slices.Delete(p.idle, at, at+1)
	return c
}

// Put takes a connection back, or closes it if its state is Unknown (chdb-2).
func (p *Pool) Put(c *Conn) {
	if c.Unknown {
		c.Close()
	} else {
		p.mu.Lock()
		p.idle = append(p.idle, c)
		p.mu.Unlock()
	}
	p.tokens <- struct{}{}
}

// Close waits for every connection that is lent, and closes all.
func (p *Pool) Close() {
	p.once.Do(func() {
		close(p.ended)
		for range cap(p.tokens) {
			<-p.tokens
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, c := range p.idle {
			c.Close()
		}
		p.idle = nil
	})
}

// NewController makes a controller that owns the connection from then on.
func NewController(c *Conn) *Controller { return &Controller{conn: c} }

// Controller kills queries, on a connection that does nothing else (chdb-6).
type Controller struct {
	mu   sync.Mutex
	conn *Conn // nil after Close
}

// kill asks the engine once to end the queries whose text begins with mark.
func (k *Controller) kill(mark string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.conn == nil {
		return contract.ErrClosed
	}
	return k.conn.Exec("KILL QUERY WHERE startsWith(query, " + QuoteString(mark) + ") ASYNC")
}

// Close closes the connection.
func (k *Controller) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.conn != nil {
		k.conn.Close()
		k.conn = nil
	}
}

// KillUntil repeats the kill until done is closed: the first kill may not find a query that has only just been sent.
func (k *Controller) KillUntil(mark string, done <-chan struct{}) {
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
