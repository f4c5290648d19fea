package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"dealhouse/internal/finance"
	"dealhouse/internal/payouts"
	"dealhouse/internal/syncer"
	"dealhouse/internal/warehouse"
)

// fits fails the test when a table is wider than a terminal, and returns its header.
func fits(t *testing.T, table string) (header string) {
	t.Helper()
	for line := range strings.Lines(table) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 100 {
			t.Errorf("%d columns, want 100 at most:\n%s", n, table)
		}
	}
	header, _, _ = strings.Cut(table, "\n")
	return strings.Join(strings.Fields(header), " ")
}

// A table shows ordinary runs in 100 columns; what has nothing to say is left out, and what has is there.
func TestRunsFitTheTerminal(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 15, 9, 0, 59, 0, time.UTC)
	record := warehouse.RunRecord{
		Account: "globex", Stream: "cashback_offers", Mode: "incremental", Outcome: warehouse.OutcomeSuccess, StartedAt: at,
		FinishedAt: at.Add(83 * time.Second),
		Totals:     warehouse.Totals{Read: 123_456, Pages: 124},
		Changes:    warehouse.Changes{Inserted: 1234, Updated: 56, Deleted: 7, Unchanged: 122_159},
	}
	quiet := record
	quiet.Changes = warehouse.Changes{}
	var out bytes.Buffer
	if err := printRuns(&out, "table", []warehouse.RunRecord{record, quiet}); err != nil {
		t.Fatal(err)
	}
	if got, want := fits(t, out.String()), "started account stream mode read changes duration outcome"; got != want {
		t.Errorf("columns %s, want %s", got, want)
	}
	if !strings.Contains(out.String(), "2026-03-15 09:00  globex   cashback_offers  incremental  123,456  +1,234 ~56 -7  1 min 23 s  success\n") {
		t.Error(out.String())
	}
}

// Runs of which there is much to say are as narrow: what went wrong stands beneath them, an error that they share once.
func TestRunsWithErrorsFitTheTerminal(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 15, 9, 0, 59, 0, time.UTC)
	bad := warehouse.RunRecord{
		Account: "the-account-of-a-large-retailer-in-germany", Stream: "cashback_offers", Mode: "incremental",
		Outcome: warehouse.OutcomeIncomplete, StartedAt: at,
		Totals:  warehouse.Totals{Read: 123_456_789, Rejected: 12_345},
		Changes: warehouse.Changes{Inserted: 123_456_789, Updated: 56, Deleted: 7, Kept: 3},
		Error: "account x: " + strings.Repeat("the service could not be reached ", 5) + "[GET https://api.example.com/v1/" +
			strings.Repeat("ü", 120) + "] \nsecond line",
	}
	again := bad
	again.Totals.Rejected, again.Changes.Kept = 0, 0
	other := again
	other.Error = "another"
	var out bytes.Buffer
	if err := printRuns(&out, "table", []warehouse.RunRecord{bad, again, other}); err != nil {
		t.Fatal(err)
	}
	if got, want := fits(t, out.String()), "started account stream mode read duration outcome"; got != want {
		t.Errorf("columns %s, want %s", got, want)
	}
	shown := strings.Join(strings.Fields(out.String()), " ")
	for _, words := range []string{"the-account-of-a… cashback_offers",
		"12,345 rejected; 3 waiting; account x: the service", "second line", " the same error as above ", " another"} {
		if strings.Count(shown, words) == 0 {
			t.Errorf("%q is not said:\n%s", words, out.String())
		}
	}
	if n := strings.Count(shown, "could not be reached"); n != 5 {
		t.Errorf("the error is shown %d times", n/5)
	}
}

// The same for the summary of a sync.
func TestResultsFitTheTerminal(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 15, 9, 0, 59, 0, time.UTC)
	record := warehouse.RunRecord{
		Account: "globex", Stream: "cashback_offers", Mode: "incremental", Outcome: warehouse.OutcomeSuccess, StartedAt: at,
		FinishedAt: at.Add(83 * time.Second),
		Totals:     warehouse.Totals{Read: 40_000, Pages: 40}, Changes: warehouse.Changes{Inserted: 40_000},
	}
	var out bytes.Buffer
	if err := printResults(&out, "table", []syncer.Result{{Record: record}}); err != nil {
		t.Fatal(err)
	}
	if got, want := fits(t, out.String()),
		"account stream mode read inserted updated deleted same took outcome"; got != want {
		t.Errorf("columns %s, want %s", got, want)
	}
	out.Reset()
	if err := printResults(&out, "csv", []syncer.Result{{Record: record}}); err != nil ||
		!strings.Contains(out.String(), "globex,cashback_offers,incremental,40000,40000,0,0,0,0,40,83,success,") {
		t.Errorf("%s, %v", out.String(), err)
	}
}

