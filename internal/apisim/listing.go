package apisim

import (
	"math"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"sync"
)

// source is a cursor stream of generated records at a moment. Items are numbered from 0; not every number need be
// listed.
type source interface {
	size() int
	// code returns the identity of an item, and whether it is listed. Its low bits are the item's number.
	code(i uint32) (uint64, bool)
	updated(i uint32) int64
	identity() *identity
	matches(i uint32, f *filter) bool
	record(dst []byte, i uint32, st *style) []byte
	// until returns the last moment up to which no item comes, goes or is updated.
	until() int64
}

// scriptedBit marks the items of a view that come from a script. The other bits are the place of
// the record in the script.
const scriptedBit = 1 << 31

// filter holds the query parameters of the lists. All items pass the zero value.
type filter struct {
	hostname, name, category, country string
	after, before                     int64 // exclusive; 0 for none
	bySale                            bool  // they are about soldAt
}

// dated tells whether a time of update is between the borders.
func (f *filter) dated(updated int64) bool {
	return (f.after == 0 || updated > f.after) && (f.before == 0 || updated < f.before)
}

func (f *filter) texts() bool {
	return f.hostname != "" || f.name != "" || f.category != "" || f.country != ""
}

// listing is a cursor stream at a moment: generated records, and the changes of a script. Orders of its items are made
// when they are first needed.
type listing struct {
	src    source
	script *script

	mu      sync.Mutex
	orders  [orderCount][]uint32 // by Order.base; nil until needed
	views   map[viewKey]view
	until   int64 // the orders of the generated items are valid up to this time
	settled bool  // until is as late as possible, not just the moment itself
}

type viewKey struct {
	filter filter
	order  Order
}

// view is a filtered and ordered sequence of items.
type view struct {
	items []uint32
	order Order
}

func (v view) at(pos int) uint32 {
	if v.order == ByUpdatedDesc {
		return v.items[len(v.items)-1-pos]
	}
	return v.items[pos]
}

// maxViews bounds the views kept of one listing at one moment.
const maxViews = 32

// view returns the items that pass a filter, in order.
func (l *listing) view(f filter, order Order) view {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := viewKey{f, order}
	if v, ok := l.views[key]; ok {
		return v
	}
	v := view{items: l.build(&f, order), order: order}
	if l.views == nil || len(l.views) >= maxViews {
		l.views = make(map[viewKey]view)
	}
	l.views[key] = v
	return v
}

func (l *listing) build(f *filter, order Order) []uint32 {
	dates := (f.after != 0 || f.before != 0) && !f.bySale
	base := order.base()
	if dates && order == ByID && l.script.empty() {
		base = ByUpdatedAsc // sorting the items of some days is faster than looking at all items
	}
	items := l.ordered(base)
	if dates && base == ByUpdatedAsc {
		if f.before != 0 {
			items = items[:sort.Search(len(items), func(i int) bool { return l.updated(items[i]) >= f.before })]
		}
		if f.after != 0 {
			items = items[sort.Search(len(items), func(i int) bool { return l.updated(items[i]) > f.after }):]
		}
	} else if dates {
		items = keep(items, func(i uint32) bool { return f.dated(l.updated(i)) })
	}
	if f.bySale {
		items = keep(items, func(i uint32) bool {
			sold := l.sold(i)
			return sold != 0 && f.dated(sold)
		})
	}
	if f.texts() {
		items = keep(items, func(i uint32) bool { return l.matches(i, f) })
	}
	if order == ByID && base != ByID {
		items = slices.Clone(items)
		l.sortGenerated(items)
	}
	return items
}

// sold returns the soldAt of an item, 0 if it has none.
func (l *listing) sold(item uint32) int64 {
	at, err := parseTime(fieldText(l.record(nil, item, &style{cal: &calendar{}}), "soldAt"))
	if err != nil {
		return 0
	}
	return at.UnixMilli()
}

func keep(items []uint32, ok func(uint32) bool) []uint32 {
	var kept []uint32
	for _, i := range items {
		if ok(i) {
			kept = append(kept, i)
		}
	}
	return kept
}

