package apisim

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/url"
	"strconv"
)

// The product feed is read by position: the slots in their order, then the scripted records. A position stays valid
// forever, so a walk survives products that come and go. With FeedOffsets, nextPage has the number of products before
// that position instead, which does not stay valid.

// next returns the first listed position at or after p, or -1.
func (f *feed) next(p int) int {
	n := f.src.n
	for ; p < n; p++ {
		if code, listed := f.src.code(uint32(p)); listed && !f.script.hides(code) {
			return p
		}
	}
	for ; p-n < len(f.script.records); p++ {
		if f.script.records[p-n] != nil {
			return p
		}
	}
	return -1
}

// nth returns the position of the product that has n listed ones before it, or -1.
func (f *feed) nth(n int) int {
	p := f.next(0)
	for ; n > 0 && p >= 0; n-- {
		p = f.next(p + 1)
	}
	return p
}

func (f *feed) record(dst []byte, p int, st *style) []byte {
	if p < f.src.n {
		return f.src.record(dst, uint32(p), st)
	}
	return append(dst, f.script.records[p-f.src.n].raw...)
}

// length returns the first position at which no page can begin.
func (f *feed) length() int { return f.src.n + len(f.script.records) }

// token returns a position as an opaque string. Its base64 has '+', '/' and '=' in it, so a client that does
// not escape it fails soon.
func (f *feed) token(p int) string {
	v := f.src.ids.permute(uint64(p))
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], v<<16|mix(v^f.src.ids.salt)&0xffff)
	return base64.StdEncoding.EncodeToString(b[:])
}

func (f *feed) parseToken(s string) (int, bool) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(b) != 8 {
		return 0, false
	}
	p := int(f.src.ids.invert(binary.BigEndian.Uint64(b) >> 16))
	return p, p < f.length() && f.token(p) == s
}

// parsePage reads a value of nextPage.
func (f *feed) parsePage(s string, kind NextPageKind) (int, bool) {
	if kind == NextNumber || kind == NextJSONNumber {
		p, err := strconv.Atoi(s)
		return p, err == nil && p >= 0 && p < max(f.length(), 1)
	}
	return f.parseToken(s)
}

// appendNext appends nextPage for the page that begins at p; -1 means that there is no next page.
func (f *feed) appendNext(dst []byte, r *http.Request, p int, set *Settings) []byte {
	if p < 0 {
		switch set.LastPage {
		case LastNull:
			return append(dst, `,"nextPage":null`...)
		case LastEmpty:
			return append(dst, `,"nextPage":""`...)
		}
		return dst
	}
	dst = append(dst, `,"nextPage":`...)
	switch set.NextPage {
	case NextNumber:
		return append(strconv.AppendInt(append(dst, '"'), int64(p), 10), '"')
	case NextJSONNumber:
		return strconv.AppendInt(dst, int64(p), 10)
	case NextURL:
		u := url.URL{Scheme: "http", Host: r.Host, Path: r.URL.Path}
		if r.TLS != nil {
			u.Scheme = "https"
		}
		u.RawQuery = url.Values{set.Params.Page: {f.token(p)}}.Encode()
		return appendText(dst, u.String(), false)
	}
	return appendText(dst, f.token(p), false)
}
