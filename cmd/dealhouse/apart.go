package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"dealhouse/internal/catalog"
	"dealhouse/internal/chdb"
	"dealhouse/internal/launch"
	"dealhouse/internal/sandbox"
)

// This file has the embedded engine in a process of its own (launch-5): an engine that crashes, or does not end, takes
// nobody with it.

// keep keeps a process that does a task with the engine of a job's folder. ctx ends it.
func (t task) keep(ctx context.Context, a *app, j launch.Job, listener net.Listener,
	o launch.KeepOptions) (*launch.Keeper, error) {
	j.Front = false
	if err := t.describe(a, &j); err != nil {
		return nil, err
	}
	died := o.Died
	o.Died = func(cause error) {
		if died != nil {
			died(cause)
		}
		a.metrics.Warehouse.EngineDied()
	}
	return a.launcher().Keep(ctx, j, listener, o), nil
}

// front serves what the listener gets, through a process that has the engine.
func (t task) front(ctx context.Context, a *app, j launch.Job, listener net.Listener) error {
	release, err := chdb.Claim(j.Place.Dir)
	if err != nil {
		return fmt.Errorf("opening the embedded warehouse: %w", err)
	}
	defer release()
	inner, remove, err := chdb.ListenApart(j.Place.Dir, true)
	if err != nil {
		return err
	}
	defer remove()
	defer func() { _ = inner.Close() }() // nobody is left
	kept := new(keptEngine)
	front := chdb.NewFront(j.Place.Dir, kept, t.Serve.options(a))
	keeping, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	kept.Keeper, err = t.keep(keeping, a, j, inner, launch.KeepOptions{Answers: front.Answers, Died: func(cause error) {
		ids, n := front.UnderWay()
		a.log.Error("the engine ended by itself and is started anew", "error", cause, "requests", n, "query_ids", ids)
	}})
	if err != nil {
		return err
	}
	if err := kept.Up(ctx); err != nil {
		end(context.Cause(ctx))
		return notBegun(errors.Join(kept.Wait(), context.Cause(ctx)))
	}
	if t.Serve.Greet {
		t.Serve.greet(a.stdout, listener.Addr(), t.Database)
		if err := a.flush(); err != nil {
			return err
		}
	}
	err = front.Serve(ctx, listener)
	end(err)
	_ = kept.Wait() // it ends because it was told to
	return err
}

// keptEngine is set once the front that needs it exists.
type keptEngine struct{ *launch.Keeper }

// notBegun is the error of a process that could not begin. It has said why.
func notBegun(err error) error {
	if exit, is := errors.AsType[*launch.ExitError](err); is && exit.Code != 0 {
		return reported{exit.Code}
	}
	return err
}

// engineApart has a process of its own open the embedded warehouse of a command that loads.
type engineApart struct {
	*app
	told bool // what is missing of the sandbox has been said: a locked warehouse is opened again and again
}

// open starts the process, and joins it.
func (e *engineApart) open(ctx context.Context, dir string) (_ *chdb.Guest, err error) {
	j, err := e.launcher().NewJob(ctx, launch.JobOptions{Dir: dir, WithoutSandbox: e.sandboxless, Own: true,
		Strangers: e.door != nil && e.door.strangers})
	if err != nil {
		return nil, err
	}
	dir = j.Place.Dir
	release, err := chdb.Claim(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the embedded warehouse: %w", err)
	}
	e.disclose()
	listener, remove, err := chdb.ListenApart(dir, false)
	if err != nil {
		release()
		return nil, err
	}
	keeping, end := context.WithCancel(context.WithoutCancel(ctx))
	var keeper *launch.Keeper
	stop := func() error {
		remove()
		end()
		if keeper != nil {
			_ = keeper.Wait() // it ends because it was told to
		}
		release()
		return listener.Close()
	}
	defer func() {
		if err != nil {
			err = notBegun(cmp.Or(context.Cause(ctx), err))
			_ = stop()
		}
	}()
	// The database must not decide how the engine is opened: it need not exist yet.
	t := task{Database: catalog.DefaultDatabase, Host: true, Lasting: e.unattended}
	if e.door != nil {
		t.Limits, t.Serve = e.door.limits.engine(), &e.door.serve
	}
	keeper, err = t.keep(keeping, e.app, j, listener,
		launch.KeepOptions{Answers: asks(dir), Died: func(cause error) {
			e.log.Error("the engine ended by itself and is started anew: what it was doing is tried again", "error", cause)
		}})
	if err != nil {
		return nil, err
	}
	if err := keeper.Up(ctx); err != nil {
		return nil, err
	}
	guest, err := chdb.Join(ctx, dir)
	if err != nil {
		return nil, err
	}
	if e.door != nil {
		options := e.door.serve.options(e.app)
		if options.Agent, err = agentHandler(e.app); err != nil {
			return nil, err
		}
		e.door.front = chdb.NewHostFront(dir, keptEngine{keeper}, options)
	}
	if guest.Ended = stop; j.Sandboxed && e.unattended && len(sandbox.Missing()) == 0 {
		e.log.Info("the embedded ClickHouse runs in a kernel sandbox: a process of its own that can reach nothing but its folder",
			"pid", guest.PID())
	}
	return guest, nil
}

// asks returns what asks the process that has the engine whether it does its job.
func asks(dir string) func(context.Context) error {
	return func(ctx context.Context) error {
		guest, err := chdb.Join(ctx, dir)
		if err != nil {
			return err
		}
		return guest.Close()
	}
}

// disclose says, once, what the kernel cannot block. A daemon says it as a warning (launch-3).
func (e *engineApart) disclose() {
	missing := sandbox.Missing()
	if e.told || e.sandboxless || len(missing) == 0 {
		return
	}
	e.told = true
	level := slog.LevelInfo
	if e.unattended {
		level = slog.LevelWarn
	}
	e.log.Log(context.Background(), level, "this kernel cannot block "+strings.Join(missing, " and ")+
		" that the embedded ClickHouse does not need (Linux 6.7 or later can): there, it has the rights of the user of this process")
}

// endStuck ends a process whose engine has a statement that does not end.
func (a *app) endStuck(s chdb.Stuck) {
	a.log.Error("a statement does not end although it has to, and the engine cannot be made to: this process ends",
		"statement", s.Statement, "over", s.Over.String())
	os.Exit(launch.ExitStuck)
}
