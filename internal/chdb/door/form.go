package door

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/url"

	"dealhouse/internal/chdb/exception"
)

// formOf returns the boundary if a Content-Type says that the body is a form in parts.
func formOf(contentType string) (boundary string, ok bool) {
	kind, params, err := mime.ParseMediaType(contentType)
	return params["boundary"], err == nil && kind == "multipart/form-data"
}

// readForm adds the parts of a body to v: clients send the query and long parameters so, instead of in the URL. They
// are judged as if they were there. All parts together may have most bytes.
func readForm(v url.Values, body io.Reader, boundary string, most int64, b *bounds) error {
	if body == nil || boundary == "" {
		return exception.New(exception.BadArguments, "BAD_ARGUMENTS", "the form in the body has no parts")
	}
	// A form is kept in memory, and so are the headers of its parts.
	if err := b.large(); err != nil {
		return err
	}
	limited := &io.LimitedReader{R: body, N: most + formFrame}
	parts := multipart.NewReader(limited, boundary)
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) && limited.N > 0 {
			return nil
		}
		if err == nil && part.FileName() != "" {
			return exception.New(exception.NotImplemented, "NOT_IMPLEMENTED", "external tables (parts with a file name) are "+
				"not supported by the embedded engine: send their values as a parameter of a type such as Array(String)")
		}
		var text []byte
		if err == nil {
			text, err = io.ReadAll(part)
		}
		switch {
		case limited.N <= 0:
			return exception.New(exception.QueryTooLarge, "QUERY_IS_TOO_LARGE",
				fmt.Sprintf("the parts of the body are longer than %d bytes together", most))
		case err != nil:
			return fmt.Errorf("read the parts of the body: %w", err)
		}
		v.Set(part.FormName(), string(text))
	}
}

// formFrame is how many bytes the boundaries and headers of a form may have.
const formFrame = 64 << 10
