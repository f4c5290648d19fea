package payouts

import (
	"context"
	_ "embed" // the page
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/term"
	"dealhouse/internal/warehouse"
)

// ThreeWay compares what payouts earned, what they paid out, and what reached the bank.
type ThreeWay struct {
	MadeAt      time.Time // by the clock of the warehouse
	Account     string    // empty: all
	Imported    int       // all settlements of the account, even if only some are shown
	Payouts     []warehouse.ThreeWay
	Settlements []warehouse.Settlement
	Revisions   []warehouse.SettlementRevision
}

// NewThreeWay reads the comparison for one account, or for all if account is "".
func NewThreeWay(ctx context.Context, w *warehouse.Warehouse, account string) (t ThreeWay, err error) {
	t.Account = account
	if t.MadeAt, err = w.Now(ctx); err != nil {
		return t, err
	}
	if t.Payouts, err = w.ThreeWays(ctx, account); err != nil {
		return t, err
	}
	if t.Settlements, err = w.Settlements(ctx, account); err != nil {
		return t, err
	}
	t.Imported = len(t.Settlements)
	t.Revisions, err = w.SettlementRevisions(ctx, account)
	return t, err
}

// Lists of the CSV of a ThreeWay.
const (
	ListThreeWay    = "three-way"   // one row per payout and currency
	ListSettlements = "settlements" // one row per settlement
	ListRevisions   = "revisions"   // one row per revision of a settlement, as it was imported
)

// ThreeWayLists returns the names of all these lists.
func ThreeWayLists() []string { return []string{ListThreeWay, ListSettlements, ListRevisions} }

// ThreeWayAdvice says what to do about a payout.
func ThreeWayAdvice(p warehouse.ThreeWay) string {
	clawback := p.PaidOut.IsNegative()
	switch p.State {
	case warehouse.ThreeWayOutstanding:
		if clawback {
			return "it has not been taken back yet: look at the bank, or wait"
		}
		return "nothing has arrived: look at the bank, or wait"
	case warehouse.ThreeWayShort:
		if clawback {
			return withCurrency(p.Currency, p.Outstanding.Neg()) + " has not been taken back yet"
		}
		return withCurrency(p.Currency, p.Outstanding) + " has not arrived: ask the service, or import the fee that was kept"
	case warehouse.ThreeWayOver:
		if clawback {
			return withCurrency(p.Currency, p.Outstanding) + " more was taken back than the payout says: ask the service"
		}
		return withCurrency(p.Currency, p.Outstanding.Neg()) +
			" more has arrived than was paid out: check whether it is for another payout"
	case warehouse.ThreeWayNotPaidOut:
		return "it has arrived, but the payout is not loaded or has another currency: run dealhouse sync payouts"
	}
	return ""
}

// SettlementAdvice says what to do about a settlement.
func SettlementAdvice(s warehouse.Settlement) string {
	switch {
	case s.MatchedBy == "" && !s.PayoutAmount.IsZero():
		return "it is not known which payout it settles: name it in the column payouts of a CSV file with this reference, and import that with --correct"
	case len(s.NotLoaded) > 0:
		return "payout " + term.List(ids(s.NotLoaded)) +
			" is not loaded: run dealhouse sync payouts, or correct the column payouts"
	}
	return ""
}

func ids(all []int64) []string {
	texts := make([]string, len(all))
	for i, id := range all {
		texts[i] = strconv.FormatInt(id, 10)
	}
	return texts
}

// SettlementPayouts names the payouts of a settlement, and says how they were matched.
func SettlementPayouts(s warehouse.Settlement) string {
	if s.MatchedBy == "" {
		return ""
	}
	return strings.Join(ids(s.Payouts), " ") + " (" + s.MatchedBy + ")"
}

// Sent returns what was sent for a settlement that was converted; empty if it was not.
func Sent(s warehouse.Settlement) string {
	if s.PayoutCurrency == s.Currency {
		return ""
	}
	return withCurrency(s.PayoutCurrency, s.PayoutAmount)
}

