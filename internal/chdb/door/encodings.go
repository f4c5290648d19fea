package door

import (
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"dealhouse/internal/chdb/exception"
)

// largestWindow is how many bytes of a body a zstd decoder keeps at most: as many as ClickHouse's own clients ask for.
const largestWindow = 8 << 20

// decodeBody returns a reader that uncompresses the body.
func decodeBody(body io.Reader, encoding string, framed bool, b *bounds) (io.Reader, error) {
	if body == nil || body == http.NoBody {
		return nil, nil
	}
	var err error
	switch encoding {
	case "", "identity":
	case "gzip":
		body, err = gzip.NewReader(body)
	case "deflate":
		body, err = zlib.NewReader(body)
	case "zstd", "br", "lz4":
		// These keep megabytes for each body.
		if err := b.large(); err != nil {
			return nil, err
		}
		body, err = decodeLarge(body, encoding)
	default:
		return nil, exception.New(exception.NotImplemented, "NOT_IMPLEMENTED",
			"Content-Encoding "+encoding+" is not supported by the embedded engine; use gzip, deflate, zstd, br, lz4 or none")
	}
	if err != nil {
		return nil, exception.New(exception.BadArguments, "BAD_ARGUMENTS", "the body is not "+encoding+": "+err.Error())
	}
	if framed && b != nil {
		body = &frames{r: body, bounds: b}
	}
	if framed {
		body = deframe(body)
	}
	return body, nil
}

func decodeLarge(body io.Reader, encoding string) (io.Reader, error) {
	switch encoding {
	case "br":
		return brotli.NewReader(body), nil
	case "lz4":
		return lz4.NewReader(body), nil
	}
	return zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(largestWindow))
}
