package door

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/ClickHouse/ch-go/compress"
	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"

	"dealhouse/internal/chdb/engine"
	"dealhouse/internal/chdb/exception"
)

// hello answers clickhouse-go's first question, encoded at the client's own protocol version. It reports revision 0.
// From then on the client reads and writes blocks of revision 0, as the engine's Native format does.
func hello(version string, clientVersion uint64) (io.ReadCloser, error) {
	block := proto.NewBlock()
	for _, c := range []struct {
		name string
		typ  column.Type
	}{{"displayName()", "String"}, {"version()", "String"}, {"revision()", "UInt32"}, {"timezone()", "String"}} {
		if err := block.AddColumn(c.name, c.typ); err != nil {
			return nil, fmt.Errorf("answer the handshake: %w", err)
		}
	}
	if err := block.Append("chdb", version, uint32(0), "UTC"); err != nil {
		return nil, fmt.Errorf("answer the handshake: %w", err)
	}
	var buf chproto.Buffer
	if err := block.Encode(&buf, clientVersion); err != nil {
		return nil, fmt.Errorf("answer the handshake: %w", err)
	}
	return io.NopCloser(bytes.NewReader(buf.Buf)), nil
}

// finish puts the answer into the native protocol's compressed frames, if the client wants them. The engine itself
// does not know these frames.
func (r *request) finish(a *engine.Answer) *engine.Answer {
	if r.compress && a.Body != nil {
		a.Body = &framer{src: a.Body, w: compress.NewWriter(compress.LevelZero, compress.LZ4),
			raw: make([]byte, engine.ChunkSize)}
	}
	return a
}

// framer compresses what it reads, piece by piece.
type framer struct {
	src io.ReadCloser
	w   *compress.Writer
	raw []byte
	out []byte
	err error
}

func (f *framer) Read(p []byte) (int, error) {
	for len(f.out) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		n, err := engine.Fill(f.src, f.raw)
		f.err = err
		if n > 0 {
			if err := f.w.Compress(f.raw[:n]); err != nil {
				f.err = err
				return 0, err
			}
			f.out = f.w.Data
		}
	}
	n := copy(p, f.out)
	f.out = f.out[n:]
	return n, nil
}

// Close closes the body that is framed.
func (f *framer) Close() error { return f.src.Close() }

// framedText returns a text as one frame.
func framedText(text []byte) []byte {
	w := compress.NewWriter(compress.LevelZero, compress.LZ4)
	if err := w.Compress(text); err != nil {
		return nil // the client sees that the result is not complete
	}
	return w.Data
}

// deframe returns a reader that uncompresses the native protocol's frames in r.
func deframe(r io.Reader) io.Reader { return &deframer{src: &edge{r: r}} }

type deframer struct {
	src *edge
	r   *compress.Reader
	err error // kept: after an error, the decoder would return its last frame again
}

// Read returns io.EOF if the body ends between two frames, and io.ErrUnexpectedEOF if it ends inside a frame. The
// decoder reports both in the same way.
func (d *deframer) Read(p []byte) (n int, err error) {
	if d.err != nil {
		return 0, d.err
	}
	defer func() { d.err = err }()
	if d.r == nil {
		d.r = compress.NewReader(d.src)
	}
	d.src.n = 0
	n, err = d.r.Read(p)
	if errors.Is(err, io.EOF) {
		if d.src.n == 0 {
			return n, io.EOF
		}
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// edge counts the bytes that were read since n was last set to 0.
type edge struct {
	r io.Reader
	n int
}

func (e *edge) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	e.n += n
	return n, err
}

// httpStatus returns the HTTP status that ClickHouse uses for an error code.
func httpStatus(code int32) int {
	switch code {
	case exception.PasswordRequired:
		return http.StatusUnauthorized
	case exception.AuthFailed, exception.AccessDenied, exception.Readonly, 192, 193:
		return http.StatusForbidden
	case exception.SyntaxError, exception.BadArguments, 6, 25, 26, 27, 38, 41, 42, 43, 53, 70, 72, 117, 167, 168, 223, 376, 441, 456, 457, 675, 676:
		return http.StatusBadRequest
	case 16, 46, 47, 50, 56, 60, 63, 73, 78, 81, exception.UnknownSetting, 336, sessionNotFound:
		return http.StatusNotFound
	case exception.QueryTooLarge:
		return http.StatusRequestEntityTooLarge
	case exception.NotImplemented:
		return http.StatusNotImplemented
	case 159:
		return http.StatusRequestTimeout
	case 202, 209, 439:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// contentType returns the media type of a format.
func contentType(format string) string {
	f := strings.ToLower(format)
	switch {
	case f == "jsoneachrow", f == "jsonlines", f == "ndjson", strings.Contains(f, "eachrow"):
		return "application/x-ndjson; charset=UTF-8"
	case strings.HasPrefix(f, "json"):
		return "application/json; charset=UTF-8"
	case strings.HasPrefix(f, "csv"):
		return "text/csv; charset=UTF-8"
	case strings.HasPrefix(f, "tsv"), strings.HasPrefix(f, "tabseparated"):
		return "text/tab-separated-values; charset=UTF-8"
	case f == "xml":
		return "application/xml; charset=UTF-8"
	case f == "markdown":
		return "text/markdown; charset=UTF-8"
	case f == "parquet":
		return "application/vnd.apache.parquet"
	case f == "native", f == "rowbinary", strings.HasPrefix(f,
		"rowbinary"), f == "arrow", f == "arrowstream", f == "orc", f == "avro", f == "msgpack":
		return "application/octet-stream"
	}
	return "text/plain; charset=UTF-8"
}