// Totals returns the sums of all payouts, for each currency separately (currencies are never added up).
func (t ThreeWay) Totals() []warehouse.ThreeWay {
	var all []warehouse.ThreeWay
	for _, p := range t.Payouts {
		i := slices.IndexFunc(all, func(s warehouse.ThreeWay) bool { return s.Currency == p.Currency })
		if i < 0 {
			i, all = len(all), append(all, warehouse.ThreeWay{Currency: p.Currency})
		}
		s := &all[i]
		s.Earned, s.PaidOut = s.Earned.Add(p.Earned), s.PaidOut.Add(p.PaidOut)
		s.Received, s.Fees = s.Received.Add(p.Received), s.Fees.Add(p.Fees)
		s.Converted, s.Rounding = s.Converted.Add(p.Converted), s.Rounding.Add(p.Rounding)
		s.Outstanding = s.Outstanding.Add(p.Outstanding)
	}
	return all
}

// Summary returns the result in a few sentences.
func (t ThreeWay) Summary() string {
	if t.Imported == 0 {
		return "No settlements are imported: dealhouse settlements import FILE imports what reached the bank."
	}
	states := map[string]uint64{}
	for _, p := range t.Payouts {
		states[p.State]++
	}
	var counts []string
	for _, state := range warehouse.ThreeWayStates() {
		if n := states[state]; n > 0 && state != warehouse.ThreeWayNothingDue {
			counts = append(counts, fmt.Sprintf("%d %s", n, state))
		}
	}
	text := "No payout is due."
	if len(counts) > 0 {
		due := uint64(len(t.Payouts)) - states[warehouse.ThreeWayNothingDue]
		text = "Of " + term.Plural(due, "payout") + ", " + term.List(counts) + "."
	}
	open := uint64(0)
	for _, s := range t.Settlements {
		if SettlementAdvice(s) != "" {
			open++
		}
	}
	if open > 0 {
		text += fmt.Sprintf(" Of %s, %d without a payout that is known.",
			term.Plural(uint64(len(t.Settlements)), "settlement"), open)
	}
	return text
}

// ToDo says what to do about payouts with a problem and about open settlements. Payouts that have not arrived yet are
// in the list of payouts.
func (t ThreeWay) ToDo() []string {
	var all []string
	for _, p := range t.Payouts {
		if advice := ThreeWayAdvice(p); advice != "" && p.State != warehouse.ThreeWayOutstanding {
			all = append(all, fmt.Sprintf("Payout %d: %s", p.Payout, advice))
		}
	}
	for _, s := range t.Settlements {
		if advice := SettlementAdvice(s); advice != "" {
			all = append(all, fmt.Sprintf("Settlement %s: %s", s.Reference, advice))
		}
	}
	return all
}

// WriteCSV writes one kind of rows, one of ThreeWayLists.
func (t ThreeWay) WriteCSV(w io.Writer, list string) error {
	switch list {
	case ListSettlements:
		return writeRecords(w, t.settlementRecords())
	case ListRevisions:
		return writeRecords(w, t.revisionRecords())
	}
	return writeRecords(w, t.payoutRecords())
}

func (t ThreeWay) payoutRecords() [][]string {
	records := [][]string{strings.Fields("account payout_id currency earned paid_out received fees converted rounding outstanding state settlements last_received_on what_to_do")}
	for _, p := range t.Payouts {
		record := []string{term.Cell(p.Account), strconv.FormatInt(p.Payout, 10), term.Cell(p.Currency)}
		for _, d := range []decimal.Decimal{p.Earned, p.PaidOut, p.Received, p.Fees, p.Converted, p.Rounding, p.Outstanding} {
			record = append(record, MoneyIn(p.Currency, d))
		}
		records = append(records, append(record, p.State, term.Cell(strings.Join(p.Settlements, " ")),
			Day(p.LastReceivedOn), term.Cell(ThreeWayAdvice(p))))
	}
	return records
}

func (t ThreeWay) settlementRecords() [][]string {
	records := [][]string{strings.Fields("account reference revision received_on currency amount fee payout_currency payout_amount matched_by payouts shares text what_to_do")}
	for _, s := range t.Settlements {
		var shares []string
		for _, d := range s.Shares {
			shares = append(shares, MoneyIn(s.PayoutCurrency, d))
		}
		records = append(records, []string{term.Cell(s.Account), term.Cell(s.Reference), fmt.Sprint(s.Revision),
			Day(&s.ReceivedOn), term.Cell(s.Currency), MoneyIn(s.Currency, s.Amount),
			MoneyIn(s.Currency, s.Fee), term.Cell(s.PayoutCurrency), MoneyIn(s.PayoutCurrency, s.PayoutAmount), s.MatchedBy,
			strings.Join(ids(s.Payouts), " "), strings.Join(shares, " "),
			term.Cell(s.Text), term.Cell(SettlementAdvice(s))})
	}
	return records
}

