package warehouse

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"dealhouse/internal/catalog"
)

// replicas are the servers that the DSN names. The pool works with one of them, which stays the same while any run is
// under way: what a run has staged and prepared is on that server alone.
type replicas struct {
	addresses []string
	open      func(address string) ([]driver.Conn, error) // the connections to one of them, in the order of pinned
	pinned    []*pinned

	mu      sync.Mutex
	current int
	runs    int // under way
}

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

// published returns the tables of a stream that a run is compared with.
func published(s *catalog.Stream) []string {
	tables := []string{latestTable(s)}
	if s.History {
		tables = append(tables, versionsTable(s))
	}
	if s.Child != nil {
		tables = append(tables, childLatest(s), childHashes(s))
	}
	return append(tables, derivedNames(s)...)
}
