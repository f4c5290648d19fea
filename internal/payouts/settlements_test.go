package payouts

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"dealhouse/internal/apisim"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/finance"
	"dealhouse/internal/warehouse"
)

func d(text string) decimal.Decimal { return decimal.RequireFromString(text) }

// bookPayout makes a payout of transactions that are worth the given amounts by currency, and sets their payout. A
// transaction that is declined later is worth nothing now.
func (x *world) bookPayout(t *testing.T, id int64, worth map[string]string) {
	t.Helper()
	total := decimal.Zero
	for currency, amount := range worth {
		total = total.Add(d(amount))
		record := fmt.Sprintf(`{"id":%q,"soldAt":"2025-11-20T10:00:00Z","updatedAt":%q,"currencyCode":%q,"orderValue":100,"cashback":%s,"status":"CONFIRMED","payoutId":%d}`,
			uuid.NewSHA1(uuid.Nil, []byte(fmt.Sprint(id, currency))), x.Now().Format(time.RFC3339Nano), currency, amount, id)
		if err := x.Put(apisim.StreamTransactions, "acme", []byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	n := len(worth)
	record := fmt.Sprintf(`{"id":%d,"totalTransactions":%d,"totalGmv":%d,"aov":100,"totalCashback":%s,"confirmedTransactions":%d,"declinedTransactions":0,"pendingTransactions":0,
"confirmedGmv":%d,"declinedGmv":0,"pendingGmv":0,"confirmedCashback":%s,"declinedCashback":0,"pendingCashback":0,"startDate":"2025-11-20T10:00:00Z","endDate":"2025-11-20T10:00:00Z"}`,
		id, n, 100*n, total, n, 100*n, total)
	if err := x.Put(apisim.StreamPayouts, "acme", []byte(record)); err != nil {
		t.Fatal(err)
	}
}

// importText imports a file of settlements.
func (x *world) importText(t *testing.T, o Options, text string) (Result, error) {
	t.Helper()
	rows, problems, err := readText(text, "acme",
		time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) > 0 {
		return Result{}, &ProblemsError{Source: o.Source, Problems: problems}
	}
	return Import(t.Context(), x.w, rows, o)
}

const bankHeader = "reference,received_on,currency,amount,fee,payout_currency,payout_amount,payouts,text\n"

// TestThreeWay settles payouts in every way, by hand, and corrects one.
func TestThreeWay(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	x := newWorld(t, scripted())
	for id, worth := range map[int64]map[string]string{
		101: {"EUR": "10.05"}, 102: {"EUR": "20"}, 103: {"EUR": "30"}, 104: {"EUR": "40.0033"}, 105: {"EUR": "50"},
		106: {"EUR": "60"}, 107: {"USD": "70"}, 108: {"EUR": "80", "USD": "8"},
		109: {"EUR": "90"}, 110: {"EUR": "90"}, 111: {"JPY": "1200"}, 112: {"EUR": "33"}, 113: {"EUR": "33"},
		114: {"EUR": "11"}, 115: {"EUR": "12"}, 116: {"EUR": "13"},
	} {
		x.bookPayout(t, id, worth)
	}
	x.sync(false, "transactions", "payouts")
	o := Options{Source: "bank.csv", By: "ann"}
	file := bankHeader +
		"A-1,2026-01-05,EUR,8.55,1.50,,,101,\n" + // with a fee
		"A-2,2026-01-05,EUR,50,,,,102 103,two at once\n" +
		"A-3,2026-01-06,EUR,40.00,,,,,\n" + // matched by its amount, except for a part of a cent
		"A-4,2026-01-07,EUR,20,,,,105,a part\n" +
		"A-5,2026-01-08,EUR,30,,,,105,the rest\n" +
		"A-6,2026-01-08,EUR,59,,,,106,one is missing\n" +
		"A-7,2026-01-09,EUR,63.50,0.50,USD,70,107,\n" + // converted
		"A-8,2026-01-09,EUR,90,,,,,payout 110 of January\n" + // two payouts have this amount, and it names one
		"A'9\\n,2026-01-10,JPY,1200,,,,,\n" +
		"B-1,2026-01-10,EUR,33,,,,,\n" + // two payouts have this amount, and it names none
		"B-2,2026-01-11,EUR,5,,,,999,of a payout that is not loaded\n" +
		"B-3,2026-01-12,USD,8,,,,108,\n" +
		"D-1,2026-01-13,EUR,4.50,0.50,,,114 115 116,the first part of three\n" + // each continues where the one before ended
		"D-2,2026-01-14,EUR,25,,,,114 115 116,the second\n" +
		"D-3,2026-01-15,EUR,5.25,0.75,,,114 115 116,\n" +
		"D-4,2026-01-16,EUR,-2,,,,114 115 116,taken back\n"
	res, err := x.importText(t, o, file)
	if err != nil || len(res.New) != 16 || res.Known != 0 {
		t.Fatalf("%+v %v", res, err)
	}
	x.states(t, map[string]string{
		"101 EUR": "received: 10.05 = 8.55 + 1.50 fees", "102 EUR": "received: 20.00 = 20.00",
		"103 EUR": "received: 30.00 = 30.00", "104 EUR": "received: 40.0033 = 40.00 + 0.0033 rounding",
		"105 EUR": "received: 50.00 = 50.00", "106 EUR": "short: 60.00 = 59.00 + 1.00 outstanding",
		"107 USD": "received: 70.00 = 0.00 + 70.00 converted",
		"108 EUR": "outstanding: 80.00 = 0.00 + 80.00 outstanding", "108 USD": "received: 8.00 = 8.00",
		"109 EUR": "outstanding: 90.00 = 0.00 + 90.00 outstanding", "110 EUR": "received: 90.00 = 90.00",
		"111 JPY": "received: 1200 = 1200", "112 EUR": "outstanding: 33.00 = 0.00 + 33.00 outstanding",
		"113 EUR": "outstanding: 33.00 = 0.00 + 33.00 outstanding",
		"114 EUR": "received: 11.00 = 10.50 + 0.50 fees", "115 EUR": "received: 12.00 = 12.00",
		"116 EUR": "short: 13.00 = 10.25 + 0.75 fees + 2.00 outstanding",
		"999 EUR": "not paid out: 0.00 = 5.00 + -5.00 outstanding",
	})
	// Importing the same file again changes nothing. A row that differs is refused with its line, and nothing
	// of the file is imported.
	if res, err := x.importText(t, o, file); err != nil || len(res.New)+len(res.Corrected) != 0 || res.Known != 16 {
		t.Errorf("the same file again: %+v %v", res, err)
	}
	changed := strings.Replace(file, "EUR,59,,", "EUR,59,1,", 1) + "B-4,2026-01-12,EUR,1,,,,,\n"
	refused := &ProblemsError{}
	if _, err := x.importText(t, o, changed); !errors.As(err, &refused) || len(refused.Problems) != 1 ||
		refused.Problems[0].Line != 7 || !strings.Contains(err.Error(), `fee "0", now "1"`) {
		t.Errorf("a changed settlement: %v", err)
	}
	o.Correct, o.Note = true, "the bank forgot its fee"
	if res, err := x.importText(t, o, changed); err != nil || len(res.New) != 1 || len(res.Corrected) != 1 ||
		res.Corrected[0].Revision != 2 {
		t.Errorf("a correction: %+v %v", res, err)
	}
	all, err := NewThreeWay(t.Context(), x.w, "acme")
	if err != nil || len(all.Settlements) != 17 || len(all.Revisions) != 18 {
		t.Fatalf("%d settlements, %d revisions, %v", len(all.Settlements), len(all.Revisions), err)
	}
	x.states(t, map[string]string{"106 EUR": "received: 60.00 = 59.00 + 1.00 fees"})
	// A payout that is not in the currency in which it was sent.
	if _, err := x.importText(t, o, bankHeader+"C-1,2026-01-05,EUR,70,,,,107,\n"); err == nil ||
		!strings.Contains(err.Error(), "payout 107, which is in USD, and this was sent in EUR") {
		t.Errorf("a wrong currency: %v", err)
	}
	checkThreeWayOutputs(t, all)
	x.payoutsAreParts(t)
	// They are for sales of November, and are listed in the month that pays them out.
	now := x.Now().UTC()
	paid := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	for month, want := range map[time.Time]int{paid: 16, time.Date(2025, 11, 1, 0, 0, 0, 0, time.UTC): 0} {
		if n := x.monthMatches(t, month, 0); n != want {
			t.Errorf("%d payouts in %s, want %d", n, month.Format("2006-01"), want)
		}
	}
}

// monthMatches compares the payouts of a month with its statement: they are those of its entry "paid out", and come to
// the same amounts. It returns how many there are. tolerated is the number of currencies in which the amounts may
// differ.
func (x *world) monthMatches(t *testing.T, month time.Time, tolerated int) int {
	t.Helper()
	three, err := MonthThreeWay(t.Context(), x.w, "acme", month)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewStatement(t.Context(), x.w, "acme", month)
	if err != nil {
		t.Fatal(err)
	}
	listed, of := map[int64]bool{}, map[int64]bool{}
	sums := map[string]decimal.Decimal{}
	for _, p := range three.Payouts {
		listed[p.Payout] = true
		sums[p.Currency] = sums[p.Currency].Add(p.PaidOut)
	}
	err = EachBehind(t.Context(), x.w, "acme", month, Figure{Of: string(finance.PaidOut)}, func(b Behind) error {
		of[*b.Payout] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for id := range of {
		if !listed[id] && slices.ContainsFunc(x.threeWays(t), func(p warehouse.ThreeWay) bool { return p.Payout == id }) {
			t.Errorf("%s: payout %d is paid out by the statement, and is not listed", month.Format("2006-01"), id)
		}
	}
	for id := range listed {
		if !of[id] {
			t.Errorf("%s: payout %d is listed, and the statement does not pay it out", month.Format("2006-01"), id)
		}
	}
	for _, c := range s.Currencies {
		for _, e := range c.Entries {
			if e.Event != finance.PaidOut || e.Paid.Equal(sums[c.Currency]) {
				continue
			}
			if tolerated--; tolerated < 0 {
				t.Errorf("%s: payouts of %s %s are listed, the statement pays out %s", month.Format("2006-01"), c.Currency,
					sums[c.Currency], e.Paid)
			}
		}
	}
	return len(listed)
}

func (x *world) threeWays(t *testing.T) []warehouse.ThreeWay {
	t.Helper()
	all, err := x.w.ThreeWays(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// states compares payouts as text: state: paid out = received + the other parts.
func (x *world) states(t *testing.T, want map[string]string) {
	t.Helper()
	all, err := x.w.ThreeWays(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range all {
		text := p.State + ": " + MoneyIn(p.Currency, p.PaidOut) + " = " + MoneyIn(p.Currency, p.Received)
		for _, part := range []struct {
			name string
			decimal.Decimal
		}{{"fees", p.Fees}, {"converted", p.Converted}, {"rounding", p.Rounding}, {"outstanding", p.Outstanding}} {
			if !part.IsZero() {
				text += " + " + MoneyIn(p.Currency, part.Decimal) + " " + part.name
			}
		}
		got[fmt.Sprint(p.Payout, " ", p.Currency)] = text
	}
	for key, words := range want {
		if got[key] != words {
			t.Errorf("payout %s is %q, want %q", key, got[key], words)
		}
	}
}

func checkThreeWayOutputs(t *testing.T, all ThreeWay) {
	t.Helper()
	var page, doc bytes.Buffer
	if err := errors.Join(all.WriteHTML(&page), all.WriteJSON(&doc)); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"payout 110 of January", "USD 70.00", "revision 2"} {
		if !strings.Contains(page.String(), words) {
			t.Errorf("the page has no %q", words)
		}
	}
	if strings.Contains(page.String(), "<script") || !strings.Contains(doc.String(), `"outstanding": 80.00`) {
		t.Errorf("%s", doc.String())
	}
	for _, list := range ThreeWayLists() {
		var b bytes.Buffer
		if err := all.WriteCSV(&b, list); err != nil {
			t.Fatal(err)
		}
		if rows := csvRows(t, b.String()); len(rows[0]) > 15 || len(rows) < 10 {
			t.Errorf("%s has %d rows of %d columns", list, len(rows), len(rows[0]))
		}
	}
}

// unsettled compares what is read while no settlement is imported with the view.
func (x *world) unsettled(t *testing.T) {
	t.Helper()
	all, err := NewThreeWay(t.Context(), x.w, "acme")
	if err != nil || len(all.Settlements) > 0 {
		t.Fatalf("%+v %v", all.Settlements, err)
	}
	var got []string
	changed := false // what a payout is worth now differs from what it paid
	for _, p := range all.Payouts {
		changed = changed || !p.Earned.Equal(p.PaidOut)
		got = append(got, fmt.Sprint(p.Account, p.Payout, p.Currency, p.Earned, p.PaidOut, p.Received, p.Fees, p.Converted,
			p.Rounding, p.Outstanding, p.State, p.Settlements, p.LastReceivedOn))
	}
	rows, err := x.w.Conn().Query(t.Context(), `SELECT account, payout_id, currency_code, earned, paid_out, received, fees, converted, rounding, outstanding, state, settlements, last_received_on
FROM payout_three_way ORDER BY payout_id DESC, currency_code`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var want []string
	for rows.Next() {
		var p warehouse.ThreeWay
		if err := rows.Scan(&p.Account, &p.Payout, &p.Currency, &p.Earned, &p.PaidOut, &p.Received, &p.Fees, &p.Converted,
			&p.Rounding, &p.Outstanding, &p.State, &p.Settlements, &p.LastReceivedOn); err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprint(p.Account, p.Payout, p.Currency, p.Earned, p.PaidOut, p.Received, p.Fees, p.Converted,
			p.Rounding, p.Outstanding, p.State, p.Settlements, p.LastReceivedOn))
	}
	if err := rows.Err(); err != nil || !changed || !slices.Equal(got, want) {
		t.Errorf("read: %q\nview: %q, %v", got, want, err)
	}
}

// TestThreeWayInRandomWorlds settles random payouts at random, and compares the views with a simple computation: the
// parts of each payout add up to what was paid out, and what was sent is divided among the payouts to the last decimal.
// Which payouts it is for is tested by TestPairOfRandomWorlds in package settlement.
func TestThreeWayInRandomWorlds(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	x := newWorld(t, scripted())
	r := rand.New(rand.NewPCG(17, 4))
	paid := map[string]map[int64]decimal.Decimal{"EUR": {}, "USD": {}, "JPY": {}}
	for id := int64(1); id <= 600; id++ {
		worth := map[string]string{}
		for range 1 + r.IntN(8)/7 {
			currency := []string{"EUR", "EUR", "USD", "JPY"}[r.IntN(4)]
			amount := finance.FromMinor(int64(100*(1+r.IntN(12))), currency)
			if r.IntN(4) == 0 {
				amount = amount.Add(decimal.New(int64(r.IntN(100)), -4))
			}
			worth[currency], paid[currency][id] = amount.String(), amount
		}
		x.bookPayout(t, id, worth)
	}
	x.sync(false, "transactions", "payouts")
	last := map[string]Row{}
	for round := range 20 {
		text := bankHeader
		for n := range 25 {
			text += randomSettlement(r, paid, fmt.Sprintf("R%d-%d", round, n))
		}
		for reference := range last { // some are corrected
			if r.IntN(10) == 0 {
				text += randomSettlement(r, paid, reference)
			}
		}
		rows, problems, err := readText(text, "acme",
			time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
		if err != nil || len(problems) > 0 {
			t.Fatalf("%v %v\n%s", err, problems, text)
		}
		for _, again := range []bool{false, true} {
			res, err := Import(t.Context(), x.w, rows,
				Options{Source: "x", By: "ann", Correct: true, Note: "n"})
			if err != nil || again && res.Known != len(rows) {
				t.Fatalf("%+v %v", res, err)
			}
		}
		for _, row := range rows {
			last[row.Reference] = row
		}
		x.threeWayIs(t, paid, last)
	}
	x.payoutsAreParts(t)
}

// payoutsAreParts compares what is read of one payout with its part of all: of some payouts of each state, with and
// without settlements, and of one that does not exist.
func (x *world) payoutsAreParts(t *testing.T) {
	t.Helper()
	all, err := NewThreeWay(t.Context(), x.w, "acme")
	if err != nil {
		t.Fatal(err)
	}
	looked, settled, states := []int64{99_999}, 0, map[string]int{}
	for _, p := range all.Payouts {
		if states[p.State]++; states[p.State] <= enginetest.Sample(1, 3) && !slices.Contains(looked, p.Payout) {
			looked = append(looked, p.Payout)
		}
	}
	for _, id := range looked {
		got, err := PayoutThreeWay(t.Context(), x.w, "acme", id)
		if err != nil {
			t.Fatal(err)
		}
		want := all.of([]int64{id}, func(warehouse.Settlement) bool { return false })
		got.MadeAt = want.MadeAt
		if !reflect.DeepEqual(got, want) {
			t.Errorf("of payout %d alone:\n%+v\nof all:\n%+v", id, got, want)
		}
		settled += len(got.Settlements)
	}
	if settled < 2 || len(states) < 3 {
		t.Errorf("too tame: %d settlements, %v", settled, states)
	}
}

func randomSettlement(r *rand.Rand, paid map[string]map[int64]decimal.Decimal, reference string) string {
	currency := []string{"EUR", "EUR", "USD", "JPY"}[r.IntN(4)]
	var all []int64
	for id := range paid[currency] {
		all = append(all, id)
	}
	slices.Sort(all)
	var ids []int64
	sum := decimal.Zero
	for range 1 + r.IntN(10)/8 {
		if id := all[r.IntN(len(all))]; !slices.Contains(ids, id) {
			ids, sum = append(ids, id), sum.Add(paid[currency][id])
		}
	}
	amount, fee := sum.Truncate(finance.Digits(currency)), decimal.Zero
	switch r.IntN(6) {
	case 0:
		amount = amount.Sub(finance.FromMinor(int64(r.IntN(300)), currency))
	case 1:
		fee = finance.FromMinor(int64(r.IntN(90)), currency)
		amount = amount.Sub(fee)
	case 2:
		amount = amount.Neg()
	}
	text, words := "", strings.Trim(fmt.Sprint(ids), "[]")
	switch r.IntN(4) {
	case 0:
		words = ""
	case 1:
		text, words = "payout "+words+" of 2026", ""
	}
	converted := ","
	if r.IntN(8) == 0 {
		return fmt.Sprintf("%s,2026-01-05,CHF,%s,%s,%s,%s,%s,%s\n", reference, amount.Truncate(2), "0", currency, amount,
			words, text)
	}
	return fmt.Sprintf("%s,2026-01-05,%s,%s,%s,%s,%s,%s\n", reference, currency, amount, fee, converted, words, text)
}

// threeWayIs compares payouts with the shares of settlements, and what was named with what was found.
func (x *world) threeWayIs(t *testing.T, paid map[string]map[int64]decimal.Decimal, last map[string]Row) {
	t.Helper()
	type leg struct{ received, fees, converted decimal.Decimal }
	type key struct {
		id       int64
		currency string
	}
	want := map[key]*leg{}
	of := func(id int64, currency string) *leg {
		k := key{id, currency}
		if want[k] == nil {
			want[k] = &leg{}
		}
		return want[k]
	}
	settlements, err := x.w.Settlements(t.Context(), "acme")
	if err != nil || len(settlements) != len(last) {
		t.Fatalf("%d settlements, want %d: %v", len(settlements), len(last), err)
	}
	for _, s := range settlements {
		row := last[s.Reference]
		sum, fees := decimal.Sum(decimal.Zero, s.Shares...), decimal.Sum(decimal.Zero, s.Fees...)
		sent := row.PayoutAmount
		if len(s.Payouts) == 0 {
			sent = decimal.Zero
		}
		if (s.MatchedBy == finance.ByName) != (len(row.Payouts) > 0) || !sum.Equal(sent) ||
			len(row.Payouts) > 0 && !slices.Equal(s.Payouts, row.Payouts) ||
			len(s.Payouts) > 0 && row.Currency == row.PayoutCurrency && !fees.Equal(row.Fee) {
			t.Errorf("%s settles %v by %s, shares %v and fees %v of %+v", s.Reference, s.Payouts, s.MatchedBy, s.Shares,
				s.Fees, row)
		}
		for i, id := range s.Payouts {
			share, fee := s.Shares[i], s.Fees[i]
			if s.MatchedBy != finance.ByName && share.Abs().Sub(paid[s.PayoutCurrency][id]).Abs().GreaterThanOrEqual(finance.FromMinor(1, s.PayoutCurrency)) {
				t.Errorf("%s has %s of %s for payout %d", s.Reference, share, paid[s.PayoutCurrency][id], id)
			}
			l := of(id, s.PayoutCurrency)
			if s.Currency != s.PayoutCurrency {
				l.converted = l.converted.Add(share)
				continue
			}
			l.received, l.fees = l.received.Add(share.Sub(fee)), l.fees.Add(fee)
		}
	}
	all, err := x.w.ThreeWays(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		l := of(p.Payout, p.Currency)
		if !p.Received.Equal(l.received) || !p.Fees.Equal(l.fees) || !p.Converted.Equal(l.converted) ||
			!p.PaidOut.Equal(paid[p.Currency][p.Payout]) || !p.Earned.Equal(p.PaidOut) {
			t.Errorf("payout %d in %s: %+v, want %+v of %s", p.Payout, p.Currency, p, l, paid[p.Currency][p.Payout])
		}
		if sum := decimal.Sum(p.Received, p.Fees, p.Converted, p.Rounding, p.Outstanding); !sum.Equal(p.PaidOut) {
			t.Errorf("payout %d in %s: its parts are %s, and %s was paid out", p.Payout, p.Currency, sum, p.PaidOut)
		}
		delete(want, key{p.Payout, p.Currency})
	}
	if len(want) > 0 {
		t.Errorf("%d payouts with settlements are not there", len(want))
	}
}

// csvRows parses a CSV that was written.
func csvRows(t *testing.T, text string) [][]string {
	t.Helper()
	text, marked := strings.CutPrefix(text, byteOrderMark)
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || !marked {
		t.Fatalf("no CSV with a byte order mark: %v", err)
	}
	return rows
}