func (t ThreeWay) revisionRecords() [][]string {
	records := [][]string{strings.Fields("account reference revision received_on currency amount fee payout_currency payout_amount payouts imported_at imported_by source note hash")}
	for _, s := range t.Revisions {
		records = append(records, []string{term.Cell(s.Account), term.Cell(s.Reference), fmt.Sprint(s.Revision),
			Day(&s.ReceivedOn), term.Cell(s.Currency), MoneyIn(s.Currency, s.Amount),
			MoneyIn(s.Currency, s.Fee), term.Cell(s.PayoutCurrency), MoneyIn(s.PayoutCurrency, s.PayoutAmount),
			strings.Join(ids(s.Payouts), " "), iso(&s.At), term.Cell(s.By),
			term.Cell(fmt.Sprintf("%s, line %d", s.Source, s.Line)), term.Cell(s.Note), s.Hash})
	}
	return records
}

// WriteJSON writes one object with payouts and settlements. Amounts are JSON numbers with all their digits.
func (t ThreeWay) WriteJSON(w io.Writer) error {
	type object map[string]any
	payouts, settlements := []object{}, []object{}
	for _, p := range t.Payouts {
		n := func(d decimal.Decimal) json.Number { return json.Number(MoneyIn(p.Currency, d)) }
		payouts = append(payouts, object{"account": p.Account, "payout_id": p.Payout, "currency": p.Currency,
			"earned": n(p.Earned), "paid_out": n(p.PaidOut), "received": n(p.Received), "fees": n(p.Fees),
			"converted": n(p.Converted), "rounding": n(p.Rounding), "outstanding": n(p.Outstanding), "state": p.State,
			"settlements": orEmpty(p.Settlements), "what_to_do": ThreeWayAdvice(p)})
	}
	for _, s := range t.Settlements {
		shares := []json.Number{}
		for _, d := range s.Shares {
			shares = append(shares, json.Number(MoneyIn(s.PayoutCurrency, d)))
		}
		settlements = append(settlements, object{"account": s.Account, "reference": s.Reference, "revision": s.Revision,
			"received_on": Day(&s.ReceivedOn), "currency": s.Currency,
			"amount": json.Number(MoneyIn(s.Currency, s.Amount)), "fee": json.Number(MoneyIn(s.Currency, s.Fee)),
			"payout_currency": s.PayoutCurrency,
			"payout_amount":   json.Number(MoneyIn(s.PayoutCurrency, s.PayoutAmount)), "matched_by": s.MatchedBy,
			ListPayouts(): append([]int64{}, s.Payouts...), "shares": shares, "text": s.Text,
			"imported_at": s.At.UTC(), "imported_by": s.By, "what_to_do": SettlementAdvice(s)})
	}
	return writeObject(w, object{"made_at": t.MadeAt, "summary": t.Summary(), ListPayouts(): payouts,
		"settlements": settlements}, "report")
}

//go:embed threeway.html
var threeWayText string

// WriteHTML writes one page that needs no other files, and prints on A4.
func (t ThreeWay) WriteHTML(w io.Writer) error {
	return writePage(w, "threeway", threeWayText, template.FuncMap{
		"total": AlignThreeWay(Page, t.Totals()).Text, "payout": AlignThreeWay(Page, t.Payouts).Text,
		"settled": AlignSettlements(Page, t.Settlements).Text,
		"settles": SettlementPayouts, "sent": Sent, "list": func(all []string) string { return strings.Join(all, ", ") },
	}, struct {
		ThreeWay
		Title, Made string
	}{t, "Earned, paid out, received", t.MadeAt.UTC().Format("2006-01-02 15:04 UTC")})
}

// writePage fills a template, with the style of the statement.
func writePage(w io.Writer, name, text string, functions template.FuncMap, page any) error {
	_, style, _ := strings.Cut(statementText, "<style>\n")
	style, _, _ = strings.Cut(style, "</style>")
	functions["style"] = func() template.CSS { return template.CSS(style) } //nolint:gosec // it is a part of this program
	t, err := template.New(name).Funcs(functions).Parse(text)
	if err != nil {
		return fmt.Errorf("reading the template of the page: %w", err)
	}
	return execute(w, t, page, "page")
}
