package engine

import (
	"cmp"
	"context"
	"io"
	"sync"

	"dealhouse/internal/chdb/exception"
	"dealhouse/internal/chdb/library"
)

// stream starts a SELECT and waits for its first piece, so that most errors
// come before any of the result.
func (l *lease) stream(q *Query, format string, pieces layout, d deadline) (*Answer, error) {
	lib := l.conn.Lib
	returned := l.calls()
	res := lib.Run(l.conn.C, l.mark+q.SQL, q.Format, q.Params, true)
	returned()
	if res == nil {
		return nil, l.giveBack(exception.New(exception.Unknown, "", "the engine returned no result"))
	}
	if text := lib.ResultError(res); text != "" {
		lib.DestroyResult(res)
		return nil, l.giveBack(l.fault(text))
	}
	b := &rows{lease: l, stream: res, document: assembly{layout: pieces}, deadline: d}
	if err := b.fetch(); err != nil && !isEnd(err) {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stream != nil {
		// When the engine closes, it must not wait for a reader who has gone away.
		b.unhook = context.AfterFunc(l.in.ctx, func() { _ = b.Close() })
	}
	return &Answer{Body: b, Format: format}, nil
}

// rows is a result that is being read.
type rows struct {
	lease    *lease
	deadline deadline
	unhook   func() bool

	mu       sync.Mutex
	stream   library.Pointer // nil at the end
	piece    library.Pointer
	document assembly
	rest     []byte // of the piece
	err      error  // sticky
}

// Read copies from the current piece of the result, and fetches the next one when that is used up. An error of the
// engine is a *clickhouse.Exception.
func (b *rows) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.rest) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		if err := b.fetch(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// WriteTo lets io.Copy work without a buffer of its own.
func (b *rows) WriteTo(w io.Writer) (written int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		n, err := w.Write(b.rest)
		written += int64(n)
		b.rest = b.rest[n:]
		if err == nil {
			if err = b.err; err == nil {
				err = b.fetch()
			}
		}
		if isEnd(err) {
			return written, nil
		}
		if err != nil {
			return written, err
		}
	}
}

// Close ends the query if it is still running and frees the connection. It
// does not wait for a query to run to its end: that one is killed.
func (b *rows) Close() error {
	b.lease.cancel(io.ErrClosedPipe) // wakes a Read that waits for the engine
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.finish(io.ErrClosedPipe) // Read returns this error from now on
	return nil
}

// fetch gets the next piece that is not empty, or what comes after the last. The caller holds b.mu, unless b is not
// shared yet.
func (b *rows) fetch() error {
	lib := b.lease.conn.Lib
	for {
		b.drop()
		if b.lease.ctx.Err() != nil {
			return b.finish(context.Cause(b.lease.ctx))
		}
		returned := b.lease.calls()
		b.piece = lib.StreamFetch(b.lease.conn.C, b.stream)
		returned()
		if b.piece == nil {
			return b.end()
		}
		if text := lib.ResultError(b.piece); text != "" {
			return b.finish(b.lease.fault(text))
		}
		piece := lib.Bytes(b.piece)
		if len(piece) == 0 {
			return b.end()
		}
		var err error
		if b.rest, err = b.document.add(piece); err != nil {
			return b.finish(err)
		}
		if len(b.rest) > 0 {
			return nil
		}
	}
}

// end frees everything, and adds what comes after the last row.
func (b *rows) end() error {
	err := b.finish(cmp.Or(b.deadline.passed(), io.EOF))
	if b.rest = b.document.rest(); !isEnd(err) || len(b.rest) == 0 {
		b.rest = nil
		return err
	}
	return nil
}

// drop frees the current piece (chdb-10).
func (b *rows) drop() {
	b.rest = nil
	if b.piece != nil {
		b.lease.conn.Lib.DestroyResult(b.piece)
		b.piece = nil
	}
}

// finish frees everything, once. From then on Read returns err, or the cause of the cancellation that led to err.
func (b *rows) finish(err error) error {
	if b.stream == nil {
		return b.err
	}
	b.drop()
	lib := b.lease.conn.Lib
	if !isEnd(err) {
		// A query that is killed and cancelled at the same time may stay in the engine, and keep the tables that it
		// reads, until its connection is closed (chdb-2).
		returned := b.lease.calls()
		lib.StreamCancel(b.lease.conn.C, b.stream)
		returned()
	}
	lib.DestroyResult(b.stream)
	b.stream = nil
	if b.unhook != nil {
		b.unhook()
	}
	if isEnd(err) {
		// A query that was killed may look as if it had ended normally.
		if b.lease.ctx.Err() != nil {
			err = context.Cause(b.lease.ctx)
		}
		_ = b.lease.giveBack(nil)
	} else {
		err = b.lease.giveBack(err)
	}
	b.err = err
	return err
}

// isEnd tells whether err is the end of a result. An error that wraps io.EOF is not: the cause of a
// cancellation may do that.
func isEnd(err error) bool {
	return err == io.EOF //nolint:errorlint // an error that wraps io.EOF is a failure, not the end
}
