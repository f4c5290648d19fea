package decode

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-faster/jx"
)

// cursor reads JSON that the client has already checked, so it looks only at what it needs: it searches strings for
// their end instead of reading them byte by byte. That takes half the time of a reader that trusts nothing. Rare cases
// are left to jx: strings with escapes, and nested values that are only copied.
type cursor struct {
	data []byte
	at   int
	// names are the members that will probably come, in this order, each as `"name":`. Records of one page look alike,
	// and comparing a name is faster than searching for its end.
	names      [][]byte
	turn       int    // which of names will probably come next
	asExpected bool   // the last name was names[turn]
	plain      bool   // all is UTF-8 without a backslash: each string can be used as it is
	spelled    []byte // the last name that is not from names, as it was sent, quotes included
	halves     bool   // half of a surrogate pair was read
}

// kind is the type of a JSON value. Its first byte shows it.
type kind uint8

const (
	invalidKind kind = iota
	nullKind
	boolKind
	numberKind
	stringKind
	arrayKind
	objectKind
)

var errNotJSON = errors.New("this is not JSON")

// peek skips white space and returns the next byte, 0 at the end.
func (c *cursor) peek() byte {
	for c.at < len(c.data) {
		switch b := c.data[c.at]; b {
		case ' ', '\n', '\t', '\r':
			c.at++
		default:
			return b
		}
	}
	return 0
}

// next returns the type of the value that follows.
func (c *cursor) next() kind {
	switch b := c.peek(); b {
	case '"':
		return stringKind
	case '{':
		return objectKind
	case '[':
		return arrayKind
	case 't', 'f':
		return boolKind
	case 'n':
		return nullKind
	default:
		if b == '-' || b >= '0' && b <= '9' {
			return numberKind
		}
	}
	return invalidKind
}

// expect moves past one byte, which must be b.
func (c *cursor) expect(b byte) error {
	if c.peek() != b {
		return c.fail()
	}
	c.at++
	return nil
}

func (c *cursor) fail() error {
	if c.at >= len(c.data) {
		return io.ErrUnexpectedEOF
	}
	return errNotJSON
}

// str reads a string. The bytes are a part of the page, or a buffer of their own when they had escapes. Half of a
// surrogate pair is no character and has no UTF-8. It is returned as the three bytes that it would have, so that isText
// notices it, and different strings stay different.
func (c *cursor) str() ([]byte, error) {
	if c.peek() != '"' {
		return nil, c.fail()
	}
	rest := c.data[c.at+1:]
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		return nil, io.ErrUnexpectedEOF
	}
	if c.plain || bytes.IndexByte(rest[:end], '\\') < 0 {
		c.at += end + 2
		return rest[:end], nil
	}
	raw, err := c.rawString()
	if err != nil {
		return nil, err
	}
	whole := withHalves(raw)
	c.halves = c.halves || len(whole) != len(raw)
	return jx.DecodeBytes(whole).StrBytes()
}

// rawString moves past a string, and returns it as it was sent, quotes included.
func (c *cursor) rawString() ([]byte, error) {
	for i := c.at + 1; i < len(c.data); i++ {
		switch c.data[i] {
		case '\\':
			i++
		case '"':
			raw := c.data[c.at : i+1]
			c.at = i + 1
			return raw, nil
		}
	}
	return nil, io.ErrUnexpectedEOF
}

// raw moves past a value and returns its bytes as they were sent.
func (c *cursor) raw() ([]byte, error) {
	switch c.next() {
	case stringKind:
		return c.rawString()
	case numberKind:
		return c.number()
	case boolKind, nullKind:
		for _, word := range [...]string{"true", "false", "null"} {
			if bytes.HasPrefix(c.data[c.at:], []byte(word)) {
				c.at += len(word)
				return c.data[c.at-len(word) : c.at], nil
			}
		}
	case arrayKind, objectKind:
		raw, err := jx.DecodeBytes(c.data[c.at:]).Raw()
		if err != nil {
			return nil, err
		}
		c.at += len(raw)
		return raw, nil
	}
	return nil, c.fail()
}

// number moves past a number and returns its digits.
func (c *cursor) number() ([]byte, error) {
	start := c.at
	for c.at < len(c.data) {
		switch b := c.data[c.at]; {
		case b >= '0' && b <= '9', b == '.', b == '-', b == '+', b == 'e', b == 'E':
			c.at++
			continue
		}
		break
	}
	if _, ok := splitNumber(c.data[start:c.at]); !ok {
		return nil, errNotJSON
	}
	return c.data[start:c.at], nil
}

// skip moves past a value.
func (c *cursor) skip() error {
	_, err := c.raw()
	return err
}

// array calls f for each element of an array; f must move past the element.
func (c *cursor) array(f func(*cursor) error) error {
	if err := c.expect('['); err != nil {
		return err
	}
	if c.peek() == ']' {
		c.at++
		return nil
	}
	for {
		if c.next() == invalidKind {
			return c.fail()
		}
		if err := f(c); err != nil {
			return err
		}
		switch c.peek() {
		case ',':
			c.at++
		case ']':
			c.at++
			return nil
		default:
			return c.fail()
		}
	}
}

// object calls f for each member of an object; f must move past its value.
func (c *cursor) object(f func(*cursor, []byte) error) error {
	if err := c.expect('{'); err != nil {
		return err
	}
	if c.peek() == '}' {
		c.at++
		return nil
	}
	for {
		name, err := c.name()
		if err != nil {
			return err
		}
		if err := f(c, name); err != nil {
			return err
		}
		switch c.peek() {
		case ',':
			c.at++
		case '}':
			c.at++
			return nil
		default:
			return c.fail()
		}
	}
}

// name reads the name of a member and the colon after it.
func (c *cursor) name() ([]byte, error) {
	c.peek()
	c.asExpected = c.turn < len(c.names) && bytes.HasPrefix(c.data[c.at:], c.names[c.turn])
	if c.asExpected {
		e := c.names[c.turn]
		c.at += len(e)
		return e[1 : len(e)-2], nil
	}
	start := c.at
	name, err := c.str()
	if err != nil {
		return nil, err
	}
	c.spelled = c.data[start:c.at]
	return name, c.expect(':')
}
