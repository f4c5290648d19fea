package decode

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/go-faster/jx"
)

// Private says what becomes of the fields that may name a person (catalog.Field.Private), before anything of a page is
// stored: the columns, what is unknown, and what is rejected (decode-10). nil keeps them as they are.
type Private struct{ key []byte } // without a key, the values are dropped

// DropPrivate drops the values.
func DropPrivate() *Private { return &Private{} }

// HashPrivate replaces each value by "hmac:" and its HMAC-SHA256 in hexadecimal digits. Equal values stay equal, and
// whoever has the key can join them with a table of their own.
func HashPrivate(key []byte) *Private { return &Private{key} }

// hashed begins a value that was replaced before, as in a stored record that is read again.
const hashed = "hmac:"

// Hide has the decoder do what p says, and returns it.
func (d *Decoder) Hide(p *Private) *Decoder {
	names := map[string]bool{}
	for _, f := range d.stream.Fields {
		if f.Private {
			names[looseName(f.JSON)] = true
		}
	}
	if d.private = nil; p != nil && len(names) > 0 {
		d.private = &hiding{Private: p, names: names}
	}
	return d
}

// looseName is a name without its case and its underscores: what is unknown may be spelled in another way.
func looseName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// hiding rewrites a page.
type hiding struct {
	*Private
	names map[string]bool // loose names of the fields
	out   []byte
	from  int // up to which the page is in out
}

// deepest is how deep a record may be nested: as deep as it is read without Private.
const deepest = 10_000

var errTooDeep = errors.New("a record is nested too deeply")

// page returns the page with the values hidden, wherever in a record a field of that name stands.
func (h hiding) page(data []byte) ([]byte, error) {
	h.out = make([]byte, 0, len(data))
	c := &cursor{data: data}
	if err := c.array(func(c *cursor) error { return h.value(c, 0) }); err != nil {
		return nil, err
	}
	return append(h.out, data[h.from:]...), nil
}

func (h *hiding) value(c *cursor, depth int) error {
	if depth > deepest {
		return errTooDeep
	}
	switch c.next() {
	case arrayKind:
		return c.array(func(c *cursor) error { return h.value(c, depth+1) })
	case objectKind:
		return c.object(func(c *cursor, name []byte) error {
			if !h.names[looseName(string(name))] {
				return h.value(c, depth+1)
			}
			return h.replace(c)
		})
	}
	return c.skip()
}

// replace moves past a value and writes what takes its place.
func (h *hiding) replace(c *cursor) error {
	what := c.next()
	begin := c.at
	raw, err := c.raw()
	if err != nil {
		return err
	}
	if what == nullKind {
		return nil
	}
	h.out = append(append(h.out, c.data[h.from:begin]...), h.instead(raw, what)...)
	h.from = c.at
	return nil
}

func (p *Private) instead(raw []byte, what kind) []byte {
	if p.key == nil {
		return []byte("null")
	}
	value := raw
	if what == stringKind {
		if text, err := jx.DecodeBytes(raw).StrBytes(); err == nil { // else it is hashed as it was sent
			value = text
		}
		if len(value) == 0 || isHashed(value) {
			return raw
		}
	}
	sum := hmac.New(sha256.New, p.key)
	sum.Write(value)
	return []byte(`"` + hashed + hex.EncodeToString(sum.Sum(nil)) + `"`)
}

func isHashed(value []byte) bool {
	digits, found := bytes.CutPrefix(value, []byte(hashed))
	_, err := hex.DecodeString(string(digits))
	return found && err == nil && len(digits) == hex.EncodedLen(sha256.Size)
}
