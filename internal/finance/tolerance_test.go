package finance

import "testing"

// TestTolerances counts all items of a line, without their signs, in the smallest unit of its currency.
func TestTolerances(t *testing.T) {
	t.Parallel()
	tolerances := Tolerances{"EUR": 5, "JPY": 1, "KWD": 5}
	for _, test := range []struct {
		currency string
		items    []string
		want     bool
	}{
		{"EUR", []string{"0.05"}, true},
		{"EUR", []string{"0.0501"}, false},
		{"EUR", []string{"0.03", "-0.03"}, false},
		{"EUR", []string{"-0.02", "0.03"}, true},
		{"EUR", nil, true},
		{"USD", []string{"0.0001"}, false},
		{"", []string{"0.01"}, false},
		{"JPY", []string{"1"}, true},
		{"JPY", []string{"1.01"}, false},
		{"KWD", []string{"0.005"}, true},
		{"KWD", []string{"0.05"}, false},
	} {
		l := Line{Currency: test.currency}
		for _, amount := range test.items {
			l.Items = append(l.Items, Item{Amount: num(amount)})
		}
		if got := tolerances.Covers(&l); got != test.want {
			t.Errorf("%s %v: %t", test.currency, test.items, got)
		}
	}
}
