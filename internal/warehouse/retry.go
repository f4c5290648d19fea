package warehouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/cenkalti/backoff/v4"

	"dealhouse/internal/chdb"
)

const (
	longestPause = 10 * time.Second // between two attempts
	slowdown     = 5                // times as long, for faults that pass slowly
)

// codeQuota is ClickHouse's QUOTA_EXCEEDED. It passes when the interval of the quota ends.
const codeQuota = 201

// FaultError says that a statement failed for a reason that lies with the warehouse, and that did not pass in time.
// What readers see has not changed, nor where the next run begins.
type FaultError struct {
	Code     int32 // of ClickHouse; 0 when it could not be reached
	Attempts int
	Elapsed  time.Duration
	Advice   string // what an operator can do
	Err      error  // of the last attempt
}

func (e *FaultError) Error() string {
	if e.Attempts == 1 {
		return fmt.Sprintf("%s; %s", brief(e.Err), e.Advice)
	}
	return fmt.Sprintf("%s: gave up after %d attempts in %s; %s", brief(e.Err), e.Attempts,
		e.Elapsed.Round(100*time.Millisecond), e.Advice)
}

func (e *FaultError) Unwrap() error { return e.Err }

// Advice returns what an operator can do about a failure that lies with the warehouse, or "" if nothing is known to
// help. The text of a *FaultError has it, that of other errors does not.
func (p *pool) Advice(err error) string {
	if gaveUp, is := errors.AsType[*FaultError](err); is {
		return gaveUp.Advice
	}
	if r, known := remedyOf(err); known {
		return p.advice(r)
	}
	return ""
}

// advice is that of a remedy for this warehouse. An embedded one has a single disk, and answers no questions about it.
func (p *pool) advice(r remedy) string {
	if dir, embedded := strings.CutPrefix(p.given.DSN, EmbeddedScheme); embedded && r.full {
		return fmt.Sprintf("the disk of %s is full: free space on it, or move the folder to a larger one", dir)
	}
	if p.Embedded() && r.code == 0 {
		return "the process that has the embedded engine ended: the log says why, and that it is started anew"
	}
	return r.advice
}

// remedy says how a fault ends that is neither in the statement nor in its content.
type remedy struct {
	code   int32
	slow   bool   // it takes minutes or a person, so asking often is of no use
	never  bool   // it does not pass by itself
	full   bool   // a disk is full
	advice string // for an operator
}

// remedyOf finds out whether the same statement may succeed a little later, or what else is known to help. It goes by
// code and type alone: what the text says differs from version to version.
func remedyOf(err error) (remedy, bool) {
	var gaveUp *FaultError
	if errors.As(err, &gaveUp) {
		return remedy{}, false // it was tried often enough
	}
	if errors.Is(err, chdb.ErrHostEnded) {
		return remedy{}, false // the next command finds the warehouse free, or uses another host
	}
	if e, ok := errors.AsType[*clickhouse.Exception](err); ok {
		return remedyOfCode(e.Code)
	}
	return remedy{advice: "check that the server runs, that warehouse.dsn names it, and the network between"}, isConnection(err)
}

