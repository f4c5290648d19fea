package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"dealhouse/internal/chdb/conn"
	"dealhouse/internal/chdb/contract"
	"dealhouse/internal/chdb/exception"
	"dealhouse/internal/chdb/guard"
	"dealhouse/internal/chdb/library"
)

// Query is one request to the engine, through either door.
type Query struct {
	SQL      string
	Format   string    // of the output, unless the text names one
	Data     io.Reader // more data for an INSERT, after the data in its text; or nil
	Database string
	Settings map[string]string
	Params   []library.Param
	ReadOnly bool
	// OnlyRead says that the query must be a read. Otherwise it fails with [ErrNotRead] before it has any effect.
	OnlyRead bool
	// Session says that the client counts on a session. There is none: what only means something in one is refused.
	Session bool
	// Guarded says that the guard examines the query first. It is set for every client that is not this program.
	Guarded bool
	// Interrupt, if set, makes a waiting Read of Data return.
	Interrupt func()
	// MaxBuffered bounds a result that cannot be streamed, in bytes; 0 means no bound.
	MaxBuffered int64
}

// set changes one setting. It copies the map first, because the map may be shared.
func (q *Query) set(name, value string) {
	q.Settings = maps.Clone(q.Settings)
	if q.Settings == nil {
		q.Settings = map[string]string{}
	}
	q.Settings[name] = value
}

// ErrNotRead is the error for a query that should be a read but is not.
var ErrNotRead = errors.New("the query is not a read")

var errSession = exception.New(exception.NotImplemented, "NOT_IMPLEMENTED", "sessions are not kept here, so this would have "+
	"no effect on the next request: send settings and the database with each request, and use a table instead of a temporary one")

// Least sets a limit to most, unless the client asked for less.
func (q *Query) Least(name string, most int64) {
	asked, err := strconv.ParseInt(q.Settings[name], 10, 64)
	if err != nil || asked <= 0 || asked > most {
		q.set(name, strconv.FormatInt(most, 10))
	}
}

// Answer is the result of a query. A nil Body is an empty one.
type Answer struct {
	Body   io.ReadCloser
	Format string
}

// lease is one use of a connection: it has the request's context, kills the query when that context ends, and gives
// the connection back once.
type lease struct {
	in     *instance
	pool   *conn.Pool
	conn   *conn.Conn
	ctx    context.Context //nolint:containedctx // the request's: the lease outlives the call that took it, as the body of its answer
	cancel context.CancelCauseFunc
	mark   string
	done   chan struct{}
	unhook func()
	killer sync.WaitGroup

	// What watch needs to know, in ns of Unix time; 0 for none.
	text    string
	grace   atomic.Int64 // for how long it may go on after it had to end
	calling atomic.Int64 // when the call of the library that is under way began
	ended   atomic.Int64 // when the request was over
	due     atomic.Int64 // when the time of the statement is over
}

// lend takes a connection and gives it q's database and settings.
func (in *instance) lend(ctx context.Context, q *Query) (*lease, error) {
	l := &lease{in: in, pool: in.writers, done: make(chan struct{}), text: q.SQL}
	l.grace.Store(int64(writeGrace))
	if q.ReadOnly {
		l.pool = in.readers
	}
	l.mark = fmt.Sprintf("/* chdb %s-%d */ ", in.nonce, in.lastID.Add(1))
	ctx, l.cancel = context.WithCancelCause(ctx)
	l.ctx = ctx
	stopped := context.AfterFunc(in.ctx, func() { l.cancel(contract.ErrClosed) })
	c, err := l.pool.Get(ctx, q.Database, q.Settings)
	if err != nil {
		stopped()
		l.cancel(nil)
		return nil, err
	}
	l.conn = c
	l.killer.Add(1)
	killing := context.AfterFunc(ctx, func() {
		defer l.killer.Done()
		l.ended.Store(time.Now().UnixNano())
		if q.Interrupt != nil {
			q.Interrupt()
		}
		in.control.KillUntil(l.mark, l.done)
	})
	l.unhook = func() {
		stopped()
		if killing() {
			l.killer.Done()
		}
	}
	in.leases.Store(l, nil)
	if err := c.Prepare(q.Database, q.Settings); err != nil {
		return nil, l.giveBack(err)
	}
	return l, nil
}

// giveBack gives the connection back and returns the reason why the query ended. The cause of a cancellation
// takes precedence over the error that the cancellation caused in the engine. After an error or a
// cancellation, the connection is closed: output that the query has already produced stays in it, and would
// come before its next answer (chdb-2).
func (l *lease) giveBack(err error) error {
	if err != nil || l.ctx.Err() != nil {
		l.conn.Unknown = true
	}
	if err != nil && l.ctx.Err() != nil {
		err = context.Cause(l.ctx)
	}
	l.in.leases.Delete(l)
	close(l.done)
	l.unhook()
	// The killer must have ended before the connection serves another request.
	l.killer.Wait()
	l.cancel(nil)
	l.pool.Put(l.conn)
	return err
}