// updateOrder returns every item, ordered by its time of update; equal times by number.
func (l *listing) updateOrder() []uint32 {
	n := l.src.size()
	items := make([]uint32, 0, n)
	times := make([]uint64, 0, n)
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range uint32(n) {
		code, listed := l.src.code(i)
		if !listed || l.script.hides(code) {
			continue
		}
		u := l.src.updated(i)
		least, most = min(least, u), max(most, u)
		items = append(items, i)
		times = append(times, uint64(u))
	}
	// Time and number together nearly always fit 64 bits, which sort fastest.
	low := bits.Len(uint(n))
	if len(items) > 0 && bits.Len64(uint64(most-least))+low <= 64 {
		for p, i := range items {
			times[p] = (times[p]-uint64(least))<<low | uint64(i)
		}
		slices.Sort(times)
		for p, key := range times {
			items[p] = uint32(key & (1<<low - 1))
		}
	} else {
		sort.Slice(items, func(a, b int) bool { return l.lessUpdated(items[a], items[b]) })
	}
	return l.withScript(items, l.lessUpdated)
}

// idOrder returns every item, ordered by its id.
func (l *listing) idOrder() []uint32 {
	n := l.src.size()
	items := make([]uint32, 0, n)
	for i := range uint32(n) {
		if code, listed := l.src.code(i); listed && !l.script.hides(code) {
			items = append(items, i)
		}
	}
	l.sortGenerated(items)
	return l.withScript(items, l.lessID)
}

// sortGenerated sorts generated items by id. It sorts their permuted codes, from which the items can be computed.
func (l *listing) sortGenerated(items []uint32) {
	ids := l.src.identity()
	keys := make([]uint64, len(items))
	for p, i := range items {
		code, _ := l.src.code(i)
		keys[p] = ids.permute(code)
	}
	slices.Sort(keys)
	for p, key := range keys {
		items[p] = uint32(ids.invert(key) & itemMask)
	}
}

// withScript merges scripted records into sorted items.
func (l *listing) withScript(items []uint32, less func(a, b uint32) bool) []uint32 {
	if l.script.empty() {
		return items
	}
	var added []uint32
	for p, rec := range l.script.records {
		if rec != nil {
			added = append(added, scriptedBit|uint32(p))
		}
	}
	sort.SliceStable(added, func(a, b int) bool { return less(added[a], added[b]) })
	out := make([]uint32, 0, len(items)+len(added))
	for _, item := range added {
		p := sort.Search(len(items), func(i int) bool { return less(item, items[i]) })
		out = append(out, items[:p]...)
		out = append(out, item)
		items = items[p:]
	}
	return append(out, items...)
}

func (l *listing) scripted(item uint32) *scriptedRecord {
	if item&scriptedBit == 0 {
		return nil
	}
	return l.script.records[item&^scriptedBit]
}

func (l *listing) updated(item uint32) int64 {
	if rec := l.scripted(item); rec != nil {
		return rec.updated
	}
	return l.src.updated(item)
}

func (l *listing) matches(item uint32, f *filter) bool {
	if rec := l.scripted(item); rec != nil {
		return rec.matches(f)
	}
	return l.src.matches(item, f)
}

func (l *listing) appendID(dst []byte, item uint32) []byte {
	if rec := l.scripted(item); rec != nil {
		return append(dst, rec.id...)
	}
	code, _ := l.src.code(item)
	return l.src.identity().appendUUID(dst, code)
}

func (l *listing) record(dst []byte, item uint32, st *style) []byte {
	if rec := l.scripted(item); rec != nil {
		return append(dst, rec.raw...)
	}
	return l.src.record(dst, item, st)
}

// find returns the listed item with an id.
func (l *listing) find(id string) (uint32, bool) {
	if isUUID(id) {
		id = strings.ToLower(id)
	}
	if p, ok := l.script.byID[id]; ok {
		return scriptedBit | uint32(p), true
	}
	return l.findGenerated(id, true)
}

// findGenerated finds a generated record. It also finds hidden ones, unless visible is set.
func (l *listing) findGenerated(id string, visible bool) (uint32, bool) {
	code, ok := l.src.identity().parse(id)
	if !ok {
		return 0, false
	}
	i := uint32(code & itemMask)
	if int(i) >= l.src.size() {
		return 0, false
	}
	now, listed := l.src.code(i)
	if !listed || now != code || visible && l.script.hides(code) {
		return 0, false
	}
	return i, true
}

// expired returns the stream at the last moment at which the deal with an id was listed, and the number of the deal.
// The deal must have been listed since the world began.
func (l *listing) expired(id string) (dealSource, uint32, bool) {
	deals, ok := l.src.(dealSource)
	if !ok {
		return dealSource{}, 0, false
	}
	code, ok := deals.ids.parse(strings.ToLower(id))
	i := uint32(code & itemMask)
	if !ok || int(i) >= deals.n || l.script.hides(code) {
		return dealSource{}, 0, false
	}
	last, ok := deals.line.last(code, deals.now)
	return dealSource{deals.deals, last}, i, ok
}
