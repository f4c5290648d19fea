package apisim

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// setField returns a JSON object with a new value for a field. A field that is missing is added at the end. All other
// bytes stay the same. If a field is there twice, the last one changes, because readers use that one.
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

// fieldText returns the text of a field of a JSON object, or "" if the field is missing or not a text.
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

// eachField calls f for each field of a valid object, with the begin and end of its value in the object.
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

// isObject tells whether a record is a JSON object. Other records are served too, but have no field that could change.
func isObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// reviseProduct returns a product with another price.
func reviseProduct(raw []byte, h uint64, _ int64, _ *style) []byte {
	price := (1 + below(h, 500_000)) * 100
	out := setField(raw, "price", appendAmount(nil, price))
	if bytes.Equal(out, raw) {
		out = setField(raw, "price", appendAmount(nil, price+100))
	}
	return out
}

// reviseSale returns a transaction with another status and cashback.
func reviseSale(raw []byte, h uint64, now int64, st *style) []byte {
	status := `"CONFIRMED"`
	switch was := fieldText(raw, "status"); {
	case was == "CONFIRMED", was == "PENDING" && h&3 == 0:
		status = `"DECLINED"`
	}
	raw = setField(raw, "status", []byte(status))
	raw = setField(raw, "cashback", appendAmount(nil, below(mix(h), 300_000)))
	return stamp(raw, now, st)
}

// reviseDeal returns a deal with another description.
func reviseDeal(raw []byte, h uint64, now int64, st *style) []byte {
	text := strconv.AppendInt([]byte(`"Now `), 5+below(h, 14)*5, 10)
	text = append(appendHex(append(text, ` % off, as of revision `...), mix(h)), '"')
	return stamp(setField(raw, "description", text), now, st)
}

// stamp returns a record with the time now as its updatedAt.
func stamp(raw []byte, now int64, st *style) []byte {
	return setField(raw, "updatedAt", st.time(nil, now))
}

// newcomer returns a new record that resembles another, with new keys.
func (e *endpoint) newcomer(raw []byte, h uint64, now int64, st *style) []byte {
	return e.rename(e.revise(raw, h, now, st), h, now, st)
}

func renameProduct(raw []byte, h uint64, _ int64, _ *style) []byte {
	code := appendHex(nil, mix(h^golden))
	text := func(before string, n int) []byte { return append(append([]byte(before), code[:n]...), '"') }
	raw = setField(raw, "url", text(`"https://www.new-arrivals.test/p/`, 16))
	raw = setField(raw, "asin", text(`"B0`, 8))
	raw = setField(raw, "sku", text(`"`, 8))
	gtin := strconv.AppendInt([]byte(`"4`), 100_000_000_000+below(h, 899_999_999_999), 10)
	return setField(raw, "gtin", append(gtin, '"'))
}

// renameSale returns a transaction that was tracked just now.
func renameSale(raw []byte, h uint64, now int64, st *style) []byte {
	raw = setField(raw, "status", []byte(`"PENDING"`))
	raw = setField(raw, "payoutId", []byte("null"))
	raw = setField(raw, "soldAt", st.time(nil, now))
	return renameID(raw, h, now, st)
}

func renameID(raw []byte, h uint64, _ int64, _ *style) []byte {
	id := newIdentity(h)
	return setField(raw, "id", append(id.appendUUID([]byte{'"'}, mix(h)>>16), '"'))
}
