package apisim_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"testing"
	"time"

	"dealhouse/internal/apisim"
)

const day = 24 * time.Hour

type transaction struct {
	ID, Status, SoldAt, UpdatedAt, CurrencyCode string
	OrderValue, Cashback                        json.Number
	PayoutID                                    *int64
}

func transactions(t *testing.T, s *apisim.Sim, org string) map[string]transaction {
	t.Helper()
	return reading{}.transactions(t, s, org)
}

// reading remembers the records that it has parsed, because some tests read a world every day.
type reading map[string]transaction

func (known reading) transactions(t *testing.T, s *apisim.Sim, org string) map[string]transaction {
	t.Helper()
	out := map[string]transaction{}
	for r := range s.Truth(apisim.StreamTransactions, org) {
		tx, ok := known[string(r)]
		if !ok {
			tx = parse[transaction](t, r)
			known[string(r)] = tx
		}
		out[tx.ID] = tx
	}
	return out
}

func clock(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	must(t, err)
	return at
}

// totals recomputes a payout from the transactions that carry its id.
type totals struct {
	count         map[string]int64
	gmv, cashback map[string]*big.Rat
	first, last   string
}

func sumUp(txs map[string]transaction, id int64) totals {
	out := totals{count: map[string]int64{}, gmv: map[string]*big.Rat{}, cashback: map[string]*big.Rat{}}
	for _, tx := range txs {
		if tx.PayoutID == nil || *tx.PayoutID != id {
			continue
		}
		for _, state := range []string{tx.Status, "total"} {
			if out.gmv[state] == nil {
				out.gmv[state], out.cashback[state] = new(big.Rat), new(big.Rat)
			}
			value, _ := new(big.Rat).SetString(tx.OrderValue.String())
			cashback, _ := new(big.Rat).SetString(tx.Cashback.String())
			out.count[state]++
			out.gmv[state].Add(out.gmv[state], value)
			out.cashback[state].Add(out.cashback[state], cashback)
		}
		if out.first == "" || tx.SoldAt < out.first {
			out.first = tx.SoldAt
		}
		out.last = max(out.last, tx.SoldAt)
	}
	return out
}

// check compares a payout with the exact sums of its transactions.
func (w totals) check(t *testing.T, payout json.RawMessage) {
	t.Helper()
	fields := parse[map[string]json.RawMessage](t, payout)
	exact := func(name string, want *big.Rat) {
		if want == nil {
			want = new(big.Rat)
		}
		got, ok := new(big.Rat).SetString(string(fields[name]))
		if !ok || got.Cmp(want) != 0 {
			t.Errorf("%s is %s, the transactions say %s", name, fields[name], want.FloatString(4))
		}
	}
	whole := func(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }
	for state, name := range map[string]string{"CONFIRMED": "confirmed", "DECLINED": "declined", "PENDING": "pending",
		"total": "total"} {
		exact(name+"Transactions", whole(w.count[state]))
		exact(name+"Gmv", w.gmv[state])
		exact(name+"Cashback", w.cashback[state])
	}
	aov, _ := new(big.Rat).Quo(w.gmv["total"], whole(w.count["total"])).Float64()
	got, err := strconv.ParseFloat(string(fields["aov"]), 64)
	if err != nil || got < aov*(1-1e-14) || got > aov*(1+1e-14) {
		t.Errorf("aov is %s, want %v", fields["aov"], aov)
	}
	if field(t, payout, "startDate") != w.first || field(t, payout, "endDate") != w.last {
		t.Errorf("period %s to %s, want %s to %s", fields["startDate"], fields["endDate"], w.first, w.last)
	}
}

