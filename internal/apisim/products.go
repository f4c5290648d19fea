package apisim

import (
	"strconv"
	"strings"
)

// products has everything about the product feed that never changes. A product is a function of the seed, its slot and
// the time; nothing is stored, however many products there are.
type products struct {
	n         int
	days      int // of history
	ids       identity
	line      timeline // its edits are changes of price
	retailers []retailer
	words     *lexicon
	cal       *calendar
	slugs     []string // of the brands, as in URLs
}

// productSource is the product feed at a moment.
type productSource struct {
	*products
	now int64
}

func (p productSource) code(i uint32) (uint64, bool) {
	s, listed := p.line.at(i, p.now)
	return s.code, listed
}

// appendURL appends the url of a product, without quotes. It ends with the product's permuted code, so that the product
// can be found by it.
func (p *products) appendURL(dst []byte, i uint32, s *span) []byte {
	r := &p.retailers[int(i)%len(p.retailers)]
	dst = append(dst, "https://"...)
	dst = append(dst, r.hostname...)
	dst = append(dst, "/p/"...)
	dst = append(dst, p.slugs[int(s.hash>>8&0xff)%len(p.slugs)]...)
	dst = append(dst, '-')
	n := len(dst)
	dst = append(dst, "000000000000"...)
	putHex(dst[n:], p.ids.permute(s.code))
	return dst
}

// hasURL tells whether a product has a url. A few have none, but they have an asin.
func hasURL(s *span) bool { return s.hash>>16&127 != 0 }

// find returns the slot of a listed product by its url.
func (p productSource) find(url string) (uint32, bool) {
	if len(url) < 12 {
		return 0, false
	}
	var v uint64
	for _, c := range []byte(url[len(url)-12:]) {
		d, ok := unhex(c)
		if !ok {
			return 0, false
		}
		v = v<<4 | d
	}
	code := p.ids.invert(v)
	i := uint32(code & itemMask)
	if int(i) >= p.n {
		return 0, false
	}
	s, listed := p.line.at(i, p.now)
	if !listed || s.code != code || !hasURL(&s) || string(p.appendURL(nil, i, &s)) != url {
		return 0, false
	}
	return i, true
}

// priceAt returns the price of a revision, in ten-thousandths.
func priceAt(base int64, hash, rev uint64) int64 {
	h := at(hash, 70+rev)
	cents := base * (850 + below(h, 300)) / 1000
	switch h & 31 {
	case 0:
		cents = (cents/100 + 1) * 100
	case 1:
		return cents*100 + int64(h>>8&63) // four decimals
	}
	return cents * 100
}

func (p productSource) record(dst []byte, i uint32, st *style) []byte {
	s, _ := p.line.at(i, p.now)
	a, b := at(s.hash, 10), at(s.hash, 11)
	r := &p.retailers[int(i)%len(p.retailers)]
	c := &p.words.categories[int(s.hash>>24&0xff)%len(p.words.categories)]
	brand := p.words.brands[int(s.hash>>8&0xff)%len(p.words.brands)]

	// A product is viewed at a fixed interval, of 6 hours to 32 days. This is the last view.
	every := hourMs << (a & 7) * 6
	viewed := p.now - (p.now-p.line.origin+below(b, every))%every
	dst = append(dst, `{"lastViewedAt":`...)
	dst = st.time(dst, max(viewed, s.begin))
	if hasURL(&s) {
		dst = append(dst, `,"url":"`...)
		dst = p.appendURL(dst, i, &s)
		dst = append(dst, '"')
	} else if a>>3&1 == 0 {
		dst = append(dst, `,"url":""`...)
	}
	dst = append(dst, `,"name":"`...)
	dst = append(dst, brand...)
	dst = append(dst, ' ')
	dst = append(dst, p.words.adjectives[int(a>>8&0xff)%len(p.words.adjectives)]...)
	dst = append(dst, ' ')
	dst = appendInner(dst, c.nouns[int(a>>16&0xff)%len(c.nouns)])
	base := 199 + below(a<<20, 300)*below(b<<20, 300)
	dst = append(dst, `","price":`...)
	dst = appendAmount(dst, priceAt(base, s.hash, s.rev))
	dst = append(dst, `,"currencyCode":"`...)
	dst = append(dst, currencyOf(r.country)...)
	dst = append(dst, '"')
	switch a >> 24 & 15 {
	case 0:
		dst = append(dst, `,"brandName":null`...)
	case 1: // absent
	default:
		dst = append(dst, `,"brandName":"`...)
		dst = append(dst, brand...)
		dst = append(dst, '"')
	}
	dst = p.text(dst, &s, a, c)
	dst = p.numbers(dst, &s, a, b)
	if b>>60 != 0 {
		dst = p.history(dst, &s, base, p.now, st)
	}
	return st.closeRecord(dst)
}

