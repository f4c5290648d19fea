package payouts

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/enginetest"
	"dealhouse/internal/finance"
	"dealhouse/internal/warehouse"
)

// testCodes uses the names of the ledgers as codes.
func testCodes() Codes {
	codes := Codes{}
	for _, l := range finance.Ledgers() {
		codes[l] = string(l)
	}
	return codes
}

func (p *past) journal(t *testing.T, month time.Time, draft bool) Journal {
	t.Helper()
	j, err := NewJournal(t.Context(), p.w, "acme", month, testCodes(), draft)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range j.Entries {
		sum := decimal.Zero
		for _, l := range e.Booking.Lines() {
			sum = sum.Add(l.Debit()).Sub(l.Credit())
			if !l.Amount.Equal(l.Amount.Round(finance.Digits(e.Currency))) {
				t.Errorf("%s: %s has more decimals than %s", e.ID, l.Amount, e.Currency)
			}
			if !l.Debit().IsZero() && !l.Credit().IsZero() || l.Debit().IsNegative() || l.Credit().IsNegative() {
				t.Errorf("%s: %+v", e.ID, l)
			}
		}
		if !sum.IsZero() || e.Date.Before(month) || !e.Date.Before(month.AddDate(0, 1, 0)) {
			t.Errorf("%s of %s does not balance: %s", e.ID, e.Date, sum)
		}
	}
	return j
}

// books has balances by currency and ledger.
type books map[string]decimal.Decimal

func (b books) add(j Journal) {
	for _, l := range j.Lines() {
		key := l.Currency + " " + l.Code
		b[key] = b[key].Add(l.Amount)
	}
}

// worlds returns how many random worlds to make: REPORT_WORLDS, or a few. More of them are worth their time only
// without the race detector, which makes them ten times as slow.
func worlds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("REPORT_WORLDS")
	if text == "" {
		return enginetest.Worlds(1, 3)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestBooksOfRandomWorlds closes months while transactions change at random, sales are found late, and settlements come
// in and are corrected, also for months that are closed. Whatever happens, the statement of a closed month keeps its
// hash and its journal stays the same byte by byte. Each entry balances, and all journals together give the balances of
// the last statement, what it says was paid out, and what reached the bank. For wide samples:
// TestThreeWayInRandomWorlds has worlds made at random.
func TestBooksOfRandomWorlds(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	for seed := range worlds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			booksOfAWorld(t, uint64(seed))
		})
	}
}

func booksOfAWorld(t *testing.T, seed uint64) {
	t.Helper()
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	month := func(n int) time.Time { return start.AddDate(0, n, 0) }
	p := lived(t, seed, 9, 400, month(5).Add(12*time.Hour))
	closed, hashes := map[int]string{}, map[int]string{}
	if _, err := NewJournal(t.Context(), p.w, "acme", month(2), testCodes(), false); !errors.Is(err, ErrMonthDraft) {
		t.Errorf("an open month has a journal: %v", err)
	}
	p.settle(t, false, "S-1,2024-05-03,EUR,12.50,0.50,,,,", "S-2,2024-05-04,CHF,9.10,0.40,USD,10.05,7,",
		"S-3,2024-06-02,EUR,3,,,,,")
	for n := range enginetest.Sample(2, 4) {
		last := 4 + n // May, and all before it, and then month by month
		s, err := CloseMonth(t.Context(), p.w, "acme", month(last), "ann", "")
		if err != nil {
			t.Fatal(err)
		}
		closed[last], hashes[last] = p.csv(t, p.journal(t, month(last), false)), s.Hash()
		p.live(t, month(last+2).Add(12*time.Hour), change, late)
		p.settle(t, true, fmt.Sprintf("S-1,2024-05-03,EUR,%d.50,0.50,,,,", 13+n),
			fmt.Sprintf("T-%d,2024-05-20,EUR,7.77,,,,,found late", n),
			fmt.Sprintf("U-%d,2024-03-20,EUR,4.44,,,,,of a month before the first that was closed", n))
		// March cannot be closed any more, so there will never be a final journal of it.
		if now := p.csv(t, p.journal(t, month(2), true)); strings.Contains(now, "U-") {
			t.Errorf("what was found after May was closed is booked in March:\n%s", now)
		}
		for m, text := range closed {
			if now := p.csv(t, p.journal(t, month(m), false)); now != text {
				t.Errorf("the journal of %s changed from\n%s\nto\n%s", month(m), text, now)
			}
			s, err := NewStatement(t.Context(), p.w, "acme", month(m))
			if err != nil || s.Hash() != hashes[m] {
				t.Errorf("the statement of %s has another hash: %v", month(m), err)
			}
		}
		adjusted := 0
		for _, e := range p.journal(t, month(last+2), true).Entries {
			if strings.HasPrefix(e.Text, "adjustment of 2024-") {
				adjusted++
			}
		}
		if adjusted == 0 {
			t.Errorf("nothing that was found late is an adjustment of %s", month(last+2))
		}
	}
	p.booksBalance(t, start)
}

