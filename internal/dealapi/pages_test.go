package dealapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const couponsPath = "/v1/deals/coupons"

func TestPagesFollowCursorsWithFilters(t *testing.T) {
	var asked []string
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		asked = append(asked, req.URL.String())
		if got := req.Header.Get("Authorization"); got != "Bearer "+testKey {
			t.Errorf("Authorization is %q", got)
		}
		switch req.URL.Query().Get("cursor") {
		case "":
			fmt.Fprint(w, `{"data":[{"id":1},{"id":2}],"cursor":"b&c"}`)
		case "b&c":
			fmt.Fprint(w, ` { "extra":[{}], "cursor" : "d", "data" : [ ] } `)
		case "d":
			fmt.Fprint(w, `{"data":[{"id":3}]}`)
		}
	}, func(o *Options) { o.BaseURL += "/prefix/" })
	params := url.Values{"hostname": {"shop.example"}}
	pages, err := collect(t.Context(), r.Client, Query{Path: couponsPath, Params: params})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/prefix/v1/deals/coupons?hostname=shop.example",
		"/prefix/v1/deals/coupons?cursor=b%26c&hostname=shop.example",
		"/prefix/v1/deals/coupons?cursor=d&hostname=shop.example",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
	type seen struct {
		Number, Records   int
		Data, Token, Next string
	}
	var got []seen
	for _, p := range pages {
		got = append(got, seen{p.Number, p.Records(), string(p.Data), p.Token, p.Next})
		if p.SentAt.IsZero() || p.ServerTime.IsZero() || p.ServerTime.After(time.Now()) || p.Bytes == 0 {
			t.Errorf("page %d: %+v", p.Number, p)
		}
	}
	if diff := cmp.Diff([]seen{
		{1, 2, `[{"id":1},{"id":2}]`, "", "b&c"},
		{2, 0, `[ ]`, "b&c", "d"},
		{3, 1, `[{"id":3}]`, "d", ""},
	}, got); diff != "" {
		t.Error(diff)
	}
	if len(params) != 1 {
		t.Error("the caller's params were changed")
	}
}

