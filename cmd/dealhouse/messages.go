package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"dealhouse/internal/dealapi"
	"dealhouse/internal/service"
	"dealhouse/internal/syncer"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// report prints the error that ended the program, unless the command has printed it.
func (a *app) report(ctx context.Context, err error) {
	var told reported
	if err == nil || errors.As(err, &told) {
		return
	}
	var signal service.SignalError
	if errors.As(context.Cause(ctx), &signal) {
		if is[service.SignalError](err) && a.unattended {
			a.log.Info(signal.Error()) // this is how a daemon is stopped
			return
		}
		a.printMessage("", signal) // errors that the signal caused are of no interest
		return
	}
	a.printMessage("error", err)
}

// printMessage prints one message that is neither a log line nor a result: for people as a sentence, for log collectors
// as a line of their format.
func (a *app) printMessage(kind string, err error, attrs ...any) {
	if a.logsOnly() {
		level := slog.LevelError
		if kind != "error" {
			level = slog.LevelWarn
		}
		a.log.Log(context.Background(), level, term.Message(err), attrs...)
		return
	}
	if kind != "" {
		kind += ": "
	}
	fmt.Fprintf(a.console, "%s%s\n", kind, term.Message(err))
}

// logEmpty says why a list is empty, if it is: a header without rows looks like a mistake.
func (a *app) logEmpty(rows int, why string) {
	if rows == 0 {
		a.log.Info(why)
	}
}

// logsOnly reports that even messages to people go to the log.
func (a *app) logsOnly() bool { return a.unattended || a.logFormat.value == "json" }

// printAboutStreams prints a message that names the account and the streams it is about.
func (a *app) printAboutStreams(kind, account string, streams []string, err error) {
	if !a.logsOnly() {
		text := strings.TrimPrefix(term.Message(err), "account "+account+": ") // the errors of the API begin so
		a.printMessage(kind, fmt.Errorf("%s: %s: %s", account, term.List(streams), text))
		return
	}
	a.printMessage(kind, err, "account", account, "streams", streams)
}

// printWarning prints a warning of the service.
func (a *app) printWarning(w service.Warning) {
	if len(w.Streams) == 0 {
		a.printMessage("warning", w.Err)
		return
	}
	a.printAboutStreams("warning", w.Account, w.Streams, w.Err)
}

// printFailures prints each error and warning of the runs once, and returns the exit code of the worst.
func (a *app) printFailures(ctx context.Context, svc *service.Service, results []syncer.Result) error {
	for _, r := range results {
		svc.WarnAbout(r.Record)
	}
	var codes []int
	interrupted := 0
	told := map[string]bool{}
	for _, r := range results {
		if r.Err == nil {
			continue
		}
		if service.WasStopped(ctx, r.Err) {
			interrupted++
			continue
		}
		codes = append(codes, faultCode(r.Err))
		// Streams of an account tend to fail for one reason: a refused key, a service that is down.
		reason := cause(r.Err)
		if told[r.Record.Account+reason] {
			continue
		}
		told[r.Record.Account+reason] = true
		var same []string
		for _, other := range results {
			if other.Err != nil && other.Record.Account == r.Record.Account && cause(other.Err) == reason {
				same = append(same, other.Record.Stream)
			}
		}
		err := r.Err
		if len(same) > 1 || is[*syncer.GuardError](err) || is[*syncer.IncompleteError](err) || warehouse.IsReadOnly(err) {
			err = errors.New(reason)
			if api, is := errors.AsType[*dealapi.Error](r.Err); is && api.URL != "" {
				err = fmt.Errorf("%s [such as GET %s]", reason, api.URL)
			}
		}
		a.printAboutStreams("error", r.Record.Account, same, err)
	}
	if interrupted > 0 {
		a.printMessage("warning", fmt.Errorf("%s stopped before the end; what was published stays, and the next sync reads the rest", term.Plural(uint64(interrupted), "run")))
	}
	if code := worst(codes...); code != exitOK || interrupted > 0 {
		return reported{max(code, exitFault)}
	}
	return nil
}

// cause returns the reason of a failure without the parts that differ between the streams of an account.
func cause(err error) string {
	if guard, ok := errors.AsType[*syncer.GuardError](err); ok {
		return "stopped by a guard: " + guard.Reason + "; " + guard.Advice
	}
	if partial, ok := errors.AsType[*syncer.IncompleteError](err); ok {
		return strings.TrimPrefix(partial.Error(), "account "+partial.Account+": "+partial.Stream+": ")
	}
	if e, ok := errors.AsType[*dealapi.Error](err); ok {
		return e.Reason()
	}
	if warehouse.IsReadOnly(err) {
		return "the warehouse is read-only for this user; if it is one that `dealhouse serve-warehouse` serves, that needs --allow-writes"
	}
	return err.Error()
}