// fault makes an error of the engine's text, without the mark of this request.
func (l *lease) fault(text string) error {
	return exception.Parse(strings.ReplaceAll(text, l.mark, ""))
}

// Run executes a query up to the point where its result can be read. Errors of
// the engine are [*clickhouse.Exception].
func (e *Engine) Run(ctx context.Context, q *Query) (*Answer, error) { return e.in.run(ctx, q) }

func (in *instance) run(ctx context.Context, q *Query) (*Answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	st := ParseStatement(q.SQL)
	fed := st.Insert && (!st.values || !st.dataAny || q.Data != nil)
	if q.Guarded {
		if err := in.guard.Examine(ctx, &guard.Request{
			SQL: q.SQL, Head: st.Head, Fed: fed, Input: st.format, Format: q.Format, Database: q.Database, Settings: q.Settings, Params: q.Params,
			ReadOnly: q.ReadOnly,
		}); err != nil {
			return nil, err
		}
		if inline := st.values && !fed; !inline {
			q.set(guard.ValuesInterpret, "0")
			q.set(guard.ValuesTemplates, "0")
		}
	}
	if q.OnlyRead && st.Insert {
		return nil, ErrNotRead
	}
	if q.ReadOnly && settingsTable.MatchString(q.SQL) {
		q.set(conn.Readonly, "2")
	}
	format := cmp.Or(st.format, q.Format)
	pieces := layoutOf(format)
	if pieces != nil && !q.inPieces(pieces) {
		pieces = nil
	}
	if fed || q.MaxBuffered == 0 || pieces != nil && !pieces.telling {
		return in.once(ctx, q, &st, fed, pieces)
	}
	limited := *q
	own := limited.buffer()
	a, err := in.once(ctx, &limited, &st, false, nil)
	if ex, ok := errors.AsType[*clickhouse.Exception](err); !ok || ex.Code != exception.TooManyRows || !own {
		return a, err
	}
	if pieces == nil || !st.streams() || q.OnlyRead {
		return nil, tooLarge(format, q.MaxBuffered)
	}
	q.set("output_format_write_statistics", "0") // they would be those of a moment before the end
	return in.once(ctx, q, &st, false, pieces)
}

// settingsTable matches the table that tells clients which settings they may choose.
var settingsTable = regexp.MustCompile("(?i)\\bsystem[`\"]?\\s*\\.\\s*[`\"]?settings\\b")

// buffer limits a result that is kept in memory, so that the engine itself stops it. own is false if the client has
// asked for less.
func (q *Query) buffer() (own bool) {
	if q.MaxBuffered == 0 {
		return false
	}
	asked := q.Settings[maxResultBytes]
	q.Least(maxResultBytes, q.MaxBuffered)
	if own = q.Settings[maxResultBytes] != asked; own && q.Settings[resultOverflowMode] == overflowBreaks {
		q.set(resultOverflowMode, "throw") // part of a result would look like all of it
	}
	return own
}

// tooLarge is the error for a result that cannot be streamed.
func tooLarge(format string, most int64) error {
	return exception.New(exception.TooManyRows, "TOO_MANY_ROWS_OR_BYTES", fmt.Sprintf("the result is larger than %d bytes "+
		"(--max-buffered), and one in the format %s cannot be sent in pieces: add a LIMIT, or use a format such as JSON, "+
		"JSONEachRow, CSV, TSV, Native, RowBinaryWithNamesAndTypes or ArrowStream, without totals", most, format))
}

// streams tells whether the engine can run the statement as a stream.
func (st *Statement) streams() bool { return isAny(st.verb, "SELECT", "WITH", "FROM") }

// once runs a query, and inserts its data if it is fed. With pieces, its result is streamed.
func (in *instance) once(ctx context.Context, q *Query, st *Statement, fed bool, pieces *layout) (*Answer, error) {
	l, err := in.lend(ctx, q)
	if err != nil {
		return nil, err
	}
	if fed {
		if q.ReadOnly {
			return nil, l.giveBack(guard.ErrReadOnly)
		}
		return &Answer{}, l.giveBack(l.insert(q, st))
	}
	v, err := l.conn.Classify(q.SQL)
	if err == nil {
		err = admissible(l.conn, q, st, v, in.limits != contract.Limits{})
	}
	if err == nil && q.OnlyRead && v.Class != conn.ClassRead {
		err = ErrNotRead
	}
	if err != nil {
		return nil, l.giveBack(err)
	}
	if q.Session && (isAny(st.verb, "SET", "USE") || st.temporary && v.Class != conn.ClassRead) {
		return nil, l.giveBack(errSession)
	}
	if v.Class == conn.ClassOther || v.Class == conn.ClassAccess || st.temporary {
		l.conn.Unknown = true // chdb-2, chdb-3
	}
	d := deadline{begun: time.Now()}
	if v.Class == conn.ClassRead {
		l.grace.Store(int64(readGrace))
		if d.limit = timeLimit(in.limitsOf(q), q, st); d.limit > 0 {
			l.due.Store(d.begun.Add(d.limit).UnixNano())
		}
	}
	format := cmp.Or(st.format, q.Format)
	if pieces != nil && v.Class == conn.ClassRead && st.streams() {
		return l.stream(q, format, *pieces, d)
	}
	out, err := l.buffered(q, d)
	if err = l.giveBack(err); err != nil {
		return nil, err
	}
	a := &Answer{Format: format}
	if len(out) > 0 {
		a.Body = io.NopCloser(bytes.NewReader(out))
	}
	return a, nil
}

