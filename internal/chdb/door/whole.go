package door

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"dealhouse/internal/chdb/exception"
)

// keptWhole is how many bytes of a result that the client wants as a whole are kept in memory. The rest is in a file.
const keptWhole = 1 << 20

// storage is where results wait that clients want as a whole (wait_end_of_query).
type storage struct {
	dir  string
	most int64 // bytes of all results together; 0: no bound
	used atomic.Int64
}

// whole reads a result to its end, so that an error in it is still answered as an error. It closes body. The result
// that it returns must be closed.
func (s *storage) whole(body io.ReadCloser) (io.ReadCloser, error) {
	defer body.Close()
	var head bytes.Buffer
	n, err := io.CopyN(&head, body, keptWhole)
	if err == io.EOF { //nolint:errorlint // an error that wraps io.EOF is a failure, not the end
		return io.NopCloser(&head), nil
	}
	if err != nil {
		return nil, err
	}
	_ = n
	f, err := os.CreateTemp(s.dir, "result-")
	if err == nil {
		err = os.Remove(f.Name()) // so that nothing is left of it, however this process ends
	}
	if err != nil {
		return nil, fmt.Errorf("keep a result until its end: %w", err)
	}
	kept := &stored{Reader: io.MultiReader(&head, f), file: f, storage: s}
	if _, err = io.Copy(kept, body); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = kept.Close()
		return nil, err
	}
	return kept, nil
}

// stored is a result of which a part is in a file.
type stored struct {
	io.Reader
	file    *os.File
	storage *storage
	bytes   int64
}

// Write adds to the file.
func (s *stored) Write(p []byte) (int, error) {
	s.bytes += int64(len(p))
	if used := s.storage.used.Add(int64(len(p))); s.storage.most > 0 && used > s.storage.most {
		return 0, exception.New(exception.TooManyRows, "TOO_MANY_ROWS_OR_BYTES",
			"there is no room to keep this result until its end: leave out wait_end_of_query, select less, or raise --max-temporary")
	}
	return s.file.Write(p)
}

// Close gives the room back.
func (s *stored) Close() error {
	s.storage.used.Add(-s.bytes)
	return s.file.Close()
}
