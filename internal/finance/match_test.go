package finance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
)

// pairCase is written as text: dues as "101 EUR 30", payments as "A-1 20 EUR named 101 102" or "A-1 20 EUR", each with
// day= at its end if it matters. Matches are as "A-1 named 101=30 102=-10", without those that are open.
type pairCase struct{ name, dues, payments, want string }

func TestPair(t *testing.T) {
	t.Parallel()
	for _, c := range []pairCase{
		{"netted", "101 EUR 30; 102 EUR -10", "A 20 EUR named 101 102", "A named 101=30 102=-10"},
		{"netted, the clawback first", "101 EUR -10; 102 EUR 30", "A 20 EUR named 101 102", "A named 101=-10 102=30"},
		{"netted to less than nothing", "101 EUR 10; 102 EUR -30", "A -20 EUR named 101 102", "A named 101=10 102=-30"},
		{"netted to nothing", "101 EUR 10; 102 EUR -10", "A 0 EUR named 101 102", "A named 101=10 102=-10"},
		{"netted, and a part of it", "101 EUR 30; 102 EUR -10", "A 15 EUR named 101 102", "A named 101=25 102=-10"},
		{"the clawback is kept in part", "101 EUR 30; 102 EUR -10", "A 25 EUR named 101 102", "A named 101=30 102=-5"},
		{"the clawback is not kept", "101 EUR 30; 102 EUR -10", "A 30 EUR named 101 102", "A named 101=30 102=0"},
		{"only the clawback", "101 EUR 30; 102 EUR -10", "A -10 EUR named 101 102", "A named 101=0 102=-10"},
		{"a clawback in the bank's words", "107 EUR -10; 108 EUR 10", "A -10 EUR words 107", "A reference 107=-10"},
		{"a clawback by its amount", "107 EUR -10; 108 EUR 10", "A -10 EUR", "A amount 107=-10"},
		{"a payout is taken back", "101 EUR 30", "A 30 EUR words 101; B -30 EUR words 101", "A reference 101=30; B reference 101=-30"},
		{"taken back before it came", "101 EUR 30", "A -30 EUR words 101 day=1; B 30 EUR words 101 day=2", "A reference 101=-30; B reference 101=30"},
		{"part", "101 EUR 11; 102 EUR 12", "A 5 EUR named 101 102", "A named 101=5 102=0"},
		{"two parts", "101 EUR 11; 102 EUR 12", "A 5 EUR named 101 102; B 18 EUR named 101 102", "A named 101=5 102=0; B named 101=6 102=12"},
		{"a part, and one by itself", "101 EUR 10; 102 EUR 20", "A 10 EUR named 101 102 day=1; B 10 EUR named 101 day=2", "A named 101=0 102=10; B named 101=10"},
		{"too much", "101 EUR 10; 102 EUR 20", "A 33 EUR named 101 102", "A named 101=10 102=23"},
		{"withdrawn", "101 EUR 10", "A 0 EUR named 101", "A named 101=0"},
		{"withdrawn, and another", "101 EUR 10", "A 0 EUR named 101; B 10 EUR", "A named 101=0; B amount 101=10"},
		{"not loaded", "101 EUR 10", "A 30 EUR named 101 102", "A named 101=10 102=20"},
		{"not loaded, and the first", "102 EUR 10", "A 30 EUR named 101 102", "A named 101=20 102=10"},
		{"not loaded, too little for both", "101 EUR 10", "A 8 EUR named 101 102", "A named 101=0 102=8"},
		{"the payment tells the currency", "101 ? 10; 102 EUR 20", "A 30 EUR named 101 102", "A named 101=10 102=20"},
		{"two payments tell two currencies", "101 ? 10", "A 10 EUR named 101; B 10 USD named 101", "A named 101=10; B named 101=10"},
		{"the bank tells the currency", "101 ? 10", "A 10 USD words 101", "A reference 101=10"},
		{"its currency was told before", "101 ? 30", "A 10 EUR named 101 day=1; B 20 USD words 101 day=2; C 20 EUR words 101 day=3", "A named 101=10; C reference 101=20"},
		{"the amount does not tell the currency", "101 ? 10", "A 10 USD", ""},
		{"it may be the one of which the currency is not known", "101 ? 10; 102 EUR 10", "A 10 EUR", ""},
		{"rounded each", "1 EUR 3.3349; 2 EUR 3.3349; 3 EUR 3.3349; 4 EUR 3.3349", "A 13.32 EUR named 1 2 3 4", "A named 1=3.33 2=3.33 3=3.33 4=3.33"},
		{"rounded in sum", "1 EUR 3.3349; 2 EUR 3.3349; 3 EUR 3.3349; 4 EUR 3.3349", "A 13.34 EUR named 1 2 3 4", "A named 1=3.34 2=3.34 3=3.33 4=3.33"},
		{"rounded up", "1 JPY 10.6; 2 JPY 10.6", "A 22 JPY named 1 2", "A named 1=11 2=11"},
		{"a cent less is missing", "1 EUR 3.3349; 2 EUR 3.3349", "A 6.65 EUR named 1 2", "A named 1=3.33 2=3.32"},
		{"a tiny one", "1 EUR 0.004; 2 EUR 5", "A 5 EUR named 1 2", "A named 1=0 2=5"},
		{"a name that does not fit is given to nobody", "101 EUR 10; 102 EUR 20", "A 20 EUR words 101", ""},
		{"what is named is not for others", "101 EUR 20; 102 EUR 20", "A 20 EUR words 101; B 15 EUR words 102; C 20 EUR", "A reference 101=20"},
		{"one of two", "101 EUR 20; 102 EUR 20", "A 20 EUR", ""},
		{"two of one", "101 EUR 20", "A 20 EUR; B 20 EUR", ""},
		{"or two others", "101 EUR 20; 102 EUR 30; 103 EUR -10", "A 20 EUR", ""},
		{"or three others", "101 EUR 20; 102 EUR 5; 103 EUR 6; 104 EUR 9", "A 20 EUR", ""},
		{"or the rest of another", "101 EUR 30; 102 EUR 50", "A 20 EUR named 102; B 30 EUR", "A named 102=20"},
		{"not of the future", "101 EUR 20 day=180", "A 20 EUR day=10", ""},
		{"one by one", "101 EUR 20 day=1; 102 EUR 20 day=30", "A 20 EUR day=5; B 20 EUR day=35", "A amount 101=20; B amount 102=20"},
		{"three for two", "101 EUR 20 day=1; 102 EUR 20 day=30", "A 20 EUR day=5; B 20 EUR day=35; C 20 EUR day=36", ""},
		{"after the payouts were read", "101 EUR 20", "A 20 EUR day=999", ""},
		{"a year is no payout", "101 EUR 20", "A 20 EUR words 2026", "A amount 101=20"},
		{"nor is the one before", "101 EUR 20", "A 20 EUR words 2025", "A amount 101=20"},
		{"nor the next", "101 EUR 20", "A 20 EUR words 2027", "A amount 101=20"},
		{"later years are names", "101 EUR 20", "A 20 EUR words 2028", ""},
		{"earlier ones too", "101 EUR 20", "A 20 EUR words 2024", ""},
		{"a part of one comes in its turn", "101 EUR 10; 102 EUR 20", "A 5 EUR named 101 day=1; B 30 EUR named 101 102 day=2", "A named 101=5; B named 101=5 102=25"},
		{"withdrawn from two", "101 EUR 30; 102 EUR -10", "A 0 EUR named 101 102", "A named 101=0 102=0"},
		{"withdrawn from one that is not loaded", "101 EUR 30", "A 0 EUR named 101 102", "A named 101=0 102=0"},
		{"but may be one", "101 EUR 20; 2026 EUR 5", "A 20 EUR words 2026", ""},
		{"kept", "101 EUR 20; 102 EUR 20", "A 20 EUR kept amount 101", "A amount 101=20"},
		{"kept, until somebody says otherwise", "101 EUR 20; 102 EUR 20", "A 20 EUR kept amount 101; B 20 EUR named 101", "B named 101=20; A amount 102=20"},
		{"kept, until the bank says otherwise", "101 EUR 20; 102 EUR 30", "A 20 EUR kept amount 101; B 20 EUR words 101", "B reference 101=20"},
		{"kept, until the amount differs", "101 EUR 21", "A 20 EUR kept amount 101", ""},
		{"kept, until the currency is known", "101 USD 20", "A 20 EUR kept reference 101", ""},
		{"kept, until it is gone", "102 EUR 30", "A 20 EUR kept amount 101", ""},
	} {
		matches, payments := Pair(readDues(c.dues), readPayments(c.payments), dayOf(900)), readPayments(c.payments)
		want := map[string]bool{}
		for _, m := range split(c.want) {
			want[m] = true
		}
		for i, m := range matches {
			if m.By == "" {
				continue
			}
			text := payments[i].Reference + " " + m.By
			for j, id := range m.Payouts {
				text += fmt.Sprintf(" %d=%s", id, m.Shares[j])
			}
			if !want[text] {
				t.Errorf("%s: %q is not wanted", c.name, text)
			}
			delete(want, text)
		}
		for m := range want {
			t.Errorf("%s: there is no %q", c.name, m)
		}
	}
}

