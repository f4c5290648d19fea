package dealapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAside reads what envelopes say beside their records: whether the list is whole, how long it is, or nothing.
func TestAside(t *testing.T) {
	for body, want := range map[string]struct {
		doubt, notice string // a part of the quote
		total         int64
		unknown       string
	}{
		`{"data":[1]}`: {total: -1},
		`{"errors":[{"code":"shard_timeout"}],"data":[1]}`: {doubt: `"errors": [{"code":"shard_timeout"}]`, total: -1},
		`{"data":[1],"error":"index 3 is down"}`:           {doubt: `"error": "index 3 is down"`, total: -1},
		`{"data":[1],"error":{"message":"x"}}`:             {doubt: `"error": {"message":"x"}`, total: -1},
		`{"data":[1],"incomplete_results":true}`:           {doubt: `"incomplete_results": true`, total: -1},
		`{"data":[1],"warnings":["shard 2 timed out"]}`:    {doubt: `shard 2 timed out`, total: -1},
		`{"data":[1],"warning":"only a sample"}`:           {doubt: `only a sample`, total: -1},
		`{"data":[1],"partial":true}`:                      {doubt: `"partial": true`, total: -1},
		`{"data":[1],"isPartial":"yes"}`:                   {doubt: `"isPartial": "yes"`, total: -1},
		`{"data":[1],"truncated":true}`:                    {doubt: `truncated`, total: -1},
		`{"data":[1],"timed_out":true}`:                    {doubt: `timed_out`, total: -1},
		`{"data":[1],"complete":false}`:                    {doubt: `"complete": false`, total: -1},
		`{"data":[1],"success":false,"message":"busy"}`:    {doubt: `success`, total: -1, unknown: "message"},
		`{"data":[1],"status":"partial_success"}`:          {doubt: `partial_success`, total: -1},
		`{"data":[1],"status":{"code":206}}`:               {doubt: `"code": 206`, total: -1},
		`{"data":[1],"code":503}`:                          {doubt: `503`, total: -1},
		`{"data":[1],"meta":{"errors":["x"]}}`:             {doubt: `"errors": ["x"]`, total: -1},
		`{"data":[1],"_shards":{"total":5,"failed":1}}`:    {doubt: `"failed": 1`, total: -1, unknown: "_shards"},
		`{"data":[1],"hasMore":true}`:                      {doubt: `"hasMore": true`, total: -1},
		`{"data":[1],"next":"https://x/?page=2"}`:          {doubt: `"next": "https://x/?page=2"`, total: -1},
		`{"data":[1],"links":{"next":{"href":"/p/2"}}}`:    {doubt: `"next": "/p/2"`, total: -1},
		`{"data":[1],"nextPageToken":"abc"}`:               {doubt: `nextPageToken`, total: -1},
		`{"data":[1],"page":{"last":false}}`:               {doubt: `"last": false`, total: -1},
		`{"data":[1],"numErrors":2}`:                       {doubt: `numErrors`, total: -1},
		`{"data":[1],"failed_sources":["eu"],"skipped":0}`: {doubt: `failed_sources`, total: -1},
		`{"data":[1],"skipped":3}`:                         {doubt: `"skipped": 3`, total: -1},
		`{"data":[1],"result":"partial"}`:                  {doubt: `"result": "partial"`, total: -1},
		`{"data":[1],"exhaustiveNbHits":false}`:            {doubt: `exhaustiveNbHits`, total: -1},
		`{"data":[1],"page":404,"skip":500,"info":"x"}`:    {total: -1, unknown: "skip"},
		`{"data":[1],"@odata.nextLink":"https://x"}`:       {doubt: `odata.nextLink`, total: -1},

		// What there is none of, or what is on every page but the last, is no sign.
		`{"data":[1],"errors":[],"error":null,"warnings":{},"partial":false,"complete":true}`:       {total: -1},
		`{"data":[1],"errors":{"count":0,"items":[]},"error":"","error_code":0,"exception":[null]}`: {total: -1},
		`{"data":[1],"hasMore":false,"next":null,"links":{"self":"x","next":null},"last":true}`:     {total: -1},
		`{"data":[1],"cursor":"c","hasMore":true,"next":"c","links":{"next":"c"}}`:                  {total: -1},
		`{"data":[1],"status":"ok","code":200,"success":true,"timeout":30,"timed_out":false}`:       {total: -1},
		`{"data":[1],"status":"success","state":"done"}`:                                            {total: -1},

		`{"data":[1],"total":100}`:                                         {total: 100},
		`{"data":[1],"totalCount":"100"}`:                                  {total: 100},
		`{"data":[1],"count":1}`:                                           {total: 1},
		`{"data":[1],"meta":{"total":100}}`:                                {total: 100},
		`{"data":[1],"meta":{"pagination":{"total_items":100}}}`:           {total: 100},
		`{"data":[1],"page":{"size":20,"totalElements":7,"totalPages":1}}`: {total: 7},
		`{"data":[1],"total":{"value":85,"relation":"eq"}}`:                {total: 85},
		`{"data":[1],"recordsTotal":9,"itemCount":8}`:                      {total: 8},
		`{"data":[1],"total":-1,"count":null}`:                             {total: -1},
		// Numbers that count something else.
		`{"data":[1],"total_pages":3,"pageCount":3,"per_page":50,"limit":50}`:        {total: -1, unknown: "total_pages pageCount per_page limit"},
		`{"data":[1],"totalCashback":80,"totalAmount":100,"total":83.5}`:             {total: -1, unknown: "totalCashback totalAmount"},
		`{"data":[1],"filters":{"count":9},"discountItems":7,"totalOrderValue":900}`: {total: -1, unknown: "filters discountItems totalOrderValue"},

		// A notice that may come for years.
		`{"data":[1],"warnings":["v1 is deprecated, use v2"]}`:                       {notice: `v1 is deprecated`, total: -1},
		`{"data":[1],"warnings":[{"code":"sunset","on":"2027-01-01"}]}`:              {notice: `sunset`, total: -1},
		`{"data":[1],"warnings":["v1 is deprecated","shard 2 did not answer"]}`:      {doubt: `shard 2`, total: -1},
		`{"data":[1],"errors":["this query is deprecated"]}`:                         {doubt: `deprecated`, total: -1},
		`{"data":[1],"requestId":"r","took":5,"included":{"a":[{"error":"e"}]}}`:     {total: -1, unknown: "requestId took included"},
		`{"data":[1],"debug":{"a":{"b":{"c":{"d":{"e":{"errors":["too deep"]}}}}}}}`: {total: -1, unknown: "debug"},
	} {
		e, err := PagingCursor.shape().scan([]byte(body))
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if (e.doubt != "") != (want.doubt != "") || !strings.Contains(e.doubt, want.doubt) {
			t.Errorf("%s: doubt %s, want %s", body, e.doubt, want.doubt)
		}
		if (e.notice != "") != (want.notice != "") || !strings.Contains(e.notice, want.notice) {
			t.Errorf("%s: notice %s, want %s", body, e.notice, want.notice)
		}
		if got := strings.Join(e.unknown, " "); e.total != want.total || got != want.unknown {
			t.Errorf("%s: total %d, want %d; unknown %q, want %q", body, e.total, want.total, got, want.unknown)
		}
	}
}

// TestAsideHidesTheKey echoes the key in members of the envelope.
func TestAsideHidesTheKey(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		fmt.Fprintf(w, `{"data":[],"errors":["the key %s may read a part"],"%s":1,"warning":"deprecated for %s"}`, key, key, key)
	}))
	t.Cleanup(server.Close)
	c, err := New(Options{Account: "acme", BaseURL: server.URL, Key: "s3cr3t-k3y-of-acme"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for page, err := range c.Pages(context.Background(), Query{Path: "/x"}) {
		if err != nil {
			t.Fatal(err)
		}
		if said := fmt.Sprint(page.Doubt, page.Notice, page.Members); strings.Contains(said, "s3cr3t") ||
			strings.Count(said, redacted) != 3 {
			t.Errorf("%s", said)
		}
	}
}
