package dealapi

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

func zipped(t *testing.T, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGzipIsUndoneAndCounted(t *testing.T) {
	body := `{"data":["` + strings.Repeat("x", 100_000) + `"]}`
	packed := zipped(t, body)
	var infos []RequestInfo
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Accept-Encoding") != "gzip" {
			t.Error("gzip was not asked for")
		}
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed)
	}, func(o *Options) { o.OnRequest = func(i RequestInfo) { infos = append(infos, i) } })
	pages, err := collect(t.Context(), r.Client, Query{Path: couponsPath})
	if err != nil || pages[0].Bytes != len(body) {
		t.Fatal(err)
	}
	s := r.Stats()
	if s.Bytes != uint64(len(body)) || s.WireBytes != uint64(len(packed)) || s.Succeeded != 1 {
		t.Errorf("%+v", s)
	}
	if len(infos) != 1 || infos[0].Status != 200 || infos[0].Bytes != int64(len(body)) || infos[0].Kind != 0 {
		t.Errorf("%+v", infos)
	}
}

func TestReadBodyBounds(t *testing.T) {
	const limit = 1000
	for name, tc := range map[string]struct {
		body   []byte
		length int64
		gzip   bool
		err    any
	}{
		"exactly":              {bytes.Repeat([]byte("x"), limit), limit, false, nil},
		"exactly, unannounced": {bytes.Repeat([]byte("x"), limit), -1, false, nil},
		"one more":             {bytes.Repeat([]byte("x"), limit+1), -1, false, &tooLargeError{}},
		"announced":            {nil, limit + 1, false, &tooLargeError{}},
		"bomb":                 {zipped(t, strings.Repeat("x", 1<<20)), -1, true, &tooLargeError{}},
		"gzip cut":             {zipped(t, strings.Repeat("xyz", 100))[:20], -1, true, &encodingError{}},
		"gzip header cut":      {zipped(t, "x")[:5], -1, true, &encodingError{}},
		"empty":                {nil, 0, false, nil},
	} {
		resp := &http.Response{Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(tc.body)), ContentLength: tc.length}
		if tc.gzip {
			resp.Header.Set("Content-Encoding", "gzip")
		}
		got, wire, err := readBody(resp, limit, 0, &place{of: NewBodies()})
		var large *tooLargeError
		var encoding *encodingError
		switch tc.err.(type) {
		case nil:
			if err != nil || !bytes.Equal(got, tc.body) || wire != int64(len(tc.body)) {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
		case *tooLargeError:
			if !errors.As(err, &large) || len(got) > limit {
				t.Errorf("%s: %v", name, err)
			}
		case *encodingError:
			if !errors.As(err, &encoding) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestReadBodyTrustsNoLength(t *testing.T) {
	resp := &http.Response{Header: http.Header{}, Body: io.NopCloser(strings.NewReader("x")), ContentLength: 200 << 20}
	got, _, err := readBody(resp, 256<<20, 0, &place{of: NewBodies()})
	if err != nil || cap(got) > trustedBytes {
		t.Errorf("%d bytes allocated for one, %v", cap(got), err)
	}
}

func TestGet(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/v1/deals/coupons/7":
			text(" {\"id\":\"7\"}\n")(w, req)
		case "/v1/deals/coupons/a?b#c":
			text(`{"id":"odd"}`)(w, req)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}, nil)
	for path, want := range map[string]string{"/7": `{"id":"7"}`, "/a?b#c": `{"id":"odd"}`} {
		got, err := r.Get(t.Context(), couponsPath+path, nil)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s %v", path, got, err)
		}
	}
	_, err := r.Get(t.Context(), couponsPath+"/8", nil)
	if e := ofKind(t, err, KindNotFound); e.Attempts != 1 || e.CursorRefused() {
		t.Errorf("%v", e)
	}
}

// The version of the interface is added to base_url. If base_url has it too, the error says so.
func TestVersionInBaseURL(t *testing.T) {
	r := newRig(t, http.NotFound, nil)
	for base, want := range map[string]string{"": "check base_url", "/v1": "remove /v1 from base_url",
		"/v1/": "remove /v1 from base_url", "/proxy/v1": "remove /v1 from base_url"} {
		c, err := New(Options{Account: "acme", BaseURL: r.server.URL + base, Key: testKey})
		if err != nil {
			t.Fatal(err)
		}
		for _, failed := range c.Pages(t.Context(), Query{Path: couponsPath}) {
			err = failed
		}
		if e := ofKind(t, err, KindNotFound); !strings.Contains(e.Error(), want) {
			t.Errorf("%s: %v", base, e)
		}
		c.Close()
	}
}

func TestClientIsSafeForManyStreams(t *testing.T) {
	r := newRig(t, endless(make(chan int, 1000)), func(o *Options) { o.Limiter = NewLimiter(1e6) })
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for page, err := range r.Pages(t.Context(), Query{Path: couponsPath}) {
				if err != nil {
					t.Error(err)
				}
				if page.Number == 20 {
					break
				}
			}
		})
	}
	wg.Wait()
}
