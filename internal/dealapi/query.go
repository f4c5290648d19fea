package dealapi

import (
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Paging is how a list is divided into pages (dealapi-11 to dealapi-13).
type Paging uint8

const (
	// PagingCursor is an envelope {data, cursor}; the cursor is an opaque string.
	PagingCursor Paging = iota
	// PagingNextPage is an envelope {data, nextPage}; nextPage is an opaque string, a number, or a URL of the same
	// origin.
	PagingNextPage
	// PagingNone is a bare JSON array, read as one page.
	PagingNone
)

func (p Paging) shape() shape {
	switch p {
	case PagingNextPage:
		return shape{nextKey: "nextPage", numbers: true}
	case PagingNone:
		return shape{}
	default:
		return shape{nextKey: "cursor"}
	}
}

// Query is one walk through a list.
type Query struct {
	// Path of the list, below the base URL, not escaped: "/v1/deals/coupons".
	Path string

	// Params are the filters. They are sent with every page, except if nextPage is a URL, which is followed without
	// changes. Params is not changed.
	Params url.Values

	// Paging is the shape of the list.
	Paging Paging

	// PageParam is the query parameter that a token goes back in. Default: "cursor", with PagingNextPage "page"
	// (dealapi-12).
	PageParam string

	// Settings has, by the names of parameters, the settings that these come from, for messages. May be nil.
	Settings map[string]string

	// OwnKey is the setting of a key that only this list may need; "" if it needs none. It is for messages.
	OwnKey string

	// Start resumes a walk: it is the last Page.Next of an earlier walk. "" is the first page.
	Start string

	// Unless is the Page.Tag of an earlier answer to the same query. If the first page is still that one, the service may
	// say so in place of sending it (Page.Unchanged). "": the page is sent.
	Unless string

	// Ahead is how many pages are fetched while the consumer works on one. 0 means 1; a negative number means none.
	Ahead int
}

// TimeLayout is the format of a time in a filter: of a time in UTC, with as many digits as the service's own times.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Page is one page of a list.
type Page struct {
	// Number counts the pages of this walk from 1.
	Number int
	// Data is the raw JSON array of records, validated, a sub-slice of the body. It belongs to the consumer
	// (dealapi-8).
	Data []byte
	// Token is the token that this page was requested by; "" for the first page.
	Token string
	// Next is the token of the next page; "" on the last page.
	Next string
	// Tag names what the answer has (its ETag), for Query.Unless; "" if the service does not name it.
	Tag string
	// Unchanged says that the page is still the one with the tag Query.Unless. Data has no records then, and Next is "".
	Unchanged bool
	// Doubt is what the answer has beside its records that says that the list is not whole, as it was sent:
	// `"errors": [...]`, or a header. "" if it has nothing of the kind.
	Doubt string
	// Notice is the same of a warning that is about the API in general: that a part of it will go away.
	Notice string
	// Total is the number of records that the whole list has, as the answer says; -1 if it does not.
	Total int64
	// Members are the names of members of the envelope that are not understood.
	Members []string
	// SentAt is the local time when the successful attempt left, with its monotonic reading.
	SentAt time.Time
	// ReceivedAt is the local time when the page had arrived, with its monotonic reading.
	ReceivedAt time.Time
	// ServerTime is the server's clock when the request arrived, or up to two seconds and the round trip earlier, never
	// later (dealapi-7): the Date header less the time to it. In UTC. Zero when the header is absent or cannot be read.
	ServerTime time.Time
	// Age is how old the answer is by its own word; 0 if it does not say, as those that do not come from a cache.
	Age time.Duration
	// Bytes is the size of the body after decompression.
	Bytes int
	// Retries is the number of attempts beyond the first.
	Retries int
	// Waited is the time spent waiting for the limiter.
	Waited time.Duration
}

// Records returns the number of elements of Data. It scans them again each time.
func (p *Page) Records() int { return countElements(p.Data) }

func (q *Query) setDefaults() {
	if q.PageParam == "" {
		q.PageParam = "cursor"
		if q.Paging == PagingNextPage {
			q.PageParam = "page"
		}
	}
	if q.Ahead == 0 {
		q.Ahead = 1
	}
}

func (q *Query) validate() error {
	switch {
	case q.Paging > PagingNone:
		return fmt.Errorf("unknown paging %d", q.Paging)
	case q.Paging == PagingNone && q.Start != "":
		return fmt.Errorf("a list without pages cannot be resumed")
	}
	return validatePath(q.Path)
}

// validatePath refuses paths that lead outside of the place that they name. An identifier from data
// could contain such a path.
func validatePath(path string) error {
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("a path must begin with a slash")
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "." || part == ".." {
			return fmt.Errorf("a path must not hold %q", part)
		}
	}
	return nil
}
