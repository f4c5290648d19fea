package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"dealhouse/internal/access"
	"dealhouse/internal/chdb"
	"dealhouse/internal/config"
	"dealhouse/internal/sandbox"
)

// errand is what the program does as a process that holds nothing else: it asks or serves the embedded warehouse. The
// process that has read the command line, the configuration and the environment writes it down, and becomes the one
// that carries it out, in the sandbox. The only secret in it is the password of the door.
type errand struct {
	Program             string
	LogFormat, LogLevel string
	Place               chdb.Place
	Database            string
	Walls               bool // the sandbox is to be enforced, as far as the kernel can
	Leash               bool // the process that sent it out waits for it, and ends it by closing its stdin
	Limits              chdb.Limits
	Ask                 *asking
	Serve               *serving
}

// errandVariable tells a process that it has an errand, and which of its points has been reached.
const errandVariable = "DEALHOUSE_ERRAND"

// The points of an errand.
const (
	outside = "outside" // still to enter the sandbox
	inside  = "inside"
	// A command that loads has no errand, but enters a sandbox too (see confine).
	loading     = "loading"
	loadingNote = "loading+note" // and some files of its configuration come along
)

// Files that come along.
const (
	noteFile     = 3 // the errand, as JSON
	listenerFile = 4
)

// harmless are the variables that the sandboxed process keeps: what the terminal can do, and how Go uses the machine.
var harmless = []string{
	"LANG", "LC_ALL", "LC_CTYPE", "TERM", "NO_COLOR", "COLUMNS", "TZ", "GOMEMLIMIT", "GOGC", "GOMAXPROCS", "GOTRACEBACK",
}

// sends carries out an errand. If this process may be replaced, it is replaced by one in the sandbox, which ends with
// the errand. listener may be nil.
func (a *app) sends(ctx context.Context, e errand, listener net.Listener) error {
	if a.become == nil {
		return a.carryOut(ctx, e, listener)
	}
	files, err := e.files(listener)
	if err != nil {
		return err
	}
	policy := sandbox.Policy{
		Read: append(sandbox.SystemFiles(), e.Place.Library), Write: []string{e.Place.Dir},
		Env: e.environment(a.env, inside), Files: files, Unconfined: !e.Walls,
	}
	command := "query"
	if e.Serve != nil {
		command = "serve-warehouse"
	}
	if err := a.flush(); err != nil {
		return err
	}
	// The command line may hold a password, so the process list shows only the name of the command.
	return a.become(policy, []string{e.Program, command})
}

// environment returns the environment of the process that carries out the errand.
func (e errand) environment(env []string, stage string) []string {
	return append(sandbox.Keep(env, harmless...),
		errandVariable+"="+stage, chdb.EnvLibrary+"="+e.Place.Library, "TMPDIR="+filepath.Join(e.Place.Dir, "engine"))
}

// files are the note and the listener, if any, in their order.
func (e errand) files(listener net.Listener) ([]*os.File, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("writing down what to do: %w", err)
	}
	note, err := sandbox.Note(text)
	if err != nil {
		return nil, err
	}
	files := []*os.File{note}
	if tcp, ok := listener.(*net.TCPListener); ok {
		file, err := tcp.File()
		if err != nil {
			return nil, fmt.Errorf("passing the listener on: %w", err)
		}
		files = append(files, file)
	}
	return files, nil
}

// runErrand runs this program as a process that was started to carry out an errand.
func (a *app) runErrand(ctx context.Context, stage string) int {
	a.running = true
	err := a.pursue(ctx, stage)
	if flushing := a.flush(); err == nil {
		err = flushing
	}
	code := exitCode(ctx, err)
	if errors.Is(err, errLeash) {
		return exitOK
	}
	a.report(ctx, err)
	return code
}

// errLeash is the cause of a context that ended because the process that started this one asked for it, or is gone.
var errLeash = errors.New("the process that waits for this one wants it to end")