func split(text string) (all []string) {
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}

func dayOf(n int) time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, n) }

// words returns the words of a text, and the day at its end.
func words(text string, day int) ([]string, time.Time) {
	text, last, _ := strings.Cut(text, " day=")
	if last != "" {
		fmt.Sscan(last, &day) //nolint:errcheck // a wrong case fails
	}
	return strings.Fields(text), dayOf(day)
}

func readDues(text string) (all []Due) {
	for _, one := range split(text) {
		fields, end := words(one, 0)
		d := Due{Currency: strings.Trim(fields[1], "?"), Paid: decimal.RequireFromString(fields[2]), End: &end}
		d.Stamped = d.Paid
		fmt.Sscan(fields[0], &d.Payout) //nolint:errcheck // a wrong case fails
		all = append(all, d)
	}
	return all
}

func readPayments(text string) (all []Payment) {
	for _, one := range split(text) {
		fields, on := words(one, 100)
		p := Payment{Reference: fields[0], On: on, Amount: decimal.RequireFromString(fields[1]), Currency: fields[2]}
		var ids []int64
		var by string
		for _, word := range fields[3:] {
			var id int64
			if _, err := fmt.Sscan(word, &id); err == nil {
				ids = append(ids, id)
			} else {
				by = strings.TrimSpace(by + " " + word)
			}
		}
		switch kept, is := strings.CutPrefix(by, "kept "); {
		case is:
			p.Kept = &Kept{By: kept, Payouts: ids}
		case by == "words":
			p.Words = ids
		default:
			p.Named = ids
		}
		all = append(all, p)
	}
	return all
}

