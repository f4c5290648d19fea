package syncer

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/decode"
	"dealhouse/internal/warehouse"
)

// noDateMargin is subtracted from the local clock when that replaces the clock of a service that sends no Date header.
const noDateMargin = 15 * time.Minute

func newSeen() *seen {
	return &seen{unknown: map[string]int{}, members: map[string]bool{}, strangers: map[string]map[string]bool{}}
}

// add adds what another chain saw, except for its clock.
func (s *seen) add(o *seen) {
	s.noDate = s.noDate || o.noDate
	s.took, s.behind = max(s.took, o.took), max(s.behind, o.behind)
	s.reread += o.reread
	s.newest, s.ahead = max(s.newest, o.newest), s.ahead || o.ahead
	s.rows += o.rows
	s.outside += o.outside
	s.future += o.future
	s.unnamed(o.unknown)
}

// The names of fields are the service's to choose, and may be as many as its records: those past mostUnknown are
// counted together.
const (
	mostUnknown = 1000
	moreUnknown = "(others)"
)

// unnamed counts fields that the catalog does not name.
func (s *seen) unnamed(fields map[string]int) {
	for name, n := range fields {
		if _, known := s.unknown[name]; !known && len(s.unknown) >= mostUnknown {
			name = moreUnknown
		}
		s.unknown[name] += n
	}
}

// watermark returns the watermark to store after the run (syncer-3). If rows may have been missed, the old one stays. A
// run that read for longer than the overlap may have missed rows that changed before the newest row, by up to the time
// that it read too long. The Date header need not show this, because it can be ahead of the clock of updatedAt.
func (s *seen) watermark(old time.Time, overlap time.Duration) time.Time {
	slack := max(0, s.took-overlap)
	newest := s.newest
	if newest == 0 && s.ahead { // all rows are dated ahead
		newest = s.serverStart.UnixMilli()
	}
	next := time.UnixMilli(min(newest-slack.Milliseconds(), s.serverStart.UnixMilli())).UTC()
	if s.gap != "" || newest == 0 || next.Before(old) {
		return old
	}
	return next
}

// addPage takes in a page: the service's time, from the first one, and how long the reading takes.
// An answer that is older than one before it makes the list one that is not whole.
func (s *seen) addPage(page *dealapi.Page, early time.Duration) {
	if s.pages++; s.pages == 1 {
		s.setClock(page)
	}
	latest := page.ServerTime.Add(page.ReceivedAt.Sub(page.SentAt))
	if by := s.reached.Sub(latest); !page.ServerTime.IsZero() && by > clockStep {
		s.stale = cmp.Or(s.stale, fmt.Sprintf("an answer is of %s, and one before it was of %s", stamp(latest), stamp(s.reached)))
		s.behind = max(s.behind, by)
	}
	s.early, s.behind = max(s.early, early), max(s.behind, early, page.Age)
	if page.ServerTime.After(s.reached) {
		s.reached = page.ServerTime
	}
	s.took = page.ReceivedAt.Sub(s.begun)
	s.tag, s.unchanged = page.Tag, s.unchanged || page.Unchanged
	s.doubt, s.notice = cmp.Or(s.doubt, page.Doubt), cmp.Or(s.notice, page.Notice)
	for _, name := range page.Members {
		if len(s.members) < mostUnknown {
			s.members[name] = true
		}
	}
}

// count compares the records of a chain with the service's own count of them. If a part of the list was asked for, the
// count may be that of all of it.
func (s *seen) count(c *chain) {
	if c.swept || c.total <= int64(c.listed) || c.pager.filter != nil {
		return
	}
	text := fmt.Sprintf("it counts %d records and lists %d", c.total, c.listed)
	if c.pager.whole() == (timeRange{}) {
		s.doubt = cmp.Or(s.doubt, text)
		return
	}
	s.short, s.shortOf = text, uint64(c.total)
}

// notWhole is why a list is not whole whose answers were.
func notWhole(doubt string) string {
	if doubt == "" {
		return ""
	}
	return "the service says of its own list that it is not whole: " + doubt
}

// setClock learns the service's time from the first page.
func (s *seen) setClock(first *dealapi.Page) {
	s.serverStart, s.begun = first.ServerTime, first.SentAt
	if s.serverStart.IsZero() {
		s.noDate = true
		s.serverStart = first.SentAt.Add(-noDateMargin)
	}
}

// latest returns the time of the service's clock at a local time after the first page, and one second more, because
// the Date header has only whole seconds: no row that was read by then changed later. If the answers are old, it is the
// time that is known from others. It returns zero if the
// service sends no Date header.
func (s *seen) latest(local time.Time) time.Time {
	if s.noDate || s.serverStart.IsZero() {
		return time.Time{}
	}
	return s.serverStart.Add(max(local.Sub(s.begun), 0) + s.behind + time.Second)
}

