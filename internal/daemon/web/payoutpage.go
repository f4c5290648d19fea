package web

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"dealhouse/internal/payouts"
	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// shownTransactions is how many transactions the page of a payout or of a figure shows at most. The CSV has all.
const shownTransactions = 200

// payoutKey names a payout.
type payoutKey struct {
	account string
	id      int64
}

// payoutDetails has what the page of a payout shows, and no more than fits on the page.
type payoutDetails struct {
	there bool
	body  payoutBody
}

// payoutBody is the page of a payout.
type payoutBody struct {
	Account, ID, Path string
	Period            string
	Month, MonthTitle string
	State             state
	Pills             []pill
	Advice            string
	Lines             []payoutLine
	Matters           []matterRow
	Exceptions        []paidRow
	Transactions      []paidRow
	Sums              []paidRow // of all of them, by currency
	More              string    // transactions that are not shown; "" if all are shown
	Totals            []payouts.Total
	ThreeWay          threeWayTable
	History           []event
	Ack               *ackForm
	Error             string
}

// matterRow is a matter of a payout that a person has to look at, or has acknowledged.
type matterRow struct {
	Value        string // as the form sends it
	Kind         string
	Amount       string
	Transactions string
	State        state
	Standing     string
}

// paidRow is a transaction of a payout.
type paidRow struct {
	ID, Sold, Retailer, Kind, Reason string
	WhenPaid, Now                    string
	Currency, Paid, Worth, Differs   string
}

// event is something that happened to a payout.
type event struct{ At, What, Who string }

// ackForm is the form by which an operator acknowledges a payout.
type ackForm struct {
	Token, Seen, Account, ID string
	Open                     []matterRow
	Reasons                  [][2]string
}

func newPayoutBody(r payouts.Reconciliation, p payouts.Payout) payoutBody {
	row := newPayoutRow(p, payouts.AlignLines(payouts.Page, p.Explained.Lines...))
	b := payoutBody{Account: p.Account, ID: row.ID, Path: row.Path, Period: row.Period, Month: p.Month(),
		MonthTitle: monthTitle(p.Month()), State: verdictTone(p), Pills: row.Pills,
		Advice: row.Advice, Lines: row.Lines, Totals: p.Totals()}
	ack := ackForm{Seen: p.Seen(), Account: p.Account, ID: row.ID, Reasons: payouts.Reasons()}
	for _, m := range p.Matters {
		row := newMatterRow(m)
		if b.Matters = append(b.Matters, row); m.Open {
			ack.Open = append(ack.Open, row)
		}
	}
	if len(ack.Open) > 0 {
		b.Ack = &ack
	}
	d := payouts.AlignExceptions(payouts.Page, p.Exceptions())
	for _, e := range firstOf(p.Exceptions()) {
		b.Exceptions = append(b.Exceptions, paidRow{ID: e.ID.String(), Sold: payouts.Day(e.SoldAt), Retailer: e.Retailer,
			Kind: payouts.MatterTitle(string(e.Kind)), Reason: string(e.Reason), WhenPaid: e.WhenPaid, Now: e.Status,
			Currency: e.Currency, Paid: d.Text("paid", e.Currency, e.Paid), Worth: d.Text("worth", e.Currency, e.Worth),
			Differs: d.Text("difference", e.Currency, e.Difference())})
	}
	d = r.AlignTransactions(payouts.Page)
	for _, t := range firstOf(r.Transactions) {
		b.Transactions = append(b.Transactions,
			paidRow{ID: t.ID.String(), Sold: payouts.Day(t.SoldAt), Retailer: t.Retailer, Reason: t.State,
				WhenPaid: p.WhenPaid(t), Now: t.Status,
				Currency: t.Currency, Paid: d.TextKnown("paid", t.Currency, p.PaidFor(t)),
				Worth: d.Text("worth", t.Currency, p.WorthOf(t))})
	}
	for _, s := range r.TransactionSums() {
		b.Sums = append(b.Sums, paidRow{ID: s.Title, Currency: s.Currency, Paid: d.TextKnown("paid", s.Currency, s.Paid), Worth: d.Text("worth", s.Currency, s.Worth)})
	}
	if n := len(r.Transactions) - len(b.Transactions); n > 0 {
		b.More = term.Plural(uint64(n), "more transaction")
	}
	return b
}

// firstOf returns as much of a list as a page shows.
func firstOf[T any](all []T) []T { return all[:min(len(all), shownTransactions)] }

