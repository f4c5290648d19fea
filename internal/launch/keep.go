package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	// endGrace is how long the process of a job may take to end when it is told to.
	endGrace = 10 * time.Second
	// firstPause and longestPause are between two starts, where the process ends again and again. One that has lived for
	// steady begins anew.
	firstPause, longestPause, steady = time.Second, 30 * time.Second, time.Minute
	// news is how long the end of a process may take to become known.
	news = 2 * time.Second
	// beat is between two questions whether the process still answers, and patience how long an answer may take. After
	// missed questions in a row it is ended. One alone says little: the machine may have slept meanwhile.
	beat, patience, missed = 5 * time.Second, 10 * time.Second, 3
)

// KeepOptions say how a job is kept going.
type KeepOptions struct {
	// Answers waits until the process does its job.
	Answers func(context.Context) error
	// Died is told of each end that nobody asked for.
	Died func(cause error)
}

// Keeper has a child process do a job, and starts it anew when that ends by itself (launch-5).
type Keeper struct {
	launcher *Launcher
	job      Job
	listener net.Listener
	options  KeepOptions

	mu     sync.Mutex
	up     chan struct{} // closed while the process answers
	down   chan struct{} // closed while it does not
	cause  error         // why it ended last
	result error         // why there is no process any more
	over   chan struct{} // closed then
}

// ExitError is the error of a process that has ended before it did its job. It has said why.
type ExitError struct {
	Code  int
	cause error
}

func (e *ExitError) Error() string { return e.cause.Error() }

// Keep starts the first process. ctx ends the last one. The listener stays the caller's: each process gets a copy.
func (l *Launcher) Keep(ctx context.Context, j Job, listener net.Listener, o KeepOptions) *Keeper {
	j.Controlled = true
	k := &Keeper{launcher: l, job: j, listener: listener, options: o, up: make(chan struct{}), down: closed(),
		over: make(chan struct{}), cause: errors.New("the engine is being started")}
	go func() {
		defer close(k.over)
		k.result = k.run(ctx)
	}()
	return k
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// Wait waits until there is no process any more, and says why.
func (k *Keeper) Wait() error {
	<-k.over
	return k.result
}

// Up waits until the process answers, and says why it does not.
func (k *Keeper) Up(ctx context.Context) error {
	k.mu.Lock()
	up := k.up
	k.mu.Unlock()
	select {
	case <-up:
		return nil
	case <-k.over:
		return k.result
	case <-ctx.Done():
		return k.why()
	}
}

// Ended waits a moment for the news that the process has ended, and says why.
func (k *Keeper) Ended(ctx context.Context) error {
	k.mu.Lock()
	down := k.down
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, news)
	defer cancel()
	select {
	case <-down:
		return fmt.Errorf("%w, and is started anew: send the statement again, unless it is the one that does this", k.why())
	case <-k.over:
		return k.result
	case <-ctx.Done():
		return errors.New("the engine has broken off the connection: try again")
	}
}

func (k *Keeper) why() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.cause
}

// run keeps a process going until ctx ends, or until the first one ends before it has done anything.
func (k *Keeper) run(ctx context.Context) error {
	pause := firstPause
	for first := true; ; first = false {
		begin := time.Now()
		answered, err := k.child(ctx, first)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if first && !answered {
			return err
		}
		k.job.Again = true
		if answered && time.Since(begin) > steady {
			pause = firstPause
		}
		if answered && pause == firstPause { // who waits for an answer waits no longer than it takes to start
			pause *= 2
			continue
		}
		if !slept(ctx, pause) {
			return context.Cause(ctx)
		}
		pause = min(2*pause, longestPause)
	}
}

