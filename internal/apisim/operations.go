package apisim

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// The paths of the API.
const (
	pathPromotions   = "/v1/deals/promotions"
	pathCoupons      = "/v1/deals/coupons"
	pathOffers       = "/v1/deals/cashback-offers"
	pathTransactions = "/v1/deals/transactions"
	pathPayouts      = "/v1/deals/payouts"
	pathProducts     = "/v2/products"
)

// operation is one of the nine; serve is nil for a path that is none of them.
type operation struct {
	name  string // for counting: the path, with {id} for an id
	id    string
	serve func(*call) *answer
}

func route(path string) operation {
	list := func(stream string, params ...string) operation {
		return operation{name: path, serve: func(c *call) *answer { return c.list(stream, params) }}
	}
	switch path {
	case pathPromotions:
		return list(StreamPromotions, "hostname")
	case pathCoupons:
		return list(StreamCoupons, "hostname")
	case pathOffers:
		return list(StreamCashbackOffers, "hostname", "name", "category", "country")
	case pathTransactions:
		return list(StreamTransactions)
	case pathPayouts:
		return operation{name: path, serve: (*call).payouts}
	case pathProducts:
		return operation{name: path, serve: (*call).products}
	}
	for _, get := range []struct{ path, stream string }{
		{pathPromotions, StreamPromotions}, {pathCoupons, StreamCoupons}, {pathOffers, StreamCashbackOffers},
	} {
		if id, ok := strings.CutPrefix(path, get.path+"/"); ok && id != "" && !strings.Contains(id, "/") {
			return operation{
				name: get.path + "/{id}", id: id,
				serve: func(c *call) *answer { return c.get(get.stream) },
			}
		}
	}
	return operation{name: "other"}
}

// query parses the query and refuses unknown parameters when told to.
func (c *call) query(known ...string) (url.Values, *answer) {
	if c.r.URL.RawQuery == "" {
		return nil, nil
	}
	q, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil, problem(http.StatusBadRequest, "query", err.Error())
	}
	if c.set.RejectUnknownParams {
		for _, name := range slices.Sorted(maps.Keys(q)) { // the same one each time (apisim-1)
			if !slices.Contains(known, name) {
				return nil, problem(http.StatusBadRequest, name, "unknown parameter")
			}
		}
	}
	return q, nil
}

// list serves a page of a cursor stream.
func (c *call) list(stream string, texts []string) *answer {
	known := append([]string{"cursor"}, texts...)
	dates := stream == StreamTransactions
	if dates {
		known = append(known, c.set.Params.UpdatedAfter, c.set.Params.UpdatedBefore)
	}
	q, refusal := c.query(known...)
	if refusal != nil {
		return refusal
	}
	f, refusal := c.filter(q, texts, dates)
	if refusal != nil {
		return refusal
	}
	c.world = c.sim.moved(c.world, stream, c.account.name, c.set)
	l, err := c.world.listing(stream, c.account.name)
	if err != nil {
		return problem(http.StatusNotFound, "", err.Error())
	}
	v := l.view(f, c.set.Order)
	pos := 0
	if q.Has("cursor") {
		if pos, refusal = c.start(l, v, q.Get("cursor")); refusal != nil {
			return refusal
		}
	}
	end := c.cut(l, v, min(pos+c.set.PageSize, len(v.items)))
	c.buf = append(c.sim.pages.get(), `{"data":[`...)
	for p := pos; p < end; p++ {
		if p > pos {
			c.buf = append(c.buf, ',')
		}
		c.buf = l.record(c.buf, v.at(p), &c.style)
	}
	c.buf = append(c.buf, ']')
	var border []spot
	if end < len(v.items) {
		cursor, item := c.cursor(l, v, end)
		c.buf = append(c.buf, `,"cursor":`...)
		c.buf = appendText(c.buf, cursor, false)
		border = append(border, listGround{l}.spot(item))
	}
	c.sim.handOut(stream, c.account.name, border...)
	return c.page(end - pos)
}

// page closes the envelope in c.buf.
func (c *call) page(rows int) *answer {
	if c.set.ExtraFields {
		c.buf = append(c.buf, `,"meta":{"apiRevision":"2026-02","hints":[]}`...)
	}
	c.buf = append(c.buf, '}')
	return &answer{status: http.StatusOK, body: c.buf, rows: rows}
}

// get serves one record.
func (c *call) get(stream string) *answer {
	if _, refusal := c.query(); refusal != nil {
		return refusal
	}
	l, err := c.world.listing(stream, "")
	if err != nil {
		return problem(http.StatusNotFound, "", err.Error())
	}
	item, ok := l.find(c.op.id)
	switch {
	case ok:
		c.buf = l.record(c.sim.pages.get(), item, &c.style)
		return &answer{status: http.StatusOK, body: c.buf, rows: 1}
	case !isUUID(c.op.id):
		return problem(http.StatusBadRequest, "id", "must be a UUID")
	}
	if c.set.KeepExpired {
		if past, i, ok := l.expired(c.op.id); ok {
			c.buf = past.record(c.sim.pages.get(), i, &c.style)
			return &answer{status: http.StatusOK, body: c.buf, rows: 1}
		}
	}
	return problem(http.StatusNotFound, "id", "no such item")
}

// payouts serves all payouts as a bare array.
func (c *call) payouts() *answer {
	if _, refusal := c.query(); refusal != nil {
		return refusal
	}
	rows := 0
	c.buf = append(c.sim.pages.get(), '[')
	c.world.orgs[c.account.org].eachPayout(func(record func([]byte) []byte) bool {
		if rows > 0 {
			c.buf = append(c.buf, ',')
		}
		rows++
		c.buf = record(c.buf)
		return true
	}, &c.style)
	c.buf = append(c.buf, ']')
	return &answer{status: http.StatusOK, body: c.buf, rows: rows}
}

// products serves a page of the feed.
func (c *call) products() *answer {
	q, refusal := c.query(c.set.Params.Page)
	if refusal != nil {
		return refusal
	}
	c.world = c.sim.moved(c.world, StreamProducts, "", c.set)
	f, begin := c.world.feed, 0
	if s := q.Get(c.set.Params.Page); s != "" {
		p, ok := f.parsePage(s, c.set.NextPage)
		if !ok {
			return problem(http.StatusBadRequest, c.set.Params.Page, "not a page of this feed")
		}
		begin = p
	}
	rows, last := 0, 0
	c.buf = append(c.sim.pages.get(), `{"data":[`...)
	pos := f.next(begin)
	if c.set.FeedOffsets {
		pos = f.nth(begin)
	}
	for ; pos >= 0 && rows < c.set.PageSize; pos = f.next(pos + 1) {
		if rows > 0 {
			c.buf = append(c.buf, ',')
		}
		rows++
		c.buf = f.record(c.buf, pos, &c.style)
		last = pos
	}
	c.buf = append(c.buf, ']')
	next := pos
	var border []spot
	if pos >= 0 {
		g := feedGround{f}
		border = []spot{g.spot(g.item(last)), g.spot(g.item(pos))}
		if c.set.FeedOffsets {
			next = begin + rows
		}
	}
	c.buf = f.appendNext(c.buf, c.r, next, c.set)
	c.sim.handOut(StreamProducts, "", border...)
	return c.page(rows)
}
