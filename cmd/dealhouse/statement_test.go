//go:build !noengine

package main

import (
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
)

// checkStatement prints the statements of a month in which things were sold, and of one in which they were paid and
// changed, and closes the first.
func checkStatement(t *testing.T, b *books) {
	t.Helper()
	b.call(t, "statement").want(t, 2, "--month")
	b.call(t, "statement", "--month", "soon").want(t, 2, "not a month")
	b.call(t, "statement", "--month", "2026-03", "--list", "ages").want(t, 2, "--output csv")
	b.call(t, "statement", "--month", "2026-03", "--account", "acne").want(t, 2, `there is no account "acne"`)
	got := b.call(t, "statement", "--month", "2025-11")
	got.want(t, 0)
	got.shows(t, "Statement of acme, November 2025", "Opening balance", "sold", "Closing balance", "EUR", "USD",
		"The month is complete and not closed.")
	got = b.call(t, "statement", "--month", "2026-03")
	got.shows(t, "paid out", "clawback expected", "claimable", "The month is not complete")
	b.statementBalances(t, "2025-11")
	b.statementBalances(t, "2026-03")
	changes := b.rowsOf(t, "statement", "--month", "2026-03", "--list", "changes")
	sum := decimal.Zero
	for _, row := range changes {
		if row["entry"] == "clawback expected" {
			sum = sum.Add(decimal.RequireFromString(row["after_payment"]))
		}
	}
	for _, row := range b.rowsOf(t, "statement", "--month", "2026-03") {
		if row["entry"] == "clawback expected" && row["after_payment"] != sum.StringFixed(2) {
			t.Errorf("the statement has %s, its changes add up to %s", row["after_payment"], sum)
		}
	}
	if page := b.call(t, "statement", "--month", "2026-03", "-o", "html").out; strings.Contains(page, "http:") ||
		strings.Contains(page, "<script") || !strings.Contains(page, "Closing balance") {
		t.Error("the page is not what it has to be")
	}
	b.call(t, "reconcile", "close", "--month", "2026-03").want(t, 2, "loaded up to")
	b.call(t, "reconcile", "close", "--month", "2025-11", "--by", "ann").shows(t, "Closed by ann on ", "SHA-256 ")
	b.call(t, "reconcile", "close", "--month", "2025-10").want(t, 2, "2025-11 was closed by ann")
	b.call(t, "statement", "--month", "2025-11").shows(t, "Closed by ann on ")
}

// rowsOf reads a CSV.
func (b *books) rowsOf(t *testing.T, args ...string) []map[string]string {
	t.Helper()
	got := b.call(t, append(args, "-o", "csv")...)
	got.want(t, 0)
	text, marked := strings.CutPrefix(got.out, "\ufeff")
	if !marked {
		t.Error("no byte order mark: Excel will not read it as UTF-8")
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows[0]) > 15 {
		t.Errorf("%v has %d columns", args, len(rows[0]))
	}
	var all []map[string]string
	for _, row := range rows[1:] {
		of := map[string]string{}
		for i, name := range rows[0] {
			of[name] = row[i]
		}
		all = append(all, of)
	}
	return all
}

func (b *books) statementBalances(t *testing.T, month string) {
	t.Helper()
	type balance struct {
		Pending, Confirmed decimal.Decimal
		Settled            decimal.Decimal `json:"after_payment"`
		Total              decimal.Decimal
	}
	var s struct {
		Currencies []struct {
			Currency         string
			Opening, Closing balance
			Entries          []balance
		}
	}
	got := b.call(t, "statement", "--month", month, "-o", "json")
	if err := json.Unmarshal([]byte(got.out), &s); err != nil {
		t.Fatalf("%v\n%s", err, got.out)
	}
	if len(s.Currencies) != 2 {
		t.Errorf("%s has %d currencies", month, len(s.Currencies))
	}
	for _, c := range s.Currencies {
		sum := c.Opening.Total
		for _, e := range c.Entries {
			sum = sum.Add(e.Total)
			if !e.Total.Equal(e.Pending.Add(e.Confirmed).Add(e.Settled)) {
				t.Errorf("%s %s: %+v", month, c.Currency, e)
			}
		}
		if !sum.Equal(c.Closing.Total) {
			t.Errorf("%s %s: %s opens and what happened make %s, and %s closes", month, c.Currency, c.Opening.Total, sum,
				c.Closing.Total)
		}
	}
}