func (a *app) pursue(ctx context.Context, stage string) error {
	e, listener, err := receive()
	if err != nil {
		return fmt.Errorf("%s is set, which only this program itself may do: unset it: %w", errandVariable, err)
	}
	a.program, a.logFormat.value, a.logLevel.value = e.Program, e.LogFormat, e.LogLevel
	if err := a.startLogging(); err != nil {
		return err
	}
	if stage != inside {
		return a.sends(ctx, e, listener)
	}
	if e.Walls {
		if err := errors.Join(sandbox.Policy{}.Verify(), sandbox.Seal()); err != nil {
			return err
		}
	}
	if e.Leash {
		// Ctrl-C reaches both processes. The other one decides what it means.
		signal.Ignore(syscall.SIGINT)
		held, let := context.WithCancelCause(ctx)
		go func() {
			_, _ = io.Copy(io.Discard, a.stdin)
			let(errLeash)
		}()
		ctx = held
	}
	return a.carryOut(ctx, e, listener)
}

// receive reads what came along.
func receive() (e errand, listener net.Listener, err error) {
	note := os.NewFile(noteFile, "errand")
	if note == nil {
		return e, nil, os.ErrInvalid
	}
	defer func() { _ = note.Close() }() // it was only read
	if err := json.NewDecoder(note).Decode(&e); err != nil {
		return e, nil, err
	}
	if e.Serve == nil {
		return e, nil, nil
	}
	file := os.NewFile(listenerFile, "listener")
	if file == nil {
		return e, nil, os.ErrInvalid
	}
	defer func() { _ = file.Close() }() // the listener is a copy
	listener, err = net.FileListener(file)
	return e, listener, err
}

// carryOut opens the warehouse and does what the errand says.
func (a *app) carryOut(ctx context.Context, e errand, listener net.Listener) (err error) {
	cfg := &config.Config{Warehouse: config.Warehouse{DSN: config.NewSecret("embedded:" + e.Place.Dir),
		Database: e.Database}}
	o := a.access()
	o.Limits = e.Limits
	w, err := access.New(o).Alone(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if e.Ask != nil {
		return e.Ask.run(ctx, a, w)
	}
	return e.Serve.run(ctx, a, w, listener)
}

// newErrand makes an errand for the embedded warehouse in dir.
func (a *app) newErrand(ctx context.Context, dir, database string) (errand, error) {
	e := errand{Program: a.program, LogFormat: a.logFormat.value, LogLevel: a.logLevel.value, Database: database}
	if a.become == nil { // Open finds everything
		e.Place.Dir = dir
		return e, nil
	}
	var err error
	e.Place, err = a.findEngine(ctx, dir)
	return e, err
}

// findEngine makes sure that the folder of an embedded warehouse and the engine's library exist. Inside the sandbox,
// this program could not create them.
func (a *app) findEngine(ctx context.Context, dir string) (chdb.Place, error) {
	done := a.showWaiting("looking for the embedded ClickHouse")
	defer done()
	place, err := chdb.Find(ctx, chdb.Options{Dir: dir, Logger: a.log, Downloading: a.download.reached})
	if err != nil {
		return place, fmt.Errorf("opening the embedded warehouse: %w", err)
	}
	return place, nil
}

const withoutSandboxHelp = "run without the kernel sandbox, if the kernel has none or the engine needs more rights"

// raiseWalls decides about the sandbox. If it cannot be complete, other machines are not served unless the operator has
// allowed it, and the log says so.
func (a *app) raiseWalls(e *errand, without, strangers bool) error {
	e.Walls = !without
	missing := strings.Join(sandbox.Policy{}.Missing(), ", ")
	switch {
	case a.become == nil:
	case without:
		a.log.Warn("NO SANDBOX, as --without-sandbox says: whatever someone makes the engine do, it does with all of your rights, but without your environment variables")
	case missing == "":
	case strangers:
		return usagef("this kernel has no complete sandbox, because it cannot refuse %s: use Linux 6.7 or later, listen on 127.0.0.1 only, or add --without-sandbox to accept that", missing)
	default:
		a.log.Warn("NO COMPLETE SANDBOX: this kernel cannot refuse " + missing +
			"; whatever someone makes the engine do there, it does with your rights (Linux 6.7 or later can)")
	}
	return nil
}
