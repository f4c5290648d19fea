package warehouse

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
)

// cutOff fails each request, on a connection that is new or reused.
type cutOff struct{ reused bool }

func (b cutOff) RoundTrip(req *http.Request) (*http.Response, error) {
	httptrace.ContextClientTrace(req.Context()).GotConn(httptrace.GotConnInfo{Reused: b.reused})
	if _, err := io.ReadAll(req.Body); err != nil {
		return nil, err
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	return nil, errors.New("http: server closed idle connection") // net/http has no type for it
}

// unreadable fails when it is read.
type unreadable struct{}

func (unreadable) Read([]byte) (int, error) { return 0, errors.New("the rows cannot be written") }

// TestDroppedConnection checks that a request is sent again if its idle connection was already closed. A request that
// fails for another reason is not.
func TestDroppedConnection(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	for name, c := range map[string]struct {
		ctx    context.Context
		reused bool
		body   io.Reader
		again  bool
	}{
		"idle before":         {t.Context(), true, strings.NewReader("SELECT 1"), true},
		"new":                 {t.Context(), false, strings.NewReader("SELECT 1"), false},
		"rows that are bad":   {t.Context(), true, unreadable{}, false},
		"nobody waits for it": {ended, true, strings.NewReader("SELECT 1"), false},
	} {
		req, err := http.NewRequestWithContext(c.ctx, http.MethodPost, "http://warehouse.test", c.body)
		must(t, err)
		answer, err := failureTransport{cutOff{c.reused}}.RoundTrip(req)
		if err == nil {
			must(t, answer.Body.Close())
			t.Fatalf("%s: it succeeded", name)
		}
		if _, again := remedyOf(err); again != c.again {
			t.Errorf("%s: %v is tried again: %v", name, err, again)
		}
	}
}
