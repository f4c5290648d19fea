package decode

import (
	"errors"

	"dealhouse/internal/catalog"
)

// errStopReading ends the reading of an array.
var errStopReading = errors.New("no more is needed")

// FirstKey returns the key of the first record of a page as text, whether the record can be loaded or not. It
// returns "" if the page is empty, if its first record has no key, or if the stream's key is derived. data is a
// JSON array that was checked.
func FirstKey(s *catalog.Stream, data []byte) string {
	i := s.KeyField()
	if i < 0 {
		return ""
	}
	var key []byte
	_ = (&cursor{data: data}).array(func(c *cursor) error { // only to stop early
		if c.next() != objectKind {
			return errStopReading
		}
		if err := c.object(func(c *cursor, name []byte) (err error) {
			if string(name) != s.Fields[i].JSON {
				return c.skip()
			}
			if c.next() == stringKind {
				key, err = c.str()
			} else {
				key, err = c.raw()
			}
			return err // if a member comes twice, the last one counts
		}); err != nil {
			return err
		}
		return errStopReading
	})
	return string(key)
}
