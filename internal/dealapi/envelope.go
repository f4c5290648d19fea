package dealapi

import (
	"bytes"
	"fmt"

	"github.com/go-faster/jx"
)

// envelope is what a list's body was found to hold.
type envelope struct {
	data    []byte // the array of records, a sub-slice of the body
	records int
	next    string // "" at the end of the list
}

// shape names the envelopes of the interface document.
type shape struct {
	nextKey string // "" for a bare array
	numbers bool   // the next token may be a JSON number
}

// scan reads a body of this shape to its last byte (invariant 3). The keys of
// an envelope may come in any order and among others; of a key that comes
// twice the last counts, as everywhere in JSON.
func (sh shape) scan(body []byte) (envelope, error) {
	s := scanner{b: body}
	if sh.nextKey == "" {
		return s.bareArray()
	}
	if c := s.peek(); c != '{' {
		return envelope{}, s.mismatch("an object with data")
	}
	var e envelope
	err := s.object(func(rawKey []byte) error {
		key, err := unquote(rawKey)
		if err != nil {
			return err
		}
		switch key {
		case "data":
			e.data, e.records = nil, 0
			start := s.skipSpace()
			if s.peek() != '[' {
				return s.value()
			}
			e.records, err = s.array()
			e.data = s.b[start:s.i]
			return err
		case sh.nextKey:
			e.next, err = s.token(sh)
			return err
		default:
			return s.value()
		}
	})
	if err == nil {
		err = s.end()
	}
	switch {
	case err != nil:
		return envelope{}, fmt.Errorf("the body is not JSON as promised: %w", err)
	case e.data == nil:
		return envelope{}, fmt.Errorf("the body is a JSON object without an array named data")
	}
	return e, nil
}

func (s *scanner) bareArray() (envelope, error) {
	start := s.skipSpace()
	if s.peek() != '[' {
		return envelope{}, s.mismatch("an array")
	}
	n, err := s.array()
	stop := s.i
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return envelope{}, fmt.Errorf("the body is not JSON as promised: %w", err)
	}
	return envelope{data: s.b[start:stop], records: n}, nil
}

// scanObject makes sure that a body is one JSON object and returns it.
func scanObject(body []byte) ([]byte, error) {
	s := scanner{b: body}
	start := s.skipSpace()
	if s.peek() != '{' {
		return nil, s.mismatch("an object")
	}
	err := s.object(nil)
	stop := s.i
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, fmt.Errorf("the body is not JSON as promised: %w", err)
	}
	return body[start:stop], nil
}

func (s *scanner) skipSpace() int {
	s.space()
	return s.i
}

// mismatch tells a body of the wrong shape from one that is not JSON.
func (s *scanner) mismatch(want string) error {
	if s.i >= len(s.b) {
		return fmt.Errorf("the body is empty where %s was promised", want)
	}
	err := s.value()
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return fmt.Errorf("the body is not JSON: %w", err)
	}
	return fmt.Errorf("the body is JSON, but not %s as promised", want)
}

// token reads a cursor or nextPage: a string, null, or a number kept digit by
// digit.
func (s *scanner) token(sh shape) (string, error) {
	start := s.skipSpace()
	first := s.peek()
	if err := s.value(); err != nil {
		return "", err
	}
	raw := s.b[start:s.i]
	switch {
	case first == '"':
		return unquote(raw)
	case first == 'n':
		return "", nil
	case sh.numbers && (first == '-' || first >= '0' && first <= '9'):
		return string(raw), nil
	default:
		return "", fmt.Errorf("%s is neither a string nor null", sh.nextKey)
	}
}

// unquote decodes a JSON string that the scanner has found to be valid.
func unquote(raw []byte) (string, error) {
	if !bytes.ContainsRune(raw, '\\') {
		return string(raw[1 : len(raw)-1]), nil
	}
	return jx.DecodeBytes(raw).Str()
}
