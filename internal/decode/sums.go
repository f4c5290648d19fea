package decode

import (
	"encoding/binary"
	"unsafe"

	"github.com/go-faster/city"
	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// Batch.Sums is what each row is proved by: a hash of its key, of its content, and of its entries. The warehouse
// computes the same hash of the row that it has (cityHash64 of ClickHouse, over the columns of the staging table), so a
// row that was lost or altered on the way there shows. The hash of the content is the first half of the warehouse's
// _hash. TestSums holds this against the engine.

// sum appends the sums of the rows from the given one on. It goes through the rows column by column, because a column
// has one type and is in one piece of memory.
func (b *Batch) sum(from int) {
	begin := len(b.Sums)
	for _, nulls := range b.Nulls[from:] {
		b.Sums = append(b.Sums, hashInt(nulls))
	}
	sums := b.Sums[begin:]
	addTexts(sums, b.Extra[from:])
	for i, f := range b.Fields {
		if !f.Key {
			b.Columns[i].addTo(sums, f.Type, from)
		}
	}
	keys := b.keySums(from)
	for i, content := range sums {
		sums[i] = combine(keys(i), hashInt(content))
	}
	if b.Stream.Child != nil {
		addTexts(sums, b.Entries[from:])
	}
}

// keySums returns the hash of the key of each row from the given one on.
func (b *Batch) keySums(from int) func(row int) uint64 {
	if b.Stream.DerivedKey {
		return func(row int) uint64 { return hashUUID(b.Keys[from+row]) }
	}
	if column := &b.Columns[b.key]; b.Fields[b.key].Type == catalog.UUID {
		return func(row int) uint64 { return hashUUID(column.UUIDs[from+row]) }
	}
	return func(row int) uint64 { return hashInt(uint64(b.Columns[b.key].Ints[from+row])) }
}

// addTo combines the hashes of rows with those of the column's values.
func (c *Column) addTo(sums []uint64, t catalog.Type, from int) {
	switch t.Wire() {
	case "UUID":
		for i, v := range c.UUIDs[from:] {
			sums[i] = combine(sums[i], hashUUID(v))
		}
	case "String":
		addTexts(sums, c.Strings[from:])
	case "UInt8":
		for i, v := range c.Bytes[from:] {
			sums[i] = combine(sums[i], hashInt(uint64(v)))
		}
	case "UInt16":
		for i, v := range c.Days[from:] {
			sums[i] = combine(sums[i], hashInt(uint64(v)))
		}
	default:
		for i, v := range c.Ints[from:] {
			sums[i] = combine(sums[i], hashInt(uint64(v)))
		}
	}
}

func addTexts(sums []uint64, texts []string) {
	for i, text := range texts {
		sums[i] = combine(sums[i], city.CH64(unsafe.Slice(unsafe.StringData(text), len(text)))) //nolint:gosec // only read
	}
}

// hashUUID is the hash of a UUID as ClickHouse has it in memory: two numbers, the first half of the digits first.
func hashUUID(id uuid.UUID) uint64 {
	var memory [16]byte
	binary.LittleEndian.PutUint64(memory[:8], binary.BigEndian.Uint64(id[:8]))
	binary.LittleEndian.PutUint64(memory[8:], binary.BigEndian.Uint64(id[8:]))
	return city.CH64(memory[:])
}

// hashInt is ClickHouse's intHash64, by which cityHash64 hashes numbers.
func hashInt(x uint64) uint64 {
	x ^= 0x4cf2d2baae6da887
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// combine is how cityHash64 goes on from one value to the next: Hash128to64 of CityHash 1.0.2.
func combine(low, high uint64) uint64 {
	const multiplier = 0x9ddfea08eb382d69
	a := (low ^ high) * multiplier
	a ^= a >> 47
	b := (high ^ a) * multiplier
	b ^= b >> 47
	return b * multiplier
}
