package apisim

// An identity turns the code of a record (48 bits: a generation and an item number) into a UUID and back. Nothing is
// stored: the first 48 bits of the UUID are a keyed permutation of the code, the rest is a hash of them. So the order
// of the UUIDs is the order of the permuted codes.
type identity struct {
	salt uint64
	keys [4]uint64
}

const (
	half     = 24
	halfMask = 1<<half - 1
	itemBits = 26
	itemMask = 1<<itemBits - 1
)

func newIdentity(salt uint64) identity {
	id := identity{salt: salt}
	for i := range id.keys {
		id.keys[i] = at(salt, uint64(i)+101)
	}
	return id
}

// permute returns a permutation of the code: a Feistel network of four rounds over 48 bits.
func (d *identity) permute(code uint64) uint64 {
	l, r := code>>half&halfMask, code&halfMask
	for _, k := range d.keys {
		l, r = r, l^(round(r, k)&halfMask)
	}
	return l<<half | r
}

func (d *identity) invert(p uint64) uint64 {
	l, r := p>>half&halfMask, p&halfMask
	for i := len(d.keys) - 1; i >= 0; i-- {
		l, r = r^(round(l, d.keys[i])&halfMask), l
	}
	return l<<half | r
}

func round(r, k uint64) uint64 {
	x := (r ^ k) * 0xbf58476d1ce4e5b9
	return (x ^ x>>32) * golden >> 32
}

const hexDigits = "0123456789abcdef"

// appendUUID appends the 36 characters of the UUID of a code.
func (d *identity) appendUUID(dst []byte, code uint64) []byte {
	p := d.permute(code)
	h := mix(p ^ d.salt)
	n := len(dst)
	dst = append(dst, "00000000-0000-4000-8000-000000000000"...)
	b := dst[n : n+36 : n+36]
	putHex(b[0:8], p>>16)
	putHex(b[9:13], p)
	putHex(b[15:18], h)
	b[19] = "89ab"[h>>12&3]
	putHex(b[20:23], h>>14)
	putHex(b[24:36], mix(h))
	return dst
}

// parse returns the code of a UUID that appendUUID has made.
func (d *identity) parse(id string) (uint64, bool) {
	if len(id) != 36 {
		return 0, false
	}
	var p uint64
	for i := range 13 {
		if i == 8 {
			continue
		}
		v, ok := unhex(id[i])
		if !ok {
			return 0, false
		}
		p = p<<4 | v
	}
	code := d.invert(p)
	var buf [36]byte
	return code, string(d.appendUUID(buf[:0], code)) == id
}

// putHex writes the low bits of v, as many digits as b holds.
func putHex(b []byte, v uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = hexDigits[v&15]
		v >>= 4
	}
}

func unhex(c byte) (uint64, bool) {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0'), true
	case c >= 'a' && c <= 'f':
		return uint64(c-'a') + 10, true
	}
	return 0, false
}

// isUUID tells whether the text has the form of a UUID.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if _, ok := unhex(c | 0x20); !ok {
				return false
			}
		}
	}
	return true
}
