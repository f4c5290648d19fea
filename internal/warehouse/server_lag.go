package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// LagError says that the server lacks what other servers have published, and did not get it in time. Nothing was
// changed.
type LagError struct {
	Table  string
	Server string // address; "" for the embedded engine
	Waited time.Duration
	Err    error // what the server said last
}

func (e *LagError) Error() string {
	server := "the server"
	if e.Server != "" {
		server += " " + e.Server
	}
	return fmt.Sprintf("%s lags behind the other replicas: after %s it still lacks what they have of %s. Nothing was changed, and the next run tries again. "+
		"Look at last_exception in system.replication_queue there, and check whether it reaches the others (system.replicas)", server,
		e.Waited.Round(time.Second), e.Table)
}

// Unwrap is what the server said.
func (e *LagError) Unwrap() error { return e.Err }

// A run waits five minutes for its replica, in several turns. So no proxy takes the connection for dead meanwhile, and
// a worker that is told to end leaves no statement behind that waits for longer than one turn.
const (
	lagTurn  = 20 * time.Second
	lagTurns = 15
)

// codeTimeout is the answer of a server that has waited for as long as it was asked to.
const codeTimeout = 159

// catchUp waits until the server has what others have published to tables, or returns a *LagError.
func (p *pool) catchUp(ctx context.Context, tables ...string) error {
	if !p.dialect.syncs() {
		return nil
	}
	for _, table := range tables {
		if err := p.catchUpOne(ctx, table); err != nil {
			return fmt.Errorf("waiting for what other servers have of %s: %w", table, err)
		}
	}
	return nil
}

func (p *pool) catchUpOne(ctx context.Context, table string) error {
	statement := syncReplica(table)
	for waited := time.Duration(0); ; {
		limited := clickhouse.Context(ctx,
			clickhouse.WithSettings(clickhouse.Settings{"receive_timeout": int(p.lagTurn.Seconds())}))
		err := p.retry(limited, statement, func() error { return p.conn.Exec(limited, statement) })
		if !hasCode(err, codeTimeout) || ctx.Err() != nil {
			return err
		}
		if waited += p.lagTurn; waited >= lagTurns*p.lagTurn {
			return &LagError{Table: table, Server: p.address(), Waited: waited, Err: err}
		}
		p.log.Warn("the server is behind the other replicas: waiting", "table", table, "waited", waited)
	}
}