func newMatterRow(m payouts.Matter) matterRow {
	row := matterRow{Value: strings.TrimSpace(m.Kind + " " + m.Currency), Kind: payouts.MatterTitle(m.Kind),
		State: stateLate, Standing: "open", Transactions: term.Count(uint64(len(m.Entries)))}
	if a := m.Amount(); !a.IsZero() || m.Currency != "" {
		row.Amount = strings.TrimSpace(m.Currency + " " + term.Grouped(payouts.MoneyIn(m.Currency, a.Abs())))
	}
	a := m.Acknowledged
	switch {
	case m.Within:
		row.State, row.Standing = stateFine, "within the tolerance"
	case m.Open && a != nil && m.Moved.IsZero():
		row.Standing = "open again: it has changed since " + a.By + " acknowledged it"
	case m.Open && a != nil:
		row.Standing = "open again: it has moved by " +
			strings.TrimSpace(m.Currency+" "+term.Grouped(payouts.MoneyIn(m.Currency, m.Moved))) + " since " + a.By +
			" acknowledged it"
	case !m.Open:
		row.State, row.Standing = stateFine, "acknowledged by "+a.By+" on "+a.At.UTC().Format(time.DateOnly)+" as "+
			term.Spaced(a.Reason)
	}
	return row
}

// historyOf returns what happened to a payout, the last event first.
func historyOf(r payouts.Reconciliation, p payouts.Payout, acknowledged []warehouse.Acknowledgement) []event {
	all := []event{{At: exact(p.FirstSeenAt), What: "first loaded"}}
	if p.AlteredAt != nil {
		var changes []string
		for i, name := range p.AlteredColumns {
			changes = append(changes, name+" from "+p.AlteredBefore[i]+" to "+p.AlteredAfter[i])
		}
		all = append(all, event{At: exact(*p.AlteredAt),
			What: strings.TrimSuffix("the payout was altered: "+strings.Join(changes, ", "), ": ")})
	}
	for _, t := range firstOf(r.Transactions) {
		if t.Differs() && t.ChangedAt != nil {
			all = append(all, event{At: exact(*t.ChangedAt),
				What: "transaction " + t.ID.String() + " " + t.State + ": " + p.WhenPaid(t) + " when paid, " + t.Status + " now"})
		}
	}
	for _, a := range acknowledged {
		what := "acknowledged " + payouts.Acknowledged(a) + " as " + term.Spaced(a.Reason)
		if a.Note != "" {
			what += ": " + a.Note
		}
		all = append(all, event{At: exact(a.At), What: what, Who: a.By})
	}
	slices.SortStableFunc(all, func(a, b event) int { return cmp.Compare(b.At, a.At) })
	return all
}

// payoutOf reads which payout an address is about.
func payoutOf(r *http.Request) (payoutKey, bool) {
	id, err := strconv.ParseInt(r.PathValue("payout"), 10, 64)
	k := payoutKey{r.PathValue("account"), id}
	return k, err == nil && r.PathValue("payout") == strconv.FormatInt(id, 10) && k.account != "" // one address per payout
}

// The charts are computed here and drawn as SVG by templates/parts.html: nothing is loaded for them, and they need no
// JavaScript. Some heights are square roots, because a first load would otherwise make everything after it look flat.

// runChart has a bar for each of the last runs, the oldest left: upwards the rows it read, downwards how long it took.
type runChart struct {
	ID            string // unique on the page
	Width, Height int
	Base          int // y of the line between rows and duration
	Text          string
	Bars          []runBar
}

type runBar struct {
	X, Width               int
	Rows, RowsTop          int // height and y of the part above the line
	Took                   int // height of the part below
	Kind                   string
	Marked                 bool // with a cross above, for people who cannot see the colour
	MarkX, MarkY, MarkSize int
	Text                   string
}

const (
	slotWidth  = 8
	barWidth   = 6
	rowsHeight = 30
	tookHeight = 14
	markHeight = 8
	lineGap    = 1 // on both sides of the line
)

// newRunChart draws runs, the newest first.
func newRunChart(id string, runs []warehouse.RunRecord, now time.Time) *runChart {
	if len(runs) == 0 {
		return nil
	}
	runs = runs[:min(len(runs), chartRuns)]
	c := &runChart{ID: id, Width: chartRuns*slotWidth - (slotWidth - barWidth), Base: markHeight + rowsHeight + lineGap,
		Text: describe(runs, now)}
	c.Height = c.Base + lineGap + tookHeight
	var most uint64
	var longest time.Duration
	for _, r := range runs {
		most, longest = max(most, r.Totals.Read), max(longest, took(r, now))
	}
	for i, r := range slices.Backward(runs) {
		x := (chartRuns - 1 - i) * slotWidth
		b := runBar{X: x, Width: barWidth, Kind: toneOf(r.Outcome).class, Text: exact(r.StartedAt) + ": " + summary(r, now)}
		b.Rows = scaled(float64(r.Totals.Read), float64(most), rowsHeight)
		b.RowsTop = markHeight + rowsHeight - b.Rows
		b.Took = scaled(took(r, now).Seconds(), longest.Seconds(), tookHeight)
		if b.Marked = toneOf(r.Outcome).marked; b.Marked {
			b.MarkX, b.MarkSize = x+1, barWidth-2
			b.MarkY = b.RowsTop - markHeight + 2
		}
		c.Bars = append(c.Bars, b)
	}
	return c
}

