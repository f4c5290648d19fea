package warehouse

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// toAdmin is the index of the connection that needs no database: before the first migration there is none.
const toAdmin = 1

// serverTimeout is how long a server may take to say that it is there.
const serverTimeout = 30 * time.Second

// address returns the address of the server that the pool works with.
func (r *replicas) address() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.addresses[r.current]
}

// addRun counts a run, which pins the server.
func (r *replicas) addRun() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs++
}

// removeRun notes the end of a run.
func (r *replicas) removeRun() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs--
}

// choose switches to the next server that answers, if the current one does not and no run is under way.
func (p *pool) choose(ctx context.Context) error {
	r := p.replicas
	if r == nil || len(r.addresses) < 2 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs > 0 {
		return nil // an answer that does not come fails this run, and not those under way
	}
	var errs []error
	for i := range r.addresses {
		next := (r.current + i) % len(r.addresses)
		err := r.moveTo(ctx, next)
		if err == nil {
			if i > 0 {
				p.log.Warn("a server does not answer: using another one", "server", r.addresses[next], "error",
					brief(errors.Join(errs...)))
			}
			return nil
		}
		if !isConnection(err) {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// moveTo switches to a server, if it answers.
func (r *replicas) moveTo(ctx context.Context, next int) error {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	if next == r.current {
		return r.pinned[toAdmin].Ping(ctx)
	}
	conns, err := r.open(r.addresses[next])
	if err != nil {
		return err
	}
	if err := conns[toAdmin].Ping(ctx); err != nil {
		for _, c := range conns {
			err = errors.Join(err, c.Close())
		}
		return err
	}
	r.current = next
	var errs []error
	for i, c := range conns {
		errs = append(errs, (*r.pinned[i].to.Swap(&c)).Close())
	}
	return errors.Join(errs...)
}

// pinned is a connection to the server that the pool works with at the moment.
type pinned struct{ to atomic.Pointer[driver.Conn] }

func pin(c driver.Conn) *pinned {
	p := &pinned{}
	p.to.Store(&c)
	return p
}

func (p *pinned) conn() driver.Conn { return *p.to.Load() }

// Contributors is part of driver.Conn, like all methods below.
func (p *pinned) Contributors() []string { return p.conn().Contributors() }

// ServerVersion asks the server.
func (p *pinned) ServerVersion() (*driver.ServerVersion, error) { return p.conn().ServerVersion() }

// Select asks the server.
func (p *pinned) Select(ctx context.Context, dest any, query string, args ...any) error {
	return p.conn().Select(ctx, dest, query, args...)
}

// Query asks the server.
func (p *pinned) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	return p.conn().Query(ctx, query, args...)
}

// QueryRow asks the server.
func (p *pinned) QueryRow(ctx context.Context, query string, args ...any) driver.Row {
	return p.conn().QueryRow(ctx, query, args...)
}

// PrepareBatch begins an insert.
func (p *pinned) PrepareBatch(ctx context.Context, query string,
	opts ...driver.PrepareBatchOption) (driver.Batch, error) {
	return p.conn().PrepareBatch(ctx, query, opts...)
}

// Exec runs a statement.
func (p *pinned) Exec(ctx context.Context, query string, args ...any) error {
	return p.conn().Exec(ctx, query, args...)
}

// QueryFormat asks the server.
func (p *pinned) QueryFormat(ctx context.Context, format, query string, args ...any) (io.ReadCloser, error) {
	return p.conn().QueryFormat(ctx, format, query, args...)
}

// InsertFormat inserts.
func (p *pinned) InsertFormat(ctx context.Context, format, query string, data io.Reader) error {
	return p.conn().InsertFormat(ctx, format, query, data)
}

// AsyncInsert is not used.
func (p *pinned) AsyncInsert(ctx context.Context, query string, wait bool, args ...any) error {
	return p.conn().AsyncInsert(ctx, query, wait, args...) //nolint:staticcheck // a part of driver.Conn
}

// Ping asks whether the server is there.
func (p *pinned) Ping(ctx context.Context) error { return p.conn().Ping(ctx) }

// Stats counts connections.
func (p *pinned) Stats() driver.Stats { return p.conn().Stats() }

// Close closes the connections to the server.
func (p *pinned) Close() error { return p.conn().Close() }
