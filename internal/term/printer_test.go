package term

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
)

func TestPrinters(t *testing.T) {
	columns := []Column{{Name: "name"}, {Name: "n", Right: true}, {Name: "at"}}
	at := time.Date(2026, 3, 15, 9, 0, 0, 5e6, time.UTC)
	rows := [][]any{
		{"plain", uint64(12), Value(reflect.ValueOf(at), "Nullable(DateTime64(3, 'UTC'))")},
		{"quote \" <b>, and\nbreak", Value(reflect.ValueOf(decimal.New(1124500, -4)), "Decimal(18, 4)"), nil},
	}
	for format, want := range map[Format]string{
		"table": `name                            n  at
-----------------------  --------  ------------------------
plain                          12  2026-03-15T09:00:00.005Z
quote " <b>, and\nbreak  112.4500  NULL
`,
		"json": `[
  {"name": "plain", "n": 12, "at": "2026-03-15T09:00:00.005Z"},
  {"name": "quote \" <b>, and\nbreak", "n": 112.4500, "at": null}
]
`,
		"jsonl": `{"name": "plain", "n": 12, "at": "2026-03-15T09:00:00.005Z"}
{"name": "quote \" <b>, and\nbreak", "n": 112.4500, "at": null}
`,
		"csv": "name,n,at\nplain,12,2026-03-15T09:00:00.005Z\n\"quote \"\" <b>, and\nbreak\",112.4500,\n",
	} {
		var out bytes.Buffer
		if err := Print(format, &out, columns, rows); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
	}
}

func TestNoRows(t *testing.T) {
	for format, want := range map[Format]string{"table": "a  b\n-  -\n", "json": "[]\n", "jsonl": "", "csv": "a,b\n"} {
		var out bytes.Buffer
		if err := Print(format, &out, []Column{{Name: "a"}, {Name: "b"}}, nil); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%s: %q, want %q", format, out.String(), want)
		}
	}
}

// Data must not control the terminal.
func TestControlCharactersAreVisible(t *testing.T) {
	var out bytes.Buffer
	if err := Print("table", &out, []Column{{Name: "x"}},
		[][]any{{"a\x1b[31m\tb\u009bc\u202ed\u2028\xff\ufffd\r"}}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "a\\u001b[31m\\tb\\u009bc\\u202ed\\u2028\\xff\ufffd\\r\n") {
		t.Errorf("%q", out.String())
	}
}

// Text is never a formula in CSV; a negative number is not a formula.
func TestCSVHasNoFormulas(t *testing.T) {
	var out bytes.Buffer
	row := []any{"-1+cmd|'x'!A1", json.Number("-1.50"), int64(-2), float{-0.5, 64}, "＝x", "two\r\nlines\u009b",
		[]any{"=1"}}
	columns := []Column{{Name: "=a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}, {Name: "f"}, {Name: "g"}}
	if err := Print("csv", &out, columns, [][]any{row}); err != nil {
		t.Fatal(err)
	}
	want := "'=a,b,c,d,e,f,g\n'-1+cmd|'x'!A1,-1.50,-2,-0.5,'＝x,\"two\nlines\\u009b\",\"[\"\"=1\"\"]\"\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// A table decides its widths by a sample of its rows, and keeps no more rows than that.
func TestLongTable(t *testing.T) {
	var out bytes.Buffer
	p := NewPrinter("table", &out, []Column{{Name: "x"}, {Name: "y"}})
	for range 3 * sampleRows {
		if err := p.Row([]any{"aaa", "b"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(p.(*tablePrinter).sample); n > 0 {
		t.Errorf("%d rows are kept", n)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "aaa  b\n"); n != 3*sampleRows {
		t.Errorf("%d rows", n)
	}
}

// A column in which all values are empty is left out of a table, but of no other format.
func TestOptionalColumns(t *testing.T) {
	columns := []Column{{Name: "a", Optional: true}, {Name: "b"}, {Name: "c", Optional: true}, {Name: "d", Optional: true}}
	rows := [][]any{{uint64(0), "", nil, ""}, {uint64(0), "x", nil, "y"}}
	for format, want := range map[Format]string{
		"table": "b  d\n-  -\n\nx  y\n",
		"csv":   "a,b,c,d\n0,,,\n0,x,,y\n",
	} {
		var out bytes.Buffer
		if err := Print(format, &out, columns, rows); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
	}
	var out bytes.Buffer
	if err := Print("table", &out, columns, nil); err != nil || out.String() != "a  b  c  d\n-  -  -  -\n" {
		t.Errorf("without rows: %q, %v", out.String(), err)
	}
	out.Reset()
	p := NewPrinter("table", &out, columns)
	for range sampleRows + 1 {
		if err := p.Row(rows[0]); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil || !strings.HasPrefix(out.String(), "a  b  c") {
		t.Errorf("a column is left out that a later row may have a use for: %q, %v", out.String()[:20], err)
	}
}

func TestValues(t *testing.T) {
	tokyo := time.Date(2026, 1, 1, 0, 0, 0, 0, time.FixedZone("", 9*3600))
	var none *string
	for _, test := range []struct {
		value any
		typ   string
		json  string
	}{
		{tokyo, "DateTime", `"2025-12-31T15:00:00Z"`},
		{time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), "Nullable(Date)", `"2026-01-02"`},
		{[]time.Time{time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}, "Array(Date32)", `["2026-01-02"]`},
		{decimal.New(999999999999999999, -4), "Decimal(18, 4)", `99999999999999.9999`},
		{[]decimal.Decimal{decimal.New(5, -3)}, "Array(Decimal(18, 3))", `[0.005]`},
		{math.NaN(), "Float64", `null`},
		{float32(0.1), "Float32", `0.1`},
		{uint64(math.MaxUint64), "UInt64", `18446744073709551615`},
		{none, "Nullable(String)", `null`},
		{map[string]int8{"a": 1}, "Map(String, Int8)", `{"a":1}`},
	} {
		got, err := marshal(Value(reflect.ValueOf(test.value), test.typ))
		if err != nil || string(got) != test.json {
			t.Errorf("%v as %s: %s, %v; want %s", test.value, test.typ, got, err, test.json)
		}
	}
}

// The last column of a table for a terminal is wrapped within the column, and no line is wider than 100 columns.
func TestWrappedColumn(t *testing.T) {
	t.Parallel()
	columns := []Column{{Name: "check"}, {Name: "detail", Wrap: true}}
	rows := [][]any{{"configuration", strings.Repeat("a word ", 40)}, {"disk", "ok"}}
	var out bytes.Buffer
	if err := Print("table", &out, columns, rows); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 8 || !strings.HasPrefix(lines[3], strings.Repeat(" ", 15)+"a") &&
		!strings.HasPrefix(lines[3], strings.Repeat(" ", 15)+"word") {
		t.Errorf("%d lines:\n%s", len(lines), out.String())
	}
	for _, line := range lines {
		if len(line) > WidestTable {
			t.Errorf("%d columns: %q", len(line), line)
		}
	}
}
