package syncer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// seam is every place where a worker touches the outside: its requests, the bodies of the answers, and each statement
// to the warehouse. A hook sees each of them twice, before it is done and after, and may fail it, block it or kill the
// process. Statements are named by their head, "ALTER TABLE coupons_latest ATTACH"; inserts into the state by the
// state as well, "INSERT sync_state_log intent".
type seam struct {
	mu   sync.Mutex
	hook hook
	skew time.Duration // how far the warehouse's clock is from this machine's
	http http.Transport
}

type hook func(ctx context.Context, step string, after bool) error

var errInjected = errors.New("injected fault")

// set installs the hook; nil lets everything pass.
func (s *seam) set(h hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = h
}

func (s *seam) call(ctx context.Context, step string, after bool) error {
	s.mu.Lock()
	h := s.hook
	s.mu.Unlock()
	if h == nil {
		return nil
	}
	return h(ctx, step, after)
}

// around does a step, between the two calls of the hook.
func (s *seam) around(ctx context.Context, step string, do func() error) error {
	if err := s.call(ctx, step, false); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return s.call(ctx, step, true)
}

// wrap has the form of warehouse.Options.Wrap: it returns a connection whose statements pass the seam.
func (s *seam) wrap(c driver.Conn) driver.Conn { return &seamConn{Conn: c, seam: s} }

type seamConn struct {
	driver.Conn
	seam *seam
}

func (c *seamConn) Exec(ctx context.Context, query string, args ...any) error {
	return c.seam.around(ctx, stepOf(query), func() error { return c.Conn.Exec(ctx, query, args...) })
}

func (c *seamConn) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	var rows driver.Rows
	err := c.seam.around(ctx, stepOf(query), func() error {
		r, err := c.Conn.Query(ctx, query, args...)
		if err == nil {
			rows = r
		}
		return err
	})
	if err != nil && rows != nil {
		return nil, errors.Join(err, rows.Close())
	}
	return rows, err
}

// QueryRow goes through Query: a row of the driver that nobody reads cannot be closed, and leaves a goroutine behind.
func (c *seamConn) QueryRow(ctx context.Context, query string, args ...any) driver.Row {
	rows, err := c.Query(ctx, query, args...)
	return &seamRow{rows: rows, err: err, clock: strings.Contains(query, "now64(6)"), skew: c.seam.skew}
}

type seamRow struct {
	driver.Row
	rows  driver.Rows
	err   error
	clock bool
	skew  time.Duration
}

func (r *seamRow) Err() error { return r.err }

func (r *seamRow) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		return errors.Join(r.rows.Err(), sql.ErrNoRows)
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	if us, ok := dest[0].(*int64); ok && r.clock {
		*us += r.skew.Microseconds()
	}
	return r.rows.Close()
}

func (c *seamConn) PrepareBatch(ctx context.Context, query string,
	opts ...driver.PrepareBatchOption) (driver.Batch, error) {
	b, err := c.Conn.PrepareBatch(ctx, query, opts...)
	if err != nil {
		return nil, err
	}
	return &seamBatch{Batch: b, seam: c.seam, ctx: ctx, step: stepOf(query)}, nil
}

type seamBatch struct {
	driver.Batch
	seam *seam
	ctx  context.Context // a batch is sent under the context that it was prepared with
	step string
}

// Append notes which state is written: (account, stream, name, value, version).
func (b *seamBatch) Append(v ...any) error {
	if strings.HasSuffix(b.step, "sync_state_log") && b.Rows() == 0 {
		name, _, _ := strings.Cut(fmt.Sprint(v[2]), ":") // the name of an intent ends with the id of its run
		b.step += " " + name
		if v[3] == "" {
			b.step += " cleared"
		}
	}
	return b.Batch.Append(v...)
}

func (b *seamBatch) Send() error { return b.seam.around(b.ctx, b.step, b.Batch.Send) }

// ofRuns is the database of the tables of runs, where they have one.
var ofRuns = regexp.MustCompile("`[^`]*_runs`\\.")

// stepOf returns the head of a statement, without the identifiers of runs.
func stepOf(query string) string {
	words := strings.Fields(ofRuns.ReplaceAllString(query, ""))
	if words[0] == "INSERT" {
		words = append(words[:1], words[2:]...) // INTO
	}
	most := 2
	if words[0] == "ALTER" || words[0] == "DROP" || words[0] == "CREATE" {
		most = 4
	}
	step := strings.Join(words[:min(most, len(words))], " ")
	for _, own := range []string{"_changes", "_delta", "_moves"} {
		if head, tail, found := strings.Cut(step, own+"_"); found {
			_, tail, _ = strings.Cut(tail, " ")
			step = strings.TrimSpace(head + own + " " + tail)
		}
	}
	if strings.HasSuffix(query, ", settled)") { // the result of a retry is written separately from the rejects
		step += " settled"
	}
	return step
}

// RoundTrip makes the seam an http.RoundTripper for the worker's requests: "request" is until the answer's header is
// there, "body" until its last byte.
func (s *seam) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	err = s.around(req.Context(), "request", func() error {
		resp, err = s.http.RoundTrip(req)
		return err
	})
	if err != nil {
		if resp != nil {
			return nil, errors.Join(err, resp.Body.Close())
		}
		return nil, err
	}
	resp.Body = &seamBody{ReadCloser: resp.Body, seam: s, ctx: req.Context()}
	return resp, nil
}

type seamBody struct {
	io.ReadCloser
	seam    *seam
	ctx     context.Context // a body is read under the context of its request
	started bool
}

func (b *seamBody) Read(p []byte) (int, error) {
	if !b.started {
		b.started = true
		if err := b.seam.call(b.ctx, "body", false); err != nil {
			return 0, err
		}
	}
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		if failed := b.seam.call(b.ctx, "body", true); failed != nil {
			return n, failed
		}
	}
	return n, err
}
