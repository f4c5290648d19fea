package dealapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-faster/jx"
)

// envelope is what the body of a list contains.
type envelope struct {
	data []byte // the array of records, a sub-slice of the body
	next string // "" at the end of the list
	null bool   // data was null, which means an empty array
	aside
}

// shape is what a list's body looks like.
type shape struct {
	nextKey string // of the member with the next token; "" for a bare array
	numbers bool   // the next token may be a JSON number
	records string // aside.records
}

// scan reads a body of this shape to its last byte (dealapi-3). The keys of an envelope may come in any order, and
// among other keys. If a key comes twice, the last one counts, as everywhere in JSON.
func (sh shape) scan(body []byte) (envelope, error) {
	if sh.nextKey == "" {
		if jx.DecodeBytes(body).Next() == jx.Null && json.Valid(body) {
			return envelope{data: []byte("[]"), null: true, aside: aside{total: -1}}, nil
		}
		data, err := scanValue(body, jx.Array, "an array")
		return envelope{data: data, aside: aside{total: -1}}, err
	}
	if err := promised(body, jx.Object, "an object with data"); err != nil {
		return envelope{}, err
	}
	e := envelope{aside: aside{total: -1, records: sh.records}}
	d := jx.DecodeBytes(body)
	err := d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		name := string(key) // the key's buffer does not outlive the reading of its value
		kind := d.Next()
		raw, err := d.Raw()
		if err != nil {
			return err
		}
		switch name {
		case "data":
			e.data, e.null = nil, kind == jx.Null
			switch kind {
			case jx.Array:
				e.data = raw
			case jx.Null:
				e.data = []byte("[]")
			}
		case sh.nextKey:
			e.next, err = sh.token(kind, raw)
		default:
			e.add(name, kind, raw)
		}
		return err
	})
	if err == nil {
		err = ended(d)
	}
	switch {
	case err != nil:
		return envelope{}, fmt.Errorf("the body is not JSON as promised: %w", err)
	case e.data == nil:
		return envelope{}, errors.New("the body is a JSON object without an array named data")
	case e.next == "":
		first(&e.doubt, e.more)
	}
	return e, nil
}

// scanObject makes sure that a body is one JSON object and returns it.
func scanObject(body []byte) ([]byte, error) { return scanValue(body, jx.Object, "an object") }

// scanValue makes sure that a body is one JSON value of that type and returns it without the white space around it.
func scanValue(body []byte, want jx.Type, name string) ([]byte, error) {
	if err := promised(body, want, name); err != nil {
		return nil, err
	}
	d := jx.DecodeBytes(body)
	d.Next() // moves past white space
	raw, err := d.Raw()
	if err == nil {
		err = ended(d)
	}
	if err != nil {
		return nil, fmt.Errorf("the body is not JSON as promised: %w", err)
	}
	return raw, nil
}

// ended makes sure that nothing follows.
func ended(d *jx.Decoder) error {
	switch err := d.Skip(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return fmt.Errorf("more follows after its end: %w", err)
	}
	return errors.New("another value follows after its end")
}

// promised looks at the first byte of a body, and tells one of the wrong shape from one that is not JSON.
func promised(body []byte, want jx.Type, name string) error {
	switch d := jx.DecodeBytes(body); {
	case d.Next() == want:
		return nil
	case len(bytes.TrimLeft(body, " \t\r\n")) == 0:
		return fmt.Errorf("the body is empty where %s was promised", name)
	}
	if err := jx.DecodeBytes(body).Validate(); err != nil {
		return fmt.Errorf("the body is not JSON: %w", err)
	}
	return fmt.Errorf("the body is JSON, but not %s as promised", name)
}

// token reads a cursor or nextPage: a string, null, or a number kept digit by digit.
func (sh shape) token(kind jx.Type, raw []byte) (string, error) {
	switch {
	case kind == jx.String:
		return jx.DecodeBytes(raw).Str()
	case kind == jx.Null:
		return "", nil
	case sh.numbers && kind == jx.Number:
		return string(raw), nil
	}
	return "", fmt.Errorf("%s is neither a string nor null", sh.nextKey)
}

// countElements returns the number of elements of an array that was checked.
func countElements(array []byte) int {
	n := 0
	_ = jx.DecodeBytes(array).Arr(func(d *jx.Decoder) error { // it cannot fail
		n++
		return d.Skip()
	})
	return n
}
