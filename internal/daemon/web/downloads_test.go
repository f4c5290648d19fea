package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// forEver is a number of rows that nobody waits for.
const forEver = 1 << 40

// repeating is a connection on which the changes of transactions have this many rows, all like the first
// one, and then break off.
type repeating struct {
	driver.Conn
	rows *atomic.Int64
}

func (c repeating) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	rows, err := c.Conn.Query(ctx, query, args...)
	if err == nil && strings.Contains(query, "FROM transaction_changes") {
		rows = &repeatedRows{Rows: rows, left: c.rows.Load()}
	}
	return rows, err
}

type repeatedRows struct {
	driver.Rows
	left  int64
	begun bool
}

func (r *repeatedRows) Next() bool {
	if !r.begun {
		r.begun = r.Rows.Next()
	}
	r.left--
	return r.begun && r.left >= 0
}

func (r *repeatedRows) Err() error { return errors.New("connection reset by peer") }

// testCutOff lets the warehouse break off in the middle of a download, or never end: an incomplete download does not
// look complete, and is not kept in memory.
func testCutOff(t *testing.T, b *bench) {
	t.Helper()
	const path = "/statements/acme/2026-03/download?format=csv&list=changes"
	c := repeating{rows: &atomic.Int64{}}
	w := b.wrapped(t, func(conn driver.Conn) driver.Conn {
		c := c
		c.Conn = conn
		return c
	})
	x := b.serve(t, func(o *Options) { o.Warehouse = w })
	c.rows.Store(3)
	if answer, body := x.get(t, path); answer.StatusCode != http.StatusServiceUnavailable ||
		!strings.Contains(body, "connection reset") || strings.Contains(body, "transaction_id") {
		t.Errorf("before the first bytes: %s: %s", answer.Status, body)
	}
	c.rows.Store(3000)
	answer := x.startDownload(t, path)
	n, err := io.Copy(io.Discard, answer.Body)
	if answer.StatusCode != http.StatusOK || n < heldBack || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("in the middle: %s: %d bytes, %v", answer.Status, n, err)
	}
	if !strings.Contains(x.log.String(), "a download was cut off") {
		t.Errorf("nobody says so: %s", x.log)
	}
	if text := x.old(t, path); !strings.HasPrefix(text, "HTTP/1.0 503 ") || strings.Contains(text, "transaction_id") {
		t.Errorf("in the middle, of HTTP/1.0: %.300s", text)
	}
	c.rows.Store(forEver)
	answer = x.startDownload(t, path)
	if n, err := io.CopyN(io.Discard, answer.Body, 1<<20); err != nil {
		t.Errorf("without end: %d bytes, %v", n, err)
	}
	_ = answer.Body.Close()
	for range maxDownloads { // until the viewer who left is noticed
		x.downloads <- struct{}{}
	}
}

// startDownload requests a path, and leaves it to the caller to read the body.
func (x *site) startDownload(t *testing.T, path string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, x.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := x.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// old requests a path by HTTP/1.0, and returns everything that arrives.
func (x *site) old(t *testing.T, path string) string {
	t.Helper()
	address := strings.TrimPrefix(x.base, "http://")
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // it is read to its end
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", path, address)
	text, readErr := io.ReadAll(conn)
	if err := errors.Join(err, readErr); err != nil {
		t.Fatal(err)
	}
	return string(text)
}
