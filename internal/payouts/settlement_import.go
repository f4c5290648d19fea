package payouts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"dealhouse/internal/warehouse"
)

// Options say how rows are imported.
type Options struct {
	Source string // the file or the table, to be kept with each row
	By     string // who imports them
	// Correct records a row that differs from what was imported under its reference as a correction, with Note as the
	// reason. Without it, such a row is refused.
	Correct bool
	Note    string
}

// Result is the result of an import.
type Result struct {
	New, Corrected []warehouse.SettlementRevision
	Known          int // rows that were imported before, with the same content
}

// Import imports rows: all of them, or none with a *ProblemsError (nothing of the bank is guessed, importing twice
// changes nothing).
func Import(ctx context.Context, w *warehouse.Warehouse, rows []Row, o Options) (Result, error) {
	var res Result
	last, err := lastRevisions(ctx, w, rows)
	if err != nil {
		return res, err
	}
	problems, err := checkPayouts(ctx, w, rows)
	if err != nil {
		return res, err
	}
	for _, r := range rows {
		before, known := last[[2]string{r.Account, referenceKey(r.Reference)}]
		if known {
			r.Reference = before.Reference
		}
		now := warehouse.SettlementRevision{Account: r.Account, Reference: r.Reference, Revision: 1, Hash: r.Hash(),
			ReceivedOn: r.ReceivedOn, Currency: r.Currency, Amount: r.Amount, Fee: r.Fee,
			PayoutCurrency: r.PayoutCurrency, PayoutAmount: r.PayoutAmount, Unit: r.unit(), Payouts: r.Payouts, Text: r.Text,
			Source: o.Source, Line: uint32(r.Line), By: o.By}
		another := !before.ReceivedOn.Equal(now.ReceivedOn)
		switch {
		case !known && r.imported(last):
			res.Known++
		case !known:
			res.New = append(res.New, now)
		case before.Hash == now.Hash:
			res.Known++
		case another && (!o.Correct || before.Currency != now.Currency || !before.Amount.Equal(now.Amount)):
			problems = append(problems, Problem{r.Line, "",
				fmt.Sprintf("%s was imported on %s for another payment, with %s: give this payment a reference of its own",
					quoted(r.Reference), before.At.Format("2006-01-02"), differences(before, now))})
		case !o.Correct:
			problems = append(problems, Problem{r.Line, "",
				fmt.Sprintf("%s was imported on %s with %s: correct the file, or record it as a correction with --correct and --note",
					quoted(r.Reference), before.At.Format("2006-01-02"), differences(before, now))})
		default:
			now.Revision, now.Note = before.Revision+1, o.Note
			res.Corrected = append(res.Corrected, now)
		}
	}
	if len(problems) > 0 {
		slices.SortStableFunc(problems, func(a, b Problem) int { return a.Line - b.Line })
		return Result{}, &ProblemsError{o.Source, problems}
	}
	if all := slices.Concat(res.New, res.Corrected); len(all) > 0 {
		if err := w.AddSettlements(ctx, all); err != nil {
			return Result{}, err
		}
		copy(res.New, all)
		copy(res.Corrected, all[len(res.New):])
	}
	for _, account := range accounts(rows) { // even if nothing is new: the import before may have been stopped here
		if err := Match(ctx, w, account); err != nil {
			return res, err
		}
	}
	return res, nil
}

// imported reports whether a booking of a bank was imported in its other form: as a whole, or by its parts. One
// statement of a bank may have the sum of a booking, and another one its parts.
func (r Row) imported(last map[[2]string]warehouse.SettlementRevision) bool {
	if r.batch == "" {
		return false
	}
	if r.batch != r.Reference {
		_, whole := last[[2]string{r.Account, referenceKey(r.batch)}]
		return whole
	}
	var sum decimal.Decimal
	for key, part := range last {
		if key[0] == r.Account && strings.HasPrefix(key[1], referenceKey(r.batch)+"/") {
			sum = sum.Add(part.Amount)
		}
	}
	return !sum.IsZero() && sum.Equal(r.Amount)
}

// lastRevisions returns the last revisions of the settlements of all accounts that the rows name.
func lastRevisions(ctx context.Context, w *warehouse.Warehouse,
	rows []Row) (map[[2]string]warehouse.SettlementRevision, error) {
	last := map[[2]string]warehouse.SettlementRevision{}
	for _, account := range accounts(rows) {
		all, err := w.SettlementRevisions(ctx, account)
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			key := [2]string{s.Account, referenceKey(s.Reference)}
			if before, is := last[key]; !is || s.Revision >= before.Revision {
				last[key] = s
			}
		}
	}
	return last, nil
}

func accounts(rows []Row) []string {
	var names []string
	for _, r := range rows {
		names = append(names, r.Account)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// checkPayouts reports the rows that name payouts in another currency than that in which they were sent. A payout that
// is not loaded, or whose currency is not known, can be in any.
func checkPayouts(ctx context.Context, w *warehouse.Warehouse, rows []Row) (problems []Problem, err error) {
	currencies := map[string]map[int64][]string{}
	for _, account := range accounts(rows) {
		dues, err := w.PayoutsDue(ctx, account)
		if err != nil {
			return nil, err
		}
		currencies[account] = map[int64][]string{}
		for _, d := range dues {
			currencies[account][d.Payout] = append(currencies[account][d.Payout], d.Currency)
		}
	}
	for _, r := range rows {
		for _, id := range r.Payouts {
			in := currencies[r.Account][id]
			if len(in) > 0 && !slices.Contains(in, r.PayoutCurrency) && !slices.Contains(in, "") {
				problems = append(problems, Problem{r.Line, columnPayouts(),
					fmt.Sprintf("has payout %d, which is in %s, and this was sent in %s: where it was converted, write payout_currency and payout_amount",
						id, strings.Join(in, " and "), r.PayoutCurrency)})
			}
		}
	}
	return problems, nil
}

// differences lists the fields in which a settlement differs, with what they were and what they are now.
func differences(before, now warehouse.SettlementRevision) string {
	var all []string
	add := func(name string, was, is any) {
		if w, i := fmt.Sprint(was), fmt.Sprint(is); w != i {
			all = append(all, fmt.Sprintf("%s %s, now %s", name, quoted(w), quoted(i)))
		}
	}
	add(columnReceivedOn, before.ReceivedOn.Format("2006-01-02"), now.ReceivedOn.Format("2006-01-02"))
	add(columnCurrency, before.Currency, now.Currency)
	add(columnAmount, before.Amount, now.Amount)
	add(columnFee, before.Fee, now.Fee)
	add(columnPayoutCurrency, before.PayoutCurrency, now.PayoutCurrency)
	add(columnPayoutAmount, before.PayoutAmount, now.PayoutAmount)
	add(columnPayouts(), before.Payouts, now.Payouts)
	add(columnText, before.Text, now.Text)
	return strings.Join(all, "; ")
}
