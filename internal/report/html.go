package report

import (
	"bytes"
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/wording"
)

//go:embed report.html
var pageText string

// page is what the template needs beside the reconciliation: first what to expect in all, then what needs a look, then
// all payouts.
type page struct {
	Reconciliation
	Title      string
	Made       string
	Expected   []expectedRow
	Verdicts   *chart
	Exceptions []detail
	Single     []detail // the one that was asked for
	Charts     []*chart
}

// expectedRow is one kind of what there is to expect, over all payouts.
type expectedRow struct {
	KindSum
	Title   string
	Payouts int
}

// detail is a payout with what explains it.
type detail struct {
	Payout
	Rows   []Exception
	More   int
	Totals []Total
	Listed bool // among what needs a look already
}

// shownExceptions is how many transactions of a payout the page names.
const shownExceptions = 25

// WriteHTML writes one page that needs nothing beside itself: no script, no image, no font, no request. It prints on
// A4.
func (r Reconciliation) WriteHTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"day": Day, "grouped": wording.Grouped, "words": spaced, "kinds": KindColumns, "orphan": OrphanAdvice, "overdue": r.OverdueAdvice, "payout": r.Payout,
		"in":     func(currency string, d decimal.Decimal) string { return wording.Grouped(MoneyIn(currency, d)) },
		"amount": func(d *decimal.Decimal) string { return wording.Grouped(Amount("", d)) },
		"tone":   tone,
	}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("reading the template of the report: %w", err)
	}
	p := page{Reconciliation: r, Title: r.title(), Made: r.MadeAt.UTC().Format("2006-01-02 15:04 UTC"), Expected: r.expected()}
	for _, payout := range r.Payouts {
		look := len(payout.Kinds()) > 0
		d := newDetail(payout, r.Filter.Payout != nil)
		if look {
			p.Exceptions = append(p.Exceptions, d)
		}
		if d.Listed = look; r.Filter.Payout != nil {
			p.Single = append(p.Single, d)
		}
	}
	if r.Filter.Payout == nil {
		p.Verdicts, p.Charts = r.verdictChart(), r.monthlyCharts()
	} else if len(p.Exceptions) > 0 {
		p.Exceptions[0].Totals = nil // they follow
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return fmt.Errorf("making the report: %w", err)
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("writing the report as HTML: %w", err)
	}
	return nil
}

func (r Reconciliation) title() string {
	title := "Payout reconciliation"
	if r.Filter.Payout != nil {
		title += ": payout " + strconv.FormatInt(*r.Filter.Payout, 10)
	}
	if r.Filter.Account != "" {
		title += " of " + r.Filter.Account
	}
	if !r.Filter.Since.IsZero() {
		title += " since " + r.Filter.Since.UTC().Format(time.DateOnly)
	}
	return title
}

// newDetail takes what is of interest of a payout: of the one that was asked for all, of others the totals that differ.
func newDetail(p Payout, all bool) detail {
	d := detail{Payout: p, Rows: p.Exceptions()}
	if len(d.Rows) > shownExceptions {
		d.Rows, d.More = d.Rows[:shownExceptions], len(d.Rows)-shownExceptions
	}
	for _, row := range p.Totals() {
		if all || row.Differs {
			d.Totals = append(d.Totals, row)
		}
	}
	return d
}

// tone is the class of a verdict: what needs nothing is fine.
func tone(p Payout) string {
	switch {
	case len(p.Kinds()) > 0:
		return p.Kinds()[0]
	case p.Verdict == NoTransactions:
		return NoTransactions
	}
	return "fine"
}

// expected are the kinds of what there is to expect, and in how many payouts.
func (r Reconciliation) expected() []expectedRow {
	var all []expectedRow
	for _, k := range r.Kinds() {
		all = append(all, expectedRow{KindSum: k, Title: strings.TrimSuffix(k.Words, ":"), Payouts: k.payouts})
	}
	return all
}
