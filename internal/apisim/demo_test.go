package apisim

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/shopspring/decimal"
)

// wrong counts the payouts of an account whose total or confirmed cashback is not that of their transactions.
func (w *Demo) wrong(t *testing.T, account string) (n int) {
	t.Helper()
	total, confirmed := map[json.Number]decimal.Decimal{}, map[json.Number]decimal.Decimal{}
	for record := range w.Sim.Truth(StreamTransactions, account) {
		var x struct {
			PayoutID json.Number
			Status   string
			Cashback decimal.Decimal
		}
		if err := json.Unmarshal(record, &x); err != nil {
			t.Fatal(err)
		}
		total[x.PayoutID] = total[x.PayoutID].Add(x.Cashback)
		if x.Status == "CONFIRMED" {
			confirmed[x.PayoutID] = confirmed[x.PayoutID].Add(x.Cashback)
		}
	}
	for record := range w.Sim.Truth(StreamPayouts, account) {
		var p struct {
			ID                               json.Number
			TotalCashback, ConfirmedCashback decimal.Decimal
		}
		if err := json.Unmarshal(record, &p); err != nil {
			t.Fatal(err)
		}
		if !p.TotalCashback.Equal(total[p.ID]) || !p.ConfirmedCashback.Equal(confirmed[p.ID]) {
			n++
		}
	}
	return n
}

// At the start one payout lacks a transaction, and after some days two more are wrong. Those of the other account are
// right.
func TestWorld(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: it runs without -short")
	}
	t.Parallel()
	w, err := NewDemo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	resp, err := http.Get(w.URL + "/v1/deals/payouts")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a key the API answers %s", resp.Status)
	}
	other := w.Sim.Orgs()[1]
	if n, right := w.wrong(t, w.Account()), w.wrong(t, other); n != 1 || right != 0 {
		t.Errorf("%d payouts are wrong, and %d of the other account", n, right)
	}
	if err := w.PassDays(); err != nil {
		t.Fatal(err)
	}
	if n, right := w.wrong(t, w.Account()), w.wrong(t, other); n != 3 || right != 0 {
		t.Errorf("%d payouts are wrong, and %d of the other account", n, right)
	}
}
