package report

import (
	"bytes"
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/wording"
)

//go:embed report.html
var pageText string

// page is what the template needs beside the reconciliation.
type page struct {
	Reconciliation
	Title   string
	Made    string
	Charts  []*chart
	Details []detail
}

// detail is a payout that needs more than its row.
type detail struct {
	Payout
	Totals []Total
}

// WriteHTML writes one page that needs nothing beside itself: no script, no image, no font, no request. It prints on
// A4.
func (r Reconciliation) WriteHTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"day": Day, "money": func(d decimal.Decimal) string { return wording.Grouped(Money(d)) },
		"amount":  func(d *decimal.Decimal) string { return wording.Grouped(Amount("", d)) },
		"orphan":  OrphanAdvice,
		"overdue": r.OverdueAdvice,
		"words":   spaced,
	}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("reading the template of the report: %w", err)
	}
	p := page{Reconciliation: r, Title: r.title(), Made: r.MadeAt.UTC().Format("2006-01-02 15:04 UTC"), Details: r.details()}
	if r.Filter.Payout == nil {
		p.Charts = append(append([]*chart{r.verdictChart()}, r.monthlyCharts()...), r.stakeCharts()...)
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

// details are the payouts whose totals are worth a look.
func (r Reconciliation) details() []detail {
	var all []detail
	for _, p := range r.Payouts {
		if len(p.Kinds()) == 0 && r.Filter.Payout == nil {
			continue
		}
		d := detail{Payout: p}
		for _, row := range p.Totals() {
			// Of one payout all totals are of interest; of many, those that moved. The average follows from others.
			if r.Filter.Payout != nil || row.Differs || row.Name != "aov" && row.Now != row.Reported {
				d.Totals = append(d.Totals, row)
			}
		}
		all = append(all, d)
	}
	return all
}
