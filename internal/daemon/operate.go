package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"dealhouse/internal/catalog"
	"dealhouse/internal/daemon/web"
	"dealhouse/internal/warehouse"
)

// lookEvery is how often the daemon looks for requests of operators in the warehouse.
const lookEvery = 5 * time.Second

// CancelError is the cause of a run that an operator has stopped.
type CancelError struct{ By string }

func (e *CancelError) Error() string { return "cancelled by " + e.By }

// owed is what a stream must do as soon as it can, whatever its schedule says.
type owed struct{ run, full bool }

// Act records what an operator requests, and then carries it out (daemon-10). Its error is a *web.RefusalError, a
// *warehouse.KeyReusedError, or says why the warehouse could not record it.
func (d *Daemon) Act(ctx context.Context, a warehouse.Action) (web.Acted, error) {
	d.acting.Lock()
	defer d.acting.Unlock()
	if a.Key != "" {
		earlier, err := d.o.Warehouse.EarlierAction(ctx, a)
		if err != nil || earlier != nil {
			return web.Again(earlier), err
		}
	}
	acted, err := d.preview(ctx, a)
	if err != nil || !acted.Done {
		acted.Action = a
		return acted, err
	}
	if a.Action == warehouse.ActionConsent {
		if a.Deletes, err = agreed(ctx, d.o.Warehouse, a); err != nil {
			return web.Acted{}, err
		}
		acted.Text = fmt.Sprintf("One run of %s may delete up to %s. It starts now.", nameOf(a), web.Count(a.Deletes, "row"))
	}
	if acted.Action, err = d.o.Warehouse.RecordAction(ctx, a); err != nil {
		return web.Acted{}, err
	}
	d.log.Info("an operator has acted", "action", a.Action, "actor", a.Actor, "via", a.Via, "account", a.Account, "stream",
		a.Stream, "reason", a.Reason)
	return acted, d.execute(ctx, acted.Action)
}

// Ask records what an operator requests through the warehouse: a pause, its end, or consent. For consent, a zero RunID
// means the run that a guard stopped last. A daemon notices the request within seconds, wherever it runs, and a sync
// when it begins. Its error is a *web.RefusalError, or says why the warehouse could not record it.
func Ask(ctx context.Context, w *warehouse.Warehouse, a warehouse.Action) (acted web.Acted, err error) {
	switch a.Action {
	case warehouse.ActionPause, warehouse.ActionResume:
		directives, err := w.Directives(ctx)
		if err != nil {
			return acted, err
		}
		if acted, err = foreseePause(directives, a); err != nil || !acted.Done {
			return acted, err
		}
	case warehouse.ActionConsent:
		if err := latestGuarded(ctx, w, &a); err != nil {
			return acted, err
		}
		if a.Deletes, err = agreed(ctx, w, a); err != nil {
			return acted, err
		}
		acted.Text = fmt.Sprintf("The next run of %s that reads everything may delete up to %s, within a day.", nameOf(a),
			web.Count(a.Deletes, "row"))
		acted.Done = true
	default:
		return acted, refusef("%s is done by a daemon, not through the warehouse", a.Action)
	}
	acted.Action, err = w.RecordAction(ctx, a)
	if _, said := errors.AsType[*warehouse.FaultError](err); said {
		return acted, err
	}
	if advice := w.Advice(err); advice != "" {
		err = fmt.Errorf("%w; %s", err, advice)
	}
	return acted, err
}

// latestGuarded fills in the run that a consent is about, if none is named.
func latestGuarded(ctx context.Context, w *warehouse.Warehouse, a *warehouse.Action) error {
	if a.RunID != uuid.Nil {
		return nil
	}
	guarded, err := w.GuardedRun(ctx, warehouse.StreamID{Account: a.Account, Stream: a.Stream})
	if guarded != nil {
		a.RunID = guarded.RunID
	}
	return err
}

// agreed returns the number of deletions that a consent allows: those of the run that a guard stopped last.
func agreed(ctx context.Context, w *warehouse.Warehouse, a warehouse.Action) (uint64, error) {
	guarded, err := w.GuardedRun(ctx, warehouse.StreamID{Account: a.Account, Stream: a.Stream})
	switch {
	case err != nil:
		return 0, err
	case guarded == nil:
		return 0, refusef("no run of %s waits for consent: the guard of deletions has not stopped the last one", nameOf(a))
	case a.RunID != guarded.RunID:
		return 0, refusef("another run of %s was stopped since, which would have deleted %s: look at that one, run %s",
			nameOf(a), web.Count(guarded.Deletes, "row"), guarded.RunID)
	}
	return guarded.Deletes, nil
}

// preview returns what an action would do now. acted.Done says whether there is something to do.
func (d *Daemon) preview(ctx context.Context, a warehouse.Action) (acted web.Acted, err error) {
	asked := d.inLoop(ctx, func(l *loop) { acted, err = l.foresee(a) })
	return acted, errors.Join(asked, err)
}