// settle imports settlements, or corrects them.
func (p *past) settle(t *testing.T, correct bool, rows ...string) {
	t.Helper()
	o := Options{Source: "bank.csv", By: "ann", Correct: correct}
	if correct {
		o.Note = "as the bank says"
	}
	if _, err := p.importText(t, o, bankHeader+strings.Join(rows, "\n")+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (p *past) csv(t *testing.T, j Journal) string {
	t.Helper()
	var b bytes.Buffer
	if err := j.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, row := range csvRows(t, b.String())[1:] {
		if key := row[0] + "#" + row[1]; seen[key] {
			t.Errorf("the line %s is there twice", key)
		} else {
			seen[key] = true
		}
	}
	return b.String()
}

// booksBalance adds up the journals of all months.
func (p *past) booksBalance(t *testing.T, start time.Time) {
	t.Helper()
	all, paid := books{}, map[string]decimal.Decimal{}
	var last Statement
	closes, err := p.w.Closes(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	for m := start; m.Before(p.now.AddDate(0, 1, 0)); m = m.AddDate(0, 1, 0) {
		all.add(p.journal(t, m, true))
		s, err := newStatement(t.Context(), p.w, "acme", m, closes)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range s.Currencies {
			for _, e := range c.Entries {
				paid[c.Currency] = paid[c.Currency].Add(e.Paid)
			}
		}
		last = s
	}
	// What was imported for a month that was closed is booked on the day of the import. A new
	// month may begin meanwhile.
	revisions, err := p.w.SettlementRevisions(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	imported := map[time.Time]bool{}
	for _, r := range revisions {
		imported[time.Date(r.At.UTC().Year(), r.At.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)] = true
	}
	for m := range imported {
		all.add(p.journal(t, m, true))
	}
	settlements, err := p.w.Settlements(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	bank, fees, sent := map[string]decimal.Decimal{}, map[string]decimal.Decimal{}, map[string]decimal.Decimal{}
	for _, s := range settlements {
		bank[s.Currency], fees[s.Currency] = bank[s.Currency].Add(s.Amount), fees[s.Currency].Add(s.Fee)
		sent[s.PayoutCurrency] = sent[s.PayoutCurrency].Add(s.PayoutAmount)
	}
	if len(last.Currencies) < 2 || len(bank) < 2 {
		t.Fatal("the world is too tame")
	}
	// Each payout is rounded by itself.
	transit, ofPayout := map[string]decimal.Decimal{}, map[string]decimal.Decimal{}
	err = p.w.EachChangeInOrder(t.Context(), "acme", time.UnixMilli(0), time.Now().AddDate(1, 0, 0), closes,
		func(c warehouse.Change) error {
			for _, step := range changeOf(c.ChangeSum).Steps() {
				if !step.Paid.IsZero() {
					key := fmt.Sprint(*c.Payout, c.Currency)
					before := ofPayout[key]
					ofPayout[key] = before.Add(step.Paid)
					transit[c.Currency] = transit[c.Currency].Sub(finance.Payable(before, c.Currency)).
						Add(finance.Payable(ofPayout[key], c.Currency))
				}
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range last.Currencies {
		round := func(d decimal.Decimal) decimal.Decimal { return d.Round(finance.Digits(c.Currency)) }
		for ledger, want := range map[finance.Ledger]decimal.Decimal{
			finance.LedgerPending: round(c.Closing.Pending), finance.LedgerConfirmed: round(c.Closing.Confirmed),
			finance.LedgerAfterPayment: round(c.Closing.Settled),
			finance.LedgerPayouts:      transit[c.Currency].Sub(sent[c.Currency]), finance.LedgerBank: bank[c.Currency],
			finance.LedgerFees: fees[c.Currency],
		} {
			if got := all[c.Currency+" "+string(ledger)]; !got.Equal(want) {
				t.Errorf("%s %s: the books have %s, want %s", c.Currency, ledger, got, want)
			}
		}
		if off := transit[c.Currency].Sub(paid[c.Currency]).Abs(); off.GreaterThan(finance.FromMinor(int64(len(ofPayout)), c.Currency)) {
			t.Errorf("%s: %s is in transit, and %s was paid out", c.Currency, transit[c.Currency], paid[c.Currency])
		}
	}
}
