package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"

	"dealhouse/internal/chdb"
	"dealhouse/internal/config"
	"dealhouse/internal/launch"
	"dealhouse/internal/service"
	"dealhouse/internal/warehouse"
)

// task is what a process of its own does with the embedded warehouse: it queries or serves it.
type task struct {
	Program             string
	LogFormat, LogLevel string
	Wide                bool
	Database            string
	Limits              chdb.Limits
	Query               *queryTask
	Serve               *serveTask
	Host                bool // it serves the process that keeps it, and others of the same user
	Lasting             bool // and that process runs until it is told to end
}

// launcher returns what starts this program again. The logger must exist by then.
func (a *app) launcher() *launch.Launcher {
	return launch.New(launch.Options{Become: a.become, Find: a.findEngine, Flush: a.flush, Env: a.env, Logger: a.log})
}

// findEngine makes sure that the folder of an embedded warehouse and the engine's library exist.
func (a *app) findEngine(ctx context.Context, dir string) (chdb.Place, error) {
	done := a.showWaiting("looking for the embedded ClickHouse")
	defer done()
	place, err := chdb.Find(ctx, chdb.Options{Dir: dir, Logger: a.log, Downloading: a.download.reached})
	if err != nil {
		return place, fmt.Errorf("opening the embedded warehouse: %w", err)
	}
	return place, nil
}

// describe adds the task to a job, with what the process that does it has to know of this one.
func (t task) describe(a *app, j *launch.Job) (err error) {
	command := "query"
	switch {
	case t.Host:
		command = "engine"
	case t.Serve != nil:
		command = "serve-warehouse"
	}
	t.Program, t.LogFormat, t.LogLevel, t.Wide = a.program, a.logFormat.value, a.logLevel.value, a.wide
	j.Args = []string{a.program, command}
	if j.Task, err = json.Marshal(t); err != nil {
		return fmt.Errorf("writing down what to do: %w", err)
	}
	return nil
}

// launch does the task. If this process may be replaced, it is replaced by one in the sandbox, which ends with the
// task. listener may be nil.
func (t task) launch(ctx context.Context, a *app, j launch.Job, listener net.Listener) error {
	l := a.launcher()
	if l.InPlace() {
		return t.run(ctx, a, j, listener)
	}
	if err := t.describe(a, &j); err != nil {
		return err
	}
	return l.Replace(j, listener)
}

// runLaunched runs this program as a process that was started for a task.
func (a *app) runLaunched(ctx context.Context) int {
	a.running = true
	err := a.runReceived(ctx)
	if flushing := a.flush(); err == nil {
		err = flushing
	}
	code := exitCode(ctx, err)
	if errors.Is(err, launch.ErrEnded) {
		return exitOK
	}
	a.report(ctx, err)
	return code
}

func (a *app) runReceived(ctx context.Context) error {
	j, listener, err := launch.Receive()
	if err != nil {
		return err
	}
	var t task
	if err := json.Unmarshal(j.Task, &t); err != nil {
		return fmt.Errorf("reading what to do: %w", err)
	}
	a.program, a.logFormat.value, a.logLevel.value, a.wide = t.Program, t.LogFormat, t.LogLevel, t.Wide
	a.fitTables()
	if err := a.startLogging(); err != nil {
		return err
	}
	if ctx, err = a.launcher().Enter(ctx, j, listener, a.stdin); err != nil {
		return err
	}
	if j.Front {
		return t.front(ctx, a, j, listener)
	}
	return t.run(ctx, a, j, listener)
}

// run opens the warehouse and does the task.
func (t task) run(ctx context.Context, a *app, j launch.Job, listener net.Listener) (err error) {
	dir := j.Place.Dir
	cfg := &config.Config{Warehouse: config.Warehouse{DSN: config.NewSecret(warehouse.EmbeddedScheme + dir), Database: t.Database}}
	o := a.access()
	o.Limits, o.LimitReaders, o.Claimed = t.Limits, t.Host, j.Controlled
	if !a.launcher().InPlace() {
		o.Stuck = a.endStuck
	}
	w, err := service.NewOpener(o).Alone(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if !t.Host { // whoever loads through this process does it after a migration
		if err := w.FinishInterrupted(ctx); err != nil {
			return err
		}
	}
	if t.Query != nil {
		return t.Query.run(ctx, a, w)
	}
	if t.Host {
		host := w.Engine().Host(t.Lasting)
		host.PID, host.Again = os.Getppid(), j.Again
		if t.Serve != nil {
			options := t.Serve.options(a)
			options.Behind = true
			host.Door = w.Engine().Handler(options)
		}
		return host.ServeOn(ctx, listener)
	}
	return t.Serve.run(ctx, a, w, listener, j.Controlled)
}

const withoutSandboxHelp = "run without the kernel sandbox, if the kernel has none or the engine needs more rights"

// loads marks a command as one that loads: it has its keys and the network, and leaves an embedded engine to another
// process.
func (a *app) loads(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&a.sandboxless, "without-sandbox", false, "load an embedded warehouse without the kernel sandbox")
	cmd.PreRun = func(*cobra.Command, []string) { a.apart = true }
	return cmd
}
