package decode

import (
	"crypto/sha1" //nolint:gosec // UUIDs of version 5 are made with it; it keeps no secret

	"github.com/google/uuid"
)

// keySpace is the namespace of derived keys. It is part of every product_key ever stored, and never changes.
var keySpace = uuid.MustParse("5d0c1f3e-8a44-5f0e-9d1b-6c2a7e94b3d1")

// keyRules are tried in this order; the first whose fields are all present gives the product its key (decode-6). The
// rule's name is hashed too, so that equal texts under two rules are two products.
var keyRules = []struct {
	name   string
	fields []string // JSON names
}{
	{"url", []string{"url"}},
	{"asin", []string{"asin"}},
	{"gtin", []string{"gtin"}},
	{"brand_mpn", []string{"brandName", "mpn"}},
	{"brand_sku", []string{"brandName", "sku"}},
}

// deriveKey appends the key of the last row. If no rule applies, the row has no key.
func (b *Batch) deriveKey() {
	key, rule := b.productKey(b.Len() - 1)
	b.Keys = append(b.Keys, key)
	b.KeyRules = append(b.KeyRules, rule)
	b.keyReason = ""
	if rule == "" {
		b.keyReason = ReasonMissingKey
	}
}

func (b *Batch) productKey(row int) (uuid.UUID, string) {
next:
	for _, rule := range keyRules {
		text := append(append(b.keyText[:0], keySpace[:]...), rule.name...)
		for _, name := range rule.fields {
			part := b.stringOf(name, row)
			if part == "" {
				continue next
			}
			text = append(append(text, 0), part...)
		}
		b.keyText = text
		return version5(text), rule.name
	}
	return uuid.UUID{}, ""
}

// version5 returns the UUID of a name in a name space, given one after the other. It is uuid.NewSHA1
// without its allocations.
func version5(spaceAndName []byte) (id uuid.UUID) {
	sum := sha1.Sum(spaceAndName) //nolint:gosec // see the import
	copy(id[:], sum[:])
	id[6] = id[6]&0x0f | 0x50
	id[8] = id[8]&0x3f | 0x80
	return id
}

func (b *Batch) stringOf(name string, row int) string {
	for i := range b.Fields {
		if b.Fields[i].JSON == name {
			return b.Columns[i].Strings[row]
		}
	}
	return ""
}
