package conn

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"dealhouse/internal/chdb/contract"
)

// Pool hands out connections, at most so many at a time.
type Pool struct {
	open func() (*Conn, error)
	// tokens has one element for each connection that may still be lent.
	tokens chan struct{}
	ended  chan struct{}
	once   sync.Once

	mu   sync.Mutex
	idle []*Conn // the longest idle first
}

// NewPool makes a pool of n connections, which open makes when they are needed.
func NewPool(n int, open func() (*Conn, error)) *Pool {
	p := &Pool{open: open, tokens: make(chan struct{}, n), ended: make(chan struct{})}
	for range n {
		p.tokens <- struct{}{}
	}
	return p
}

// Size is how many connections it lends at once, at most.
func (p *Pool) Size() int { return cap(p.tokens) }

// Get lends a connection, if possible one that already is at the database and
// settings asked for.
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

// pick takes an idle connection that already is at the database and settings. Without one, it returns nil for a new
// one, as long as there may be more: a run sends few kinds of statements in turn, and where each kind has a connection,
// none of them needs a SET before it. After that, it takes the one that was not used for longest. The caller has taken a
// token.
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
		if len(p.idle) <= len(p.tokens) { // then those that are idle, and those that are lent, are fewer than there may be
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

// NewController makes one of a connection, which is its own from then on.
func NewController(c *Conn) *Controller { return &Controller{conn: c} }

// Controller kills queries, on a connection that does nothing else (chdb-6).
type Controller struct {
	mu   sync.Mutex
	conn *Conn // nil after close
}

// kill asks once for the end of the queries whose text begins with mark.
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

// KillUntil repeats the kill until done is closed: a query that has only just
// been sent may not be there yet when the first kill looks for it.
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