// text appends description, images and category.
func (p *products) text(dst []byte, s *span, a uint64, c *category) []byte {
	dst = append(dst, `,"description":"`...)
	if a>>28&15 != 0 {
		dst = append(dst, p.words.blurbs[int(a>>32&0xff)%len(p.words.blurbs)]...)
	}
	dst = append(dst, `","imageUrls":[`...)
	for k := range a >> 40 % 5 {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `"https://img.deals.test/`...)
		dst = appendHex(dst, s.hash)
		dst = append(dst, '/', byte('1'+k))
		dst = append(dst, `.jpg"`...)
	}
	dst = append(dst, `],"categoryId":"`...)
	dst = strconv.AppendInt(dst, int64(c.number), 10)
	dst = append(dst, `","categoryVersion":"2025-09","categoryBreadcrumb":`...)
	return append(dst, c.crumb...)
}

// numbers appends article numbers and ratings.
func (p *products) numbers(dst []byte, s *span, a, b uint64) []byte {
	if b&3 != 0 || !hasURL(s) {
		dst = append(dst, `,"asin":"B0`...)
		dst = appendBase36(dst, mix(s.code^p.line.salt), 8)
		dst = append(dst, '"')
	} else if b>>2&1 == 0 {
		dst = append(dst, `,"asin":null`...)
	}
	dst = append(dst, `,"sku":"`...)
	dst = appendHex(dst, mix(s.hash))[:len(dst)+8]
	dst = append(dst, '"')
	if b>>3&7 != 0 {
		dst = append(dst, `,"gtin":"4`...)
		dst = strconv.AppendUint(dst, 100_000_000_000+b>>8%899_999_999_999, 10)
		dst = append(dst, '"')
	}
	if b>>6&3 == 0 {
		dst = append(dst, `,"mpn":""`...)
	} else {
		dst = append(dst, `,"mpn":"MP/`...)
		dst = appendBase36(dst, b>>10, 6)
		dst = append(dst, '"')
	}
	if a>>44&7 == 0 {
		return append(dst, `,"ratingValue":null,"ratingCount":0`...)
	}
	dst = append(dst, `,"ratingValue":`...)
	dst = appendAmount(dst, (10+below(a<<8, 41))*1000)
	dst = append(dst, `,"ratingCount":`...)
	dst = strconv.AppendInt(dst, int64(b>>48), 10)
	return append(dst, `,"bestRating":5,"worstRating":1`...)
}

// history appends whole days, the last of which is yesterday.
func (p *products) history(dst []byte, s *span, base, now int64, st *style) []byte {
	today := floorDay(now)
	first := max(today-int64(p.days), floorDay(s.begin))
	popular := s.hash >> 40 & 0xff
	gaps := s.hash>>48&7 == 0 // some days without views are missing
	dst = append(dst, `,"history":[`...)
	var price [24]byte
	var digits []byte
	var until int64 // the price in digits is valid until this time
	h := at(s.hash, 1)
	for d := first; d < today; d++ {
		noon := d*dayMs + dayMs/2
		if digits == nil || noon >= until {
			rev, next := p.line.revision(s, noon)
			digits = appendAmount(price[:0], priceAt(base, s.hash, rev))
			until = next
		}
		views := mix(h+uint64(d)) >> 56 * popular >> 8
		if gaps && views&3 == 0 {
			continue
		}
		dst = append(dst, `{"yearMonthDay":"`...)
		dst = st.day(dst, d)
		dst = append(dst, `","price":`...)
		dst = append(dst, digits...)
		dst = append(dst, `,"views":`...)
		dst = strconv.AppendUint(dst, views, 10)
		dst = append(dst, '}', ',')
	}
	if dst[len(dst)-1] == ',' {
		dst = dst[:len(dst)-1]
	}
	return append(dst, ']')
}

// appendInner appends JSON text without quotes around it.
func appendInner(dst []byte, s string) []byte {
	if strings.IndexByte(s, '"') < 0 {
		return append(dst, s...)
	}
	n := len(dst)
	dst = appendText(dst, s, false)
	return append(dst[:n], dst[n+1:len(dst)-1]...)
}

// currencyOf returns the currency of a quoted country code.
func currencyOf(country string) string {
	switch country {
	case `"GB"`:
		return "GBP"
	case `"US"`:
		return "USD"
	case `"PL"`:
		return "PLN"
	case `"SE"`:
		return "SEK"
	}
	return "EUR"
}
