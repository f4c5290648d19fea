package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dealhouse/internal/chdb"
)

// watchStatus shows the status again and again.
func (a *app) watchStatus(ctx context.Context, output string, every time.Duration) error {
	screen := newConsole(a.screen)
	defer screen.release() // what was shown last stays
	tick := time.NewTicker(every)
	defer tick.Stop()
	var last string
	for {
		var text bytes.Buffer
		err := a.status(ctx, output, &text)
		busy := errors.Is(err, chdb.ErrLocked)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !busy:
			return err
		case !busy:
			last = text.String()
		}
		if err := a.showStatus(screen, output, last, busy); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// showStatus redraws on a terminal, and appends elsewhere: with the time, unless a program reads it.
func (a *app) showStatus(screen *console, output, text string, busy bool) error {
	head := time.Now().UTC().Format(time.RFC3339)
	if busy {
		head += "  another process has the embedded warehouse; this is the status before"
	}
	if screen.live && output == "table" {
		screen.show(append([]string{head, ""}, strings.Split(strings.TrimRight(text, "\n"), "\n")...))
		return nil
	}
	if busy {
		return nil
	}
	if output == "table" {
		text = head + "\n" + text + "\n"
	}
	_, err := fmt.Fprint(a.stdout, text)
	return err
}
