package syncer

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
)

// TestConfirmedDeletes lets a list leave out rows of which some still exist: only those that are not found at their own
// address either are deleted.
func TestConfirmedDeletes(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	const rows = 20
	id := func(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }
	record := func(i int) string { return fmt.Sprintf(`{"id":%q,"code":"c%d"}`, id(i), i) }
	missing := map[int]string{} // rows that the list leaves out, and how their own address answers
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/deals/coupons", func(w http.ResponseWriter, _ *http.Request) {
		var records []string
		for i := range rows {
			if _, out := missing[i]; !out {
				records = append(records, record(i))
			}
		}
		fmt.Fprint(w, `{"data":[`+strings.Join(records, ",")+`]}`)
	})
	mux.HandleFunc("/v1/deals/coupons/{id}", func(w http.ResponseWriter, r *http.Request) {
		for i, answer := range missing {
			switch {
			case r.PathValue("id") != id(i):
			case answer == "alive":
				fmt.Fprint(w, record(i))
			case answer == "refused":
				w.WriteHeader(http.StatusBadRequest)
			default:
				w.WriteHeader(http.StatusNotFound)
			}
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	w := open(t)
	s, err := catalog.Find("coupons")
	if err != nil {
		t.Fatal(err)
	}
	job := NewJob("acme", s, newClient(t, "acme", server.URL, "key"))
	job.ConfirmDeletes = true
	syncAll(t, w, []Job{job})
	missing[3], missing[7], missing[11] = "gone", "alive", "refused"
	r := syncAll(t, w, []Job{job})["acme/coupons"]
	if r.Changes.Deleted != 1 || len(r.Warnings) != 2 {
		t.Errorf("%+v, warnings %q", r.Changes, r.Warnings)
	}
	if got := one(t, w, "SELECT arrayStringConcat(arraySort(groupArray(code)), ' ') FROM coupons WHERE code IN ('c3', 'c7', 'c11')"); got != "c11 c7" {
		t.Errorf("left are %q", got)
	}
	job.ConfirmDeletes = false
	if r := syncAll(t, w, []Job{job})["acme/coupons"]; r.Changes.Deleted != 2 {
		t.Errorf("unconfirmed: %+v", r.Changes)
	}
}
