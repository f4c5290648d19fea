package decode

import (
	"errors"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// source is a page that rows of a batch came from.
type source struct {
	data    []byte
	row     int   // of its first record that has one
	leftOut []int // positions in the page, from 0, of the records that have none
}

// entry is where a child's row came from.
type entry struct {
	row      int32 // of its record
	position int32 // in the record's array, from 0
}

// Key is the key of a row as text.
func (b *Batch) Key(row int) string {
	i := b.Stream.KeyField()
	switch {
	case i < 0:
		return b.Keys[row].String()
	case b.Stream.Fields[i].Type == catalog.UUID:
		return b.Columns[i].UUIDs[row].String()
	}
	return strconv.FormatInt(b.Columns[i].Ints[row], 10)
}

// Record is the JSON of the record that a row came from, verbatim. It goes over the page again: it is for the rare row
// that the warehouse does not take.
func (b *Batch) Record(row int) (string, error) {
	raw, err := b.record(row)
	return string(raw), err
}

func (b *Batch) record(row int) ([]byte, error) {
	at, found := slices.BinarySearchFunc(b.sources, row, func(s source, row int) int { return s.row - row })
	// Pages without a row share the number of the next one's first: the last of those is the one.
	for found && at+1 < len(b.sources) && b.sources[at+1].row == row {
		at++
	}
	if !found {
		at--
	}
	s := b.sources[at]
	left, position := row-s.row, 0
	return nth(&cursor{data: s.data}, func() bool {
		defer func() { position++ }()
		if slices.Contains(s.leftOut, position) {
			return false
		}
		left--
		return left < 0
	})
}

// nth is the JSON of the first element of an array that is the one.
func nth(c *cursor, isIt func() bool) (found []byte, err error) {
	err = c.array(func(c *cursor) error {
		if found != nil || !isIt() {
			return c.skip()
		}
		raw, err := c.raw()
		found = raw
		return err
	})
	if err == nil && found == nil {
		err = errors.New("the page does not have what was read from it")
	}
	return found, err
}

// Entry is the JSON of the entry that a row of Children came from, verbatim, with the row of its record and how rejects
// name it there.
func (b *Batch) Entry(child int) (row int, field, raw string, err error) {
	e := b.entries[child]
	row, field = int(e.row), entryPath(b.Stream.Child, int(e.position))
	record, err := b.record(row)
	if err != nil {
		return row, field, "", err
	}
	var found []byte
	err = (&cursor{data: record}).object(func(c *cursor, name []byte) error {
		if string(name) != b.Stream.Child.JSON || c.next() != arrayKind {
			return c.skip()
		}
		array, err := c.raw()
		if err != nil {
			return err
		}
		position := int32(-1)
		found, err = nth(&cursor{data: array}, func() bool { position++; return position == e.position })
		return err
	})
	return row, field, string(found), err
}

// entryPath names an entry of a record's array in rejects and in extra fields.
func entryPath(c *catalog.Child, position int) string {
	return c.JSON + "[" + strconv.Itoa(position) + "]"
}

// addEntry notes where the child's row that is added came from.
func (b *Batch) addEntry(position int) {
	b.Parents = append(b.Parents, uuid.UUID{})
	b.entries = append(b.entries, entry{row: int32(b.Len() - 1), position: int32(position)})
}

// truncateEntries drops the children's rows from n on.
func (b *Batch) truncateEntries(n int) {
	b.Children.truncate(n)
	b.Parents, b.entries = b.Parents[:n], b.entries[:n]
}
