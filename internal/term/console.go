package term

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// Console is stderr: what is written to it is made visible, except for its own control sequences.
// On a terminal it can hold a frame of live lines at its bottom, which is redrawn in place; what is written
// meanwhile, such as log lines, appears above it. It is safe for concurrent use.
type Console struct {
	live bool                       // whether frames can be drawn
	size func() (width, height int) // of the terminal, now

	mu    sync.Mutex
	out   io.Writer
	frame []string // on the screen now
}

// NewConsole returns a Console on w. It is live when w is a terminal that understands control sequences.
func NewConsole(w io.Writer) *Console {
	c := &Console{out: w, size: func() (int, int) { return 80, 24 }}
	// An editor's terminal sets TERM so, and would show the sequences as text.
	if f, ok := w.(*os.File); ok && IsTerminal(w) && os.Getenv("TERM") != "dumb" {
		c.live = true
		c.size = func() (int, int) { return sizeOf(f) }
	}
	return c
}

// sizeOf returns the size of a terminal, now.
func sizeOf(f *os.File) (width, height int) {
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 1 || height < 1 {
		return 80, 24
	}
	return width, height
}

// WidthOf returns the width of a terminal in characters, and 0 for what is none.
func WidthOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !IsTerminal(w) {
		return 0
	}
	width, _ := sizeOf(f)
	return width
}

// IsTerminal reports a writer that is a terminal, which no test has.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Redirect makes the Console write to w from now on.
func (c *Console) Redirect(w io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = w
}

// Live reports that frames can be drawn.
func (c *Console) Live() bool { return c.live }

// Write writes whole lines above the frame.
func (c *Console) Write(p []byte) (int, error) {
	text := Text(string(p))
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.frame) == 0 {
		if _, err := io.WriteString(c.out, text); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	var b bytes.Buffer
	width, _ := c.size()
	c.home(&b, width)
	b.WriteString(clearBelow)
	b.WriteString(text)
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	draw(&b, c.frame)
	if _, err := c.out.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Show replaces the frame, or removes it if there are no lines. It does nothing if nothing can be redrawn.
func (c *Console) Show(lines []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.live || len(lines) == 0 && len(c.frame) == 0 {
		return
	}
	var b bytes.Buffer
	width, height := c.size()
	c.home(&b, width)
	c.frame = fit(lines, width-1, height-1)
	draw(&b, c.frame)
	_, _ = c.out.Write(b.Bytes()) // one write per frame avoids flicker; it is no error if the terminal is gone
}

// Release leaves the frame on the screen, as text that is never redrawn.
func (c *Console) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frame = nil
}

// home moves to the beginning of the frame. A line that was drawn may take several rows by now, if the terminal has
// become narrower.
func (c *Console) home(b *bytes.Buffer, width int) {
	rows := 0
	for _, line := range c.frame {
		rows += max(1, (utf8.RuneCountInString(line)+width-1)/width)
	}
	if rows > 0 {
		fmt.Fprintf(b, "\r\x1b[%dA", rows)
	}
}

// Control sequences that clear what was there before.
const (
	clearRight = "\x1b[K"
	clearBelow = "\x1b[J"
)

// draw writes lines over the old ones, and clears only what they do not cover: clearing the screen first would flicker.
func draw(b *bytes.Buffer, lines []string) {
	for _, line := range lines {
		b.WriteString(line + clearRight + "\n")
	}
	b.WriteString(clearBelow)
}

// fit cuts lines to the width, and leaves out those for which there is no room: a frame that scrolls cannot be
// redrawn.
func fit(lines []string, width, height int) []string {
	var fitted []string
	for i, line := range lines {
		if i == height-1 && len(lines) > height {
			line = fmt.Sprintf("... and %d more", len(lines)-i)
		}
		if i == height {
			break
		}
		fitted = append(fitted, Cut(Line(line), max(1, width)))
	}
	return fitted
}

// Cut shortens text to the given number of characters, and marks the cut.
func Cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
