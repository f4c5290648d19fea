package term

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/chcol"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

// float is a number that JSON may be unable to write: NaN or an infinity.
type float struct {
	value float64
	bits  int
}

// String returns the shortest text that reads back as the same number.
func (f float) String() string { return strconv.FormatFloat(f.value, 'g', -1, f.bits) }

// MarshalJSON writes null for what is not a number.
func (f float) MarshalJSON() ([]byte, error) {
	if math.IsNaN(f.value) || math.IsInf(f.value, 0) {
		return []byte("null"), nil
	}
	if f.bits == 32 {
		return json.Marshal(float32(f.value))
	}
	return json.Marshal(f.value)
}

// object is a value of the type JSON.
type object struct{ *chcol.JSON }

// String is its text.
func (o object) String() string {
	text, err := o.MarshalJSON()
	if err != nil {
		return "(unreadable JSON)"
	}
	return string(text)
}

// Value turns what the driver scanned into a value that prints the same in every format: nil, bool, integers, string,
// float, or lists and maps of these. Decimals are json.Number with all the digits of their type; times are ISO 8601 in
// the precision of their type, in UTC.
func Value(v reflect.Value, typ string) any {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		switch x := v.Interface().(type) {
		case *big.Int:
			return json.Number(x.String())
		case *chcol.JSON:
			return object{x}
		}
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case decimal.Decimal:
		return json.Number(x.StringFixed(max(0, -x.Exponent())))
	case time.Time:
		return x.UTC().Format(layout(typ))
	case big.Int:
		return json.Number(x.String())
	case chcol.JSON:
		return object{&x}
	case uuid.UUID:
		return x.String()
	case interface{ Any() any }: // Variant and Dynamic
		inner := x.Any()
		if inner == nil {
			return nil
		}
		return Value(reflect.ValueOf(inner), typ)
	case fmt.Stringer:
		return x.String()
	}
	switch v.Kind() {
	case reflect.Float32:
		return float{v.Float(), 32}
	case reflect.Float64:
		return float{v.Float(), 64}
	case reflect.Slice, reflect.Array:
		all := make([]any, v.Len())
		for i := range all {
			all[i] = Value(v.Index(i), element(typ))
		}
		return all
	case reflect.Map:
		all := make(map[string]any, v.Len())
		for pairs := v.MapRange(); pairs.Next(); {
			all[Plain(Value(pairs.Key(), typ))] = Value(pairs.Value(), typ)
		}
		return all
	}
	return v.Interface()
}

// layout returns ISO 8601 in the precision of a type.
func layout(typ string) string {
	typ = bare(typ)
	const seconds = "2006-01-02T15:04:05"
	precision, is64 := strings.CutPrefix(typ, "DateTime64(")
	switch {
	case is64:
		n := int(precision[0] - '0')
		if n == 0 {
			return seconds + "Z"
		}
		return seconds + "." + strings.Repeat("0", n) + "Z"
	case strings.HasPrefix(typ, "DateTime"):
		return seconds + "Z"
	case strings.HasPrefix(typ, "Date"):
		return time.DateOnly
	}
	return time.RFC3339Nano
}

// bare returns a type without the wrappers that only say how it is stored.
func bare(typ string) string {
	for _, wrapper := range []string{"LowCardinality(", "Nullable("} {
		if inner, ok := strings.CutPrefix(typ, wrapper); ok {
			typ = strings.TrimSuffix(inner, ")")
		}
	}
	return typ
}

// element returns the type of a list's elements, if that is simple to tell.
func element(typ string) string {
	inner, ok := strings.CutPrefix(typ, "Array(")
	if !ok {
		return ""
	}
	return strings.TrimSuffix(inner, ")")
}

// Numeric reports whether a column of that type is aligned to the right.
func Numeric(typ string) bool {
	for _, prefix := range []string{"Int", "UInt", "Float", "BFloat", "Decimal"} {
		if rest, ok := strings.CutPrefix(bare(typ), prefix); ok && !strings.HasPrefix(rest, "erval") { // Interval
			return true
		}
	}
	return false
}
