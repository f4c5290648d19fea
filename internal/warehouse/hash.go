package warehouse

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"dealhouse/internal/catalog"
)

// The content of a row has a hash. A run that reads a row compares its hash with the stored one, and writes the row
// only if they differ (warehouse-21).

// hashOf returns the hash of some values: 16 bytes, from two functions that have nothing in common. sipHash128 of the
// same values takes eight times as long, which was a tenth of a load.
func hashOf(values []string) string {
	list := strings.Join(values, ", ")
	return "reinterpret(bitOr(bitShiftLeft(toUInt128(cityHash64(" + list + ")), 64), toUInt128(xxHash64(" + list +
		"))), 'FixedString(16)')"
}

// stagedHash returns the hash of the content of a staged row: of its values except the key, and of which are missing.
func stagedHash(s *catalog.Stream) string {
	values := []string{"_nulls", "_extra"}
	for _, f := range s.Fields {
		if !f.Key {
			values = append(values, f.Column)
		}
	}
	return hashOf(values)
}

// ContentName names the columns that the hash of a row is made of.
func ContentName(s *catalog.Stream) string {
	sum := sha256.Sum256([]byte(stagedHash(s)))
	return hex.EncodeToString(sum[:4])
}

// hashComment is the comment of the column _hash. It names what the hash is made of, so that a table says by which hash
// its rows are stored.
func hashComment(s *catalog.Stream) string {
	return "Hash of the content: equal hashes are equal rows (" + ContentName(s) + ")"
}

// storedHash returns the same hash for a row of <stream>_latest or <stream>_versions.
func storedHash(s *catalog.Stream) string { return hashOf(storedValues(s, extraColumn.name)) }

// storedContentSum is contentSum of the hash, computed from the columns of a stored row.
func storedContentSum(s *catalog.Stream) string {
	return "cityHash64(" + strings.Join(storedValues(s, extraColumn.name), ", ") + ")"
}

// storedValues returns the values of a stored row that its hash is made of. extra is the expression of its unknown
// fields.
func storedValues(s *catalog.Stream, extra string) []string {
	var absent []string
	for i, bit := range catalog.NullBits(s.Fields) {
		if bit >= 0 {
			absent = append(absent, fmt.Sprintf("%d * isNull(%s)", uint64(1)<<bit, s.Fields[i].Column))
		}
	}
	values := []string{"toUInt64(" + strings.Join(absent, " + ") + ")", extra}
	for _, f := range s.Fields {
		if !f.Key {
			values = append(values, toWire(f))
		}
	}
	return values
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
