package apisim

import (
	"net/http"
	"strings"
)

// CursorKind is what the cursor of a list means. So it decides where the page of a cursor begins.
type CursorKind int

// The kinds of cursors.
const (
	// CursorNextID is the id of the next item, as the document says. The page begins where that item is now.
	CursorNextID CursorKind = iota
	// CursorLastID is the id of the last item of the page before. The page begins after the present place of that item.
	CursorLastID
	// CursorOffset is opaque: it holds the number of items before the page.
	CursorOffset
	// CursorKeyset is opaque: it holds the sort key of the next item. The page begins with the first item at or after
	// that key, whatever has happened to the item itself.
	CursorKeyset
)

func (k CursorKind) names() []string { return []string{"next-id", "last-id", "offset", "keyset"} }

// String is the name used in settings.
func (k CursorKind) String() string { return nameOf(int(k), k.names()) }

// MarshalText writes the name used in settings.
func (k CursorKind) MarshalText() ([]byte, error) { return marshalName("cursor", int(k), k.names()) }

// UnmarshalText reads next-id, last-id, offset or keyset.
func (k *CursorKind) UnmarshalText(b []byte) error {
	return unmarshalName("cursor", b, k.names(), func(i int) { *k = CursorKind(i) })
}

// UnknownCursor is the answer to a cursor that names no item, or that does not belong to the present kind and order.
type UnknownCursor int

// The answers to an unknown cursor.
const (
	UnknownBadRequest UnknownCursor = iota // 400
	UnknownNotFound                        // 404
	UnknownFirstPage                       // 200 with the first page
	UnknownEmpty                           // 200 with no items and no cursor
)

func (u UnknownCursor) names() []string {
	return []string{"bad-request", "not-found", "first-page", "empty"}
}

// String is the name used in settings.
func (u UnknownCursor) String() string { return nameOf(int(u), u.names()) }

// MarshalText writes the name used in settings.
func (u UnknownCursor) MarshalText() ([]byte, error) {
	return marshalName("unknownCursor", int(u), u.names())
}

// UnmarshalText reads bad-request, not-found, first-page or empty.
func (u *UnknownCursor) UnmarshalText(b []byte) error {
	return unmarshalName("unknownCursor", b, u.names(), func(i int) { *u = UnknownCursor(i) })
}

// position returns where the page of a cursor begins in a view, or the answer that is given instead of a page.
func (c *call) position(l *listing, v view, cursor string) (int, *answer) {
	if pos, ok := c.locate(l, v, cursor); ok {
		return pos, nil
	}
	switch {
	case !isUUID(cursor):
		return 0, problem(http.StatusBadRequest, "cursor", "must be a UUID")
	case c.set.UnknownCursor == UnknownFirstPage:
		return 0, nil
	case c.set.UnknownCursor == UnknownEmpty:
		return len(v.items), nil
	case c.set.UnknownCursor == UnknownNotFound || c.set.VanishedCursorNotFound:
		return 0, problem(http.StatusNotFound, "cursor", "no such item")
	}
	return 0, problem(http.StatusBadRequest, "cursor", "no such item")
}

// locate returns where the page of a cursor begins, or false if the cursor is unknown.
func (c *call) locate(l *listing, v view, cursor string) (int, bool) {
	switch c.set.Cursor {
	case CursorOffset:
		t, ok := l.parseToken(cursor)
		return int(min(t.place, uint64(len(v.items)))), ok && t.kind == CursorOffset
	case CursorKeyset:
		t, ok := l.parseToken(cursor)
		if !ok || t.kind != CursorKeyset || t.order != v.order {
			return 0, false
		}
		k, ok := l.keyOf(t)
		return l.seek(v, &k), ok
	}
	item, ok := l.find(cursor)
	if !ok {
		return 0, false
	}
	pos, there := l.position(v, item)
	if there && c.set.Cursor == CursorLastID {
		pos++
	}
	return pos, there || !c.set.CursorMustMatch
}

// cut returns the position before which a page ends: end, or a later one, because an item without an
// id cannot be the cursor.
func (c *call) cut(l *listing, v view, end int) int {
	named := 0 // the distance from end to the item that the cursor names
	switch c.set.Cursor {
	case CursorOffset, CursorKeyset:
		return end
	case CursorLastID:
		named = -1
	}
	for end > 0 && end < len(v.items) && l.idOf(v.at(end+named)) == "" {
		end++
	}
	return end
}

