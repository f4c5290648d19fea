package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
)

// clockSeen is the clock of the API, by the Date of the answer that took the shortest time.
type clockSeen struct {
	known bool
	skew  time.Duration // to be added to the local clock
	error time.Duration // by how much that may be wrong
}

// note looks at the time of an answer. ServerTime is at most two seconds and the round trip too early (dealapi-7).
func (c *clockSeen) note(page *dealapi.Page) {
	if page.ServerTime.IsZero() || page.Age > 0 {
		return
	}
	took := page.ReceivedAt.Sub(page.SentAt)
	wrong := (2*time.Second + took) / 2
	if c.known && wrong >= c.error {
		return
	}
	c.known, c.error, c.skew = true, wrong, page.ServerTime.Add(wrong).Sub(page.SentAt)
}

// askClock is the question about the clock.
const askClock = "is its clock right"

func (p *prober) findClock() {
	const question = askClock
	c := p.clock
	switch {
	case !c.known:
		p.unknown(question, "no answer has a Date that can be read")
	case c.skew.Abs() <= c.error:
		p.found(question, "yes", Sure, "it differs from the clock here by at most %s", (c.skew.Abs() + c.error).Round(time.Second))
	default:
		p.found(question, fmt.Sprintf("it differs from the clock here by %s, give or take %s", c.skew.Round(time.Second), c.error.Round(time.Second)),
			Sure, "the Date of the answers")
	}
}

// findZone looks at how times are written. A time without a zone says what it is only by being near the present.
func (p *prober) findZone() {
	const question = "in which zone are times without one"
	s := catalog.Transactions()
	first := p.first[s.Name]
	if !first.some() {
		p.unknown(question, "there are no transactions")
		return
	}
	version := s.Fields[s.VersionField()].JSON
	var records []map[string]json.RawMessage
	if json.Unmarshal(first.page.Data, &records) != nil {
		p.unknown(question, "the transactions are no objects")
		return
	}
	without, with := 0, 0
	for _, r := range records {
		var text string
		if json.Unmarshal(r[version], &text) != nil || len(text) < len("2006-01-02T15:04:05") {
			continue
		}
		if zoned(text) {
			with++
		} else {
			without++
		}
	}
	if without == 0 && with > 0 {
		p.found(question, "all have one", Sure, "the %s of %d transactions", version, with)
		return
	}
	newest := p.newest()
	ahead := newest.Sub(p.now())
	switch {
	case without == 0 || newest.IsZero():
		p.unknown(question, "no %s can be read", version)
	case ahead > 15*time.Minute:
		p.found(question, "not UTC", Sure, "read as UTC, the newest %s is %s after its clock: dealhouse reads such times as UTC", version, ahead.Round(time.Minute))
	case ahead > -10*time.Minute:
		p.found(question, "UTC", Likely, "read as UTC, the newest %s is %s before its clock", version, (-ahead).Round(time.Second))
	default:
		p.unknown(question, "the newest %s that was seen is too old to tell; dealhouse reads such times as UTC", version)
	}
}

// newest is the latest updatedAt of the transactions that were seen.
func (p *prober) newest() (newest time.Time) {
	for _, l := range []look{p.first[catalog.Transactions().Name], p.walk.second} {
		if !l.some() {
			continue
		}
		if _, times := p.inOrder(l); len(times) > 0 {
			if t := time.UnixMilli(slices.Max(times)); t.After(newest) {
				newest = t
			}
		}
	}
	return newest
}

// findTransfer looks at headers, and asks for a page on the condition that it has changed.
func (p *prober) findTransfer(ctx context.Context) {
	const compressed, conditional = "does it compress", "does it answer conditional requests"
	s, first := p.anyStream()
	if encoding := first.head.Get("Content-Encoding"); encoding != "" {
		p.found(compressed, "yes", Sure, "Content-Encoding: %.20q", encoding)
	} else {
		p.found(compressed, "no", Sure, "%s came without Content-Encoding, though gzip was offered", s.Name)
	}
	tag, modified := first.head.Get("ETag"), first.head.Get("Last-Modified")
	if tag+modified == "" {
		p.found(conditional, "no", Sure, "%s came without ETag and Last-Modified", s.Name)
		return
	}
	p.tap.extra = http.Header{}
	if tag != "" {
		p.tap.extra.Set("If-None-Match", tag)
	} else {
		p.tap.extra.Set("If-Modified-Since", modified)
	}
	l := p.list(ctx, s, nil, "")
	p.tap.extra = nil
	switch {
	case l.status == http.StatusNotModified:
		p.found(conditional, "yes", Sure, "HTTP 304 for the first page of %s", s.Name)
	case l.err == nil && l.head.Get("ETag") != tag:
		p.unknown(conditional, "the page has changed meanwhile")
	case l.err == nil:
		p.found(conditional, "no", Sure, "the same page came whole, though its ETag was sent")
	default:
		p.unknown(conditional, "%s", reason(l.err))
	}
}

// anyStream is the first stream that can be read.
func (p *prober) anyStream() (*catalog.Stream, look) {
	for _, s := range catalog.All() {
		if l, read := p.first[s.Name]; read {
			return s, l
		}
	}
	return nil, look{} // ask goes on only with a stream that can be read
}
