package share

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answering is an engine that answers everything in the same way.
type answering struct {
	status int
	body   io.Reader
	err    error
	asked  atomic.Pointer[http.Request]
}

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked.Store(r)
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{StatusCode: a.status, Header: http.Header{"X-Clickhouse-Exception-Code": {"60"}},
		Body: io.NopCloser(a.body), ContentLength: -1, Request: r}, nil
}

// serve makes a host for a folder and starts it.
func serve(t *testing.T, dir string, all, reader http.RoundTripper, lasting bool) (*Host, func()) {
	t.Helper()
	h := &Host{Dir: dir, All: all, Reader: reader, Lasting: lasting, Logger: slog.New(slog.DiscardHandler)}
	stop, err := h.Serve()
	if err != nil {
		t.Fatal(err)
	}
	return h, stop
}

func join(t *testing.T, dir string) *Guest {
	t.Helper()
	g, err := Join(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

func (g *Guest) ask(ctx context.Context, path, query, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://dealhouse:80/?query="+query,
		strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return caller{g, path}.RoundTrip(req)
}

// A guest's request reaches the engine with the rights of its path, and the answer comes back unchanged.
func TestRelay(t *testing.T) {
	all, reader := &answering{status: 404, body: strings.NewReader("no such table")}, &answering{status: 200,
		body: strings.NewReader("1\n")}
	dir := t.TempDir()
	h, stop := serve(t, dir, all, reader, true)
	defer stop()
	g := join(t, dir)
	g.Name = "here/1/abc"
	if !g.Lasting() || g.PID() != os.Getpid() || h.Knows(g.Name) {
		t.Errorf("lasting %t, process %d, known %t", g.Lasting(), g.PID(), h.Knows(g.Name))
	}
	for _, x := range []struct {
		path string
		to   *answering
		want string
	}{{pathAll, all, "no such table"}, {pathReader, reader, "1\n"}} {
		resp, err := g.ask(t.Context(), x.path, "SELECT+1&database=d", "data")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || string(text) != x.want || resp.StatusCode != x.to.status ||
			resp.Header.Get("X-ClickHouse-Exception-Code") != "60" {
			t.Errorf("%s: %d %q %v", x.path, resp.StatusCode, text, err)
		}
		if q := x.to.asked.Load().URL.Query(); q.Get("query") != "SELECT 1" || q.Get("database") != "d" {
			t.Errorf("%s: the engine was asked %v", x.path, q)
		}
	}
	if !h.Knows(g.Name) || h.Knows("here/2/def") {
		t.Error("the host does not know its guests")
	}
}

// Only the user who owns the data can open the socket (share-1).
func TestSocketIsPrivate(t *testing.T) {
	dir := t.TempDir()
	_, stop := serve(t, dir, &answering{}, &answering{}, true)
	info, err := os.Stat(filepath.Join(dir, SocketName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	stop()
	if _, err := os.Stat(filepath.Join(dir, SocketName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

// broken is an answer that breaks off.
type broken struct{ first io.Reader }

func (b broken) Read(p []byte) (int, error) {
	if n, err := b.first.Read(p); n > 0 || !errors.Is(err, io.EOF) {
		return n, err
	}
	return 0, errors.New("the query was killed")
}

// An incomplete answer is an error, and so is a host that has ended (share-2).
func TestCutOff(t *testing.T) {
	dir := t.TempDir()
	_, stop := serve(t, dir, &answering{status: 200, body: broken{strings.NewReader("half")}},
		&answering{err: errors.New("closed")}, false)
	g := join(t, dir)
	if g.Lasting() {
		t.Error("it is said to last")
	}
	resp, err := g.ask(t.Context(), pathAll, "x", "")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("half an answer was taken for all of it: %q", text)
	}
	_ = resp.Body.Close()
	if resp, err := g.ask(t.Context(), pathReader, "x", ""); err == nil || errors.Is(err, ErrHostEnded) {
		t.Errorf("%v %v", resp, err)
	}
	stop()
	if _, err := g.ask(t.Context(), pathAll, "x", ""); !errors.Is(err, ErrHostEnded) {
		t.Errorf("of a host that has ended: %v", err)
	}
}

// Without a host, or with the socket of one that was killed, Join finds nobody, and the next host can start (share-4).
func TestNobody(t *testing.T) {
	dir := t.TempDir()
	for _, what := range []string{"nothing", "a socket that nobody listens to"} {
		if _, err := Join(t.Context(), dir); !errors.Is(err, ErrNobody) {
			t.Errorf("%s: %v", what, err)
		}
		if err := os.WriteFile(filepath.Join(dir, SocketName), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, stop := serve(t, dir, &answering{}, &answering{}, true)
	defer stop()
	join(t, dir)
	if _, err := Join(t.Context(), filepath.Join(dir, "not", "there")); !errors.Is(err, ErrNobody) {
		t.Error(err)
	}
}

// The path of a folder may be longer than the path of a socket can be.
func TestLongName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	h := &Host{Dir: dir, All: &answering{status: 200, body: strings.NewReader("")}, Logger: slog.New(slog.DiscardHandler)}
	stop, err := h.Serve()
	if errors.Is(err, errors.ErrUnsupported) {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v: CI has to run where a socket in a deep folder has a name, or this is not tested at all", err)
		}
		t.Skipf("%v: this system has no way to name a socket in a deep folder", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	join(t, dir)
}

// A guest does not wait forever for a host that does not answer.
func TestSilentHost(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Join(ctx, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
