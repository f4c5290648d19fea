package dealapi

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
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
	some   bool     // a page had records
	empty  int      // pages without records since one had some

	// seen holds a keyed 64-bit hash of every token met (dealapi-4): with a million pages, the odds of mistaking two
	// tokens for one are below one in thirty million, and no service can raise them.
	seen map[uint64]struct{}
	seed maphash.Seed
}

// maxEmptyPages is how many pages in a row may be empty. A service that filters its pages after it has cut them may
// send some; a service that sends more has lost the end of its list.
const maxEmptyPages = 1000

func (c *Client) newChain(q Query) (*chain, error) {
	q.setDefaults()
	ch := &chain{
		client: c, query: q, shape: q.Paging.shape(), op: "list " + q.Path,
		seen: map[uint64]struct{}{}, seed: maphash.MakeSeed(),
	}
	ch.shape.records = letters(path.Base(q.Path))
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
	if ch.number == 0 && ch.token == "" {
		r.unless = ch.query.Unless
	}
	found := envelope{data: []byte("[]"), aside: aside{total: -1}} // where nothing has changed, nothing is sent
	answer, err := ch.client.do(ctx, r, func(body []byte) (err error) {
		found, err = ch.shape.scan(body)
		if err == nil && found.null && (ch.some || ch.token != "") {
			err = errors.New("data is null, though records came before it")
		}
		return err
	})
	if err != nil {
		return nil, ch.advise(err)
	}
	ch.number++
	ch.some = ch.some || len(found.data) > len("[]")
	ch.size = len(answer.body)
	if ch.empty++; len(found.data) > 64 || countElements(found.data) > 0 {
		ch.empty = 0
	}
	if ch.empty >= maxEmptyPages && found.next != "" {
		e := ch.client.fault(r, KindMalformed, 0, "", nil, false)
		e.what = fmt.Sprintf("the list does not end: its last %d pages have no records, and each names another page", ch.empty)
		e.advice = "report it to the operators of the API"
		return nil, e
	}
	page := &Page{
		Number: ch.number, Data: ch.client.hide(found.data), Token: ch.token, Next: found.next,
		SentAt: answer.sentAt, ReceivedAt: ch.client.now(), ServerTime: answer.serverTime, Bytes: len(answer.body),
		Retries: answer.retries, Waited: answer.waited, Tag: ch.client.tag(answer.header), Unchanged: answer.body == nil,
	}
	page.Age = age(answer.header)
	ch.quote(page, &found.aside, answer.header)
	if err := ch.advance(page); err != nil {
		return nil, err
	}
	return page, nil
}

// quote adds what the answer says beside its records, without the key (dealapi-2).
func (ch *chain) quote(page *Page, a *aside, header http.Header) {
	a.addHeader(header, page.Next == "")
	page.Total = a.total
	if a.doubt+a.notice == "" && a.unknown == nil {
		return
	}
	s := ch.client.scrub()
	page.Doubt, page.Notice = s.excerpt([]byte(a.doubt), false), s.excerpt([]byte(a.notice), false)
	for _, name := range a.unknown {
		page.Members = append(page.Members, s.excerpt([]byte(name), false))
	}
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
		return ch.advise(c.fault(r, KindLoop, 0, fmt.Sprintf("the %s of page %d", ch.shape.nextKey, ch.number), nil, false))
	}
	ch.seen[hash] = struct{}{}
	ch.token, ch.target = token, r.url
	return nil
}

// advise names the settings that may be behind an error.
func (ch *chain) advise(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	q := ch.query
	e.ownKey = q.OwnKey
	page := fmt.Sprintf("the parameter %s may have another name: set %s", q.PageParam, q.Settings[q.PageParam])
	switch {
	case e.CursorRefused() && q.Settings[q.PageParam] != "" && e.advice == "":
		e.advice = "its cursor may have expired, or " + page
	case e.Kind == KindLoop && q.Settings[q.PageParam] != "" && ch.number <= 2:
		e.advice = page + "; if it is right, report the loop to the operators of the API"
	case e.Kind == KindBadRequest && !e.Cursor && len(q.Params) > 0 && e.advice == "":
		var sent []string
		for _, name := range slices.Sorted(maps.Keys(q.Params)) {
			if setting := q.Settings[name]; setting != "" {
				name += " (set " + setting + ")"
			}
			sent = append(sent, name)
		}
		e.advice = "check the names and values of its parameters: " + strings.Join(sent, ", ")
	}
	return err
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
