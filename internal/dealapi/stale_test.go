package dealapi

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestOldAnswers wants requests that ask for no cached answer, and cached answers that are old to be doubted.
func TestOldAnswers(t *testing.T) {
	for _, c := range []struct {
		name, value string
		status      int
		age         time.Duration
		doubted     bool
	}{
		{"", "", 200, 0, false},
		{"Age", "0", 200, 0, false},
		{"Age", "20", 200, 20 * time.Second, false},
		{"Age", "3600", 200, time.Hour, true},
		{"Age", " 31 ", 200, 31 * time.Second, true},
		{"Age", "99999999999999999999999", 200, maxRetryAfterSeconds * time.Second, true},
		{"Age", "old", 200, 0, false},
		{"Age", "-5", 200, 0, false},
		{"Warning", `110 proxy "Response is Stale"`, 200, 0, true},
		{"Warning", `299 - "something else"`, 200, 0, false},
		{"Warning", `299 - "x", 111 - "Revalidation Failed"`, 200, 0, true},
		{"Age", "3600", 404, 0, true},
		{"Age", "1", 404, 0, false},
	} {
		r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
			if req.Header.Get("Cache-Control") != "no-cache" || req.Header.Get("Pragma") != "no-cache" {
				t.Errorf("the request takes a cached answer: %v", req.Header)
			}
			if c.name != "" {
				w.Header().Set(c.name, c.value)
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(`{"data":[{"id":"a"}]}`))
		}, nil)
		pages, err := collect(t.Context(), r.Client, Query{Path: couponsPath})
		if c.status != http.StatusOK {
			e, is := errors.AsType[*Error](err)
			if !is || (e.Kind == KindNotFound) == c.doubted || time.Since(e.ServerTime).Abs() > time.Minute {
				t.Errorf("%s %q with %d: %v", c.name, c.value, c.status, err)
			}
			continue
		}
		if err != nil || len(pages) != 1 {
			t.Errorf("%s %q: %d pages, %v", c.name, c.value, len(pages), err)
			continue
		}
		p := pages[0]
		if p.Age != c.age || (p.Doubt != "") != c.doubted || c.doubted && !strings.Contains(p.Doubt, strings.TrimSpace(c.value)) {
			t.Errorf("%s %q: age %v, doubt %q", c.name, c.value, p.Age, p.Doubt)
		}
	}
}
