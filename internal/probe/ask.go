package probe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/decode"
)

// tap is the transport of the clients. It counts requests before they are sent, and keeps the head of the last answer.
type tap struct {
	next  http.RoundTripper
	owned *http.Transport // nil: it was given
	most  int
	made  int
	extra http.Header // sent with the next request
	last  *http.Response
}

var errSpent = errors.New("all requests that it may make were made")

func newTap(next http.RoundTripper, most int) *tap {
	t := &tap{next: next, most: most}
	if next == nil {
		t.owned = dealapi.NewTransport()
		t.next = t.owned
	}
	return t
}

// RoundTrip makes a request if there may be one more.
func (t *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	t.last = nil
	if t.made >= t.most {
		return nil, errSpent
	}
	t.made++
	maps.Copy(r.Header, t.extra)
	resp, err := t.next.RoundTrip(r)
	if err == nil {
		t.last = resp
	}
	return resp, err
}

func (t *tap) close() {
	if t.owned != nil {
		t.owned.CloseIdleConnections()
	}
}

// list asks for a page of a list: that of a token, "" for the first.
func (p *prober) list(ctx context.Context, s *catalog.Stream, params url.Values, token string) look {
	q := dealapi.Query{Path: s.Path, Params: params, Start: token, Ahead: -1}
	switch s.Paging {
	case catalog.CursorPages:
		q.Paging, q.PageParam = dealapi.PagingCursor, p.report.Settings.Cursor
	case catalog.NextPages:
		q.Paging, q.PageParam = dealapi.PagingNextPage, p.report.Settings.Page
	case catalog.BareArray:
		q.Paging = dealapi.PagingNone
	}
	client := p.client
	if s.Payouts && p.payouts != nil {
		client = p.payouts
	}
	return p.read(ctx, s, client, q)
}

func (p *prober) read(ctx context.Context, s *catalog.Stream, client *dealapi.Client, q dealapi.Query) look {
	var l look
	if p.report.Ended != "" {
		l.err = errors.New(p.report.Ended)
		return l
	}
	p.tap.last = nil
	for l.page, l.err = range client.Pages(ctx, q) {
		break
	}
	if p.tap.last != nil {
		l.status, l.head = p.tap.last.StatusCode, p.tap.last.Header
	}
	p.judge(ctx, l)
	if l.err != nil {
		return l
	}
	l.rows = decode.NewBatch(s)
	l.err = decode.New(s).Page(l.rows, l.page.Data, 1, 0)
	p.clock.note(l.page)
	return l
}

// judge ends the probe where no more may be asked.
func (p *prober) judge(ctx context.Context, l look) {
	switch {
	case kindOf(l.err) == dealapi.KindRateLimited:
		p.report.Ended = fmt.Sprintf("the API asked to slow down (HTTP %d) after %d requests", l.status, p.tap.made)
		if after := l.head.Get("Retry-After"); after != "" {
			form := "seconds"
			if _, err := http.ParseTime(after); err == nil {
				form = "a date"
			}
			p.found("how it says when to ask again", "Retry-After: "+form, Sure, "HTTP %d had Retry-After: %.40q", l.status, after)
		}
	case errors.Is(l.err, errSpent):
		p.report.Ended = fmt.Sprintf("%d requests were made, and there may be no more", p.tap.made)
	case ctx.Err() != nil:
		p.report.Ended = "it took too long, or was stopped"
	}
}