// child runs one process to its end. It reports whether the process has answered. Died is told before those who wait
// for the process: what they had asked is still under way.
func (k *Keeper) child(ctx context.Context, first bool) (answered bool, err error) {
	// The kernel ends the process with the thread that has started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd, control, err := k.launcher.start(k.job, k.listener)
	if err != nil {
		return false, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	asking, stop := context.WithCancel(ctx)
	defer stop()
	answers, silent := make(chan struct{}, 1), make(chan struct{}, 1)
	go k.ask(asking, answers, silent)
	frozen := false
	for {
		select {
		case <-answers:
			answered = true
			k.set(true, nil)
		case <-silent:
			frozen = true
			_ = cmd.Process.Kill() // if it has ended by itself, the next case says so
		case err := <-ended:
			if err = died(err); frozen {
				err = errSilent
			}
			if ctx.Err() == nil && (answered || !first) {
				k.options.Died(err)
			}
			k.set(false, err)
			return answered, err
		case <-ctx.Done():
			k.set(false, context.Cause(ctx))
			_ = finish(cmd.Process, control, ended) // it was told to
			return answered, context.Cause(ctx)
		}
	}
}

// errSilent is the cause of an end that this process has brought about.
var errSilent = errors.New("the process with the engine did not answer any more, and was ended")

// ask waits until the process answers, and then asks it again and again. It tells when it answers for the first time,
// and when it does not any more.
func (k *Keeper) ask(ctx context.Context, answers, silent chan<- struct{}) {
	for k.options.Answers(ctx) != nil {
		if !slept(ctx, firstPause/20) {
			return
		}
	}
	answers <- struct{}{}
	for misses := 0; misses < missed; {
		if !slept(ctx, beat) {
			return
		}
		waiting, cancel := context.WithTimeout(ctx, patience)
		if misses++; k.options.Answers(waiting) == nil || waiting.Err() == nil { // a refusal comes from a process that lives
			misses = 0
		}
		cancel()
	}
	silent <- struct{}{}
}

// slept waits, and reports whether ctx still holds then.
func slept(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// set notes that the process answers, or that it has ended.
func (k *Keeper) set(up bool, cause error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if up {
		k.down = make(chan struct{})
		close(k.up)
		return
	}
	k.cause = cause
	select {
	case <-k.up:
		k.up = make(chan struct{})
		close(k.down)
	default:
	}
}

// died says how a process has ended.
func died(err error) error {
	exit, is := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return &ExitError{0, errors.New("the process with the engine has ended")}
	case !is:
		return fmt.Errorf("the process with the engine was lost: %w", err)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return &ExitError{1, fmt.Errorf("the process with the engine was ended by a signal (%s)", status.Signal())}
	}
	if exit.ExitCode() == ExitStuck {
		return &ExitError{ExitStuck, errors.New("the process with the engine has ended because a statement did not")}
	}
	return &ExitError{exit.ExitCode(), fmt.Errorf("the process with the engine has ended (exit code %d)", exit.ExitCode())}
}

// ExitStuck is the exit code of a process whose engine has a statement that does not end.
const ExitStuck = 75

// finish tells a process to end, and ends it if it does not. It returns what ended says.
func finish(p *os.Process, control io.Closer, ended <-chan error) error {
	_ = control.Close()
	grace := time.NewTimer(endGrace)
	defer grace.Stop()
	select {
	case err := <-ended:
		return err
	case <-grace.C:
		_ = p.Kill()
		return <-ended
	}
}

// start starts the process of a job. It ends when control is closed.
func (l *Launcher) start(j Job, listener net.Listener) (cmd *exec.Cmd, control io.Closer, err error) {
	files, err := j.files(listener)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		for _, f := range files {
			_ = f.Close() // the process has them
		}
	}()
	path, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("finding this program's own file: %w", err)
	}
	cmd = exec.Command(path) //nolint:gosec,noctx // this program itself, which ends with the control pipe
	cmd.Env, cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = j.environment(l.options.Env, stageOutside), files, os.Stdout,
		os.Stderr
	if control, err = cmd.StdinPipe(); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("starting the process with the engine: %w", err)
	}
	return cmd, control, nil
}
