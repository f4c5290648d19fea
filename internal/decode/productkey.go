package decode

import (
	"crypto/sha1" //nolint:gosec // UUIDs of version 5 are made with it; it keeps no secret
	"slices"
	"strings"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
)

// keySpace is the namespace of derived keys. It is part of every product_key ever stored, and never changes.
var keySpace = uuid.MustParse("5d0c1f3e-8a44-5f0e-9d1b-6c2a7e94b3d1")

// keyRules are tried in this order; the first whose fields are all present gives the product its key (decode-6). The
// rule's name is hashed too, so that equal texts under two rules are two products. A feed lists the variants of one
// page, such as its sizes and colours, as products of their own, so the url alone does not tell them apart.
var keyRules = []struct {
	name   string
	fields []string // columns
}{
	{"url_gtin", []string{"url", "gtin"}},
	{"url_mpn", []string{"url", "mpn"}},
	{"url_sku", []string{"url", "sku"}},
	{"url_asin", []string{"url", "asin"}},
	{"url", []string{"url"}},
	{"asin", []string{"asin"}},
	{"gtin", []string{"gtin"}},
	{"brand_mpn", []string{"brand_name", "mpn"}},
	{"brand_sku", []string{"brand_name", "sku"}},
}

// keyColumns returns the columns that each rule reads, nil for a stream whose key is not derived.
func keyColumns(s *catalog.Stream) (columns [][]int) {
	for i := 0; s.DerivedKey && i < len(keyRules); i++ {
		of := make([]int, len(keyRules[i].fields))
		for at, name := range keyRules[i].fields {
			of[at] = s.Field(name)
		}
		columns = append(columns, of)
	}
	return columns
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
	for i, rule := range keyRules {
		text := append(append(b.keyText[:0], keySpace[:]...), rule.name...)
		for at, name := range rule.fields {
			before := len(text) + 1
			text = appendKeyPart(append(text, 0), name, b.Columns[b.ofKey[i][at]].Strings[row])
			b.keyText = text
			if len(text) == before {
				continue next
			}
		}
		return version5(text), rule.name
	}
	return uuid.UUID{}, ""
}

// appendKeyPart appends the value of a field in the form in which it is hashed: without what differs although the
// product is the same. It appends nothing if the value names no product.
func appendKeyPart(text []byte, name, value string) []byte {
	value = strings.TrimSpace(value)
	switch {
	case name == "url":
		return appendURL(text, value)
	case name != "brand_name" && isPlaceholder(value):
		return text
	case name == "gtin":
		return appendGTIN(text, value)
	}
	return append(text, value...)
}

// isPlaceholder reports whether a value stands where a feed has none.
func isPlaceholder(value string) bool {
	if strings.Trim(value, "0-_./ ") == "" {
		return true
	}
	return len(value) <= len("unknown") && slices.ContainsFunc([]string{"n/a", "na", "none", "null", "nil", "unknown"},
		func(w string) bool { return strings.EqualFold(w, value) })
}

// appendGTIN appends a number without spaces, hyphens and leading zeros: 8, 12, 13 and 14 digits are forms of one
// number. What is no number is appended as it is.
func appendGTIN(text []byte, value string) []byte {
	before := len(text)
	for _, c := range []byte(value) {
		switch {
		case c == ' ' || c == '-' || c == '0' && len(text) == before:
		case c < '0' || c > '9':
			return append(text[:before], value...)
		default:
			text = append(text, c)
		}
	}
	return text
}

// trackers are parameters of a url that say where a visitor came from. Those that begin with utm_ do too.
var trackers = []string{"gclid", "gclsrc", "dclid", "gbraid", "wbraid", "fbclid", "msclkid", "yclid", "ttclid", "twclid",
	"srsltid", "mc_cid", "mc_eid"}

// appendURL appends a url without its trackers, which change although the page is the same.
func appendURL(text []byte, url string) []byte {
	path, query, asked := strings.Cut(url, "?")
	text = append(text, path...)
	if !asked {
		return text
	}
	query, fragment, cut := strings.Cut(query, "#")
	sep := byte('?')
	for parameter := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(parameter, "=")
		if name == "" || strings.HasPrefix(name, "utm_") || slices.Contains(trackers, name) {
			continue
		}
		text, sep = append(append(text, sep), parameter...), '&'
	}
	if cut {
		text = append(append(text, '#'), fragment...)
	}
	return text
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
