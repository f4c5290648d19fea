package term

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Screen is a writer to a terminal: tables that are written to it fit its width.
type Screen struct {
	io.Writer

	Width int // in characters; 0: as wide as the table
}

const (
	// Texts are narrowed to the first of these widths, and then to the second one, to make a table fit.
	readableCell = 24
	leastCell    = 12
	// fewRows are shown one below the other, a value a line, if they do not fit as a table.
	fewRows = 3
)

func (p *tablePrinter) hides(column int) bool { return p.hidden != nil && p.hidden[column] }

// narrow makes the table fit the terminal. A long text in the last column moves beneath its row, other texts are cut,
// minor columns are left out, then texts are cut more, and at last columns are left out from the right. It reports
// whether the rows should be shown vertically instead.
func (p *tablePrinter) narrow() (vertically bool) {
	p.hidden = make([]bool, len(p.columns))
	if last := len(p.columns) - 1; p.width() > p.screen && p.isText(last) && p.widths[last] > readableCell {
		p.columns = slices.Clone(p.columns)
		p.columns[last].Below = true
	}
	p.cutTo(readableCell)
	p.hide(true)
	p.cutTo(leastCell)
	if p.width() > p.screen && p.whole && len(p.sample) <= fewRows {
		return true
	}
	p.hide(false)
	return false
}

// isText reports whether a column may be cut. A part of a number would be another number.
func (p *tablePrinter) isText(column int) bool {
	c := p.columns[column]
	return !c.Right && !c.Uncut && !c.Below && !c.Wrap && !p.hidden[column]
}

// cutTo narrows the widest texts until the table fits, but none below a width.
func (p *tablePrinter) cutTo(least int) {
	for p.width() > p.screen {
		widest := -1
		for i := range p.columns {
			if p.isText(i) && (widest < 0 || p.widths[i] > p.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 || p.widths[widest] <= least {
			return
		}
		p.widths[widest] = max(least, p.widths[widest]-(p.width()-p.screen))
	}
}

// hide leaves out columns, the last one first, until the table fits: minor ones, or any but the first.
func (p *tablePrinter) hide(minor bool) {
	for i := len(p.columns) - 1; i > 0 && p.width() > p.screen; i-- {
		if !p.columns[i].Below && (p.columns[i].Minor || !minor) {
			p.hidden[i] = true
		}
	}
}

// writeVertically writes each row as lines of a name and a value.
func (p *tablePrinter) writeVertically() error {
	name := 0
	for _, c := range p.columns {
		name = max(name, utf8.RuneCountInString(c.Name))
	}
	p.hidden = nil
	var b strings.Builder
	for r, row := range p.sample {
		if r > 0 {
			b.WriteByte('\n')
		}
		for i, text := range row {
			lines := Wrap(text, max(leastCell, p.screen-name-len(betweenCells)))
			if len(lines) == 0 {
				lines = []string{""}
			}
			for at, line := range lines {
				label := Line(p.columns[i].Name)
				if at > 0 {
					label = ""
				}
				b.WriteString(strings.TrimRight(fmt.Sprintf("%-*s%s%s", name, label, betweenCells, line), " ") + "\n")
			}
		}
	}
	p.sample = nil
	_, err := p.out.WriteString(b.String())
	return err
}

// nameHidden says which columns were left out.
func (p *tablePrinter) nameHidden() error {
	var names []string
	for i, hidden := range p.hidden {
		if hidden {
			names = append(names, Line(p.columns[i].Name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	text := "(not shown for lack of room: " + strings.Join(names, ", ") + "; --wide shows all)"
	_, err := p.out.WriteString(strings.Join(Wrap(text, p.screen), "\n") + "\n")
	return err
}
