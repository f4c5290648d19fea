package dealapi

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
)

// maxDepth bounds the nesting of a body, as encoding/json and jx do.
const maxDepth = 10000

// scanner validates JSON without building anything. It is here because it is
// about a fifth faster than jx's Skip on records made of short strings (see the
// benchmarks); a fuzz test holds it to encoding/json's verdict.
type scanner struct {
	b     []byte
	i     int
	depth int
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\n', '\t', '\r':
			s.i++
		default:
			return
		}
	}
}

// peek returns the next byte that is not white space, 0 at the end.
func (s *scanner) peek() byte {
	if s.i < len(s.b) && s.b[s.i] > ' ' {
		return s.b[s.i]
	}
	s.space()
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// bad describes the byte that cannot stand where it is.
func (s *scanner) bad() error {
	if s.i >= len(s.b) {
		return fmt.Errorf("it ends after %d bytes, in the middle of a value: %w", len(s.b), io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("unexpected byte %q at offset %d", s.b[s.i], s.i)
}

func (s *scanner) literal(word string) error {
	for j := range len(word) {
		if s.i >= len(s.b) || s.b[s.i] != word[j] {
			return s.bad()
		}
		s.i++
	}
	return nil
}

// end makes sure that nothing follows.
func (s *scanner) end() error {
	if s.space(); s.i != len(s.b) {
		return fmt.Errorf("more follows after its end, at offset %d", s.i)
	}
	return nil
}

// value skips one value of any type.
func (s *scanner) value() error {
	switch c := s.peek(); {
	case c == '"':
		return s.str()
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == '{':
		return s.object(nil)
	case c == '[':
		_, err := s.array()
		return err
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	default:
		return s.bad()
	}
}

// array skips an array and counts its elements.
func (s *scanner) array() (n int, err error) {
	if s.depth++; s.depth > maxDepth {
		return 0, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	s.i++
	if s.peek() == ']' {
		s.i++
		s.depth--
		return 0, nil
	}
	for {
		if err := s.value(); err != nil {
			return 0, err
		}
		n++
		switch s.peek() {
		case ',':
			s.i++
		case ']':
			s.i++
			s.depth--
			return n, nil
		default:
			return 0, s.bad()
		}
	}
}

// object skips an object. With field, each value is left to it; the key is
// passed as it stands in the body, quotes included.
func (s *scanner) object(field func(key []byte) error) error {
	if s.depth++; s.depth > maxDepth {
		return fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	s.i++
	if s.peek() == '}' {
		s.i++
		s.depth--
		return nil
	}
	for {
		if s.peek() != '"' {
			return s.bad()
		}
		start := s.i
		if err := s.str(); err != nil {
			return err
		}
		key := s.b[start:s.i]
		if s.peek() != ':' {
			return s.bad()
		}
		s.i++
		var err error
		if field != nil {
			err = field(key)
		} else {
			err = s.value()
		}
		if err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.i++
		case '}':
			s.i++
			s.depth--
			return nil
		default:
			return s.bad()
		}
	}
}

// str skips a string, eight bytes at a time up to a quote, a backslash or a
// control character.
func (s *scanner) str() error {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	b, i := s.b, s.i+1
	for {
		for i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			quote := x ^ '"'*ones
			slash := x ^ '\\'*ones
			// The lowest marked byte is exact; a borrow can only mark bytes
			// above it wrongly.
			hit := ((quote-ones)&^quote | (slash-ones)&^slash | (x-' '*ones)&^x) & high
			if hit != 0 {
				i += bits.TrailingZeros64(hit) / 8
				break
			}
			i += 8
		}
		for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' {
			i++
		}
		s.i = i
		if i >= len(b) || b[i] < ' ' {
			return s.bad()
		}
		if b[i] == '"' {
			s.i = i + 1
			return nil
		}
		if err := s.escape(); err != nil {
			return err
		}
		i = s.i
	}
}

// escape skips a backslash and what it escapes.
func (s *scanner) escape() error {
	s.i++
	if s.i >= len(s.b) {
		return s.bad()
	}
	switch s.b[s.i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i++
		return nil
	case 'u':
		s.i++
		for range 4 {
			if s.i >= len(s.b) || !isHex(s.b[s.i]) {
				return s.bad()
			}
			s.i++
		}
		return nil
	default:
		return s.bad()
	}
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// number skips a number.
func (s *scanner) number() error {
	if s.b[s.i] == '-' {
		s.i++
	}
	if s.i < len(s.b) && s.b[s.i] == '0' {
		s.i++
	} else if err := s.digits(); err != nil {
		return err
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if err := s.digits(); err != nil {
			return err
		}
	}
	if s.i < len(s.b) && s.b[s.i]|0x20 == 'e' {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		return s.digits()
	}
	return nil
}

// digits skips one digit or more.
func (s *scanner) digits() error {
	start := s.i
	for s.i < len(s.b) && s.b[s.i]-'0' <= 9 {
		s.i++
	}
	if s.i == start {
		return s.bad()
	}
	return nil
}
