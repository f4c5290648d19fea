package syncer

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
)

// TestRefusedPages refuses every page after the first one. No list moves, so the run says what the service said, to
// what, and which setting may be behind it, and does not ask for long. Transactions are read in ranges of time.
func TestRefusedPages(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	settings := map[string]string{"coupons": "account.params.cursor", "transactions": "", "products": "account.params.page"}
	for i, status := range []int{http.StatusBadRequest, http.StatusNotFound, http.StatusGone,
		http.StatusUnprocessableEntity}[:enginetest.Sample(1, 4)] {
		for stream, setting := range settings {
			t.Run(fmt.Sprint(stream, status), func(t *testing.T) {
				t.Parallel()
				options := smallWorld()
				options.Settings.PageSize = 20
				options.Settings.Cursor = []apisim.CursorKind{apisim.CursorNextID, apisim.CursorKeyset}[i%2]
				x, w := serve(t, options), open(t)
				job := x.jobs(t, "acme", stream)[0]
				requests := x.counted(t, &job)
				x.SetFault(func(r *http.Request) apisim.Fault {
					if q := r.URL.Query(); !q.Has("cursor") && !q.Has("page") {
						return apisim.Fault{}
					}
					return apisim.Fault{Kind: apisim.FaultStatus, Status: status, Body: `{"error":"unknown cursor"}`}
				})
				var log bytes.Buffer
				s, err := New(Options{Warehouse: w, Grace: patience, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				if err != nil {
					t.Fatal(err)
				}
				_, err = s.Run(t.Context(), job)
				if setting == "" { // each range of time fits on a page
					if err != nil || !strings.Contains(log.String(), "unknown cursor") {
						t.Errorf("%v\n%s", err, &log)
					}
					checkTruth(t, w, x, "acme", stream)
					return
				}
				for _, word := range []string{fmt.Sprintf("(HTTP %d)", status), "unknown cursor", "[GET http", setting, job.Stream.Path} {
					if err == nil || !strings.Contains(err.Error(), word) {
						t.Errorf("%q is not in %v", word, err)
					}
				}
				if n := requests.n.Load(); n > 10 {
					t.Errorf("%d requests", n)
				}
			})
		}
	}
}
