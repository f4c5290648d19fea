package payouts

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var today = time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)

// readText reads a file of settlements.
func readText(text, account string, until time.Time) ([]Row, []Problem, error) {
	read, err := ReadFile(strings.NewReader(text), Rules{Account: account, Until: until})
	return read.Rows, read.Problems, err
}

const header = "reference,received_on,currency,amount,fee,payout_currency,payout_amount,payouts,text\n"

// TestReadFile reads a file with everything that it may contain.
func TestReadFile(t *testing.T) {
	t.Parallel()
	rows, problems, err := readText(("text,amount,received_on,currency,reference,fee,payouts,payout_currency,payout_amount\r\n" +
		"\"two, \"\"at once\"\"\",1234.50,2026-03-31,EUR,A-1,1.5,103 101,,\r\n\r\n" +
		",-3,2026-04-01,JPY,A-2,,,USD,-0.02\r\n"), "acme", today)
	if err != nil || len(problems) > 0 || len(rows) != 2 {
		t.Fatalf("%+v %v %v", rows, problems, err)
	}
	a, b := rows[0], rows[1]
	if a.Line != 2 || a.Account != "acme" || a.Reference != "A-1" || a.Text != `two, "at once"` ||
		a.Amount.String() != "1234.5" || a.Fee.String() != "1.5" || a.PayoutCurrency != "EUR" ||
		a.PayoutAmount.String() != "1236" || fmt.Sprint(a.Payouts) != "[101 103]" ||
		!a.ReceivedOn.Equal(time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", a)
	}
	if b.Line != 4 || b.Amount.String() != "-3" || b.PayoutCurrency != "USD" || b.PayoutAmount.String() != "-0.02" ||
		len(b.Payouts) != 0 || b.unit().String() != "0.01" {
		t.Errorf("%+v", b)
	}
	if excel, wrong, err := readText("\ufeff"+header+"A-1,2026-03-31,EUR,1,,,,,\n", "acme",
		today); err != nil || len(wrong) > 0 || len(excel) != 1 {
		t.Errorf("with a byte order mark: %v %v %v", excel, wrong, err)
	}
	if same := a; a.Hash() != same.Hash() || a.Hash() == b.Hash() {
		t.Error("hashes do not tell settlements apart")
	}
}

