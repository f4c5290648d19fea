package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"dealhouse/internal/catalog"
	"dealhouse/internal/config"
	"dealhouse/internal/syncer"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// ForgetOptions say who is to be forgotten, and where.
type ForgetOptions struct {
	User     string
	Accounts []string // none: all that the warehouse has transactions of
	Actor    string   // who does it, for the record
	DryRun   bool
}

// Forget removes a user from the transactions of accounts, and records that it did, without the user. Each account has
// a record; one that fails ends it.
func (s *Service) Forget(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse, o ForgetOptions) (records []syncer.ForgetRecord, err error) {
	known, err := w.KnownStreams(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range o.Accounts {
		if err := UnknownAccount(ctx, cfg, w, name); err != nil {
			return nil, err
		}
	}
	runner, err := syncer.New(syncer.Options{Warehouse: w, Logger: s.log, Observer: s.observer})
	if err != nil {
		return nil, fmt.Errorf("preparing to forget: %w", err)
	}
	for _, id := range known {
		stream := catalog.Transactions()
		if id.Stream != stream.Name || len(o.Accounts) > 0 && !slices.Contains(o.Accounts, id.Account) {
			continue
		}
		job := syncer.NewJob(id.Account, stream, nil)
		job.DryRun = o.DryRun
		if account, configured := cfg.Account(id.Account); configured && account.PassbackKey.Resolved() {
			job.HashPrivate = []byte(account.PassbackKey.Reveal())
		}
		record, err := runner.Forget(ctx, job, o.User)
		if err != nil {
			return records, fmt.Errorf("account %s: %w", id.Account, err)
		}
		records = append(records, record)
		if o.DryRun {
			continue
		}
		_, err = w.RecordAction(ctx, warehouse.Action{Actor: o.Actor, Via: warehouse.ViaCommand, Action: warehouse.ActionForget,
			Account: id.Account, Stream: stream.Name, Reason: "a user was removed from " + term.Plural(record.Rows, "transaction") + ", " +
				term.Plural(record.Versions, "version") + " and " + term.Plural(record.Rejects, "reject")})
		if err != nil {
			return records, err
		}
	}
	if o.DryRun {
		return records, nil
	}
	left, err := w.Tidy(ctx, 0, forgetFilesFor)
	if left > 0 {
		s.log.Warn("files that had the user are still there: the engine removes them while a process has the warehouse open", "parts", left)
	}
	return records, err
}

// forgetFilesFor is how long the removal of the files that had the user is waited for.
const forgetFilesFor = time.Minute