func TestNextPageForms(t *testing.T) {
	for name, tc := range map[string]struct {
		next string // as JSON; ORIGIN is the server's
		want string // the second request; "" if there must be none
		kind Kind
	}{
		"token":              {`"tok/en+1"`, "/v2/products?brand=x&p=tok%2Fen%2B1", 0},
		"number":             {`17`, "/v2/products?brand=x&p=17", 0},
		"large number":       {`12345678901234567890`, "/v2/products?brand=x&p=12345678901234567890", 0},
		"base64 with slash":  {`"/9j/4AAQ=="`, "/v2/products?brand=x&p=%2F9j%2F4AAQ%3D%3D", 0},
		"absolute URL":       {`"ORIGIN/v2/products?after=9"`, "/v2/products?after=9", 0},
		"URL with fragment":  {`"ORIGIN/v2/products?after=9#x"`, "/v2/products?after=9", 0},
		"path with query":    {`"/v2/products?after=9"`, "/v2/products?after=9", 0},
		"path style":         {`"/v2/products/after/9"`, "/v2/products/after/9", 0},
		"query alone":        {`"?after=9"`, "/v2/products?after=9", 0},
		"null":               {`null`, "", 0},
		"empty":              {`""`, "", 0},
		"other origin":       {`"https://evil.example/v2/products?after=9"`, "", KindRedirect},
		"other port":         {`"http://127.0.0.1:1/v2/products"`, "", KindRedirect},
		"scheme relative":    {`"//evil.example/v2?x=1"`, "", KindRedirect},
		"user name smuggled": {`"HTTP://127.0.0.1@evil.example/"`, "", KindRedirect},
		"unreadable URL":     {`"http://[::1/v2"`, "", KindRedirect},
		"object":             {`{}`, "", KindMalformed},
		"bool":               {`true`, "", KindMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
				asked = append(asked, req.URL.String())
				next := "null"
				if req.URL.RawQuery == "brand=x" {
					next = strings.ReplaceAll(tc.next, "ORIGIN", "http://"+req.Host)
				}
				fmt.Fprintf(w, `{"nextPage":%s,"data":[1]}`, next)
			}, func(o *Options) { o.MaxAttempts = 1 })
			pages, err := collect(t.Context(), r.Client, Query{
				Path: "/v2/products", Params: url.Values{"brand": {"x"}}, Paging: PagingNextPage, PageParam: "p",
			})
			if tc.kind != 0 {
				wantKind(t, err, tc.kind)
				if len(pages) != 0 {
					t.Errorf("%d pages delivered whose next cannot be followed", len(pages))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := []string{"/v2/products?brand=x"}
			if tc.want != "" {
				want = append(want, tc.want)
			}
			if diff := cmp.Diff(want, asked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStartResumes(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprintf(w, `{"data":[%q]}`, req.URL.RawQuery)
	}, nil)
	pages, err := collect(t.Context(), r.Client, Query{Path: "/v2/products", Paging: PagingNextPage, Start: "41"})
	if err != nil || string(pages[0].Data) != `["page=41"]` || pages[0].Token != "41" {
		t.Fatal(pages, err)
	}
}

func TestBareArray(t *testing.T) {
	r := newRig(t, text("\n[{\"id\":1}] "), nil)
	pages, err := collect(t.Context(), r.Client, Query{Path: "/v1/deals/payouts", Paging: PagingNone})
	if err != nil || len(pages) != 1 || string(pages[0].Data) != `[{"id":1}]` {
		t.Fatal(pages, err)
	}
	r = newRig(t, text(`{"data":[]}`), func(o *Options) { o.MaxAttempts = 1 })
	_, err = collect(t.Context(), r.Client, Query{Path: "/v1/deals/payouts", Paging: PagingNone})
	wantKind(t, err, KindMalformed)
}

func TestLoopsEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		handler  http.HandlerFunc
		query    Query
		kind     Kind
		requests int32
	}{
		"points to itself": {
			text(`{"data":[1],"cursor":"a"}`), Query{}, KindLoop, 2,
		},
		"points back to the start": {
			text(`{"data":[1],"cursor":"a"}`), Query{Start: "a"}, KindLoop, 1,
		},
		"longer circle": {
			func(w http.ResponseWriter, req *http.Request) {
				n, _ := strconv.Atoi(req.URL.Query().Get("cursor"))
				fmt.Fprintf(w, `{"data":[1],"cursor":"%d"}`, n%5+1)
			}, Query{}, KindLoop, 6,
		},
		"circle of empty pages": {
			func(w http.ResponseWriter, req *http.Request) {
				n, _ := strconv.Atoi(req.URL.Query().Get("cursor"))
				fmt.Fprintf(w, `{"data":[],"cursor":"%d"}`, n%150+1)
			}, Query{}, KindLoop, 151,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int32
			r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
				requests.Add(1)
				tc.handler(w, req)
			}, nil)
			tc.query.Path = couponsPath
			_, err := collect(t.Context(), r.Client, tc.query)
			wantKind(t, err, tc.kind)
			if got := requests.Load(); got != tc.requests {
				t.Errorf("%d requests, want %d", got, tc.requests)
			}
		})
	}
}

// TestEmptyPagesAreProgress reads a list of which 299 pages in a row are empty.
func TestEmptyPagesAreProgress(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		n, _ := strconv.Atoi(req.URL.Query().Get("cursor"))
		if n == 300 {
			fmt.Fprint(w, `{"data":[{"id":1}]}`)
			return
		}
		fmt.Fprintf(w, `{"data":[],"cursor":"%d"}`, n+1)
	}, nil)
	pages, err := collect(t.Context(), r.Client, Query{Path: couponsPath})
	if err != nil || len(pages) != 301 || pages[300].Records() != 1 {
		t.Errorf("%d pages, %v", len(pages), err)
	}
}

// endless serves pages without end and announces each request.
func endless(requests chan<- int) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		n, _ := strconv.Atoi(req.URL.Query().Get("cursor"))
		requests <- n + 1
		fmt.Fprintf(w, `{"data":[1],"cursor":"%d"}`, n+1)
	}
}

func TestFetchesAheadByABound(t *testing.T) {
	for _, ahead := range []int{-1, 1, 3} {
		t.Run(strconv.Itoa(ahead), func(t *testing.T) {
			requests := make(chan int, 100)
			r := newRig(t, endless(requests), nil)
			extra := max(ahead, 0)
			for page, err := range r.Pages(t.Context(), Query{Path: couponsPath, Ahead: ahead}) {
				if err != nil {
					t.Fatal(err)
				}
				// While we hold page n, the requests up to n+ahead arrive ...
				for page.Number == 1 && len(requests) < 1+extra {
					runtime.Gosched()
				}
				if page.Number == 5 {
					break
				}
				// ... and none beyond.
				if got := len(requests); got > page.Number+extra {
					t.Errorf("%d requests while page %d was in hand", got, page.Number)
				}
			}
		})
	}
}

