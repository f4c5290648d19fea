package dealapi

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const (
	smallBody = 16 << 10
	// trustedBytes is how much is allocated because a Content-Length announces it. Beyond that, the buffer grows
	// with what really arrives.
	trustedBytes = 4 << 20
)

// tooLargeError: the body is over its bound.
type tooLargeError struct{ limit int64 }

func (e *tooLargeError) Error() string { return fmt.Sprintf("it has more than %d bytes", e.limit) }

// encodingError: the whole body arrived, but its Content-Encoding is wrong.
type encodingError struct{ err error }

func (e *encodingError) Error() string { return "the body's encoding: " + e.err.Error() }
func (e *encodingError) Unwrap() error { return e.err }

// wireReader counts the bytes of a body as received. It keeps the error that ended the body, to tell a broken
// connection from broken contents.
type wireReader struct {
	r   io.Reader
	n   int64
	err error
}

func (w *wireReader) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.n += int64(n)
	if err != nil {
		w.err = err
	}
	return n, err
}

// readBody reads a body to its end, decompressed, at most limit bytes, into a buffer of its own (dealapi-8). It
// takes room before it allocates. It also returns the number of bytes received. If it fails, it returns what was
// read until then as well.
func readBody(resp *http.Response, limit int64, hint int, room *place) (body []byte, wire int64, err error) {
	if resp.ContentLength > limit {
		return nil, 0, &tooLargeError{limit}
	}
	raw := &wireReader{r: resp.Body}
	size := int64(hint)
	var source io.Reader = raw
	switch encoding := strings.ToLower(resp.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		if resp.ContentLength >= 0 {
			size = resp.ContentLength
		}
	case "gzip", "x-gzip":
		source, err = gzip.NewReader(raw)
		if err != nil {
			return nil, raw.n, raw.judge(err)
		}
	default:
		return nil, 0, &encodingError{fmt.Errorf("%.20q was not asked for", encoding)}
	}
	// One byte more than expected finds the end without growing.
	body = make([]byte, 0, min(max(size, 0)+1, trustedBytes, limit+1))
	for {
		if len(body) == cap(body) {
			size := nextSize(int64(len(body)), limit)
			if err := room.grow(size); err != nil {
				return body, raw.n, err
			}
			body = append(room.buffer(size), body...)
		}
		n, err := source.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			return body[:limit], raw.n, &tooLargeError{limit}
		case errors.Is(err, io.EOF):
			return body, raw.n, nil
		case err != nil:
			return body, raw.n, raw.judge(err)
		}
	}
}

// judge returns the connection's own error if there was one. Otherwise the contents are wrong, and it
// returns an encodingError.
func (w *wireReader) judge(err error) error {
	if w.err != nil && !errors.Is(w.err, io.EOF) {
		return w.err
	}
	return &encodingError{err}
}
