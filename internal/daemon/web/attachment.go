package web

import (
	"context"
	"math"
	"net/http"
)

const (
	// heldBack is how many bytes of a download are buffered before the first one is sent: until then, an
	// error can still be reported.
	heldBack = 64 << 10
	// maxDownloads is how many downloads are made side by side. A viewer with a slow connection
	// does not block any page.
	maxDownloads = 2
)

// attachment is a download under way. It is sent while it is made, and not kept in memory. An error before
// the first bytes are sent is reported in the answer. An error after that cuts the answer off, so that
// nobody takes it for complete.
type attachment struct {
	to     http.ResponseWriter
	header func(http.Header)
	most   int // bytes that are held back at most
	held   []byte
	begun  bool // the first bytes are sent
}

// newAttachment makes the attachment of a request. An answer by HTTP/1.0, which some proxies use, ends with its
// connection, so it looks complete wherever it is cut off. Such an answer is sent only when it is complete.
func newAttachment(to http.ResponseWriter, r *http.Request, header func(http.Header)) *attachment {
	a := &attachment{to: to, header: header, most: heldBack}
	if !r.ProtoAtLeast(1, 1) {
		a.most = math.MaxInt
	}
	return a
}

// Write implements io.Writer.
func (a *attachment) Write(p []byte) (int, error) {
	if len(a.held)+len(p) > a.most {
		if err := a.send(); err != nil {
			return 0, err
		}
	}
	if len(p) > a.most {
		return a.to.Write(p)
	}
	a.held = append(a.held, p...)
	return len(p), nil
}

// send sends what is held back.
func (a *attachment) send() error {
	if !a.begun {
		a.header(a.to.Header())
		a.begun = true
	}
	_, err := a.to.Write(a.held)
	a.held = a.held[:0]
	return err
}

// toDownload runs a function as soon as fewer than maxDownloads downloads are under way.
func (s *Server) toDownload(ctx context.Context, do func() error) error {
	select {
	case s.downloads <- struct{}{}:
		defer func() { <-s.downloads }()
		return do()
	case <-ctx.Done():
		return ctx.Err()
	}
}
