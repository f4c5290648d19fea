package payouts

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"dealhouse/internal/apisim"
	"dealhouse/internal/catalog"
	"dealhouse/internal/enginetest"
	"dealhouse/internal/finance"
	"dealhouse/internal/warehouse"
)

// Package finance, which imports nothing of ours, means by a status what the service sends, and by a state of a paid
// transaction what the warehouse has.
func TestStatusesAreThoseOfTheCatalog(t *testing.T) {
	t.Parallel()
	states := []string{finance.Same, finance.Changed, finance.Moved, finance.Gone}
	if want := warehouse.TransactionStates(); !slices.Equal(states, want) {
		t.Errorf("%q, want %q", states, want)
	}
	if got := []string{finance.Pending, finance.Confirmed, finance.Declined}; !slices.Equal(got, catalog.Statuses()) {
		t.Errorf("%q, want %q", got, catalog.Statuses())
	}
}

// addsUp wants the kinds of a payout to add up to what it paid minus what that is worth now, in each currency, and this
// to be what the view has as at stake.
func addsUp(t *testing.T, p Payout) {
	t.Helper()
	all := decimal.Zero
	for _, l := range p.Explained.Lines {
		sum := decimal.Zero
		for _, k := range finance.Kinds() {
			sum = sum.Add(l.Sum(k))
		}
		if !sum.Equal(l.Difference()) {
			t.Errorf("payout %d: the kinds add up to %s %s, paid less worth is %s", p.ID, l.Currency, sum, l.Difference())
		}
		all = all.Add(sum)
	}
	if p.Verdict != NoTransactions && !all.Equal(p.AtStake) {
		t.Errorf("payout %d: the kinds add up to %s, the view has %s at stake", p.ID, all, p.AtStake)
	}
}

func sale(n int) string { return strings.TrimSuffix(saleOne, "1") + fmt.Sprint(n) }

// pay makes payout 7 of transactions that were all confirmed, of 100 each, when it was made.
func (x *world) pay(t *testing.T, n int, cashback string) {
	t.Helper()
	record := fmt.Sprintf(`{"id":7,"totalTransactions":%d,"totalGmv":%d,"aov":100,"totalCashback":%s,"confirmedTransactions":%d,"declinedTransactions":0,"pendingTransactions":0,`+
		`"confirmedGmv":%d,"declinedGmv":0,"pendingGmv":0,"confirmedCashback":%s,"declinedCashback":0,"pendingCashback":0,"startDate":"2025-11-20T10:00:00Z","endDate":"2025-11-20T10:00:00Z"}`,
		n, n*100, cashback, n, n*100, cashback)
	if err := x.Put(apisim.StreamPayouts, "acme", []byte(record)); err != nil {
		t.Fatal(err)
	}
}

func (x *world) payout(t *testing.T) (Reconciliation, Payout) {
	t.Helper()
	seven := int64(7)
	r, err := Reconcile(t.Context(), x.w, Filter{Payout: &seven})
	if err != nil || len(r.Payouts) != 1 {
		t.Fatalf("%+v, %v", r.Payouts, err)
	}
	addsUp(t, r.Payouts[0])
	for _, s := range r.TransactionSums() { // at the foot of the list stands what the payout is explained by
		for _, l := range r.Payouts[0].Explained.Lines {
			if l.Currency == s.Currency && (!s.Worth.Equal(l.Worth) || s.Paid != nil && r.Payouts[0].Verdict != Missing && r.Payouts[0].Verdict != Mismatched && !s.Paid.Equal(l.Paid)) {
				t.Errorf("%s %s: paid %v, worth %s; the payout says paid %s, worth %s", s.Title, s.Currency, s.Paid, s.Worth, l.Paid, l.Worth)
			}
		}
	}
	if !slices.IsSortedFunc(r.Transactions, func(a, b warehouse.PayoutTransaction) int { return a.SoldAt.Compare(*b.SoldAt) }) {
		t.Error("its transactions are not in the order of their sales")
	}
	return r, r.Payouts[0]
}

