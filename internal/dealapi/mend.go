package dealapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// byteOrderMark may stand before a text in UTF-8, and means nothing.
var byteOrderMark = []byte("\ufeff")

const (
	mendDepth = 10_000  // as deep as jx reads
	mendExtra = 1 << 20 // by how many bytes more than twice its length a body may grow
)

// misplaced says where a body stops being JSON in a way that nobody can read with certainty.
type misplaced struct {
	at, record int // byte, from 0; records that were whole before it
	what       string
}

func (e *misplaced) Error() string {
	return fmt.Sprintf("byte %d, after %d whole records: %s", e.at, e.record, e.what)
}

// parseOrMend parses a body, mended if it is no JSON otherwise, and returns the body that was parsed. If it cannot be
// mended, the error says where it stops being JSON.
func parseOrMend(body []byte, parse func([]byte) error) ([]byte, error) {
	body = bytes.TrimPrefix(body, byteOrderMark)
	err := parse(body)
	if err == nil || json.Valid(body) {
		return body, err
	}
	mended, misplaced := mend(body)
	if misplaced != nil {
		return body, fmt.Errorf("%w (%w)", err, misplaced)
	}
	return mended, parse(mended)
}

// mend rewrites a body whose structure is right, but in which single values are not JSON, so that only these are lost.
// A NaN, say, becomes the object {"": "NaN"}, which no column takes: decode rejects the field with that text. A number
// that is written in another way (.5, +5, 007) becomes a string, and control characters in strings are escaped: both
// have one meaning. It is for bodies that are no JSON otherwise. The error is a *misplaced.
func mend(body []byte) ([]byte, error) {
	m := mender{in: body, out: make([]byte, 0, len(body)+len(body)/8)}
	if c := m.blank(); c != '{' && c != '[' {
		return nil, m.fail("it begins with no { and no [")
	}
	err := m.value(0)
	if m.blank(); err == nil && m.at < len(m.in) {
		err = m.fail("more follows after the end")
	}
	return m.out, err
}

type mender struct {
	in, out []byte
	at      int
	bare    bool // the records are in an array that is in no object
	records int  // read to their end
}

func (m *mender) fail(what string) error {
	return &misplaced{at: m.at, record: m.records, what: what}
}

// blank moves past white space and returns the next byte, 0 at the end.
func (m *mender) blank() byte {
	for ; m.at < len(m.in); m.at++ {
		if c := m.in[m.at]; c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
	}
	return 0
}

// take copies one byte, which must be c.
func (m *mender) take(c byte) bool {
	if m.blank() != c || m.at >= len(m.in) {
		return false
	}
	m.out, m.at = append(m.out, c), m.at+1
	return true
}

func (m *mender) value(depth int) error {
	switch {
	case depth > mendDepth:
		return m.fail("it is nested too deeply")
	case len(m.out) > 2*len(m.in)+mendExtra:
		return m.fail("too many values are no JSON")
	}
	switch m.blank() {
	case '{':
		return m.elements('{', '}', func() error {
			name, err := m.text()
			if err == nil && !json.Valid(name) {
				err = m.fail("the name of a member is no JSON")
			}
			m.out = append(m.out, name...)
			if err == nil && !m.take(':') {
				err = m.fail("a colon is missing")
			}
			if err != nil {
				return err
			}
			return m.value(depth + 1)
		})
	case '[':
		m.bare = m.bare || depth == 0
		return m.elements('[', ']', func() error {
			err := m.value(depth + 1)
			if err == nil && (depth == 1 || depth == 0 && m.bare) {
				m.records++
			}
			return err
		})
	case '"':
		raw, err := m.text()
		m.out = append(m.out, textOrObject(raw)...)
		return err
	}
	return m.word()
}

// elements copies what is between two brackets, separated by commas.
func (m *mender) elements(open, end byte, element func() error) error {
	m.take(open)
	if m.take(end) {
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if m.take(end) {
			return nil
		}
		if !m.take(',') {
			return m.fail("a comma or a closing bracket is missing")
		}
	}
}

// text moves past a string and returns it, quotes included.
func (m *mender) text() ([]byte, error) {
	if m.blank() != '"' {
		return nil, m.fail("a string is missing")
	}
	for i := m.at + 1; i < len(m.in); i++ {
		switch m.in[i] {
		case '\\':
			i++
		case '"':
			raw := m.in[m.at : i+1]
			m.at = i + 1
			return raw, nil
		}
	}
	return nil, m.fail("a string does not end")
}

// word copies a value that has no quotes and no brackets.
func (m *mender) word() error {
	end := bytes.IndexAny(m.in[m.at:], ",:{}[]\" \t\r\n")
	if end < 0 {
		end = len(m.in) - m.at
	}
	if end == 0 {
		return m.fail("a value is missing")
	}
	raw := m.in[m.at : m.at+end]
	m.at += end
	switch {
	case json.Valid(raw):
	case len(bytes.Trim(raw, "+-.0123456789eE")) == 0 && bytes.ContainsAny(raw, "0123456789"):
		raw = slices.Concat([]byte{'"'}, raw, []byte{'"'})
	default:
		raw = unreadable(raw)
	}
	m.out = append(m.out, raw...)
	return nil
}

// textOrObject returns a string as JSON: unchanged, with its control characters escaped, or as unreadable.
func textOrObject(raw []byte) []byte {
	if json.Valid(raw) {
		return raw
	}
	var escaped []byte
	for _, c := range raw {
		if c < ' ' {
			escaped = fmt.Appendf(escaped, `\u%04x`, c)
		} else {
			escaped = append(escaped, c)
		}
	}
	if json.Valid(escaped) {
		return escaped
	}
	return unreadable(raw)
}

// unreadable returns the object that stands for a value which is no JSON.
func unreadable(raw []byte) []byte {
	text, err := json.Marshal(string(raw))
	if err != nil { // a string always has a JSON
		text = []byte(`"?"`)
	}
	return slices.Concat([]byte(`{"":`), text, []byte{'}'})
}
