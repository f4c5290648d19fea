package decode

import (
	"bytes"
	"encoding/binary"

	"dealhouse/internal/catalog"
)

// straight reads a list of entries in the form that nearly all lists have, and packs it at the same time: every
// entry has all fields in the order of the catalog, in their plain form (plain.go) or null, without white space,
// and each key is greater than the one before. It leaves any other list to the full decoder, which gives the same
// result for these lists too.
//
// A record may contain two such lists, whose entries then belong together. So the cursor before the first one is kept,
// and the full decoder reads that list again.
type straight struct {
	kinds  []straightKind // of each field; nil if a field has another type
	scales []int
	before cursor // at the list that was read straight
	packed string // its entries; "" if no list was read straight
}

type straightKind uint8

const (
	straightDay straightKind = iota
	straightNumber
)

func newStraight(fields []catalog.Field) (s straight) {
	for _, f := range fields {
		switch {
		case f.Type == catalog.Day:
			s.kinds, s.scales = append(s.kinds, straightDay), append(s.scales, 0)
		case f.Type == catalog.Int:
			s.kinds, s.scales = append(s.kinds, straightNumber), append(s.scales, 0)
		case f.Type.Decimal():
			s.kinds, s.scales = append(s.kinds, straightNumber), append(s.scales, f.Type.Scale())
		default:
			return straight{}
		}
	}
	return s
}

// straight reads the list that follows, and reports whether it was able to.
func (c *childDecoder) straight(at *cursor) bool {
	s, b := &c.direct, c.d.batch
	data, i := at.data, at.at+1
	if s.kinds == nil || i >= len(data) || data[i] != '{' {
		return false
	}
	out, moved := b.packed[len(b.packed):], false
	last := int64(-1 << 63)
	for {
		n := len(out)
		if cap(out)-n < c.size {
			out, moved = append(make([]byte, 0, max(packedChunk, 2*(n+c.size))), out...), true
		}
		out = out[:n+c.size]
		length, key, ok := c.straightEntry(data[i:], out[n:])
		if i += length; !ok || key <= last || i >= len(data) {
			return false
		}
		last = key
		switch data[i] {
		case ',':
			i++
			continue
		case ']':
		default:
			return false
		}
		break
	}
	s.before, s.packed = *at, text(out)
	if moved {
		b.packed = out
	} else {
		b.packed = b.packed[:len(b.packed)+len(out)]
	}
	at.at = i + 1
	return true
}

// straightEntry packs the entry that b begins with. It returns the length of the entry in b, and its key.
func (c *childDecoder) straightEntry(b, packed []byte) (length int, key int64, ok bool) {
	if len(b) == 0 || b[0] != '{' {
		return 0, 0, false
	}
	absent, i, to := c.rows.absent, 1, 1
	for f, name := range c.quoted {
		if !bytes.HasPrefix(b[i:], name) {
			return 0, 0, false
		}
		i += len(name)
		var value int64
		if c.direct.kinds[f] == straightDay {
			if len(b)-i < dayLength+2 || b[i] != '"' || b[i+1+dayLength] != '"' {
				return 0, 0, false
			}
			day, ok := c.rows.plainDay((*[dayLength]byte)(b[i+1:]))
			if !ok {
				return 0, 0, false
			}
			value = int64(day)
			binary.LittleEndian.PutUint16(packed[to:], day)
			absent &^= c.rows.masks[f]
			i, to = i+dayLength+2, to+2
		} else {
			n := len("null")
			if isNull := f != c.key && bytes.HasPrefix(b[i:], null); !isNull {
				var plain bool
				if value, n, plain = plainDecimal(b[i:], c.direct.scales[f]); !plain {
					return 0, 0, false
				}
				absent &^= c.rows.masks[f]
			}
			binary.LittleEndian.PutUint64(packed[to:], uint64(value))
			i, to = i+n, to+8
		}
		if f == c.key {
			key = value
		}
		end := byte(',')
		if f == len(c.quoted)-1 {
			end = '}'
		}
		if i >= len(b) || b[i] != end {
			return 0, 0, false
		}
		i++
	}
	packed[0] = byte(absent)
	return i, key, true
}

var null = []byte("null")
