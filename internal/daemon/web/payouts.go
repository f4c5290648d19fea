package web

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"dealhouse/internal/payouts"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

const (
	shownPayouts = 200 // of each account
	shownOthers  = 20  // overdue months and missing payouts, of each account
)

// reconciliation is what the page of payouts shows. No more is kept, however many payouts there are.
type reconciliation struct{ accounts []accountPayouts }

// accountPayouts has the payouts of one account, and its transactions that should be in one. Words and amounts are the
// same as in `dealhouse reconcile`.
type accountPayouts struct {
	Account   string
	State     state
	Summary   string
	NeedsWork bool
	Loaded    bool // the payouts were loaded at least once
	Months    []payoutMonth
	Total     int
	Unshown   int // payouts that are not shown and need work
	Others    []string
	MoreOther int
}

// payoutMonth has the payouts whose period ended in a month.
type payoutMonth struct {
	Month, Title string // Month as 2026-03; "": not known
	Payouts      []payoutRow
}

// payoutRow is a payout in a list.
type payoutRow struct {
	ID, Path, Key string // Key names the live parts of the row
	Period        string
	Lines         []payoutLine
	Pills         []pill
	Advice        string
}

// payoutLine is what was paid in one currency, and what that is worth now.
type payoutLine struct {
	Currency, Paid, Worth string
	Kinds                 []kindAmount
}

// kindAmount is one kind of difference, with its amount.
type kindAmount struct{ Title, Amount string }

// payoutsPage is the page of payouts.
type payoutsPage struct {
	State    state
	Summary  string
	Compared *moment // nil: not yet
	Error    string  // why it could not be compared again
	Accounts []accountPayouts
	Shown    int
}

// newAccountPayouts makes the part of the page about one account from its reconciliation.
func newAccountPayouts(r payouts.Reconciliation) accountPayouts {
	a := accountPayouts{Account: r.Filter.Account, Summary: r.Summary(), NeedsWork: r.NeedsWork(), Total: len(r.Payouts),
		State: accountTone(r)}
	shown := r.Payouts[:min(len(r.Payouts), shownPayouts)]
	for _, p := range r.Payouts[len(shown):] {
		if len(p.Kinds()) > 0 {
			a.Unshown++
		}
	}
	a.Months = byMonth(shown)
	for _, o := range r.Orphans {
		a.Others = append(a.Others, payouts.OrphanAdvice(o))
	}
	for _, o := range r.Overdue {
		a.Others = append(a.Others, r.OverdueAdvice(o))
	}
	if n := len(a.Others); n > shownOthers {
		a.Others, a.MoreOther = slices.Clip(a.Others[:shownOthers]), n-shownOthers
	}
	return a
}

// byMonth groups payouts by the month in which their periods ended, the last month first. Payouts of an
// unknown month come last.
func byMonth(list []payouts.Payout) []payoutMonth {
	of := map[string][]payouts.Payout{}
	var months []string
	for _, p := range list {
		month := p.Month()
		if of[month] == nil {
			months = append(months, month)
		}
		of[month] = append(of[month], p)
	}
	slices.Sort(months)
	slices.Reverse(months)
	var all []payoutMonth
	for _, month := range months {
		m := payoutMonth{Month: month, Title: monthTitle(month)}
		r := payouts.Reconciliation{Payouts: of[month]}
		d := r.AlignPayouts(payouts.Page)
		for _, p := range of[month] {
			m.Payouts = append(m.Payouts, newPayoutRow(p, d))
		}
		all = append(all, m)
	}
	return all
}

// monthTitle returns a month as people read it: March 2026.
func monthTitle(month string) string {
	if t, err := payouts.ParseMonth(month); err == nil {
		return t.Format("January 2006")
	}
	return "No end of the period"
}

func newPayoutRow(p payouts.Payout, d *payouts.Alignment) payoutRow {
	id := strconv.FormatInt(p.ID, 10)
	row := payoutRow{ID: id, Path: payoutPath(p.Account, p.ID), Key: p.Account + "/" + id, Period: p.Period(),
		Pills: pillsOf(p), Advice: term.Sentence(p.Advice())}
	for _, l := range p.Explained.Lines {
		line := payoutLine{Currency: l.Currency, Paid: d.Text("paid", l.Currency, l.Paid),
			Worth: d.Text("worth", l.Currency, l.Worth)}
		for _, k := range payouts.KindColumns() {
			if amount := k.Cell(l); amount != nil {
				line.Kinds = append(line.Kinds, kindAmount{k.Title, d.Text(k.Title, l.Currency, *amount)})
			}
		}
		row.Lines = append(row.Lines, line)
	}
	return row
}

func payoutPath(account string, id int64) string {
	return "/payouts/" + url.PathEscape(account) + "/" + strconv.FormatInt(id, 10)
}

// pillsOf returns the verdict and the remarks of a payout.
func pillsOf(p payouts.Payout) []pill {
	tone := verdictTone(p)
	all := []pill{{tone, term.Spaced(p.Verdict)}}
	for i, mark := range strings.Split(p.Word(), ", ") {
		if i == 0 {
			continue
		}
		of := stateFine // acknowledged, or within the tolerance
		if slices.Contains(p.Kinds(), strings.ReplaceAll(mark, " ", "_")) {
			of = stateFailing
		}
		all = append(all, pill{of, mark})
	}
	return all
}

