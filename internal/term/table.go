package term

import (
	"bufio"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// WidestTable is the largest width, in characters, of a table that can be fitted to a terminal (Column.Elastic,
// Column.Below).
const WidestTable = 100

const (
	// sampleRows decide the widths of a table's columns; later rows are written as they come.
	sampleRows = 1000
	// widestCell limits a cell of a table, except for the last column: one long text would push all the others apart.
	widestCell   = 64
	narrowest    = 8      // of a column that is cut
	belowIndent  = "    " // of the text beneath a row
	betweenCells = "  "
)

// tablePrinter aligns columns for people. It keeps no more rows than it needs to choose their widths.
type tablePrinter struct {
	out     *bufio.Writer
	columns []Column
	widths  []int // nil until the sample is complete
	sample  [][]string
	used    []bool // by column: a row has something there
	screen  int    // width of the terminal that the table has to fit; 0: none
	hidden  []bool // by column: there is no room for it
	whole   bool   // the sample has all rows
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

// leaveOut drops the optional columns that no row has used. It needs all rows.
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
		return Line(human(v))
	case v == nil:
		return "NULL"
	}
	return Line(Plain(v))
}

// writeSample writes the header and the rows of the sample.
func (p *tablePrinter) writeSample() error {
	names := make([]string, len(p.columns))
	rules := make([]string, len(p.columns))
	p.widths = make([]int, len(p.columns))
	for i, c := range p.columns {
		names[i] = Line(c.Name)
		p.widths[i] = utf8.RuneCountInString(names[i])
		for _, row := range p.sample {
			p.widths[i] = max(p.widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	p.fit()
	if p.screen > 0 && p.narrow() {
		return p.writeVertically()
	}
	for i, c := range p.columns {
		if rules[i] = strings.Repeat("-", min(p.widths[i], p.widestRule(i))); c.Below {
			names[i], rules[i] = "", ""
		}
	}
	for _, row := range append([][]string{names, rules}, p.sample...) {
		if err := p.write(row); err != nil {
			return err
		}
	}
	p.sample = nil
	return nil
}

// fit narrows the elastic column by as much as the table is too wide.
func (p *tablePrinter) fit() {
	width := p.width()
	for i, c := range p.columns {
		if c.Elastic && width > p.widest() {
			p.widths[i] = max(min(p.widths[i], narrowest), p.widths[i]-(width-p.widest()))
		}
	}
}

// widest returns the width that a table is fitted to: that of the terminal, if it is known.
func (p *tablePrinter) widest() int {
	if p.screen > 0 {
		return p.screen
	}
	return WidestTable
}

// width returns the width of a line.
func (p *tablePrinter) width() int {
	width := -len(betweenCells)
	for i, c := range p.columns {
		switch {
		case c.Below || p.hides(i):
		case c.Wrap && i == len(p.columns)-1:
			width += min(p.widths[i], leastWrapped) + len(betweenCells)
		default:
			width += p.widths[i] + len(betweenCells)
		}
	}
	return width
}

func (p *tablePrinter) write(cells []string) error {
	var b strings.Builder
	below := ""
	if last := len(cells) - 1; p.columns[last].Below {
		cells, below = cells[:last], cells[last]
	}
	for i, text := range cells {
		if p.hides(i) {
			continue
		}
		if p.columns[i].Elastic || p.screen > 0 && !p.columns[i].Wrap {
			text = Cut(text, p.widths[i])
		}
		if b.Len() > 0 {
			b.WriteString(betweenCells)
		}
		pad := strings.Repeat(" ", max(0, p.widths[i]-utf8.RuneCountInString(text)))
		switch {
		case p.columns[i].Right:
			b.WriteString(pad + text)
		case i == len(cells)-1:
			b.WriteString(p.wrapped(text))
		default:
			b.WriteString(text + pad)
		}
	}
	text := strings.TrimRight(b.String(), " ") + "\n"
	for _, line := range Wrap(below, min(p.widest(), WidestTable)-len(belowIndent)) {
		text += belowIndent + line + "\n"
	}
	_, err := p.out.WriteString(text)
	return err
}

// widestRule returns the largest length of the line under the name of a column.
func (p *tablePrinter) widestRule(column int) int {
	if p.columns[column].Wrap {
		return p.wrappedTo()
	}
	return widestCell
}

// leastWrapped is the smallest width of the last column, if its text is wrapped within the column.
const leastWrapped = 30

// wrapped returns the text of the last column, in several lines if it is to be wrapped.
func (p *tablePrinter) wrapped(text string) string {
	last := len(p.columns) - 1
	if !p.columns[last].Wrap {
		return text
	}
	return strings.Join(Wrap(text, p.wrappedTo()), "\n"+strings.Repeat(" ", p.beforeLast()))
}

// wrappedTo returns the width to which the last column is wrapped.
func (p *tablePrinter) wrappedTo() int {
	return max(leastWrapped, min(p.widest(), WidestTable)-p.beforeLast())
}

// beforeLast returns where the last column begins.
func (p *tablePrinter) beforeLast() (width int) {
	for i, w := range p.widths[:len(p.widths)-1] {
		if !p.hides(i) {
			width += w + len(betweenCells)
		}
	}
	return width
}

// Wrap returns a text in lines of at most the given number of characters. A longer word is broken.
func Wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for line = word; utf8.RuneCountInString(line) > width; {
			runes := []rune(line)
			lines, line = append(lines, string(runes[:width])), string(runes[width:])
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// Close writes what is held back.
func (p *tablePrinter) Close() error {
	if p.widths == nil {
		p.leaveOut()
		p.whole = true
		if err := p.writeSample(); err != nil {
			return err
		}
	}
	if err := p.nameHidden(); err != nil {
		return err
	}
	return p.out.Flush()
}
