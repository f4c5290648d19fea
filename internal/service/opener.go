package service

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"dealhouse/internal/chdb"
	"dealhouse/internal/config"
	"dealhouse/internal/warehouse"
)

// OpenOptions of an Opener.
type OpenOptions struct {
	Logger  *slog.Logger       // default: none
	Metrics *warehouse.Metrics // default: none are kept
	Limits  chdb.Limits        // of the embedded engine, if others may query it; zero: none
	// LimitReaders says that only they have the limits, and not what is loaded (chdb.Options).
	LimitReaders bool
	FewRows      bool // statements over few rows are cheap in the embedded engine: for tests (chdb.Options)
	// Patience is how long WhenFree waits for another process to close the warehouse.
	Patience time.Duration
	// Downloading is told how much of the embedded engine has been downloaded, if it has to be. It may be nil.
	Downloading func(percent int)
	// ShowWaiting tells a person what the program waits for, until done is called. Default: nothing is shown.
	ShowWaiting func(what string) (done func())
	// Claimed and Stuck are those of chdb.Options.
	Claimed bool
	Stuck   func(chdb.Stuck)
	// Apart, if set, has a process of its own open the embedded warehouse in dir, and returns what works with it.
	Apart func(ctx context.Context, dir string) (*chdb.Guest, error)
}

// Opener opens warehouses for commands: each says whether it reads or loads, and whether a warehouse is made where
// there is none.
type Opener struct{ options OpenOptions }

// Opening is one of the ways in which an Opener opens a warehouse.
type Opening func(context.Context, *config.Config) (*warehouse.Warehouse, error)

// NewOpener makes an Opener.
func NewOpener(o OpenOptions) *Opener {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.ShowWaiting == nil {
		o.ShowWaiting = func(string) func() { return func() {} }
	}
	return &Opener{o}
}

// Existing opens the warehouse for a command that only reads it, and never creates one. A person waits for the
// answer, so failed statements are not retried.
func (o *Opener) Existing(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
	return o.existing(ctx, cfg, throughAnybody)
}

// ExistingToLoad opens the warehouse for a command that loads. It does not create one.
func (o *Opener) ExistingToLoad(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
	return o.existing(ctx, cfg, throughDaemon)
}