// execute does what an operator has requested.
func (d *Daemon) execute(ctx context.Context, a warehouse.Action) error {
	switch a.Action {
	case warehouse.ActionPause, warehouse.ActionResume, warehouse.ActionConsent:
		return d.applyRequests(ctx)
	case warehouse.ActionReload:
		answer := make(chan error, 1)
		if err := d.inLoop(ctx, func(l *loop) { l.reload(l.serving, answer) }); err != nil {
			return err
		}
		select {
		case err := <-answer:
			if err != nil {
				return refusef("the configuration was refused, and the previous one stays in force: %s", err)
			}
			return nil
		case <-ctx.Done():
			return refusef("the configuration is still being read: the log will show the result")
		}
	}
	return d.inLoop(ctx, func(l *loop) { l.carryOut(a) })
}

// directives has what operators have requested, as one reading found it. Of two readings, the one that began later
// knows at least as much. The other must not take effect after it, or a pause would end by itself.
type directives struct {
	warehouse.Directives
	reading uint64
}

func (d *Daemon) readDirectives(ctx context.Context) (x directives, err error) {
	x.reading = d.readings.Add(1)
	x.Directives, err = d.o.Warehouse.Directives(ctx)
	return x, err
}

// applyRequests reads the requests of operators from the warehouse, and puts them into effect.
func (d *Daemon) applyRequests(ctx context.Context) error {
	directives, err := d.readDirectives(ctx)
	if err != nil {
		return err
	}
	return d.inLoop(ctx, func(l *loop) {
		l.direct(directives)
		if !l.draining.Load() {
			l.turn()
		}
	})
}

// applyRequestsAgain calls applyRequests from time to time, because commands and other machines write
// requests to the warehouse too.
func (d *Daemon) applyRequestsAgain(ctx context.Context) {
	looks := d.o.looks
	if looks == nil {
		t := time.NewTicker(lookEvery)
		defer t.Stop()
		looks = t.C
	}
	for {
		select {
		case <-looks:
		case <-ctx.Done():
			return
		}
		if err := d.applyRequests(ctx); err != nil && ctx.Err() == nil {
			d.log.Debug("could not read what operators have asked for", "error", err)
		}
		if err := d.renewKeys(ctx); err != nil && ctx.Err() == nil {
			d.log.Debug("could not check whether API keys have changed", "error", err)
		}
	}
}