// verdictTone returns the state whose colour a verdict gets: a payout that needs nothing is fine, whatever its verdict.
// A payout that only waits for money gets a milder colour than one that does not add up.
func verdictTone(p payouts.Payout) state {
	switch {
	case p.Verdict == payouts.NoTransactions:
		return stateWaiting
	case !slices.Contains(p.Kinds(), p.Verdict):
		return stateFine
	case p.Verdict == payouts.Drifted:
		return stateLate
	}
	return stateFailing
}

// accountTone returns the state whose colour an account's sentence gets: payouts that have only drifted are milder than
// payouts that do not add up.
func accountTone(r payouts.Reconciliation) state {
	switch {
	case !r.NeedsWork() && len(r.Payouts) == 0:
		return stateWaiting
	case !r.NeedsWork():
		return stateFine
	}
	drifts := func(p payouts.Payout) bool {
		return !slices.ContainsFunc(p.Kinds(), func(kind string) bool { return kind != payouts.Drifted })
	}
	if len(r.Orphans)+len(r.Overdue) == 0 &&
		!slices.ContainsFunc(r.Payouts, func(p payouts.Payout) bool { return !drifts(p) }) {
		return stateLate
	}
	return stateFailing
}

// payoutVerdict says in one sentence whether a person has something to do.
func (o *overview) payoutVerdict(p *payoutsPage) (state, string) {
	compared := 0
	var work []string
	worst := stateLate
	for _, a := range p.Accounts {
		compared += a.Total
		if a.NeedsWork {
			work = append(work, a.Account)
			if a.State == stateFailing {
				worst = stateFailing
			}
		}
	}
	switch {
	case p.Compared == nil && o.problem != nil:
		return stateCut, "The warehouse does not answer."
	case p.Compared == nil && p.Error != "":
		return stateCut, "The payouts could not be compared with their transactions."
	case p.Compared == nil:
		return stateWaiting, "The payouts are being compared with their transactions."
	case len(work) > 2:
		return worst, "The payouts of " + term.Plural(uint64(len(work)), "account") + " need a look."
	case len(work) > 0:
		return worst, "The payouts of " + strings.Join(work, " and ") + " need a look."
	case compared == 0:
		return stateWaiting, payouts.Reconciliation{}.Summary()
	}
	return stateFine, "The payouts add up: there is nothing to do."
}

// threeWayTable shows what payouts earned, what they paid out, and what arrived, on the page of a payout or of a month.
type threeWayTable struct {
	Path        string // of the page; the addresses of its downloads begin with it
	Summary     string
	Several     bool // payouts, so that each is named
	Rows        []threeWayRow
	Settlements []settlementRow
}

// threeWayRow is a payout in one currency.
type threeWayRow struct {
	ID, Path, Currency                                                string
	Earned, PaidOut, Received, Fees, Converted, Rounding, Outstanding string
	State                                                             pill
	Advice                                                            string
}

// settlementRow is what reached the bank, and what it settles.
type settlementRow struct{ Reference, Day, Arrived, Payouts, Text, Advice string }

// newThreeWayTable makes the table of the page with a path.
func newThreeWayTable(t payouts.ThreeWay, path string) threeWayTable {
	table := threeWayTable{Path: path, Summary: t.Summary(), Several: strings.HasPrefix(path, "/statements/")}
	d := payouts.AlignThreeWay(payouts.Page, t.Payouts)
	for _, p := range t.Payouts {
		text := map[string]string{}
		for column, amount := range payouts.ThreeWayAmounts(p) {
			if text[column] = d.Text(column, p.Currency, amount); amount.IsZero() && column != "earned" &&
				column != "paid out" && column != "received" {
				text[column] = "" // there is no such part
			}
		}
		row := threeWayRow{ID: fmt.Sprint(p.Payout), Path: payoutPath(p.Account, p.Payout), Currency: p.Currency,
			Earned: text["earned"], PaidOut: text["paid out"], Received: text["received"],
			Fees: text["fees"], Converted: text["converted"], Rounding: text["rounding"], Outstanding: text["outstanding"],
			State: pill{threeWayTone(p.State), p.State}}
		if t.Imported > 0 { // before the first import there is no advice
			row.Advice = term.Sentence(payouts.ThreeWayAdvice(p))
		}
		table.Rows = append(table.Rows, row)
	}
	for _, s := range t.Settlements {
		table.Settlements = append(table.Settlements,
			settlementRow{Reference: s.Reference, Day: payouts.Day(&s.ReceivedOn), Arrived: payouts.Arrived(s),
				Payouts: payouts.SettlementPayouts(s),
				Text:    s.Text, Advice: term.Sentence(payouts.SettlementAdvice(s))})
	}
	return table
}

// threeWayTone returns the state whose colour a state of a payout gets.
func threeWayTone(of string) state {
	switch of {
	case warehouse.ThreeWayReceived, warehouse.ThreeWayNothingDue:
		return stateFine
	case warehouse.ThreeWayOutstanding:
		return stateWaiting
	}
	return stateLate
}

// orWrite writes a list of t as CSV, or returns err if reading t has failed.
func orWrite(err error, t payouts.ThreeWay, list string, to io.Writer) error {
	if err != nil {
		return err
	}
	return t.WriteCSV(to, list)
}

const (
	asCSV  fileFormat = "csv"
	asJSON fileFormat = "json"
	asHTML fileFormat = "html"
)

// fileFormat is the form of a download, and the suffix of its file.
type fileFormat string
