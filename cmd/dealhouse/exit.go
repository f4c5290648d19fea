package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"dealhouse/internal/backup"
	"dealhouse/internal/chdb"
	"dealhouse/internal/config"
	"dealhouse/internal/daemon/client"
	"dealhouse/internal/daemon/web"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/launch"
	"dealhouse/internal/service"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// Exit codes. Schedulers rely on them.
const (
	exitOK    = 0
	exitFault = 1 // worth retrying
	exitUsage = 2 // command line, configuration, SQL
	exitAuth  = 3 // the API or the warehouse refused the credentials
	exitGuard = 4 // a person must look
)

// usageError is a mistake in the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// reported is a failure that the command has already told the user about.
type reported struct{ code int }

func (e reported) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// signalCode is the exit code that shells give to a process that a signal killed.
func signalCode(s service.SignalError) int {
	if n, ok := s.Signal.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return exitFault
}

// exitCode classifies an error by types and codes, never by its text. ctx is the context of the whole program.
func exitCode(ctx context.Context, err error) int {
	if err == nil {
		return exitOK
	}
	var signal service.SignalError
	if errors.As(context.Cause(ctx), &signal) {
		return signalCode(signal)
	}
	var told reported
	if errors.As(err, &told) {
		return told.code
	}
	return faultCode(err)
}

// faultCode is the exit code of one failure.
func faultCode(err error) int {
	switch {
	case is[*syncer.GuardError](err):
		return exitGuard
	case isAuth(err):
		return exitAuth
	case is[usageError](err), is[*config.Problems](err), is[service.SettingError](err), is[backup.UnusableError](err),
		is[client.NotFoundError](err), is[*web.RefusalError](err), is[launch.IncompleteError](err), isSettings(err):
		return exitUsage
	}
	return exitFault
}

// is reports whether an error is, or wraps, one of a type.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func isAuth(err error) bool {
	api, fromAPI := errors.AsType[*dealapi.Error](err)
	return is[client.RefusedError](err) || warehouse.IsAuth(err) || fromAPI && api.Kind == dealapi.KindAuth
}

// isSettings reports a failure that repeats until someone changes a setting or installs something.
func isSettings(err error) bool {
	for _, known := range []error{
		warehouse.ErrSchemaNew, warehouse.ErrSchemaOld, warehouse.ErrSchemaEarlier,
		chdb.ErrNotBuilt, chdb.ErrNoNPM, chdb.ErrNoVerifiedLibrary,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	if library, is := errors.AsType[*chdb.LibraryError](err); is && library.Setting {
		return true
	}
	if is[*warehouse.ServerError](err) || is[*warehouse.DroppedError](err) || is[*warehouse.CopyError](err) || is[*chdb.FolderError](err) || is[*web.ListenError](err) ||
		warehouse.IsSettingRefused(err) {
		return true
	}
	var api *dealapi.Error
	if !errors.As(err, &api) || api.CursorRefused() { // an expired cursor is not a mistake in a setting
		return false
	}
	return api.Kind == dealapi.KindNotFound || api.Kind == dealapi.KindConfig || api.Kind == dealapi.KindBadRequest
}

// worst is the exit code of several failures: the one that needs a person most. A guard comes before refused
// credentials, those before settings, and all of them before what a retry may heal.
func worst(codes ...int) int {
	order := []int{exitOK, exitFault, exitUsage, exitAuth, exitGuard}
	worst := exitOK
	for _, code := range codes {
		if slices.Index(order, code) > slices.Index(order, worst) {
			worst = code
		}
	}
	return worst
}
