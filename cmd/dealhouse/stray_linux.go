package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"dealhouse/internal/term"
)

// takeStderr makes each line that other code writes to stderr from now on a line of the log, if that is in JSON: what
// collects such a log reads nothing else. A line that is JSON already comes from a process that this one has started. A
// crash is written to stderr as it is, because nobody reads the lines of a process that has crashed. The returned
// function puts everything back.
func (a *app) takeStderr() (release func(), err error) {
	release = func() {}
	if a.logFormat.value != "json" || term.IsTerminal(os.Stderr) {
		return release, nil
	}
	own, err := unix.FcntlInt(os.Stderr.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return release, err
	}
	// A full pipe must not stop whoever writes to it: it loses lines then.
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return release, errors.Join(err, unix.Close(own))
	}
	file, in := os.NewFile(uintptr(own), "stderr"), os.NewFile(uintptr(pipe[0]), "what others write to stderr")
	a.console.Redirect(file)
	err = errors.Join(debug.SetCrashOutput(file, debug.CrashOptions{}), unix.Dup3(pipe[1], unix.Stderr, 0),
		unix.Close(pipe[1]))
	read := make(chan struct{})
	go func() {
		defer close(read)
		readStray(in, file, &stray{log: a.log})
	}()
	return func() {
		_ = errors.Join(debug.SetCrashOutput(nil, debug.CrashOptions{}), unix.Dup3(own, unix.Stderr, 0))
		select {
		case <-read:
		case <-time.After(time.Second): // another process still has it
		}
		a.console.Redirect(os.Stderr)
		_ = errors.Join(in.Close(), file.Close())
	}, err
}

func readStray(in io.Reader, own io.Writer, s *stray) {
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, _, err := lines.ReadLine()
		switch {
		case err != nil:
			return
		case json.Valid(line):
			_, _ = own.Write(append(line, '\n'))
		default:
			s.tell(slog.LevelWarn, string(line))
		}
	}
}
