//go:build !noengine && (linux || darwin)

package chdb

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"sync"
)

// query is one request to the engine, whatever door it came through.
type query struct {
	sql      string
	format   string    // of the output, unless the text names one
	data     io.Reader // what an INSERT reads, behind what its text brings; or nil
	db       string
	settings map[string]string
	params   []param
	readOnly bool
	// guarded refuses what reaches the host; set for whoever is not this program.
	guarded bool
	// interrupt, if set, makes a Read of data that waits return.
	interrupt func()
	// maxBuffered bounds a result that cannot be streamed; 0 does not.
	maxBuffered int64
}

// set changes one setting, in a copy of its own.
func (q *query) set(name, value string) {
	q.settings = maps.Clone(q.settings)
	if q.settings == nil {
		q.settings = map[string]string{}
	}
	q.settings[name] = value
}

// limitResult makes the engine itself stop a result that is too large to be
// buffered. What the client asked for counts if it is less.
func (q *query) limitResult() {
	asked, err := strconv.ParseInt(q.settings["max_result_bytes"], 10, 64)
	if err != nil || asked <= 0 || asked > q.maxBuffered {
		q.set("max_result_bytes", strconv.FormatInt(q.maxBuffered, 10))
	}
}

// answer is the result of a query. A nil body is an empty one.
type answer struct {
	body   io.ReadCloser
	format string
}

// lease is one use of a connection: it carries the request's context, kills the
// query when that ends, and gives the connection back once.
type lease struct {
	in     *instance
	pool   *pool
	conn   *conn
	ctx    context.Context //nolint:containedctx // the request's: the lease outlives the call that took it, as the body of its answer
	cancel context.CancelCauseFunc
	mark   string
	done   chan struct{}
	unhook func()
	killer sync.WaitGroup
}

// lend takes a connection that is at q's database and settings.
func (in *instance) lend(ctx context.Context, q *query) (*lease, error) {
	l := &lease{in: in, pool: in.writers, done: make(chan struct{})}
	if q.readOnly {
		l.pool = in.readers
	}
	l.mark = fmt.Sprintf("/* chdb %s-%d */ ", in.nonce, in.lastID.Add(1))
	ctx, l.cancel = context.WithCancelCause(ctx)
	l.ctx = ctx
	stopped := context.AfterFunc(in.ctx, func() { l.cancel(ErrClosed) })
	c, err := l.pool.get(ctx, q.db, q.settings)
	if err != nil {
		stopped()
		l.cancel(nil)
		return nil, err
	}
	l.conn = c
	l.killer.Add(1)
	killing := context.AfterFunc(ctx, func() {
		defer l.killer.Done()
		if q.interrupt != nil {
			q.interrupt()
		}
		in.control.killUntil(l.mark, l.done)
	})
	l.unhook = func() {
		stopped()
		if killing() {
			l.killer.Done()
		}
	}
	if err := c.prepare(q.db, q.settings); err != nil {
		return nil, l.end(err)
	}
	return l, nil
}

// end gives the connection back and says why the query ended: a cancellation
// comes before what it made the engine say. After either, the connection is thrown away:
// what a query has already put out stays with it, and begins its next answer (chdb-2).
func (l *lease) end(err error) error {
	if err != nil || l.ctx.Err() != nil {
		l.conn.unknown = true
	}
	if err != nil && l.ctx.Err() != nil {
		err = context.Cause(l.ctx)
	}
	close(l.done)
	l.unhook()
	// The killer must be gone before the mark's connection serves another.
	l.killer.Wait()
	l.cancel(nil)
	l.pool.put(l.conn)
	return err
}

// run executes a query up to the point where its result can be read. Errors of
// the engine are *clickhouse.Exception.
func (in *instance) run(ctx context.Context, q *query) (*answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	st := parseStatement(q.sql)
	fed := st.insert && (!st.values || !st.dataAny || q.data != nil)
	if q.guarded {
		if err := in.examine(ctx, q, &st, fed); err != nil {
			return nil, err
		}
		if inline := st.values && !fed; !inline {
			q.set(valuesInterpret, "0")
			q.set(valuesTemplates, "0")
		}
	}
	format := cmp.Or(st.format, q.format)
	header, streams := streamable(format)
	if !streams && q.maxBuffered > 0 {
		q.limitResult()
	}
	l, err := in.lend(ctx, q)
	if err != nil {
		return nil, err
	}
	if fed {
		if q.readOnly {
			return nil, l.end(errReadOnly)
		}
		return &answer{}, l.end(l.insert(q, &st))
	}
	v, err := l.conn.classify(q.sql)
	if err == nil {
		err = l.conn.admissible(q, &st, v)
	}
	if err != nil {
		return nil, l.end(err)
	}
	if v.class == classOther || v.class == classAccess || st.temporary {
		l.conn.unknown = true // chdb-2, chdb-3
	}
	if streams && v.class == classRead && isAny(st.verb, "SELECT", "WITH", "FROM") {
		return l.stream(q, format, header)
	}
	out, err := l.buffered(q)
	if err = l.end(err); err != nil {
		return nil, err
	}
	a := &answer{format: format}
	if len(out) > 0 {
		a.body = io.NopCloser(bytes.NewReader(out))
	}
	return a, nil
}

