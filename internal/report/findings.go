package report

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"dealhouse/internal/warehouse"
)

// Summary counts what a reconciliation found, by account: what metrics show.
type Summary struct {
	// ByVerdict has every verdict of every account that has payouts, also those that no payout has.
	ByVerdict     map[string]map[string]int
	Altered       map[string]int // payouts
	MixedCurrency map[string]int // payouts
	Orphans       map[string]int // transactions, as far as they are certain
	Overdue       map[string]int // transactions
	New           []warehouse.Finding
}

// AfterSync reconciles everything, remembers what it found, and writes a log line for each finding that is new
// (report-5). overdueAfter is as in Filter.
func AfterSync(ctx context.Context, w *warehouse.Warehouse, log *slog.Logger, overdueAfter time.Duration) (Summary, error) {
	r, err := Reconcile(ctx, w, Filter{OverdueAfter: overdueAfter})
	if err != nil {
		return Summary{}, err
	}
	s := r.summary()
	if s.New, err = w.RecordFindings(ctx, r.findings()); err != nil {
		return s, err
	}
	for _, f := range s.New {
		log.Warn("payouts: "+f.Detail, "account", f.Account, "finding", f.Kind, "subject", f.Subject)
	}
	return s, nil
}

func (r Reconciliation) summary() Summary {
	s := Summary{ByVerdict: map[string]map[string]int{}, Altered: map[string]int{}, MixedCurrency: map[string]int{}, Orphans: map[string]int{}, Overdue: map[string]int{}}
	for _, p := range r.Payouts {
		if s.ByVerdict[p.Account] == nil {
			s.ByVerdict[p.Account] = map[string]int{}
			for _, v := range Verdicts() {
				s.ByVerdict[p.Account][v] = 0
			}
		}
		s.ByVerdict[p.Account][p.Verdict]++
		s.Altered[p.Account] += count(p.Altered)
		s.MixedCurrency[p.Account] += count(p.MixedCurrency)
	}
	for _, o := range r.Orphans {
		if o.Certain {
			s.Orphans[o.Account] += int(o.Transactions)
		}
	}
	for _, o := range r.Overdue {
		s.Overdue[o.Account] += int(o.Transactions)
	}
	return s
}

// findings is what a person should know, one for each reason. A transaction whose payout the next sync may bring is
// none yet.
func (r Reconciliation) findings() []warehouse.Finding {
	var all []warehouse.Finding
	for _, p := range r.Payouts {
		for _, kind := range p.Kinds() {
			all = append(all, warehouse.Finding{Account: p.Account, Kind: kind, Subject: strconv.FormatInt(p.ID, 10), Detail: p.detail(kind)})
		}
	}
	for _, o := range r.Orphans {
		if o.Certain {
			all = append(all, warehouse.Finding{Account: o.Account, Kind: Orphan, Subject: strconv.FormatInt(o.Payout, 10), Detail: OrphanAdvice(o)})
		}
	}
	for _, o := range r.Overdue {
		all = append(all, warehouse.Finding{Account: o.Account, Kind: Overdue, Subject: o.Month, Detail: r.OverdueAdvice(o)})
	}
	return all
}

// detail is a finding about a payout in words.
func (p Payout) detail(kind string) string {
	text := "payout " + strconv.FormatInt(p.ID, 10) + " "
	switch kind {
	case Altered:
		return text + "is altered: " + p.alterations()
	case MixedCurrency:
		return text + "adds up " + strings.Join(p.Currencies, " and ")
	}
	return text + "is " + p.Verdict + ": " + p.verdictAdvice()
}
