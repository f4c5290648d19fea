package decode

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/go-faster/jx"
)

// Private says what becomes of the fields that may name a person (catalog.Field.Private), before anything of a page is
// stored: the columns, what is unknown, and what is rejected (decode-10). nil keeps them as they are.
type Private struct {
	keep      bool
	key       []byte          // without a key, the values are dropped
	forgotten map[string]bool // hashes of values that are dropped in any case (PersonHash)
}

// DropPrivate drops the values.
func DropPrivate() *Private { return &Private{} }

// HashPrivate replaces each value by "hmac:" and its HMAC-SHA256 in hexadecimal digits. Equal values stay equal, and
// whoever has the key can join them with a table of their own.
func HashPrivate(key []byte) *Private { return &Private{key: key} }

// Without does what p does, and drops the values that have one of the hashes. Where such a value is the one by which
// records are looked up, its record keeps no private and no unknown field at all.
func (p *Private) Without(hashes []string) *Private {
	if len(hashes) == 0 {
		return p
	}
	without := Private{keep: true}
	if p != nil {
		without = *p
	}
	without.forgotten = map[string]bool{}
	for _, hash := range hashes {
		without.forgotten[hash] = true
	}
	return &without
}

// PersonHash is by what a value that must not be stored is known: half of its SHA-256, in hexadecimal digits.
func PersonHash(value string) string {
	sum := sha256.Sum256([]byte("dealhouse forget " + value))
	return hex.EncodeToString(sum[:16])
}

// hashed begins a value that was replaced before, as in a stored record that is read again.
const hashed = "hmac:"

// Hide has the decoder do what p says, and returns it.
func (d *Decoder) Hide(p *Private) *Decoder {
	h := &hiding{Private: p, names: map[string]bool{}, known: map[string]bool{}}
	for _, f := range d.stream.Fields {
		h.known[looseName(f.JSON)] = true
		if f.Private {
			h.names[looseName(f.JSON)] = slices.Contains(d.stream.LookedUpBy, f.Column)
		}
	}
	if d.private = nil; p != nil && len(h.names) > 0 {
		d.private = h
	}
	return d
}

// looseName is a name without its case and its underscores: what is unknown may be spelled in another way.
func looseName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// hiding rewrites a page.
type hiding struct {
	*Private
	names map[string]bool // loose names of the private fields, and whether records are looked up by them
	known map[string]bool // loose names of all fields
	gone  bool            // the record at hand is of somebody who is forgotten
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
	if err := c.array(h.record); err != nil {
		return nil, err
	}
	return append(h.out, data[h.from:]...), nil
}

func (h *hiding) record(c *cursor) error {
	h.gone = false
	if len(h.forgotten) > 0 {
		ahead := *c
		if err := h.value(&ahead, 0, h.look); err != nil {
			return err
		}
	}
	return h.value(c, 0, h.replace)
}

// value calls do for each private field, and for the unknown ones of somebody who is forgotten.
func (h *hiding) value(c *cursor, depth int, do func(c *cursor, name string) error) error {
	if depth > deepest {
		return errTooDeep
	}
	switch c.next() {
	case arrayKind:
		return c.array(func(c *cursor) error { return h.value(c, depth+1, do) })
	case objectKind:
		return c.object(func(c *cursor, field []byte) error {
			name := looseName(string(field))
			if _, private := h.names[name]; private || h.gone && depth == 0 && !h.known[name] {
				return do(c, name)
			}
			return h.value(c, depth+1, do)
		})
	}
	return c.skip()
}

// look finds out whether the record is of somebody who is forgotten.
func (h *hiding) look(c *cursor, name string) error {
	what := c.next()
	raw, err := c.raw()
	h.gone = h.gone || err == nil && h.names[name] && h.isForgotten(raw, what)
	return err
}

func (p *Private) isForgotten(raw []byte, what kind) bool {
	return len(p.forgotten) > 0 && p.forgotten[PersonHash(string(textOf(raw, what)))]
}

// textOf is the text of a value; of what is no text, its JSON.
func textOf(raw []byte, what kind) []byte {
	if what == stringKind {
		if text, err := jx.DecodeBytes(raw).StrBytes(); err == nil { // else it is taken as it was sent
			return text
		}
	}
	return raw
}

// replace moves past a value and writes what takes its place.
func (h *hiding) replace(c *cursor, _ string) error {
	what := c.next()
	begin := c.at
	raw, err := c.raw()
	if err != nil {
		return err
	}
	instead := []byte("null")
	if !h.gone && !h.isForgotten(raw, what) {
		instead = h.instead(raw, what)
	}
	if what == nullKind {
		return nil
	}
	h.out = append(append(h.out, c.data[h.from:begin]...), instead...)
	h.from = c.at
	return nil
}

func (p *Private) instead(raw []byte, what kind) []byte {
	switch {
	case p.keep:
		return raw
	case p.key == nil:
		return []byte("null")
	}
	value := textOf(raw, what)
	if what == stringKind && (len(value) == 0 || isHashed(value)) {
		return raw
	}
	return []byte(`"` + PrivateHash(p.key, string(value)) + `"`)
}

// PrivateHash is what HashPrivate stores instead of a value.
func PrivateHash(key []byte, value string) string {
	sum := hmac.New(sha256.New, key)
	sum.Write([]byte(value))
	return hashed + hex.EncodeToString(sum.Sum(nil))
}

func isHashed(value []byte) bool {
	digits, found := bytes.CutPrefix(value, []byte(hashed))
	_, err := hex.DecodeString(string(digits))
	return found && err == nil && len(digits) == hex.EncodedLen(sha256.Size)
}