func TestBreakAbandonsTheRequestUnderWay(t *testing.T) {
	arrived, gone := make(chan struct{}), make(chan struct{})
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Query().Get("cursor") == "" {
			fmt.Fprint(w, `{"data":[1],"cursor":"x"}`)
			return
		}
		close(arrived)
		<-req.Context().Done() // hangs until the client hangs up
		close(gone)
	}, nil)
	for _, err := range r.Pages(t.Context(), Query{Path: couponsPath}) {
		if err != nil {
			t.Fatal(err)
		}
		<-arrived
		break
	}
	<-gone
}

func TestContextEndsTheWalk(t *testing.T) {
	requests := make(chan int, 10000)
	r := newRig(t, endless(requests), nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("drain")
	defer cancel(nil)
	var last error
	for page, err := range r.Pages(ctx, Query{Path: couponsPath}) {
		if last = err; err != nil {
			break
		}
		if page.Number == 3 {
			cancel(cause)
		}
	}
	e := ofKind(t, last, KindCanceled)
	if !errors.Is(e, context.Canceled) || !errors.Is(e, cause) {
		t.Errorf("%v does not wrap its cause", e)
	}
}

func TestCursorRefused(t *testing.T) {
	for status, want := range map[int]bool{400: true, 404: true, 410: true, 403: false} {
		r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Query().Get("cursor") != "" {
				w.WriteHeader(status)
				return
			}
			fmt.Fprint(w, `{"data":[1],"cursor":"x"}`)
		}, nil)
		pages, err := collect(t.Context(), r.Client, Query{Path: couponsPath})
		var e *Error
		if !errors.As(err, &e) || e.CursorRefused() != want || len(pages) != 1 || e.Page != 2 {
			t.Errorf("%d: %d pages, %v", status, len(pages), err)
		}
	}
	// A nextPage of another origin: if it was kept from an earlier walk, starting over may help;
	// if it is new, it does not.
	const elsewhere = "https://before.example/v2/products?page=7"
	r := newRig(t, text(`{"data":[1],"nextPage":"`+elsewhere+`"}`), nil)
	for start, want := range map[string]bool{elsewhere: true, "": false} {
		_, err := collect(t.Context(), r.Client, Query{Path: "/v2/products", Paging: PagingNextPage, Start: start})
		if e := ofKind(t, err, KindRedirect); e.CursorRefused() != want {
			t.Errorf("from %q: CursorRefused is %t: %v", start, !want, err)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	r := newRig(t, text(`{}`), nil)
	for _, q := range []Query{
		{Path: "v1"}, {Path: "/v1/../admin"}, {Path: "/v1", Paging: 9},
		{Path: "/v1", Paging: PagingNone, Start: "x"},
	} {
		_, err := collect(t.Context(), r.Client, q)
		wantKind(t, err, KindConfig)
	}
	_, err := r.Get(t.Context(), "/v1/deals/coupons/..", nil)
	wantKind(t, err, KindConfig)
	if s := r.Stats(); s != (Stats{}) {
		t.Errorf("something was sent: %+v", s)
	}
}

// A list whose pages have no records and never end is a fault of the service, which the error names. Some empty pages
// in a row are none.
func TestEndlessEmptyPages(t *testing.T) {
	t.Parallel()
	for _, empty := range []int{maxEmptyPages - 1, 1 << 30} {
		n := 0
		r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
			if n++; n%(empty+1) == 0 {
				fmt.Fprintf(w, `{"data":[{"id":1}],"nextPage":%s}`, map[bool]string{true: "null", false: fmt.Sprint(n)}[n > 2*empty])
				return
			}
			fmt.Fprintf(w, `{"data":[ ],"nextPage":%d}`, n)
		}, func(o *Options) { o.Limiter = NewLimiter(1e6) })
		pages, err := collect(t.Context(), r.Client, Query{Path: "/v2/products", Paging: PagingNextPage})
		if empty < maxEmptyPages {
			if err != nil || len(pages) != 2*maxEmptyPages {
				t.Errorf("%d pages, %v", len(pages), err)
			}
			continue
		}
		var e *Error
		if !errors.As(err, &e) || e.Kind != KindMalformed || !strings.Contains(err.Error(), "its last 1000 pages have no records") || n > maxEmptyPages+1 {
			t.Errorf("after %d pages: %v", n, err)
		}
	}
}
