package apisim

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// operation is one of the nine operations of the API; of is nil for any other path.
type operation struct {
	name string // for counting: the path, with {id} for an id
	of   *endpoint
	id   string // of the one record that is asked for; "" for the list
}

func (st *stage) route(path string) operation {
	for _, e := range st.endpoints {
		if path == e.path {
			return operation{name: path, of: e}
		}
		if !e.byID {
			continue
		}
		if id, ok := strings.CutPrefix(path, e.path+"/"); ok && id != "" && !strings.Contains(id, "/") {
			return operation{name: e.path + "/{id}", of: e, id: id}
		}
	}
	return operation{name: "other"}
}

// query parses the query. It refuses unknown parameters if the settings say so.
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

// listing returns the cursor list that is asked for, at the call's moment.
func (c *call) listing() *listing {
	l, _ := c.world.list(c.op.of.stream, c.account.name) // an account with a key exists
	return l.(*listing)
}

// cursorPage serves a page of a cursor list.
func (c *call) cursorPage() *answer {
	e := c.op.of
	known := append([]string{"cursor"}, e.texts...)
	if e.dates {
		known = append(known, c.set.Params.UpdatedAfter, c.set.Params.UpdatedBefore)
	}
	if c.set.PageSizeParam != "" {
		known = append(known, c.set.PageSizeParam)
	}
	q, refusal := c.query(known...)
	if refusal != nil {
		return refusal
	}
	f, refusal := c.filter(q, e.texts, e.dates)
	if refusal != nil {
		return refusal
	}
	c.world = c.sim.moved(c.world, e, c.account.name, c.set)
	l := c.listing()
	v := l.view(f, c.set.Order)
	pos := 0
	if q.Has("cursor") {
		if pos, refusal = c.position(l, v, q.Get("cursor")); refusal != nil {
			return refusal
		}
	}
	size, refusal := c.pageSize(q)
	if refusal != nil {
		return refusal
	}
	end := c.cut(l, v, min(pos+size, len(v.items)))
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
	c.sim.handOut(e, c.account.name, border...)
	return c.page(end - pos)
}

// pageSize is how many items the page has.
func (c *call) pageSize(q url.Values) (int, *answer) {
	name := c.set.PageSizeParam
	if name == "" || !q.Has(name) {
		return c.set.PageSize, nil
	}
	n, err := strconv.Atoi(q.Get(name))
	if err != nil || n < 1 {
		return 0, problem(http.StatusBadRequest, name, "must be a number of items")
	}
	return min(n, c.set.PageSizeMost), nil
}

// page closes the envelope in c.buf and returns the answer.
func (c *call) page(rows int) *answer {
	if c.set.ExtraFields {
		c.buf = append(c.buf, `,"meta":{"apiRevision":"2026-02","hints":[]}`...)
	}
	c.buf = append(c.buf, '}')
	return &answer{status: http.StatusOK, body: c.buf, rows: rows}
}

// get serves one record of a cursor list.
func (c *call) get() *answer {
	if _, refusal := c.query(); refusal != nil {
		return refusal
	}
	l := c.listing()
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

// array serves a list as a bare array.
func (c *call) array() *answer {
	if _, refusal := c.query(); refusal != nil {
		return refusal
	}
	rows := 0
	c.buf = append(c.sim.pages.get(), '[')
	l, _ := c.world.list(c.op.of.stream, c.account.name) // an account with a key exists
	l.each(c.set.Order, &c.style, func(record func([]byte) []byte) bool {
		if rows > 0 {
			c.buf = append(c.buf, ',')
		}
		rows++
		c.buf = record(c.buf)
		return true
	})
	c.buf = append(c.buf, ']')
	return &answer{status: http.StatusOK, body: c.buf, rows: rows}
}

// feedPage serves a page of the feed.
func (c *call) feedPage() *answer {
	q, refusal := c.query(c.set.Params.Page)
	if refusal != nil {
		return refusal
	}
	c.world = c.sim.moved(c.world, c.op.of, "", c.set)
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
	c.sim.handOut(c.op.of, "", border...)
	return c.page(rows)
}