// The same for payouts that add up. What to do about others stands beneath them on a terminal, and at the end of their
// line elsewhere.
func TestPayoutsFitTheTerminal(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	amount := decimal.RequireFromString("83997.2368")
	payout := payouts.Payout{
		Payout: warehouse.Payout{Account: "acme", ID: 633, Start: &at, End: &at, Currencies: []string{"EUR"},
			Verdict: payouts.Matched},
		Explained: finance.Explanation{Lines: []finance.Line{{Currency: "EUR", Paid: amount, Worth: amount}}},
	}
	var out bytes.Buffer
	printed := func(narrow bool, list ...payouts.Payout) string {
		out.Reset()
		if err := printReconciliationTables(&out, payouts.Reconciliation{Payouts: list}, narrow); err != nil {
			t.Fatal(err)
		}
		table, _, _ := strings.Cut(out.String(), "\n\n")
		return table
	}
	for _, narrow := range []bool{false, true} {
		if got, want := fits(t, printed(narrow, payout)),
			"account payout period currency paid worth now verdict"; got != want {
			t.Errorf("columns %s, want %s", got, want)
		}
	}
	other := payout
	other.Verdict = payouts.NoTransactions
	const advice = "none of its transactions is loaded"
	if got := printed(false, payout, other); !strings.Contains(got, "matched          nothing to do\n") ||
		!strings.Contains(got, "no transactions  "+advice) {
		t.Error(got)
	}
	got := printed(true, payout, other)
	fits(t, got)
	if !strings.Contains(got, "matched\n") || !strings.Contains(got, "no transactions\n    "+advice) {
		t.Error(got)
	}
}

// The decimal points of settlements stand below each other.
func TestSettlementsAreAligned(t *testing.T) {
	t.Parallel()
	amount := decimal.RequireFromString
	var out bytes.Buffer
	err := printThreeWay(&out, payouts.ThreeWay{
		Payouts: []warehouse.ThreeWay{
			{Account: "acme", Payout: 2, Currency: "EUR", Earned: amount("76481.0506"), PaidOut: amount("76481.0506")},
			{Account: "acme", Payout: 1, Currency: "EUR", Earned: amount("997.927"), PaidOut: amount("1000")},
		},
		Settlements: []warehouse.Settlement{{Account: "acme", Currency: "EUR", Amount: amount("997.927")},
			{Account: "acme", Currency: "EUR", Amount: amount("1000")}},
	})
	for _, words := range []string{"EUR       76,481.0506  76,481.0506", "EUR          997.9270   1,000.0000",
		"EUR         997.927", "EUR       1,000.000"} {
		if err != nil || !strings.Contains(out.String(), words) {
			t.Errorf("no %q, %v:\n%s", words, err, out.String())
		}
	}
}

// The same for the status, which says more where rows wait or something went wrong.
func TestStatusFitsTheTerminal(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 15, 9, 0, 0, 0, time.UTC)
	s := warehouse.StreamStatus{
		Account: "globex", Stream: "cashback_offers", Rows: 12_345_678, LastSuccess: &at, Watermark: &at, LastRun: &at,
		Now: at.Add(time.Hour), LastOutcome: warehouse.OutcomeIncomplete,
	}
	var out bytes.Buffer
	if err := printStatus(&out, "table", []warehouse.StreamStatus{s},
		func(warehouse.StreamStatus) string { return "" }); err != nil {
		t.Fatal(err)
	}
	if got, want := fits(t, out.String()), "account stream rows last success lag watermark last outcome"; got != want {
		t.Errorf("columns %s, want %s", got, want)
	}
	s.Waiting, s.LastError = 1, "broken"
	out.Reset()
	if err := printStatus(&out, "table", []warehouse.StreamStatus{s},
		func(warehouse.StreamStatus) string { return "" }); err != nil ||
		!strings.Contains(out.String(), "waiting") || !strings.Contains(out.String(), "broken") {
		t.Errorf("%s, %v", out.String(), err)
	}
}
