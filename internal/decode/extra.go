package decode

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-faster/jx"
)

// extraField is a member of a record that the catalog does not know.
type extraField struct {
	name    string
	spelled string // the name as JSON, as it was sent, if it is no text
	raw     []byte
}

// unknown keeps a member that the catalog does not know, and counts it as kind. path is where it is in the record:
// empty, or the path of an entry and a dot.
func (d *Decoder) unknown(c *cursor, path string, name []byte, kind string) error {
	f := extraField{name: path + string(name)}
	if !d.isText(c, name) {
		f.spelled = `"` + path + string(c.spelled[1:])
		kind = strings.ToValidUTF8(kind, "\ufffd")
	}
	var err error
	if f.raw, err = c.raw(); err != nil {
		return err
	}
	d.extra = append(d.extra, f)
	d.unknownSeen[kind]++
	return nil
}

// joinExtra returns the unknown members of the current record as one JSON object, ordered by name (decode-4).
func (d *Decoder) joinExtra() string {
	if len(d.extra) == 0 {
		return ""
	}
	slices.SortStableFunc(d.extra, func(a, b extraField) int { return cmp.Compare(a.name, b.name) })
	var w jx.Writer
	w.ObjStart()
	for i, f := range d.extra {
		if i+1 < len(d.extra) && d.extra[i+1].name == f.name {
			continue // the later of two members of one name wins
		}
		if len(w.Buf) > 1 {
			w.Comma()
		}
		if f.spelled == "" {
			w.FieldStart(f.name)
		} else {
			w.RawStr(f.spelled + ":")
		}
		w.Raw(f.raw)
	}
	w.ObjEnd()
	return w.String()
}