// addChain adds the result of a chain. Chains that are read one after the other come from different moments.
func (s *seen) addChain(c *chain) {
	s.chains++
	first, onePage := s.chains == 1, s.pages-s.chained == 1
	s.chained = s.pages
	s.count(c)
	s.gap, s.fresh, s.reread = cmp.Or(s.gap, c.gap, s.stale, notWhole(s.doubt)), max(s.fresh, c.newest), s.reread+c.reread
	s.still = first && (onePage || c.twice || c.kind == cursorNext && c.order.byID())
	s.ordered = (first || s.ordered) && (onePage || c.kind == cursorNext)
	s.rising = first && (c.swept || c.kind == cursorNext && c.order.byTime() && c.reread == 0)
}

// startTime returns a time by the clock of updatedAt that is not later than the beginning of the reading. The Date
// header may be ahead of that clock. The newest updatedAt that was seen, less the time that the reading took, is not.
func (s *seen) startTime() time.Time {
	if at := time.UnixMilli(s.fresh).Add(-s.took - clockSlack); s.fresh != 0 && at.Before(s.serverStart) {
		return at.UTC()
	}
	return s.serverStart
}

// addBatch looks at the updatedAt of a batch's rows. after and before are the requested borders; zero: no border.
func (s *seen) addBatch(b *decode.Batch, after, before time.Time) {
	s.unnamed(b.Unknown)
	s.carried.add(b)
	i := b.Stream.VersionField()
	if i < 0 {
		return
	}
	lower, upper := int64(0), s.serverStart.Add(catalog.FutureTolerance).UnixMilli()
	if !after.IsZero() {
		lower = after.UnixMilli()
	}
	highest := int64(math.MaxInt64)
	if !before.IsZero() {
		highest = before.UnixMilli()
	}
	reached := s.reached.Add(clockSlack).UnixMilli()
	if s.noDate {
		reached = s.begun.Add(s.took).UnixMilli()
	}
	foretold := s.serverStart.Add(s.shown.Sub(s.serverStart) / 2).UnixMilli() // the two clocks may differ by a part of it
	for row, ms := range b.Columns[i].Ints {
		if !b.Present(i, row) {
			continue
		}
		s.rows++
		if ms <= reached {
			s.newest = max(s.newest, ms)
		} else {
			s.ahead = true
		}
		if s.early > 0 && ms > foretold && ms <= s.shown.Add(clockSlack).UnixMilli() {
			s.foretold++
		}
		if ms < lower && !after.IsZero() || ms > highest {
			s.outside++
		}
		if ms > upper {
			s.future++
		}
	}
}

// add takes in the records of a batch.
func (c *carried) add(b *decode.Batch) {
	if c.fields == nil {
		c.fields = make([]uint64, len(b.Fields)+1)
	}
	rows := b.Len()
	c.records += uint64(rows)
	all := c.counted < countedRecords
	if all {
		c.counted += uint64(rows)
	}
	for i := range c.fields {
		has := carries(b, i)
		for row := 0; row < rows && (all || c.fields[i] == 0); row++ {
			if has(row) {
				c.fields[i]++
			}
		}
	}
}

// carries returns a function that reports whether a row has a value of field i. The index after the
// last field is the child.
func carries(b *decode.Batch, i int) func(row int) bool {
	switch {
	case i == len(b.Fields):
		return func(row int) bool { return b.Stream.Child != nil && b.Entries[row] != "" }
	case b.Fields[i].Key || b.Fields[i].Nullable():
		return func(row int) bool { return b.Present(i, row) }
	}
	return func(row int) bool { return b.Columns[i].Strings[row] != "" }
}

// named returns the counts by the names of the fields. The key is left out, because every record has one.
func (c *carried) named(s *catalog.Stream) *warehouse.Carried {
	if c.fields == nil {
		return nil
	}
	named := &warehouse.Carried{Records: c.records, Counted: c.counted, Fields: map[string]uint64{}}
	for i, f := range s.Fields {
		if !f.Key {
			named.Fields[f.JSON] = c.fields[i]
		}
	}
	if s.Child != nil {
		named.Fields[s.Child.JSON] = c.fields[len(s.Fields)]
	}
	return named
}

// joinSome lists up to 20 names, and says how many more there are.
func joinSome(names []string) string {
	const most = 20
	text := ""
	for i, name := range names {
		if i == most {
			return text + fmt.Sprintf(" and %d more", len(names)-most)
		}
		if i > 0 {
			text += ", "
		}
		text += name
	}
	return text
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
