package syncer

import (
	"dealhouse/internal/catalog"
	"dealhouse/internal/decode"
	"dealhouse/internal/warehouse"
)

// countedRecords is the number of records of a run that are counted field by field. In later records, only fields
// that no record had so far are looked for. This still shows whether a field has vanished, and a large stream costs
// no more than a small one.
const countedRecords = 10_000

// carried counts in how many records each field has a value.
type carried struct {
	records, counted uint64
	fields           []uint64 // of the stream, and then of its child
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