// TestReadFileRefuses reads files with one mistake each: the error names its line, and says what to do.
func TestReadFileRefuses(t *testing.T) {
	t.Parallel()
	row := func(fields string) string { return header + "A-0,2026-03-01,EUR,1,,,,,\n" + fields + "\n" }
	for text, want := range map[string]string{
		"":                                      "the file is empty",
		"\xff\xfeA":                             "UTF-16",
		"a\x00b":                                "zero bytes",
		row("A-1,2026-03-31,EUR,1,,,,,caf\xe9"): "line 3 is not UTF-8",
		"a,b\rc,d":                              "CR alone",
		"reference;received_on;currency;amount\n":                               "separated by commas",
		"reference,received_on,currency\n":                                      "line 1: lacks the column amount",
		"reference,received_on,currency,amount,amount\n":                        `line 1: has the column "amount" twice`,
		"reference,received_on,currency,amount,iban\n":                          `line 1: has the column "iban", which is not known: the columns are reference`,
		"reference,Reference,received_on,currency,amount\n":                     `"Reference", which is not known`,
		row("A-1,2026-03-31,EUR,1,,,,"):                                         "line 3: has 8 fields, and the header 9",
		row("A-1,2026-03-31,EUR,1,,,,,,"):                                       "line 3: has 10 fields",
		row("A-1,2026-03-31,EUR,1,,,,,a \"b\" c"):                               "line 3: is not CSV",
		row("A-1,2026-03-31,EUR,\"1,,,,,"):                                      "line 3: is not CSV",
		row(",2026-03-31,EUR,1,,,,,"):                                           "line 3: reference is empty",
		row(" A-1,2026-03-31,EUR,1,,,,,"):                                       "begins or ends with a space",
		row("A-0,2026-03-31,EUR,1,,,,,"):                                        `line 3: reference is "A-0", as on line 2`,
		row(strings.Repeat("x", 201) + ",2026-03-31,EUR,1,,,,,"):                "longer than 200 bytes",
		row("\"A\n1\",2026-03-31,EUR,1,,,,,"):                                   "control character",
		row("A-1,31.03.2026,EUR,1,,,,,"):                                        `received_on is "31.03.2026", which is not a day: write it as 2026-03-31`,
		row("A-1,2026-02-30,EUR,1,,,,,"):                                        "which is not a day",
		row("A-1,2026-3-1,EUR,1,,,,,"):                                          "which is not a day",
		row("A-1,2026-04-02,EUR,1,,,,,"):                                        "yet to come",
		row("A-1,1926-03-31,EUR,1,,,,,"):                                        "too long ago",
		row("A-1,2026-03-31,eur,1,,,,,"):                                        `currency is "eur", which is not a currency: write three capital letters`,
		row("A-1,2026-03-31,€,1,,,,,"):                                          "not a currency",
		row("A-1,2026-03-31,EUR,,,,,,"):                                         "amount is empty",
		row("A-1,2026-03-31,EUR,\"1.234,50\",,,,,"):                             "both a comma and a point",
		row("A-1,2026-03-31,EUR,\"12,50\",,,,,"):                                "write a decimal point",
		row("A-1,2026-03-31,EUR,1 234.50,,,,,"):                                 "without spaces",
		row("A-1,2026-03-31,EUR,(5.00),,,,,"):                                   "below zero as -1234.50",
		row("A-1,2026-03-31,EUR,1e3,,,,,"):                                      "write all its digits",
		row("A-1,2026-03-31,EUR,€5,,,,,"):                                       "the number alone",
		row("A-1,2026-03-31,EUR,NaN,,,,,"):                                      "not an amount",
		row("A-1,2026-03-31,EUR,+5,,,,,"):                                       "not an amount",
		row("A-1,2026-03-31,EUR,.5,,,,,"):                                       "not an amount",
		row("A-1,2026-03-31,EUR,5.,,,,,"):                                       "not an amount",
		row("A-1,2026-03-31,EUR,=1+1,,,,,"):                                     "not an amount",
		row("A-1,2026-03-31,EUR,1234567890123456789,,,,,"):                      "at most 18 digits",
		row("A-1,2026-03-31,EUR,1.001,,,,,"):                                    "its currency has 2 decimals",
		row("A-1,2026-03-31,JPY,1.5,,,,,"):                                      "its currency has 0 decimals",
		row("A-1,2026-03-31,EUR,1,-1,,,,"):                                      "fee is below zero",
		row("A-1,2026-03-31,EUR,1,,USD,,,"):                                     "payout_amount is empty",
		row("A-1,2026-03-31,EUR,1,,,5,,"):                                       "payout_currency is empty",
		row("A-1,2026-03-31,EUR,1,1,EUR,3,,"):                                   "amount and fee make 2 in the same currency",
		row("A-1,2026-03-31,EUR,1,,USD,-1,,"):                                   "both are above zero, or both below",
		row("A-1,2026-03-31,EUR,1,,,,101;102,"):                                 "not the id of a payout",
		row("A-1,2026-03-31,EUR,1,,,,101 101,"):                                 "names payout 101 twice",
		row("A-1,2026-03-31,EUR,1,,,,12345678901234567890,"):                    "not the id of a payout",
		"reference,received_on,currency,amount,account\nA,2026-03-01,EUR,1,b\n": "account is \"b\", and --account says \"acme\"",
	} {
		rows, problems, err := readText(text, "acme", today)
		if err != nil || len(problems) != 1 || !strings.Contains(problems[0].String(), want) {
			t.Errorf("%q gives %v, want %q (%d rows, %v)", text, problems, want, len(rows), err)
		}
	}
	_, problems, _ := readText(header+strings.Repeat(",,,,,,,,\n", 30), "", today)
	if lines := (&ProblemsError{"bank.csv", problems[:2]}).Lines(); len(lines) != 3 || lines[1] != problems[0].String() {
		t.Errorf("the lines of the message are %q", lines)
	}
	if text := (&ProblemsError{"bank.csv", problems}).Error(); !strings.HasPrefix(text,
		"bank.csv: nothing was imported. Correct 179 mistakes") || strings.Count(text, "\n") != shownProblems+1 ||
		!strings.HasSuffix(text, "more") {
		t.Error(text)
	}
}

// FuzzReadFile checks that no file makes it fail, and that rows are complete if it reports no problems.
func FuzzReadFile(f *testing.F) {
	f.Add(header + "A-1,2026-03-31,EUR,1.50,,USD,2,101,\n")
	f.Add("Konto\nday;sum;kind;what;who\n2026-03-31;1.234,50;D;a;b\n")
	f.Add(mt940)
	f.Add(camt("04", camtNtry("98.50", "CRDT", part(acmePart))))
	f.Fuzz(func(t *testing.T, text string) {
		read, err := ReadFile(strings.NewReader(text), Rules{Account: "acme", Until: today, Senders: map[string][]string{"acme": {"a"}},
			CSV: map[string]string{"received_on": "day", "amount": "sum", "currency": "EUR", "text": "what + who", "decimal": ",", "delimiter": ";", "skip": "1", "side": "kind = D"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range read.Rows {
			if len(read.Problems) == 0 && (r.Reference == "" || len(r.Currency) != 3 || len(r.PayoutCurrency) != 3 ||
				r.ReceivedOn.IsZero() || r.Line < 1) {
				t.Errorf("%+v", r)
			}
		}
	})
}
