package output

import (
	"bufio"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"dealhouse/internal/visible"
)

const (
	// sampleRows decide the widths of a table's columns; later rows are written as they come.
	sampleRows = 1000
	// widestCell bounds a cell of a table, but for the last column: one long text would push all the others apart.
	widestCell = 64
)

// tablePrinter aligns columns for people. It keeps no more rows than it needs to choose their widths (output-2).
type tablePrinter struct {
	out     *bufio.Writer
	columns []Column
	widths  []int // nil until the sample is complete
	sample  [][]string
	used    []bool // by column: a row has something there
}

// Row adds to the sample, or writes a line.
func (p *tablePrinter) Row(values []any) error {
	cells := make([]string, len(values))
	last := len(values) - 1
	if p.used == nil {
		p.used = make([]bool, len(values))
	}
	for i, v := range values {
		p.used[i] = p.used[i] || v != nil && !reflect.ValueOf(v).IsZero()
		cells[i] = p.cell(i, v)
		if i < last {
			cells[i] = Cut(cells[i], widestCell)
		}
	}
	if p.widths != nil {
		return p.write(cells)
	}
	p.sample = append(p.sample, cells)
	if len(p.sample) < sampleRows {
		return nil
	}
	return p.writeSample()
}

// leaveOut drops the optional columns of which no row has made use, once all rows are there.
func (p *tablePrinter) leaveOut() {
	for i := len(p.used) - 1; i >= 0; i-- {
		if p.used[i] || !p.columns[i].Optional {
			continue
		}
		p.columns = slices.Delete(slices.Clone(p.columns), i, i+1)
		for r := range p.sample {
			p.sample[r] = slices.Delete(p.sample[r], i, i+1)
		}
	}
}

func (p *tablePrinter) cell(i int, v any) string {
	switch human := p.columns[i].Human; {
	case human != nil:
		return visible.Line(human(v))
	case v == nil:
		return "NULL"
	}
	return visible.Line(Plain(v))
}

// writeSample writes the header and the rows of the sample.
func (p *tablePrinter) writeSample() error {
	names := make([]string, len(p.columns))
	rules := make([]string, len(p.columns))
	p.widths = make([]int, len(p.columns))
	for i, c := range p.columns {
		names[i] = visible.Line(c.Name)
		p.widths[i] = utf8.RuneCountInString(names[i])
		for _, row := range p.sample {
			p.widths[i] = max(p.widths[i], utf8.RuneCountInString(row[i]))
		}
		rules[i] = strings.Repeat("-", min(p.widths[i], widestCell))
	}
	for _, row := range append([][]string{names, rules}, p.sample...) {
		if err := p.write(row); err != nil {
			return err
		}
	}
	p.sample = nil
	return nil
}

func (p *tablePrinter) write(cells []string) error {
	var b strings.Builder
	for i, text := range cells {
		pad := strings.Repeat(" ", max(0, p.widths[i]-utf8.RuneCountInString(text)))
		switch {
		case p.columns[i].Right:
			b.WriteString(pad + text)
		case i == len(cells)-1:
			b.WriteString(text)
		default:
			b.WriteString(text + pad)
		}
		if i < len(cells)-1 {
			b.WriteString("  ")
		}
	}
	_, err := p.out.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	return err
}

// Close writes what is held back.
func (p *tablePrinter) Close() error {
	if p.widths == nil {
		p.leaveOut()
		if err := p.writeSample(); err != nil {
			return err
		}
	}
	return p.out.Flush()
}