// cursor returns the cursor of a page that ends before the position end, and the item that it names.
func (c *call) cursor(l *listing, v view, end int) (string, uint32) {
	item := v.at(end)
	switch c.set.Cursor {
	case CursorLastID:
		item = v.at(end - 1)
	case CursorOffset:
		return l.token(token{kind: CursorOffset, order: v.order, place: uint64(end)}), item
	case CursorKeyset:
		return l.token(l.keyset(item, v.order)), item
	}
	return l.idOf(item), item
}

// token is the content of an opaque cursor: a position, or a sort key.
type token struct {
	kind  CursorKind
	order Order
	place uint64 // the position; or the place of a sort key; or, in the order by id, the code of a generated item
	item  uint32
}

// keyset returns the token of an item's sort key.
func (l *listing) keyset(item uint32, order Order) token {
	t := token{kind: CursorKeyset, order: order, item: item}
	if order != ByID {
		t.place = l.key(item, order).place
	} else if item&scriptedBit == 0 {
		t.place, _ = l.src.code(item)
	}
	return t
}

// keyOf returns the sort key of a token, even if its item is gone.
func (l *listing) keyOf(t token) (sortKey, bool) {
	k := sortKey{place: t.place, item: t.item}
	if t.order != ByID {
		return k, true
	}
	k.place = 0
	if t.item&scriptedBit == 0 {
		k.id = string(l.src.identity().appendUUID(nil, t.place))
		return k, true
	}
	p := int(t.item &^ scriptedBit)
	if p >= len(l.script.ids) {
		return k, false
	}
	k.id = l.script.ids[p]
	return k, true
}

// A token is written as a UUID that looks like that of an item: two halves of 61 bits, scrambled together, in the bits
// that are random in a UUID.
const (
	tokenBits = 61
	tokenMask = 1<<tokenBits - 1
	checkBits = 22
)

// check returns bits that depend on the list and the token. By them a token of another list, or
// any other UUID, is refused.
func (t token) check(ids *identity) uint64 {
	h := mix(t.place ^ ids.salt)
	return mix(h^uint64(t.item)<<8^uint64(t.order)<<2^uint64(t.kind)) >> (64 - checkBits)
}

func (l *listing) token(t token) string {
	ids := l.src.identity()
	kind := uint64(t.kind - CursorOffset)
	a := t.place >> tokenBits << (tokenBits - 3)
	a |= uint64(t.item)<<(checkBits+4) | uint64(t.order)<<(checkBits+1) | kind<<checkBits | t.check(ids)
	b := t.place & tokenMask
	for _, key := range ids.keys {
		a, b = b, a^mix(b^key)&tokenMask
	}
	var out [36]byte
	putHex(out[0:8], a>>29)
	putHex(out[9:13], a>>13)
	out[14] = '4'
	putHex(out[15:18], a>>1)
	out[19] = "89ab"[a&1<<1|b>>60]
	putHex(out[20:23], b>>48)
	putHex(out[24:36], b)
	for _, p := range []int{8, 13, 18, 23} {
		out[p] = '-'
	}
	return string(out[:])
}

func (l *listing) parseToken(cursor string) (token, bool) {
	if !isUUID(cursor) {
		return token{}, false
	}
	cursor = strings.ToLower(cursor)
	digits := func(from, to int) (v uint64) {
		for i := from; i < to; i++ {
			d, _ := unhex(cursor[i]) // isUUID has checked them
			v = v<<4 | d
		}
		return v
	}
	variant := strings.IndexByte("89ab", cursor[19])
	if cursor[14] != '4' || variant < 0 {
		return token{}, false
	}
	a := digits(0, 8)<<29 | digits(9, 13)<<13 | digits(15, 18)<<1 | uint64(variant)>>1
	b := uint64(variant)&1<<60 | digits(20, 23)<<48 | digits(24, 36)
	ids := l.src.identity()
	for i := len(ids.keys) - 1; i >= 0; i-- {
		a, b = b^mix(a^ids.keys[i])&tokenMask, a
	}
	t := token{
		kind: CursorOffset + CursorKind(a>>checkBits&1), order: Order(a >> (checkBits + 1) & 7),
		place: a>>(tokenBits-3)<<tokenBits | b, item: uint32(a >> (checkBits + 4)),
	}
	return t, a&(1<<checkBits-1) == t.check(ids)
}
