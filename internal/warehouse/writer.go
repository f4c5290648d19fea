package warehouse

import (
	"fmt"
	"strings"

	"dealhouse/internal/catalog"
)

// Writer writes for one run: it stages what the run reads, compares it with what is there, publishes the difference,
// and keeps the state of the stream. It is cheap to make.
type Writer struct {
	pool *pool
	Run
	script script
	filled []derived // the derived tables of which Prepare has made a delta
	lacked bool      // one of these deltas was filled by a second insert
}

// Writer writes for a run of a stream whose lease the caller holds.
func (w *Warehouse) Writer(r Run) *Writer { return w.At(r.Account).writer(r) }

func (p *pool) writer(r Run) *Writer { return &Writer{pool: p, Run: r, script: p.dialect.script(r)} }

// storedHash returns the same hash for a row of <stream>_latest or <stream>_versions.
func storedHash(s *catalog.Stream) string {
	var absent []string
	for i, bit := range catalog.NullBits(s.Fields) {
		if bit >= 0 {
			absent = append(absent, fmt.Sprintf("%d * isNull(%s)", uint64(1)<<bit, s.Fields[i].Column))
		}
	}
	values := []string{"toUInt64(" + strings.Join(absent, " + ") + ")", "_extra"}
	for _, f := range s.Fields {
		if !f.Key {
			values = append(values, toWire(f))
		}
	}
	return hashOf(values)
}

// toWire returns the value of a field of a stored row in the form in which its staging table has it. fromWire
// does the reverse.
func toWire(f catalog.Field) string {
	value := f.Column
	switch {
	case f.Type.List():
		value = "arrayStringConcat(arrayMap(x -> concat(x, '\\0'), " + f.Column + "))"
	case f.Type.Wire() != "UUID" && f.Type.Wire() != "String" && f.Type != catalog.Int:
		value = "reinterpret(" + f.Column + ", '" + f.Type.Wire() + "')"
	}
	if !f.Nullable() {
		return value
	}
	none := "0"
	if f.Type.Wire() == "UUID" {
		none = "toUUID('00000000-0000-0000-0000-000000000000')"
	}
	return "ifNull(" + value + ", " + none + ")"
}