// admissible refuses what is not exactly one statement.
func (c *conn) admissible(q *query, st *statement, v verdict) error {
	switch {
	case v.count > 1:
		return exception(codeSyntaxError, "SYNTAX_ERROR", "Multi-statements are not allowed: send them one by one")
	case q.readOnly && (v.class == classWrite || v.class == classAccess || v.class == classOther || v.flags&flagExternal != 0 || st.insert):
		return errReadOnly
	case v.class == classUnknown && st.insert:
		// VALUES with data behind it is no SQL to the classifier.
		return nil
	case v.class == classUnknown || v.count == 0:
		if err := c.syntaxError(q.sql); err != nil {
			return err
		}
		return exception(codeSyntaxError, "SYNTAX_ERROR", "Syntax error: the query is not understood")
	}
	return nil
}

// buffered runs a statement whose result cannot be streamed.
func (l *lease) buffered(q *query) ([]byte, error) {
	lib := l.conn.lib
	r := lib.run(l.conn.c, l.mark+q.sql, q.format, q.params, false)
	if r == nil {
		return nil, exception(codeUnknownError, "", "the engine returned no result")
	}
	defer lib.destroyResult(r)
	if text := lib.resultError(r); text != "" {
		return nil, parseException(text)
	}
	out := lib.bytes(r)
	if q.maxBuffered > 0 && int64(len(out)) > q.maxBuffered {
		return nil, exception(396, "TOO_MANY_ROWS_OR_BYTES", fmt.Sprintf(
			"the result has %d bytes, and this format cannot be streamed: add a LIMIT, or use a format like JSONEachRow, CSV or TSV", len(out)))
	}
	return bytes.Clone(out), nil
}

// chunkSize is how much of an insert's data goes to the engine at a time.
const chunkSize = 1 << 20

var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// insert feeds q's data to the engine. It returns after the engine has confirmed
// the whole of it, or has dropped it (chdb-5).
func (l *lease) insert(q *query, st *statement) error {
	lib, sql := l.conn.lib, l.mark+st.head
	in := lib.streamInsert(l.conn.c, bytePtr(sql), uintptr(len(sql)), bytePtr(st.format), uintptr(len(st.format)))
	defer lib.destroyInsert(in)
	if text := lib.streamInsertError(in); text != "" {
		return parseException(text)
	}
	if err := l.feed(in, q, st); err != nil {
		lib.streamCancelInsert(in)
		return err
	}
	r := lib.streamDone(in)
	if r == nil {
		return exception(codeUnknownError, "", "the engine did not confirm the insert")
	}
	defer lib.destroyResult(r)
	if text := lib.resultError(r); text != "" {
		return parseException(text)
	}
	return nil
}

// feed copies the data in large pieces.
func (l *lease) feed(in ptr, q *query, st *statement) error {
	lib := l.conn.lib
	buf := chunks.Get().(*[chunkSize]byte)
	defer chunks.Put(buf)
	var src io.Reader = strings.NewReader(st.data)
	if q.data != nil {
		src = io.MultiReader(src, q.data)
	}
	for {
		n, err := fill(src, buf[:])
		if n > 0 && lib.streamAppend(in, &buf[0], uintptr(n)) != 0 {
			if text := lib.streamInsertError(in); text != "" {
				return parseException(text)
			}
			return exception(codeUnknownError, "", "the engine took no more data")
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

// fill reads until buf is full or the reader ends. Not io.ReadFull: that says
// ErrUnexpectedEOF for a short last piece, which a truncated body says too, and
// those two must not be confused (chdb-5).
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var k int
		k, err = r.Read(buf[n:])
		n += k
	}
	return n, err
}