// TestLateHistory loads payouts long after they were made, when a transaction of each has been declined. It is named if
// the counts of the payout allow only one answer, and the report does not claim that its status when paid was seen.
func TestLateHistory(t *testing.T) {
	enginetest.Long(t)
	t.Parallel()
	const day = 24 * time.Hour
	cases := []struct {
		name                  string
		play                  func(t *testing.T, x *world)
		verdict, advice, told string // told is the reported status when paid of the second transaction
	}{
		{"one of three was declined", func(t *testing.T, x *world) {
			t.Helper()
			x.put(t, sale(1), "CONFIRMED", "1.5", 7)
			x.put(t, sale(3), "CONFIRMED", "2", 7)
			x.pay(t, 3, "12.5")
			x.Advance(day)
			x.put(t, sale(2), "DECLINED", "9", 7)
		}, Drifted, "expect EUR 9.00 back: 1 transaction was declined after it was paid and before it was loaded (" +
			sale(2) + "), which follows from what the payout counts", "CONFIRMED (deduced)"},
		{"the only one was declined", func(t *testing.T, x *world) {
			t.Helper()
			x.pay(t, 1, "9")
			x.put(t, sale(2), "DECLINED", "9", 7)
		}, Drifted, "expect EUR 9.00 back: 1 transaction was declined after it was paid and before it was loaded (" +
			sale(2) + "), which follows from what the payout counts", "CONFIRMED (deduced)"},
		{"one was declined and accepted again later", func(t *testing.T, x *world) {
			t.Helper()
			x.put(t, sale(1), "CONFIRMED", "1.5", 7)
			x.put(t, sale(3), "CONFIRMED", "2", 7)
			x.pay(t, 3, "12.5")
			x.Advance(day)
			x.put(t, sale(2), "DECLINED", "9", 7)
			x.sync(false, "transactions", "payouts")
			x.put(t, sale(2), "CONFIRMED", "9", 7)
		}, Drifted, "nothing to do: 1 transaction changed between being paid and being loaded, and no cashback with it",
			notSeen},
		{"an amount was lowered", func(t *testing.T, x *world) {
			t.Helper()
			x.put(t, sale(1), "CONFIRMED", "1.5", 7)
			x.put(t, sale(3), "CONFIRMED", "2", 7)
			x.pay(t, 3, "12.5")
			x.Advance(day)
			x.put(t, sale(2), "CONFIRMED", "8", 7)
		}, Drifted, "expect EUR 1.00 back: 1 transaction changed between being paid and being loaded, and nobody saw what it was when paid", notSeen},
		{"nothing changed", func(t *testing.T, x *world) {
			t.Helper()
			x.put(t, sale(1), "CONFIRMED", "1.5", 7)
			x.put(t, sale(3), "CONFIRMED", "2", 7)
			x.pay(t, 3, "12.5")
			x.Advance(day)
			x.put(t, sale(2), "CONFIRMED", "9", 7)
		}, Matched, "nothing to do", notSeen},
	}
	for _, test := range enginetest.Spread(cases, 1) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			x := newWorld(t, scripted())
			test.play(t, x)
			x.sync(false, "transactions", "payouts")
			r, p := x.payout(t)
			if p.Verdict != test.verdict || p.Advice() != test.advice {
				t.Errorf("%s: %s", p.Verdict, p.Advice())
			}
			for _, tr := range r.Transactions {
				if tr.ID.String() == sale(2) && p.WhenPaid(tr) != test.told {
					t.Errorf("status when paid: %q, want %q", p.WhenPaid(tr), test.told)
				}
			}
			x.transactionsAreWrittenAsRead(t, r)
		})
	}
}

// transactionsAreWrittenAsRead compares the file of a payout's transactions that is written while reading with the one
// that is written from memory.
func (x *world) transactionsAreWrittenAsRead(t *testing.T, r Reconciliation) {
	t.Helper()
	f := r.Filter
	f.WithoutTransactions = true
	bare, err := Reconcile(t.Context(), x.w, f)
	if err != nil {
		t.Fatal(err)
	}
	var kept, read bytes.Buffer
	if err := errors.Join(r.WriteCSV(&kept, ListTransactions()), bare.WriteTransactionsCSV(t.Context(), x.w, &read)); err != nil {
		t.Fatal(err)
	}
	if len(bare.Transactions) > 0 || kept.String() != read.String() || strings.Count(read.String(), "\n") != 1+len(r.Transactions) {
		t.Errorf("%d are kept; as they are read:\n%s\nof those that were kept:\n%s", len(bare.Transactions), read.String(),
			kept.String())
	}
	refused := errors.New("the disk is full")
	err = bare.WriteTransactionsCSV(t.Context(), x.w, writerFunc(func([]byte) (int, error) { return 0, refused }))
	if !errors.Is(err, refused) {
		t.Errorf("where it cannot be written: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestKindsAreNotNetted has the same amount to claim as to expect back: both are reported, with their transactions. For
// wide samples: TestReconcile of the commands has a payout of each kind.
func TestKindsAreNotNetted(t *testing.T) {
	enginetest.OnlyWide(t)
	t.Parallel()
	x := newWorld(t, scripted())
	for n, cashback := range []string{"10", "20", "30"} {
		x.put(t, sale(n+1), "CONFIRMED", cashback, 7)
	}
	x.pay(t, 3, "60")
	x.sync(false, "transactions", "payouts")
	x.put(t, sale(1), "DECLINED", "10", 7)
	x.put(t, sale(2), "CONFIRMED", "30", 7)
	x.sync(false, "transactions")
	r, p := x.payout(t)
	want := "expect EUR 10.00 back: 1 transaction was declined after it was paid (" + sale(1) +
		"); claim EUR 10.00: the cashback of 1 transaction was raised after it was paid (" + sale(2) + ")"
	if p.Advice() != want || !p.Explained.Lines[0].Difference().IsZero() {
		t.Errorf("%s: %s", p.Explained.Lines[0].Difference(), p.Advice())
	}
	if s := r.Summary(); !strings.Contains(s, "Expect back: EUR 10.00. Claim: EUR 10.00.") {
		t.Error(s)
	}
	for _, list := range Lists() {
		var b bytes.Buffer
		if err := r.WriteCSV(&b, list); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(b.String(), byteOrderMark))).ReadAll()
		if err != nil || len(rows[0]) > 15 {
			t.Errorf("%s has %d columns: %v", list, len(rows[0]), err)
		}
		if list == ListExceptions && (len(rows) != 3 || rows[1][2] != sale(1) || rows[1][6] != "expected_clawback" ||
			rows[2][12] != "-10.00") {
			t.Errorf("%v", rows)
		}
	}
}