// Payouts are right on each day of half a year (apisim-6).
func TestPayouts(t *testing.T) {
	t.Parallel()
	o := small()
	o.Transactions = 300
	o.Now = time.Date(2026, 3, 15, 0, 6, 0, 0, time.UTC)
	s := newSim(t, o)
	made := map[string]json.RawMessage{}
	for r := range s.Truth(apisim.StreamPayouts, "acme") {
		made[field(t, r, "id")] = r
	}
	if len(made) < 9 || len(made) > 12 {
		t.Errorf("%d payouts at the start", len(made))
	}
	known := reading{}
	before, fresh, drifted := known.transactions(t, s, "acme"), 0, 0
	for range 180 {
		s.Advance(day)
		now := known.transactions(t, s, "acme")
		for id, tx := range now {
			old, there := before[id]
			if tx.PayoutID == nil || there && old.PayoutID != nil {
				if there && old.PayoutID != nil && (tx.PayoutID == nil || *tx.PayoutID != *old.PayoutID) {
					t.Fatalf("payout of %s changed", id)
				}
				if there && old.Status != "PENDING" && tx.Status != old.Status {
					t.Fatalf("%s went from %s to %s", id, old.Status, tx.Status)
				}
				if there && old.PayoutID != nil && old.Status != tx.Status {
					drifted++
				}
				continue
			}
			midnight := s.Now().Truncate(day)
			if midnight.Day() != 1 {
				t.Fatalf("%s was paid on %v", id, midnight)
			}
			if at := clock(t, tx.UpdatedAt); at.Before(midnight) {
				t.Errorf("%s was paid but not touched since %v", id, at)
			}
		}
		for r := range s.Truth(apisim.StreamPayouts, "acme") {
			id := field(t, r, "id")
			if old := made[id]; old != nil {
				if !bytes.Equal(old, r) {
					t.Fatalf("payout changed from %s to %s", old, r)
				}
				continue
			}
			fresh++
			made[id] = r
			n, err := strconv.ParseInt(id, 10, 64)
			must(t, err)
			// Six minutes after midnight, the transactions are still as they were when they got the payout's id.
			sumUp(now, n).check(t, r)
			limit := s.Now().Truncate(day).Add(-90 * day)
			for id, tx := range now {
				due := clock(t, tx.SoldAt).Before(limit)
				if due && tx.PayoutID == nil || !due && tx.PayoutID != nil {
					t.Errorf("%s sold at %s, limit %v, payout %v", id, tx.SoldAt, limit, tx.PayoutID)
				}
			}
		}
		before = now
	}
	if fresh != 6 || drifted == 0 {
		t.Errorf("%d payouts in half a year, %d transactions decided after they were paid", fresh, drifted)
	}
	if _, there := made["0"]; there || s.Count(apisim.StreamPayouts, "acme") != len(made) {
		t.Error("payouts were lost")
	}
}

func TestInitialPayoutsCountTheirTransactions(t *testing.T) {
	o := small()
	o.Now = time.Date(2026, 4, 1, 0, 30, 0, 0, time.UTC)
	s := newSim(t, o)
	txs := transactions(t, s, "globex")
	payouts := collectOrg(s, apisim.StreamPayouts, "globex")
	last := payouts[len(payouts)-1]
	id, err := strconv.ParseInt(field(t, last, "id"), 10, 64)
	must(t, err)
	sumUp(txs, id).check(t, last)
	for _, r := range payouts {
		id, err := strconv.ParseInt(field(t, r, "id"), 10, 64)
		must(t, err)
		if got := sumUp(txs, id).count["total"]; strconv.FormatInt(got, 10) != field(t, r, "totalTransactions") {
			t.Errorf("payout %d counts %s transactions, %d carry its id", id, field(t, r, "totalTransactions"), got)
		}
	}
}

func collectOrg(s *apisim.Sim, stream, org string) (out []json.RawMessage) {
	for r := range s.Truth(stream, org) {
		out = append(out, r)
	}
	return out
}

func TestPayoutsLeaveOutWhatIsNotListed(t *testing.T) {
	o := small()
	o.Now = time.Date(2026, 3, 31, 23, 59, 0, 0, time.UTC)
	s, plain := newSim(t, o), newSim(t, o)
	limit := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC).Add(-90 * day)
	var due []string
	for id, tx := range transactions(t, s, "acme") {
		if tx.PayoutID == nil && clock(t, tx.SoldAt).Before(limit) {
			due = append(due, id)
		}
	}
	slices.Sort(due)
	must(t, s.Delete(apisim.StreamTransactions, "acme", due[0]))
	must(t, s.Put(apisim.StreamTransactions, "acme", []byte(`{"id":"`+due[1]+`","orderValue":1e2}`)))
	s.Advance(time.Hour)
	plain.Advance(time.Hour)
	must(t, s.Restore(apisim.StreamTransactions, "acme", due[0]))
	newest := func(s *apisim.Sim) json.RawMessage {
		all := collectOrg(s, apisim.StreamPayouts, "acme")
		return all[len(all)-1]
	}
	a, err := strconv.Atoi(field(t, newest(s), "totalTransactions"))
	must(t, err)
	b, err := strconv.Atoi(field(t, newest(plain), "totalTransactions"))
	must(t, err)
	if b != len(due) || a != b-2 {
		t.Errorf("%d due, %d paid, %d paid without two", len(due), b, a)
	}
	if tx := transactions(t, s, "acme")[due[0]]; tx.PayoutID != nil {
		t.Error("a transaction that missed its payout carries its id")
	}
}
