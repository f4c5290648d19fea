package payouts

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"dealhouse/internal/finance"
)

// opensToTransactions adds up the transactions behind each figure of a statement, and wants the figure.
func (x *world) opensToTransactions(t *testing.T, s Statement) {
	t.Helper()
	want := func(f Figure, balance finance.Balance, count int64) {
		t.Helper()
		if !f.Known() || f.Title() == "" {
			t.Errorf("%+v is not known", f)
		}
		var b bytes.Buffer
		if err := WriteBehindCSV(t.Context(), x.w, "acme", s.Month, f, &b); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(b.String(), byteOrderMark))).ReadAll()
		if err != nil || len(rows[0]) > 15 {
			t.Fatalf("%+v: %d columns: %v", f, len(rows[0]), err)
		}
		var got finance.Balance
		for _, row := range rows[1:] {
			n := func(i int) decimal.Decimal { return decimal.RequireFromString(row[i]) }
			got = got.Add(finance.Balance{Pending: n(11), Confirmed: n(12), Settled: n(13)})
			if !n(14).Equal(n(11).Add(n(12)).Add(n(13))) || row[3] != f.Currency {
				t.Errorf("%+v: %v", f, row)
			}
		}
		if !got.Equal(balance) || count >= 0 && int64(len(rows)-1) != count {
			t.Errorf("%s %s: %d rows of %+v, want %d of %+v", f.Currency, f.Title(), len(rows)-1, got, count, balance)
		}
	}
	figures := 0
	for _, c := range s.Currencies {
		want(Figure{Of: Opening, Currency: c.Currency}, c.Opening, -1)
		want(Figure{Of: Closing, Currency: c.Currency}, c.Closing, -1)
		for _, e := range c.Entries {
			want(Figure{Of: string(e.Event), Currency: c.Currency}, e.Balance, e.Count)
			figures++
		}
		for i, age := range c.Ages {
			want(Figure{Of: Closing, Currency: c.Currency, OneAge: true, Age: i},
				finance.Balance{Pending: age.Pending, Confirmed: age.Confirmed}, -1)
		}
	}
	if figures < 4 {
		t.Errorf("only %d entries were looked at", figures)
	}
	for _, f := range []Figure{{}, {Of: "sol"}, {Of: Opening, OneAge: true}, {Of: Closing, OneAge: true, Age: -1},
		{Of: Closing, OneAge: true, Age: len(AgeTitles())}} {
		if f.Known() {
			t.Errorf("%+v is known", f)
		}
	}
}