func remedyOfCode(code int32) (remedy, bool) {
	r := remedy{code: code}
	switch code {
	case 202, 203, 439, 745: // TOO_MANY_SIMULTANEOUS_QUERIES, NO_FREE_CONNECTION, CANNOT_SCHEDULE_TASK, SERVER_OVERLOADED
		r.advice = "the server is overloaded: run fewer queries at a time, or raise max_concurrent_queries"
	case 241: // MEMORY_LIMIT_EXCEEDED
		r.advice = "the server is short of memory: lower batch_rows, run fewer queries at a time, or raise max_memory_usage and the memory of the server"
	case 252: // TOO_MANY_PARTS
		r.advice = "the server merges parts more slowly than they are inserted: look at system.merges and at the load of its disks; a larger batch_rows creates fewer parts"
	case 242: // TABLE_IS_READ_ONLY
		r.slow = true
		r.advice = "a table accepts no writes: a replica that has lost its Keeper (see system.replicas), or a disk that is read-only"
	case 774: // TABLE_IS_PERMANENTLY_READ_ONLY
		r.never = true
		r.advice = "someone made a table read-only: `ALTER TABLE ... MODIFY SETTING table_readonly = 0`, or move it from its disk, which takes no writes"
	case 243, 75: // NOT_ENOUGH_SPACE, CANNOT_WRITE_TO_FILE_DESCRIPTOR
		r.slow, r.full = true, true
		r.advice = "a disk of the warehouse is full: free space on it, or make it larger; `SELECT name, path, free_space FROM system.disks` shows which"
	case codeQuota:
		r.never = true
		r.advice = "the quota of the server's user is used up until its interval ends: raise it, or run less often"
	case 209, 210, 279: // SOCKET_TIMEOUT, NETWORK_ERROR, ALL_CONNECTION_TRIES_FAILED
		r.advice = "the servers of the cluster cannot reach each other: check the network between them"
	case 225, 999, 285, 286, 289, 319, 517: // NO_ZOOKEEPER, KEEPER_EXCEPTION, TOO_FEW_LIVE_REPLICAS, UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE, REPLICA_IS_NOT_IN_QUORUM, UNKNOWN_STATUS_OF_INSERT, CANNOT_ASSIGN_ALTER
		r.advice = "Keeper or a replica does not answer: look at system.replicas and at the Keeper servers"
	case 236, 388, 473, 733: // ABORTED (the server is being stopped), CANNOT_ASSIGN_OPTIMIZE (to a merge under way), DEADLOCK_AVOIDED, TABLE_IS_BEING_RESTARTED
		r.advice = "the server is being stopped or restarted: check that it comes back"
	default:
		return remedy{}, false
	}
	return r, true
}

// MayPass reports that the same statement may succeed later, because what failed lies with the warehouse or with the
// way to it. All other answers of ClickHouse lie with the statement: they come again.
func MayPass(err error) bool {
	if gaveUp, is := errors.AsType[*FaultError](err); is {
		err = gaveUp.Err
	}
	if r, known := remedyOf(err); known {
		return !r.never || r.code == codeQuota
	}
	return hasCode(err,
		3, 33, 40, 74, 76, 87, 107, 246, 271, 499, // faults of a disk or object store, and damaged data
		49, 173, 1000, 1001, 1002, // LOGICAL_ERROR, CANNOT_ALLOCATE_MEMORY, and what ClickHouse itself did not expect
		99, 100, 101, 102, 198, // faults of the connection, and DNS_ERROR
		159, 160, 394, // TIMEOUT_EXCEEDED, TOO_SLOW, QUERY_WAS_CANCELLED: it may be faster when less runs beside it
		218, 254, 369, 722) // TABLE_IS_DROPPED, NO_ACTIVE_REPLICAS, ALL_REPLICAS_ARE_STALE, ASYNC_LOAD_WAIT_FAILED
}

// isConnection reports that the connection failed, or something between here and the server did.
func isConnection(err error) bool {
	for _, known := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNREFUSED, syscall.ECONNRESET,
		syscall.ECONNABORTED, syscall.EPIPE, clickhouse.ErrAcquireConnTimeout} {
		if errors.Is(err, known) {
			return true
		}
	}
	if _, dropped := errors.AsType[*droppedError](err); dropped {
		return true
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return !dns.IsNotFound // a name that does not exist is a mistake
	}
	if answer, ok := errors.AsType[*clickhouse.HTTPError](err); ok {
		switch answer.StatusCode {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
			http.StatusGatewayTimeout:
			return true
		}
		return false
	}
	var op *net.OpError
	var timeout net.Error
	return errors.As(err, &op) || errors.As(err, &timeout) && timeout.Timeout()
}

