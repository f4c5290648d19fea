package decode

import (
	"errors"
	"slices"
	"strconv"

	"dealhouse/internal/catalog"
)

// source is a page that rows of a batch came from.
type source struct {
	data    []byte
	row     int   // row of its first record that has one
	leftOut []int // positions in the page, from 0, of the records without a row
}

// Key returns the key of a row as text.
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

// Record returns the JSON of the record that a row came from, verbatim. It scans the page again, since it is only for
// the rare row that the warehouse refuses.
func (b *Batch) Record(row int) (string, error) {
	raw, err := b.record(row)
	return string(raw), err
}

func (b *Batch) record(row int) ([]byte, error) {
	at, found := slices.BinarySearchFunc(b.sources, row, func(s source, row int) int { return s.row - row })
	// A page without rows has the same first row as the next page. The last page with that first row has the record.
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

// nth returns the JSON of the first element of an array for which isIt returns true.
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

// entryPath names an entry of a record's array in rejects and in extra fields.
func entryPath(c *catalog.Child, position int) string {
	return c.JSON + "[" + strconv.Itoa(position) + "]"
}