// TestCurrencies checks the codes of ISO 4217 and their decimals.
func TestCurrencies(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{"EUR": "2 true", "JPY": "0 true", "KWD": "3 true", "CLF": "4 true", "HRK": "2 true",
		"EUX": "2 false", "XXX": "2 false", "XAU": "2 false", "eur": "2 false", "": "2 false", "R U": "2 false", "EU": "2 false", "EURUSD": "2 false"} {
		if got := fmt.Sprint(Digits(code), IsCurrency(code)); got != want {
			t.Errorf("%q is %s, want %s", code, got, want)
		}
	}
	n := 0
	for _, codes := range currencies {
		for _, code := range strings.Fields(codes) {
			if n++; len(code) != 3 || strings.ToUpper(code) != code {
				t.Errorf("%q is no code", code)
			}
		}
	}
	if n < 170 {
		t.Errorf("%d currencies", n)
	}
	for text, want := range map[string]string{"3.3349 EUR": "3.33", "4.385 EUR": "4.39", "-4.385 EUR": "-4.39", "0.006 EUR": "0",
		"0.6 JPY": "0", "1.5 JPY": "2", "0.0015 KWD": "0.002", "0.0004 KWD": "0"} {
		amount, currency, _ := strings.Cut(text, " ")
		if got := Payable(decimal.RequireFromString(amount), currency); !got.Equal(decimal.RequireFromString(want)) {
			t.Errorf("of %s, %s is paid, want %s", text, got, want)
		}
	}
}
