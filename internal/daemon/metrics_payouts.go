package daemon

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"dealhouse/internal/payouts"
)

// payoutMetrics has what the newest comparison of each account's payouts found. Before the first comparison in this
// process the account has no series, because zeros would say that all is well.
type payoutMetrics struct {
	payouts                         *prometheus.GaugeVec
	mixed, altered, orphan, overdue *prometheus.GaugeVec

	mu       sync.Mutex
	accounts map[string]bool // the expected accounts; true if their payouts were compared
}

func newPayoutMetrics(gauge func(name, help string, labels ...string) *prometheus.GaugeVec) *payoutMetrics {
	return &payoutMetrics{
		payouts: gauge("dealhouse_payouts", "Payouts, by the result of comparing them with their transactions.", "account",
			"verdict"),
		mixed: gauge("dealhouse_payouts_mixed_currency", "Payouts whose transactions are of several currencies.",
			"account"),
		altered: gauge("dealhouse_payouts_altered", "Payouts whose totals changed upstream after they were first seen.",
			"account"),
		orphan: gauge("dealhouse_payout_orphan_transactions", "Transactions whose payout is not listed.",
			"account"),
		overdue: gauge("dealhouse_payout_overdue_transactions",
			"Transactions sold longer ago than overdue_after, not declined and in no payout.", "account"),
		accounts: map[string]bool{},
	}
}

func (p *payoutMetrics) expect(account string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.accounts[account]; !known {
		p.accounts[account] = false
	}
}

func (p *payoutMetrics) forget(account string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.accounts, account)
	for _, vec := range []*prometheus.GaugeVec{p.payouts, p.mixed, p.altered, p.orphan, p.overdue} {
		vec.DeletePartialMatch(prometheus.Labels{"account": account})
	}
}

// SetPayouts sets what comparing the payouts of an account found. An account that is not expected, or no longer
// expected, gets no series.
func (m *Metrics) SetPayouts(account string, c payouts.Counts) {
	p := m.payouts
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, expected := p.accounts[account]; !expected {
		return
	}
	p.accounts[account] = true
	for verdict, n := range c.ByVerdict {
		p.payouts.WithLabelValues(account, verdict).Set(float64(n))
	}
	p.mixed.WithLabelValues(account).Set(float64(c.MixedCurrency))
	p.altered.WithLabelValues(account).Set(float64(c.Altered))
	p.orphan.WithLabelValues(account).Set(float64(c.Orphans))
	p.overdue.WithLabelValues(account).Set(float64(c.Overdue))
}

// WithoutPayouts returns the expected accounts without series of payouts so far, sorted.
func (m *Metrics) WithoutPayouts() (accounts []string) {
	if m.payouts == nil {
		return nil
	}
	m.payouts.mu.Lock()
	defer m.payouts.mu.Unlock()
	for account, compared := range m.payouts.accounts {
		if !compared {
			accounts = append(accounts, account)
		}
	}
	slices.Sort(accounts)
	return accounts
}
