package decode

import "dealhouse/internal/catalog"

// childDecoder decodes the array inside a record that becomes rows of its own.
type childDecoder struct {
	d        *Decoder
	def      *catalog.Child
	quoted   [][]byte
	inherit  []int // the parent's field that each inherited one repeats
	next     int
	position int   // of the entry in its array, from 0
	unusable []int // positions of the entries that are left out
	onEntry  func(*cursor) error
	onField  func(*cursor, []byte) error
}

func newChildDecoder(d *Decoder) *childDecoder {
	c := &childDecoder{d: d, def: d.stream.Child}
	for _, f := range c.def.Inherit {
		c.inherit = append(c.inherit, d.byName[f.JSON])
	}
	c.quoted = quotedNames(c.def.Fields)
	c.onEntry, c.onField = c.entry, c.field
	return c
}

// array decodes all entries of the current record.
func (c *childDecoder) array(at *cursor) error {
	switch at.next() {
	case nullKind:
		return at.skip()
	case arrayKind:
	default:
		raw, err := at.raw()
		if err == nil {
			c.d.rejectField(c.def.JSON, ReasonWrongType, raw)
		}
		return err
	}
	again := *at
	c.position, c.unusable = 0, c.unusable[:0]
	if err := at.array(c.onEntry); err != nil || len(c.unusable) == 0 {
		return err
	}
	return c.rejectEntries(&again)
}

// entry decodes one entry. One without a usable key costs only itself (decode-3).
func (c *childDecoder) entry(at *cursor) error {
	defer func() { c.position++ }()
	if at.next() != objectKind {
		c.unusable = append(c.unusable, c.position)
		return at.skip()
	}
	b := c.d.batch
	rows, rejects := b.Children.Len(), len(b.Rejects)
	b.Children.grow(c.d.fetched)
	b.addEntry(c.position)
	c.next = 0
	at.expected = c.quoted[0]
	if err := at.object(c.onField); err != nil {
		return err
	}
	if b.Children.keyReason != "" {
		b.truncateEntries(rows)
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

// path names the entry at hand in rejects and in extra fields.
func (c *childDecoder) path() string { return entryPath(c.def, c.position) }

func (c *childDecoder) field(at *cursor, name []byte) error {
	i := c.lookup(name)
	at.expected = c.quoted[c.next]
	if i < 0 {
		return c.d.unknown(at, c.path()+".", name, c.def.JSON+"[]."+string(name))
	}
	return c.d.value(at, &c.d.batch.Children, i)
}

func (c *childDecoder) lookup(name []byte) int {
	if c.next < len(c.def.Fields) && string(name) == c.def.Fields[c.next].JSON {
		c.next++
		return c.next - 1
	}
	for i := range c.def.Fields {
		if string(name) == c.def.Fields[i].JSON {
			return i
		}
	}
	return -1
}

// completeEntries gives the entries from row first on their parent's key and what they repeat of it.
func (c *childDecoder) completeEntries(first int) {
	b := c.d.batch
	parent := b.Len() - 1
	for row := first; row < b.Children.Len(); row++ {
		b.Parents[row] = b.Keys[parent]
		for k, from := range c.inherit {
			b.Children.Columns[len(c.def.Fields)+k].Strings[row] = b.Columns[from].Strings[parent]
		}
	}
}
