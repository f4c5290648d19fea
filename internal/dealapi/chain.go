package dealapi

import (
	"context"
	"fmt"
	"hash/maphash"
	"net/url"
	"strings"
)

// chain is one walk through a list, page by page.
type chain struct {
	client *Client
	query  Query
	shape  shape
	op     string

	token  string   // of the page to request next
	target *url.URL // its address; nil when the list has ended
	number int      // of pages read
	size   int      // of the last page

	// seen holds a keyed 64-bit hash of every token met (dealapi-4): with a million pages, the odds of mistaking two
	// tokens for one are below one in thirty million, and no service can raise them.
	seen map[uint64]struct{}
	seed maphash.Seed
}

func (c *Client) newChain(q Query) (*chain, error) {
	q.setDefaults()
	ch := &chain{
		client: c, query: q, shape: q.Paging.shape(), op: "list " + q.Path,
		seen: map[uint64]struct{}{}, seed: maphash.MakeSeed(),
	}
	if err := q.validate(); err != nil {
		return nil, c.configError(ch.op, err)
	}
	ch.target = c.url(q.Path, q.Params)
	if q.Start != "" {
		if err := ch.follow(q.Start); err != nil {
			return nil, err
		}
	}
	return ch, nil
}

// next reads one page. After the last one it returns nil and no error.
func (ch *chain) next(ctx context.Context) (*Page, error) {
	if ch.target == nil {
		return nil, nil
	}
	r := request{
		op: ch.op, url: ch.target, page: ch.number + 1, cursor: ch.token != "",
		sizeHint: ch.size + ch.size/8,
	}
	var found envelope
	answer, err := ch.client.do(ctx, r, func(body []byte) (err error) {
		found, err = ch.shape.scan(body)
		return err
	})
	if err != nil {
		return nil, err
	}
	ch.number++
	ch.size = len(answer.body)
	page := &Page{
		Number: ch.number, Data: found.data, Token: ch.token, Next: found.next,
		SentAt: answer.sentAt, ReceivedAt: ch.client.now(), ServerTime: answer.serverTime, Bytes: len(answer.body),
		Retries: answer.retries, Waited: answer.waited,
	}
	if err := ch.advance(page); err != nil {
		return nil, err
	}
	return page, nil
}

// advance prepares the request for the next page. If the next page cannot be requested, it returns an error for the
// present one (dealapi-3).
func (ch *chain) advance(page *Page) error {
	ch.target = nil
	if page.Next == "" {
		return nil
	}
	return ch.follow(page.Next)
}

// follow makes a token the next one to request.
func (ch *chain) follow(token string) error {
	c := ch.client
	r := request{op: ch.op, url: c.tokenURL(ch.query, token), page: ch.number, cursor: true}
	if ch.query.Paging == PagingNextPage {
		if ref, isURL := c.asReference(ch.query.Path, token); isURL {
			if ref == nil || !sameOrigin(ref, c.base) {
				detail := "nextPage is a URL that cannot be read"
				if ref != nil {
					detail = "nextPage leads to " + origin(ref)
				}
				r.url = c.url(ch.query.Path, ch.query.Params)
				return c.fault(r, KindRedirect, 0, detail, nil, false) // dealapi-1
			}
			ref.Fragment, ref.RawFragment = "", ""
			r.url = ref
		}
	}
	hash := maphash.String(ch.seed, token)
	if _, again := ch.seen[hash]; again {
		return c.fault(r, KindLoop, 0, fmt.Sprintf("the %s of page %d", ch.shape.nextKey, ch.number), nil, false)
	}
	ch.seen[hash] = struct{}{}
	ch.token, ch.target = token, r.url
	return nil
}

// tokenURL returns the URL that sends a token back as a parameter, with the filters.
func (c *Client) tokenURL(q Query, token string) *url.URL {
	u := c.url(q.Path, q.Params)
	values := u.Query()
	values.Set(q.PageParam, token)
	u.RawQuery = values.Encode()
	return u
}

// asReference reports whether a nextPage is a URL, and resolves it. The URL is nil if it cannot be read. Only http and
// https make an absolute URL. A token may begin with a slash (in base64, one in 64 does), so only what has a query, or
// begins like the path of the list, counts as a path.
func (c *Client) asReference(path, token string) (*url.URL, bool) {
	lower := strings.ToLower(token)
	switch {
	case strings.HasPrefix(lower, "http://"), strings.HasPrefix(lower, "https://"):
	case strings.HasPrefix(token, "?"):
	case strings.HasPrefix(token, "/") && (strings.Contains(token, "?") || c.beginsAs(path, token)):
	default:
		return nil, false
	}
	u, err := c.url(path, nil).Parse(token)
	if err != nil {
		return nil, true
	}
	return u, true
}

// beginsAs reports whether a token begins with the first segment of the list's path, with or without the prefix of the
// base URL.
func (c *Client) beginsAs(path, token string) bool {
	segment, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return strings.HasPrefix(token, "/"+segment+"/") || strings.HasPrefix(token, c.base.Path+"/"+segment+"/")
}
