package decode

import (
	"bytes"
	"encoding/binary"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// Nearly all values of a page are written in the same form, the plain form. These functions read only that, without a
// search for the end of a string, and leave any other form to the full decoder. Both give the same result.

const (
	uuidLength = len("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")
	timeLength = len("2006-01-02T15:04:05.000Z")
	dayLength  = len("2006-01-02")
)

// plain reads the string that follows as field i of the last row, if it is a UUID, a timestamp, a day or text in its
// plain form. It reports whether it did.
func (r *Rows) plain(c *cursor, i int) bool {
	column, row := &r.Columns[i], len(r.Nulls)-1
	b := c.data[c.at+1:]
	switch r.Fields[i].Type {
	case catalog.UUID:
		if len(b) <= uuidLength || b[uuidLength] != '"' || !plainUUID((*[uuidLength]byte)(b), &column.UUIDs[row]) {
			return false
		}
		c.at += uuidLength + 2
	case catalog.Time:
		if len(b) <= timeLength || b[timeLength] != '"' {
			return false
		}
		ms, ok := plainTime((*[timeLength]byte)(b))
		if !ok {
			return false
		}
		column.Ints[row] = ms
		c.at += timeLength + 2
	case catalog.Day:
		if len(b) <= dayLength || b[dayLength] != '"' {
			return false
		}
		day, ok := r.plainDay((*[dayLength]byte)(b))
		if !ok {
			return false
		}
		column.Days[row] = day
		c.at += dayLength + 2
	case catalog.Text, catalog.Label:
		end := bytes.IndexByte(b, '"')
		if !c.plain || end < 0 {
			return false
		}
		column.Strings[row] = text(b[:end])
		c.at += end + 2
		return true
	default:
		return false
	}
	r.setPresent(i)
	return true
}

// plainUUID reads a UUID with dashes, its digits in four groups of eight. It changes id only if b is a UUID.
func plainUUID(b *[uuidLength]byte, id *uuid.UUID) bool {
	if b[8] != '-' || b[13] != '-' || b[18] != '-' || b[23] != '-' {
		return false
	}
	four, eight := binary.LittleEndian.Uint32, binary.LittleEndian.Uint64
	w0, ok0 := hexDigits(eight(b[0:]))
	w1, ok1 := hexDigits(uint64(four(b[9:])) | uint64(four(b[14:]))<<32)
	w2, ok2 := hexDigits(uint64(four(b[19:])) | uint64(four(b[24:]))<<32)
	w3, ok3 := hexDigits(eight(b[28:]))
	if !ok0 || !ok1 || !ok2 || !ok3 {
		return false
	}
	binary.LittleEndian.PutUint64(id[0:], uint64(w0)|uint64(w1)<<32)
	binary.LittleEndian.PutUint64(id[8:], uint64(w2)|uint64(w3)<<32)
	return true
}

// hexDigits returns the four bytes that eight hexadecimal digits mean; the first digit and the first byte
// are in the lowest bits. It looks at all eight in one word: no sum here carries into the next byte, as
// long as the bytes are ASCII.
func hexDigits(x uint64) (four uint32, ok bool) {
	const each = 0x0101010101010101
	lower := x | 0x20*each
	digit := (x + (0x80-'0')*each) &^ (x + (0x7f-'9')*each)
	letter := (lower + (0x80-'a')*each) &^ (lower + (0x7f-'f')*each)
	if (digit|letter)&^x&(0x80*each) != 0x80*each {
		return 0, false
	}
	v := x&(0x0f*each) + 9*(x>>6&each)
	v = (v<<4 | v>>8) & 0x00ff00ff00ff00ff
	v = (v | v>>8) & 0x0000ffff0000ffff
	return uint32(v | v>>16), true
}

// plainTime reads a timestamp as 2006-01-02T15:04:05.000Z, in milliseconds since 1970.
func plainTime(b *[timeLength]byte) (ms int64, ok bool) {
	if b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' || b[19] != '.' || b[23] != 'Z' {
		return 0, false
	}
	century, ok1 := twoDigits(b[0:2])
	decade, ok2 := twoDigits(b[2:4])
	month, ok3 := twoDigits(b[5:7])
	day, ok4 := twoDigits(b[8:10])
	hour, ok5 := twoDigits(b[11:13])
	minute, ok6 := twoDigits(b[14:16])
	second, ok7 := twoDigits(b[17:19])
	tens, ok8 := twoDigits(b[20:22])
	ones := b[22] - '0'
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 || !ok7 || !ok8 || ones > 9 {
		return 0, false
	}
	year := century*100 + decade
	if month < 1 || month > 12 || day < 1 || day > 28 && day > daysIn(year, month) || hour > 23 || minute > 59 ||
		second > 59 {
		return 0, false
	}
	ms = ((daysSince1970(year, month, day)*24+hour)*60+minute)*60_000 + second*1000 + tens*10 + int64(ones)
	return ms, inRange(ms)
}

// plainDay reads a day as 2006-01-02, in days since 1970. Days that follow each other are usually of one month. Then
// only the day of the month is read, if it is at most 28, which every month has.
func (r *Rows) plainDay(b *[dayLength]byte) (day uint16, ok bool) {
	month := binary.LittleEndian.Uint64(b[:8])
	n, digits := twoDigits(b[8:])
	if days := r.monthBegin + n; month == r.month && month != 0 && digits && n >= 1 && n <= 28 && days <= maxDay {
		return uint16(days), true
	}
	if day, ok = parseDay(b[:]); ok {
		r.month, r.monthBegin = month, int64(day)-n
	}
	return day, ok
}

// maxPlain is the number of digits that fit into a Decimal(18, s) and into an Int64, whatever the digits are.
const maxPlain = 18

// plainDecimal reads the number that b begins with, scaled by 10 to the power of scale, and returns its length
// in bytes. It accepts only numbers without an exponent that have no more digits after the point than the
// scale, and that certainly fit.
func plainDecimal(b []byte, scale int) (value int64, length int, ok bool) {
	i := 0
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		i = 1
	}
	begin, point := i, -1
scan:
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			value = value*10 + int64(c-'0') // too many digits overflow it, but are refused below
		case c == '.' && point < 0:
			point = i
		case c == '.', c == 'e', c == 'E', c == '+', c == '-':
			return 0, 0, false
		default:
			break scan
		}
	}
	whole, missing := i-begin, scale
	if point >= 0 {
		whole = point - begin
		missing -= i - point - 1
	}
	if whole == 0 || point+1 == i || missing < 0 || whole+scale > maxPlain {
		return 0, 0, false
	}
	for range missing {
		value *= 10
	}
	if negative {
		value = -value
	}
	return value, i, true
}

// plainNumber reads the number that follows as field i of the last row, if it is a decimal or a whole number in its
// plain form. It reports whether it did.
func (r *Rows) plainNumber(c *cursor, i int) bool {
	scale := 0
	switch t := r.Fields[i].Type; {
	case t.Decimal():
		scale = t.Scale()
	case t != catalog.Int:
		return false
	}
	value, length, ok := plainDecimal(c.data[c.at:], scale)
	if !ok {
		return false
	}
	r.Columns[i].Ints[len(r.Nulls)-1] = value
	r.setPresent(i)
	c.at += length
	return true
}
