package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"dealhouse/internal/chdb"
	"dealhouse/internal/sandbox"
)

// kept are the variables that the process of a job keeps: what the terminal can do, and how Go uses the machine.
var kept = []string{
	"LANG", "LC_ALL", "LC_CTYPE", "TERM", "NO_COLOR", "COLUMNS", "TZ", "GOMEMLIMIT", "GOGC", "GOMAXPROCS", "GOTRACEBACK",
}

// Job is what a process of its own does with an embedded warehouse.
type Job struct {
	// Args are what the list of processes shows: the command line itself may hold a password (launch-1).
	Args  []string
	Place chdb.Place
	// Task is what the program has to know there, as it writes and reads it.
	Task       json.RawMessage
	Sandboxed  bool // the sandbox is to be enforced, as far as the kernel can
	Controlled bool // the process that started it keeps it, and ends it by closing its stdin
	Again      bool // it takes the place of a process that has ended by itself
	// Front says that the process is not the one with the engine, but keeps it (Keeper): it needs to start processes.
	Front   bool
	Listens bool     // it has a listener
	Links   []string // folders that links in the data folder lead to, which it may use
}

// JobOptions say what a job may need.
type JobOptions struct {
	Dir            string // of the embedded warehouse
	WithoutSandbox bool   // the operator wants none
	Strangers      bool   // other machines are served
	// Own says that statements of this program are run, and that links in the folder may lead out of it. Unless there are
	// strangers, the caller says what is missing of the sandbox.
	Own bool
}

// IncompleteError says that the kernel's sandbox is not complete, for a job that serves other machines (launch-3).
type IncompleteError struct{ missing string }

func (e IncompleteError) Error() string {
	return fmt.Sprintf("this kernel has no complete sandbox, because it cannot block %s: use Linux 6.7 or later, listen on 127.0.0.1 only, or add --without-sandbox to accept that", e.missing)
}

// NewJob makes a job, and decides about its sandbox. Args and Task are for the caller to set.
func (l *Launcher) NewJob(ctx context.Context, o JobOptions) (j Job, err error) {
	j.Sandboxed = !o.WithoutSandbox
	if l.InPlace() { // chdb.Open finds everything
		j.Place.Dir = o.Dir
		return j, nil
	}
	if j.Place, err = l.options.Find(ctx, o.Dir); err != nil {
		return j, err
	}
	if o.Own {
		j.Links = linked(j.Place.Dir, tableDepth, []string{j.Place.Dir})[1:]
		if !o.Strangers {
			return j, nil
		}
	}
	missing := strings.Join(sandbox.Missing(), ", ")
	switch {
	case o.WithoutSandbox:
		l.options.Logger.Warn("NO SANDBOX, as --without-sandbox says: whatever someone makes the engine do, it does with all of your rights, but without your environment variables")
	case missing == "":
	case o.Strangers:
		return j, IncompleteError{missing}
	default:
		l.options.Logger.Warn("NO COMPLETE SANDBOX: this kernel cannot block " + missing +
			"; whatever someone makes the engine do there, it does with your rights (Linux 6.7 or later can)")
	}
	return j, nil
}

// Replace replaces this process by one in the sandbox that does the job, and returns only if that fails. listener may
// be nil.
func (l *Launcher) Replace(j Job, listener net.Listener) error {
	files, err := j.files(listener)
	if err != nil {
		return err
	}
	if err := l.options.Flush(); err != nil {
		return err
	}
	return l.options.Become(sandbox.Policy{
		Read: append(sandbox.SystemFiles(), j.Place.Library), Write: append([]string{j.Place.Dir}, j.Links...),
		Env: j.environment(l.options.Env, stageInside), Files: files, Unconfined: !j.Sandboxed || j.Front,
	}, j.Args)
}

// environment returns the environment of the process that does the job (launch-1).
func (j Job) environment(env []string, stage string) []string {
	return append(sandbox.Keep(env, kept...), settings(stage, j.Place)...)
}

// files are the note with the job and the listener, if any, in their order.
func (j Job) files(listener net.Listener) ([]*os.File, error) {
	opened, listens := listener.(interface{ File() (*os.File, error) })
	j.Listens = listens
	text, err := json.Marshal(j)
	if err != nil {
		return nil, fmt.Errorf("writing down what to do: %w", err)
	}
	note, err := sandbox.Note(text)
	if err != nil {
		return nil, err
	}
	if !listens {
		return []*os.File{note}, nil
	}
	file, err := opened.File()
	if err != nil {
		return nil, fmt.Errorf("passing the listener on: %w", err)
	}
	return []*os.File{note, file}, nil
}

// ErrEnded is the cause of a context that ended because the process that started this one asked for it, or is gone.
var ErrEnded = errors.New("the process that waits for this one wants it to end")

// Receive reads the job that this process was started for. listener is nil if the job has none.
func Receive() (j Job, listener net.Listener, err error) {
	defer func() {
		if err != nil {
			err = byHand(err)
		}
	}()
	note := os.NewFile(noteFile, "job")
	if note == nil {
		return j, nil, os.ErrInvalid
	}
	defer func() { _ = note.Close() }() // it was only read
	if err := json.NewDecoder(note).Decode(&j); err != nil {
		return j, nil, err
	}
	if !j.Listens {
		return j, nil, nil
	}
	file := os.NewFile(listenerFile, "listener")
	if file == nil {
		return j, nil, os.ErrInvalid
	}
	defer func() { _ = file.Close() }() // the listener is a copy
	listener, err = net.FileListener(file)
	return j, listener, err
}

// byHand is the error of a process that finds Variable set, and nothing that was handed over.
func byHand(err error) error {
	return fmt.Errorf("%s is set, which is reserved for dealhouse itself: unset it: %w", Variable, err)
}

// Enter begins the job that was received: it enters the sandbox, which replaces this process, or makes sure of it
// (launch-2). The returned context also ends, with ErrEnded, when the process that waits for this one closes its stdin.
func (l *Launcher) Enter(ctx context.Context, j Job, listener net.Listener, stdin io.Reader) (context.Context, error) {
	if os.Getenv(Variable) != stageInside {
		return ctx, l.Replace(j, listener)
	}
	if j.Sandboxed && !j.Front {
		if err := errors.Join(sandbox.Verify(), sandbox.Seal()); err != nil {
			return ctx, err
		}
	}
	if !j.Controlled {
		return ctx, nil
	}
	// Ctrl-C and a supervisor's signal reach both processes. The other one decides what they mean.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
	controlled, end := context.WithCancelCause(ctx)
	go func() {
		runtime.LockOSThread()
		endWithParent()
		_, _ = io.Copy(io.Discard, stdin)
		end(ErrEnded)
		<-time.After(endGrace)
		os.Exit(ExitStuck) // nobody else ends it where the other process is gone
	}()
	return controlled, nil
}
