package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"dealhouse/internal/config"
	"dealhouse/internal/panics"
	"dealhouse/internal/payouts"
	"dealhouse/internal/syncer"
	"dealhouse/internal/telemetry"
	"dealhouse/internal/warehouse"
)

// AfterRuns does the work that follows runs: it fetches deals that no list had, checks what readers see, and reconciles
// payouts. An error there is a warning, and not a failure of the runs (what comes after a run never fails it). A signal
// ends it, and the next sync catches up.
func (s *Service) AfterRuns(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse, api *Clients,
	results []syncer.Result) {
	if ctx.Err() != nil {
		return
	}
	part := func(name string, do func(context.Context) error) {
		ctx, span := telemetry.Start(ctx, name)
		span.End(do(ctx))
	}
	part("ask for deals", func(ctx context.Context) error {
		err := s.askForReferences(ctx, cfg, w, api, results)
		if err != nil {
			s.warn(Warning{Err: err})
		}
		return err
	})
	s.noteFields(ctx, w, results)
	panics.Raise(panics.AtOnce(func() { // each keeps one processor busy
		part("check quality", func(ctx context.Context) error { s.checkQuality(ctx, w, results); return nil })
	}, func() {
		part("reconcile payouts", func(ctx context.Context) error { s.reconcile(ctx, cfg, w, results); return nil })
	}))
	s.warnOfLateness(ctx, cfg, w, results)
	// Not beside them: what was found again just now is not old any more.
	part("remove old rows", func(ctx context.Context) error { s.retire(ctx, cfg, w); return nil })
	part("fold months", func(ctx context.Context) error { return s.fold(ctx, w, results) })
}

// foldFor is how long months are folded after runs. What is left is folded after later ones.
const foldFor = 30 * time.Second

// fold makes reading faster again after runs have added to months of sales. That it fails is a warning: the rows are
// the same with it and without.
func (s *Service) fold(ctx context.Context, w *warehouse.Warehouse, results []syncer.Result) error {
	added := func(r syncer.Result) bool { return r.Job.Stream.OrderedBy != "" && r.Record.Changes.Any() }
	if ctx.Err() != nil || !slices.ContainsFunc(results, added) || !s.folding.TryLock() {
		return nil
	}
	defer s.folding.Unlock()
	start := s.now()
	folded, err := w.Fold(ctx, foldFor)
	if folded > 0 {
		s.log.Debug("folded months of sales", "months", folded, "took", s.now().Sub(start))
	}
	if err != nil && !Canceled(err) {
		s.warn(Warning{Err: fmt.Errorf("queries stay slower than they could be until the next run: %w", err)})
	}
	return err
}

// reconcileAgain is the time after which payouts are reconciled again even if nothing has changed: sales become overdue
// as time passes.
const reconcileAgain = 24 * time.Hour

// reconciled is how the last reconciliation of an account ended in this process.
type reconciled struct {
	at        time.Time
	ended     bool // otherwise the next run must do it
	unsettled bool // the next run of payouts may show for certain which of them are missing
}

// reconcile reconciles the payouts of the accounts of which a payout, or a transaction in one, was loaded, and logs
// what is new.
func (s *Service) reconcile(ctx context.Context, cfg *config.Config, w *warehouse.Warehouse, results []syncer.Result) {
	done := map[string]bool{}
	for _, r := range results {
		account := r.Record.Account
		if done[account] || !s.concernsPayouts(r) || ctx.Err() != nil {
			continue
		}
		done[account] = true
		if err := s.reconcileAccount(ctx, w, account, cfg.Finance); err != nil && !Canceled(err) {
			s.warn(Warning{Err: fmt.Errorf("the payouts of account %s could not be reconciled; what was loaded is not affected: %w", account, err)})
		}
	}
}

// concernsPayouts reports whether a run can change the result of the reconciliation.
func (s *Service) concernsPayouts(r syncer.Result) bool {
	stream := r.Job.Stream
	if r.Err != nil && r.Record.Outcome == warehouse.OutcomeSuccess || !r.Record.LoadedAll() ||
		!stream.Payouts && !stream.NamesPayouts() {
		return false
	}
	if last, known := s.reconciled.Load(r.Record.Account); known {
		last := last.(reconciled)
		if !last.ended || s.now().Sub(last.at) >= reconcileAgain || last.unsettled && stream.Payouts {
			return true
		}
	} else if stream.Payouts {
		return true
	}
	return r.Record.Changes.Any() && (stream.Payouts || r.Record.Written.Payouts > 0)
}

func (s *Service) reconcileAccount(ctx context.Context, w *warehouse.Warehouse, account string,
	rules config.Finance) error {
	s.reconciling.Lock() // one reconciliation at a time: both would report the same finding as new
	defer s.reconciling.Unlock()
	s.reconciled.Store(account, reconciled{})
	if err := payouts.Match(ctx, w, account); err != nil {
		return err
	}
	found, _, err := payouts.AfterSync(ctx, w, s.findings,
		payouts.Filter{Account: account, OverdueAfter: rules.OverdueAfter, Tolerances: rules.Tolerances})
	if err == nil {
		s.metrics.SetPayouts(account, found.Counts())
		s.reconciled.Store(account, reconciled{at: s.now(), ended: true, unsettled: found.Unsettled()})
	}
	return err
}

// fillPayoutMetrics sets the metrics of payouts for accounts that this process has not reconciled, because it has just
// started or did something else.
func (s *Service) fillPayoutMetrics(ctx context.Context, w *warehouse.Warehouse, overdueAfter time.Duration) error {
	s.reconciling.Lock() // one reconciliation at a time: an older result must not replace a newer one
	defer s.reconciling.Unlock()
	accounts := s.metrics.WithoutPayouts()
	if len(accounts) == 0 {
		return nil
	}
	found, err := payouts.Reconcile(ctx, w, payouts.Filter{OverdueAfter: overdueAfter})
	if err != nil {
		return err
	}
	for _, account := range accounts {
		s.metrics.SetPayouts(account, found.Of(account).Counts())
	}
	return nil
}
