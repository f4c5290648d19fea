package decode

import (
	"cmp"
	"slices"

	"github.com/go-faster/jx"
)

// extraField is a member of a record that the catalog does not know.
type extraField struct {
	name string
	raw  []byte
}

// unknown keeps a member that the catalog does not know, and counts it under the name of its kind.
func (d *Decoder) unknown(c *cursor, name, kind string) error {
	raw, err := c.raw()
	if err != nil {
		return err
	}
	d.extra = append(d.extra, extraField{name: name, raw: raw})
	d.unknownSeen[kind]++
	return nil
}

// joinExtra writes the unknown members of the current record as one JSON object, by name (decode-4).
func (d *Decoder) joinExtra() string {
	if len(d.extra) == 0 {
		return ""
	}
	slices.SortStableFunc(d.extra, func(a, b extraField) int { return cmp.Compare(a.name, b.name) })
	var e jx.Encoder
	e.ObjStart()
	for i, f := range d.extra {
		if i+1 < len(d.extra) && d.extra[i+1].name == f.name {
			continue // the later of two members of one name wins
		}
		e.FieldStart(f.name)
		e.Raw(f.raw)
	}
	e.ObjEnd()
	return e.String()
}
