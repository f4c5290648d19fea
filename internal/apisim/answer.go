package apisim

import (
	"net/http"
	"strconv"
	"sync"
)

// answer is a response before it is sent.
type answer struct {
	status int
	header http.Header
	body   []byte
	rows   int
}

// problem returns an answer that refuses a request. The document does not specify the body of errors; this one lists
// the errors, as the live service's does.
func problem(status int, field, message string) *answer {
	b := []byte(`{"statusCode":`)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, `,"message":`...)
	b = appendText(b, http.StatusText(status), false)
	b = append(b, `,"errors":[{`...)
	if field != "" {
		b = append(b, `"field":`...)
		b = appendText(b, field, false)
		b = append(b, ',')
	}
	b = append(b, `"message":`...)
	b = appendText(b, message, false)
	b = append(b, `}]}`...)
	return &answer{status: status, header: http.Header{}, body: b}
}

// pool keeps page buffers from one request to the next.
type pool struct{ p sync.Pool }

// maxPooled is the largest buffer kept.
const maxPooled = 32 << 20

func (p *pool) get() []byte {
	if b, ok := p.p.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, 64<<10)
}

func (p *pool) put(b []byte) {
	if cap(b) <= maxPooled {
		p.p.Put(&b)
	}
}
