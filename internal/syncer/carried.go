package syncer

import (
	"dealhouse/internal/catalog"
	"dealhouse/internal/decode"
	"dealhouse/internal/warehouse"
)

// countedRecords is how many records of a run are counted field by field. In those after them, only a field that none
// had is looked for: whether a field has vanished is known either way, and a large stream costs no more.
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

// carries reports of a row whether it has a value of a field; the one after the last is the child.
func carries(b *decode.Batch, i int) func(row int) bool {
	switch {
	case i == len(b.Fields):
		return func(row int) bool { return b.Stream.Child != nil && b.Entries[row] != "" }
	case b.Fields[i].Key || b.Fields[i].Nullable():
		return func(row int) bool { return b.Present(i, row) }
	}
	return func(row int) bool { return b.Columns[i].Strings[row] != "" }
}

// named are the counts by the names of the fields. Without its key there is no record.
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