// admissible refuses what is not exactly one statement. If the query is read-only, it also refuses what is not a read.
func admissible(c *conn.Conn, q *Query, st *Statement, v conn.Verdict, limited bool) error {
	switch {
	case v.Count > 1:
		return exception.New(exception.SyntaxError, "SYNTAX_ERROR", "Multi-statements are not allowed: send them one by one")
	case q.ReadOnly && limited && resetsLimit(q.SQL):
		return errReset
	case q.ReadOnly && (v.Class == conn.ClassWrite || v.Class == conn.ClassAccess || v.Class == conn.ClassOther ||
		v.Flags&conn.FlagExternal != 0 || st.Insert):
		return guard.ErrReadOnly
	case v.Class == conn.ClassUnknown && st.Insert:
		// VALUES followed by data is not SQL to the classifier.
		return nil
	case v.Class == conn.ClassUnknown || v.Count == 0:
		if err := c.SyntaxError(q.SQL); err != nil {
			return err
		}
		return exception.New(exception.SyntaxError, "SYNTAX_ERROR", "Syntax error: the query is not understood")
	}
	return nil
}

// buffered runs a statement whose result cannot be streamed, and returns the whole result.
func (l *lease) buffered(q *Query, d deadline) ([]byte, error) {
	lib := l.conn.Lib
	returned := l.calls()
	r := lib.Run(l.conn.C, l.mark+q.SQL, q.Format, q.Params, false)
	returned()
	if r == nil {
		return nil, exception.New(exception.Unknown, "", "the engine returned no result")
	}
	defer lib.DestroyResult(r)
	if text := lib.ResultError(r); text != "" {
		return nil, l.fault(text)
	}
	if err := d.passed(); err != nil {
		return nil, err
	}
	out := lib.Bytes(r)
	if q.MaxBuffered > 0 && int64(len(out)) > q.MaxBuffered {
		return nil, tooLarge(q.Format, q.MaxBuffered)
	}
	return bytes.Clone(out), nil
}

// ChunkSize is how many bytes of an insert's data are sent to the engine at a time.
const ChunkSize = 1 << 20

var chunks = sync.Pool{New: func() any { return new([ChunkSize]byte) }}

// insert feeds q's data to the engine. It returns after the engine has confirmed all of it, or has dropped it (chdb-5).
func (l *lease) insert(q *Query, st *Statement) error {
	lib, sql := l.conn.Lib, l.mark+st.Head
	defer l.calls()()
	in := lib.StreamInsert(l.conn.C, library.BytePtr(sql), uintptr(len(sql)), library.BytePtr(st.format),
		uintptr(len(st.format)))
	defer lib.DestroyInsert(in)
	if text := lib.StreamInsertError(in); text != "" {
		return l.fault(text)
	}
	if err := l.feed(in, q, st); err != nil {
		lib.StreamCancelInsert(in)
		return err
	}
	r := lib.StreamDone(in)
	if r == nil {
		return exception.New(exception.Unknown, "", "the engine did not confirm the insert")
	}
	defer lib.DestroyResult(r)
	if text := lib.ResultError(r); text != "" {
		return l.fault(text)
	}
	return nil
}

// feed copies the data in large pieces.
func (l *lease) feed(in library.Pointer, q *Query, st *Statement) error {
	lib := l.conn.Lib
	buf := chunks.Get().(*[ChunkSize]byte)
	defer chunks.Put(buf)
	var src io.Reader = strings.NewReader(st.data)
	if q.Data != nil {
		src = io.MultiReader(src, q.Data)
	}
	for {
		n, err := Fill(src, buf[:])
		if n > 0 && lib.StreamAppend(in, &buf[0], uintptr(n)) != 0 {
			if text := lib.StreamInsertError(in); text != "" {
				return l.fault(text)
			}
			return exception.New(exception.Unknown, "", "the engine accepted no more data")
		}
		if cerr := l.ctx.Err(); cerr != nil {
			return cerr
		}
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the insert's data: %w", err)
		}
	}
}

// Fill reads until buf is full or the reader ends. io.ReadFull would not do: it returns ErrUnexpectedEOF for a short
// last piece, but a truncated body gives the same error, and the two must not be confused (chdb-5).
func Fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var k int
		k, err = r.Read(buf[n:])
		n += k
	}
	return n, err
}
