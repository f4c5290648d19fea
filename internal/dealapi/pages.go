package dealapi

import (
	"context"
	"iter"

	"dealhouse/internal/panics"
)

// Pages walks a list from Query.Start to its end (dealapi-11 to dealapi-13). While the consumer works on a page, the
// next ones are fetched, Query.Ahead of them. An error, always an *Error, comes last and with a nil page; the pages
// before it are whole. Each loop over the result reads the list again.
//
// Breaking out of the loop abandons the request under way (dealapi-6).
func (c *Client) Pages(ctx context.Context, q Query) iter.Seq2[*Page, error] {
	return func(yield func(*Page, error) bool) {
		ch, err := c.newChain(q)
		if err != nil {
			yield(nil, err)
			return
		}
		if ch.query.Ahead < 0 {
			ch.walk(ctx, yield)
			return
		}
		ch.walkAhead(ctx, ch.query.Ahead, yield)
	}
}

// walk fetches each page when the consumer asks for it.
func (ch *chain) walk(ctx context.Context, yield func(*Page, error) bool) {
	for {
		page, err := ch.next(ctx)
		if page == nil && err == nil {
			return
		}
		if !yield(page, err) || err != nil {
			return
		}
	}
}

// walkAhead fetches pages in a goroutine of its own. Even with a channel without a buffer it is one page ahead: the
// page that it is waiting to send.
func (ch *chain) walkAhead(ctx context.Context, ahead int, yield func(*Page, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	pages := make(chan *Page, ahead-1)
	var last error // read after pages is closed
	go func() {
		defer close(pages)
		last = panics.Catch(func() error { return ch.send(ctx, pages) })
	}()
	defer func() { // dealapi-6, also when the consumer panics
		cancel()
		for range pages {
		}
	}()
	for page := range pages {
		if !yield(page, nil) {
			return
		}
	}
	panics.Raise(last)
	if last != nil {
		yield(nil, last)
	}
}

// send fetches pages until the list or ctx ends, and sends each as soon as there is room for it.
func (ch *chain) send(ctx context.Context, pages chan<- *Page) (last error) {
	ch.walk(ctx, func(page *Page, err error) bool {
		if err != nil {
			last = err
			return false
		}
		select {
		case pages <- page:
			return true
		case <-ctx.Done():
			last = ch.client.ended(ctx, request{op: ch.op, url: ch.client.url(ch.query.Path, nil), page: page.Number},
				ctx.Err())
			return false
		}
	})
	return last
}
