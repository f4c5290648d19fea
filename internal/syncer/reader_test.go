package syncer

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
)

// TestReadersSeeWholeRuns changes every row of a list in each run, while a reader asks the view without pause: it must
// always see one generation of rows, all of them, each once. For wide samples: TestModel has a reader all along.
func TestReadersSeeWholeRuns(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	const rows = 3000
	runs := enginetest.Sample(3, 8)
	var generation atomic.Int64
	generation.Store(1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		records := make([]string, rows)
		for i := range records {
			n := generation.Load()
			// A tenth of the rows is new in every generation, and gone in the next.
			id := i
			if i%10 == 0 {
				id = i + int(n)*rows
			}
			records[i] = fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d","code":"g%d","updatedAt":"2026-01-01T00:00:%02dZ"}`,
				id, n, n)
		}
		fmt.Fprint(w, `{"data":[`+strings.Join(records, ",")+`]}`)
	}))
	t.Cleanup(server.Close)
	w := open(t)
	s, err := catalog.Find("coupons")
	if err != nil {
		t.Fatal(err)
	}
	job := NewJob("acme", s, newClient(t, "acme", server.URL, "key"))
	syncAll(t, w, []Job{job})

	done, ended := make(chan struct{}), make(chan string, 1)
	reads := 0
	go func() {
		defer close(ended)
		for last := ""; ; {
			select {
			case <-done:
				return
			default:
			}
			var count, ids uint64
			var codes []string
			err := w.Conn().QueryRow(t.Context(),
				"SELECT count(), uniqExact(id), groupUniqArray(code) FROM coupons").Scan(&count, &ids, &codes)
			if err != nil || count != rows || ids != rows || len(codes) != 1 {
				ended <- fmt.Sprintf("a reader saw %d rows, %d of them different, of the generations %v: %v", count, ids, codes,
					err)
				return
			}
			if codes[0] != last {
				reads++
				last = codes[0]
			}
		}
	}()
	for range runs {
		generation.Add(1)
		if r := syncAll(t, w, []Job{job})["acme/coupons"]; r.Changes.Inserted != rows/10 || r.Changes.Deleted != rows/10 ||
			r.Changes.Updated != rows*9/10 {
			t.Fatalf("%+v", r.Changes)
		}
	}
	close(done)
	if broken := <-ended; broken != "" {
		t.Error(broken)
	}
	if reads < 2 {
		t.Errorf("the reader saw %d generations: it watched nothing change", reads)
	}
}
