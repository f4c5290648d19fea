package decode

import (
	"encoding/binary"
	"unsafe"

	"github.com/cespare/xxhash/v2"
	"github.com/go-faster/city"
	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// Hash is the hash of the content of a row, all but its key: cityHash64 and xxHash64 of ClickHouse over the columns of
// the staging table. The warehouse tells by it whether a row has changed, so it must be the one that the warehouse
// would make of the same columns: TestSums holds them against each other.
type Hash struct{ City, XX uint64 }

// AppendTo appends the 16 bytes of the column _hash.
func (h Hash) AppendTo(b []byte) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, h.XX), h.City)
}

// sum appends the hashes and the sums of the rows from the given one on. It goes through the rows column by column,
// because a column has one type and is in one piece of memory.
func (b *Batch) sum(from int) {
	begin := len(b.Hashes)
	for _, nulls := range b.Nulls[from:] {
		b.Hashes = append(b.Hashes, hashInt(nulls))
	}
	hashes := b.Hashes[begin:]
	addTexts(hashes, b.Extra[from:])
	for i, f := range b.Fields {
		if !f.Key {
			b.Columns[i].addTo(hashes, f.Type, from)
		}
	}
	for i, h := range hashes {
		b.Sums = append(b.Sums, combine(b.keySum(from+i), cityInt(h.City)))
	}
	if b.Stream.Child != nil {
		for i, entries := range b.Entries[from:] {
			b.Sums[from+i] = combine(b.Sums[from+i], city.CH64(bytesOf(entries)))
		}
	}
}

// keySum returns the hash of the key of a row.
func (b *Batch) keySum(row int) uint64 {
	if b.Stream.DerivedKey {
		return city.CH64(inMemory(b.Keys[row]))
	}
	if column := &b.Columns[b.key]; b.Fields[b.key].Type == catalog.UUID {
		return city.CH64(inMemory(column.UUIDs[row]))
	}
	return cityInt(uint64(b.Columns[b.key].Ints[row]))
}

// addTo combines the hashes of rows with those of the column's values.
func (c *Column) addTo(hashes []Hash, t catalog.Type, from int) {
	switch t.Wire() {
	case "UUID":
		for i, v := range c.UUIDs[from:] {
			hashes[i].add(hashBytes(inMemory(v)))
		}
	case "String":
		addTexts(hashes, c.Strings[from:])
	case "UInt8":
		for i, v := range c.Bytes[from:] {
			hashes[i].add(Hash{cityInt(uint64(v)), xxhash.Sum64([]byte{v})})
		}
	case "UInt16":
		for i, v := range c.Days[from:] {
			hashes[i].add(Hash{cityInt(uint64(v)), xxhash.Sum64([]byte{byte(v), byte(v >> 8)})})
		}
	default:
		for i, v := range c.Ints[from:] {
			hashes[i].add(hashInt(uint64(v)))
		}
	}
}

func addTexts(hashes []Hash, texts []string) {
	for i, text := range texts {
		hashes[i].add(hashBytes(bytesOf(text)))
	}
}

// bytesOf returns the bytes of a text, which are only read.
func bytesOf(text string) []byte {
	return unsafe.Slice(unsafe.StringData(text), len(text)) //nolint:gosec // as above
}

func (h *Hash) add(next Hash) { h.City, h.XX = combine(h.City, next.City), combine(h.XX, next.XX) }

func hashBytes(b []byte) Hash { return Hash{city.CH64(b), xxhash.Sum64(b)} }

func hashInt(x uint64) Hash {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], x)
	return Hash{cityInt(x), xxhash.Sum64(b[:])}
}

// inMemory returns the bytes of a UUID as ClickHouse has it in memory: two numbers, the first half of the digits first.
func inMemory(id uuid.UUID) []byte {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], binary.BigEndian.Uint64(id[:8]))
	binary.LittleEndian.PutUint64(b[8:], binary.BigEndian.Uint64(id[8:]))
	return b[:]
}

// cityInt is ClickHouse's intHash64, by which cityHash64 hashes numbers.
func cityInt(x uint64) uint64 {
	x ^= 0x4cf2d2baae6da887
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// combine is how both go on from one value to the next: Hash128to64 of CityHash 1.0.2.
func combine(low, high uint64) uint64 {
	const multiplier = 0x9ddfea08eb382d69
	a := (low ^ high) * multiplier
	a ^= a >> 47
	b := (high ^ a) * multiplier
	b ^= b >> 47
	return b * multiplier
}