// scaled returns a height by the square root. It is at least 1, so that there is something to point at.
func scaled(value, most float64, height int) int {
	if most <= 0 || value <= 0 {
		return 1
	}
	return max(1, int(math.Round(math.Sqrt(value/most)*float64(height))))
}

// took returns how long a run took, or has taken until now; 0 if nobody knows when it was killed.
func took(r warehouse.RunRecord, now time.Time) time.Duration {
	end := r.FinishedAt
	switch {
	case !end.IsZero():
	case r.Outcome == warehouse.OutcomeRunning:
		end = now
	default:
		return 0
	}
	return max(0, end.Sub(r.StartedAt))
}

// summary returns a run in a few words.
func summary(r warehouse.RunRecord, now time.Time) string {
	text := fmt.Sprintf("%s, %s in %s", r.Outcome, term.Plural(r.Totals.Read, "row"), term.Span(took(r, now)))
	switch {
	case r.Outcome == warehouse.OutcomeRunning:
		text = "running for " + term.Span(took(r, now))
	case r.FinishedAt.IsZero(): // nobody knows when it was killed
		text = r.Outcome + ", " + term.Plural(r.Totals.Read, "row")
	}
	return text
}

// describe returns the chart in words, for people who cannot see it.
func describe(runs []warehouse.RunRecord, now time.Time) string {
	var outcomes []string
	times := map[string]int{}
	for _, r := range runs {
		if times[r.Outcome]++; times[r.Outcome] == 1 {
			outcomes = append(outcomes, r.Outcome)
		}
	}
	for i, o := range outcomes {
		outcomes[i] = fmt.Sprintf("%d %s", times[o], o)
	}
	return fmt.Sprintf("The last %s: %s. The newest: %s.", term.Plural(uint64(len(runs)), "run"),
		strings.Join(outcomes, ", "), summary(runs[0], now))
}

// dayChart has a bar for each day, in layers.
type dayChart struct {
	ID, Title     string
	Text          string
	Layers        []layer
	Width, Height int
	Bars          []dayBar // without those of height 0
	Days          []day    // for the table, the newest first: those that have something
	First, Last   string
	Scale         string // what the full height means
}

// layer is one of the things that are counted.
type layer struct{ Class, Name string }

type dayBar struct {
	X, Y, Width, Height int
	Class, Text         string
}

// day is one day's counts, in the order of the layers.
type day struct {
	Date   time.Time
	Counts []uint64
}

const (
	dayWidth  = 10
	dayHeight = 120
	leastDays = 30
)

// newDayChart draws days, the oldest first; days without an entry are empty. Heights are proportional, or follow the
// square root of the day's total.
func newDayChart(id, title string, layers []layer, days []day, root bool) *dayChart {
	if len(days) == 0 {
		return nil
	}
	last := days[len(days)-1].Date
	first := last.AddDate(0, 0, 1-leastDays) // so that a single day is not as wide as the page
	if days[0].Date.Before(first) {
		first = days[0].Date
	}
	span := int(last.Sub(first).Hours()/24) + 1
	c := &dayChart{ID: id, Title: title, Layers: layers, Width: span * dayWidth, Height: dayHeight, First: date(first),
		Last: date(last)}
	most, best := uint64(0), days[0]
	for _, d := range days {
		if n := d.total(); n > most {
			most, best = n, d
		}
	}
	for _, d := range days {
		c.draw(d, int(d.Date.Sub(first).Hours()/24), most, root)
	}
	if c.Scale = "at most " + term.Count(most) + " a day"; root {
		c.Scale += ", √ scale"
	}
	c.Days = slices.Clone(days)
	slices.Reverse(c.Days)
	c.Text = fmt.Sprintf("%s to %s; the most on %s: %s", c.First, c.Last, date(best.Date), term.Count(most))
	return c
}

func (c *dayChart) draw(d day, slot int, most uint64, root bool) {
	total := d.total()
	if total == 0 {
		return
	}
	share := float64(total) / float64(most)
	if root {
		share = math.Sqrt(share)
	}
	height, y, below := max(2, share*dayHeight), float64(dayHeight), uint64(0)
	for i, n := range d.Counts {
		below += n
		top := float64(dayHeight) - height*float64(below)/float64(total)
		b := dayBar{X: slot*dayWidth + 1, Width: dayWidth - 2, Y: int(math.Round(top)), Class: c.Layers[i].Class}
		b.Height = int(math.Round(y)) - b.Y
		b.Text = fmt.Sprintf("%s: %s %s", date(d.Date), term.Count(n), c.Layers[i].Name)
		if y = top; b.Height > 0 {
			c.Bars = append(c.Bars, b)
		}
	}
}

func (d day) total() (n uint64) {
	for _, count := range d.Counts {
		n += count
	}
	return n
}

func date(t time.Time) string { return t.UTC().Format("2 Jan 2006") }
