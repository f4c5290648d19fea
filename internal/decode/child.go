package decode

import (
	"cmp"
	"encoding/binary"
	"slices"

	"dealhouse/internal/catalog"
)

// childDecoder decodes the array inside a record whose entries become rows of their own. They stay with the
// record in packed form (catalog.Child.Packed): most have not changed since the record was last read, and then
// nothing has to unpack them.
type childDecoder struct {
	d        *Decoder
	def      *catalog.Child
	key      int
	size     int // of a packed entry, in bytes
	quoted   [][]byte
	direct   straight
	rows     Rows // the entries of the current record, if they were not read straight
	order    []int
	position int   // of the entry in its array, from 0
	unusable []int // positions of the entries that are left out
	onEntry  func(*cursor) error
	onField  func(*cursor, []byte) error
}

func newChildDecoder(d *Decoder) *childDecoder {
	c := &childDecoder{d: d, def: d.stream.Child, size: d.stream.Child.PackedSize(), rows: newRows(d.stream.Child.Fields)}
	c.key = slices.IndexFunc(c.def.Fields, func(f catalog.Field) bool { return f.Key })
	c.quoted, c.direct = quotedNames(c.def.Fields), newStraight(c.def.Fields)
	c.onEntry, c.onField = c.entry, c.field
	return c
}

// reset makes room for the entries of another record.
func (c *childDecoder) reset() {
	if c.rows.Len() > 0 {
		c.rows.truncate(0)
	}
	c.direct.packed = ""
}

// array decodes all entries of the current record.
func (c *childDecoder) array(at *cursor) error {
	switch at.next() {
	case nullKind:
		return at.skip()
	case arrayKind:
		if c.direct.packed != "" { // the record had a list before: it has the entries of both
			c.direct.packed = ""
			if err := c.entries(&c.direct.before); err != nil {
				return err
			}
		} else if c.rows.Len() == 0 && c.straight(at) {
			return nil
		}
		return c.entries(at)
	default:
		raw, err := at.raw()
		if err == nil {
			c.d.rejectField(c.def.JSON, ReasonWrongType, raw)
		}
		return err
	}
}

// entries decodes a list of entries, however it is written.
func (c *childDecoder) entries(at *cursor) error {
	begin := at.at
	c.position, c.unusable = 0, c.unusable[:0]
	if err := at.array(c.onEntry); err != nil || len(c.unusable) == 0 {
		return err
	}
	return c.rejectEntries(&cursor{data: at.data, at: begin})
}

// entry decodes one entry. An entry without a usable key is rejected alone (decode-3).
func (c *childDecoder) entry(at *cursor) error {
	err := c.decode(at)
	c.position++
	return err
}

func (c *childDecoder) decode(at *cursor) error {
	if at.next() != objectKind {
		c.unusable = append(c.unusable, c.position)
		return at.skip()
	}
	b := c.d.batch
	rows, rejects := c.rows.Len(), len(b.Rejects)
	c.rows.grow(c.d.fetched)
	at.names, at.turn = c.quoted, 0
	if err := at.object(c.onField); err != nil {
		return err
	}
	if c.rows.keyReason != "" {
		c.rows.truncate(rows)
		b.Rejects = b.Rejects[:rejects]
		c.unusable = append(c.unusable, c.position)
	}
	return nil
}

// rejectEntries goes over the array once more for the raw JSON of the entries that were left out.
func (c *childDecoder) rejectEntries(at *cursor) error {
	c.position = 0
	return at.array(func(at *cursor) error {
		raw, err := at.raw()
		if err == nil && len(c.unusable) > 0 && c.unusable[0] == c.position {
			c.d.rejectField(c.path(), ReasonUnusableKey, raw)
			c.unusable = c.unusable[1:]
		}
		c.position++
		return err
	})
}

// path names the current entry in rejects and in extra fields.
func (c *childDecoder) path() string { return entryPath(c.def, c.position) }

func (c *childDecoder) field(at *cursor, name []byte) error {
	i := at.turn
	if !at.asExpected {
		i = slices.IndexFunc(c.def.Fields, func(f catalog.Field) bool { return f.JSON == string(name) })
		if i < 0 {
			return c.d.unknown(at, c.path()+".", name, c.def.JSON+"[]."+string(name))
		}
	}
	at.turn = i + 1
	return c.d.value(at, &c.rows, i)
}

// pack returns the entries of the current record in their packed form, in the order of their keys, so that equal
// content always gives equal bytes. Of two entries with the same key, the last counts. It writes field by field: there
// are many more entries than fields, so the type of each field is looked up only once.
func (c *childDecoder) pack() string {
	if c.direct.packed != "" || c.rows.Len() == 0 {
		return c.direct.packed
	}
	c.sort()
	b, n := c.d.batch, len(c.order)*c.size
	if cap(b.packed)-len(b.packed) < n {
		b.packed = make([]byte, 0, max(n, packedChunk))
	}
	begin := len(b.packed)
	b.packed = b.packed[:begin+n]
	entries := b.packed[begin:]
	for i, row := range c.order {
		entries[i*c.size] = byte(c.rows.Nulls[row])
	}
	to := 1
	for f := range c.def.Fields {
		column := &c.rows.Columns[f]
		if c.def.Fields[f].Type == catalog.Day {
			for i, row := range c.order {
				binary.LittleEndian.PutUint16(entries[i*c.size+to:], column.Days[row])
			}
		} else {
			for i, row := range c.order {
				binary.LittleEndian.PutUint64(entries[i*c.size+to:], uint64(column.Ints[row]))
			}
		}
		to += c.def.Fields[f].PackedSize()
	}
	return text(entries)
}

// packedChunk is how much memory is allocated at a time for packed entries, in bytes.
const packedChunk = 64 << 10

// sort orders the rows by their keys, and leaves out a row if a later one has the same key. Usually they come in order.
func (c *childDecoder) sort() {
	c.order = c.order[:0]
	rising := true
	for row := range c.rows.Len() {
		rising = rising && (row == 0 || c.keyOf(row-1) < c.keyOf(row))
		c.order = append(c.order, row)
	}
	if rising {
		return
	}
	slices.SortStableFunc(c.order, func(a, b int) int { return cmp.Compare(c.keyOf(a), c.keyOf(b)) })
	last := 0
	for i, row := range c.order {
		if i > 0 && c.keyOf(row) != c.keyOf(c.order[last]) {
			last++
		}
		c.order[last] = row
	}
	c.order = c.order[:last+1]
}

func (c *childDecoder) keyOf(row int) int64 {
	column := &c.rows.Columns[c.key]
	if c.def.Fields[c.key].Type == catalog.Day {
		return int64(column.Days[row])
	}
	return column.Ints[row]
}
