package payouts

import (
	"slices"

	"github.com/shopspring/decimal"

	"dealhouse/internal/term"
)

// bar is one bar of a chart. Its length is a share of the longest one, and the only float that is made
// from an amount (amounts are decimals).
type bar struct {
	Label, Value, Class string
	Width               float64 // in units of the drawing
	Y, Middle           int
}

// chart is a chart of horizontal bars, which the page draws as SVG.
type chart struct {
	Title, Note   string
	Bars          []bar
	Height, Scale int
}

const (
	barWidth  = 250 // of the longest bar
	barHeight = 22
)

// newChart makes an empty chart. The lengths of its bars are proportional to the amounts.
func newChart(title, note string) *chart { return &chart{Title: title, Note: note} }

func (c *chart) add(label, value, class string, length decimal.Decimal) {
	c.Bars = append(c.Bars, bar{Label: label, Value: value, Class: class, Width: length.Abs().InexactFloat64()})
}

// layOut computes the lengths and places of the bars.
func (c *chart) layOut() *chart {
	longest := 0.0
	for _, b := range c.Bars {
		longest = max(longest, b.Width)
	}
	for i := range c.Bars {
		b := &c.Bars[i]
		if longest > 0 {
			b.Width = max(b.Width/longest*barWidth, 1)
		}
		b.Y = i*barHeight + 3
		b.Middle = i*barHeight + barHeight/2 + 4
	}
	c.Height = len(c.Bars)*barHeight + 4
	return c
}

func (r Reconciliation) verdictChart() *chart {
	c := newChart("Payouts by verdict", "")
	for _, v := range Verdicts() {
		n := r.Count(v)
		c.add(term.Spaced(v), term.Grouped(decimal.NewFromInt(int64(n)).String()), v, decimal.NewFromInt(int64(n)))
	}
	return c.layOut()
}

// monthlyCharts compare reported and recomputed cashback by the month in which the payouts' periods ended: one chart a
// currency (currencies are never added up).
func (r Reconciliation) monthlyCharts() []*chart {
	type month struct{ reported, recomputed decimal.Decimal }
	byCurrency := map[string]map[string]month{}
	for _, p := range r.Payouts {
		if p.End == nil || p.ReportedCashback() == nil || p.Verdict == NoTransactions || p.MixedCurrency {
			continue
		}
		if byCurrency[p.Currency()] == nil {
			byCurrency[p.Currency()] = map[string]month{}
		}
		key := p.End.UTC().Format("2006-01")
		m := byCurrency[p.Currency()][key]
		m.reported = m.reported.Add(*p.ReportedCashback())
		m.recomputed = m.recomputed.Add(*p.RecomputedCashback())
		byCurrency[p.Currency()][key] = m
	}
	var charts []*chart
	for _, currency := range sorted(byCurrency) {
		months := sorted(byCurrency[currency])
		c := newChart("Cashback by month, "+orUnknown(currency),
			"By the end of the period. Upper bar: reported by the payouts; lower bar: recomputed from their transactions.")
		const most = 12
		if len(months) > most {
			months = months[len(months)-most:]
			c.Note += " The last 12 months."
		}
		for _, key := range months {
			m := byCurrency[currency][key]
			c.add(key, term.Grouped(MoneyIn(currency, m.reported)), "reported", m.reported)
			c.add("", term.Grouped(MoneyIn(currency, m.recomputed)), "recomputed", m.recomputed)
		}
		charts = append(charts, c.layOut())
	}
	return charts
}

func orUnknown(currency string) string {
	if currency == "" {
		return "unknown currency"
	}
	return currency
}

func sorted[T any](m map[string]T) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
