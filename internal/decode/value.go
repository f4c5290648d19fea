package decode

import (
	"bytes"
	"strings"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// value decodes field i of the last row. If a name comes twice in one record, the later one counts.
func (d *Decoder) value(c *cursor, rows *Rows, i int) error {
	f := &rows.Fields[i]
	next := c.next()
	if next == nullKind {
		rows.setAbsent(i)
		return c.skip()
	}
	switch {
	case f.Type.List():
		return d.listValue(c, rows, i)
	case f.Type == catalog.Bool:
		return d.boolValue(c, rows, i)
	case next == stringKind:
		if rows.plain(c, i) {
			return nil
		}
		return d.stringValue(c, rows, i)
	case next == numberKind:
		if rows.plainNumber(c, i) {
			return nil
		}
		raw, err := c.raw()
		if err != nil {
			return err
		}
		d.numberValue(raw, raw, rows, i)
		return nil
	}
	return d.wrongType(c, rows, i)
}

// stringValue takes a JSON string. Numbers are accepted as strings too: their digits are just as exact.
func (d *Decoder) stringValue(at *cursor, rows *Rows, i int) error {
	start := at.at
	b, err := at.str()
	if err != nil {
		return err
	}
	raw := at.data[start:at.at]
	row := rows.Len() - 1
	c := &rows.Columns[i]
	switch f := &rows.Fields[i]; f.Type {
	case catalog.Text, catalog.Label:
		if !d.isText(at, b) {
			d.refuse(raw, rows, i, ReasonNotText)
			return nil
		}
		c.Strings[row] = text(b)
	case catalog.UUID:
		id, err := uuid.ParseBytes(bytes.TrimSpace(b))
		if err != nil {
			d.refuseString(b, raw, rows, i, ReasonNotUUID)
			return nil //nolint:nilerr // it costs the field alone (decode-2)
		}
		c.UUIDs[row] = id
		rows.setPresent(i)
	case catalog.Time:
		ms, ok := anyTime(b)
		if !ok {
			d.refuseString(b, raw, rows, i, ReasonNotTime)
			return nil
		}
		c.Ints[row] = ms
		rows.setPresent(i)
	case catalog.Day:
		day, ok := anyDay(b)
		if !ok {
			d.refuseString(b, raw, rows, i, ReasonNotDay)
			return nil
		}
		c.Days[row] = day
		rows.setPresent(i)
	default:
		digits := anyNumber(b)
		if _, ok := splitNumber(digits); !ok {
			d.refuseString(b, raw, rows, i, ReasonWrongType)
			return nil
		}
		d.numberValue(digits, raw, rows, i)
	}
	return nil
}

// numberValue takes the digits of a number; raw is the value as it was sent.
func (d *Decoder) numberValue(digits, raw []byte, rows *Rows, i int) {
	row := rows.Len() - 1
	c := &rows.Columns[i]
	switch f := &rows.Fields[i]; {
	case f.Type.Decimal():
		v, how, ok := parseDecimal(digits, f.Type.Scale())
		if !ok {
			d.refuse(raw, rows, i, ReasonOutOfRange)
			return
		}
		c.Ints[row] = v
		rows.setPresent(i)
		d.noteRounding(how, raw, rows, i)
	case f.Type == catalog.Int:
		v, ok := parseInt(digits)
		if !ok {
			d.refuse(raw, rows, i, ReasonOutOfRange)
			return
		}
		c.Ints[row] = v
		rows.setPresent(i)
	case f.Type == catalog.Text || f.Type == catalog.Label:
		c.Strings[row] = text(digits) // an identifier such as a gtin that was sent as a number keeps its digits
	case f.Type == catalog.Time:
		ms, ok := anyTime(digits)
		if !ok {
			d.refuse(raw, rows, i, ReasonNotTime)
			return
		}
		c.Ints[row] = ms
		rows.setPresent(i)
	case f.Type == catalog.Day:
		day, ok := anyDay(digits)
		if !ok {
			d.refuse(raw, rows, i, ReasonNotDay)
			return
		}
		c.Days[row] = day
		rows.setPresent(i)
	default:
		d.refuse(raw, rows, i, ReasonWrongType)
	}
}

func (d *Decoder) noteRounding(how rounding, raw []byte, rows *Rows, i int) {
	switch {
	case how == noise:
		d.batch.Noise++
	case how == rounded && !rows.Fields[i].Type.RoundsQuietly():
		d.rejectField(d.nameOf(rows, i), ReasonRounded, raw)
	}
}

func (d *Decoder) boolValue(c *cursor, rows *Rows, i int) error {
	raw, err := c.raw()
	if err != nil {
		return err
	}
	word := strings.ToLower(string(bytes.Trim(raw, `" `)))
	value, ok := booleans[word]
	switch {
	case ok:
		rows.Columns[i].Bytes[rows.Len()-1] = value
		rows.setPresent(i)
	case word == "":
		rows.setAbsent(i)
	default:
		d.refuse(raw, rows, i, ReasonWrongType)
	}
	return nil
}

// listValue takes an array of strings, and stores it as one string: the elements one after the other, each
// ended by a NUL byte. It refuses a list with a string that contains a NUL byte or is no text, and a list
// with anything but strings.
func (d *Decoder) listValue(c *cursor, rows *Rows, i int) error {
	if c.next() != arrayKind {
		return d.wrongType(c, rows, i)
	}
	again := *c
	if cap(d.lists)-len(d.lists) < usualList {
		d.lists = make([]byte, 0, listChunk)
	}
	room := d.lists[len(d.lists):]
	d.list, d.listReason = room, ""
	if err := c.array(d.onElement); err != nil {
		return err
	}
	if d.listReason != "" {
		return d.wrongValue(&again, rows, i, d.listReason)
	}
	rows.Columns[i].Strings[rows.Len()-1] = text(d.list)
	if cap(d.list) == cap(room) { // the list has fitted into the room
		d.lists = d.lists[:len(d.lists)+len(d.list)]
	}
	return nil
}

// Memory for lists is allocated a chunk at a time, in bytes. The rest of a chunk is given up if it has
// no room for a usual list.
const (
	listChunk = 64 << 10
	usualList = 1 << 10
)

func (d *Decoder) element(c *cursor) error {
	if c.next() != stringKind {
		d.listReason = ReasonWrongType
		return c.skip()
	}
	b, err := c.str()
	if err != nil {
		return err
	}
	switch {
	case bytes.IndexByte(b, 0) >= 0:
		d.listReason = ReasonWrongType
	case d.listReason == "" && !d.isText(c, b):
		d.listReason = ReasonNotText
	}
	d.list = append(append(d.list, b...), 0)
	return nil
}

func (d *Decoder) wrongType(c *cursor, rows *Rows, i int) error {
	return d.wrongValue(c, rows, i, ReasonWrongType)
}

// wrongValue moves past a value and refuses it.
func (d *Decoder) wrongValue(c *cursor, rows *Rows, i int, reason string) error {
	raw, err := c.raw()
	if err != nil {
		return err
	}
	d.refuse(raw, rows, i, reason)
	return nil
}

// refuseString refuses a string. An empty string counts as absent instead, unless the field is the key.
func (d *Decoder) refuseString(b, raw []byte, rows *Rows, i int, reason string) {
	if len(b) == 0 && !rows.Fields[i].Key {
		rows.setAbsent(i)
		return
	}
	d.refuse(raw, rows, i, reason)
}

// refuse makes the field absent and rejects its value. If the field is the key, the whole record is left
// out (decode-2, decode-3).
func (d *Decoder) refuse(raw []byte, rows *Rows, i int, reason string) {
	rows.setAbsent(i)
	if rows.Fields[i].Key {
		rows.keyReason = ReasonUnusableKey
		return
	}
	d.rejectField(d.nameOf(rows, i), reason, raw)
}

// nameOf returns the name under which a field's rejects are kept.
func (d *Decoder) nameOf(rows *Rows, i int) string {
	if rows == &d.batch.Rows {
		return rows.Fields[i].JSON
	}
	return d.child.path() + "." + rows.Fields[i].JSON
}