// inLoop runs a function in the loop, and returns when it is done. An error means that the loop has ended.
func (d *Daemon) inLoop(ctx context.Context, do func(*loop)) error {
	done := make(chan struct{})
	select {
	case d.asks <- func(l *loop) { defer close(done); do(l) }:
		<-done
		return nil
	case <-d.stopped:
		return refusef("the daemon has ended")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func refusef(format string, args ...any) error {
	return &web.RefusalError{Reason: fmt.Sprintf(format, args...)}
}

// nameOf returns what an action is about, for a sentence.
func nameOf(a warehouse.Action) string {
	if a.Stream == "" {
		return "account " + a.Account
	}
	return strings.ReplaceAll(a.Stream, "_", " ") + " of " + a.Account
}

// targets returns the streams that an action is about.
func (l *loop) targets(a warehouse.Action) (all []*entry) {
	for _, e := range l.timetable.entries {
		if e.Job.Account == a.Account && (a.Stream == "" || e.Job.Stream.Name == a.Stream) {
			all = append(all, e)
		}
	}
	return all
}

func (l *loop) foresee(a warehouse.Action) (web.Acted, error) {
	targets := l.targets(a)
	switch {
	case l.draining.Load():
		return web.Acted{}, refusef("the daemon is shutting down")
	case a.Action == warehouse.ActionReload && l.o.Load == nil:
		return web.Acted{}, refusef("this daemon cannot read its configuration again")
	case a.Action == warehouse.ActionReload:
		return web.Acted{Done: true, Text: "The configuration was read again and is in force."}, nil
	case len(targets) == 0:
		return web.Acted{}, &web.RefusalError{Unknown: true, Reason: "the configuration has no " + nameOf(a)}
	}
	switch a.Action {
	case warehouse.ActionPause, warehouse.ActionResume:
		return foreseePause(l.directives.Directives, a)
	case warehouse.ActionCancel:
		return foreseeCancel(a, targets), nil
	case warehouse.ActionRun, warehouse.ActionRunFull, warehouse.ActionConsent:
		return l.foreseeRun(a, targets)
	}
	return web.Acted{}, refusef("there is no action %q", a.Action)
}

// foreseePause does the part of foresee for pausing and resuming, of a stream or an account.
func foreseePause(d warehouse.Directives, a warehouse.Action) (web.Acted, error) {
	var own, of *warehouse.Action
	for i, p := range d.Pauses {
		switch {
		case p.Account == a.Account && p.Stream == a.Stream:
			own = &d.Pauses[i]
		case p.Account == a.Account && p.Stream == "":
			of = &d.Pauses[i]
		}
	}
	switch pausing := a.Action == warehouse.ActionPause; {
	case pausing && own != nil:
		return web.Acted{Text: capital(nameOf(a)) + " is paused already, by " + own.Actor + "."}, nil
	case pausing:
		return web.Acted{Done: true, Text: capital(nameOf(a)) +
			" is paused: no run starts before it is resumed. A run under way goes on."}, nil
	case own == nil && of != nil:
		return web.Acted{}, refusef("all of account %s is paused, by %s: resume the account", a.Account, of.Actor)
	case own == nil:
		return web.Acted{Text: capital(nameOf(a)) + " is not paused."}, nil
	}
	text := capital(nameOf(a)) + " is resumed: what came due meanwhile runs now."
	if a.Stream == "" {
		for _, p := range d.Pauses {
			if p.Account == a.Account && p.Stream != "" {
				text += " " + capital(nameOf(p)) + " stays paused, by " + p.Actor + "."
			}
		}
	}
	return web.Acted{Done: true, Text: text}, nil
}

func foreseeCancel(a warehouse.Action, targets []*entry) web.Acted {
	n := uint64(0)
	for _, e := range targets {
		if e.running != nil {
			n++
		}
	}
	if n == 0 {
		return web.Acted{Text: "No run of " + nameOf(a) + " is under way in this daemon."}
	}
	return web.Acted{Done: true, Text: web.Count(n, "run") + " of " + nameOf(a) +
		" will stop. What was read to its end is still loaded, and nothing else."}
}

// foreseeRun does the part of foresee for all actions that start a run.
func (l *loop) foreseeRun(a warehouse.Action, targets []*entry) (web.Acted, error) {
	var start, running, paused, disabled uint64
	for _, e := range targets {
		switch {
		case !e.Enabled:
			disabled++
		case e.paused != nil:
			paused++
		case e.running != nil && a.Action != warehouse.ActionRunFull:
			running++
		default:
			start++
		}
	}
	switch {
	case start > 0:
		text := "A run of " + nameOf(a) + " starts now."
		switch {
		case !l.timetable.room(targets[0]):
			text = web.Count(start, "run") + " of " + nameOf(a) +
				" will start when others have ended: as many as daemon.max_runs allows are under way."
		case a.Stream == "":
			text = web.Count(start, "run") + " of " + nameOf(a) + " will start now."
		}
		for _, rest := range []struct {
			n    uint64
			what string
		}{{running, "under way already"}, {paused, "paused"}} {
			if rest.n > 0 {
				text += fmt.Sprintf(" %d more: %s.", rest.n, rest.what)
			}
		}
		return web.Acted{Done: true, Text: text}, nil
	case running > 0 && a.Action == warehouse.ActionConsent:
		return web.Acted{}, refusef("a run of %s is under way: wait for its end, or cancel it", nameOf(a))
	case running > 0:
		return web.Acted{Text: "A run of " + nameOf(a) + " is under way already."}, nil
	case paused > 0:
		return web.Acted{}, refusef("%s is paused: resume it first", nameOf(a))
	}
	return web.Acted{}, refusef("%s is disabled in the configuration", nameOf(a))
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// carryOut starts or stops runs.
func (l *loop) carryOut(a warehouse.Action) {
	for _, e := range l.targets(a) {
		switch {
		case a.Action == warehouse.ActionCancel && e.running != nil:
			e.running.cancelled = true
			e.running.cancel(&CancelError{By: a.Actor})
		case a.Action == warehouse.ActionCancel || !e.Enabled || e.paused != nil:
		case a.Action == warehouse.ActionRunFull:
			e.owed.full = true
		case e.running == nil:
			e.owed.run = true
		}
	}
	if !l.draining.Load() {
		l.turn()
	}
}

// direct puts the newest known requests of operators into effect (daemon-10).
func (l *loop) direct(d directives) {
	if d.reading < l.directives.reading {
		d = l.directives
	}
	l.directives = d
	for _, e := range l.timetable.entries {
		e.paused = d.PauseOf(e.id())
		if e.Enabled {
			l.o.Metrics.SetPaused(e.id(), e.paused != nil)
			l.o.Metrics.planned(e.id(), e.next())
		}
	}
	for _, c := range d.Consents {
		for _, e := range l.targets(c) {
			if e.consent != c.ID {
				e.consent = c.ID
				// Only a run that reads everything can be stopped by this guard.
				e.owed.run, e.owed.full = true, e.owed.full || e.Job.Stream.Kind == catalog.Incremental
			}
		}
	}
}
