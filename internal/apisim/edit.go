package apisim

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// setField is a JSON object with another value for a field, which is added at the end when it is not there. All other
// bytes stay. Of a field that is there twice it is the last, which is the one that readers take.
func setField(object []byte, name string, value []byte) []byte {
	from, to, n := -1, -1, 0
	eachField(object, func(key string, start, end int) {
		n++
		if key == name {
			from, to = start, end
		}
	})
	out := make([]byte, 0, len(object)+len(name)+len(value)+4)
	if from >= 0 {
		return append(append(append(out, object[:from]...), value...), object[to:]...)
	}
	out = append(out, bytes.TrimRight(object[:len(object)-1], " \t\r\n")...)
	if n > 0 {
		out = append(out, ',')
	}
	out = append(appendText(out, name, false), ':')
	return append(append(out, value...), '}')
}

// fieldText is the text of a field of a JSON object, if it is one.
func fieldText(object []byte, name string) (s string) {
	eachField(object, func(key string, start, end int) {
		if key == name {
			// An error leaves no text: the field is something else.
			s = ""
			_ = json.Unmarshal(object[start:end], &s)
		}
	})
	return s
}

// eachField calls f with where the value of each field lies in a valid object.
func eachField(object []byte, f func(key string, start, end int)) {
	d := json.NewDecoder(bytes.NewReader(object))
	_, err := d.Token()
	var value json.RawMessage
	for err == nil && d.More() {
		var key json.Token
		if key, err = d.Token(); err == nil {
			err = d.Decode(&value)
		}
		if name, ok := key.(string); ok && err == nil {
			end := int(d.InputOffset())
			f(name, end-len(value), end)
		}
	}
}

// isObject: what is served but is no object has no content to change.
func isObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// revise is a record with other content, drawn from h, and the time now as its updatedAt: another status and cashback
// of a transaction, another price of a product, another description of a deal.
func revise(stream string, raw []byte, h uint64, now int64, st *style) []byte {
	switch stream {
	case StreamProducts:
		price := (1 + below(h, 500_000)) * 100
		out := setField(raw, "price", appendAmount(nil, price))
		if bytes.Equal(out, raw) {
			out = setField(raw, "price", appendAmount(nil, price+100))
		}
		return out
	case StreamTransactions:
		status := `"CONFIRMED"`
		switch was := fieldText(raw, "status"); {
		case was == "CONFIRMED", was == "PENDING" && h&3 == 0:
			status = `"DECLINED"`
		}
		raw = setField(raw, "status", []byte(status))
		raw = setField(raw, "cashback", appendAmount(nil, below(mix(h), 300_000)))
	default:
		text := strconv.AppendInt([]byte(`"Now `), 5+below(h, 14)*5, 10)
		text = append(appendHex(append(text, ` % off, as of revision `...), mix(h)), '"')
		raw = setField(raw, "description", text)
	}
	return stamp(raw, now, st)
}

// stamp is a record with the time now as its updatedAt.
func stamp(raw []byte, now int64, st *style) []byte {
	return setField(raw, "updatedAt", st.time(nil, now))
}

// newcomer is a new record in the likeness of another, with keys of its own.
func newcomer(stream string, raw []byte, h uint64, now int64, st *style) []byte {
	raw = revise(stream, raw, h, now, st)
	code := appendHex(nil, mix(h^golden))
	text := func(before string, n int) []byte { return append(append([]byte(before), code[:n]...), '"') }
	switch stream {
	case StreamProducts:
		raw = setField(raw, "url", text(`"https://www.new-arrivals.test/p/`, 16))
		raw = setField(raw, "asin", text(`"B0`, 8))
		raw = setField(raw, "sku", text(`"`, 8))
		gtin := strconv.AppendInt([]byte(`"4`), 100_000_000_000+below(h, 899_999_999_999), 10)
		return setField(raw, "gtin", append(gtin, '"'))
	case StreamTransactions:
		raw = setField(raw, "status", []byte(`"PENDING"`))
		raw = setField(raw, "payoutId", []byte("null"))
		raw = setField(raw, "soldAt", st.time(nil, now))
	}
	id := newIdentity(h)
	return setField(raw, "id", append(id.appendUUID([]byte{'"'}, mix(h)>>16), '"'))
}