// existing opens a warehouse that exists, without retries. In an embedded one, it first finishes what a killed process
// had begun to publish.
func (o *Opener) existing(ctx context.Context, cfg *config.Config, lasting bool) (*warehouse.Warehouse, error) {
	if dir, embedded := cfg.Warehouse.EmbeddedDir(); embedded {
		if err := MustExist(dir); err != nil {
			return nil, err
		}
	}
	once := warehouse.Options{NoRetry: true}
	if lasting { // it loads
		once.SigningKeyFile = cfg.Warehouse.SigningKeyFile
	}
	if w, err := o.join(ctx, cfg, lasting, once); w != nil || err != nil {
		return w, err
	}
	w, err := o.open(ctx, cfg, once)
	if _, embedded := cfg.Warehouse.EmbeddedDir(); err != nil || !embedded {
		return w, err
	}
	if err := w.FinishInterrupted(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// OrCreate opens the warehouse for a command that writes, and creates it if it does not exist.
func (o *Opener) OrCreate(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
	if w, err := o.join(ctx, cfg, throughDaemon, asConfigured(cfg)); w != nil || err != nil {
		return w, err
	}
	return o.open(ctx, cfg, asConfigured(cfg))
}

// Alone opens the warehouse for a command that needs an embedded one for itself, and does not work through a process
// that others have started. It creates one that does not exist.
func (o *Opener) Alone(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
	w, err := o.open(ctx, cfg, asConfigured(cfg))
	if dir, embedded := cfg.Warehouse.EmbeddedDir(); embedded && errors.Is(err, chdb.ErrLocked) {
		err = cmp.Or(MustBeFree(ctx, dir), err)
	}
	return w, err
}

// Restoring opens the embedded warehouse in a folder that is being restored into.
func (o *Opener) Restoring(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
	return o.connect(ctx, cfg, warehouse.Options{NoRetry: true, Restoring: true})
}

// Join opens an embedded warehouse, to read it, that another process has open and shares. Both results are nil if none
// does.
func (o *Opener) Join(ctx context.Context, cfg *config.Config) (*warehouse.Warehouse, error) {
	return o.join(ctx, cfg, throughAnybody, warehouse.Options{NoRetry: true})
}

// asConfigured are the options of a command that writes: it retries a statement for as long as the configuration says.
func asConfigured(cfg *config.Config) warehouse.Options {
	return warehouse.Options{MaxRetryElapsed: cfg.Warehouse.MaxRetryElapsed, NoRetry: cfg.Warehouse.MaxRetryElapsed == 0,
		SigningKeyFile: cfg.Warehouse.SigningKeyFile}
}

// By whom a command may work with an embedded warehouse that another process has open (readers do not wait).
const (
	throughAnybody = false
	throughDaemon  = true
)

// join opens an embedded warehouse that another process has open and shares. Both results are nil where nobody does.
func (o *Opener) join(ctx context.Context, cfg *config.Config, lasting bool,
	x warehouse.Options) (*warehouse.Warehouse, error) {
	dir, embedded := cfg.Warehouse.EmbeddedDir()
	if !embedded {
		return nil, nil //nolint:nilnil // nobody to join is no error
	}
	guest, err := chdb.Join(ctx, dir)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		o.options.Logger.Debug("no other process shares the embedded warehouse", "reason", err)
		return nil, nil //nolint:nilnil // nobody to join is no error
	}
	if lasting && !guest.Lasting() {
		_ = guest.Close() // nothing was asked
		return nil, nil   //nolint:nilnil // the caller waits for its end
	}
	o.options.Logger.Log(ctx, sharing(guest), "another dealhouse has the embedded warehouse open: working through it", "pid",
		guest.PID())
	x.Guest = guest
	return o.connect(ctx, cfg, x)
}

// sharing is the log level of the message that a command works through another process. Users know that of a daemon.
func sharing(g *chdb.Guest) slog.Level {
	if g.Lasting() {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// open opens the warehouse, an embedded one apart if that is wanted, and checks that it answers.
func (o *Opener) open(ctx context.Context, cfg *config.Config, x warehouse.Options) (_ *warehouse.Warehouse, err error) {
	if dir, embedded := cfg.Warehouse.EmbeddedDir(); embedded && o.options.Apart != nil {
		if x.Guest, err = o.options.Apart(ctx, dir); err != nil {
			return nil, err
		}
	}
	return o.connect(ctx, cfg, x)
}

// connect opens the warehouse with the options that are the same for every command, and checks that it answers.
func (o *Opener) connect(ctx context.Context, cfg *config.Config, x warehouse.Options) (*warehouse.Warehouse, error) {
	x.DSN, x.Database, x.Logger, x.Metrics = cfg.Warehouse.DSN.Reveal(), cfg.Warehouse.Database, o.options.Logger, o.options.Metrics
	x.Limits, x.LimitReaders = o.options.Limits, o.options.LimitReaders
	x.Downloading, x.FewRows = o.options.Downloading, o.options.FewRows
	x.Claimed, x.Stuck = o.options.Claimed, o.options.Stuck
	x.Cluster, x.ViewsDatabase = cfg.Warehouse.Cluster, cfg.Warehouse.ViewsDatabase
	x.TLS = warehouse.TLS{CAFile: cfg.Warehouse.CAFile, CertFile: cfg.Warehouse.CertFile, KeyFile: cfg.Warehouse.KeyFile}
	done := o.options.ShowWaiting("starting the embedded ClickHouse")
	w, err := warehouse.Open(ctx, x)
	done()
	if err != nil {
		return nil, err
	}
	if _, err := w.Identify(ctx); err != nil {
		return nil, errors.Join(unreachable(cfg.Warehouse.RedactedDSN(), err), w.Close())
	}
	return w, nil
}

// Share lets other processes of the user work with an embedded warehouse that this one has opened. If that fails, the
// command works all the same.
func (o *Opener) Share(w *warehouse.Warehouse, lasting bool) {
	if err := w.Share(lasting); err != nil {
		o.options.Logger.Warn("other commands cannot use the embedded warehouse while this one runs", "error", err)
	}
}

// WhenFree opens an embedded warehouse in one of these ways as soon as no other process has it open (readers do not
// wait).
func (o *Opener) WhenFree(ctx context.Context, cfg *config.Config, open Opening) (*warehouse.Warehouse, error) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(o.options.Patience)
	for first := true; ; first = false {
		w, err := open(ctx, cfg)
		if !errors.Is(err, chdb.ErrLocked) || time.Now().After(deadline) {
			return w, err
		}
		if first {
			o.options.Logger.Info("waiting for another process to close the embedded warehouse", o.waiting(cfg)...)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// waiting says for whom and for how long WhenFree waits. The process is left out where the system does not tell it, as
// for one in another container.
func (o *Opener) waiting(cfg *config.Config) []any {
	about := []any{"patience", o.options.Patience}
	if dir, embedded := cfg.Warehouse.EmbeddedDir(); embedded {
		if pid, held := chdb.Holder(dir); held && pid != 0 {
			about = append(about, "pid", pid)
		}
	}
	return about
}
