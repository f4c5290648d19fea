package term

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"time"
)

// Column describes a column of a result.
type Column struct {
	Name  string
	Right bool             // aligned to the right in tables: numbers
	Human func(any) string // how a table shows a value; nil: as CSV does
	// Optional columns are left out of a table of up to 1,000 rows when all of them have zero, NULL or no text there.
	Optional bool
	// Elastic is the column whose texts are cut if the table would be wider than its terminal, or than 100 characters.
	Elastic bool
	// Wrap is for the last column: tables wrap its text, within the column, at 100 characters. It is for terminals:
	// programs that read a pipe expect a row in one line.
	Wrap bool
	// Uncut texts, such as times, are shown whole or not at all.
	Uncut bool
	// Minor columns are the first to be left out of a table that is too wide for its terminal, the last one first.
	Minor bool
	// Below is for the last column: tables show its text beneath the row, wrapped at 100 characters, if there is any.
	Below bool
}

// Printer writes a result row by row; what it keeps in memory does not grow with the rows.
type Printer interface {
	Row(values []any) error // as many as there are columns
	Close() error           // writes what is held back, and what ends the document; the writer stays open
}

// Format is a form of a result.
type Format string

// Formats of results. A Printer writes all but HTML, which each command that has it makes itself.
const (
	Table     Format = "table"
	JSONArray Format = "json"  // an array
	JSONLines Format = "jsonl" // an object a line
	CSV       Format = "csv"
	HTML      Format = "html"
)

// NewPrinter returns the printer of a format.
func NewPrinter(format Format, w io.Writer, columns []Column) Printer {
	out := bufio.NewWriterSize(w, 64<<10)
	switch format {
	case JSONArray:
		return &jsonPrinter{out: out, columns: columns, open: "[\n  ", next: ",\n  ", closing: "\n]\n"}
	case JSONLines:
		return &jsonPrinter{out: out, columns: columns, next: "\n", closing: "\n"}
	case CSV:
		return &csvPrinter{out: csv.NewWriter(out), flush: out.Flush, columns: columns}
	}
	t := &tablePrinter{out: out, columns: columns}
	if screen, ok := w.(Screen); ok {
		t.screen = screen.Width
	}
	return t
}

// Print prints a result that is in memory anyway.
func Print(format Format, w io.Writer, columns []Column, rows [][]any) error {
	p := NewPrinter(format, w, columns)
	for _, row := range rows {
		if err := p.Row(row); err != nil {
			return err
		}
	}
	return p.Close()
}

// jsonPrinter writes an array of objects, or one object a line. Columns keep their order.
type jsonPrinter struct {
	out                 *bufio.Writer
	columns             []Column
	open, next, closing string
	names               [][]byte
	line                bytes.Buffer
	rows                int
}

// Row writes an object.
func (p *jsonPrinter) Row(values []any) error {
	if p.names == nil {
		for _, c := range p.columns {
			name, err := marshal(c.Name)
			if err != nil {
				return err
			}
			p.names = append(p.names, name)
		}
	}
	p.line.Reset()
	p.line.WriteString(p.next)
	if p.rows == 0 {
		p.line.Reset()
		p.line.WriteString(p.open)
	}
	p.rows++
	p.line.WriteByte('{')
	for i, v := range values {
		if i > 0 {
			p.line.WriteString(", ")
		}
		text, err := marshal(v)
		if err != nil {
			return fmt.Errorf("writing column %s as JSON: %w", p.columns[i].Name, err)
		}
		p.line.Write(p.names[i])
		p.line.WriteString(": ")
		p.line.Write(text)
	}
	p.line.WriteByte('}')
	_, err := p.out.Write(p.line.Bytes())
	return err
}

// Close ends the array, if it is one.
func (p *jsonPrinter) Close() error {
	closing := p.closing
	if p.rows == 0 {
		closing = ""
		if p.open != "" {
			closing = "[]\n"
		}
	}
	if _, err := p.out.WriteString(closing); err != nil {
		return err
	}
	return p.out.Flush()
}

// marshal returns JSON without the escapes that only HTML needs, and with those that keep a terminal from harm.
func marshal(v any) ([]byte, error) {
	if t, ok := v.(time.Time); ok {
		v = t.UTC()
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return JSON(bytes.TrimRight(b.Bytes(), "\n")), nil
}

// csvPrinter writes RFC 4180 with a header; NULL is an empty field. Text passes Cell; numbers, which may begin
// with a minus, stay numbers.
type csvPrinter struct {
	out     *csv.Writer
	flush   func() error
	columns []Column
	begun   bool // the header is written
	record  []string
}

func (p *csvPrinter) header() error {
	p.begun = true
	for _, c := range p.columns {
		p.record = append(p.record, Cell(c.Name))
	}
	return p.out.Write(p.record)
}

// Row writes a record, after the header.
func (p *csvPrinter) Row(values []any) error {
	if !p.begun {
		if err := p.header(); err != nil {
			return err
		}
	}
	for i, v := range values {
		p.record[i] = field(v)
	}
	return p.out.Write(p.record)
}

// Close writes what is held back, and the header of a result without rows.
func (p *csvPrinter) Close() error {
	if !p.begun {
		if err := p.header(); err != nil {
			return err
		}
	}
	p.out.Flush()
	if err := p.out.Error(); err != nil {
		return err
	}
	return p.flush()
}

// field returns a value as CSV has it.
func field(v any) string {
	switch v := v.(type) {
	case json.Number:
		return v.String()
	case float:
		return v.String()
	}
	switch v := reflect.ValueOf(v); {
	case v.CanInt(), v.CanUint(), v.CanFloat():
		return Plain(v.Interface())
	}
	return Cell(Plain(v))
}

// Plain returns a value as text, as CSV and tables show it.
func Plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case fmt.Stringer:
		return v.String()
	case []string, []any, map[string]any:
		text, err := marshal(v)
		if err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(v)
}
