package service

import (
	"context"
	"dealhouse/internal/config"
	"dealhouse/internal/term"
	"errors"
	"fmt"
	"log/slog"
)

// Verdicts of a check.
const (
	OK      = "ok"
	Warn    = "warn" // it works, but deserves a look
	Failed  = "FAILED"
	Skipped = "skipped" // another one has to be mended first, or it cannot be checked on this machine
)

// Finding is what one check found, in words for a person.
type Finding struct {
	Check, Verdict, Detail string
	// Causes are the errors of a check that failed, for an exit code. Without any, it is a fault that may be gone by
	// the next time.
	Causes []error
}

func ok(check, detail string) Finding   { return Finding{Check: check, Verdict: OK, Detail: detail} }
func warn(check, detail string) Finding { return Finding{Check: check, Verdict: Warn, Detail: detail} }
func skipped(check, detail string) Finding {
	return Finding{Check: check, Verdict: Skipped, Detail: detail}
}

// failed is the finding of an error.
func failed(check string, err error) Finding { return failedAs(check, term.Message(err), err) }

// failedAs is the finding of errors, in other words.
func failedAs(check, detail string, causes ...error) Finding {
	return Finding{Check: check, Verdict: Failed, Detail: detail, Causes: causes}
}

// misconfigured is the finding of what somebody has to set otherwise.
func misconfigured(check, detail string) Finding {
	return failedAs(check, detail, SettingError{Err: errors.New(detail)})
}

// CheckOptions of a Checker. Config has to be set.
type CheckOptions struct {
	Config  config.Source // the configuration that is checked; what it needs is set here
	Service *Service      // whose clients ask the API; default: one of its own
	Opener  *Opener       // of the warehouse; default: one of its own
	Logger  *slog.Logger  // default: none
	// ShowWaiting tells a person what the program waits for, until done is called. Default: nothing is shown.
	ShowWaiting func(what string) (done func())
}

// Checker makes the checks of a configuration.
type Checker struct{ options CheckOptions }

// NewChecker makes a Checker.
func NewChecker(o CheckOptions) *Checker {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Service == nil {
		o.Service = New(Options{Logger: o.Logger})
	}
	if o.Opener == nil {
		o.Opener = NewOpener(OpenOptions{Logger: o.Logger})
	}
	if o.ShowWaiting == nil {
		o.ShowWaiting = func(string) func() { return func() {} }
	}
	return &Checker{o}
}

// All checks the configuration, and with it the warehouse and the API.
func (c *Checker) All(ctx context.Context) []Finding {
	source := c.options.Config
	source.NeedAccounts, source.NeedDaemon = true, true
	cfg, warnings, err := config.Read(source)
	var all []Finding
	if problems, bad := errors.AsType[*config.Problems](err); bad {
		for _, p := range problems.All() {
			all = append(all, misconfigured("configuration", p.String()))
		}
		// If only the accounts are at fault, the warehouse can still be checked.
		cfg, _, err = config.Read(c.options.Config)
		if err != nil {
			return append(all, skipped("warehouse", "correct the configuration first"))
		}
		all = append(all, c.checkWarehouse(ctx, cfg)...)
		return append(all, skipped("API", "correct the configuration first"))
	}
	all = append(all, ok("configuration", describe(cfg)))
	for _, w := range warnings {
		all = append(all, warn("configuration", w.String()))
	}
	all = append(all, c.checkWarehouse(ctx, cfg)...)
	return append(all, c.checkAPI(ctx, cfg)...)
}

// describe summarizes a configuration.
func describe(cfg *config.Config) string {
	file := cfg.File
	if file == "" {
		file = "environment variables"
	}
	streams := 0
	for _, account := range cfg.Accounts {
		for _, s := range account.Streams {
			if s.Enabled {
				streams++
			}
		}
	}
	return fmt.Sprintf("%s: %s, %s enabled", file, term.Plural(uint64(len(cfg.Accounts)), "account"),
		term.Plural(uint64(streams), "stream"))
}
