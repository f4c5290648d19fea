package apisim

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// base returns the order that is stored for o: o itself, or the one that o reads backwards.
func (o Order) base() Order {
	if o == ByUpdatedDesc {
		return ByUpdatedAsc
	}
	return o
}

// ordered returns every item in a base order.
func (l *listing) ordered(base Order) []uint32 {
	if l.orders[base] == nil {
		switch base {
		case ByID:
			l.orders[base] = l.idOrder()
		case Shuffled, Drifting:
			l.orders[base] = l.hashOrder(base)
		default:
			l.orders[base] = l.updateOrder()
		}
	}
	return l.orders[base]
}

// hashOrder returns every item, ordered by a hash that no field shows.
func (l *listing) hashOrder(base Order) []uint32 {
	keys := []sortKey{}
	for i := range uint32(l.src.size()) {
		if code, listed := l.src.code(i); listed && !l.script.hides(code) {
			keys = append(keys, l.key(i, base))
		}
	}
	for p, rec := range l.script.records {
		if rec != nil {
			keys = append(keys, l.key(scriptedBit|uint32(p), base))
		}
	}
	slices.SortFunc(keys, func(a, b sortKey) int { return a.compare(&b) })
	items := make([]uint32, len(keys))
	for p := range keys {
		items[p] = keys[p].item
	}
	return items
}

// sortKey is what an item is sorted by.
type sortKey struct {
	id    string // in the order by id; otherwise empty
	place uint64 // in the other orders: the time of update, or a hash
	item  uint32 // decides between equals
}

// key returns what an item is sorted by in an order. The item need not be listed.
func (l *listing) key(item uint32, order Order) sortKey {
	k := sortKey{item: item}
	switch order.base() {
	case ByID:
		k.id = l.idOf(item)
	case Shuffled:
		k.place = l.shuffle(item)
	case Drifting:
		k.place = mix(l.shuffle(item) ^ uint64(l.updated(item))*golden)
	default:
		k.place = uint64(l.updated(item)) ^ 1<<63 // so that times before 1970 come first
	}
	return k
}

func (l *listing) idOf(item uint32) string {
	var b [40]byte
	return string(l.appendID(b[:0], item))
}

// shuffle returns a hash of an item's id, so that the item keeps it forever.
func (l *listing) shuffle(item uint32) uint64 {
	var b [40]byte
	return hashText(l.src.identity().salt, string(l.appendID(b[:0], item)))
}

// compare orders by the text of the id, which is empty in the other orders, and then by place. Records
// without an id come last.
func (k *sortKey) compare(other *sortKey) int {
	if (k.id == "") != (other.id == "") {
		if k.id == "" {
			return 1
		}
		return -1
	}
	return cmp.Or(strings.Compare(k.id, other.id), cmp.Compare(k.place, other.place), cmp.Compare(k.item, other.item))
}

// seek returns where the items at or after a key begin in a view.
func (l *listing) seek(v view, k *sortKey) int {
	return sort.Search(len(v.items), func(p int) bool {
		other := l.key(v.at(p), v.order)
		if v.order == ByUpdatedDesc {
			return other.compare(k) <= 0
		}
		return other.compare(k) >= 0
	})
}

// position returns the present place of an item in a view, and true. If the item no longer passes the filter, it
// returns the place that the item would have, and false.
func (l *listing) position(v view, item uint32) (pos int, there bool) {
	k := l.key(item, v.order)
	pos = l.seek(v, &k)
	return pos, pos < len(v.items) && v.at(pos) == item
}

// carry returns the listing for a new moment: it has the same orders, and the same script until
// one of the two changes it.
func (l *listing) carry() *listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &listing{src: l.src, script: l.script.freeze(), orders: l.orders, until: l.until, settled: l.settled}
}

// bind gives the listing the source of its moment. It forgets orders that may no longer be valid.
func (l *listing) bind(src source, now int64) {
	l.src = src
	if now > l.until {
		l.forget()
		l.until, l.settled = now, false
	}
}

// forget drops the orders. It is for changes that do not update them.
func (l *listing) forget() {
	l.orders, l.views = [orderCount][]uint32{}, nil
}

// keepOrders finds out how long the orders stay valid, so that a clock that moves by milliseconds does
// not cost a sort each time.
func (l *listing) keepOrders() {
	made := slices.ContainsFunc(l.orders[:], func(items []uint32) bool { return items != nil })
	if made && !l.settled {
		l.until, l.settled = l.src.until(), true
	}
}

// leave removes an item from the orders. It copies them first, because other moments share them.
func (l *listing) leave(item uint32) {
	l.views = nil
	for base, items := range l.orders {
		if p := slices.Index(items, item); p >= 0 {
			l.orders[base] = append(slices.Clone(items[:p]), items[p+1:]...)
		}
	}
}

// enter inserts an item into the orders, by its present sort key.
func (l *listing) enter(item uint32) {
	l.views = nil
	for base, items := range l.orders {
		if items == nil {
			continue
		}
		p, _ := l.position(view{items: items, order: Order(base)}, item)
		l.orders[base] = slices.Insert(slices.Clip(items), p, item)
	}
}

func (l *listing) lessUpdated(a, b uint32) bool {
	ua, ub := l.updated(a), l.updated(b)
	if ua != ub {
		return ua < ub
	}
	return a < b
}

// lessID orders by the text of the id. Records without an id come last.
func (l *listing) lessID(a, b uint32) bool {
	var bufA, bufB [40]byte
	ia, ib := string(l.appendID(bufA[:0], a)), string(l.appendID(bufB[:0], b))
	if (ia == "") != (ib == "") {
		return ia != ""
	}
	if c := strings.Compare(ia, ib); c != 0 {
		return c < 0
	}
	return a < b
}
