package service

import (
	"context"
	"fmt"
	"time"

	"dealhouse/internal/config"
	"dealhouse/internal/report"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// AfterRuns does what follows from runs that have ended: it asks for deals that no list had, checks what readers see,
// and reconciles payouts. What goes wrong in it is a warning, and no failure of the runs (service-2); a signal ends it,
// and the next sync makes up for it.
func (s *Service) AfterRuns(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse, api *Clients, results []syncer.Result) {
	if ctx.Err() != nil {
		return
	}
	if err := s.askForReferences(ctx, cfg, w, api, results); err != nil {
		s.warn(Warning{Err: err})
	}
	s.checkQuality(ctx, w, results)
	s.reconcile(ctx, cfg, w, results)
}

// reconcile reconciles the payouts of the accounts whose payouts or transactions were loaded, and logs what is new.
func (s *Service) reconcile(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse, results []syncer.Result) {
	done := map[string]bool{}
	for _, r := range results {
		account := r.Record.Account
		if done[account] || !concernsPayouts(r) || ctx.Err() != nil {
			continue
		}
		done[account] = true
		if err := s.reconcileAccount(ctx, w, account, cfg.Finance.OverdueAfter); err != nil && !Canceled(err) {
			s.warn(Warning{Err: fmt.Errorf("the payouts of account %s could not be reconciled; what was loaded is not affected: %w", account, err)})
		}
	}
}

// concernsPayouts reports a run after which the reconciliation may find something else. One of payouts that changed
// nothing still makes certain which payouts are not there.
func concernsPayouts(r syncer.Result) bool {
	if r.Err != nil || r.Record.Outcome != warehouse.OutcomeSuccess {
		return false
	}
	return r.Job.Stream.Payouts || r.Job.Stream.NamesPayouts() && r.Record.Changes.Any()
}

func (s *Service) reconcileAccount(ctx context.Context, w *warehouse.Warehouse, account string, overdueAfter time.Duration) error {
	s.reconciling.Lock() // service-4: of two at once, both would find the same to be new
	defer s.reconciling.Unlock()
	found, _, err := report.AfterSync(ctx, w, s.log, account, overdueAfter)
	if err == nil {
		s.metrics.SetPayouts(account, found.Counts())
	}
	return err
}

// fillPayoutMetrics makes the metrics of payouts say how things stand for accounts whose payouts this process has not
// reconciled: it has just begun, or was about something else.
func (s *Service) fillPayoutMetrics(ctx context.Context, w *warehouse.Warehouse, overdueAfter time.Duration) error {
	s.reconciling.Lock() // service-4: what is newer must not be overtaken
	defer s.reconciling.Unlock()
	accounts := s.metrics.WithoutPayouts()
	if len(accounts) == 0 {
		return nil
	}
	found, err := report.Reconcile(ctx, w, report.Filter{OverdueAfter: overdueAfter})
	if err != nil {
		return err
	}
	for _, account := range accounts {
		s.metrics.SetPayouts(account, found.Of(account).Counts())
	}
	return nil
}
