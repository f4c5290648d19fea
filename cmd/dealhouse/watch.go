package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"dealhouse/internal/chdb"
	"dealhouse/internal/term"
)

// runAgain shows the status again and again.
func (c statusCommand) runAgain(ctx context.Context, a *app) error {
	screen := term.NewConsole(a.screen)
	defer screen.Release() // what was shown last stays
	tick := time.NewTicker(c.interval)
	defer tick.Stop()
	var last string
	for {
		var text bytes.Buffer
		var to io.Writer = &text
		if !a.wide {
			to = term.Screen{Writer: to, Width: term.WidthOf(a.screen)}
		}
		err := c.run(ctx, a, to)
		busy := errors.Is(err, chdb.ErrLocked)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !busy:
			return err
		case !busy:
			last = text.String()
		}
		if err := c.show(a.stdout, screen, last, busy); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// show redraws on a terminal, and appends elsewhere: with the time, unless a program reads it.
func (c statusCommand) show(to io.Writer, screen *term.Console, text string, busy bool) error {
	head := time.Now().UTC().Format(time.RFC3339)
	if busy {
		head += "  another process has the embedded warehouse; this is the status before"
	}
	if screen.Live() && c.format.value == term.Table {
		screen.Show(append([]string{head, ""}, strings.Split(strings.TrimRight(text, "\n"), "\n")...))
		return nil
	}
	if busy {
		return nil
	}
	if c.format.value == term.Table {
		text = head + "\n" + text + "\n"
	}
	_, err := fmt.Fprint(to, text)
	return err
}
