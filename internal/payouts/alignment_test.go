package payouts

import (
	"testing"

	"github.com/shopspring/decimal"
)

// TestAlignment wants every column aligned: all amounts of a currency have as many decimals as the longest of them, and
// decimal points are below each other even if currencies differ.
func TestAlignment(t *testing.T) {
	t.Parallel()
	n := decimal.RequireFromString
	a := NewAlignment(Terminal)
	for _, x := range []struct{ column, currency, amount string }{
		{"paid", "EUR", "81196.551"}, {"paid", "EUR", "12.5"}, {"paid", "JPY", "1200"}, {"paid", "KWD", "3.2"},
		{"worth", "EUR", "12.5"}, {"worth", "JPY", "7"}, {"n", "#", "1234"}, {"n", "EUR", "-0.1"}, {"yen", "JPY", "5"},
		{"yen", "JPY", "-1000000"},
	} {
		a.Note(x.column, x.currency, n(x.amount))
	}
	for _, x := range []struct{ column, currency, amount, want string }{
		{"paid", "EUR", "81196.551", "81,196.551"}, {"paid", "EUR", "12.5", "12.500"}, {"paid", "JPY", "1200", "1,200    "},
		{"paid", "KWD", "3.2", "3.200"},
		{"worth", "EUR", "12.5", "12.50"}, {"worth", "JPY", "7", "7   "}, {"n", "#", "1234", "1,234   "},
		{"n", "EUR", "-0.1", "-0.10"},
		{"yen", "JPY", "5", "5"}, {"yen", "JPY", "-1000000", "-1,000,000"},
	} {
		if got := a.Text(x.column, x.currency, n(x.amount)); got != x.want {
			t.Errorf("%s %s %s is %q, want %q", x.column, x.currency, x.amount, got, x.want)
		}
	}
	if got := a.TextKnown("paid", "EUR", nil); got != "" {
		t.Errorf("what is not known is %q", got)
	}
}
