package payouts

import (
	"bytes"
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"dealhouse/internal/finance"
	"dealhouse/internal/term"
)

//go:embed report.html
var pageText string

// page is the data of the template. The page shows first what to expect in total, then what needs
// a look, then all payouts.
type page struct {
	Reconciliation
	Title      string
	Made       string
	Expected   []expectedRow
	Verdicts   *chart
	Exceptions []detail
	Single     []detail // the requested one
	Charts     []*chart
}

// expectedRow is what to expect of one kind and currency, over all payouts.
type expectedRow struct{ Title, Currency, Amount, Payouts string }

// detail is a payout with the rows that explain it.
type detail struct {
	Payout
	Rows   []Exception
	More   int
	Shown  []Total // the totals that are shown
	Listed bool    // already shown among those that need a look
}

// shownExceptions is the largest number of transactions of a payout that the page names.
const shownExceptions = 25

// WriteHTML writes a self-contained page: no script, no image, no font, no request. It prints on A4.
func (r Reconciliation) WriteHTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"day": Day, "words": term.Spaced, "kinds": KindColumns, "orphan": OrphanAdvice, "overdue": r.OverdueAdvice,
		"payout": r.Payout,
		"tone":   tone, "sentence": term.Sentence,
		"lines":      func(l []finance.Line) *Alignment { return AlignLines(Page, l...) },
		"exceptions": func(all []Exception) *Alignment { return AlignExceptions(Page, all) },
		"all":        func() *Alignment { return r.AlignPayouts(Page) },
		"others":     func() *Alignment { return r.AlignOthers(Page) },
		"aligned":    func() *Alignment { return r.AlignTransactions(Page) },
	}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("reading the template of the report: %w", err)
	}
	p := page{Reconciliation: r, Title: r.title(), Made: r.MadeAt.UTC().Format("2006-01-02 15:04 UTC"),
		Expected: r.expected()}
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
		p.Exceptions[0].Shown = nil // they are shown further down
	}
	return execute(w, t, p, "report")
}

// execute writes the whole page, or nothing if the template fails. what names the page in an error.
func execute(w io.Writer, t *template.Template, page any, what string) error {
	var b bytes.Buffer
	if err := t.Execute(&b, page); err != nil {
		return fmt.Errorf("making the %s: %w", what, err)
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("writing the %s as HTML: %w", what, err)
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

// newDetail returns the details of a payout: everything for the requested one, the totals that differ for others.
func newDetail(p Payout, all bool) detail {
	d := detail{Payout: p, Rows: p.Exceptions()}
	if len(d.Rows) > shownExceptions {
		d.Rows, d.More = d.Rows[:shownExceptions], len(d.Rows)-shownExceptions
	}
	for _, row := range p.Totals() {
		if all || row.Differs && p.Verdict != Drifted { // what drifted is explained by its transactions
			d.Shown = append(d.Shown, row)
		}
	}
	return d
}

// tone returns the CSS class of a payout: its first finding, or "fine" if nothing needs a look.
func tone(p Payout) string {
	switch {
	case len(p.Kinds()) > 0:
		return p.Kinds()[0]
	case p.Verdict == NoTransactions:
		return NoTransactions
	}
	return "fine"
}

// expected returns what to expect, by kind and currency, and in how many payouts. Amounts within the tolerance are
// included, and shown once more at the end.
func (r Reconciliation) expected() []expectedRow {
	kinds := r.Kinds()
	n, together := r.withinSums()
	if len(together.order) > 0 {
		kinds = append(kinds, KindSum{Words: "Of this, within the tolerance of each payout:", sums: together,
			payouts: int(n)})
	}
	d := NewAlignment(Page)
	for _, k := range kinds {
		for currency, sum := range k.sums.by {
			d.Note("amount", currency, sum)
		}
	}
	var all []expectedRow
	for _, k := range kinds {
		title, payouts := strings.TrimSuffix(k.Words, ":"), term.Count(uint64(k.payouts))
		for _, currency := range slices.Sorted(slices.Values(k.sums.order)) {
			all = append(all, expectedRow{title, orUnknown(currency), d.Text("amount", currency, k.sums.by[currency]), payouts})
			title, payouts = "", ""
		}
	}
	return all
}
