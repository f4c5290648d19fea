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

// TestUnchanged wants a page that has not changed to be one without records, and only where that was asked for.
func TestUnchanged(t *testing.T) {
	for _, c := range []struct {
		name, tag, unless string
		start             string
		want              string // the tag that is kept
		unchanged         bool
	}{
		{name: "strong", tag: `"abc"`, unless: `"abc"`, want: `"abc"`, unchanged: true},
		{name: "weak", tag: `W/"abc"`, unless: `W/"abc"`, want: `W/"abc"`, unchanged: true},
		{name: "another", tag: `"abc"`, unless: `"abd"`, want: `"abc"`},
		{name: "not asked", tag: `"abc"`, want: `"abc"`},
		{name: "none"},
		{name: "no tag", tag: `abc`, unless: `abc`, unchanged: true},
		{name: "the key in it", tag: `"` + testKey + `"`},
		{name: "too long", tag: `"` + strings.Repeat("a", maxTag) + `"`},
		{name: "a later page", tag: `"abc"`, unless: `"abc"`, start: "x", want: `"abc"`},
	} {
		r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("ETag", c.tag)
			if got := req.Header.Get("If-None-Match"); got != "" && got == c.tag {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			_, _ = w.Write([]byte(`{"data":[{"id":"a"}]}`))
		}, nil)
		pages, err := collect(t.Context(), r.Client, Query{Path: couponsPath, Unless: c.unless, Start: c.start})
		if err != nil || len(pages) != 1 {
			t.Errorf("%s: %d pages, %v", c.name, len(pages), err)
			continue
		}
		if p := pages[0]; p.Tag != c.want || p.Unchanged != c.unchanged || (p.Records() == 0) != c.unchanged || p.Next != "" || p.ServerTime.IsZero() {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}