// isRefusal reports that ClickHouse refuses an insert for its content: it would refuse it again at any time.
func isRefusal(err error) bool {
	e, ok := errors.AsType[*clickhouse.Exception](err)
	if !ok {
		return false
	}
	switch e.Code {
	case 6, 26, 27, 38, 41, 72, 376, 675, 676, // CANNOT_PARSE_TEXT, _QUOTED_STRING, _INPUT_ASSERTION_FAILED, _DATE, _DATETIME, _NUMBER, _UUID, _IPV4, _IPV6
		53, 69, 70, // TYPE_MISMATCH, ARGUMENT_OUT_OF_BOUND, CANNOT_CONVERT_TYPE
		117, 131, 190, // INCORRECT_DATA, TOO_LARGE_STRING_SIZE, SIZES_OF_ARRAYS_DONT_MATCH
		321, 349, 407, // VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE, CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN, DECIMAL_OVERFLOW
		395, 469, 691: // FUNCTION_THROW_IF_VALUE_IS_NON_ZERO, VIOLATED_CONSTRAINT, UNKNOWN_ELEMENT_OF_ENUM
		return true
	}
	return false
}

// retry does a step until it succeeds, fails for good, or has been tried for long enough. The step must be one that can
// be done twice, also when the first time succeeded and only its answer was lost.
func (p *pool) retry(ctx context.Context, statement string, do func() error) error {
	exp := backoff.NewExponentialBackOff(backoff.WithInitialInterval(p.backoff), backoff.WithMaxInterval(longestPause),
		backoff.WithMultiplier(2),
		backoff.WithRandomizationFactor(0.5), backoff.WithMaxElapsedTime(0)) // the time is limited below
	begin := time.Now()
	for attempt := 1; ; attempt++ {
		err := do()
		if err == nil || ctx.Err() != nil {
			return err
		}
		fault, known := remedyOf(err)
		if !known || p.maxRetryElapsed <= 0 {
			return err
		}
		wait := exp.NextBackOff()
		if fault.slow {
			wait *= slowdown
		}
		deadline, limited := ctx.Deadline()
		if elapsed := time.Since(begin); fault.never || elapsed+wait > p.maxRetryElapsed || limited &&
			time.Until(deadline) < wait {
			return &FaultError{Code: fault.code, Attempts: attempt, Elapsed: elapsed, Advice: p.advice(fault), Err: err}
		}
		p.retries.Add(1)
		p.metrics.retried()
		p.log.Warn("the warehouse could not run a statement: trying again",
			"statement", head(statement), "code", fault.code, "attempt", attempt,
			"wait", wait.Round(time.Millisecond), "error", brief(err), "advice", p.advice(fault))
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w, while waiting to try again after: %w", context.Cause(ctx), brief(err))
		case <-timer.C:
		}
	}
}

// brief returns an error of the driver without the URL of the request, which has the whole statement in it.
func brief(err error) error {
	if e, ok := errors.AsType[*clickhouse.Exception](err); ok {
		return e
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// head returns the beginning of a statement, for a log line.
func head(statement string) string {
	const most = 80
	line := strings.Join(strings.Fields(firstLine(statement)), " ")
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "..."
	}
	return line
}

// Retries is how many statements were tried again since Open.
func (p *pool) Retries() uint64 { return p.retries.Load() }

// retryingConn is a connection whose queries are tried again: asking twice changes nothing. Statements that write are
// tried again where it is known how (exec, insert and the steps of a merge), and not here.
type retryingConn struct {
	driver.Conn
	pool *pool
}

// Query asks until the answer begins.
func (c retryingConn) Query(ctx context.Context, query string, args ...any) (rows driver.Rows, err error) {
	err = c.pool.retry(ctx, query, func() error {
		rows, err = c.Conn.Query(ctx, query, args...)
		return err
	})
	return rows, err
}

// QueryRow asks until there is an answer.
func (c retryingConn) QueryRow(ctx context.Context, query string, args ...any) driver.Row {
	var row driver.Row
	err := c.pool.retry(ctx, query, func() error {
		row = c.Conn.QueryRow(ctx, query, args...)
		return row.Err()
	})
	return retriedRow{row, err}
}

type retriedRow struct {
	driver.Row
	err error // says more than that of the row
}

// Err is why there is no answer.
func (r retriedRow) Err() error { return r.err }

// Scan reads the row.
func (r retriedRow) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	return r.Row.Scan(dest...)
}

// droppedError is the failure of a request on a connection that had served others before. The reason is not in
// the request: servers close connections that are idle, and net/http has no type for a request that was sent on
// one of these.
type droppedError struct{ error }

func (e *droppedError) Unwrap() error { return e.error }
