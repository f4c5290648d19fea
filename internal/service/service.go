package service

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"dealhouse/internal/daemon"
	"dealhouse/internal/dealapi"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// Options of a Service.
type Options struct {
	Logger    *slog.Logger     // default: none
	Metrics   *daemon.Metrics  // default: none are kept
	Clock     func() time.Time // default: time.Now
	UserAgent string           // of the requests to the API; default: that of the API's client
	// Warn shows a person a problem that stops nothing. It is called from several goroutines at once. Default: a log
	// line.
	Warn func(Warning)
	// Findings is where new findings about payouts are logged. Default: Logger.
	Findings *slog.Logger
	// ShowWaiting tells a person what the program waits for, until done is called. Default: nothing is shown.
	ShowWaiting func(what string) (done func())
	// NotifyTimeout is how long Notify may take. Default: DefaultNotifyTimeout.
	NotifyTimeout time.Duration
}

// Warning is a problem that stops nothing. If it is about streams of an account, it names them.
type Warning struct {
	Account string
	Streams []string
	Err     error
}

// Service does what is to be done around runs. It is safe for concurrent use.
type Service struct {
	log           *slog.Logger
	findings      *slog.Logger
	metrics       *daemon.Metrics
	now           func() time.Time
	userAgent     string
	warn          func(Warning)
	showWaiting   func(what string) (done func())
	notifyTimeout time.Duration
	bodies        *dealapi.Bodies // of all API clients together
	observer      *syncer.Observer
	maxRuns       int // at once; 0: no limit

	reconciling sync.Mutex   // one reconciliation at a time
	folding     sync.Mutex   // by one run at a time
	reconciled  sync.Map     // by account, a reconciled
	fields      sync.Map     // by warehouse.StreamID: which fields that dealhouse does not know were last kept
	retired     atomic.Int64 // when old rows were last looked for, in seconds
	held        sync.Map     // by warehouse.StreamID: when all checks of a stream were last seen to hold
	nothingLeft sync.Map     // by account: when its transactions were last found to name no deal that is to be asked for
}

// New makes a Service.
func New(o Options) *Service {
	s := &Service{
		log: o.Logger, metrics: o.Metrics, now: o.Clock, userAgent: o.UserAgent, warn: o.Warn, showWaiting: o.ShowWaiting,
		notifyTimeout: o.NotifyTimeout, bodies: dealapi.NewBodies(), findings: o.Findings,
	}
	if s.notifyTimeout <= 0 {
		s.notifyTimeout = DefaultNotifyTimeout
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.findings == nil {
		s.findings = s.log
	}
	if s.metrics == nil {
		s.metrics = &daemon.Metrics{}
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.warn == nil {
		s.warn = func(w Warning) { s.log.Warn(w.Err.Error(), "account", w.Account, "streams", w.Streams) }
	}
	if s.showWaiting == nil {
		s.showWaiting = func(string) func() { return func() {} }
	}
	return s
}

// Observe has the observer told of all runs; nil: nobody. It is to be called before the first of them.
func (s *Service) Observe(o *syncer.Observer) { s.observer = o }

// LimitRuns sets how many runs of a sync or a backfill there may be at once. It is to be called before them.
func (s *Service) LimitRuns(n int) { s.maxRuns = n }

// warnOf warns of a stream.
func (s *Service) warnOf(account, stream string, err error) {
	s.warn(Warning{Account: account, Streams: []string{stream}, Err: err})
}

// SettingError is a selection or a setting that cannot be used. It repeats until someone changes the setting.
type SettingError struct{ Err error }

func (e SettingError) Error() string { return e.Err.Error() }

// Unwrap is what is wrong with it.
func (e SettingError) Unwrap() error { return e.Err }

// SignalError is the cause of a context that a signal ended.
type SignalError struct{ Signal os.Signal }

func (s SignalError) Error() string { return "stopped by a signal: " + s.Signal.String() }

// Canceled reports the error of something that ended because its context did.
func Canceled(err error) bool {
	_, signal := errors.AsType[SignalError](err)
	api, fromAPI := errors.AsType[*dealapi.Error](err)
	return signal || errors.Is(err, context.Canceled) || fromAPI && api.Kind == dealapi.KindCanceled
}

// WasStopped reports a run that ended because the program was told to.
func WasStopped(ctx context.Context, err error) bool { return ctx.Err() != nil && Canceled(err) }

// Prepare brings the schema up to date before a run. It also finishes publications that died halfway, so that readers
// need not wait for the next run of those streams. A dry run does neither, and fails if the schema is missing. An error
// means that no run can be made.
func (s *Service) Prepare(ctx context.Context, w *warehouse.Warehouse, dryRun bool) error {
	if dryRun {
		return w.CheckSchema(ctx)
	}
	statements, err := w.Migrate(ctx)
	if err != nil {
		return err
	}
	if len(statements) > 0 {
		s.log.Info("the schema of the warehouse is up to date now", "database", w.Database(), "statements", len(statements))
	}
	recovered, err := w.RecoverAll(ctx)
	s.metrics.Syncer.Recovered(recovered)
	if err != nil {
		s.log.Warn("could not finish publishing interrupted runs: the next run of each stream tries again",
			"error", err)
	}
	return nil
}
